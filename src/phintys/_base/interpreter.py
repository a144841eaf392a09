"""Which interpreter of the process this is."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

__all__ = ["check_interpreter"]

_MODULE = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"


def check_interpreter() -> None:
    """Raise in a subinterpreter.

    Native code, its thread pool and what it knows of Python's objects are there once in a process,
    and belong to the main interpreter; NumPy is not made for others either.

    Raises
    ------
    ImportError
        This is not the main interpreter.
    """
    try:
        interpreters: Any = import_module(_MODULE)
    except ImportError:  # a Python without them, or without a way to tell
        return
    if interpreters.get_current() != interpreters.get_main():
        msg = (
            "Phintys runs in the main interpreter of a process only, and this is a subinterpreter. "
            "Import it in the main interpreter, or use processes."
        )
        raise ImportError(msg)
