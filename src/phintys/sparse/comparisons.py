"""Comparisons of sparse matrices, which have no derivative, and removal of zeros.

A comparison that is false for two zeros has a sparse result, with the entries for which it is true.
Others are true almost everywhere: their results for two sparse matrices are sparse in type only.
Comparisons with dense matrices are dense.
"""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt
from phintys.sparse.operations import (
    as_sparse_variable,
    csc_from_dense,
    csr_from_dense,
    dense_from_sparse,
    is_sparse,
    on_union,
)
from phintys.sparse.parts import parts


def _compared(x: Any, y: Any, function: Any, *, zeros: bool) -> Any:
    if is_sparse(x) and is_sparse(y):
        if not zeros:
            return remove0(on_union(x, y, function))
        x = as_sparse_variable(x)
        made = csr_from_dense if x.type.format == "csr" else csc_from_dense
        return made(function(dense_from_sparse(x), dense_from_sparse(y)))
    return function(*(dense_from_sparse(v) if is_sparse(v) else v for v in (x, y)))


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
