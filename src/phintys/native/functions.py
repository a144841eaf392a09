"""Functions of users in machine code: where they are, what they take, and their addresses.

A function is known by its library and symbol wherever that is possible: machine code, caches and
pickles name it so, and find it again in another process. One that has an address only, such as a
function that numba has compiled, belongs to its process.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from functools import cache
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from phintys._base.capsules import read_capsule
from phintys._base.dropped import WeakValues
from phintys._base.errors import ArgumentError, NativeFunctionError
from phintys._base.locks import ProcessLock
from phintys._base.records import record
from phintys._base.uninterrupted import import_whole

VOID, POINTER = "void", "pointer"


@record(frozen=True)
class Prototype:
    """The types of a C function: names of dtypes, ``"pointer"``, and ``"void"`` for no result.

    Attributes
    ----------
    returns
        The type of the result.
    takes
        The types of the arguments.
    """

    returns: str
    takes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.returns} ({', '.join(self.takes) or VOID})"

    def at(self, address: int) -> Any:
        """Return the function at an address, to be called from Python without the GIL."""
        kinds = [_ctypes_type(name) for name in (self.returns, *self.takes)]
        return ctypes.CFUNCTYPE(*kinds)(address)


def _ctypes_type(name: str) -> Any:
    if name == VOID:
        return None
    return ctypes.c_void_p if name == POINTER else np.ctypeslib.as_ctypes_type(np.dtype(name))


# ---- functions of libraries ----------------------------------------------------------------------


@record(frozen=True)
class LibraryFunction:
    """A function that a shared library exports.

    Attributes
    ----------
    library
        The path of the library, or a name that the system's loader finds; empty for what the
        process has loaded already.
    symbol
        The name of the function there.
    """

    library: str
    symbol: str

    def __str__(self) -> str:
        return f"{self.symbol!r} of {self.library or 'this process'}"

    @property
    def address(self) -> int:
        """Its address in this process.

        Raises
        ------
        NativeFunctionError
            If the library cannot be loaded, or has no such function.
        """
        return _address_in(self.library, self.symbol)


@cache
def _address_in(library: str, symbol: str) -> int:
    try:
        function = getattr(_loaded(library), symbol)
    except OSError as error:
        msg = (
            f"The library {library!r}, whose function {symbol!r} is called, cannot be loaded "
            f"here: {error}. It must be at the same place in every process that calls it."
        )
        raise NativeFunctionError(msg) from error
    except AttributeError as error:
        where = f"library {library!r}" if library else "process"
        msg = (
            f'The {where} has no function {symbol!r}. In C++, declare it extern "C", and export it.'
        )
        raise NativeFunctionError(msg) from error
    return _address(function)


@cache
def _loaded(library: str) -> ctypes.CDLL:
    return ctypes.CDLL(library or None)


def _address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _path(library: str) -> str:
    """Return the name of a library, independent of the working directory."""
    return str(Path(library).resolve()) if os.path.dirname(library) else library  # noqa: PTH120 - "./f.so" is a path, "f.so" is not


# ---- functions of one process --------------------------------------------------------------------


class LocalFunction:
    """A function that only has an address, which is valid in this process.

    It is pickled if it is found under its name in a module, as functions of Python are.

    Parameters
    ----------
    function
        The user's object, which keeps the code in memory.
    address
        The address.

    Attributes
    ----------
    number
        Names it within the process.
    """

    __slots__ = ("__weakref__", "address", "function", "number")

    def __init__(self, function: Any, address: int) -> None:
        self.function = function
        self.address = address
        self.number = next(_NUMBERS)

    def __str__(self) -> str:
        wrapped = getattr(self.function, "__wrapped__", None)
        return f"{getattr(wrapped, '__qualname__', type(self.function).__name__)!r} of this process"

    def __deepcopy__(self, memo: dict[int, Any]) -> LocalFunction:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        wrapped = getattr(self.function, "__wrapped__", self.function)
        module = getattr(wrapped, "__module__", None)
        name = getattr(wrapped, "__qualname__", "")
        found = sys.modules.get(module or "")
        try:
            is_named = attrgetter(name)(found) is self.function
        except (AttributeError, TypeError):
            is_named = False
        if not is_named:
            msg = (
                f"{self} is known by its address, which means nothing in another process, so it "
                'cannot be pickled. Name it by ("library.so", "symbol"), or define it with '
                "numba.cfunc at the top of a module."
            )
            raise NativeFunctionError(msg)
        return _found_in, (module, name)


_NUMBERS = count()
_LOCAL: WeakValues[int, LocalFunction] = WeakValues()
_BY_NUMBER: WeakValues[int, LocalFunction] = WeakValues()
_LOCK = ProcessLock()


def _local(function: Any, address: int) -> LocalFunction:
    """Return the function at an address, the same object as long as it is in use."""
    with _LOCK:
        found = _LOCAL.get(address)
        if found is None:
            found = LocalFunction(function, address)
            _LOCAL.setdefault(address, found)
            _BY_NUMBER.setdefault(found.number, found)
    return found


def local_function(number: int) -> LocalFunction:
    """Return the function of this process that has a number.

    Raises
    ------
    NativeFunctionError
        If there is none any more.
    """
    found = _BY_NUMBER.get(number)
    if found is None:
        msg = f"The native function number {number} of this process no longer exists."
        raise NativeFunctionError(msg)
    return found


def _found_in(module: str, name: str) -> LibraryFunction | LocalFunction:
    """Return the function that a pickle names."""
    try:
        function = attrgetter(name)(import_whole(module))
    except (ImportError, AttributeError) as error:
        msg = f"The native function {name!r} of the module {module!r} cannot be found: {error}."
        raise NativeFunctionError(msg) from error
    return native_function(function)[0]


# ---- what users give -----------------------------------------------------------------------------

NativeFunction = LibraryFunction | LocalFunction


def is_native_function(f: Any) -> bool:
    """Return whether something is of a kind that :func:`native_function` takes.

    Examples
    --------
    >>> import ctypes
    >>> from phintys.native.functions import is_native_function
    >>> is_native_function(ctypes.CDLL(None).abs), is_native_function(("libm.so.6", "cbrt"))
    (True, True)
    >>> is_native_function(abs)
    False
    """
    return _is_pair(f) or any(kind(f) for kind in (_is_ctypes, _is_cffi, _is_numba, _is_low_level))


def native_function(f: Any) -> tuple[NativeFunction, Prototype | None]:
    """Return a function that a user has given, and its types as far as the object knows them.

    Parameters
    ----------
    f
        A pair ``(library, symbol)``, a function of ctypes or cffi, a ``numba.cfunc``, or a
        ``scipy.LowLevelCallable`` without user data.

    Raises
    ------
    ArgumentError
        If it is something else, or a Python function in disguise.
    NativeFunctionError
        If the library or the symbol cannot be found.

    Examples
    --------
    >>> import ctypes
    >>> from phintys.native.functions import native_function
    >>> cube_root = ctypes.CDLL("libm.so.6").cbrt
    >>> cube_root.restype, cube_root.argtypes = ctypes.c_double, [ctypes.c_double]
    >>> function, prototype = native_function(cube_root)
    >>> print(function, prototype, sep=": ")
    'cbrt' of libm.so.6: float64 (float64)
    """
    if _is_pair(f):
        found = LibraryFunction(_path(os.fspath(f[0] or "")), f[1])
        _ = found.address  # so that a wrong name is reported where it was written
        return found, None
    if _is_low_level(f):
        return _of_low_level(f)
    if _is_numba(f):
        takes = tuple(_canonical(str(one)) for one in f._sig.args)
        return _local(f, f.address), Prototype(_canonical(str(f._sig.return_type)), takes)
    if _is_cffi(f):
        return _of_cffi(f)
    if _is_ctypes(f):
        return _of_ctypes(f)
    msg = (
        f'A native function must be given as ("library.so", "symbol"), a function of ctypes or '
        f"cffi, a numba.cfunc or a scipy.LowLevelCallable; got {f!r}. A Python function becomes an "
        "Op by phintys.wrap_py."
    )
    raise ArgumentError(msg)


def _is_pair(f: Any) -> bool:
    if type(f) is not tuple or len(f) != 2:
        return False
    library, symbol = f
    return (library is None or isinstance(library, str | os.PathLike)) and isinstance(symbol, str)


def _is_ctypes(f: Any) -> bool:
    return isinstance(f, ctypes._CFuncPtr)  # pyright: ignore[reportAttributeAccessIssue]


def _is_cffi(f: Any) -> bool:
    return type(f).__module__ == "_cffi_backend" and (
        type(f).__name__.startswith("_CDataBase") or type(f).__name__ == "CData"
    )


def _is_numba(f: Any) -> bool:
    return hasattr(f, "native_name") and hasattr(f, "_sig") and isinstance(f.address, int)


def _is_low_level(f: Any) -> bool:
    return isinstance(f, tuple) and hasattr(f, "user_data") and hasattr(f, "signature")


def _of_ctypes(f: Any) -> tuple[NativeFunction, Prototype | None]:
    kept: dict[str, Any] = f._objects or {}
    if f._flags_ & _NEEDS_PYTHON or any(
        type(one).__name__ == "CThunkObject" for one in kept.values()
    ):
        msg = (
            f"{f!r} runs Python code, or needs the GIL. Native code calls functions from threads "
            "without it. Use phintys.wrap_py, or numba.cfunc."
        )
        raise ArgumentError(msg)
    prototype = None
    if f.argtypes is not None:
        prototype = Prototype(_of_ctypes_type(f.restype), tuple(map(_of_ctypes_type, f.argtypes)))
    library, name = kept.get("0"), getattr(f, "__name__", None)
    if isinstance(library, ctypes.CDLL) and isinstance(name, str):
        path = _path(library._name or "")
        try:
            if _address_in(path, name) == _address(f):
                return LibraryFunction(path, name), prototype
        except NativeFunctionError:
            pass  # it was loaded in a way that its name does not repeat
    return _at(_address(f), f), prototype


_NEEDS_PYTHON = 4
"""ctypes' FUNCFLAG_PYTHONAPI: the caller holds the GIL."""


