"""The clock of the machine, for native code."""

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


def write_clock(module: Module) -> None:
    """``i64 clock()``: nanoseconds. Needs :func:`.system.has_clock`."""
    b = Builder(module.function("clock", INT64, [], linkage="internal"))
    time = b.slot(INT64, 2)
    b.call("clock_gettime", INT32, [b.constant(INT32, _CLOCK), time])
    seconds = b.load(INT64, time)
    nanoseconds = b.load(INT64, b.offset(time, 1, INT64))
    b.ret(seconds * _BILLION + nanoseconds)
