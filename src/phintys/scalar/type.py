"""ScalarType: the Type of a single number of one dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from phintys._base.config import config
from phintys._base.errors import DtypeError, TypeContractError
from phintys._base.late import LateModule
from phintys.graph.type import Type
from phintys.scalar.variable import ScalarConstant, ScalarVariable

if TYPE_CHECKING:
    from phintys.graph import c_op
else:
    c_op = LateModule("phintys.graph.c_op")

_DTYPES = {
    name: np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}
_REAL_DTYPES = {"complex64": np.dtype(np.float32), "complex128": np.dtype(np.float64)}
_NUMBERS = (bool, int, float, complex, np.number, np.bool_)

# Relative and absolute tolerances of `values_eq_approx`: how much rewrites may change values.
_TOLERANCES = {"float16": 5e-3, "float32": 1e-5, "complex64": 1e-5}
_TOLERANCE = 1e-10


def _dtype_name(dtype: Any) -> str:
    """Return the name of a dtype that scalars can have."""
    if isinstance(dtype, str) and dtype == "floatX":
        return config.floatX
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = None
    if name not in _DTYPES or dtype is None:
        msg = f"{dtype!r} is not a scalar dtype; expected one of {', '.join(_DTYPES)}."
        raise DtypeError(msg)
    return name


class ScalarType(Type):
    """The Type of a single number of a given dtype.

    Types of the same dtype are the same object. The values are NumPy scalars.

    Parameters
    ----------
    dtype
        A NumPy dtype or its name; ``"floatX"`` means ``config.floatX``.

    Raises
    ------
    DtypeError
        Scalars cannot have the dtype (a string, an object, a long double ...).

    Examples
    --------
    >>> from phintys.scalar import ScalarType, float64
    >>> ScalarType("float64") is float64
    True
    >>> float64.filter(2)
    np.float64(2.0)
    """

    __props__ = ("dtype",)

    # Interned, so identity is equality.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    variable_type = ScalarVariable
    constant_type = ScalarConstant

    _interned: ClassVar[dict[tuple[type, str], ScalarType]] = {}

    dtype: str
    """Name of the dtype."""

    numpy_dtype: np.dtype[Any]
    """The dtype itself."""

    def __new__(cls, dtype: Any) -> ScalarType:  # noqa: PYI034 - not Self: the cache is shared
        name = dtype if isinstance(dtype, str) and dtype in _DTYPES else _dtype_name(dtype)
        known = cls._interned.get((cls, name))
        if known is None:
            known = super().__new__(cls)
            known.dtype = name
            known.numpy_dtype = _DTYPES[name]
            known = cls._interned.setdefault((cls, name), known)
        return known

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.dtype,))

    @property
    def itemsize(self) -> int:
        """Size of a value in bytes."""
        return self.numpy_dtype.itemsize

    def dtype_specs(self) -> tuple[type[np.generic], str, str]:
        """Return the dtype as Python, C and NumPy's headers name it, for C code of Ops."""
        return self.numpy_dtype.type, *c_op.c_names(self.numpy_dtype)

    def c_element_type(self) -> str:
        """Return the name of the type in C, for C code of Ops."""
        return c_op.c_names(self.numpy_dtype)[0]

    def clone(self, dtype: Any = None, **changes: Any) -> ScalarType:
        """Return the type with another dtype; with ``None``, the same one."""
        if changes:
            super().clone(**changes)
        return self if dtype is None else type(self)(dtype)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return ``value`` as a NumPy scalar of this dtype.

        Parameters
        ----------
        value
            A Python number, a NumPy number, or an array of rank 0.
        strict
            Accept only NumPy scalars that already have this dtype.
        allow_downcast
            With ``True``, accept any number that NumPy can cast; otherwise the cast must preserve
            the value. With ``None``, a Python float is also rounded to ``config.floatX``.

        Raises
        ------
        TypeContractError
            ``value`` is not a number, or the cast would change it.

        Examples
        --------
        >>> from phintys.scalar import float32, int8
        >>> int8.filter(3.0)
        np.int8(3)
        >>> float32.filter(0.1, allow_downcast=True)
        np.float32(0.1)
        """
        if isinstance(value, np.generic) and value.dtype == self.numpy_dtype:
            return value
        if strict:
            msg = (
                f"{self!r} takes, when strict, only NumPy scalars of dtype {self.dtype}; got "
                f"{_describe(value)}. Write np.{self.numpy_dtype.type.__name__}(value)."
            )
            raise TypeContractError(msg)
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.name in _DTYPES:
            value = value[()]
            if value.dtype == self.numpy_dtype:
                return value
        if not isinstance(value, _NUMBERS):
            msg = f"{self!r} takes one number; got {_describe(value)}."
            raise TypeContractError(msg)
        if isinstance(value, complex | np.complexfloating) and self.numpy_dtype.kind != "c":
            msg = (
                f"{self!r} cannot hold the complex number {value!r}. Take its real part, imaginary "
                "part or absolute value first."
            )
            raise TypeContractError(msg)
        try:
            converted = self._convert(value, bool(allow_downcast))
        except OverflowError:
            converted = None
        if converted is not None and (
            allow_downcast
            or _same_number(converted, value)
            or (allow_downcast is None and type(value) is float and self.dtype == config.floatX)
        ):
            return converted
        msg = (
            f"{self!r} cannot hold {_describe(value)} without changing it. Cast it yourself, or "
            "allow it with allow_downcast=True (allow_input_downcast=True of a function)."
        )
        raise TypeContractError(msg)

    def _convert(self, value: Any, wrap: bool) -> Any:
        """Return a number cast to this dtype, even if that changes its value."""
        if isinstance(value, int) and self.numpy_dtype.kind in "iu":
            if not wrap:
                return self.numpy_dtype.type(value)
            value &= (1 << 8 * self.itemsize) - 1
            return np.array(value, f"u{self.itemsize}").astype(self.numpy_dtype)[()]
        with np.errstate(all="ignore"):
            return np.asarray(value).astype(self.numpy_dtype)[()]

    def values_eq(self, a: Any, b: Any) -> bool:
        """Return whether two values are equal; NaN equals NaN."""
        return bool(a == b) or bool(a != a and b != b)  # noqa: PLR0124 - only NaN differs from itself

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        """Return whether two values are equal up to rounding; NaN equals NaN."""
        if self.numpy_dtype.kind in "biu":
            return self.values_eq(a, b)
        tolerance = _TOLERANCES.get(self.dtype, _TOLERANCE)
        return bool(np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))

    def get_shape_info(self, obj: Any) -> int:
        """Return the size of the value ``obj`` in bytes."""
        return int(getattr(obj, "itemsize", self.itemsize))

    def get_size(self, shape_info: int) -> int:
        """Return ``shape_info``, which is the size."""
        return shape_info

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Return ``False``: scalars cannot be changed in place."""
        return False

    def __repr__(self) -> str:
        return f"ScalarType({self.dtype})"


