"""A hook for the loop over the rows of a Jacobian.

The loop is an Op with an inner graph, whose gradients need the engines of this room; so it is in a
higher layer, which registers it when it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import PhintysError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.variable import Variable

    RowLoopMaker = Callable[[Any, Variable, Sequence[Variable], Sequence[Variable]], list[Variable]]

__all__ = ["set_row_loop", "stacked_rows"]

_make: RowLoopMaker | None = None


def set_row_loop(make: RowLoopMaker) -> None:
    """Register what :func:`stacked_rows` calls; called once, by the room of loops."""
    global _make  # noqa: PLW0603 - a hook with one owner
    _make = make


def stacked_rows(
    n: Any, index: Variable, rows: Sequence[Variable], like: Sequence[Variable]
) -> list[Variable]:
    """Return, for each of ``rows``, its values for ``index = 0, ..., n - 1``, stacked.

    Parameters
    ----------
    n
        Number of rows, symbolic.
    index
        0-d int64 leaf that ``rows`` depend on.
    rows
        Expressions for row number ``index``.
    like
        For each of them, a variable of the same shape that does not depend on ``index``.

    Raises
    ------
    PhintysError
        ``phintys.control`` has not been imported.
    """
    if _make is None:
        msg = "Jacobians need the loops of phintys.control: import phintys first."
        raise PhintysError(msg)
    return _make(n, index, rows, like)
