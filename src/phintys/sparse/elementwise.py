"""Functions of the stored elements of sparse matrices, comparisons, and removal of zeros.

Those of the first kind are 0 at 0, so that they are functions of the whole matrix. Others are
*structured*: elements that are not stored stay 0, whatever the function of 0 is.

A comparison that is false for two zeros has a sparse result, with the entries for which it is true.
Others are true almost everywhere: their results for two sparse matrices are sparse in type only.
Comparisons with dense matrices are dense.
"""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt
from phintys._base.errors import TypeContractError
from phintys.sparse.operations import (
    as_sparse_variable,
    csc_from_dense,
    csr_from_dense,
    dense_from_sparse,
    is_sparse,
    on_union,
    structured,
)
from phintys.sparse.parts import parts


def _of(function: Any, name: str, text: str) -> Any:
    def apply(x: Any) -> Any:
        return structured(x, function)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = text
    return apply


def _zero_at_zero(name: str, function: Any = None) -> Any:
    function = getattr(pt, name) if function is None else function
    return _of(function, name, f"Return ``{name}`` of the elements of a sparse matrix.")


abs = _zero_at_zero("abs")
arcsin = _zero_at_zero("arcsin")
arcsinh = _zero_at_zero("arcsinh")
arctan = _zero_at_zero("arctan")
arctanh = _zero_at_zero("arctanh")
ceil = _zero_at_zero("ceil")
conj = _zero_at_zero("conj")
deg2rad = _zero_at_zero("deg2rad")
expm1 = _zero_at_zero("expm1")
floor = _zero_at_zero("floor")
log1p = _zero_at_zero("log1p")
rad2deg = _zero_at_zero("rad2deg")
rint = _zero_at_zero("rint")
sign = _zero_at_zero("sign")
sin = _zero_at_zero("sin")
sinh = _zero_at_zero("sinh")
sqr = _zero_at_zero("sqr")
sqrt = _zero_at_zero("sqrt")
tan = _zero_at_zero("tan")
tanh = _zero_at_zero("tanh")
trunc = _zero_at_zero("trunc")

structured_exp = _of(pt.exp, "structured_exp", "Return ``exp`` of the stored elements.")
structured_log = _of(pt.log, "structured_log", "Return ``log`` of the stored elements.")
structured_sigmoid = _of(
    pt.sigmoid, "structured_sigmoid", "Return ``sigmoid`` of the stored elements."
)


def structured_pow(x: Any, y: Any) -> Any:
    """Return the stored elements to the power of a number.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> sparse.structured_pow(scipy.sparse.csr_array([[0.0, 3.0]]), 2).sum().eval()
    array(9.)
    """
    return structured(x, lambda data: data ** _number(y))


def structured_maximum(x: Any, y: Any) -> Any:
    """Return the larger of each stored element and a number."""
    return structured(x, lambda data: pt.maximum(data, _number(y)))


def structured_minimum(x: Any, y: Any) -> Any:
    """Return the smaller of each stored element and a number."""
    return structured(x, lambda data: pt.minimum(data, _number(y)))


def structured_add(x: Any, y: Any) -> Any:
    """Return the stored elements plus a number."""
    return structured(x, lambda data: data + _number(y))


def structured_add_s_v(x: Any, y: Any) -> Any:
    """Return the stored elements plus that of a vector which belongs to their column."""
    form, y = parts(as_sparse_variable(x)), pt.as_tensor_variable(y)
    vector = pt.specify_shape(y, (form.size(1),))
    return form.with_data(form.data + vector[form.columns]).variable


def _number(y: Any) -> Any:
    if is_sparse(y) or getattr(y, "ndim", 0):
        msg = f"The second operand must be a number (0-d), got {y}."
        raise TypeContractError(msg)
    return y


def maximum(x: Any, y: Any) -> Any:
    """Return the larger of each two elements: sparse if both matrices are, otherwise dense."""
    return _of_two(x, y, pt.maximum)


def minimum(x: Any, y: Any) -> Any:
    """Return the smaller of each two elements: sparse if both matrices are, otherwise dense."""
    return _of_two(x, y, pt.minimum)


def _of_two(x: Any, y: Any, function: Any) -> Any:
    if is_sparse(x) and is_sparse(y):
        return on_union(x, y, function)
    return function(*(dense_from_sparse(v) if is_sparse(v) else v for v in (x, y)))


def sp_ones_like(x: Any) -> Any:
    """Return ones on the pattern of a sparse matrix."""
    return structured(x, pt.ones_like)


def sp_zeros_like(x: Any) -> Any:
    """Return a matrix of the shape of another one, without entries."""
    form = parts(as_sparse_variable(x))
    return form.with_pattern(form.data[:0], form.indices[:0], pt.zeros_like(form.indptr)).variable


def _compared(x: Any, y: Any, function: Any, *, zeros: bool) -> Any:
    if not (zeros and is_sparse(x) and is_sparse(y)):
        found = _of_two(x, y, function)
        return remove0(found) if is_sparse(found) else found
    x = as_sparse_variable(x)
    made = csr_from_dense if x.type.format == "csr" else csc_from_dense
    return made(function(dense_from_sparse(x), dense_from_sparse(y)))


def eq(x: Any, y: Any) -> Any:
    """Return where two matrices, one of them sparse, are equal.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> a = scipy.sparse.csr_array([[1.0, 0.0, 2.0]])
    >>> sparse.eq(a, 2 * a).toarray().eval()
    array([[False,  True, False]])
    """
    return _compared(x, y, pt.eq, zeros=True)


def neq(x: Any, y: Any) -> Any:
    """Return where two matrices, one of them sparse, are not equal."""
    return _compared(x, y, pt.neq, zeros=False)


def lt(x: Any, y: Any) -> Any:
    """Return where a matrix is less than another; one of them is sparse."""
    return _compared(x, y, pt.lt, zeros=False)


def gt(x: Any, y: Any) -> Any:
    """Return where a matrix is greater than another; one of them is sparse."""
    return _compared(x, y, pt.gt, zeros=False)


def le(x: Any, y: Any) -> Any:
    """Return where a matrix is at most another; one of them is sparse."""
    return _compared(x, y, pt.le, zeros=True)


def ge(x: Any, y: Any) -> Any:
    """Return where a matrix is at least another; one of them is sparse."""
    return _compared(x, y, pt.ge, zeros=True)


def remove0(x: Any) -> Any:
    """Return a sparse matrix without the zeros among its entries.

    Its gradient is that of the entries that stay; it is 0 for the others.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> a = scipy.sparse.csr_array(([1.0, 0.0], [0, 1], [0, 2]), shape=(1, 2))
    >>> sparse.remove0(a).nnz.eval()
    array(1)
    """
    form = parts(as_sparse_variable(x))
    (kept,) = pt.nonzero(form.data)
    indptr = pt.searchsorted(kept, form.indptr)
    return form.with_pattern(form.data[kept], form.indices[kept], indptr).variable


def ensure_sorted_indices(x: Any) -> Any:
    """Return the matrix: the indices of all sparse matrices are sorted."""
    return as_sparse_variable(x)


def clean(x: Any) -> Any:
    """Return a sparse matrix with sorted indices and without zeros among its entries."""
    return remove0(ensure_sorted_indices(x))
