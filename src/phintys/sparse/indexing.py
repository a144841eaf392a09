"""Parts of sparse matrices, and sparse matrices made of others."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, IndexingError, ShapeError, TypeContractError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.sparse.operations import (
    as_sparse_variable,
    cast,
    converted,
    csr_from_dense,
    is_sparse,
    to_format,
)
from phintys.sparse.parts import Form, from_arrays, parts
from phintys.sparse.patterns import check_pattern, keys, places, wrong_pattern
from phintys.sparse.type import FORMATS, LIMIT
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.shape_rules import ShapedOp
from phintys.tensor.sizes import as_size
from phintys.tensor.type import TensorType


class EntryPlaces(ShapedOp):
    """``(indices, indptr, rows, columns, minor size)``: where elements are stored.

    It is the number of entries for elements that are not stored. Negative rows and columns count
    from the end.
    """

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Build a node for vectors of integers, and a size."""
        *vectors, size = inputs
        variables = [*map(as_tensor_variable, vectors), as_size(size, "A size")]
        return Apply(self, variables, [TensorType("int64", *self.static_shapes(variables))()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Search by the keys of entries."""
        indices, indptr, rows, columns, size = inputs
        if len(rows) != len(columns):
            msg = f"{self}: {len(rows)} rows for {len(columns)} columns."
            raise ShapeError(msg)
        check_pattern(self, indices, indptr, int(size))
        rows, columns = _in_range(rows, len(indptr) - 1), _in_range(columns, int(size))
        output_storage[0][0] = places((rows << 31) + columns, keys(indices, indptr))

    def output_shapes(self, shapes: Any) -> list[tuple[Any, ...]]:
        """Return a place for each row and column."""
        return [shapes.shapes[2]]

    def error(self, number: int, _: int) -> Exception:
        """Return the error of a pattern or of indices that native code found to be wrong."""
        return wrong_pattern(self, number)

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return nothing: patterns have no derivative."""
        return [disconnected_type() for _ in inputs]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Patterns have no derivative."""
        return [[False] for _ in node.inputs]


def _in_range(places: Any, size: int) -> Any:
    """Return places in an axis; negative ones count from its end."""
    at = np.asarray(places, "int64")
    if at.size and (at.min() < -size or at.max() >= size):
        wrong = at.min() if at.min() < -size else at.max()
        msg = f"Index {wrong} is out of range for an axis of a sparse matrix of size {size}."
        raise IndexingError(msg)
    return np.where(at < 0, at + size, at)


def get_item(x: Any, index: Any) -> Any:
    """Return ``x[index]``: an element, several, or a part of the matrix.

    Parameters
    ----------
    x
        A sparse matrix.
    index
        - Two integers: an element, as a dense number.
        - Two vectors of integers: a dense vector of elements.
        - A slice or vector of integers for the rows, or one for each axis: a sparse matrix. An
          integer beside one of these takes a row or column, which stays a matrix.

    Raises
    ------
    IndexError
        An index is out of range.
    TypeContractError
        It is something else.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> a = sparse.as_sparse_variable(scipy.sparse.csr_array([[1.0, 0.0], [2.0, 3.0]]))
    >>> a[1, 0].eval(), a[[1, 0], [1, 1]].eval()
    (array(2.), array([3., 0.]))
    >>> a[1:].toarray().eval()
    array([[2., 3.]])
    """
    given = list(index) if isinstance(index, tuple) else [index]
    if len(given) > 2 or any(one is None or one is Ellipsis for one in given):
        msg = f"A sparse matrix takes at most two indices, without None and ..., got {index!r}."
        raise TypeContractError(msg)
    given += [slice(None)] * (2 - len(given))
    form = parts(as_sparse_variable(x))
    axes = [_index(one) for one in given]
    if not any(isinstance(one, slice) for one in axes):
        ranks = [one.ndim for one in axes]
        if ranks == [0, 0]:
            return _elements(form, axes)[0]
        if ranks == [1, 1]:
            return _elements(form, axes)
    return _part(form, axes)


def _index(one: Any) -> Any:
    if isinstance(one, slice):
        return one
    variable = as_tensor_variable(one)
    if variable.ndim == 1 and variable.dtype == "bool":
        (variable,) = pt.nonzero(variable)
    if isinstance(one, list) and not one:
        variable = pt.cast(variable, "int64")
    if variable.ndim > 1 or variable.type.numpy_dtype.kind not in "iu":
        msg = (
            "An index of a sparse matrix is a slice, an integer, or a vector of integers or "
            f"bools, got {one} of type {variable.type}."
        )
        raise TypeContractError(msg)
    return pt.cast(variable, "int64")


def _elements(form: Form, axes: list[Any]) -> Any:
    rows, columns = pt.broadcast_arrays(*(pt.atleast_1d(one) for one in axes))
    major, minor = (rows, columns) if form.is_csr else (columns, rows)
    at = EntryPlaces()(form.indices, form.indptr, major, minor, form.minor_size)
    return pt.concatenate([form.data, pt.zeros(1, form.data.dtype)])[at]


def _part(form: Form, axes: list[Any]) -> Any:
    """Return rows, and then columns: those are rows of the same matrix in the other format."""
    format = form.format
    for axis in (0, 1) if form.is_csr else (1, 0):
        one = axes[axis]
        if not (isinstance(one, slice) and one.start is one.stop is one.step is None):
            form = _major_taken(converted(form, FORMATS[axis]), one)
    return converted(form, format).variable


def _major_taken(form: Form, index: Any) -> Form:
    """Return some rows of a csr matrix, or columns of a csc matrix, in any order."""
    at = index if isinstance(index, slice) else pt.atleast_1d(index)
    starts, counts = form.indptr[:-1][at], pt.diff(form.indptr)[at]
    indptr = pt.concatenate([pt.zeros(1, "int64"), pt.cumsum(counts)])
    msg = "A part of a sparse matrix must have fewer than 2**31 entries."
    total = CheckAndRaise(ShapeError, msg)(indptr[-1], indptr[-1] < LIMIT)
    entries = pt.repeat(starts - indptr[:-1], counts) + pt.arange(total)
    sizes = [form.size(0), form.size(1)]
    sizes[0 if form.is_csr else 1] = counts.shape[0]
    return from_arrays(form.data[entries], form.indices[entries], indptr, sizes, form.format)


def get_item_2d(x: Any, index: Any) -> Any:
    """Return the part of a sparse matrix that two slices or integers name."""
    return get_item(x, index)


def get_item_scalar(x: Any, index: Any) -> Any:
    """Return an element of a sparse matrix, as a dense number."""
    return get_item(x, index)


def get_item_list(x: Any, rows: Any) -> Any:
    """Return rows of a sparse matrix, as a sparse one."""
    return get_item(x, rows)


def get_item_2lists(x: Any, rows: Any, columns: Any) -> Any:
    """Return elements of a sparse matrix, as a dense vector."""
    return get_item(x, (rows, columns))


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
