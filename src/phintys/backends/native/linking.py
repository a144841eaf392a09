"""Linking a graph to a native program, or to the reference backend if that is not possible."""

from __future__ import annotations

import warnings
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING

from phintys._base.caches import Once
from phintys._base.late import LateModule
from phintys.backends.native.assembler.system import has_clock
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.lower import lower_program
from phintys.backends.native.runtime.capi import Unsupported
from phintys.backends.native.runtime.engine import check_runs_here
from phintys.backends.native.runtime.function import NativeProgram
from phintys.backends.native.runtime.support import Support, support
from phintys.backends.native.writer.programs import emit_program

if TYPE_CHECKING:
    from phintys.backends.base import LinkedProgram
    from phintys.backends.measurements import Profiler
    from phintys.backends.native import measuring
    from phintys.backends.reference import backend as reference
    from phintys.graph.fgraph import FunctionGraph
else:
    measuring = LateModule("phintys.backends.native.measuring")
    reference = LateModule("phintys.backends.reference.backend")


def link(fgraph: FunctionGraph, profiler: Profiler | None = None) -> LinkedProgram:
    """Return the program of a graph.

    Parameters
    ----------
    fgraph
        The graph.
    profiler
        Receives the measurements of the program at each call. If native code cannot read a clock,
        the reference backend runs the graph for the profile.
    """
    # LLVM may still be loading while the graph is lowered.
    if support.is_known and _problem():
        return reference.ReferenceBackend().link(fgraph, profiler=profiler)
    program = lower_program(fgraph) if profiler is None else None
    if _problem() or (profiler is not None and not has_clock()):
        return reference.ReferenceBackend().link(fgraph, profiler=profiler)
    found = support()
    assert not isinstance(found, Unsupported)
    target = Target.configured()
    check_runs_here(target)
    if profiler is not None:
        return _profiled(fgraph, target, found, profiler)
    assert program is not None
    emitted = emit_program(program, target)
    return NativeProgram.compiled(fgraph, program, emitted, found, link)


def _profiled(
    fgraph: FunctionGraph, target: Target, found: Support, profiler: Profiler
) -> NativeProgram:
    """Return a program that measures itself, and report the times of its stages to the profiler."""
    times = [perf_counter()]
    program = lower_program(fgraph, keep_shapes=True)
    times.append(perf_counter())
    emitted = emit_program(program, target, timed=True)
    times.append(perf_counter())
    linked = NativeProgram.compiled(fgraph, program, emitted, found, link)
    times.append(perf_counter())
    for stage, (begin, end) in zip(("lower", "emit", "LLVM"), pairwise(times), strict=True):
        profiler.compiled(stage, end - begin)
    assert emitted.clock is not None
    profiler.watch(measuring.NativeMeasurements(program, emitted.clock, emitted.memory))
    return linked


@Once
def _problem() -> str:
    """Return why nothing can be compiled here, after a warning; ``""`` if compiling works."""
    try:
        found = support()
    except ImportError as error:
        problem = f"llvmlite cannot be imported ({error})"
    else:
        problem = str(found) if isinstance(found, Unsupported) else ""
    if problem:
        warnings.warn(
            f"Functions are not compiled to native code: {problem}. The reference backend runs "
            "them, which gives the same results more slowly.",
            RuntimeWarning,
            stacklevel=2,
        )
    return problem
