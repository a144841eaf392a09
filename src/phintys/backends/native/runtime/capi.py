"""CPython's and NumPy's C API for native code: function addresses and object layouts.

Both have a C interface that is stable but meant for a C compiler. The information of the header
files is reconstructed here and checked against live objects; if anything differs from what is
expected, the fast path is not used and calls go through Python, which is slower but always correct.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np
from numpy._core import multiarray

from phintys._base.records import record
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.types import INT32, PTR

# Indices into NumPy's table, which never change (numpy/_core/code_generators/numpy_api.py).
_NUMPY_FUNCTIONS = {"PyArray_NewFromDescr": 94, "PyArray_Empty": 184}
_NUMPY_ARRAY_TYPE = 2

# methodobject.h
_VARARGS, _KEYWORDS = 1, 2

_PYTHON_FUNCTIONS = (
    "PyErr_CheckSignals",
    "PyErr_Clear",
    "PyErr_Fetch",
    "PyErr_NoMemory",
    "PyErr_NormalizeException",
    "PyErr_Occurred",
    "PyErr_Restore",
    "PyErr_WriteUnraisable",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyInterpreterState_Get",
    "PyInterpreterState_ThreadHead",
    "PyList_New",
    "PyList_SetItem",
    "PyLong_AsLongLong",
    "PyLong_FromLongLong",
    "PyObject_Call",
    "PyObject_Vectorcall",
    "PyThreadState_Next",
    "PyThread_get_thread_ident",
    "PyTuple_GetItem",
    "PyTuple_Size",
    "Py_DecRef",
    "Py_EnterRecursiveCall",
    "Py_IncRef",
    "Py_LeaveRecursiveCall",
)

_FIRST_ADDRESS = 65536
"""No valid address is below this one."""

NUMBER_AT = object.__basicsize__
"""Offset in bytes of the value in Python's floats and NumPy's scalars; see :func:`number_types`."""

ALIGNED, C_CONTIGUOUS, OWNDATA, WRITEABLE = 0x100, 0x1, 0x4, 0x400
"""Bits of an array's flags."""

FASTCALL_KEYWORDS = 0x80 | 0x2
"""Flags of a builtin with the signature ``(self, arguments, count, keyword names)``."""


class Unsupported(Exception):  # noqa: N818 - says why the fast path is not used; not an error
    """The interpreter or NumPy is not supported by the fast path."""


@record(frozen=True)
class CApi:
    """The parts of the C API that native code uses.

    Attributes
    ----------
    functions
        Name -> address.
    array
        The fields of an array.
    list_items
        Offset in bytes of the address of a list's items.
    """

    functions: dict[str, int]
    array: Record
    list_items: int


def _address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def function_of(builtin: Any) -> int:
    """Return the address of the C function of a builtin method that takes ``(self, args, kwargs)``.

    Zero if it has another form, as may be in other versions of Python.
    """
    flags, function = (
        ctypes.PYFUNCTYPE(result, ctypes.py_object)((name, ctypes.pythonapi))
        for name, result in (
            ("PyCFunction_GetFlags", ctypes.c_int),
            ("PyCFunction_GetFunction", ctypes.c_void_p),
        )
    )
    return int(function(builtin) or 0) if flags(builtin) == _VARARGS | _KEYWORDS else 0


def _numpy_table() -> Any:
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    address = pointer(multiarray._ARRAY_API, None)
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))


def _array_record(header: int) -> Record:
    """Return the fields of ``PyArrayObject_fields`` (numpy/ndarraytypes.h)."""
    return Record(
        {
            "references": (INT32, header - 16),
            "type": (PTR, header - 8),
            "data": (PTR, header),
            "ndim": (INT32, header + 8),
            "dimensions": (PTR, header + 16),
            "strides": (PTR, header + 24),
            "base": (PTR, header + 32),
            "descr": (PTR, header + 40),
            "flags": (INT32, header + 48),
            "weakrefs": (PTR, header + 56),
            "buffer_info": (PTR, header + 64),
            "handler": (PTR, header + 72),
        }
    )


@cache
def c_api() -> CApi:
    """Return the C API of this interpreter.

    Raises
    ------
    Unsupported
        If the fast path does not support it; the message says why.
    """
    if sys.implementation.name != "cpython":
        msg = f"the interpreter is {sys.implementation.name}, not CPython"
        raise Unsupported(msg)
    if "free-threading" in sys.version:  # sysconfig knows it too, but loads slowly
        msg = "this is a free-threaded Python"
        raise Unsupported(msg)
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        msg = "the machine is not a little-endian 64-bit one"
        raise Unsupported(msg)
    header = object.__basicsize__
    array = _array_record(header)
    # A list is: header, length, address of the items, capacity.
    api = CApi(_functions(), array, header + 8)
    check_objects(api)
    return api


