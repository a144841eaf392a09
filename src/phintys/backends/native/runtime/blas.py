"""SciPy's BLAS as C functions: ``scipy.linalg.cython_blas`` exports pointers to them.

Importing that module normally imports all of ``scipy.linalg``, which takes ten times as long as the
one extension module that is needed, so this is loaded by its file.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from functools import cache, partial
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np

from phintys._base.apart import import_whole, run_whole
from phintys._base.errors import MethodNotDefinedError
from phintys._base.once import Once
from phintys.backends.native.emit.externals import read_capsule
from phintys.backends.native.emit.product_parts import BLAS_THREADS
from phintys.tensor.blas import BLAS_LETTERS

__all__ = [
    "after_fork",
    "blas_address",
    "blas_is_loaded",
    "blas_threads",
    "blas_version",
    "is_blas",
]

_PREFIX = "phintys_"
_PACKAGE = "scipy.linalg"
_MODULE = f"{_PACKAGE}.cython_blas"
_ROUTINES = {
    f"{letter}{routine}" for letter in BLAS_LETTERS.values() for routine in ("gemm", "gemv")
} | {"sdot", "ddot"}


def is_blas(symbol: str) -> bool:
    """Return whether a symbol that code needs is a function of BLAS."""
    return symbol.startswith(_PREFIX) and symbol.removeprefix(_PREFIX) in _ROUTINES


def blas_is_loaded() -> bool:
    """Return whether SciPy's BLAS is in memory."""
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


# ---- its threads -------------------------------------------------------------------------------

_PTHREADS = 1
_PREFIXES = ("scipy_openblas_", "openblas_")


@Once
def blas_threads() -> int:
    """Return the address of the record :class:`BLAS_THREADS` of this process.

    Known is OpenBLAS with threads of its own, or none, as SciPy's wheels have it. Another library,
    or one whose threads belong to OpenMP, multiplies with as many threads as it likes.
    """
    memory = np.zeros(BLAS_THREADS.size // 8, np.int64)
    address = int(memory.ctypes.data)
    _RECORDS.append(memory)
    try:
        # What a library exports is found by way of those that were linked to it.
        found = _thread_functions(ctypes.CDLL(_blas_module().__file__))
    except (OSError, TypeError):
        found = None
    if found is not None:
        for name, value in found.items():
            BLAS_THREADS.write(address, name, value)
        BLAS_THREADS.write(address, "is_ours", 1)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(after_fork, address))
    return address


_RECORDS: list[np.ndarray[Any, Any]] = []
"""Records stay where they are: threads that the interpreter does not wait for may use them."""


def _thread_functions(library: ctypes.CDLL) -> dict[str, int] | None:
    """Return the functions of OpenBLAS that tell and set its threads; ``None`` if there are none.

    No functions are wanted if the library has no threads.
    """
    for prefix in _PREFIXES:
        names = [f"{prefix}{name}" for name in ("get_num_threads", "set_num_threads")]
        if not all(hasattr(library, name) for name in (*names, f"{prefix}get_parallel")):
            continue
        kind = library[f"{prefix}get_parallel"]()
        if kind == 0:
            return {}
        if kind == _PTHREADS:
            addresses = [ctypes.cast(library[name], ctypes.c_void_p).value or 0 for name in names]
            return dict(zip(("get", "set"), addresses, strict=True))
    return None


def after_fork(address: int) -> None:
    """In a new process: the threads that computed products are not there."""
    if BLAS_THREADS.read(address, "users"):
        former = BLAS_THREADS.read(address, "former")
        ctypes.CFUNCTYPE(None, ctypes.c_int)(BLAS_THREADS.read(address, "set"))(former)
    BLAS_THREADS.write(address, "users", 0)
    BLAS_THREADS.write(address, "lock", 0)


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
