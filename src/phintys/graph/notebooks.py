"""What notebooks show of variables, compiled functions, and texts about them."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from phintys.graph.latex import latex
from phintys.graph.pretty import pprint
from phintys.graph.printing import first_lines
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

# More is not readable, and would make a page slow.
_MOST_VARIABLES = 200  # in a formula
_MOST_CHARACTERS = 2_000  # of a formula
_MOST_LINES = 200  # of a tree


def html_of_variable(variable: Variable) -> str | None:
    """Return type, name and formula of a variable, and its graph as a tree to unfold.

    Parameters
    ----------
    variable
        Any variable.

    Returns
    -------
    str or None
        ``None`` if a Type or Op of it cannot be printed: notebooks then show its ``repr``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> print(html_of_variable(pt.dscalar("x")))
    <div><code>x</code>: <code>Scalar(float64)</code></div>
    """
    try:
        head = _code(str(variable.type))
        if variable.owner is None:
            return f"<div>{_code(str(variable))}: {head}{_value(variable)}</div>"
        if variable.name is not None:
            head = f"{_code(variable.name)}: {head}"
        return f"<div>{head}{_formula(variable)}{_tree(variable)}</div>"
    except Exception:  # noqa: BLE001 - code of users; what is printed must not fail for its sake
        return None


def html_of_function(function: Any) -> str | None:
    """Return signature and mode of a compiled function, and its graph as a tree to unfold.

    Parameters
    ----------
    function
        What :func:`phintys.function` returned.

    Returns
    -------
    str or None
        ``None`` if a Type or Op of it cannot be printed: notebooks then show its ``repr``.
    """
    try:
        mode = function.maker.mode
        signature, mode = _code(repr(function)), _code(mode.name or repr(mode))
        return f"<div>{signature}<br>mode {mode}{_tree(function)}</div>"
    except Exception:  # noqa: BLE001 - code of users; what is printed must not fail for its sake
        return None


class Explanation(str):
    r"""A text of many lines, which notebooks show line by line.

    Examples
    --------
    >>> from phintys.graph.notebooks import Explanation
    >>> Explanation("a\nb < c")._repr_html_()
    '<pre>a\nb &lt; c</pre>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html_of_text(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the text in the shell of IPython, rather than its ``repr``."""
        printer.text(str(self))


def html_of_text(text: str) -> str:
    """Return a text of many lines, in characters of equal width.

    Parameters
    ----------
    text
        Any text, such as the report of a profile.
    """
    return f"<pre>{escape(text)}</pre>"


def html_of_parameters(name: str, parameters: Mapping[str, Any]) -> str | None:
    """Return a name and a table of parameters, such as those of a distribution.

    Parameters
    ----------
    name
        What has the parameters.
    parameters
        Their names and values: variables or anything else.

    Returns
    -------
    str or None
        ``None`` if a parameter cannot be printed: notebooks then show the ``repr``.
    """
    try:
        rows = "".join(
            f"<tr><td>{escape(one)}</td><td>{_code(_as_text(value))}</td></tr>"
            for one, value in parameters.items()
        )
    except Exception:  # noqa: BLE001 - code of users; what is printed must not fail for its sake
        return None
    return f"<div>{_code(name)}<table>{rows}</table></div>"


def latex_of_variable(variable: Variable) -> str | None:
    r"""Return the formula of a variable in LaTeX.

    Parameters
    ----------
    variable
        Any variable.

    Returns
    -------
    str or None
        ``None`` if the formula is too large to read, or has parts that cannot be printed.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x, y = pt.dvectors("x", "y")
    >>> print(latex_of_variable(x / y))
    $\displaystyle \frac{x}{y}$
    """
    try:
        if _is_large(variable):
            return None
        text = latex(variable)
    except Exception:  # noqa: BLE001 - code of users; what is printed must not fail for its sake
        return None
    return None if len(text) > _MOST_CHARACTERS else rf"$\displaystyle {text}$"


def _value(variable: Variable) -> str:
    """Return shape and value of a shared variable, nothing for others."""
    if not isinstance(variable, SharedVariable):
        return ""
    value = variable.container.value
    shape = getattr(value, "shape", None)
    lead = "" if shape is None else f", now of shape {shape}"
    return f"{lead}<pre>{_bounded(str(value))}</pre>"


def _as_text(value: Any) -> str:
    if not isinstance(value, Variable):
        return str(value)
    return str(value) if _is_large(value) else pprint(value)


def _is_large(variable: Variable) -> bool:
    return sum(1 for _ in islice(ancestors([variable]), _MOST_VARIABLES + 1)) > _MOST_VARIABLES


def _bounded(text: str) -> str:
    return escape(text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} ...")


def _code(text: str) -> str:
    return f"<code>{_bounded(text)}</code>"


def _formula(variable: Variable) -> str:
    if _is_large(variable):
        return ""
    return f"<pre>{_bounded(pprint(variable))}</pre>"


def _tree(graph: Any) -> str:
    lines, left_out = first_lines(graph, _MOST_LINES)
    if left_out:
        lines.append(f"... and {left_out:,} nodes more: phintys.dprint shows them")
    shown = escape("\n".join(lines))
    return f"<details><summary>graph</summary><pre>{shown}</pre></details>"
