"""Functions that native code calls lane by lane: libm's and SciPy's.

Code names them by symbols and holds no addresses, so that it can be kept on disk; whoever loads it
binds each symbol to :func:`address_of`.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from phintys._base.errors import MethodNotDefinedError

__all__ = ["EXTERNALS", "External", "address_of"]


@dataclass(frozen=True, slots=True)
class External:
    """A C function of doubles (or floats) that returns one.

    Attributes
    ----------
    symbol
        What code calls it.
    source
        ``"libm"``, or ``"scipy"`` for ``scipy.special.cython_special``.
    name
        Its name there.
    nin
        Number of inputs.
    dtype
        Name of the dtype of inputs and output.
    integer_after
        Whether an ignored C int follows the inputs: Cython's functions take one.
    """

    symbol: str
    source: str
    name: str
    nin: int = 1
    dtype: str = "float64"
    integer_after: bool = False


def _libm(name: str, nin: int = 1) -> list[External]:
    return [
        External(f"phintys_libm_{name}_{dtype}", "libm", name + suffix, nin, dtype)
        for dtype, suffix in (("float64", ""), ("float32", "f"))
    ]


def _scipy(symbol: str, name: str, nin: int = 1) -> list[External]:
    return [External(f"phintys_{symbol}_float64", "scipy", name, nin, integer_after=True)]


# name of the scalar op, name in cython_special (which numbers the types of its fused functions)
_SCIPY = (
    _scipy("erfcx", "erfcx"),
)

EXTERNALS: dict[str, External] = {
    external.symbol: external
    for group in (_libm("sin"), _libm("cos"), _libm("tan"), _libm("fmod", 2), *_SCIPY)
    for external in group
}
"""All of them, by symbol."""


@cache
def _libm_handle() -> Any:
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    return ctypes.CDLL(ctypes.util.find_library("m"))


@cache
def address_of(symbol: str) -> int:
    """Return the address of an external function in this process.

    Parameters
    ----------
    symbol
        One of :data:`EXTERNALS`.

    Raises
    ------
    MethodNotDefinedError
        This platform's libm or the installed SciPy does not have it.
    """
    external = EXTERNALS[symbol]
    if external.source == "libm":
        try:
            function = getattr(_libm_handle(), external.name)
        except AttributeError as error:
            raise _missing(external) from error
        return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
    capsules = import_module("scipy.special.cython_special").__pyx_capi__
    if external.name not in capsules:
        raise _missing(external)
    return _address_in_capsule(capsules[external.name])


def _missing(external: External) -> MethodNotDefinedError:
    return MethodNotDefinedError(
        f"{external.source} has no function {external.name!r} here, which native code needs for "
        f"{external.symbol}. Use mode='reference' for this function."
    )


def _address_in_capsule(capsule: Any) -> int:
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    return int(pointer_of(capsule, name_of(capsule)))
