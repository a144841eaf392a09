"""Hooks for the rows of a Jacobian: all at once, or in a loop.

The loop is an Op with an inner graph, whose gradients need the engines of this room; so it is in a
higher layer, which registers both when it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import PhintysError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.variable import Variable

    RowLoopMaker = Callable[[Any, Variable, Sequence[Variable], Sequence[Variable]], list[Variable]]
    BatchMaker = Callable[[Any, Any, Variable, Sequence[Variable], bool], list[Variable] | None]

__all__ = ["batched_rows", "set_rows", "stacked_rows"]

_makers: dict[str, Any] = {}


def set_rows(loop: RowLoopMaker, batch: BatchMaker) -> None:
    """Register what the functions below call; called once, by the room of loops."""
    _makers.update(loop=loop, batch=batch)


def _maker(name: str) -> Any:
    if name not in _makers:
        msg = "Jacobians need the loops of phintys.control: import phintys first."
        raise PhintysError(msg)
    return _makers[name]


def batched_rows(
    expression: Any, n: Any, seed: Variable, rows: Sequence[Variable], force: bool = False
) -> list[Variable] | None:
    """Return, for each of ``rows``, its values for all unit vectors as ``seed``, stacked.

    Parameters
    ----------
    expression
        What is differentiated, of any rank.
    n
        The number of its elements, symbolic.
    seed
        A vector of that many elements, a leaf that ``rows`` depend on.
    rows
        Expressions.
    force
        Compute them all at once in any case.

    Returns
    -------
    list, or None
        ``None`` if a loop is cheaper.
    """
    return _maker("batch")(expression, n, seed, rows, force)


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
    """
    return _maker("loop")(n, index, rows, like)
