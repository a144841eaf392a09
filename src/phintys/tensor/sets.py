"""Arrays as sets: what is in them, once, and what is in both or in one of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from phintys.tensor import math
from phintys.tensor._rules import is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import ones_like, zeros_like
from phintys.tensor.cumulative import cumsum, diff
from phintys.tensor.dim_shuffle import moveaxis, normalize_axis
from phintys.tensor.indexing.setting import set_subtensor
from phintys.tensor.joining import concatenate
from phintys.tensor.nonzeros import flatnonzero
from phintys.tensor.reduce import any as any_
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.searching import searchsorted
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sorting import RowOrder, argsort, sort
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


@also_named
def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the elements, sorted, each of them once.

    Parameters
    ----------
    x
        A tensor; without an axis it is flattened.
    return_index
        Also return where each value occurs first: in the flattened tensor, or along the axis.
    return_inverse
        Also return which of the values each element is, in the shape of ``x``; with an axis, which
        of the slices each slice is, as a vector.
    return_counts
        Also return how often each value occurs.
    axis
        The axis whose slices are the values, sorted by their first elements, then the second, and
        so on; ``None`` for the elements.
    equal_nan
        NaN equals NaN: it is in the result at most once, and so is a slice with NaN in the same
        places. (NumPy's slices with NaN are never equal.)
    sorted
        Accepted for compatibility: the values are always sorted.

    Returns
    -------
    TensorVariable or tuple of TensorVariable
        The values, followed by what else is asked for, in the order of the parameters.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> values, counts = pt.unique([2, 3, 2], return_counts=True)
    >>> values.eval(), counts.eval()
    (array([2, 3]), array([2, 1]))
    >>> pt.unique([[2, 3], [0, 5], [2, 3]], axis=0).eval()
    array([[0, 5],
           [2, 3]])
    """
    x = as_tensor_variable(x)
    axis = None if axis is None else normalize_axis(axis, x.ndim)
    if x.ndim == 1:
        axis = None
    if axis is None:
        with_order = return_index or return_inverse
        ordered, order, starts = _elements_in_order(flatten(x), with_order, equal_nan)
    else:
        ordered, order, starts = _slices_in_order(moveaxis(x, axis, 0), equal_nan)
    places = flatnonzero(starts)
    values = ordered[places]
    results = [values if axis is None else moveaxis(values, 0, axis)]
    if return_index:
        results.append(order[places])
    if return_inverse:
        numbers = cumsum(math.cast(starts, "int64")) - 1
        inverse = set_subtensor(zeros_like(order)[order], numbers)
        is_shaped = axis is None and x.ndim != 1
        results.append(reshape(inverse, sizes_of(x)) if is_shaped else inverse)
    if return_counts:
        length = math.cast(as_tensor_variable(sizes_of(ordered)[0]), "int64")
        results.append(diff(concatenate([places, length[None]])))
    return tuple(results) if len(results) > 1 else results[0]


def _elements_in_order(x: Any, with_order: bool, equal_nan: bool) -> tuple[Any, Any, Any]:
    """Return a vector sorted, the order if it is asked for, and where new values start."""
    order = argsort(x, stable=True) if with_order else None
    ordered = sort(x) if order is None else x[order]
    return ordered, order, _starts(ordered[:1], _differences(ordered, equal_nan))


def _slices_in_order(x: Any, equal_nan: bool) -> tuple[Any, Any, Any]:
    """Return the slices along the first axis sorted, their order, and where new ones start."""
    rows = flatten(x, 2)
    order = RowOrder()(rows)
    differs = any_(_differences(rows[order], equal_nan), axis=1)
    return x[order], order, _starts(order[:1], differs)


def _differences(ordered: Any, equal_nan: bool) -> Any:
    """Return which elements differ from those before them along the first axis."""
    later, before = ordered[1:], ordered[:-1]
    differs = math.neq(later, before)
    if equal_nan and not is_discrete(ordered):
        both = math.and_(math.neq(later, later), math.neq(before, before))
        differs = math.and_(differs, math.invert(both))
    return differs


def _starts(first: Any, differs: Any) -> Any:
    """Return where values start: the first one, if there is any, and where they differ."""
    return concatenate([ones_like(first, dtype="bool"), differs])


# ---- the array API -------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """What :func:`unique_all` returns."""

    values: TensorVariable
    indices: TensorVariable
    inverse_indices: TensorVariable
    counts: TensorVariable


class UniqueCounts(NamedTuple):
    """What :func:`unique_counts` returns."""

    values: TensorVariable
    counts: TensorVariable


class UniqueInverse(NamedTuple):
    """What :func:`unique_inverse` returns."""

    values: TensorVariable
    inverse_indices: TensorVariable


