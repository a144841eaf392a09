"""TensorType: arrays of a given dtype and number of dimensions."""

from __future__ import annotations

import sys
from array import array as PythonArray
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from phintys._base.config import config
from phintys._base.copies import copied
from phintys._base.dropped import WeakValues
from phintys._base.errors import TypeContractError, shown
from phintys._base.late import LateModule
from phintys._base.locks import ProcessLock
from phintys.graph.type import Type
from phintys.graph.variable import Variable
from phintys.tensor._operators import operators

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.graph import c_op
    from phintys.tensor.variable import TensorVariable
else:
    c_op = LateModule("phintys.graph.c_op")

MOST_DIMS = 64
"""Maximum number of dimensions of an array of NumPy."""

DTYPES: tuple[str, ...] = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
"""The dtypes that tensors take."""

_FLOAT_TOLERANCE = {"float16": 5e-3, "float32": 1e-5, "complex64": 1e-5}
_SHORT_NAMES = {0: "Scalar", 1: "Vector", 2: "Matrix"}
_NAME_OF: dict[Any, str] = {name: name for name in DTYPES}
_LOCK = ProcessLock()


def normalize_dtype(dtype: Any) -> str:
    """Return the name of a tensor dtype.

    Parameters
    ----------
    dtype
        A name, a NumPy dtype or scalar type, a Python type, or ``"floatX"`` for the configured
        default.

    Raises
    ------
    TypeContractError
        The dtype is not supported for tensors.

    Examples
    --------
    >>> import numpy as np
    >>> normalize_dtype(np.float32), normalize_dtype(float), normalize_dtype("int8")
    ('float32', 'float64', 'int8')
    """
    try:
        return _NAME_OF[dtype]
    except (KeyError, TypeError):
        pass
    if isinstance(dtype, str) and dtype == "floatX":
        return config.floatX
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = repr(dtype)
    if name not in DTYPES:
        msg = f"Tensors do not take the dtype {name}; expected one of {', '.join(DTYPES)}."
        raise TypeContractError(msg)
    if isinstance(dtype, np.dtype | type):
        _NAME_OF[dtype] = name  # getting the name from NumPy takes microseconds
    return name


def promote(*dtypes: str) -> str:
    """Return the dtype that arrays of the given dtypes promote to, as in NumPy."""
    return np.result_type(*dtypes).name


MOST_DIMENSIONS = 32
"""The most axes of a tensor: arrays may have more, but not all functions of NumPy take them."""


