"""SciPy's BLAS as C functions: ``scipy.linalg.cython_blas`` exports pointers to them.

Importing that module normally imports all of ``scipy.linalg``, which takes ten times as long as the
one extension module that is needed, so the module is loaded from its file.
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
        Its name in generated code: ``"phintys_dgemm"``.

    Raises
    ------
    MethodNotDefinedError
        If the installed SciPy does not have it, or its integers are not 32 bits wide.
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

    Supported is OpenBLAS with its own threads, or without threads, as in SciPy's wheels. Other
    libraries, and those that use OpenMP, decide themselves how many threads they use.
    """
    memory = np.zeros(BLAS_THREADS.size // 8, np.int64)
    address = int(memory.ctypes.data)
    _RECORDS.append(memory)
    try:
        # Symbols of a library are found through the libraries that link to it.
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
"""Records are never freed: threads that the interpreter does not wait for may use them."""


def _thread_functions(library: ctypes.CDLL) -> dict[str, int] | None:
    """Return the OpenBLAS functions that get and set its threads; ``None`` if not found.

    The result is empty if the library has no threads.
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
    """Reset the record in a forked process, where the threads of BLAS do not exist."""
    if BLAS_THREADS.read(address, "users"):
        former = BLAS_THREADS.read(address, "former")
        ctypes.CFUNCTYPE(None, ctypes.c_int)(BLAS_THREADS.read(address, "set"))(former)
    BLAS_THREADS.write(address, "users", 0)
    BLAS_THREADS.write(address, "lock", 0)


def blas_version() -> str:
    """Return an identification of the BLAS of this process: SciPy's version and path."""
    import scipy

    return f"scipy {scipy.__version__} in {Path(scipy.__file__).parent}"


@Once
def _blas_module() -> Any:
    if _PACKAGE not in sys.modules:
        # With another layout of SciPy, or another importlib, import it normally.
        with suppress(ImportError, AttributeError):
            return run_whole(_load_by_file)
    return import_whole(_MODULE)


def _load_by_file() -> Any:
    """Load the extension module without its package.

    The module is loaded only once in a process, and ``import scipy.linalg`` in another thread loads
    it too. So this holds the import lock of that name, which no public function provides. The
    module adds itself to ``sys.modules``; it is removed again, so that a later import works as
    usual and finds the same module.
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
