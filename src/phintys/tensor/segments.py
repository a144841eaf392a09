"""Reductions of segments: of the rows that have the same number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys._base.names import public_dir
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.tensor import math
from phintys.tensor._rules import conjugate, is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import alloc, given_lengths
from phintys.tensor.indexing import inc_subtensor
from phintys.tensor.joining import concatenate
from phintys.tensor.reduce import max
from phintys.tensor.shape_rules import S, ShapedOp, Shapes, lengths_at
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size, fold
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

__all__ = ["SegmentReduce", "segment_max", "segment_min", "segment_prod", "segment_sum"]

_UFUNCS = {"max": np.maximum, "min": np.minimum, "prod": np.multiply}


def segment_sum(data: Any, segment_ids: Any, num_segments: Any = None) -> TensorVariable:
    """Return the sums of the rows of each segment.

    Parameters
    ----------
    data
        A tensor of rank 1 or more.
    segment_ids
        A vector of integers: to which segment each row belongs. They need not be sorted; negative
        ones count from the end.
    num_segments
        Number of segments, an int or symbolic integer; by default the largest number plus 1.

    Returns
    -------
    TensorVariable
        One row for each segment; 0 where there are no rows.

    Raises
    ------
    ShapeError
        There are not as many numbers as rows.
    DtypeError
        The numbers are not integers.
    IndexError
        A number is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.segment_sum([1.0, 2.0, 3.0, 4.0], [0, 2, 0, 2], 4).eval()
    array([4., 0., 6., 0.])
    """
    data, ids = _rows_and_numbers(data, segment_ids, "segment_sum")
    data = math.cast(data, "int64") if data.dtype == "bool" else data
    rows = alloc(np.zeros((), data.dtype), _number(ids, num_segments), *sizes_of(data)[1:])
    return inc_subtensor(rows[ids], data)


def _rows_and_numbers(data: Any, segment_ids: Any, name: str) -> tuple[Any, Any]:
    data, ids = as_tensor_variable(data), as_tensor_variable(segment_ids)
    if ids.type.numpy_dtype.kind not in "iu":
        msg = f"{name}: the numbers of segments are integers, got {ids} of type {ids.type}."
        raise DtypeError(msg)
    if ids.ndim != 1 or data.ndim == 0:
        msg = (
            f"{name} takes rows and a vector with the number of the segment of each; got "
            f"{data} of type {data.type}, and {ids} of type {ids.type}."
        )
        raise ShapeError(msg)
    return data, ids


def _number(ids: Any, num_segments: Any) -> Any:
    if num_segments is not None:
        return fold(as_size(num_segments, "The number of segments"))
    present = concatenate([constant(np.array([-1])), math.cast(ids, "int64")])
    return max(present) + 1


class SegmentReduce(ShapedOp):
    """Reduce the rows of each segment to one.

    Parameters
    ----------
    mode
        ``"max"``, ``"min"`` or ``"prod"``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.SegmentReduce("max")([1.0, 5.0, 2.0], [1, 1, 0], 2).eval()
    array([2., 5.])
    """

    __props__ = ("mode",)

    def __init__(self, mode: str) -> None:
        if mode not in _UFUNCS:
            msg = f"The mode of a SegmentReduce is one of {', '.join(_UFUNCS)}, got {mode!r}."
            raise ArgumentError(msg)
        self.mode = mode

    def make_node(self, data: Any, ids: Any, count: Any) -> Apply:
        """Apply to rows, the number of the segment of each, and the number of segments."""
        data, ids = _rows_and_numbers(data, ids, f"segment_{self.mode}")
        if self.mode != "prod" and data.type.numpy_dtype.kind == "c":
            msg = f"Complex numbers have no order: segment_{self.mode} got {data} ({data.dtype})."
            raise DtypeError(msg)
        inputs = [data, ids, as_size(count, "The number of segments")]
        return Apply(self, inputs, [TensorType(data.dtype, *self.static_shapes(inputs))()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Reduce with NumPy's ``ufunc.at``."""
        data, ids = inputs[:2]
        shape = given_lengths(self, (inputs[2], *data.shape[1:]), data.dtype)
        if len(data) != len(ids):
            msg = f"segment_{self.mode}: {len(ids)} numbers of segments for {len(data)} rows."
            raise ShapeError(msg)
        out = np.full(shape, self.value_without_rows(data.dtype))
        _UFUNCS[self.mode].at(out, ids, data)
        output_storage[0][0] = out

    def value_without_rows(self, dtype: np.dtype[Any]) -> Any:
        """Return the value of a segment without rows."""
        if self.mode == "prod":
            return dtype.type(1)
        if dtype.kind == "f":
            return dtype.type(-np.inf if self.mode == "max" else np.inf)
        if dtype.kind == "b":
            return np.bool_(self.mode == "min")
        limits = np.iinfo(dtype)
        return dtype.type(limits.min if self.mode == "max" else limits.max)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the number of segments, and the sizes of a row."""
        return [(*lengths_at(shapes, 2), *shapes.shapes[0][1:])]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Return that the rows alone are differentiated."""
        return [[True], [False], [False]]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradient of the segment times the partials."""
        data, ids, _ = inputs
        if is_discrete(data):
            return [zero_gradient(data), disconnected_type(), disconnected_type()]
        gradient = output_grads[0][ids] * conjugate(self._partials(inputs, outputs[0]))
        return [gradient, disconnected_type(), disconnected_type()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the sums of the segments of tangents times partials."""
        (data, ids, count), v = inputs, eval_points[0]
        out = self(*inputs)
        if is_missing(v) or is_discrete(data):
            return [None if is_missing(v) else zero_gradient(out)]
        return [segment_sum(v * self._partials(inputs, out), ids, count)]

    def _partials(self, inputs: Sequence[Any], out: Any) -> Any:
        """Return the derivative of the segment of each row by it; extremes share theirs."""
        data, ids, count = inputs
        if self.mode == "prod":
            return _product_of_others(data, ids, count)
        is_extreme = math.cast(math.eq(data, out[ids]), data.dtype)
        return is_extreme / segment_sum(is_extreme, ids, count)[ids]

    def __str__(self) -> str:
        return f"Segment{self.mode.capitalize()}"