def _functions() -> dict[str, int]:
    try:
        found = {name: _address(getattr(ctypes.pythonapi, name)) for name in _PYTHON_FUNCTIONS}
        table = _numpy_table()
    except (AttributeError, ValueError) as error:
        msg = f"a C function is missing ({error})"
        raise Unsupported(msg) from error
    if table[_NUMPY_ARRAY_TYPE] != id(np.ndarray):
        msg = "NumPy's table of C functions is not the one expected"
        raise Unsupported(msg)
    return found | {name: table[position] for name, position in _NUMPY_FUNCTIONS.items()}


def check_objects(api: CApi) -> None:
    """Check the expected layout of objects against live ones.

    Raises
    ------
    Unsupported
        If something differs.
    """
    whole = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for array in (whole, whole[:, ::2, 1:], whole[0, 0, 0:0], np.array(3), np.zeros((0, 2))):
        _check_array(api, array)
    _check_references(api)
    items = [object(), "two", whole]
    held = [id(one) for one in items]
    start = ctypes.c_uint64.from_address(id(items) + api.list_items).value
    if _words(start, len(held)) != held:
        msg = "lists keep their items elsewhere"
        raise Unsupported(msg)


def _check_references(api: CApi) -> None:
    """Check the expected place of reference counts against a live array."""
    holders = [np.zeros(3)]
    address = id(holders[0])
    counts: list[int] = []
    for _ in range(3):
        counts.append(api.array.read(address, "references"))
        holders.append(holders[0])
    if counts != [1, 2, 3]:
        msg = "objects count their references elsewhere"
        raise Unsupported(msg)


def _check_array(api: CApi, array: np.ndarray[Any, Any]) -> None:
    if np.ndarray.__basicsize__ < api.array.size:
        msg = "arrays are smaller than expected"
        raise Unsupported(msg)
    expected = {
        "type": id(np.ndarray),
        "data": array.ctypes.data,
        "ndim": array.ndim,
        "base": 0 if array.base is None else id(array.base),
        "descr": id(array.dtype),
        "flags": array.flags.num,
    }
    for name, value in expected.items():
        if api.array.read(id(array), name) != value:
            msg = f"arrays keep their {name} elsewhere"
            raise Unsupported(msg)
    for name, values in (("dimensions", array.shape), ("strides", array.strides)):
        if values and _words(api.array.read(id(array), name), array.ndim) != list(values):
            msg = f"arrays keep their {name} elsewhere"
            raise Unsupported(msg)


@cache
def number_types(dtype: np.dtype[Any]) -> tuple[type, type] | None:
    """Return the types of numbers that keep a value of a dtype at ``NUMBER_AT``.

    NumPy's type, and Python's if it keeps the same value in the same form, else NumPy's again.
    ``None`` if live objects are laid out otherwise, or do not live in memory of this machine's
    byte order.
    """
    if dtype.kind not in "biufc" or not dtype.isnative:
        return None
    scalar = dtype.type
    sample = np.array(1.25).astype(dtype)[()]
    if not _keeps(sample, sample.tobytes()):
        return None
    is_float = scalar is np.float64 and _keeps(1.25, sample.tobytes())
    return scalar, float if is_float else scalar


def _keeps(number: Any, value: bytes) -> bool:
    return ctypes.string_at(id(number) + NUMBER_AT, len(value)) == value


def _words(start: int, count: int) -> list[int] | None:
    """Return 8-byte numbers from memory, ``None`` if the address cannot be valid."""
    if start < _FIRST_ADDRESS or start % 8:
        return None
    return [ctypes.c_int64.from_address(start + 8 * number).value for number in range(count)]


# ---- builtins ----------------------------------------------------------------------------------


class _MethodDefinition(ctypes.Structure):
    """``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_DEFINITIONS: dict[int, _MethodDefinition] = {}


def new_builtin(address: int, self: Any) -> Any:
    """Return a builtin function implemented by native code.

    Parameters
    ----------
    address
        Address of ``PyObject *(PyObject *self, PyObject **arguments, ssize_t count, PyObject
        *names)``, in code that is never freed.
    self
        Its first argument; the builtin keeps it alive.
    """
    definition = _DEFINITIONS.get(address)
    if definition is None:
        made = _MethodDefinition(b"function", address, FASTCALL_KEYWORDS, None)
        definition = _DEFINITIONS.setdefault(address, made)
        # A builtin may outlive this module when the interpreter exits.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    return make(ctypes.addressof(definition), self, None)


def redirect_builtins(address: int, better: int) -> None:
    """Redirect all builtins implemented by some code to other, equivalent code.

    Python reads the address in the definition at every call.
    """
    definition = _DEFINITIONS.pop(address, None)
    if definition is not None:
        definition.function = better
        _DEFINITIONS[better] = definition
