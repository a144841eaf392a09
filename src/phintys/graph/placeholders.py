"""Variables that stand for values of an inner graph while it is written, such as a loop's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.records import record

if TYPE_CHECKING:
    from phintys._base.origin import Origin
    from phintys.graph.variable import Variable


@record(frozen=True)
class Placeholder:
    """What a placeholder stands for, and where.

    Attributes
    ----------
    what
        Such as "an input of a step of a loop".
    origin
        Where the loop was made.
    advice
        How to get its value outside.
    """

    what: str
    origin: Origin
    advice: str


def mark_placeholder(variable: Variable, placeholder: Placeholder) -> None:
    """Mark a variable as one that has a value only within an inner graph."""
    variable.tag.placeholder = placeholder


def about_placeholder(variable: Variable) -> str | None:
    """Return a message about a placeholder without a value; ``None`` for other variables.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.graph.placeholders import about_placeholder
    >>> rows = []
    >>> _ = phintys.scan(lambda x: rows.append(x) or x**2, pt.dvector("x"))
    >>> about_placeholder(rows[0]).partition(" made")[0]
    'x[t] is an input of a step of the loop'
    """
    found = getattr(variable.tag, "placeholder", None)
    if not isinstance(found, Placeholder):
        return None
    return (
        f"{variable} is {found.what} made at\n  {found.origin}\nand has no value outside of it. "
        f"{found.advice}"
    )
