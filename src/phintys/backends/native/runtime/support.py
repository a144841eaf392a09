"""Native code that exists once per process: the entry, memory and threads."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy._core.multiarray import get_handler_name

from phintys._base.caches import Once, kept_property
from phintys._base.config import config, usable_cores
from phintys._base.locks import ProcessLock
from phintys.backends.native.assembler.llvm_library import llvm
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.system import has_pool
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.limits import (
    LARGE_RESULT_BYTES,
    MOST_WORKERS,
    RELEASE_GIL_NANOSECONDS,
    USE_THREADS_NANOSECONDS,
    WAITING_SPINS,
)
from phintys.backends.native.runtime.background import Background
from phintys.backends.native.runtime.blocks import BLOCKS, NumPyHandler, emit_blocks
from phintys.backends.native.runtime.capi import (
    CApi,
    Unsupported,
    c_api,
    new_builtin,
    redirect_builtins,
)
from phintys.backends.native.runtime.engine import (
    Code,
    CompiledObject,
    cached_object,
    compile_object,
    immortal,
    load,
    load_object,
)
from phintys.backends.native.runtime.entry import emit_entry
from phintys.backends.native.runtime.protocol import CALL, CONTEXT, PROCESS, SERVICES
from phintys.backends.native.runtime.services import emit_parallel_for, emit_services
from phintys.backends.native.runtime.threads import POOL, emit_threads

_QUICK, _BETTER = 0, 1
"""LLVM's optimization level. The very first function compiled on a machine waits for this code too.
Only the entry, which runs in every call, is recompiled at a higher level, later and in another
thread."""

_FLOAT64 = np.dtype("float64")

_ENTRY, _TRIAL, _POLL = "phintys_entry", "phintys_trial", "phintys_poll"
_PARALLEL_FOR = "parallel_for"
_ARENA = "phintys_arena"
_IN_ENTRY = (_ARENA, "phintys_new_array", "phintys_parallel_for", _POLL, "phintys_work")
_IN_SERVICES = {
    "phintys_callback": "phintys_callback",
    "phintys_claim": "phintys_claim",
    "phintys_malloc": "phintys_acquire",
    "phintys_free": "phintys_release",
}
"""The functions that programs call, and their names here."""


class Support:
    """Native code for all programs, kept in memory forever.

    Attributes
    ----------
    symbols
        Addresses of the functions that programs call.
    process
        Address of the data shared by the whole process.
    """

    def __init__(self, api: CApi) -> None:
        self._api = api
        self._lock = ProcessLock()
        self._services: _Services | None = None
        self._threads: _Threads | None = None
        self._has_services = False
        self._memory = immortal(np.zeros(PROCESS.size // 8, np.int64))
        self.process = int(self._memory.ctypes.data)
        self._prepare_process()
        llvm()  # raises if it is missing
        self._better: Background[None] | None = None
        self._improved: Code | None = None
        self._is_hasty = False
        self._entry = Background(self._first_entry)
        self.symbols: Mapping[str, int] = _Symbols(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _prepare_process(self) -> None:
        fields = {
            "array_type": id(np.ndarray),
            "large": LARGE_RESULT_BYTES,
            "release_gil": RELEASE_GIL_NANOSECONDS,
            "use_threads": USE_THREADS_NANOSECONDS,
            "main": _main_thread(),
            "prepare_services": id(immortal(self.services)),
            "prepare_threads": id(immortal(self.threads)),
        }
        for name, value in fields.items():
            PROCESS.write(self.process, name, value)

    # ---- the entry

    def _first_entry(self) -> Code:
        """Return the best code in the cache, or else compile it at the lower level."""
        compiled = cached_object(self._entry_text, Target.host(), _BETTER)
        self._is_hasty = compiled is None
        return self._compiled_entry(_QUICK) if compiled is None else self._loaded(compiled)

    @kept_property
    def _entry_text(self) -> str:
        module = Module(Target.host())
        emit_entry(module, self._api)
        return str(module)

    def _compiled_entry(self, level: int) -> Code:
        return self._loaded(compile_object(self._entry_text, Target.host(), level))

    def _loaded(self, compiled: CompiledObject) -> Code:
        return immortal(load_object(compiled, Target.host(), self._api.functions))

    def _improve_entry(self) -> None:
        former, better = self.entry_code, self._compiled_entry(_BETTER)
        self._improved = better
        redirect_builtins(former.address(_ENTRY), better.address(_ENTRY))

    @property
    def entry_code(self) -> Code:
        """The builtin's code, and functions called by programs that are compiled along with it."""
        return self._improved or self._entry.result()

    def builtin(self, context: Any) -> Callable[..., Any]:
        """Return a builtin function that runs a program.

        The first one created on a machine uses code compiled at the lower level, which is replaced
        by better code as soon as that is available.

        Parameters
        ----------
        context
            The description of the program.
        """
        if self._services is not None:
            self._services.limit_memory()
        made = new_builtin(self.entry_code.address(_ENTRY), context)
        if self._is_hasty and self._better is None:
            with self._lock:
                if self._better is None:
                    self._better = Background(self._improve_entry)
        return made

    @property
    def trial(self) -> int:
        """Address of the function that runs a program compiled at -O0."""
        return self.entry_code.address(_TRIAL)

    # ---- services

    def services(self) -> _Services:
        """Return the services, compiled on first use."""
        if not self._has_services or self._services is None:
            with self._lock:
                if self._services is None:
                    self._services = _Services(self._api, self._memory)
                # All addresses at once, and again after an interrupt in between: memory allocated
                # by one of these functions must not be released by the function of another module.
                # Once they are there, the address of the thread pool may stand beside them.
                if not self._has_services:
                    self._services.publish()
                    self._memory[:] = self._services.process
                    self._has_services = True
        return self._services

    def threads(self) -> _Threads:
        """Return the thread pool, compiled on first use."""
        if self._threads is None:
            services = self.services()
            with self._lock:
                if self._threads is None:
                    poll = self.entry_code.address(_POLL)
                    self._threads = _Threads(services, self.process, poll)
        return self._threads

    def foresee(self, symbols: Iterable[str], results: int) -> None:
        """Compile the services in another thread if a program will probably need them.

        Parameters
        ----------
        symbols
            The functions that the program calls.
        results
            Number of values that it returns.
        """
        wanted = set(symbols)
        # What polls is a long loop, whose rows are probably a large array.
        likely = {_ARENA, _POLL, *_IN_SERVICES}
        if self._services is None and (results != 1 or not likely.isdisjoint(wanted)):
            # Threads come last: the first call need not wait for them unless it is long.
            Background(self.threads if f"phintys_{_PARALLEL_FOR}" in wanted else self.services)

    def _after_fork(self) -> None:
        """Reset the state in a forked process: there are no workers, and no lock is held."""
        PROCESS.write(self.process, "main", _main_thread())
        if self._services is not None:
            self._services.after_fork()
        if self._threads is not None:
            self._threads.after_fork()

    @property
    def workers(self) -> int:
        """Number of workers that were started."""
        return 0 if self._threads is None else self._threads.workers

    @property
    def kept_bytes(self) -> int:
        """Bytes of memory kept for later calls."""
        return 0 if self._services is None else self._services.kept_bytes

    def trim(self) -> None:
        """Return all memory kept for later calls to the system."""
        if self._services is not None:
            self._services.trim()


