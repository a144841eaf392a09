"""Counting: elements that are not zero, numbers, and elements in bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DomainError, DtypeError, ShapeError
from phintys.graph.variable import Constant
from phintys.tensor import math
from phintys.tensor._rules import Axis, is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import zeros
from phintys.tensor.cumulative import diff
from phintys.tensor.indexing.setting import inc_subtensor, take
from phintys.tensor.joining import concatenate
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.ranges import arange, linspace
from phintys.tensor.reduce import all, max, min, sum
from phintys.tensor.reshaping import flatten
from phintys.tensor.searching import searchsorted
from phintys.tensor.shapes import sizes_of
from phintys.tensor.size_check import at_least_one
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = [
    "array_equal",
    "array_equiv",
    "bincount",
    "count_nonzero",
    "histogram",
    "histogram_bin_edges",
]


@also_named
def count_nonzero(x: Any, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
    """Return the number of elements that are not zero along some axes.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        An int64 tensor.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.count_nonzero([[0, 1, 7], [0, 0, 3]], axis=1).eval()
    array([2, 1])
    """
    return sum(math.neq(x, 0), axis, dtype="int64", keepdims=keepdims)


# ---- arrays as a whole ---------------------------------------------------------------------------


@also_named
def array_equal(a: Any, b: Any, equal_nan: bool = False) -> TensorVariable:
    """Return whether two arrays have the same shape and the same elements.

    Parameters
    ----------
    a, b
        Tensors.
    equal_nan
        NaN is equal to NaN.

    Returns
    -------
    TensorVariable
        A 0-d bool.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.array_equal([1, 2], [1, 2, 3]).eval()
    array(False)
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if a.ndim != b.ndim:
        return _constant(False)
    result = _constant(True)
    for m, n in zip(sizes_of(a), sizes_of(b), strict=True):
        result = math.and_(result, math.eq(m, n))
    a, b = flatten(a), flatten(b)
    common = math.minimum(sizes_of(a)[0], sizes_of(b)[0])
    return math.and_(result, all(_equal(a[:common], b[:common], equal_nan)))


def _constant(value: Any) -> Any:
    return as_tensor_variable(np.asarray(value))


def _equal(a: Any, b: Any, equal_nan: bool) -> Any:
    same = math.eq(a, b)
    if not equal_nan or is_discrete(a) or is_discrete(b):
        return same
    return math.or_(same, math.and_(math.neq(a, a), math.neq(b, b)))