def _of_ctypes_type(kind: Any) -> str:
    if kind is None:
        return VOID
    code = getattr(kind, "_type_", "")  # of a number, a character as in the module struct
    return np.dtype(kind).name if code and code in _NUMBERS_OF_CTYPES else POINTER


_NUMBERS_OF_CTYPES = tuple("?bBhHiIlLqQfd")


def _of_cffi(f: Any) -> tuple[NativeFunction, Prototype | None]:
    import _cffi_backend as cffi  # pyright: ignore[reportMissingModuleSource]

    kind = cffi.typeof(f)
    if kind.kind == "pointer" and kind.item.kind == "function":
        kind = kind.item
    if kind.kind != "function":
        msg = f"A native function must be a function of cffi, got {f!r}."
        raise ArgumentError(msg)
    address = int(cffi.cast(cffi.new_primitive_type("uintptr_t"), f))
    takes = tuple(_canonical(one.cname) for one in kind.args)
    return _at(address, f), Prototype(_canonical(kind.result.cname), takes)


def _of_low_level(f: Any) -> tuple[NativeFunction, Prototype | None]:
    if f.user_data is not None:
        msg = (
            "The LowLevelCallable has user_data, an address that means nothing in another "
            "process. Pass a function without it."
        )
        raise ArgumentError(msg)
    if type(f.function).__name__ != "PyCapsule":
        return native_function(f.function)
    signature, address = read_capsule(f.function)
    return _at(address, f), _prototype_of(signature)


