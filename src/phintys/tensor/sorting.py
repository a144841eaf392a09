"""Sorting, argsort, and the order of rows.

Indices of long vectors are found by sorting integers that hold both a value, in their leading bits,
and its index in the others: sorting values moves memory in order, where sorting indices by the
values that they stand for does not.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.copies import LARGE, copied
from phintys._base.errors import OpContractError, ShapeError
from phintys._base.uninterrupted import run_whole
from phintys.graph.apply import Apply
from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import dimshuffle, normalize_axis
from phintys.tensor.ranges import arange
from phintys.tensor.reshaping import flatten
from phintys.tensor.shape_rules import KeepsShape, S, ShapedOp, Shapes
from phintys.tensor.shapes import shape_i
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from phintys.tensor.variable import TensorVariable


LONG = 1 << 17
"""Length from which on sorting values and indices together pays off."""

_Vector = np.ndarray[tuple[int], np.dtype[Any]]

_SAMPLE = 256
_PIECE = 1 << 14  # elements: the temporary arrays of a piece stay in the cache
_SIGN = np.uint64(1 << 63)
_SPARE = np.uint64(52 - 23)  # bits of a float64's mantissa that a float32 does not have


def is_long(x: np.ndarray[Any, Any]) -> bool:
    """Return whether ``x`` is a long vector of integers or floats of 32 or 64 bits."""
    return x.ndim == 1 and x.dtype.kind in "iuf" and x.itemsize in (4, 8) and x.size >= LONG


def order_of(x: _Vector, stable: bool) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the indices that sort a long vector, NaN last.

    Parameters
    ----------
    x
        The vector.
    stable
        Equal elements must keep their order.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.tensor.sorting import order_of
    >>> order_of(np.arange(200_000)[::-1], stable=True)[:3]
    array([199999, 199998, 199997])
    """
    if not stable and _has_few_values(x):
        return np.argsort(x).astype(np.int64, copy=False)
    count = len(x)
    bits = np.uint64((count - 1).bit_length())
    keys = _ranks(x)
    least, span = keys.min(), int(keys.max()) - int(keys.min())
    dropped = np.uint64(max(0, span.bit_length() + int(bits) - 64))
    for piece in _pieces(count):
        part = keys[piece]
        part -= least
        part >>= dropped
        part <<= bits
        part |= np.arange(piece.start, piece.stop, dtype=np.uint64)
    keys.sort()
    order = (keys & ((np.uint64(1) << bits) - np.uint64(1))).view(np.int64)
    if dropped:
        keys >>= bits
        _sort_ties(x, keys, order)
    return order


