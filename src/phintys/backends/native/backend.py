"""The native backend compiles a whole graph to one native function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.backends.base import LinkedProgram, register_backend
from phintys.backends.native.assembler.llvm_library import llvm
from phintys.backends.native.runtime.background import Background

if TYPE_CHECKING:
    from phintys.backends.measurements import Profiler
    from phintys.backends.native import linking
    from phintys.backends.native.c_code import thunks
    from phintys.backends.native.runtime import support
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
else:
    thunks = LateModule("phintys.backends.native.c_code.thunks")
    linking = LateModule("phintys.backends.native.linking")
    support = LateModule("phintys.backends.native.runtime.support")


@record(frozen=True)
class NativeBackend:
    """Compile graphs to machine code.

    Where that is not possible (without llvmlite, or on an interpreter other than CPython), the
    reference backend runs the graphs, after one warning.

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

    def link(self, fgraph: FunctionGraph, *, profiler: Profiler | None = None) -> LinkedProgram:
        """Return the native program of a graph.

        A profiled program measures its steps. If native code cannot read a clock, the reference
        backend runs the graph for the profile.
        """
        if not llvm.is_known:
            # LLVM is loaded and compiles the support code while Python imports the remaining
            # modules.
            Background(llvm)
            Background(support.support)
        return linking.link(fgraph, profiler)

    def perform_of(self, node: Apply) -> Callable[..., Any]:
        """Return ``perform`` of an Op that has C code; if it has no other, that code."""
        return thunks.perform_of(node)


register_backend("native", NativeBackend())