def _prototype_of(signature: str) -> Prototype | None:
    """Return the types that a declaration in C states: ``double (double, int *)``."""
    match = re.fullmatch(r"\s*([^(]+?)\s*\(([^()]*)\)\s*", signature)
    if match is None:
        return None
    takes = [one for one in map(str.strip, match[2].split(",")) if one not in {"", VOID}]
    return Prototype(_canonical(match[1]), tuple(map(_canonical, takes)))


_C_TYPES = {
    "double": "float64",
    "float": "float32",
    "_Bool": "bool",
    "none": VOID,
    "boolean": "bool",
    "voidptr": POINTER,
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "size_t": "uint64",
    "npy_intp": "int64",
    "Py_ssize_t": "int64",
    **{f"{kind}_t": kind for kind in ("int8", "int16", "int32", "int64")},
    **{f"u{kind}_t": f"u{kind}" for kind in ("int8", "int16", "int32", "int64")},
    **{f"npy_{name}": dtype for name, dtype in (("double", "float64"), ("float", "float32"))},
    **{
        f"{sign}{name}": np.dtype(code if sign else code.lower()).name
        for sign in ("", "unsigned ")
        for name, code in (("short", "H"), ("int", "I"), ("long", "L"), ("long long", "Q"))
    },
}


def _canonical(name: str) -> str:
    """Return a type in the words of :class:`Prototype`, given those of C or of numba."""
    plain = " ".join(name.replace("const", " ").split())
    if "*" in plain or plain.startswith(("CPointer", "Array")):
        return POINTER
    return _C_TYPES.get(plain, plain)


# ---- names of addresses --------------------------------------------------------------------------


class _Found(ctypes.Structure):
    """What ``dladdr`` of POSIX tells of an address."""

    _fields_ = [
        ("path", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("start", ctypes.c_void_p),
    ]


def _at(address: int, function: Any) -> NativeFunction:
    """Return the function at an address, by its library and symbol if there are any."""
    found = _Found()
    find = getattr(_loaded(""), "dladdr", None) if sys.platform != "win32" else None
    if find is None or not find(ctypes.c_void_p(address), ctypes.byref(found)):
        return _local(function, address)
    if found.start != address or not found.name or not found.path:
        return _local(function, address)
    for library in (os.fsdecode(found.path), ""):
        try:
            if _address_in(library, found.name.decode()) == address:
                return LibraryFunction(library, found.name.decode())
        except NativeFunctionError:
            continue
    return _local(function, address)


def checked(
    f: Any, returns: tuple[str, ...], takes: tuple[str, ...], called: str
) -> tuple[NativeFunction, Prototype]:
    """Return a function of a user, whose types must be these as far as they are known.

    Parameters
    ----------
    f
        The function, as :func:`native_function` takes it.
    returns
        What it may return; the first is assumed if it is not known.
    takes
        What it must take.
    called
        What the user calls, for messages.

    Raises
    ------
    ArgumentError
        If the types differ.
    """
    function, prototype = native_function(f)
    if prototype is None:
        return function, Prototype(returns[0], takes)
    if prototype.returns not in returns or prototype.takes != takes:
        expected = " or ".join(str(Prototype(one, takes)) for one in returns)
        msg = (
            f"{called}: the function must be {expected}, got {function}, which is {prototype}. "
            "Set its types (argtypes and restype of ctypes), or the dtypes and the signature here."
        )
        raise ArgumentError(msg)
    return function, prototype