def _has_few_values(x: _Vector) -> bool:
    """Return whether many elements are equal, judging by some that are spread evenly."""
    sample = np.sort(x[:: len(x) // _SAMPLE])
    return int(np.count_nonzero(sample[1:] != sample[:-1])) < _SAMPLE // 2


def _pieces(count: int) -> Iterator[slice]:
    for start in range(0, count, _PIECE):
        yield slice(start, min(start + _PIECE, count))


def _ranks(x: _Vector) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return integers in the order of the elements: equal ones for zeros, and for NaN the last."""
    ranks = np.empty(len(x), np.uint64)
    if x.dtype.kind == "u":
        ranks[...] = x
        return ranks
    signed = ranks.view(np.int64)
    if x.dtype.kind == "i":
        signed[...] = x
        ranks ^= _SIGN
        return ranks
    # Bits of floats are in their order, but for the negative ones, whose order is reversed.
    for piece in _pieces(len(x)):
        values = x[piece].astype(np.float64)
        values += 0.0  # -0.0 becomes 0.0
        part = ranks[piece]
        part[...] = values.view(np.uint64)
        negative = (signed[piece] >> 63).view(np.uint64)
        part ^= negative | _SIGN
        part[np.isnan(values)] = np.uint64(2**64 - 1)
        if x.itemsize == 4:
            part >>= _SPARE  # so that no bits are left out for the index, and no ties arise
    return ranks


def _sort_ties(x: _Vector, leading: Any, order: np.ndarray[Any, Any]) -> None:
    """Sort by all bits where neighbours agree in the leading ones."""
    tied = leading[1:] == leading[:-1]
    if not tied.any():
        return
    member = np.zeros(len(x), bool)
    member[1:] = tied
    member[:-1] |= tied
    places = np.flatnonzero(member)
    chosen = order[places]
    values = x[chosen]
    if (values[1:] < values[:-1]).any():
        order[places] = chosen[np.argsort(values, kind="stable")]


KINDS = ("quicksort", "mergesort", "heapsort", "stable")
_STABLE = ("mergesort", "stable")


class _SortingOp(KeepsShape):
    """Base class of :class:`SortOp` and :class:`ArgSortOp`."""

    __props__ = ("axis", "kind")

    def __init__(self, axis: int, kind: str = "quicksort") -> None:
        if axis < 0:
            msg = f"The axis of {type(self).__name__} counts from the front, got {axis}."
            raise OpContractError(msg)
        if kind not in KINDS:
            msg = f"The kind of a sort is one of {', '.join(KINDS)}; got {kind!r}."
            raise OpContractError(msg)
        self.axis = int(axis)
        self.kind: Any = kind

    def _operand(self, x: Any) -> Any:
        x = as_tensor_variable(x)
        if self.axis >= x.ndim:
            msg = f"{self} works along axis {self.axis}, but {x} has {x.ndim} dimensions."
            raise ShapeError(msg)
        return x

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return n log n comparisons for each row."""
        size = int(np.prod(input_shapes[0], dtype=int))
        return size * int(input_shapes[0][self.axis]).bit_length()


class SortOp(_SortingOp):
    """Sort along an axis, in ascending order, with NaN last.

    Parameters
    ----------
    axis
        The axis, counted from the front.
    kind
        ``"quicksort"``, ``"mergesort"``, ``"heapsort"`` or ``"stable"``, as for ``numpy.sort``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.SortOp(0)(pt.constant([3, 1, 2])).eval()
    array([1, 2, 3])
    """

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor that has the axis."""
        x = self._operand(x)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Sort with NumPy."""
        (x,) = inputs
        cell = output_storage[0]
        former = cell[0]
        if (
            former is None
            or former.shape != x.shape
            or former.dtype != x.dtype
            or not former.flags.writeable
            or x.size > LARGE
        ):
            cell[0] = _sorted_values(x, self.axis, self.kind)
            return
        np.copyto(former, x)
        former.sort(self.axis, self.kind)

    def _order(self, x: Any) -> Any:
        return _op(ArgSortOp, self.axis, self.kind)(x)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Move the gradient back by the inverse of the sorting permutation."""
        (x,), (g,) = inputs, output_grads
        if is_discrete(x):
            return [zero_gradient(x)]
        inverse = _op(ArgSortOp, self.axis, self.kind)(self._order(x))
        return [_along(g, inverse, self.axis)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Apply the sorting permutation to the tangent."""
        (x,), (v,) = inputs, eval_points
        if is_missing(v):
            return [None]
        if is_discrete(x):
            return [zero_gradient(x)]
        return [_along(v, self._order(x), self.axis)]


class ArgSortOp(_SortingOp):
    """Return the indices that sort along an axis.

    Parameters
    ----------
    axis
        The axis, counted from the front.
    kind
        As for :class:`SortOp`; with ``"stable"`` equal elements keep their order. (Fewer than
        131,072 elements are sorted so in any case, for the same indices wherever code runs.)

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ArgSortOp(0)(pt.constant([3, 1, 2])).eval()
    array([1, 2, 0])
    """

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor that has the axis."""
        x = self._operand(x)
        return Apply(self, [x], [TensorType("int64", x.type.shape)()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Sort indices with NumPy."""
        order = _sorting_order(inputs[0], self.axis, self.kind)
        output_storage[0][0] = order.astype(np.int64, copy=False)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return zeros: a small change of the elements does not, in general, change their order."""
        return [zero_gradient(inputs[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return zeros."""
        return [None if is_missing(eval_points[0]) else zero_gradient(self(*inputs))]


class RowOrder(ShapedOp):
    """Return the indices that sort the rows of a matrix, the first column coming first.

    Equal rows keep their order, and NaN is behind all other numbers of its column. Rows without
    elements are equal.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.sorting import RowOrder
    >>> RowOrder()(pt.constant([[2, 0], [1, 9], [1, 3]])).eval()
    array([2, 1, 0])
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """Apply to a matrix."""
        x = as_tensor_variable(x)
        if x.ndim != 2:
            msg = f"RowOrder sorts the rows of a matrix, got {x} of type {x.type}."
            raise ShapeError(msg)
        return Apply(self, [x], [TensorType("int64", *self.static_shapes([x]))()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Sort by one column after the other with NumPy."""
        output_storage[0][0] = _row_order(inputs[0])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the number of rows."""
        return [shapes.shapes[0][:1]]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return n log n comparisons for each column."""
        rows, columns = map(int, input_shapes[0])
        return columns * rows * rows.bit_length()

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return zeros, as :class:`ArgSortOp` does."""
        return [zero_gradient(inputs[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return zeros."""
        return [None if is_missing(eval_points[0]) else zero_gradient(self(*inputs))]


# NumPy sorts without a look at signals, so that long sorting is left to another thread, of an array
# of its own: it goes on when a signal ends the call, whose memory may then be used otherwise.


def _sorted_values(x: np.ndarray[Any, Any], axis: int, kind: Any) -> np.ndarray[Any, Any]:
    if x.size <= LARGE:
        return np.sort(x, axis, kind)
    own = copied(x, x.dtype)
    run_whole(own.sort, axis, kind)
    return own


def _sorting_order(x: np.ndarray[Any, Any], axis: int, kind: Any) -> np.ndarray[Any, Any]:
    own = x if x.size <= LARGE else copied(x, x.dtype)
    if is_long(x):
        work = partial(order_of, own, stable=kind in _STABLE)
    else:
        is_short = x.shape[axis] < LONG
        work = partial(np.argsort, own, axis, "stable" if is_short else kind)
    return _apart(work, x.size)


def _apart(work: Callable[[], Any], size: int) -> Any:
    return run_whole(work) if size > LARGE else work()


def _row_order(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    rows, columns = x.shape
    if not columns:
        return np.arange(rows)
    # NumPy's last key comes first.
    keys = x.T[::-1]
    if x.size <= LARGE:
        return np.lexsort(keys)
    return run_whole(np.lexsort, copied(keys, x.dtype))


@lru_cache(maxsize=1024)
def _op(op_class: type[_SortingOp], axis: int, kind: str) -> _SortingOp:
    return op_class(axis, kind)


def _along(x: Any, order: Any, axis: int) -> Any:
    """Return the elements of ``x`` at the indices ``order`` along an axis."""
    if x.ndim == 1:
        return x[order]
    index = [
        order
        if dim == axis
        else dimshuffle(arange(shape_i(x, dim)), *(0 if d == dim else "x" for d in range(x.ndim)))
        for dim in range(x.ndim)
    ]
    return operators.index(x, tuple(index))


def _sorted(
    op_class: type[_SortingOp],
    x: Any,
    axis: Any,
    kind: str | None,
    order: Any,
    stable: bool | None,
    descending: bool,
) -> Any:
    if order is not None:
        msg = f"Tensors have no fields to sort by; got order={order!r}."
        raise OpContractError(msg)
    if stable is not None and kind is not None:
        msg = f"Pass kind or stable, not both; got kind={kind!r} and stable={stable!r}."
        raise OpContractError(msg)
    if kind is None:
        kind = "stable" if stable else "quicksort"
    x = as_tensor_variable(x)
    if axis is None:
        x = flatten(x)
        axis = 0
    op = _op(op_class, normalize_axis(axis, x.ndim), kind)
    if not descending:
        return op(x)
    found = op(_reversed_order(x))
    return _reversed_order(found) if op_class is SortOp else found


def _reversed_order(x: Any) -> Any:
    """Return values in the opposite order, with NaN still last: ``-x``, or ``~x`` of integers."""
    return math.invert(x) if is_discrete(x) else math.neg(x)


@also_named
def sort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    stable: bool | None = None,
    descending: bool = False,
) -> TensorVariable:
    """Return the elements in ascending or descending order along an axis.

    Parameters
    ----------
    x
        A tensor. NaN comes last; complex numbers are ordered by real, then imaginary part.
    axis
        The axis; ``None`` flattens first.
    kind
        ``"quicksort"`` (the default), ``"mergesort"``, ``"heapsort"`` or ``"stable"``.
    order
        Accepted for compatibility with NumPy's signature.
    stable
        ``True`` is equivalent to ``kind="stable"``.
    descending
        The largest elements come first, and NaN still last.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``; a vector for ``axis=None``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    OpContractError
        ``kind`` is unknown, or both it and ``stable`` are given.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.sort(pt.constant([[3, 1], [0, 2]])).eval()
    array([[1, 3],
           [0, 2]])
    """
    return _sorted(SortOp, x, axis, kind, order, stable, descending)


@also_named
def argsort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    stable: bool | None = None,
    descending: bool = False,
) -> TensorVariable:
    """Return the indices that sort along an axis.

    Parameters
    ----------
    x
        A tensor. NaN comes last; complex numbers are ordered by real, then imaginary part.
    axis
        The axis; ``None`` flattens first.
    kind
        ``"quicksort"`` (the default), ``"mergesort"``, ``"heapsort"`` or ``"stable"``, with which
        equal elements keep their order.
    order
        Accepted for compatibility with NumPy's signature.
    stable
        ``True`` is equivalent to ``kind="stable"``.
    descending
        The largest elements come first, and NaN still last.

    Returns
    -------
    TensorVariable
        Indices along the axis, of dtype int64.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    OpContractError
        ``kind`` is unknown, or both it and ``stable`` are given.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.argsort(pt.constant([3, 1, 2])).eval()
    array([1, 2, 0])
    """
    return _sorted(ArgSortOp, x, axis, kind, order, stable, descending)
