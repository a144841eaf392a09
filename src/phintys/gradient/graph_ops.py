"""A hook for Ops around functions whose gradients are special, and for the rows of Jacobians.

These Ops have inner graphs, whose gradients need the engines of this room; so they are in a higher
layer, which registers them when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from phintys._base.errors import PhintysError

if TYPE_CHECKING:
    from phintys.graph.variable import Variable


class GraphOps(NamedTuple):
    """What the room of Ops made of graphs does for this one.

    Attributes
    ----------
    checkpoint
        ``(inputs, outputs, name)`` -> an Op that is computed again for its gradient.
    custom_gradient
        ``(inputs, outputs, rules, name)`` -> an Op with gradient rules of its own.
    batched_rows
        ``(expression, n, seed, rows, force)`` -> for each of ``rows``, its values for all unit
        vectors as ``seed``, stacked; ``None`` if a loop is cheaper. ``expression`` is what is
        differentiated, of any rank; ``n`` the number of its elements, symbolic; ``seed`` a vector
        of that many elements, a leaf that the expressions ``rows`` depend on. ``force`` computes
        them all at once in any case.
    few_rows
        ``(vector, seed, rows, wrt, constants)`` -> for each of ``wrt``, the gradients of the
        elements of ``vector``, stacked, where a few single numbers are differentiated; else
        ``None``. ``seed`` and ``rows`` are as for ``batched_rows``, and no gradient flows through
        ``constants``.
    stacked_rows
        ``(n, index, rows, like)`` -> for each of ``rows``, its values for ``index`` from 0 to
        ``n - 1``, stacked. ``n`` is the number of rows, symbolic; ``index`` a 0-d int64 leaf that
        the expressions ``rows`` depend on; ``like`` has for each of them a variable of the same
        shape that does not depend on ``index``.
    """

    checkpoint: Callable[..., Any]
    custom_gradient: Callable[..., Any]
    batched_rows: Callable[[Any, Any, Any, Sequence[Any], bool], list[Variable] | None]
    few_rows: Callable[[Any, Any, Sequence[Any], Sequence[Any], Sequence[Any]], list[Any] | None]
    stacked_rows: Callable[[Any, Any, Sequence[Any], Sequence[Any]], list[Variable]]


_registered: list[GraphOps] = []


def set_graph_ops(ops: GraphOps) -> None:
    """Register what :func:`graph_ops` returns; called once, by the room of Ops made of graphs."""
    _registered[:] = [ops]


def graph_ops() -> GraphOps:
    """Return the functions of the room of Ops made of graphs.

    Raises
    ------
    PhintysError
        ``phintys.control`` has not been imported.
    """
    if not _registered:
        msg = "Jacobians and special gradients need Ops of phintys.control: import phintys first."
        raise PhintysError(msg)
    return _registered[0]
