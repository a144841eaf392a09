"""SciPy's BLAS as C functions: ``scipy.linalg.cython_blas`` exports pointers to them.

Importing that module normally imports all of ``scipy.linalg``, which takes ten times as long as the
one extension module that is needed, so this is loaded by its file.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from phintys._base.apart import import_whole, run_whole
from phintys._base.errors import MethodNotDefinedError
from phintys._base.once import Once
from phintys.backends.native.emit.externals import read_capsule
from phintys.tensor.blas import BLAS_LETTERS

__all__ = ["blas_address", "blas_is_loaded", "blas_version", "is_blas"]

_PREFIX = "phintys_"
_PACKAGE = "scipy.linalg"
_MODULE = f"{_PACKAGE}.cython_blas"
_ROUTINES = {
    f"{letter}{routine}" for letter in BLAS_LETTERS.values() for routine in ("gemm", "gemv")
} | {"sdot", "ddot"}


def is_blas(symbol: str) -> bool:
    """Tell whether a symbol that code needs is a function of BLAS."""
    return symbol.startswith(_PREFIX) and symbol.removeprefix(_PREFIX) in _ROUTINES


def blas_is_loaded() -> bool:
    """Tell whether SciPy's BLAS is in memory."""
    return _blas_module.is_known


@cache
def blas_address(symbol: str) -> int:
    """Return the address of a function of BLAS in this process.

    Parameters
    ----------
    symbol
        What code calls it: ``"phintys_dgemm"``.

    Raises
    ------
    MethodNotDefinedError
        The installed SciPy does not have it, or its integers are not 32 bits wide.
    """
    name = symbol.removeprefix(_PREFIX)
    capsule = _blas_module().__pyx_capi__.get(name)
    if capsule is None:
        msg = f"The installed SciPy has no BLAS function {name!r}. Use mode='reference'."
        raise MethodNotDefinedError(msg)
    signature, address = read_capsule(capsule)
    if "int *" not in signature:
        msg = f"The BLAS function {name} of the installed SciPy is {signature!r}, expected int *."
        raise MethodNotDefinedError(msg)
    return address


def blas_version() -> str:
    """Return what tells the BLAS of this process from others: SciPy's version and place."""
    import scipy

    return f"scipy {scipy.__version__} in {Path(scipy.__file__).parent}"


@Once
def _blas_module() -> Any:
    if _PACKAGE not in sys.modules:
        # Another layout of SciPy, or another importlib, takes the usual way.
        with suppress(ImportError, AttributeError):
            return run_whole(_load_by_file)
    return import_whole(_MODULE)


def _load_by_file() -> Any:
    """Load the extension module without its package.

    Its memory is there once in a process, and ``import scipy.linalg`` in another thread fills it
    too: so this holds the lock that imports of that name hold, which no public function gives. The
    module enters itself into ``sys.modules``. It is taken out again, so that a later import is what
    it would have been, and finds the same module.
    """
    import scipy

    importlib = sys.modules["_frozen_importlib"]
    folder = Path(scipy.__file__).parent / "linalg"
    spec = PathFinder.find_spec("cython_blas", [str(folder)])
    if spec is None or spec.loader is None:
        raise ImportError
    spec.name = spec.loader.name = _MODULE  # pyright: ignore[reportAttributeAccessIssue]
    with importlib._ModuleLockManager(_MODULE):
        loaded = sys.modules.get(_MODULE)
        if loaded is not None:
            return loaded
        try:
            return importlib._load_unlocked(spec)
        finally:
            sys.modules.pop(_MODULE, None)