def _describe(value: object) -> str:
    dtype = f", dtype {value.dtype}" if isinstance(value, np.ndarray | np.generic) else ""
    return f"{value!r} (type {type(value).__name__}{dtype})"


def _same_number(a: Any, b: Any) -> bool:
    """Return whether two numbers are exactly equal; Python compares ints with floats exactly."""
    if isinstance(a, np.generic):
        a = a.item()
    if isinstance(b, np.generic):
        b = b.item()
    return bool(a == b) or bool(a != a and b != b)  # noqa: PLR0124 - only NaN differs from itself


bool_ = ScalarType("bool")
int8 = ScalarType("int8")
int16 = ScalarType("int16")
int32 = ScalarType("int32")
int64 = ScalarType("int64")
uint8 = ScalarType("uint8")
uint16 = ScalarType("uint16")
uint32 = ScalarType("uint32")
uint64 = ScalarType("uint64")
float16 = ScalarType("float16")
float32 = ScalarType("float32")
float64 = ScalarType("float64")
complex64 = ScalarType("complex64")
complex128 = ScalarType("complex128")

int_types = (int8, int16, int32, int64)
uint_types = (uint8, uint16, uint32, uint64)
float_types = (float16, float32, float64)
complex_types = (complex64, complex128)
discrete_types = (bool_, *int_types, *uint_types)
continuous_types = (*float_types, *complex_types)
all_types = (*discrete_types, *continuous_types)


# Accessing dtype.name takes microseconds.
_BY_DTYPE = {type.numpy_dtype: type for type in all_types}


def get_scalar_type(dtype: Any) -> ScalarType:
    """Return the scalar type of a dtype; fastest for a ``numpy.dtype``.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar import get_scalar_type
    >>> get_scalar_type(np.dtype(np.float32))
    ScalarType(float32)
    """
    found = _BY_DTYPE.get(dtype) if isinstance(dtype, np.dtype) else None
    return ScalarType(dtype) if found is None else found


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the parts of complex numbers; a real dtype is returned unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar import real_dtype
    >>> real_dtype(np.dtype("complex64"))
    dtype('float32')
    """
    return _REAL_DTYPES.get(dtype.name, dtype) if dtype.kind == "c" else dtype


def upcast(*dtypes: Any) -> str:
    """Return the name of the smallest dtype to which NumPy promotes all of ``dtypes``.

    Examples
    --------
    >>> from phintys.scalar import upcast
    >>> upcast("int8", "float32"), upcast("int64", "float32")
    ('float32', 'float64')
    """
    if not dtypes:
        msg = "upcast() needs at least one dtype."
        raise DtypeError(msg)
    return cast("str", np.result_type(*(_DTYPES[_dtype_name(dtype)] for dtype in dtypes)).name)