def unique_all(x: Any) -> UniqueAll:
    """Return values, first indices, inverse indices and counts; each NaN is a value of its own.

    Parameters
    ----------
    x
        A tensor; it is flattened.

    Returns
    -------
    UniqueAll
        A named tuple: ``values``, sorted; ``indices``, where each occurs first;
        ``inverse_indices``, in the shape of ``x``, which of the values each element is; ``counts``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.unique_all([2, 3, 2]).indices.eval()
    array([0, 1])
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Any) -> UniqueCounts:
    """Return values and how often they occur; each NaN is a value of its own.

    Parameters
    ----------
    x
        A tensor; it is flattened.

    Returns
    -------
    UniqueCounts
        A named tuple: ``values``, sorted, and ``counts``, int64.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.unique_counts([2, 3, 2]).counts.eval()
    array([2, 1])
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> UniqueInverse:
    """Return values and which of them each element is; each NaN is a value of its own.

    Parameters
    ----------
    x
        A tensor; it is flattened.

    Returns
    -------
    UniqueInverse
        A named tuple: ``values``, sorted, and ``inverse_indices``, int64, in the shape of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.unique_inverse([2, 3, 2]).inverse_indices.eval()
    array([0, 1, 0])
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Any) -> TensorVariable:
    """Return the values, sorted; each NaN is a value of its own.

    Parameters
    ----------
    x
        A tensor; it is flattened.

    Returns
    -------
    TensorVariable
        A vector, whose length is known at run time.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.unique_values([2, 3, 2]).eval()
    array([2, 3])
    """
    return unique(x, equal_nan=False)


# ---- two sets ------------------------------------------------------------------------------------


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> TensorVariable:
    """Return which elements are in another tensor.

    Parameters
    ----------
    element
        A tensor. NaN is in no tensor.
    test_elements
        The tensor to look in, of any shape.
    assume_unique, kind
        Accepted for compatibility with NumPy's signature.
    invert
        Return which elements are not in it.

    Returns
    -------
    TensorVariable
        Bools, with the shape of ``element``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.isin([[1, 2], [3, 4]], [2, 3, 9]).eval()
    array([[False,  True],
           [ True, False]])
    """
    element = as_tensor_variable(element)
    test_elements = flatten(as_tensor_variable(test_elements))
    dtype = promote(element.dtype, test_elements.dtype)
    element, ordered = math.cast(element, dtype), sort(math.cast(test_elements, dtype))
    first = searchsorted(ordered, element, "left")
    found = math.lt(first, searchsorted(ordered, element, "right"))
    if not is_discrete(element):
        found = math.and_(found, math.eq(element, element))
    return math.invert(found) if invert else found


@also_named
def union1d(a: Any, b: Any) -> TensorVariable:
    """Return the values that are in at least one of two tensors, sorted, each of them once.

    Parameters
    ----------
    a, b
        Tensors; they are flattened.

    Returns
    -------
    TensorVariable
        A vector with the dtype to which both promote.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.union1d([3, 1], [2, 3]).eval()
    array([1, 2, 3])
    """
    return unique(concatenate([flatten(as_tensor_variable(v)) for v in (a, b)]))


@also_named
def intersect1d(a: Any, b: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the values that are in both of two tensors, sorted, each of them once.

    Parameters
    ----------
    a, b
        Tensors; they are flattened.
    assume_unique
        Accepted for compatibility with NumPy's signature.
    return_indices
        Also return where the values occur first in the flattened ``a`` and ``b``.

    Returns
    -------
    TensorVariable or tuple of TensorVariable
        The values; with ``return_indices`` also where they occur first in ``a``, and in ``b``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.intersect1d([3, 1, 3], [2, 3]).eval()
    array([3])
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    dtype = promote(a.dtype, b.dtype)
    a, b = math.cast(a, dtype), math.cast(b, dtype)
    if not return_indices:
        values = unique(a)
        return values[isin(values, b)]
    (values, in_a), (others, in_b) = (unique(v, return_index=True) for v in (a, b))
    places = flatnonzero(isin(values, others))
    values = values[places]
    return values, in_a[places], in_b[searchsorted(others, values)]


@also_named
def setdiff1d(a: Any, b: Any, assume_unique: bool = False) -> TensorVariable:
    """Return the values that are in ``a`` but not in ``b``.

    Parameters
    ----------
    a, b
        Tensors; they are flattened.
    assume_unique
        Values of ``a`` keep their order, and those that occur twice are not sought.

    Returns
    -------
    TensorVariable
        A vector with the dtype of ``a``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.setdiff1d([3, 1, 3], [2, 3]).eval()
    array([1])
    """
    values = flatten(as_tensor_variable(a)) if assume_unique else unique(a)
    return values[isin(values, b, invert=True)]


@also_named
def setxor1d(a: Any, b: Any, assume_unique: bool = False) -> TensorVariable:
    """Return the values that are in exactly one of two tensors, sorted.

    Parameters
    ----------
    a, b
        Tensors; they are flattened.
    assume_unique
        Accepted for compatibility with NumPy's signature.

    Returns
    -------
    TensorVariable
        A vector with the dtype to which both promote.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.setxor1d([3, 1, 3], [2, 3]).eval()
    array([1, 2])
    """
    values, counts = unique_counts(concatenate([unique(a), unique(b)]))
    return values[math.eq(counts, 1)]
