"""What takes the place of the pool and of signals in programs that run on one thread alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.assembler.atomics import call_pointer
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module


def write_one_thread(module: Module, suffix: str = "") -> None:
    """Write ``phintys_parallel_for``, ``phintys_poll`` and ``phintys_work``.

    Parameters
    ----------
    module
        Where to write them.
    suffix
        What their names end with.
    """
    Builder(module.function(f"phintys_work{suffix}", VOID, [PTR, INT64])).ret()
    b = Builder(module.function(f"phintys_poll{suffix}", INT32, [PTR]))
    b.ret(b.constant(INT32, 0))
    parameters = [PTR, PTR, PTR, INT64, INT64]
    b = Builder(module.function(f"phintys_parallel_for{suffix}", INT32, parameters))
    _, kernel, arguments, count, grain = b.arguments
    # A negative grain is the exact length of the ranges.
    step = b.select(grain < 0, b.constant(INT64, 0) - grain, b.maximum_number(count, 1))
    with loop(b, 0, count, step) as each:
        stop = b.minimum_number(each.index + step, count)
        call_pointer(b, kernel, VOID, [arguments, each.index, stop])
    b.ret(b.constant(INT32, 0))
