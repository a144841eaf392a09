"""Sparse matrices made of others: side by side, on top of each other, along the diagonal."""

from __future__ import annotations

from functools import reduce
from typing import Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError
from phintys.sparse.operations import (
    as_sparse_variable,
    cast,
    converted,
    csr_from_dense,
    is_sparse,
    to_format,
)
from phintys.sparse.parts import Form, from_arrays, parts
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.observing import CheckAndRaise


def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices on top of each other as a sparse one.

    Parameters
    ----------
    blocks
        Matrices with the same number of columns, of which at least one is sparse.
    format
        ``"csr"`` or ``"csc"``; by default that of the first sparse one.
    dtype
        The dtype of the elements; by default that to which those of the blocks are promoted.

    Raises
    ------
    ArgumentError
        There are no blocks.
    ShapeError
        Numbers of columns differ.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> a = scipy.sparse.csr_array([[1.0, 0.0]])
    >>> sparse.vstack([a, 2 * a]).toarray().eval()
    array([[1., 0.],
           [2., 0.]])
    """
    forms, wanted = _blocks(blocks, format)
    stacked = _on_top([converted(form, "csr") for form in forms])
    return _finished(stacked.variable, wanted, dtype)


def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """Return matrices side by side as a sparse one; parameters as for :func:`vstack`.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> a = scipy.sparse.csr_array([[1.0, 0.0]])
    >>> sparse.hstack([a, 2 * a]).toarray().eval()
    array([[1., 0., 2., 0.]])
    """
    forms, wanted = _blocks(blocks, format)
    stacked = _on_top([converted(form, "csc").transposed for form in forms])
    return _finished(stacked.transposed.variable, wanted, dtype)


def block_diag(*blocks: Any, format: str | None = None) -> Any:
    """Return the matrix with these matrices along the diagonal, and zeros elsewhere.

    Parameters
    ----------
    blocks
        Matrices, of which at least one is sparse.
    format
        As for :func:`vstack`.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> a = scipy.sparse.csr_array([[1.0, 2.0]])
    >>> sparse.block_diag(a, a).toarray().eval()
    array([[1., 2., 0., 0.],
           [0., 0., 1., 2.]])
    """
    forms, wanted = _blocks(blocks, format)
    forms = [converted(form, "csr") for form in forms]
    before, widened = [0], []
    for form in forms:
        before.append(before[-1] + form.size(1))
    for form, offset in zip(forms, before[:-1], strict=True):
        indices = form.indices + pt.cast(offset, "int64")
        widened.append(
            from_arrays(form.data, indices, form.indptr, (form.size(0), before[-1]), "csr")
        )
    return _finished(_on_top(widened).variable, wanted, None)


def construct_sparse_from_list(x: Any, values: Any, rows: Any) -> Any:
    """Return the csr matrix of the shape of x in which rows have these values, and others none.

    Rows that are named twice are added up.

    Parameters
    ----------
    x
        A dense matrix, for its shape.
    values
        A matrix with a row for each number.
    rows
        A vector of numbers of rows.
    """
    x, values, rows = (as_tensor_variable(v) for v in (x, values, rows))
    named, into = pt.unique(rows, return_inverse=True)
    sums = pt.segment_sum(values, into, named.shape[0])
    count, width = x.shape[0], x.shape[1]
    indices = pt.tile(pt.arange(width), named.shape[0])
    indptr = pt.searchsorted(named, pt.arange(count + 1)) * width
    return from_arrays(sums.ravel(), indices, indptr, (count, width), "csr").variable


def _blocks(blocks: Any, format: str | None) -> tuple[list[Form], str]:
    blocks = list(blocks)
    if not blocks or not any(map(is_sparse, blocks)):
        msg = f"Expected matrices, at least one of them sparse, got {blocks}."
        raise ArgumentError(msg)
    variables = [as_sparse_variable(b) if is_sparse(b) else csr_from_dense(b) for b in blocks]
    first = next(v for v, b in zip(variables, blocks, strict=True) if is_sparse(b))
    return [parts(v) for v in variables], format or first.type.format


def _on_top(forms: list[Form]) -> Form:
    """Return csr matrices on top of each other."""
    columns = reduce(_same, (form.size(1) for form in forms))
    starts, count = [forms[0].indptr], forms[0].indices.shape[0]
    for form in forms[1:]:
        starts.append(form.indptr[1:] + pt.cast(count, "int32"))
        count = count + form.indices.shape[0]
    data, indices = (
        pt.concatenate([getattr(form, name) for form in forms]) for name in ("data", "indices")
    )
    rows = sum((form.size(0) for form in forms[1:]), forms[0].size(0))
    return from_arrays(data, indices, pt.concatenate(starts), (rows, columns), "csr")


def _same(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        if a != b:
            msg = f"The matrices must have the same number of columns (or rows), got {a} and {b}."
            raise ShapeError(msg)
        return a
    if a is b:
        return a
    check = CheckAndRaise(ShapeError, "The matrices must have the same number of columns or rows.")
    return check(as_tensor_variable(a), pt.eq(a, b))


def _finished(x: Any, format: str, dtype: Any) -> Any:
    x = to_format(x, format)
    return x if dtype is None or x.type.dtype == dtype else cast(x, dtype)