@also_named
def array_equiv(a: Any, b: Any) -> TensorVariable:
    """Return whether two arrays are equal once they are broadcast; false if they cannot be.

    Parameters
    ----------
    a, b
        Tensors of any shapes and dtypes.

    Returns
    -------
    TensorVariable
        A 0-d bool. NaN differs from itself.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.array_equiv([1, 2], [[1, 2], [1, 2]]).eval()
    array(True)
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    result = _constant(True)
    for axis in range(-np.minimum(a.ndim, b.ndim), 0):
        m, n = sizes_of(a)[axis], sizes_of(b)[axis]
        single = math.or_(math.eq(m, 1), math.eq(n, 1))
        result = math.and_(result, math.or_(single, math.eq(m, n)))
        length = math.switch(single, math.mul(m, n), math.minimum(m, n))
        places = arange(length)
        a = take(a, math.minimum(places, math.sub(m, 1)), axis=axis)
        b = take(b, math.minimum(places, math.sub(n, 1)), axis=axis)
    return math.and_(result, all(math.eq(a, b)))


# ---- bins ----------------------------------------------------------------------------------------


def bincount(
    x: Any, weights: Any = None, minlength: Any = 0, assert_nonneg: bool = False
) -> TensorVariable:
    """Return how often each of the numbers 0, 1, 2, … occurs in a vector.

    Parameters
    ----------
    x
        A vector of integers that are not negative.
    weights
        What to add for each element instead of 1: a vector as long as ``x``.
    minlength
        The least length of the result.
    assert_nonneg
        Accepted for compatibility; numbers are always checked.

    Returns
    -------
    TensorVariable
        One element for each number up to the largest one; of dtype int64, or float64 with weights.

    Raises
    ------
    DtypeError
        ``x`` has no integers, or the weights are complex.
    ShapeError
        ``x`` is not a vector, or the weights are not as many.
    DomainError
        A number is negative, at run time.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.bincount([0, 3, 1, 3]).eval()
    array([1, 1, 0, 2])
    """
    x = as_tensor_variable(x)
    if not is_discrete(x) or (weights is None and x.type.numpy_dtype.kind == "c"):
        msg = f"bincount counts integers, got {x} of dtype {x.dtype}. Cast it to int64."
        raise DtypeError(msg)
    if x.ndim != 1:
        msg = f"bincount takes a vector, got {x} of type {x.type}. Flatten it."
        raise ShapeError(msg)
    x = math.cast(x, "int64")
    least = math.cast(as_tensor_variable(minlength), "int64")
    message = "bincount: numbers and minlength must not be negative"
    valid = math.and_(all(math.ge(x, 0)), math.ge(least, 0))
    length = max(concatenate([x, (least - 1)[None]])) + 1
    # The length is checked, not the numbers, so that one pass finds the largest one and checks all.
    length = CheckAndRaise(DomainError, message)(length, valid)
    if weights is None:
        return inc_subtensor(zeros(length, dtype="int64")[x], 1)
    weights = as_tensor_variable(weights)
    if weights.type.numpy_dtype.kind == "c":
        msg = f"bincount: weights are real, got {weights} of dtype {weights.dtype}."
        raise DtypeError(msg)
    if weights.ndim != 1:
        msg = f"bincount: weights are a vector like x, got {weights} of type {weights.type}."
        raise ShapeError(msg)
    same = math.eq(sizes_of(x)[0], sizes_of(weights)[0])
    x = CheckAndRaise(ShapeError, "bincount: there must be a weight for each number")(x, same)
    return inc_subtensor(zeros(length, dtype="float64")[x], math.cast(weights, "float64"))


def histogram(
    a: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[TensorVariable, TensorVariable]:
    """Count the elements in bins.

    Parameters
    ----------
    a
        A real tensor.
    bins
        A number of bins of equal width, a vector of edges, or the name of one of NumPy's rules,
        such as ``"auto"``, for constants.
    range
        The pair of the first and the last edge; by default the smallest and largest element.
        What is outside is left out.
    density
        Divide, so that the integral over the bins is 1.
    weights
        What to add for each element instead of 1, in the shape of ``a``.

    Returns
    -------
    tuple of TensorVariable
        The counts, or sums of weights, and the edges of the bins: one more than bins.

    Raises
    ------
    ArgumentError
        The bins or the range have another form.
    ShapeError
        ``weights`` has another rank than ``a``.
    DomainError
        The edges are not in ascending order, or the elements that determine them are not finite.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> counts, edges = pt.histogram([1.0, 2.0, 1.0], bins=[0.0, 1.0, 2.0, 3.0])
    >>> counts.eval()
    array([0, 2, 1])
    """
    a = as_tensor_variable(a)
    edges = histogram_bin_edges(a, bins, range, weights)
    flat = flatten(a)
    count = sizes_of(edges)[0] - 1
    place, inside = places_in(edges, flat)
    place = math.switch(inside, place, count)  # the last number is not returned
    if weights is None:
        counts = bincount(place, minlength=count + 1)[:count]
    else:
        weights = as_tensor_variable(weights)
        if weights.ndim != a.ndim:
            msg = f"histogram: weights have the shape of {a.type}, got {weights.type}."
            raise ShapeError(msg)
        sums = bincount(place, flatten(weights), count + 1)[:count]
        counts = math.cast(sums, "float64" if weights.dtype == "bool" else weights.dtype)
    if density:
        counts = counts / math.cast(diff(edges), "float64") / sum(counts)
    return counts, edges


def places_in(edges: Any, x: Any) -> tuple[Any, Any]:
    """Return the numbers of the bins that elements are in, and whether they are in one at all."""
    last = at_least_one(sizes_of(edges)[0], "histogram: the number of edges") - 1
    first = 0 if isinstance(last, int) else math.minimum(last, 0)  # after the check
    place = searchsorted(edges, x, "right") - 1
    # The last edge belongs to the bin before it.
    place = math.switch(math.eq(x, edges[last]), last - 1, place)
    return place, math.and_(math.ge(x, edges[first]), math.le(x, edges[last]))


def histogram_bin_edges(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None
) -> TensorVariable:
    """Return the edges of the bins of :func:`histogram`.

    Parameters
    ----------
    a
        A real tensor.
    bins, range
        As for :func:`histogram`.
    weights
        Accepted for compatibility with NumPy's signature.

    Returns
    -------
    TensorVariable
        A floating vector, one longer than there are bins; edges that are given keep their dtype.

    Raises
    ------
    ArgumentError
        The bins or the range have another form.
    DtypeError
        ``a`` is complex.
    DomainError
        The edges are not in ascending order, or the elements that determine them are not finite.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.histogram_bin_edges([0.0, 1.0, 4.0], bins=2).eval()
    array([0., 2., 4.])
    """
    a = as_tensor_variable(a)
    if a.type.numpy_dtype.kind == "c":
        msg = f"histogram: complex numbers have no order, got {a} of dtype {a.dtype}."
        raise DtypeError(msg)
    if isinstance(bins, str):
        return _named_edges(a, bins, range, weights)
    edges: Any = as_tensor_variable(bins)
    if edges.ndim > 1:
        msg = f"histogram: bins is a number, a vector of edges or a name, got {edges.type}."
        raise ArgumentError(msg)
    if edges.ndim == 1:
        message = "histogram: the edges of bins must be in ascending order"
        if isinstance(edges, Constant):
            if np.any(edges.data[1:] < edges.data[:-1]):
                msg = f"{message}, got {edges.data}."
                raise DomainError(msg)
            return _constant(edges.data)
        return CheckAndRaise(DomainError, message)(edges, all(math.ge(edges[1:], edges[:-1])))
    if not is_discrete(edges):
        msg = f"histogram: the number of bins is an integer, got {bins} of dtype {edges.dtype}."
        raise ArgumentError(msg)
    if isinstance(edges, Constant) and edges.data < 1:
        msg = f"histogram: there must be at least one bin, got bins={int(edges.data)}."
        raise ArgumentError(msg)
    dtype = "float64" if is_discrete(a) else a.dtype
    low, high = (math.cast(end, dtype) for end in _ends(a, range))
    finite = math.and_(math.le(low, high), math.lt(high - low, np.inf))
    message = "histogram: the ends of the range must be finite and in ascending order"
    low = CheckAndRaise(DomainError, message)(low, finite)
    half = math.cast(math.switch(math.eq(low, high), 0.5, 0), dtype)
    return math.cast(linspace(low - half, high + half, math.add(edges, 1)), dtype)


def _ends(a: Any, range: Any) -> tuple[Any, Any]:
    if range is not None:
        if not isinstance(range, tuple | list) or len(range) != 2:
            msg = f"histogram: range is a pair (first, last), got {range!r}."
            raise ArgumentError(msg)
        return as_tensor_variable(range[0]), as_tensor_variable(range[1])
    flat = math.cast(flatten(a), "float64" if is_discrete(a) else a.dtype)
    none = math.eq(sizes_of(flat)[0], 0)
    # Without elements the range is from 0 to 1; a further element keeps min and max defined.
    spare = math.switch(none, 0, flat[:1].sum())
    low = min(concatenate([flat, math.cast(spare, flat.dtype)[None]]))
    high = max(concatenate([flat, math.cast(math.switch(none, 1, spare), flat.dtype)[None]]))
    return low, high


def _named_edges(a: Any, rule: str, range: Any, weights: Any) -> TensorVariable:
    if weights is not None:
        msg = f"histogram: the rule {rule!r} takes no weights. Give a number of bins."
        raise ArgumentError(msg)
    if not isinstance(a, Constant):
        msg = (
            f"histogram: the rule {rule!r} decides on the number of bins from the elements, which "
            f"are not known for {a}. Give a number of bins, or edges."
        )
        raise ArgumentError(msg)
    try:
        return _constant(np.histogram_bin_edges(a.data, rule, range))
    except ValueError as error:
        msg = f"histogram: {error}"
        raise ArgumentError(msg) from error
