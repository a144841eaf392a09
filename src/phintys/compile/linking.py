"""Linking of a rewritten graph into a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phintys.graph.fgraph import FunctionGraph

if TYPE_CHECKING:
    from phintys.backends.base import LinkedProgram
    from phintys.backends.measurements import Profiler
    from phintys.compile.mode import Mode


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
