"""Capsules, in which Python modules hand C functions to each other."""

from __future__ import annotations

import ctypes
from typing import Any


def read_capsule(capsule: Any) -> tuple[str, int]:
    """Return the name of a capsule, which is a C signature, and the address in it."""
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    name = name_of(capsule)
    return name.decode(), int(pointer_of(capsule, name))