class _Symbols(Mapping[str, int]):
    """Addresses of functions that programs call; compiles the services on the first lookup."""

    def __init__(self, support: Support) -> None:
        self._support = support
        self._addresses: dict[str, int] = {}

    def __getitem__(self, symbol: str) -> int:
        found = self._addresses.get(symbol)
        if found is None:
            found = self._addresses[symbol] = self._address(symbol)
        return found

    def _address(self, symbol: str) -> int:
        if symbol in _IN_ENTRY:
            return self._support.entry_code.address(symbol)
        return self._support.services().address(_IN_SERVICES[symbol])

    def __contains__(self, symbol: object) -> bool:
        return symbol in _IN_ENTRY or symbol in _IN_SERVICES

    def __iter__(self) -> Iterator[str]:
        return iter([*_IN_ENTRY, *_IN_SERVICES])

    def __len__(self) -> int:
        return len(_IN_ENTRY) + len(_IN_SERVICES)


class _Services:
    """Memory, callbacks and all other functions that not every call needs."""

    def __init__(self, api: CApi, process: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        module = Module(Target.host())
        emit_blocks(module)
        emit_services(module, api)
        self._code = immortal(load(module, api.functions, _QUICK))
        self.process = process.copy()
        address = int(self.process.ctypes.data)
        self._blocks = self._code.data_address("phintys_blocks")
        self.limit_memory()
        PROCESS.write(address, "handler", id(self._numpy_handler()))
        services = set(SERVICES) - {_PARALLEL_FOR}
        if not self._makes_large_arrays():
            PROCESS.write(address, "large", np.iinfo(np.int64).max)
            services.remove("large_array")
        for name in services:
            PROCESS.write(address, name, self.address(f"phintys_{name}"))

    def address(self, symbol: str) -> int:
        """Return the address of a function."""
        return self._code.address(symbol)

    def _function(self, symbol: str) -> Callable[[], None]:
        return ctypes.CFUNCTYPE(None)(self.address(symbol))

    def publish(self) -> None:
        """Let all threads see what was written to memory before what is written next."""
        self._function("phintys_publish")()

    def after_fork(self) -> None:
        """Reset the state in a forked process: no lock is held."""
        BLOCKS.write(self._blocks, "lock", 0)

    # ---- memory

    def limit_memory(self) -> None:
        """Apply the configured limit on the memory kept for later calls."""
        limit = config.pool_megabytes << 20
        if BLOCKS.read(self._blocks, "limit") != limit:
            BLOCKS.write(self._blocks, "limit", limit)
            if self.kept_bytes > limit:
                self.trim()

    def _numpy_handler(self) -> Any:
        """Return NumPy's handler for the memory of large arrays."""
        addresses = {
            name: self.address(f"phintys_numpy_{name}")
            for name in ("malloc", "calloc", "realloc", "free")
        }
        handler = immortal(NumPyHandler(name=b"phintys", version=1, **addresses))
        make = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
        )(("PyCapsule_New", ctypes.pythonapi))
        return immortal(make(ctypes.addressof(handler), b"mem_handler", None))

    def _makes_large_arrays(self) -> bool:
        """Create a large array and check it against NumPy's rules; disable them on a failure."""
        record = (ctypes.c_int64 * 3)(id(_FLOAT64), 1, 8)
        lengths = (ctypes.c_int64 * 1)(LARGE_RESULT_BYTES // 8)
        pointer = ctypes.c_void_p
        make = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, pointer, pointer, ctypes.c_int64)(
            self.address("phintys_large_array")
        )
        context, call = (np.zeros(one.size // 8, np.int64) for one in (CONTEXT, CALL))
        CONTEXT.write(context.ctypes.data, "process", self.process.ctypes.data)
        CALL.write(call.ctypes.data, "context", context.ctypes.data)
        places = map(ctypes.addressof, (record, lengths))
        array = make(call.ctypes.data, *places, LARGE_RESULT_BYTES)
        array[:] = 1.0
        is_sound = (
            type(array) is np.ndarray
            and array.dtype is _FLOAT64
            and array.shape == (LARGE_RESULT_BYTES // 8,)
            and array.base is None
            and array.flags.carray
            and array.flags.owndata
            and get_handler_name(array) == "phintys"
            and array.sum() == LARGE_RESULT_BYTES // 8
        )
        kept = self.kept_bytes
        del array
        return is_sound and self.kept_bytes > kept

    @property
    def kept_bytes(self) -> int:
        """Bytes of memory kept for later calls."""
        return BLOCKS.read(self._blocks, "kept")

    def trim(self) -> None:
        """Return all memory kept for later calls to the system."""
        self._function("phintys_trim")()


class _Threads:
    """The thread pool, which only long work needs."""

    def __init__(self, services: _Services, process: int, poll: int) -> None:
        module = Module(Target.host())
        emit_threads(module)
        emit_parallel_for(module)
        work = {"phintys_work": services.address("phintys_work")}
        self._code = immortal(load(module, work, _QUICK))
        self._pool = self._code.data_address("phintys_threads")
        if has_pool():
            self._function("phintys_pool_reset")()
            POOL.write(self._pool, "patience", WAITING_SPINS)
            POOL.write(self._pool, "wanted", min(MOST_WORKERS, usable_cores() - 1))
            atexit.register(self._function("phintys_pool_stop"))
        POOL.write(self._pool, "poll", poll)
        services.publish()
        PROCESS.write(process, _PARALLEL_FOR, self._code.address(f"phintys_{_PARALLEL_FOR}"))

    def _function(self, symbol: str) -> Callable[[], None]:
        return ctypes.CFUNCTYPE(None)(self._code.address(symbol))

    def after_fork(self) -> None:
        """Reset the state in a forked process: there are no workers, and no lock is held."""
        if has_pool():
            self._function("phintys_pool_reset")()

    @property
    def workers(self) -> int:
        """Number of workers that were started."""
        return POOL.read(self._pool, "workers")


def _main_thread() -> int:
    """Return the identifier of the thread that handles signals."""
    return threading.main_thread().ident or 0


@Once
def support() -> Support | Unsupported:
    """Return the support, or the reason why it is not available here."""
    try:
        return Support(c_api())
    except Unsupported as reason:
        return reason


def trim() -> None:
    """Return memory kept for later calls to the system."""
    found = support()
    if isinstance(found, Support):
        found.trim()


def free_memory() -> int:
    """Return memory kept for later calls to the operating system.

    Large results and intermediate arrays are allocated from a pool of the process, which keeps up
    to ``config.pool_megabytes`` for reuse, even after functions have been deleted.

    Returns
    -------
    int
        Number of bytes returned.

    Examples
    --------
    >>> import numpy as np, phintys, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> result = phintys.function([x], x + 1)(np.zeros(1_000_000))
    >>> del result
    >>> phintys.free_memory() >= 8_000_000
    True
    """
    found = support() if support.is_known else None
    if not isinstance(found, Support):
        return 0
    kept = found.kept_bytes
    found.trim()
    return kept
