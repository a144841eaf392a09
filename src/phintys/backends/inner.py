"""Programs of inner graphs, for the Python code of the Ops that have one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from phintys.backends.base import LinkedProgram, copy_value, get_backend
from phintys.graph.alias_map import root_of
from phintys.graph.inner import HasInnerGraph
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from phintys.backends.measurements import Measurements, Profiler
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph


class InnerPrograms:
    """The programs of the inner graphs of some nodes, each linked once.

    Parameters
    ----------
    link
        Returns the program for the inner graph of a node, in the backend that runs the node.
    """

    def __init__(self, link: Callable[[Apply, HasInnerGraph], LinkedProgram]) -> None:
        self._link = link
        self._programs: dict[Apply, LinkedProgram] = {}

    def of(self, node: Apply) -> LinkedProgram | None:
        """Return the program for the inner graph of a node.

        ``None`` if its Op has none, or runs it by its own means.
        """
        op = node.op
        if not isinstance(op, HasInnerGraph) or _performs_itself(op):
            return None
        program = self._programs.get(node)
        if program is None:
            # Threads that request it at the same time get the same program.
            program = self._programs.setdefault(node, self._link(node, op))
        return program

    def perform_of(self, node: Apply) -> Callable[..., Any]:
        """Return ``node.op.perform``, with the program of its inner graph if it has one."""
        program = self.of(node)
        if program is None:
            return perform_of(node)
        op: Any = node.op
        return partial(op.perform_with, keeping_constants(program, op.fgraph))

    def free(self) -> None:
        """Release the memory that the programs keep for the next call."""
        for program in self._programs.values():
            program.free()


def may_have_c_code(node: Apply) -> bool:
    """Return whether an Op, or the scalar op that it applies, may define C code."""
    op = node.op
    return hasattr(op, "c_code") or hasattr(getattr(op, "scalar_op", None), "c_code")


def perform_of(node: Apply) -> Callable[..., Any]:
    """Return ``node.op.perform``, or what runs the C code of an Op that has nothing else."""
    if not may_have_c_code(node):
        return node.op.perform
    native: Any = get_backend("native")
    return native.perform_of(node)


def keeping_constants(program: LinkedProgram, fgraph: FunctionGraph) -> Callable[..., list[Any]]:
    """Return a program whose results share no memory with the constants of its graph.

    That an output shares memory with an input is found when the node is run, by comparing them.

    Parameters
    ----------
    program
        The program.
    fgraph
        Its graph.
    """
    constant = [
        position
        for position, output in enumerate(fgraph.outputs)
        if any(isinstance(root, Constant) for root in root_of(output))
    ]
    if not constant:
        return program

    def keeping(inputs: Sequence[Any]) -> list[Any]:
        results = program(inputs)
        for position in constant:
            results[position] = copy_value(results[position])
        return results

    return keeping


def _performs_itself(op: Any) -> bool:
    return "perform" in op.__dict__ or type(op).perform is not HasInnerGraph.perform


class WithinNode:
    """The profiler of a program for the inner graph of a node.

    Parameters
    ----------
    profiler
        The profiler of the program that runs the node.
    node
        The node.
    """

    def __init__(self, profiler: Profiler, node: Apply) -> None:
        self._profiler = profiler
        self._node = node

    def watch(self, measurements: Measurements) -> None:
        """Register the measurements of the inner program."""
        self._profiler.watch_inner(self._node, measurements)

    def watch_inner(self, node: Apply, measurements: Measurements) -> None:
        """Register the measurements of a program inside the inner program."""
        self._profiler.watch_inner(node, measurements)

    def compiled(self, stage: str, seconds: float) -> None:
        """Record how long a stage of compilation took."""
        self._profiler.compiled(stage, seconds)
