"""Histograms in several dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys._base.names import public_dir
from phintys.graph.variable import Variable
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.cumulative import diff
from phintys.tensor.dim_shuffle import dimshuffle
from phintys.tensor.reduce import sum
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import add_sizes, multiply_sizes, subtract_sizes
from phintys.tensor.statistics.counting import bincount, histogram_bin_edges, places_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

__all__ = ["histogram2d", "histogramdd"]


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """Count points of the plane in rectangular bins.

    Parameters
    ----------
    x, y
        The coordinates of the points: real vectors of the same length.
    bins
        A number of bins or a vector of edges, for both dimensions; or a pair, one for each.
    range
        A pair of pairs, the first and the last edge in each dimension; by default the smallest and
        largest coordinate. What is outside is left out.
    density
        Divide, so that the integral over the bins is 1.
    weights
        What to add for each point instead of 1, a vector.

    Returns
    -------
    tuple of TensorVariable
        The counts, or sums of weights, as a float64 matrix; the edges along ``x``; and along ``y``.

    Raises
    ------
    ArgumentError
        The bins or the range have another form.
    ShapeError
        ``x`` or ``y`` is not a vector, or the weights are not as many.
    DomainError
        Edges are not in ascending order, or the coordinates that determine them are not finite.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> counts, _, _ = pt.histogram2d([0.0, 1.0, 3.0], [0.0, 0.0, 1.0], bins=2)
    >>> counts.eval()
    array([[2., 0.],
           [0., 1.]])
    """
    bins = list(bins) if isinstance(bins, list | tuple) else bins
    if not (isinstance(bins, list) and len(bins) == 2):
        edges = as_tensor_variable(bins)
        # Like NumPy, take a vector of two elements for a pair.
        bins = [edges[0], edges[1]] if edges.type.shape == (2,) else [edges, edges]
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[TensorVariable, list[TensorVariable]]:
    """Count points of a space of several dimensions in bins.

    Parameters
    ----------
    sample
        The points: a list of vectors, one for each dimension, or a matrix of a known number of
        columns, with a row for each point.
    bins
        A number of bins for all dimensions, or a list with a number of bins or a vector of edges
        for each.
    range
        A list of pairs, the first and the last edge in each dimension, or ``None`` for the smallest
        and the largest coordinate. What is outside is left out.
    density
        Divide, so that the integral over the bins is 1.
    weights
        What to add for each point instead of 1, a vector.

    Returns
    -------
    tuple
        The counts, or sums of weights, as a float64 tensor with an axis for each dimension; and the
        list of the vectors of edges.

    Raises
    ------
    ArgumentError
        The bins or the range have another form.
    ShapeError
        The number of dimensions is unknown, coordinates are not a vector, or the number of
        weights is not that of the points.
    DtypeError
        The coordinates are complex.
    DomainError
        Edges are not in ascending order, or the coordinates that determine them are not finite.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> points = pt.constant([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0]])
    >>> counts, edges = pt.histogramdd(points, bins=[2, 1])
    >>> counts.eval()
    array([[2.],
           [1.]])
    """
    columns = [_coordinates(one) for one in _columns_of(sample)]
    dims = len(columns)
    bins = _for_each(bins, dims, "bins")
    ranges = [None] * dims if range is None else _for_each(range, dims, "range")
    edges = [
        histogram_bin_edges(column, of_one, ends)
        for column, of_one, ends in zip(columns, bins, ranges, strict=True)
    ]
    lengths = [subtract_sizes(sizes_of(one)[0], 1) for one in edges]
    total = multiply_sizes(lengths)
    place, inside = places_in(edges[0], columns[0])
    for column, ends, length in zip(columns[1:], edges[1:], lengths[1:], strict=True):
        here, within = places_in(ends, column)
        place, inside = place * length + here, math.and_(inside, within)
    place = math.switch(inside, place, total)  # the last number is not returned
    counts = bincount(place, weights, add_sizes(total, 1))[:total]
    counts = reshape(math.cast(counts, "float64"), lengths, ndim=dims)
    if density:
        counts = _density(counts, edges)
    return counts, edges


def _columns_of(sample: Any) -> Sequence[Any]:
    if isinstance(sample, list | tuple):
        if sample:
            return sample
        msg = "histogramdd: there must be at least one dimension, got an empty list."
        raise ShapeError(msg)
    points = as_tensor_variable(sample)
    count = points.type.shape[1] if points.ndim == 2 else None
    if count is None or count == 0:
        msg = (
            "histogramdd takes a list of vectors, or a matrix with a known number of columns, got "
            f"{points} of type {points.type}. Use pt.specify_shape, or list the columns."
        )
        raise ShapeError(msg)
    return [points[:, i] for i in np.arange(count)]


def _coordinates(x: Any) -> Any:
    x = as_tensor_variable(x)
    if x.ndim != 1:
        msg = f"histogramdd: coordinates are vectors, got {x} of type {x.type}. Flatten them."
        raise ShapeError(msg)
    if x.type.numpy_dtype.kind == "c":
        msg = f"histogramdd: coordinates are real, got {x} of dtype {x.dtype}."
        raise DtypeError(msg)
    return math.cast(x, "float64")


def _for_each(given: Any, dims: int, name: str) -> list[Any]:
    """Return one entry for each dimension, from a list or one number of bins for all."""
    if name == "bins" and isinstance(given, int | np.integer | Variable):
        return [given] * dims
    listed = list(given) if isinstance(given, list | tuple | np.ndarray) else None
    if listed is None or len(listed) != dims:
        msg = f"histogramdd: {name} has one entry for each of the {dims} dimensions, got {given!r}."
        raise ArgumentError(msg)
    return listed


def _density(counts: Any, edges: Sequence[Any]) -> Any:
    total = sum(counts)
    for axis, ends in enumerate(edges):
        pattern: list[Any] = ["x"] * counts.ndim
        pattern[axis] = 0
        counts = counts / dimshuffle(math.cast(diff(ends), "float64"), *pattern)
    return counts / total


__dir__ = public_dir(__name__)
