"""The native backend: a whole graph as one native function."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from phintys.backends.base import register_backend
from phintys.backends.native.emit.frame import emit_program
from phintys.backends.native.emit.target import Target
from phintys.backends.native.fuse import fuse
from phintys.backends.native.lower import elemwise as _elemwise  # noqa: F401 - registers rules
from phintys.backends.native.lower import reduce as _reduce  # noqa: F401
from phintys.backends.native.lower import shape as _shape  # noqa: F401
from phintys.backends.native.lower.lowering import Lowering, lower_graph
from phintys.backends.native.lower.view import View
from phintys.backends.native.program import Array, Place, Program, Value
from phintys.backends.native.runtime.capi import Unsupported
from phintys.backends.native.runtime.function import NativeProgram
from phintys.backends.native.runtime.support import support
from phintys.backends.reference.backend import ReferenceBackend
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.backends.base import NodeTimer
    from phintys.backends.base import Program as Linked
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["NativeBackend", "build_program"]


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
        program = build_program(fgraph)
        emitted = emit_program(program, Target.configured())
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


def build_program(fgraph: FunctionGraph) -> Program:
    """Return a graph as a Program, its statements fused to kernels."""
    lowering = lower_graph(fgraph)
    results = [_result(variable, lowering) for variable in fgraph.outputs]
    kept = {value.memory for value in results if isinstance(value, Array)}
    steps = fuse(lowering.steps, lowering.sizes, kept)
    return Program(lowering.arguments, results, steps, lowering.sizes)


def _result(variable: Variable, lowering: Lowering) -> Value:
    """Return what holds the value of an output: an array that leaves, or what is handed on."""
    if not isinstance(variable.type, TensorType):
        return lowering.value(variable)
    view: View = lowering.view(variable)
    array: Any = view.array
    if view.is_whole() and array.alias is None:
        if array.place == Place.BUFFER:
            array.place = Place.RESULT
        return array
    loops = lowering.loops(view.sizes)
    target = lowering.array(array.dtype, view.sizes, Place.RESULT, variable)
    lowering.store(View.of(target, lowering.sizes), view.load(loops), loops)
    return target


register_backend("native", NativeBackend())
