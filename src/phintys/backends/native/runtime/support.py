"""The native code that is there once for the whole process: threads, memory, and the entry."""

from __future__ import annotations

import atexit
import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy._core.multiarray import get_handler_name

from phintys._base.config import config
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.target import Target
from phintys.backends.native.runtime.blocks import BLOCKS, NumPyHandler, emit_blocks
from phintys.backends.native.runtime.capi import CApi, Unsupported, c_api
from phintys.backends.native.runtime.engine import Code, immortal, load
from phintys.backends.native.runtime.entry import emit_entry
from phintys.backends.native.runtime.protocol import PROCESS
from phintys.backends.native.runtime.services import PROCESS_SYMBOL, emit_services
from phintys.backends.native.runtime.threads import MOST_WORKERS, POOL, emit_threads

__all__ = ["Support", "support", "thread_limit", "trim"]

_LEVELS = {"services": 0, "entry": 1}
"""LLVM's effort. The very first function compiled on a machine waits for this code too, so only
what runs in every call is worth more."""

_FLOAT64 = np.dtype("float64")
_PATIENCE = 2000
_KEPT_BYTES = 256 << 20
_LARGE_BYTES = 64 << 10
_RELEASE_GIL = 100_000
_USE_THREADS = 20_000

_FOR_PROGRAMS = (
    "phintys_arena",
    "phintys_callback",
    "phintys_parallel_for",
    "phintys_work",
)


_FOR_ENTRY = (
    "phintys_acquire",
    "phintys_failure",
    "phintys_large_array",
    "phintys_leave",
    "phintys_lock",
    "phintys_outcome",
    "phintys_release",
    "phintys_unlock",
)


class Support:
    """Native code for all programs, in memory for good.

    Attributes
    ----------
    symbols
        Addresses of the functions that programs call.
    entry
        Address of the builtin's code.
    process
        Address of what holds for the whole process.
    """

    def __init__(self, api: CApi) -> None:
        self._code = _services(api)
        entry = _entry(api, self._code)
        self.entry = entry.address("phintys_entry")
        self.symbols = {name: self._code.address(name) for name in _FOR_PROGRAMS}
        self.symbols["phintys_new_array"] = entry.address("phintys_new_array")
        self.symbols["phintys_malloc"] = self._code.address("phintys_acquire")
        self.symbols["phintys_free"] = self._code.address("phintys_release")
        self._pool = self._code.data_address("phintys_threads")
        self._blocks = self._code.data_address("phintys_blocks")
        self.process = self._code.data_address(PROCESS_SYMBOL)
        self._prepare_threads()
        self._prepare_memory()
        self._check_large_arrays()
        os.register_at_fork(after_in_child=self._after_fork)
        atexit.register(self._function("phintys_pool_stop"))

    def _function(self, symbol: str) -> Callable[[], None]:
        return ctypes.CFUNCTYPE(None)(self._code.address(symbol))

    # ---- threads

    def _prepare_threads(self) -> None:
        self._function("phintys_pool_reset")()
        POOL.write(self._pool, "patience", _PATIENCE)
        POOL.write(self._pool, "wanted", min(MOST_WORKERS, usable_cores() - 1))

    def _after_fork(self) -> None:
        """In a new process: its parent's workers are not there, and nobody holds a lock."""
        self._function("phintys_pool_reset")()
        BLOCKS.write(self._blocks, "lock", 0)

    @property
    def workers(self) -> int:
        """How many workers were started."""
        return POOL.read(self._pool, "workers")

    # ---- memory

    def _prepare_memory(self) -> None:
        BLOCKS.write(self._blocks, "limit", _KEPT_BYTES)
        fields = {
            "array_type": id(np.ndarray),
            "large": _LARGE_BYTES,
            "release_gil": _RELEASE_GIL,
            "use_threads": _USE_THREADS,
            "handler": id(self._numpy_handler()),
        }
        for name, value in fields.items():
            PROCESS.write(self.process, name, value)

    def _numpy_handler(self) -> Any:
        """Return NumPy's handle on the memory of large arrays."""
        addresses = {
            name: self._code.address(f"phintys_numpy_{name}")
            for name in ("malloc", "calloc", "realloc", "free")
        }
        handler = immortal(NumPyHandler(name=b"phintys", version=1, **addresses))
        make = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
        )(("PyCapsule_New", ctypes.pythonapi))
        return immortal(make(ctypes.addressof(handler), b"mem_handler", None))

    def _check_large_arrays(self) -> None:
        """Make a large array and hold it against NumPy's rules; do without if it breaks one."""
        record = (ctypes.c_int64 * 3)(id(_FLOAT64), 1, 8)
        lengths = (ctypes.c_int64 * 1)(_LARGE_BYTES // 8)
        pointer = ctypes.c_void_p
        make = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, pointer, ctypes.c_int64)(
            self._code.address("phintys_large_array")
        )
        array = make(ctypes.addressof(record), ctypes.addressof(lengths), _LARGE_BYTES)
        array[:] = 1.0
        is_sound = (
            type(array) is np.ndarray
            and array.dtype is _FLOAT64
            and array.shape == (_LARGE_BYTES // 8,)
            and array.base is None
            and array.flags.carray
            and array.flags.owndata
            and get_handler_name(array) == "phintys"
            and array.sum() == _LARGE_BYTES // 8
        )
        kept = self.kept_bytes
        del array
        if not is_sound or self.kept_bytes <= kept:
            PROCESS.write(self.process, "large", np.iinfo(np.int64).max)

    @property
    def kept_bytes(self) -> int:
        """Bytes of memory that wait for the next call."""
        return BLOCKS.read(self._blocks, "kept")

    def trim(self) -> None:
        """Give the system all memory that waits for the next call."""
        self._function("phintys_trim")()


def _services(api: CApi) -> Code:
    module = Module(Target.host())
    emit_threads(module)
    emit_blocks(module)
    emit_services(module, api)
    return immortal(load(module, api.functions, _LEVELS["services"]))


def _entry(api: CApi, services: Code) -> Code:
    module = Module(Target.host())
    emit_entry(module, api)
    addresses = {name: services.address(name) for name in _FOR_ENTRY}
    return immortal(load(module, api.functions | addresses, _LEVELS["entry"]))


def usable_cores() -> int:
    """Return how many cores the process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_limit() -> int:
    """Return how many threads a call may use now."""
    return config.num_threads or usable_cores()


@cache
def support() -> Support | Unsupported:
    """Return the support, or why there is none here."""
    try:
        return Support(c_api())
    except Unsupported as reason:
        return reason


def trim() -> None:
    """Give memory that waits for the next call back to the system."""
    found = support()
    if isinstance(found, Support):
        found.trim()
