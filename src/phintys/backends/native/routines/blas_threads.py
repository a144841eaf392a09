"""How many threads BLAS uses: one, while code of ours calls it that shares its work itself."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from phintys.backends.native.assembler.atomics import call_pointer, unlock, wait_lock
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import when
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value

if TYPE_CHECKING:
    from collections.abc import Generator

BLAS_THREADS_SYMBOL = "phintys_blas_threads"

BLAS_THREADS = Record.packed(
    is_ours=INT64,  # 0: the library's threads cannot be set from outside
    get=PTR,  # int get() returns how many threads the library uses
    set=PTR,  # void set(int); null if it has only one
    lock=INT32,  # 1 while a thread accesses the next two
    users=INT32,  # how many products are being computed
    former=INT32,  # threads before the first of them
)
"""The threads of BLAS in this process, in memory under the symbol above."""


def threads_of_blas(b: Builder) -> Value:
    """Return the address of the record :data:`BLAS_THREADS` of the process."""
    b.module.declare(BLAS_THREADS_SYMBOL, f"void @{BLAS_THREADS_SYMBOL}()")
    return b.write(PTR, f"getelementptr i8, ptr @{BLAS_THREADS_SYMBOL}, i64 0")


@contextmanager
def _setting(b: Builder, threads: Value) -> Generator[Value]:
    """Write code that runs under the lock, if the library has a setter of its threads; yield it."""
    lock, free = BLAS_THREADS.pointer(b, threads, "lock"), b.constant(INT32, 0)
    setter = BLAS_THREADS.load(b, threads, "set")
    with when(b, b.compare("ne", setter, Value(b, PTR, "null"))):
        wait_lock(b, lock, free, b.constant(INT32, 1))
        yield setter
        unlock(b, lock, free)


def begin_alone(b: Builder, threads: Value) -> None:
    """Make BLAS use one thread until all current products are done."""
    with _setting(b, threads) as setter:
        users = BLAS_THREADS.load(b, threads, "users")
        with when(b, b.eq(users, 0)):
            former = call_pointer(b, BLAS_THREADS.load(b, threads, "get"), INT32, [])
            BLAS_THREADS.store(b, threads, "former", former)
        BLAS_THREADS.store(b, threads, "users", users + 1)
        with when(b, b.eq(users, 0) & b.ne(BLAS_THREADS.load(b, threads, "former"), 1)):
            call_pointer(b, setter, VOID, [b.constant(INT32, 1)])


def end_alone(b: Builder, threads: Value) -> None:
    """Restore the threads of BLAS, unless other code has changed their number meanwhile."""
    with _setting(b, threads) as setter:
        left = BLAS_THREADS.load(b, threads, "users") - 1
        former = BLAS_THREADS.load(b, threads, "former")
        with when(b, b.eq(left, 0) & b.ne(former, 1)):
            now = call_pointer(b, BLAS_THREADS.load(b, threads, "get"), INT32, [])
            with when(b, b.eq(now, 1)):
                call_pointer(b, setter, VOID, [former])
        BLAS_THREADS.store(b, threads, "users", left)


@contextmanager
def one_thread(b: Builder) -> Generator[None]:
    """Write code during which BLAS uses one thread."""
    threads = threads_of_blas(b)
    begin_alone(b, threads)
    yield
    end_alone(b, threads)
