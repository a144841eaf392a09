"""FunctionMaker: everything that a compiled function was made from, and linking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phintys._base.origin import UNKNOWN
from phintys._base.records import record
from phintys.graph.fgraph import FunctionGraph

if TYPE_CHECKING:
    from phintys._base.origin import Origin
    from phintys.backends.base import LinkedProgram
    from phintys.backends.measurements import Profiler
    from phintys.compile.io import In, Out
    from phintys.compile.mode import Mode
    from phintys.compile.nested import Nests
    from phintys.compile.profile import Profile
    from phintys.rewriting import RewriteTrace


def link_outputs(
    fgraph: FunctionGraph, chosen: Sequence[int], mode: Mode, profiler: Profiler | None
) -> LinkedProgram:
    """Return a program that computes some of a graph's outputs."""
    outputs = [fgraph.outputs[index] for index in chosen]
    updated = {
        place: fgraph.update_mapping[index]
        for place, index in enumerate(chosen)
        if index in fgraph.update_mapping
    }
    part = FunctionGraph(fgraph.inputs, outputs, clone=True, update_mapping=updated)
    return mode.backend.link(part, profiler=profiler)


@record(frozen=True, eq=False)
class FunctionMaker:
    """The graph, inputs, outputs and mode of a compiled function.

    Attributes
    ----------
    fgraph : FunctionGraph
        The graph after all rewrites. Its inputs are in the order of ``inputs``; its outputs are the
        returned ones, followed by the new values of ``updated``.
    inputs : list of In
        Explicit inputs first, then implicit ones, including shared variables.
    outputs : list of Out
        The returned outputs.
    updated : list of int
        For each update, the index of the input that it updates.
    mode : Mode
        The mode with which the function was compiled.
    name : str or None
        The function's name.
    profile : Profile or None
        The profile in which times are accumulated.
    keys : list of str or None
        Keys of the returned dict.
    unpack : str
        The form of the result: ``"one"``, ``"list"``, ``"dict"`` or ``"none"``.
    nests : Nests or None
        The forms of arguments and results, if some are nests: inputs and outputs are the values in
        them.
    trace : RewriteTrace or None
        The trace of the rewrites, if the mode is tracing.
    origin : Origin
        The line of the user's program that compiled it.
    """

    fgraph: FunctionGraph
    inputs: list[In]
    outputs: list[Out]
    updated: list[int]
    mode: Mode
    name: str | None = None
    profile: Profile | None = None
    keys: list[str] | None = None
    unpack: str = "list"
    nests: Nests | None = None
    trace: RewriteTrace | None = None
    origin: Origin = UNKNOWN

    @property
    def function_name(self) -> str:
        """The function's name, like ``name`` but never ``None``."""
        return self.name or "function"
