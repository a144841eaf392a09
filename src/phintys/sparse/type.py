"""The Type of sparse matrices. Its values are SciPy's sparse arrays and matrices."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
import scipy.sparse

from phintys._base.errors import ArgumentError, ShapeError, TypeContractError
from phintys.graph.type import Type
from phintys.sparse.structure import check_pointers, check_structure
from phintys.tensor.type import TensorType, normalize_dtype

sp: Any = scipy.sparse

FORMATS = ("csr", "csc")
ARRAYS: dict[str, Any] = {"csr": sp.csr_array, "csc": sp.csc_array}
INDEX = "int32"
"""The dtype of indices in graphs, which SciPy uses for all matrices of fewer than 2**31 entries."""

LIMIT = 2**31


class SparseType(Type):
    """Sparse matrices of a format, a dtype and a shape.

    Values are SciPy's sparse arrays and matrices of that format. Their indices are sorted within
    each row (or column, for csc), and no element is stored twice; zeros may be stored. Other
    formats are converted, and unsorted indices sorted, unless ``strict``.

    Parameters
    ----------
    format
        ``"csr"`` or ``"csc"``.
    dtype
        The dtype of the elements.
    shape
        Two sizes; None where a size is not known.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys.sparse import SparseType
    >>> t = SparseType("csr", "float64", (None, 3))
    >>> t
    SparseType(csr, float64, (None, 3))
    >>> t.is_valid_value(scipy.sparse.csr_array((2, 3)))
    True
    >>> t.filter(scipy.sparse.coo_array((2, 3))).format
    'csr'
    """

    __props__ = ("format", "dtype", "shape")

    ndim = 2

    def __init__(
        self, format: str, dtype: Any, shape: tuple[int | None, int | None] = (None, None)
    ) -> None:
        if format not in FORMATS:
            msg = f"The format of a sparse type must be 'csr' or 'csc', got {format!r}."
            raise ArgumentError(msg)
        sizes = tuple(shape)
        if len(sizes) != 2:
            msg = f"The shape of a sparse type must have two sizes, got {shape!r}."
            raise ShapeError(msg)
        self.format = format
        self.dtype = normalize_dtype(dtype)
        self.numpy_dtype = np.dtype(self.dtype)
        self.shape: tuple[int | None, int | None] = (sizes[0], sizes[1])

    @property
    def data_type(self) -> TensorType:
        """The type of the stored elements."""
        return TensorType(self.dtype, (None,))

    @property
    def broadcastable(self) -> tuple[bool, bool]:
        """Whether each size is known to be 1."""
        return (self.shape[0] == 1, self.shape[1] == 1)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return ``value`` as a sparse matrix of this type.

        Parameters
        ----------
        value
            A sparse array or matrix of SciPy.
        strict
            Return ``value`` itself or raise.
        allow_downcast
            Whether elements may be cast to a dtype that cannot hold all of them.

        Raises
        ------
        TypeContractError
            ``value`` is not sparse, or of another dtype or format that may not be converted.
        ShapeError
            ``value`` has another shape than the type, an element is stored twice, there are 2**31
            entries or more, or its arrays do not fit together.
        """
        if not sp.issparse(value):
            msg = (
                f"Expected a sparse matrix ({self}), got {type(value).__name__}. Convert it with "
                f"scipy.sparse.{self.format}_array(value)."
            )
            raise TypeContractError(msg)
        if strict and value.format != self.format:
            msg = (
                f"Expected a sparse matrix of format {self.format}, got format {value.format}. "
                f"Convert it with value.to{self.format}()."
            )
            raise TypeContractError(msg)
        if value.format == self.format:
            check_pointers(value)
        else:
            check_structure(value)
        matrix = value.asformat(self.format)
        self._check_shape(matrix)
        matrix = in_order(matrix, strict)
        data = self.data_type.filter(matrix.data, strict, allow_downcast)
        if data is matrix.data:
            return matrix
        return type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)

    def _check_shape(self, matrix: Any) -> None:
        for axis, (size, static) in enumerate(zip(matrix.shape, self.shape, strict=True)):
            if static is not None and size != static:
                msg = (
                    f"Expected size {static} along axis {axis} ({self}), got shape {matrix.shape}."
                )
                raise ShapeError(msg)
        if max(matrix.shape) >= LIMIT or matrix.nnz >= LIMIT:
            msg = (
                f"Sizes and entries of a sparse matrix must be fewer than 2**31, got shape "
                f"{matrix.shape} and {matrix.nnz} entries."
            )
            raise ShapeError(msg)

    def is_super(self, other: Type) -> bool:
        """Return whether every value of ``other`` is also a value of this type."""
        return (
            isinstance(other, SparseType)
            and (self.format, self.dtype) == (other.format, other.dtype)
            and all(mine in {None, its} for mine, its in zip(self.shape, other.shape, strict=True))
        )

    def in_same_class(self, other: Type) -> bool:
        """Return whether the two types differ at most in their sizes."""
        return isinstance(other, SparseType) and (self.format, self.dtype) == (
            other.format,
            other.dtype,
        )

    def values_eq(self, a: Any, b: Any) -> bool:
        """Return whether two values have the same pattern and elements; NaN equals NaN."""
        return _same_pattern(a, b) and self.data_type.values_eq(a.data, b.data)

    def values_eq_approx(
        self, a: Any, b: Any, rtol: float | None = None, atol: float | None = None
    ) -> bool:
        """Return whether two values have the same pattern, and elements up to rounding."""
        return _same_pattern(a, b) and self.data_type.values_eq_approx(a.data, b.data, rtol, atol)

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Return whether two values may share any of their arrays."""
        return any(np.may_share_memory(mine, its) for mine in arrays_of(a) for its in arrays_of(b))

    def clone(self, **changes: Any) -> Self:
        """Return the type with another format, dtype or shape."""
        given = {"format": self.format, "dtype": self.dtype, "shape": self.shape} | changes
        return type(self)(**given)

    def get_shape_info(self, obj: Any) -> Any:
        """Return the sizes in bytes of the three arrays."""
        return tuple(array.nbytes for array in arrays_of(obj))

    def get_size(self, shape_info: Any) -> int:
        """Return the size in bytes."""
        return sum(shape_info)

    def __repr__(self) -> str:
        return f"SparseType({self.format}, {self.dtype}, {self.shape})"


def arrays_of(value: Any) -> tuple[Any, ...]:
    """Return the arrays of a sparse matrix; an array is itself."""
    if not sp.issparse(value):
        return (value,) if isinstance(value, np.ndarray) else ()
    return (value.data, value.indices, value.indptr)


def in_order(matrix: Any, strict: bool = False) -> Any:
    """Return a matrix with sorted indices, which must be distinct."""
    if matrix.has_canonical_format:
        return matrix
    if strict and not matrix.has_sorted_indices:
        msg = "The indices of a sparse matrix must be sorted. Call value.sort_indices()."
        raise ShapeError(msg)
    ordered = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
    if not ordered.has_canonical_format:
        msg = (
            "The elements of a sparse matrix must be stored once each, got some that are stored "
            "twice or more. Call value.sum_duplicates()."
        )
        raise ShapeError(msg)
    return ordered


def _same_pattern(a: Any, b: Any) -> bool:
    return bool(
        sp.issparse(a)
        and sp.issparse(b)
        and a.format == b.format
        and a.shape == b.shape
        and np.array_equal(a.indices, b.indices)
        and np.array_equal(a.indptr, b.indptr)
    )


def type_of(value: Any, shape: Any = (None, None)) -> SparseType:
    """Return the type of a sparse value; formats other than csc become csr."""
    format = cast("str", value.format)
    return SparseType(format if format in FORMATS else "csr", value.dtype, shape)