def _product_of_others(data: Any, ids: Any, count: Any) -> Any:
    """Return the product of the other rows of the segment of each row, where some are 0 too."""
    is_zero = math.eq(data, 0)
    factors = math.switch(is_zero, 1, data)
    product = SegmentReduce("prod")(factors, ids, count)[ids]
    other_zeros = segment_sum(is_zero, ids, count)[ids] - is_zero
    return math.switch(math.gt(other_zeros, 0), 0, product / factors)


def segment_max(data: Any, segment_ids: Any, num_segments: Any = None) -> TensorVariable:
    """Return the largest elements of the rows of each segment.

    Parameters
    ----------
    data
        A real tensor of rank 1 or more.
    segment_ids, num_segments
        As for :func:`segment_sum`.

    Returns
    -------
    TensorVariable
        One row for each segment; the lowest number of the dtype where there are no rows. Rows that
        are largest together share the gradient.

    Raises
    ------
    DtypeError
        ``data`` is complex, or the numbers are not integers.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.segment_max([1.0, 5.0, 2.0], [1, 1, 0]).eval()
    array([2., 5.])
    """
    return _segment(data, segment_ids, num_segments, "max")


def segment_min(data: Any, segment_ids: Any, num_segments: Any = None) -> TensorVariable:
    """Return the smallest elements of the rows of each segment.

    Parameters
    ----------
    data
        A real tensor of rank 1 or more.
    segment_ids, num_segments
        As for :func:`segment_sum`.

    Returns
    -------
    TensorVariable
        One row for each segment; the highest number of the dtype where there are no rows. Rows that
        are smallest together share the gradient.

    Raises
    ------
    DtypeError
        ``data`` is complex, or the numbers are not integers.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.segment_min([1.0, 5.0, 2.0], [1, 1, 0]).eval()
    array([2., 1.])
    """
    return _segment(data, segment_ids, num_segments, "min")


def segment_prod(data: Any, segment_ids: Any, num_segments: Any = None) -> TensorVariable:
    """Return the products of the rows of each segment.

    Parameters
    ----------
    data
        A tensor of rank 1 or more.
    segment_ids, num_segments
        As for :func:`segment_sum`.

    Returns
    -------
    TensorVariable
        One row for each segment; 1 where there are no rows. First derivatives are correct where
        rows are 0.

    Raises
    ------
    ShapeError
        There are not as many numbers as rows.
    DtypeError
        The numbers are not integers.
    IndexError
        A number is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.segment_prod([1.0, 5.0, 2.0], [1, 1, 0]).eval()
    array([2., 5.])
    """
    data = as_tensor_variable(data)
    data = math.cast(data, "int64") if data.dtype == "bool" else data
    return _segment(data, segment_ids, num_segments, "prod")


def _segment(data: Any, segment_ids: Any, num_segments: Any, mode: str) -> TensorVariable:
    data, ids = _rows_and_numbers(data, segment_ids, f"segment_{mode}")
    return SegmentReduce(mode)(data, ids, _number(ids, num_segments))


__dir__ = public_dir(__name__)
