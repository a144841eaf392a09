"""Operations on sparse matrices, made of dense operations on their parts.

Only patterns need Ops of their own (:mod:`~phintys.sparse.patterns`): elements are gathered, added
up and multiplied by steps that dense programs have, which also take their derivatives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError, TypeContractError
from phintys.graph.pretty import pprint
from phintys.graph.variable import Constant, Variable
from phintys.scalar.casting import Cast
from phintys.sparse.parts import Form, Parts, elements_at, from_arrays, parts
from phintys.sparse.patterns import (
    CheckedPattern,
    CommonPattern,
    Converted,
    MergedPattern,
    PatternOp,
    ProductPattern,
)
from phintys.sparse.products import (
    ProductAtEntries,
    ProductByColumns,
    ProductByRows,
    ProductOfRows,
)
from phintys.sparse.type import FORMATS, SparseType, sp, type_of
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.size_check import SizeCheck


def is_sparse(x: Any) -> bool:
    """Return whether ``x`` is a sparse variable or a sparse value of SciPy."""
    return isinstance(getattr(x, "type", None), SparseType) or bool(sp.issparse(x))


def as_sparse_variable(x: Any, name: str | None = None) -> Any:
    """Return ``x`` as a sparse variable; a value of SciPy becomes a constant, by a copy.

    Raises
    ------
    TypeContractError
        ``x`` is not sparse.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> sparse.as_sparse_variable(scipy.sparse.eye_array(3, format="csr")).sum().eval()
    array(3.)
    """
    if isinstance(getattr(x, "type", None), SparseType):
        return x
    if not sp.issparse(x):
        msg = (
            f"Expected a sparse variable or a sparse matrix of SciPy, got {x!r}. Convert dense "
            "ones with csr_from_dense or csc_from_dense."
        )
        raise TypeContractError(msg)
    type_ = type_of(x, x.shape)
    # A copy, so that the constant stays what it is where the given arrays are changed later.
    return type_.make_constant(type_.filter(x.copy()), name)


def from_parts(data: Any, indices: Any, indptr: Any, shape: Any, format: str = "csr") -> Any:
    """Return the sparse matrix of these arrays, as :class:`scipy.sparse.csr_array` takes them.

    Parameters
    ----------
    data, indices, indptr
        Vectors, which may be constants: then the pattern is known when a function is compiled.
        Within a row (a column, for csc), indices must grow. A constant pattern is checked here,
        others in each call.
    shape
        Two sizes, or a vector of two integers.
    format
        ``"csr"`` or ``"csc"``.

    Raises
    ------
    ArgumentError
        The format is another one.
    ShapeError
        The arrays are not those of a sparse matrix, or an entry is stored twice.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys import sparse
    >>> d = pt.dvector("d")
    >>> A = sparse.from_parts(d, [0, 2], [0, 1, 2], (2, 3))
    >>> sparse.dense_from_sparse(A).eval({d: [4.0, 5.0]})
    array([[4., 0., 0.],
           [0., 0., 5.]])
    """
    if format not in FORMATS:
        msg = f"The format must be 'csr' or 'csc', got {format!r}."
        raise ArgumentError(msg)
    source = _source(indices, indptr, shape)
    if source is not None and source.type.format == format:
        return parts(source).with_data(as_tensor_variable(data)).variable
    sizes = as_tensor_variable(shape) if not isinstance(shape, list | tuple) else shape
    rows, columns = sizes[0], sizes[1]
    major, minor = (rows, columns) if format == "csr" else (columns, rows)
    indices, indptr = _checked(indices, indptr, major, minor)
    return from_arrays(data, indices, indptr, (rows, columns), format).variable


def _source(indices: Any, indptr: Any, shape: Any) -> Any:
    """Return the matrix whose pattern these variables are, which needs no check; else None."""
    made = [_uncast(v) for v in (indices, indptr, shape)]
    node = made[0].owner if all(isinstance(v, Variable) for v in made) else None
    if node is None or not isinstance(node.op, Parts):
        return None
    is_whole = all(a is b for a, b in zip(made, node.outputs[1:], strict=True))
    return node.inputs[0] if is_whole else None


def _uncast(x: Any) -> Any:
    node = x.owner if isinstance(x, Variable) else None
    is_cast = (
        node is not None
        and isinstance(node.op, pt.Elemwise)
        and isinstance(node.op.scalar_op, Cast)
    )
    return node.inputs[0] if node is not None and is_cast else x


def _checked(indices: Any, indptr: Any, major: Any, minor: Any) -> Any:
    """Return the pattern; now, if it is known, else as variables that a call checks."""
    given = [as_tensor_variable(v) for v in (indices, indptr, major, minor)]
    known = [v.data for v in given if isinstance(v, Constant)]
    if len(known) == len(given):
        return CheckedPattern().pattern(*known)
    return CheckedPattern()(*given)


def csm_properties(x: Any) -> tuple[Any, Any, Any, Any]:
    """Return the stored elements, indices, ``indptr`` and shape of a sparse matrix."""
    form = parts(as_sparse_variable(x))
    return form.data, form.indices, form.indptr, form.shape


def converted(form: Form, format: str) -> Form:
    """Return a matrix in a format."""
    if form.format == format:
        return form
    indices, indptr, order = Converted()(form.indices, form.indptr, form.minor_size)
    return Form(form.data[order], indices, indptr, form.shape, format, form.static)


def to_format(x: Any, format: str) -> Any:
    """Return a sparse matrix in the format ``"csr"`` or ``"csc"``."""
    x = as_sparse_variable(x)
    return x if x.type.format == format else converted(parts(x), format).variable


def dense_from_sparse(x: Any) -> Any:
    """Return the matrix as a dense one.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> sparse.dense_from_sparse(scipy.sparse.eye_array(2, format="csr")).eval()
    array([[1., 0.],
           [0., 1.]])
    """
    form = parts(as_sparse_variable(x))
    zeros = pt.zeros((form.size(0), form.size(1)), form.data.dtype)
    return pt.set_subtensor(zeros[form.rows, form.columns], form.data)


def csr_from_dense(x: Any) -> Any:
    """Return the elements of a dense matrix that are not 0, in the format csr.

    The gradient is that of the stored elements; it is 0 elsewhere.
    """
    x = as_tensor_variable(x)
    if x.ndim != 2:
        msg = f"A sparse matrix is made of a matrix, got {x} of type {x.type}."
        raise ShapeError(msg)
    rows, columns = pt.nonzero(x)
    indptr = pt.searchsorted(rows, pt.arange(x.shape[0] + 1))
    return from_arrays(x[rows, columns], columns, indptr, (x.shape[0], x.shape[1])).variable


def csc_from_dense(x: Any) -> Any:
    """Return the elements of a dense matrix that are not 0, in the format csc."""
    return transpose(csr_from_dense(as_tensor_variable(x).T))


def transpose(x: Any) -> Any:
    """Return the transpose, whose format is the other one: nothing is moved."""
    return parts(as_sparse_variable(x)).transposed.variable


def cast(x: Any, dtype: Any) -> Any:
    """Return the matrix with elements of another dtype."""
    return structured(x, lambda data: pt.cast(data, dtype))


def neg(x: Any) -> Any:
    """Return ``-x``."""
    return structured(x, lambda data: -data)


def structured(x: Any, function: Any) -> Any:
    """Return a function of the stored elements, on the same pattern."""
    form = parts(as_sparse_variable(x))
    return form.with_data(function(form.data)).variable


def add(x: Any, y: Any) -> Any:
    """Return ``x + y``: sparse if both are, on the union of the patterns; otherwise dense."""
    if not (is_sparse(x) and is_sparse(y)):
        x, y = (dense_from_sparse(v) if is_sparse(v) else v for v in (x, y))
        return pt.add(x, y)
    return on_union(x, y, pt.add)


def on_union(x: Any, y: Any, function: Any) -> Any:
    """Return a function of two sparse matrices at the entries of either; of zeros it must be 0."""
    a, b = _alike(x, y)
    if a.has_pattern_of(b):
        return a.with_data(function(a.data, b.data)).variable
    return _on_pattern(MergedPattern(), a, b, function)


def _on_pattern(pattern: PatternOp, a: Form, b: Form, function: Any) -> Any:
    """Return a function of two matrices at the entries of a pattern that is made of theirs."""
    indices, indptr, *_ = pattern(a.indices, a.indptr, b.indices, b.indptr)
    result = a.with_pattern(a.data, indices, indptr)
    return result.with_data(function(elements_at(a, result), elements_at(b, result))).variable


def sub(x: Any, y: Any) -> Any:
    """Return ``x - y``."""
    return add(x, neg(y) if is_sparse(y) else pt.neg(y))


def mul(x: Any, y: Any) -> Any:
    """Return the elementwise product with a sparse or dense matrix, a row, a column or a number.

    The result is sparse. Elements that are not stored are 0 also where the other is infinite. A
    dense vector is a row, as in NumPy.
    """
    if is_sparse(x) and is_sparse(y):
        a, b = _alike(x, y)
        if a.has_pattern_of(b):
            return a.with_data(a.data * b.data).variable
        return _on_pattern(CommonPattern(), a, b, pt.mul)
    if not is_sparse(x):
        x, y = y, x
    form, y = parts(as_sparse_variable(x)), as_tensor_variable(y)
    return form.with_data(form.data * _at_entries(y, form)).variable


def _at_entries(y: Any, form: Form) -> Any:
    if y.ndim == 0:
        return y
    if y.ndim > 2:
        msg = f"A sparse matrix is multiplied by at most a matrix, got {y} of type {y.type}."
        raise ShapeError(msg)
    full = pt.broadcast_to(y, (form.size(0), form.size(1)))
    return full[form.rows, form.columns]


def row_scale(x: Any, s: Any) -> Any:
    """Return the matrix with each row multiplied by an element of a vector."""
    x, s = as_sparse_variable(x), as_tensor_variable(s)
    form = parts(x)
    scale = _of_length(s, form.size(0), f"row_scale: the rows of {x} and the elements of {s}")
    return form.with_data(form.data * scale[form.rows]).variable


def _of_length(s: Any, size: Any, subject: str) -> Any:
    """Return a tensor whose first axis must have a size; the subject is both, for the error."""
    own = s.type.shape[0]
    size = _equal_size(size, s.shape[0] if own is None else own, subject)
    return pt.specify_shape(s, (size, *(None for _ in range(s.ndim - 1))))


def _equal_size(size: Any, other: Any, subject: str) -> Any:
    """Return a size that must equal another one: checked now if both are known, else in calls."""
    check = SizeCheck("equal", subject)
    if not (isinstance(size, int) and isinstance(other, int)):
        return check(size, size, other)
    if size != other:
        raise check.error(size, other)
    return size


def col_scale(x: Any, s: Any) -> Any:
    """Return the matrix with each column multiplied by an element of a vector."""
    x, s = as_sparse_variable(x), as_tensor_variable(s)
    form = parts(x)
    scale = _of_length(s, form.size(1), f"col_scale: the columns of {x} and the elements of {s}")
    return form.with_data(form.data * scale[form.columns]).variable


def sp_sum(x: Any, axis: int | None = None) -> Any:
    """Return the sum of all elements, or of those along an axis, as a dense tensor.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> sparse.sp_sum(scipy.sparse.csr_array([[1.0, 2.0], [0.0, 3.0]]), axis=0).eval()
    array([1., 5.])
    """
    form = parts(as_sparse_variable(x))
    axis = _axis(axis)
    return form.data.sum() if axis is None else pt.segment_sum(form.data, *_lines(form, axis))


def sp_max(x: Any, axis: int | None = None) -> Any:
    """Return the largest element, or those along an axis, as a dense tensor.

    Elements that are not stored count as zeros.

    Raises
    ------
    ShapeError
        In a call: there are no elements.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> sparse.sp_max(scipy.sparse.csr_array([[-1.0, -2.0], [0.0, 3.0]]), axis=1).eval()
    array([-1.,  3.])
    """
    return _extreme(x, axis, pt.segment_max, pt.maximum)


def sp_min(x: Any, axis: int | None = None) -> Any:
    """Return the smallest element, or those along an axis; see :func:`sp_max`.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> sparse.sp_min(scipy.sparse.csr_array([[1.0, 2.0], [0.0, 3.0]])).eval()
    array(0.)
    """
    return _extreme(x, axis, pt.segment_min, pt.minimum)


def _extreme(x: Any, axis: int | None, of_segments: Any, of_two: Any) -> Any:
    x = as_sparse_variable(x)
    form = parts(x)
    axis = _axis(axis)
    rows, columns = form.size(0), form.size(1)
    if axis is None:
        lines, count, length = pt.zeros_like(form.indices), 1, rows * columns
    else:
        lines, count = _lines(form, axis)
        length = form.size(axis)
    length = SizeCheck("at least", f"{x}: the number of elements compared")(length, length, 1)
    stored = pt.segment_sum(pt.ones_like(lines), lines, count)
    found = of_segments(form.data, lines, count)
    zero = pt.zeros((), form.data.dtype)
    result = pt.where(stored < length, of_two(found, zero), found)
    return result[0] if axis is None else result


def _axis(axis: Any) -> int | None:
    if axis is None:
        return None
    if axis not in {-2, -1, 0, 1}:
        msg = f"The axis of a sparse matrix must be 0 or 1, got {axis!r}."
        raise ArgumentError(msg)
    return axis % 2


def _lines(form: Form, axis: int) -> tuple[Any, Any]:
    """Return which of the lines along an axis each entry is in, and how many there are."""
    return (form.rows, form.size(0)) if axis else (form.columns, form.size(1))


def diag(x: Any) -> Any:
    """Return the main diagonal as a dense vector."""
    form = parts(as_sparse_variable(x))
    on_it = pt.eq(form.rows, form.columns)
    kept = pt.where(on_it, form.data, pt.zeros_like(form.data))
    places = pt.where(on_it, form.rows, 0)
    # Where there are no entries on the diagonal, zeros go to the first place; it exists if there
    # are entries at all.
    return pt.segment_sum(kept, places, pt.minimum(form.size(0), form.size(1)))


def square_diagonal(diagonal: Any) -> Any:
    """Return the square csc matrix with this diagonal."""
    d = as_tensor_variable(diagonal)
    n = d.shape[0]
    return from_arrays(d, pt.arange(n), pt.arange(n + 1), (n, n), "csc").variable


def dot(x: Any, y: Any) -> Any:
    """Return the matrix product: sparse if both are, otherwise dense.

    Parameters
    ----------
    x, y
        At least one is sparse. A dense one is a matrix or a vector.

    Raises
    ------
    ShapeError
        A dense operand has another rank than 1 or 2.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> sparse.dot(scipy.sparse.csr_array([[1.0, 2.0], [0.0, 3.0]]), [1.0, 10.0]).eval()
    array([21., 30.])
    """
    if not (is_sparse(x) or is_sparse(y)):
        msg = "One operand of sparse.dot must be sparse. Use phintys.tensor.dot for dense ones."
        raise TypeContractError(msg)
    x, y = (as_sparse_variable(v) if is_sparse(v) else as_tensor_variable(v) for v in (x, y))
    first, second = pprint.brief(x), pprint.brief(y)
    subject = f"{first} @ {second}: the last axis of {first} and the first one of {second}"
    if not is_sparse(x):
        return _dense_product(parts(y).transposed, x.T, subject).T
    if not is_sparse(y):
        return _dense_product(parts(x), y, subject)
    return _sparse_product(parts(x), parts(y), subject)


def _dense_product(form: Form, y: Any, subject: str) -> Any:
    if y.ndim not in {1, 2}:
        msg = f"A sparse matrix is multiplied by a vector or a matrix, got {y} of type {y.type}."
        raise ShapeError(msg)
    y = _of_length(y, form.size(1), subject)
    pattern = form.indices, form.indptr
    if form.is_csr:
        return ProductByRows()(form.data, y, *pattern)
    return ProductByColumns()(form.data, y, *pattern, form.size(0))


def _sparse_product(a: Form, b: Form, subject: str) -> Any:
    between = _equal_size(a.size(1), b.size(0), subject)
    if a.is_csr:
        return _rows_times_rows(a, converted(b, "csr"), between).variable
    transposed = _rows_times_rows(converted(b, "csc").transposed, a.transposed, between)
    return transposed.transposed.variable


def _rows_times_rows(a: Form, b: Form, between: Any) -> Form:
    """Return the product of two matrices by rows; ``between`` are those of the second."""
    first, second = (a.indices, a.indptr), (b.indices, b.indptr)
    width = b.size(1)
    arrays = (*first, *second)
    indices, indptr = ProductPattern()(*arrays, between, width)
    data = ProductAtEntries()(a.data, b.data, *arrays, indices, indptr, width)
    sizes = pt.stack([a.shape[0], b.shape[1]])
    return Form(data, indices, indptr, sizes, "csr", (a.static[0], b.static[1]))


def sampling_dot(x: Any, y: Any, p: Any) -> Any:
    """Return ``x @ y.T`` at the entries of ``p``, multiplied by them; nothing else is computed."""
    x, y, p = as_tensor_variable(x), as_tensor_variable(y), as_sparse_variable(p)
    form = parts(p)
    x = _of_length(x, form.size(0), f"sampling_dot: the rows of {p} and of {x}")
    y = _of_length(y, form.size(1), f"sampling_dot: the columns of {p} and the rows of {y}")
    major, minor = (x, y) if form.is_csr else (y, x)
    sampled = ProductOfRows()(major, minor, form.indices, form.indptr)
    return form.with_data(form.data * sampled).variable


def _alike(x: Any, y: Any) -> tuple[Form, Form]:
    a, b = parts(as_sparse_variable(x)), parts(as_sparse_variable(y))
    for axis in (0, 1):
        if None not in {a.static[axis], b.static[axis]} and a.static[axis] != b.static[axis]:
            msg = f"Sparse matrices must have the same shape, got {a.static} and {b.static}."
            raise ShapeError(msg)
    b = converted(b, a.format)
    if None in {*a.static, *b.static} and a.shape is not b.shape:
        equal = pt.eq(a.shape, b.shape).all()
        same = CheckAndRaise(ShapeError, "Sparse matrices must have the same shape.")
        shape = same(a.shape, equal)
        a = replace(a, shape=shape)
    return a, b


def csm_data(x: Any) -> Any:
    """Return the stored elements of a sparse matrix."""
    return csm_properties(x)[0]


def csm_indices(x: Any) -> Any:
    """Return the column of each entry of a csr matrix, the row of each entry of a csc matrix."""
    return csm_properties(x)[1]


def csm_indptr(x: Any) -> Any:
    """Return where each row of a csr matrix begins, each column of a csc matrix, and the end."""
    return csm_properties(x)[2]


def csm_shape(x: Any) -> Any:
    """Return both sizes of a sparse matrix, a vector."""
    return csm_properties(x)[3]


def CSR(data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """Return the csr matrix of these arrays; see :func:`from_parts`."""
    return from_parts(data, indices, indptr, shape, "csr")


def CSC(data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """Return the csc matrix of these arrays; see :func:`from_parts`."""
    return from_parts(data, indices, indptr, shape, "csc")


def add_s_s_data(x: Any, y: Any) -> Any:
    """Return the sum of two sparse matrices that have the pattern of the first.

    Nothing but their sizes is checked: elements are added one by one.
    """
    a, b = _alike(x, y)
    return a.with_data(a.data + b.data).variable


def usmm(alpha: Any, x: Any, y: Any, z: Any) -> Any:
    """Return ``alpha * (x @ y) + z``, dense; x, y or both are sparse.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> a = scipy.sparse.csr_array([[1.0, 2.0]])
    >>> sparse.usmm(10.0, a, [[1.0], [1.0]], [[5.0]]).eval()
    array([[35.]])
    """
    product = dot(x, y)
    product = dense_from_sparse(product) if is_sparse(product) else product
    z = dense_from_sparse(z) if is_sparse(z) else z
    return alpha * product + z