class TensorType(Type):
    """The arrays of a dtype and rank, with as much of the shape as is known.

    Equal types are usually the same object, so comparing them is cheap.

    Parameters
    ----------
    dtype
        Name or NumPy dtype; ``"floatX"`` for the configured default.
    shape
        One entry for each dimension: its size, or ``None`` if it is known only at run time. A
        dimension broadcasts against others if its entry is 1.
    broadcastable
        Instead of the shape: for each dimension whether its size is 1.

    Examples
    --------
    >>> from phintys.tensor import TensorType
    >>> TensorType("float64", (None, 3))
    Matrix(float64, shape=(?, 3))
    >>> TensorType("float64", (None, 1)).broadcastable
    (False, True)
    """

    holds_arrays = True
    __props__ = ("dtype", "shape")

    dtype: str
    shape: tuple[int | None, ...]
    ndim: int
    numpy_dtype: np.dtype[Any]
    _interned: ClassVar[dict[Any, Any]] = {}
    # The number of types is unbounded: there is one for each length of a constant.
    _with_lengths: ClassVar[WeakValues[Any, Any]] = WeakValues()
    _hash: int
    _static: bool

    def __new__(
        cls,
        dtype: Any = "floatX",
        shape: Iterable[int | None] = (),
        *,
        broadcastable: Iterable[bool] | None = None,
    ) -> Self:
        """Return the unique instance for these parameters."""
        name = normalize_dtype(dtype)
        if broadcastable is not None:
            shape = [1 if one else None for one in broadcastable]
        shape = _normalize_shape(shape)
        key = (cls, name, shape)
        found = TensorType._interned.get(key)
        if found is not None:
            return found
        found = TensorType._with_lengths.get(key)
        if found is not None:
            return found
        if all(size is None or size == 1 for size in shape):
            return TensorType._interned.setdefault(key, cls._made(key))
        with _LOCK:
            return TensorType._with_lengths.setdefault(key, cls._made(key))

    def __call__(
        self, name: str | None = None, shape: Iterable[int | None] | None = None
    ) -> TensorVariable:
        """Make a variable of this type, or of a shape that is one of this type.

        Raises
        ------
        TypeContractError
            The shape does not fit the type.

        Examples
        --------
        >>> import phintys.tensor as pt
        >>> pt.dmatrix("x", shape=(2, 3)).type.shape
        (2, 3)
        """
        if shape is None:
            return self.make_variable(name)
        made = self.clone(shape=shape)
        if not self.is_super(made):
            msg = f"The shape {made.shape} does not fit {self}, of which a variable is made."
            raise TypeContractError(msg)
        return made.make_variable(name)

    @classmethod
    def _made(cls, key: tuple[Any, str, tuple[int | None, ...]]) -> Self:
        self = super().__new__(cls)
        _, self.dtype, self.shape = key
        self.ndim = len(self.shape)
        if self.ndim > MOST_DIMENSIONS:
            msg = (
                f"Tensors have at most {MOST_DIMENSIONS} dimensions, as NumPy's iterators "
                f"do; a type of {self.ndim} was requested. Join some axes with reshape."
            )
            raise TypeContractError(msg)
        self.numpy_dtype = np.dtype(self.dtype)
        self._hash = hash(key)
        self._static = any(size is not None for size in self.shape)
        return self

    def __getnewargs__(self) -> tuple[str, tuple[int | None, ...]]:
        return (self.dtype, self.shape)

    def __getstate__(self) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, TensorType)
            and type(self) is type(other)
            and self.dtype == other.dtype
            and self.shape == other.shape
        )

    def __hash__(self) -> int:
        return self._hash

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """For each dimension, whether its size is known to be 1."""
        return tuple(size == 1 for size in self.shape)

    if TYPE_CHECKING:
        # variable_type, which tensor/__init__.py sets, makes them; this declares what it makes.
        def make_variable(self, name: str | None = None) -> TensorVariable: ...

    # ---- values ------------------------------------------------------------------------------

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> np.ndarray[Any, Any]:
        """Return ``value`` as an array of this type.

        An array of the right dtype is returned unchanged. Unless ``strict``, anything that NumPy
        converts to an array is cast if no value changes. With ``allow_downcast``, precision can be
        lost. With ``allow_downcast=None``, Python floats can be rounded to ``config.floatX``.

        Raises
        ------
        TypeContractError
            Wrong dtype, rank or shape, or not an array.
        """
        if isinstance(value, np.ndarray) and value.dtype == self.numpy_dtype:
            data = value
            if value.__class__ is not np.ndarray:
                if is_masked(value):
                    raise _mask_refused()
                data = value.view(np.ndarray)  # subclasses such as numpy.matrix index differently
        elif strict:
            msg = (
                f"Expected an array of dtype {self.dtype} and no cast (strict=True), got "
                f"{_describe(value)}. Convert it with numpy.asarray(value, dtype="
                f"{self.dtype!r}), or allow casts with strict=False."
            )
            raise TypeContractError(msg)
        else:
            data = self._cast(value, allow_downcast)
        self._check_shape(data)
        return data

    def _check_shape(self, data: np.ndarray[Any, Any]) -> None:
        if data.ndim != self.ndim:
            msg = (
                f"Wrong number of dimensions: expected {self.ndim} for {self}, got {data.ndim} "
                f"(shape {data.shape})."
            )
            raise TypeContractError(msg)
        if self._static and not self._shape_fits(data.shape):
            msg = f"Wrong shape: expected {_shape_text(self.shape)} for {self}, got {data.shape}."
            raise TypeContractError(msg)

    def _shape_fits(self, shape: tuple[int, ...]) -> bool:
        return all(
            known is None or known == size for known, size in zip(self.shape, shape, strict=True)
        )

    def _cast(self, value: Any, allow_downcast: bool | None) -> np.ndarray[Any, Any]:
        """Return ``value``, which is not an array of this dtype, as one."""
        if isinstance(value, Variable):
            msg = (
                f"Expected a value for {self}, got the symbolic variable {value}. Symbolic "
                "variables are combined before a function is compiled; to get a value from one, "
                "call its eval()."
            )
            raise TypeContractError(msg)
        if is_masked(value):
            raise _mask_refused()
        ours = self.numpy_dtype
        try:
            array = as_array(value)
            if array.dtype == np.object_ and ours.kind in "fc" and _are_numbers(array):
                array = array.astype(ours)  # ints that no integer dtype holds
        except (ValueError, TypeError, OverflowError, BufferError) as error:
            reason = unevenness(value) or error
            msg = f"Cannot make an array for {self} from {_describe(value)}: {reason}"
            raise TypeContractError(msg) from error
        if array.dtype.kind not in "biufc":
            msg = f"Expected numbers for {self}, got {_describe(value)}{how_to_get_numbers(array)}"
            if array.dtype == np.object_ and _are_numbers(array):
                msg = f"{_describe(value)} is outside of the range of {self}."
            raise TypeContractError(msg)
        if np.can_cast(array.dtype, ours, "safe"):
            return copied(array, ours)
        if array.dtype.kind == "c" and ours.kind != "c":
            msg = (
                f"A complex value does not fit {self}: got {_describe(value)}. Take its real part "
                "or its absolute value first."
            )
            raise TypeContractError(msg)
        with np.errstate(all="ignore"):
            converted = copied(array, ours)
        if allow_downcast:
            return converted
        # An array of another dtype can be a mistake; a number is just a number.
        if not isinstance(value, np.ndarray):
            rounds_to_default = (
                allow_downcast is None
                and self.dtype == config.floatX
                and array.dtype.kind == "f"
                and not isinstance(value, np.generic)
            )
            if rounds_to_default or _same_values(array, converted):
                return converted
        msg = (
            f"Cannot convert {_describe(value)} to {self} without loss. Pass an array of dtype "
            f"{self.dtype}, or allow the loss with allow_downcast=True (in phintys.In) or "
            "allow_input_downcast=True (in phintys.function)."
        )
        raise TypeContractError(msg)

    def is_valid_value(self, value: Any) -> bool:
        """Return whether ``value`` is an array of this dtype, rank and static shape."""
        return (
            isinstance(value, np.ndarray)
            and (value.__class__ is np.ndarray or isinstance(value, np.memmap))
            and value.dtype == self.numpy_dtype
            and value.ndim == self.ndim
            and (not self._static or self._shape_fits(value.shape))
        )

    def values_eq(self, a: Any, b: Any) -> bool:
        """Return whether two arrays are equal in dtype, shape and all elements (NaN equals NaN)."""
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))

    def values_eq_approx(
        self, a: Any, b: Any, rtol: float | None = None, atol: float | None = None
    ) -> bool:
        """Return whether two arrays agree up to rounding (``rtol`` and ``atol`` by dtype)."""
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype.kind not in "fc":
            return bool(np.array_equal(a, b))
        default = _FLOAT_TOLERANCE.get(a.dtype.name, 1e-10)
        rtol = default if rtol is None else rtol
        atol = default if atol is None else atol
        with np.errstate(all="ignore"):
            return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Return whether two arrays might share memory (their address ranges overlap)."""
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
            return False
        return bool(np.may_share_memory(a, b))

    def get_shape_info(self, obj: np.ndarray[Any, Any]) -> tuple[int, ...]:
        """Return the shape, from which :meth:`get_size` computes the number of bytes."""
        return obj.shape

    def get_size(self, shape_info: Sequence[int]) -> int:
        """Return the size in bytes of the data of an array of the given shape."""
        size = self.numpy_dtype.itemsize
        for length in shape_info:
            size *= length
        return size

    def dtype_specs(self) -> tuple[type[np.generic], str, str]:
        """Return the dtype as Python, C and NumPy's headers name it, for C code of Ops."""
        return self.numpy_dtype.type, *c_op.c_names(self.numpy_dtype)

    def c_element_type(self) -> str:
        """Return the name of an element's type in C, for C code of Ops."""
        return c_op.c_names(self.numpy_dtype)[0]

    # ---- types -------------------------------------------------------------------------------

    def clone(
        self,
        dtype: Any = None,
        shape: Iterable[int | None] | None = None,
        broadcastable: Iterable[bool] | None = None,
        **changes: Any,
    ) -> TensorType:
        """Return the type with another dtype, shape, or pattern of broadcastable dimensions."""
        if changes:
            msg = f"TensorType.clone takes dtype, shape, broadcastable; got {', '.join(changes)}."
            raise TypeContractError(msg)
        if broadcastable is not None:
            shape = tuple(1 if one else None for one in broadcastable)
        return type(self)(
            self.dtype if dtype is None else dtype, self.shape if shape is None else shape
        )

    def is_super(self, other: Type) -> bool:
        """Return whether ``other`` has the same dtype and rank and an equal or narrower shape."""
        if self is other:
            return True
        return (
            isinstance(other, TensorType)
            and self.dtype == other.dtype
            and self.ndim == other.ndim
            and all(
                mine is None or mine == theirs
                for mine, theirs in zip(self.shape, other.shape, strict=True)
            )
        )

    def in_same_class(self, other: Type) -> bool:
        """Return whether ``other`` has the same dtype and rank."""
        return (
            isinstance(other, TensorType) and self.dtype == other.dtype and self.ndim == other.ndim
        )

    def convert_variable(self, variable: Variable) -> Variable | None:
        """Return a variable of this type with the value of ``variable``, or ``None``.

        Sizes that this type specifies and the variable's type does not are checked at run time.
        """
        other = variable.type
        if self.is_super(other):
            return variable
        if not isinstance(other, TensorType) or not self.in_same_class(other):
            return None
        if any(
            mine is not None and theirs is not None and mine != theirs
            for mine, theirs in zip(self.shape, other.shape, strict=True)
        ):
            return None
        return operators.specify_shape(variable, self.shape)

    def __repr__(self) -> str:
        name = _SHORT_NAMES.get(self.ndim, f"Tensor{self.ndim}")
        if self.ndim == 0:
            return f"{name}({self.dtype})"
        return f"{name}({self.dtype}, shape={_shape_text(self.shape)})"


