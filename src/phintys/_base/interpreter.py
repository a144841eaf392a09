"""Check for subinterpreters, which are not supported."""

from __future__ import annotations

import sys
from typing import Any

_interpreters: Any = None
try:
    if sys.version_info >= (3, 13):
        import _interpreters
    else:
        import _xxsubinterpreters as _interpreters  # pyright: ignore[reportMissingImports]
except ImportError:  # subinterpreters are not supported, or cannot be detected
    pass


def check_interpreter() -> None:
    """Raise in a subinterpreter.

    Native code, its thread pool and its references to Python objects exist once per process and
    belong to the main interpreter. NumPy does not support subinterpreters either.

    Raises
    ------
    ImportError
        This is not the main interpreter.
    """
    if _interpreters is None:
        return
    if _interpreters.get_current() != _interpreters.get_main():
        msg = (
            "Phintys runs in the main interpreter of a process only, and this is a subinterpreter. "
            "Import it in the main interpreter, or use processes."
        )
        raise ImportError(msg)
