"""The native backend: a whole graph as one native function."""

from __future__ import annotations

import warnings
from functools import cache
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING

from phintys._base.records import record
from phintys.backends.base import register_backend
from phintys.backends.native.emit.clock import has_clock
from phintys.backends.native.emit.frame import emit_program
from phintys.backends.native.emit.target import Target
from phintys.backends.native.lower import lower_program
from phintys.backends.native.measuring import NativeMeasurements
from phintys.backends.native.runtime.background import Background
from phintys.backends.native.runtime.capi import Unsupported
from phintys.backends.native.runtime.engine import check_runs_here
from phintys.backends.native.runtime.function import NativeProgram
from phintys.backends.native.runtime.support import support
from phintys.backends.reference.backend import ReferenceBackend

if TYPE_CHECKING:
    from phintys.backends.base import Program as Linked
    from phintys.backends.measurements import Profiler
    from phintys.backends.native.runtime.support import Support
    from phintys.graph.fgraph import FunctionGraph

__all__ = ["NativeBackend"]


@record(frozen=True)
class NativeBackend:
    """Compile graphs to machine code.

    Where that is not possible at all (no llvmlite, another interpreter than CPython), the reference
    backend runs the graphs, and one warning says so.

    Examples
    --------
    >>> from phintys.backends.native.backend import NativeBackend
    >>> NativeBackend().name
    'native'
    """

    @property
    def name(self) -> str:
        """Return ``"native"``."""
        return "native"

    def link(self, fgraph: FunctionGraph, *, profiler: Profiler | None = None) -> Linked:
        """Return the native program of a graph.

        A program that is profiled measures its steps. Where native code cannot read a clock the
        reference backend runs the graph for the profile.
        """
        if not support.is_known:
            Background(support)  # LLVM is loaded while this thread lowers the graph
        elif _problem():
            return ReferenceBackend().link(fgraph, profiler=profiler)
        program = lower_program(fgraph) if profiler is None else None
        if _problem() or (profiler is not None and not has_clock()):
            return ReferenceBackend().link(fgraph, profiler=profiler)
        found = support()
        assert not isinstance(found, Unsupported)
        target = Target.configured()
        check_runs_here(target)
        if profiler is not None:
            return _profiled(fgraph, target, found, profiler)
        assert program is not None
        emitted = emit_program(program, target)
        return NativeProgram.compiled(fgraph, program, emitted, found)


def _profiled(
    fgraph: FunctionGraph, target: Target, found: Support, profiler: Profiler
) -> NativeProgram:
    """Return a program that measures itself, and tell the profiler how long its stages took."""
    times = [perf_counter()]
    program = lower_program(fgraph, keep_shapes=True)
    times.append(perf_counter())
    emitted = emit_program(program, target, timed=True)
    times.append(perf_counter())
    linked = NativeProgram.compiled(fgraph, program, emitted, found)
    times.append(perf_counter())
    for stage, (begin, end) in zip(("lower", "emit", "LLVM"), pairwise(times), strict=True):
        profiler.compiled(stage, end - begin)
    assert emitted.clock is not None
    profiler.watch(NativeMeasurements(program, emitted.clock, emitted.memory))
    return linked


@cache
def _problem() -> str:
    """Return why nothing can be compiled here, after a warning; ``""`` if it can."""
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


register_backend("native", NativeBackend())
