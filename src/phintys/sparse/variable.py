"""Sparse variables, with the operators and methods of SciPy's sparse arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, TypeContractError
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.sharing import shared_constructor
from phintys.graph.variable import Constant, Variable
from phintys.sparse import elementwise, indexing, operations
from phintys.sparse.parts import parts
from phintys.sparse.type import SparseType, sp, type_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def _refuse_divisor(y: Any) -> NoReturn:
    """Raise for a sparse divisor."""
    what = f"{y} of type {y.type}" if isinstance(y, Variable) else f"a {type(y).__name__}"
    msg = (
        f"A divisor must be dense, got {what}: quotients are infinite, or NaN, where it has no "
        "entry. Write x / y.toarray() for the quotients where x has an entry (SciPy's csr_array "
        "also gives NaN where neither has one), or x * sparse.structured(y, lambda data: 1 / data) "
        "for those where both have one."
    )
    raise TypeContractError(msg)


def _refuse_out(out: Any) -> None:
    if out is not None:
        msg = f"out must be None, got {out!r}: a symbolic result is a new variable."
        raise ArgumentError(msg)


def _method(function: Any) -> Any:
    """Return a function of one matrix as a method."""

    def method(self: Any) -> Any:
        return function(self)

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    return method


class SparseVariable(Variable):
    """A symbolic sparse matrix.

    ``+``, ``-``, ``*`` and ``/`` are elementwise, ``@`` is the matrix product, as for SciPy's
    sparse arrays. A sum with a dense matrix is dense; a product with one is sparse. Divisors are
    dense.

    Examples
    --------
    >>> import phintys
    >>> from phintys import sparse
    >>> A = sparse.csr_matrix("A")
    >>> f = phintys.function([A], (2 * A).sum())
    >>> import scipy.sparse
    >>> f(scipy.sparse.eye_array(3, format="csr"))
    array(6.)
    """

    type: SparseType

    # NumPy's arrays and dense variables leave operators with a sparse variable to it.
    __array_ufunc__ = None
    __array_priority__ = 2000

    @property
    def dtype(self) -> str:
        """The dtype of the elements."""
        return self.type.dtype

    @property
    def format(self) -> str:
        """``"csr"`` or ``"csc"``."""
        return self.type.format

    @property
    def ndim(self) -> int:
        """The rank, 2."""
        return 2

    @property
    def shape(self) -> tuple[Any, Any]:
        """Both sizes; ints where they are known."""
        form = parts(self)
        return form.size(0), form.size(1)

    @property
    def nnz(self) -> Any:
        """The number of stored elements."""
        return parts(self).data.shape[0]

    @property
    def size(self) -> Any:
        """The number of stored elements, as for SciPy's sparse arrays."""
        return self.nnz

    @property
    def elements(self) -> Any:
        """The stored elements, a vector. (``data`` of a constant is its value.)"""
        return parts(self).data

    @property
    def indices(self) -> Any:
        """The column of each stored element of a csr matrix, the row of each of a csc matrix."""
        return parts(self).indices

    @property
    def indptr(self) -> Any:
        """Where the stored elements of each row begin, or of each column, and where they end."""
        return parts(self).indptr

    @property
    def T(self) -> Any:
        """The transpose."""
        return operations.transpose(self)

    def transpose(self) -> Any:
        """Return the transpose."""
        return operations.transpose(self)

    def toarray(self) -> Any:
        """Return a dense matrix."""
        return operations.dense_from_sparse(self)

    def todense(self) -> Any:
        """Return a dense matrix."""
        return operations.dense_from_sparse(self)

    def asformat(self, format: str) -> Any:
        """Return the matrix in a format, ``"csr"`` or ``"csc"``."""
        return operations.to_format(self, format)

    def tocsr(self) -> Any:
        """Return the matrix in the format csr."""
        return operations.to_format(self, "csr")

    def tocsc(self) -> Any:
        """Return the matrix in the format csc."""
        return operations.to_format(self, "csc")

    def astype(self, dtype: Any) -> Any:
        """Return the matrix with elements of another dtype."""
        return operations.cast(self, dtype)

    def sum(self, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
        """Return the sum of all elements, or of those along an axis."""
        _refuse_out(out)
        return operations.sp_sum(self if dtype is None else self.astype(dtype), axis)

    def mean(self, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
        """Return the mean of all elements, or of those along an axis; zeros count."""
        rows, columns = self.shape
        count = rows * columns if axis is None else columns if axis % 2 else rows
        return self.sum(axis, dtype, out) / count

    def max(self, axis: int | None = None, out: None = None) -> Any:
        """Return the largest element, or those along an axis; zeros count."""
        _refuse_out(out)
        return operations.sp_max(self, axis)

    def min(self, axis: int | None = None, out: None = None) -> Any:
        """Return the smallest element, or those along an axis; zeros count."""
        _refuse_out(out)
        return operations.sp_min(self, axis)

    def maximum(self, other: Any) -> Any:
        """Return the larger of each two elements: sparse, if the other matrix is."""
        return elementwise.maximum(self, other)

    def minimum(self, other: Any) -> Any:
        """Return the smaller of each two elements: sparse, if the other matrix is."""
        return elementwise.minimum(self, other)

    def count_nonzero(self, axis: int | None = None) -> Any:
        """Return how many elements are not 0, in all or along an axis."""
        return operations.sp_sum(operations.structured(self, lambda data: pt.neq(data, 0)), axis)

    def power(self, exponent: Any) -> Any:
        """Return the elements to the power of a positive number.

        Raises
        ------
        TypeContractError
            The exponent is not a positive number: the power of elements that are not stored would
            not be 0.
        """
        if not isinstance(exponent, int | float | np.number) or not exponent > 0:
            msg = (
                f"The exponent of a sparse matrix must be a positive number, got {exponent!r}: "
                "powers of 0 are not 0 otherwise. Write sparse.structured_pow(x, exponent) for "
                "those of the stored elements alone."
            )
            raise TypeContractError(msg)
        return elementwise.structured_pow(self, exponent)

    def diagonal(self) -> Any:
        """Return the main diagonal."""
        return operations.diag(self)

    def dot(self, other: Any) -> Any:
        """Return the matrix product."""
        return operations.dot(self, other)

    def multiply(self, other: Any) -> Any:
        """Return the elementwise product."""
        return operations.mul(self, other)

    def conj(self) -> Any:
        """Return the complex conjugates of the elements; a real matrix is itself."""
        return elementwise.conj(self) if self.type.numpy_dtype.kind == "c" else self

    def conjugate(self) -> Any:
        """Return the complex conjugates of the elements."""
        return self.conj()

    @property
    def real(self) -> Any:
        """The real parts of the elements."""
        return operations.structured(self, pt.real)

    @property
    def imag(self) -> Any:
        """The imaginary parts of the elements."""
        return operations.structured(self, pt.imag)

    def trace(self) -> Any:
        """Return the sum of the main diagonal."""
        return self.diagonal().sum()

    # The functions of one argument that SciPy's sparse arrays have as methods: 0 at 0.
    arcsin = _method(elementwise.arcsin)
    arcsinh = _method(elementwise.arcsinh)
    arctan = _method(elementwise.arctan)
    arctanh = _method(elementwise.arctanh)
    ceil = _method(elementwise.ceil)
    deg2rad = _method(elementwise.deg2rad)
    expm1 = _method(elementwise.expm1)
    floor = _method(elementwise.floor)
    log1p = _method(elementwise.log1p)
    rad2deg = _method(elementwise.rad2deg)
    rint = _method(elementwise.rint)
    sign = _method(elementwise.sign)
    sin = _method(elementwise.sin)
    sinh = _method(elementwise.sinh)
    sqrt = _method(elementwise.sqrt)
    tan = _method(elementwise.tan)
    tanh = _method(elementwise.tanh)
    trunc = _method(elementwise.trunc)

    def copy(self) -> Any:
        """Return a variable with the same value."""
        return operations.structured(self, lambda data: data)

    def zeros_like(self, dtype: Any = None) -> Any:
        """Return zeros on the same pattern."""
        return operations.structured(self, lambda data: pt.zeros_like(data, dtype))

    def ones_like(self, dtype: Any = None) -> Any:
        """Return ones on the same pattern."""
        return operations.structured(self, lambda data: pt.ones_like(data, dtype))

    def __bool__(self) -> NoReturn:
        msg = (
            f"{self} is symbolic and sparse, so it is neither true nor false. Reduce it to a "
            f"scalar for phintys.ifelse, such as {self}.sum() > 0; `is not None` tests for absence."
        )
        raise TypeError(msg)

    def __len__(self) -> NoReturn:
        msg = f"{self} is symbolic and sparse: its sizes are {self}.shape."
        raise TypeError(msg)

    def __contains__(self, item: Any) -> NoReturn:
        msg = f"{self} is symbolic: what it contains is not known. Compare {self}.elements with it."
        raise TypeError(msg)

    def __iter__(self) -> Iterator[Any]:
        count = self.type.shape[0]
        if count is None:
            msg = (
                f"Cannot iterate over {self}: its number of rows is not known until run time. Give "
                "the variable a static shape, as in sparse.csr_matrix('x', shape=(3, 4))."
            )
            raise TypeError(msg)
        return (self[row] for row in range(count))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        _refuse_as_dense(self, None)

    def __neg__(self) -> Any:
        return operations.neg(self)

    def __abs__(self) -> Any:
        return operations.structured(self, pt.abs)

    def __add__(self, other: Any) -> Any:
        return operations.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return operations.add(other, self)

    def __sub__(self, other: Any) -> Any:
        return operations.sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return operations.sub(other, self)

    def __mul__(self, other: Any) -> Any:
        return operations.mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return operations.mul(self, other)

    def __truediv__(self, other: Any) -> Any:
        if operations.is_sparse(other):
            _refuse_divisor(other)
        return operations.mul(self, pt.true_div(1, other))

    def __rtruediv__(self, other: Any) -> Any:
        _refuse_divisor(self)

    def __pow__(self, exponent: Any) -> Any:
        return self.power(exponent)

    def __lt__(self, other: Any) -> Any:
        return elementwise.lt(self, other)

    def __le__(self, other: Any) -> Any:
        return elementwise.le(self, other)

    def __gt__(self, other: Any) -> Any:
        return elementwise.gt(self, other)

    def __ge__(self, other: Any) -> Any:
        return elementwise.ge(self, other)

    def __getitem__(self, index: Any) -> Any:
        return indexing.get_item(self, index)

    def __matmul__(self, other: Any) -> Any:
        return operations.dot(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return operations.dot(other, self)


class SparseConstant(Constant, SparseVariable):
    """A sparse matrix that is known when a function is compiled."""


class SparseSharedVariable(SharedVariable, SparseVariable):
    """A sparse matrix that is kept between calls."""


SparseType.variable_type = SparseVariable
SparseType.constant_type = SparseConstant
SparseType.shared_type = SparseSharedVariable


def _refuse_as_dense(x: SparseVariable, name: str | None) -> NoReturn:
    msg = (
        f"Expected a tensor, got {x} of type {x.type}, which is sparse. Write {x}.toarray() for a "
        f"dense matrix, sparse.structured({x}, function) to compute with the stored elements only, "
        "or the operators +, -, * and @, which take sparse and dense operands."
    )
    raise TypeContractError(msg)


pt.register_conversion(SparseVariable, _refuse_as_dense)


def matrix(
    format: str, name: str | None = None, dtype: Any = "floatX", shape: Any = (None, None)
) -> Any:
    """Return a sparse variable of a format, ``"csr"`` or ``"csc"``."""
    return SparseType(format, dtype, shape)(name)


def csr_matrix(name: str | None = None, dtype: Any = "floatX", shape: Any = (None, None)) -> Any:
    """Return a sparse variable of the format csr.

    Examples
    --------
    >>> from phintys import sparse
    >>> sparse.csr_matrix("A", "float32", (None, 3)).type
    SparseType(csr, float32, (None, 3))
    """
    return matrix("csr", name, dtype, shape)


def csc_matrix(name: str | None = None, dtype: Any = "floatX", shape: Any = (None, None)) -> Any:
    """Return a sparse variable of the format csc."""
    return matrix("csc", name, dtype, shape)


@shared_constructor.register(sp.sparray)
@shared_constructor.register(sp.spmatrix)
def shared(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
) -> Any:
    """Return a shared variable with a sparse value of SciPy.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> w = sparse.shared(scipy.sparse.eye_array(2, format="csr"), "w")
    >>> w.sum().eval()
    array(2.)
    """
    return type_of(value).make_shared(value, name, strict, allow_downcast, borrow)
