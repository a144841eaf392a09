"""The native backend: a whole graph as one native function."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from phintys.backends.base import register_backend
from phintys.backends.native.emit.frame import emit_program
from phintys.backends.native.emit.target import Target
from phintys.backends.native.lower import lower_program
from phintys.backends.native.runtime.capi import Unsupported
from phintys.backends.native.runtime.engine import check_runs_here
from phintys.backends.native.runtime.function import NativeProgram
from phintys.backends.native.runtime.support import support
from phintys.backends.reference.backend import ReferenceBackend

if TYPE_CHECKING:
    from phintys.backends.base import NodeTimer
    from phintys.backends.base import Program as Linked
    from phintys.graph.fgraph import FunctionGraph

__all__ = ["NativeBackend"]


@dataclass(frozen=True)
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

    def link(self, fgraph: FunctionGraph, *, timer: NodeTimer | None = None) -> Linked:
        """Return the native program of a graph.

        A profile asks for the time of each node, which native code does not have: then the
        reference backend runs the graph.
        """
        problem = _problem()
        if problem or timer is not None:
            return ReferenceBackend().link(fgraph, timer=timer)
        found = support()
        assert not isinstance(found, Unsupported)
        target = Target.configured()
        check_runs_here(target)
        program = lower_program(fgraph)
        emitted = emit_program(program, target)
        return NativeProgram(fgraph, program, emitted, found)


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
