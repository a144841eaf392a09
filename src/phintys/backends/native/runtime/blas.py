"""SciPy's BLAS and LAPACK as C functions.

Wheels of SciPy for Linux bring an OpenBLAS, which is loaded from its file: importing SciPy takes
longer than compiling a small function. Of any other SciPy, ``scipy.linalg.cython_blas`` and
``cython_lapack`` export pointers to the functions. Importing these modules normally imports all of
``scipy.linalg``, which takes ten times as long as the one extension module that is needed, so a
module is loaded from its file.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from functools import cache, partial
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.caches import Once
from phintys._base.errors import MethodNotDefinedError
from phintys._base.late import LateModule
from phintys._base.uninterrupted import import_whole, run_whole
from phintys.backends.native.routines.blas_threads import BLAS_THREADS, BLAS_THREADS_SYMBOL

if TYPE_CHECKING:
    from phintys._base import capsules
else:
    capsules = LateModule("phintys._base.capsules")

_PREFIX = "phintys_"
_PACKAGE = "scipy.linalg"
_LIBRARIES = ("blas", "lapack")


def _split(symbol: str) -> tuple[str, str]:
    """Return the library and the name of a function, given its name in generated code."""
    library, _, name = symbol.removeprefix(_PREFIX).partition("_")
    return library, name


def is_routine(symbol: str) -> bool:
    """Return whether a symbol that code needs is a function of one of the libraries."""
    is_ours = symbol.startswith(_PREFIX) and symbol != BLAS_THREADS_SYMBOL
    return is_ours and library_of(symbol) in _LIBRARIES


def library_of(symbol: str) -> str:
    """Return the library of a function: ``"blas"`` or ``"lapack"``."""
    return _split(symbol)[0]


def is_loaded(symbol: str) -> bool:
    """Return whether the library of a function is in memory."""
    has_wheel = WHEEL.is_known and WHEEL() is not None
    return has_wheel or _MODULES[library_of(symbol)].is_known


@cache
def routine_address(symbol: str) -> int:
    """Return the address of a function of a library in this process.

    Parameters
    ----------
    symbol
        Its name in generated code: ``"phintys_blas_dgemm"``, ``"phintys_lapack_dpotrf"``.

    Raises
    ------
    MethodNotDefinedError
        If the installed SciPy does not have it, or its integers are not 32 bits wide.
    """
    library, name = _split(symbol)
    address = _address_in_wheel(name)
    if address is not None:
        return address
    shown = f"{library.upper()} function"
    capsule = _MODULES[library]().__pyx_capi__.get(name)
    if capsule is None:
        msg = f"The installed SciPy has no {shown} {name!r}. Use mode='reference'."
        raise MethodNotDefinedError(msg)
    signature, address = capsules.read_capsule(capsule)
    if "int *" not in signature:
        msg = f"The {shown} {name} of the installed SciPy is {signature!r}, expected int *."
        raise MethodNotDefinedError(msg)
    return address


# ---- the library of SciPy's wheels -------------------------------------------------------------


def _library_of_wheel() -> ctypes.CDLL | None:
    """Return the OpenBLAS beside SciPy, if there is one; SciPy is not imported.

    SciPy loads the same file, and so uses the same library in memory.
    """
    spec = find_spec("scipy")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parents[1] / "scipy.libs"
    found = list(folder.glob("libscipy_openblas-*.so"))
    if len(found) != 1:
        return None
    try:
        return ctypes.CDLL(str(found[0]))
    except OSError:
        return None


WHEEL: Once[ctypes.CDLL | None] = Once(_library_of_wheel)


def _address_in_wheel(name: str) -> int | None:
    """Return the address of a subroutine with 32-bit integers; with others it has another name."""
    library = WHEEL() if name[0] in "sdcz" else None
    function = None if library is None else getattr(library, f"scipy_{name}_", None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


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
        found = _thread_functions(WHEEL() or ctypes.CDLL(_MODULES["blas"]().__file__))
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


def _module(file: str) -> Any:
    """Return an extension module of SciPy's."""
    if _PACKAGE not in sys.modules:
        # With another layout of SciPy, or another importlib, import it normally.
        with suppress(ImportError, AttributeError):
            return run_whole(partial(_load_by_file, file))
    return import_whole(f"{_PACKAGE}.{file}")


_MODULES = {library: Once(partial(_module, f"cython_{library}")) for library in _LIBRARIES}


def _load_by_file(file: str) -> Any:
    """Load an extension module without its package.

    The module is loaded only once in a process, and ``import scipy.linalg`` in another thread loads
    it too. So this holds the import lock of that name, which no public function provides. The
    module adds itself to ``sys.modules``; it is removed again, so that a later import works as
    usual and finds the same module.
    """
    import scipy

    name = f"{_PACKAGE}.{file}"
    importlib = sys.modules["_frozen_importlib"]
    folder = Path(scipy.__file__).parent / "linalg"
    spec = PathFinder.find_spec(file, [str(folder)])
    if spec is None or spec.loader is None:
        raise ImportError
    spec.name = spec.loader.name = name  # pyright: ignore[reportAttributeAccessIssue]
    with importlib._ModuleLockManager(name):
        loaded = sys.modules.get(name)
        if loaded is not None:
            return loaded
        try:
            return importlib._load_unlocked(spec)
        finally:
            sys.modules.pop(name, None)
