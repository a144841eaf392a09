"""Gradients of views: what was computed of a view is computed of the viewed value.

The gradient of ``sqrt(x)[:, None] ** 2`` by the root has the root as a factor, but in the shape of
the view. Were it only brought back to the shape of the root, divisors of the root's own derivative
could not cancel it (see :mod:`phintys.scalar.cancelling`), and the gradient would be NaN at 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.variable import Constant
from phintys.scalar.cancelling import is_same
from phintys.tensor.convert import constant

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["moved"]

_MOST_LEVELS, _AS_DEEP = 6, 3


def moved(value: Any, view: Any, viewed: Any, move: Callable[[Any], Any]) -> Any:
    """Return ``move(value)``, in which a view is what it is a view of.

    Parameters
    ----------
    value
        A gradient, of the shape of the view.
    view, viewed
        A value, and the one that ``move`` makes of it.
    move
        A function that reorders the elements of an array of the shape of the view.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.tensor.view_gradients import moved
    >>> x = pt.dvector("x")
    >>> column = x[:, None]
    >>> phintys.pprint(moved(pt.exp(column) * 2.0, column, x, lambda y: y[:, 0]))
    'exp(x) * 2.0'
    """
    if not _is_made_of(value, view, _MOST_LEVELS):
        return move(value)
    if is_same(value, view, _AS_DEEP):
        return viewed
    node = value.owner
    shape = value.type.shape
    inputs: list[Any] = node.inputs
    operands: list[Any] = []
    for x in inputs:
        if isinstance(x, Constant) and x.data.size == 1:
            operands.append(constant(x.data.reshape(())))
        elif all(x.type.broadcastable):
            operands.append(x.dimshuffle())
        elif x.type.shape == shape and x.type.broadcastable == value.type.broadcastable:
            operands.append(moved(x, view, viewed, move))
        else:  # it is repeated, as the moved one need not be
            return move(value)
    return node.op(*operands)


def _is_made_of(value: Any, view: Any, levels: int) -> bool:
    """Return whether a value is an elementwise expression of a view, or the view itself."""
    if is_same(value, view, _AS_DEEP):
        return True
    node = value.owner
    if node is None or not levels or not hasattr(node.op, "inplace_pattern"):
        return False
    return len(node.outputs) == 1 and any(_is_made_of(x, view, levels - 1) for x in node.inputs)
