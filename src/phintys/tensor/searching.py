"""Searching in sorted arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.copies import LARGE, copied
from phintys._base.errors import ArgumentError, DomainError, DtypeError, ShapeError
from phintys._base.uninterrupted import run_whole
from phintys.graph.apply import Apply
from phintys.graph.variable import Constant
from phintys.tensor import math
from phintys.tensor._rules import is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.reduce import all, any
from phintys.tensor.shape_rules import S, ShapedOp, Shapes
from phintys.tensor.shapes import sizes_of
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

__all__ = ["SearchSorted", "digitize", "searchsorted"]


class SearchSorted(ShapedOp):
    """Find the places at which elements would be inserted in a sorted vector.

    Parameters
    ----------
    side
        ``"left"``: before the elements that are equal; ``"right"``: behind them.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.SearchSorted("right")([1.0, 2.0, 3.0], [2.0, 9.0]).eval()
    array([2, 3])
    """

    __props__ = ("side",)

    def __init__(self, side: str = "left") -> None:
        if side not in {"left", "right"}:
            msg = f'searchsorted: side is "left" or "right", got {side!r}.'
            raise ArgumentError(msg)
        self.side: Any = side

    def make_node(self, x: Any, v: Any, sorter: Any = None) -> Apply:
        """Apply to a sorted vector, values, and the order of the vector if it is not sorted."""
        operands = [as_tensor_variable(x), as_tensor_variable(v)]
        if sorter is not None:
            operands.append(as_tensor_variable(sorter))
            if operands[2].type.numpy_dtype.kind not in "iu":
                msg = (
                    f"searchsorted: sorter has the indices that sort x, as argsort returns them; "
                    f"got {operands[2]} of dtype {operands[2].dtype}."
                )
                raise DtypeError(msg)
        for name, operand in zip(("x", "sorter"), operands[::2], strict=False):
            if operand.ndim != 1:
                msg = f"searchsorted: {name} is a vector, got {operand} of type {operand.type}."
                raise ShapeError(msg)
        return Apply(self, operands, [TensorType("int64", *self.static_shapes(operands))()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Search with NumPy, which ignores signals: long searches run in another thread."""
        x, v, *order = inputs
        sorter = order[0] if order else None
        if sorter is not None and sorter.shape != x.shape:
            msg = (
                f"searchsorted: sorter has an index for each element of x, got "
                f"{len(sorter)} for {len(x)}."
            )
            raise ShapeError(msg)
        if max(x.size, v.size) <= LARGE:
            found = np.searchsorted(x, v, self.side, sorter)
        else:
            sorter = None if sorter is None else copied(sorter, sorter.dtype)
            own = copied(x, x.dtype), copied(v, v.dtype), self.side, sorter
            found = run_whole(np.searchsorted, *own)
        output_storage[0][0] = np.asarray(found, np.int64)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the shape of the values."""
        return [shapes.shapes[1]]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return log n comparisons for each value."""
        size = int(np.prod(output_shapes[0], dtype=int))
        return size * int(input_shapes[0][0]).bit_length()

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return zeros: places do not, in general, change with small changes of the values."""
        return [zero_gradient(x) for x in inputs]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return zeros."""
        if is_missing(eval_points[0]) and is_missing(eval_points[1]):
            return [None]
        return [zero_gradient(self(*inputs))]


_SIDES = {side: SearchSorted(side) for side in ("left", "right")}


@also_named
def searchsorted(x: Any, v: Any, side: str = "left", sorter: Any = None) -> TensorVariable:
    """Return the places at which elements would be inserted in a sorted vector.

    Parameters
    ----------
    x
        A vector in ascending order, or in any order if ``sorter`` is given.
    v
        The values to search for, of any shape.
    side
        ``"left"``: the first place that fits, ``"right"``: the last one.
    sorter
        The indices that sort ``x``, as :func:`argsort` returns them.

    Returns
    -------
    TensorVariable
        Indices from 0 to the length of ``x``, in the shape of ``v``.

    Raises
    ------
    ArgumentError
        ``side`` is unknown.
    ShapeError
        ``x`` or ``sorter`` is not a vector.
    DtypeError
        ``sorter`` has no integers.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.searchsorted([1.0, 2.0, 3.0], [2.0, 2.5]).eval()
    array([1, 2])
    """
    op = _SIDES.get(side) or SearchSorted(side)
    return op(x, v) if sorter is None else op(x, v, sorter)


def digitize(x: Any, bins: Any, right: bool = False) -> TensorVariable:
    """Return the number of the bin to which each element belongs.

    Parameters
    ----------
    x
        A real tensor.
    bins
        The edges of the bins: a vector in ascending or descending order.
    right
        Bins include their right edge instead of their left one.

    Returns
    -------
    TensorVariable
        0 before the first edge, ``len(bins)`` behind the last one.

    Raises
    ------
    DomainError
        The edges are in no order.
    ShapeError
        ``bins`` is not a vector.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.digitize([0.2, 6.4, 3.0], [0.0, 1.0, 2.5, 4.0]).eval()
    array([1, 4, 3])
    """
    edges: Any = as_tensor_variable(bins)
    if edges.ndim != 1:
        msg = f"digitize: bins is a vector of edges, got {bins} of type {edges.type}."
        raise ShapeError(msg)
    side = "left" if right else "right"
    message = "digitize: the edges of bins are in ascending or in descending order"
    if isinstance(edges, Constant):
        steps = edges.data[1:] >= edges.data[:-1]
        if steps.all():
            return searchsorted(edges, x, side)
        if not np.all(edges.data[1:] <= edges.data[:-1]):
            msg = f"{message}, got {edges.data}."
            raise DomainError(msg)
        return len(edges.data) - searchsorted(edges.data[::-1], x, side)
    first, second = edges[:-1], edges[1:]
    falls = any(math.lt(second, first))
    ordered = math.logical_or(all(math.ge(second, first)), all(math.le(second, first)))
    edges = CheckAndRaise(DomainError, message)(edges, ordered)
    found = searchsorted(math.switch(falls, edges[::-1], edges), x, side)
    return math.switch(falls, sizes_of(edges)[0] - found, found)