_LONGEST = 2**63 - 1


def _normalize_shape(shape: Iterable[int | None]) -> tuple[int | None, ...]:
    if isinstance(shape, tuple) and all(
        size is None or (type(size) is int and 0 <= size <= _LONGEST) for size in shape
    ):
        return shape
    try:
        entries = tuple(shape)
    except TypeError:
        msg = f"A shape is a tuple of sizes and Nones, got {shape!r}."
        raise TypeContractError(msg) from None
    sizes: list[int | None] = []
    for size in entries:
        if size is None:
            sizes.append(None)
        elif (
            isinstance(size, int | np.integer)
            and not isinstance(size, bool)
            and 0 <= size <= _LONGEST
        ):
            sizes.append(int(size))
        else:
            msg = (
                f"A static size is a non-negative int of at most 63 bits, or None where unknown; "
                f"got {size!r} in the shape {entries!r}."
            )
            raise TypeContractError(msg)
    return tuple(sizes)


def _shape_text(shape: Sequence[int | None]) -> str:
    sizes = ", ".join("?" if size is None else str(size) for size in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"


def _describe(value: Any) -> str:
    """Return a description of a value for an error message."""
    if isinstance(value, np.ndarray | np.generic):
        return f"an array of dtype {value.dtype} and shape {value.shape}"
    text = shown(value)
    limit = 60
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    return f"{text} ({type(value).__name__})"


def is_masked(value: object) -> bool:
    """Return whether a value is a masked array; without loading ``numpy.ma``, which takes long.

    Examples
    --------
    >>> import numpy as np
    >>> is_masked(np.ma.array([1.0])), is_masked([1.0])
    (True, False)
    """
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def as_array(value: Any) -> np.ndarray[Any, Any]:
    """Convert a value to an array by NumPy, or by DLPack if NumPy does not know it.

    Examples
    --------
    >>> as_array([1, 2])
    array([1, 2])
    """
    array = np.asarray(value)
    is_unknown = array.dtype == np.object_ and array.ndim == 0 and array is not value
    return np.from_dlpack(value) if is_unknown and hasattr(value, "__dlpack__") else array


_BUFFERS = (memoryview, PythonArray, range)
_PROTOCOLS = ("__array__", "__array_interface__", "__dlpack__")


def is_array_like(value: Any) -> bool:
    """Return whether a value is an array of another library, or a buffer or range of Python.

    Examples
    --------
    >>> is_array_like(range(3)), is_array_like([1, 2]), is_array_like("text")
    (True, False, False)
    """
    return isinstance(value, _BUFFERS) or any(hasattr(value, name) for name in _PROTOCOLS)


def _mask_refused() -> TypeContractError:
    return TypeContractError(
        "Masked arrays are not tensors: their mask would be lost. Fill it with array.filled(value)."
    )


_MOST_ITEMS = 10_000  # looked at to explain an error


def unevenness(value: Any) -> str:
    """Return why nested sequences do not form an array; empty if they do, or are too large to look.

    Examples
    --------
    >>> unevenness([[1, 2], [3]])
    'value[0] has length 2 and value[1] has length 1. All rows of an array have the same ...'
    """
    rows = [("", value)]
    for _ in range(MOST_DIMENSIONS):  # a list may contain itself
        lengths = [(where, _length(row)) for where, row in rows]
        (first, length), *others = lengths
        for where, other in others:
            if other != length:
                return (
                    f"value{first} {_of_length(length)} and value{where} {_of_length(other)}. All "
                    "rows of an array have the same length: pad the shorter ones with some number, "
                    "or make a variable for each row."
                )
        if not length or length * len(rows) > _MOST_ITEMS:
            break
        rows = [(f"{where}[{i}]", item) for where, row in rows for i, item in enumerate(row)]
    return ""


def _length(row: Any) -> int | None:
    if isinstance(row, np.ndarray):
        return len(row) if row.ndim else None
    return len(row) if isinstance(row, list | tuple) else None


def _of_length(length: int | None) -> str:
    return "is a number" if length is None else f"has length {length}"


def how_to_get_numbers(array: np.ndarray[Any, Any]) -> str:
    """Return the end of a message about an array of something else: what to write instead.

    Examples
    --------
    >>> import numpy as np
    >>> how_to_get_numbers(np.array(["2.5", "1"]))
    ', which is text. Convert it first, as in np.asarray(x, dtype=float).'
    """
    dtype = array.dtype
    if dtype.kind in "mM":
        values, shifted = ("dates", "(x - x.min())") if dtype.kind == "M" else ("durations", "x")
        unit = np.datetime_data(dtype)[0].replace("generic", "D")
        one = f"np.timedelta64(1, {unit!r})"
        return f", which holds {values}. Divide by a unit, as in {shifted} / {one}."
    if dtype.kind in "US":
        return ", which is text. Convert it first, as in np.asarray(x, dtype=float)."
    if dtype.names:
        return f", which has fields. Take one of them, as in x[{dtype.names[0]!r}]."
    other = next((one for one in np.ndenumerate(array) if not _is_number(one[1])), None)
    if other is None:
        return _of_large_ints(array)
    if not array.ndim:
        if hasattr(other[1], "__float__"):  # a Fraction, a Decimal
            return ". Convert it first, as in float(x)."
        return ". Pass a number, or an array or list of numbers."
    place = ", ".join(map(str, other[0]))
    return f": element [{place}] is {_describe(other[1])}. Replace it, or convert it by float."


def _of_large_ints(array: np.ndarray[Any, Any]) -> str:
    """Return the end of a message about an array of numbers that no dtype holds."""
    for place, item in np.ndenumerate(array):
        if isinstance(item, int) and not -(2**63) <= item < 2**64:
            element = f": element {list(place)} is {_describe(item)}" if place else ""
            return (
                f"{element}, outside of the range of all integer dtypes. Write a float, as in "
                "float(x)."
            )
    return ". Pass a number, or an array or list of numbers."


def _are_numbers(array: np.ndarray[Any, Any]) -> bool:
    """Return whether an object array holds only Python numbers."""
    return all(map(_is_number, array.flat))


def _is_number(item: object) -> bool:
    return isinstance(item, int | float | complex)


def _same_values(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    with np.errstate(all="ignore"):
        # Compared in the original dtype: 2**53 + 1 must not equal 2.0**53. Nor may -1 equal the
        # uint64 to which it wraps, and back.
        back = b.astype(a.dtype)
        if a.dtype.kind in "iu" and not np.array_equal(a < 0, b < 0):
            return False
        return bool(np.array_equal(a, back, equal_nan=a.dtype.kind in "fc"))
