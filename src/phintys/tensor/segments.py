"""Reductions of segments: of the rows that have the same number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import DtypeError, ShapeError
from phintys._base.public import public_dir
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import alloc
from phintys.tensor.indexing import inc_subtensor
from phintys.tensor.joining import concatenate
from phintys.tensor.reduce import max
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size, fold

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = ["segment_sum"]


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
    data, ids = as_tensor_variable(data), as_tensor_variable(segment_ids)
    if ids.type.numpy_dtype.kind not in "iu":
        msg = f"segment_sum: the numbers of segments are integers, got {ids} of type {ids.type}."
        raise DtypeError(msg)
    if ids.ndim != 1 or data.ndim == 0:
        msg = (
            "segment_sum takes rows and a vector with the number of the segment of each; got "
            f"{data} of type {data.type}, and {ids} of type {ids.type}."
        )
        raise ShapeError(msg)
    data = math.cast(data, "int64") if data.dtype == "bool" else data
    rows = alloc(np.zeros((), data.dtype), _number(ids, num_segments), *sizes_of(data)[1:])
    return inc_subtensor(rows[ids], data)


def _number(ids: Any, num_segments: Any) -> Any:
    if num_segments is not None:
        return fold(as_size(num_segments, "The number of segments"))
    present = concatenate([constant(np.array([-1])), math.cast(ids, "int64")])
    return max(present) + 1


__dir__ = public_dir(__name__)
