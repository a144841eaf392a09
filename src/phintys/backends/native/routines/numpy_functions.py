"""The C functions behind the methods of ``numpy.random.Generator``.

The extension module that defines the class exports them, for programs that extend NumPy's random
numbers (https://numpy.org/doc/stable/reference/random/extending.html). Each takes the address of a
bit generator's C interface, ``bitgen_t``, so numbers and states are NumPy's for every kind of it.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from phintys._base.errors import MethodNotDefinedError
from phintys._base.late import LateModule

_PREFIX = "phintys_numpy_"

generators: Any = LateModule("numpy.random._generator")


def numpy_symbol(name: str) -> str:
    """Return the name of a C function in generated code."""
    return _PREFIX + name


def is_numpy_function(symbol: str) -> bool:
    """Return whether a symbol that code needs is one of these functions."""
    return symbol.startswith(_PREFIX)


def has_numpy_function(symbol: str) -> bool:
    """Return whether the installed NumPy exports a function."""
    return _address(symbol) != 0


def numpy_function(symbol: str) -> int:
    """Return the address of a function in this process.

    Raises
    ------
    MethodNotDefinedError
        If the installed NumPy does not export it.
    """
    address = _address(symbol)
    if not address:
        name = symbol.removeprefix(_PREFIX)
        msg = f"The installed NumPy does not export {name!r}. Use mode='reference'."
        raise MethodNotDefinedError(msg)
    return address


@cache
def _address(symbol: str) -> int:
    try:
        library = ctypes.CDLL(generators.__file__)
        function = getattr(library, symbol.removeprefix(_PREFIX))
    except (AttributeError, OSError):
        return 0
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
