"""What the C library of this system has for native code: a clock, threads, advice about memory.

docs/platforms.md says what takes the place of what it lacks.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.types import INT32, INT64

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module

# The clock of time.perf_counter: CLOCK_MONOTONIC, and CLOCK_UPTIME_RAW on macOS.
_CLOCK = 8 if sys.platform == "darwin" else 1
_BILLION = 1_000_000_000


def has_clock() -> bool:
    """Return whether native code can read a clock: where C has ``clock_gettime``."""
    return sys.platform != "win32"


def has_pool() -> bool:
    """Return whether native code can have threads of its own: where C has ``pthread_create``."""
    return sys.platform != "win32"


def has_huge_pages() -> bool:
    """Return whether the kernel takes advice about huge pages: ``madvise`` of Linux."""
    return sys.platform == "linux"


def write_clock(module: Module) -> None:
    """``i64 clock()``: nanoseconds. Needs :func:`has_clock`."""
    b = Builder(module.function("clock", INT64, [], linkage="internal"))
    time = b.slot(INT64, 2)
    b.call("clock_gettime", INT32, [b.constant(INT32, _CLOCK), time])
    seconds = b.load(INT64, time)
    nanoseconds = b.load(INT64, b.offset(time, 1, INT64))
    b.ret(seconds * _BILLION + nanoseconds)
