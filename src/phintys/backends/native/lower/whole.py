"""From a whole graph to a Program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.dependence import arrays_read
from phintys.backends.native.fuse import fuse
from phintys.backends.native.lower.bases import handed_on
from phintys.backends.native.lower.ending import updates_last
from phintys.backends.native.lower.lowering import Lowering
from phintys.backends.native.lower.nodes import lower_nodes
from phintys.backends.native.lower.pruning import prune
from phintys.backends.native.lower.view import View
from phintys.backends.native.program import Array, Claim, Place, Program, Value
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["lower_program"]


def lower_program(fgraph: FunctionGraph, *, keep_shapes: bool = False) -> Program:
    """Return a graph as a Program, its statements fused to kernels.

    Parameters
    ----------
    fgraph
        The graph. Each of its inputs is an argument of the program; its outputs are the results.
    keep_shapes
        Whether the program tells the sizes of all tensors of the graph.

    Returns
    -------
    Program
        A result that is an array has memory of its own, which nothing else of the program uses
        afterwards, unless the output is an input, a constant, or made by an Op's Python code.
    """
    lowering = _lowered(fgraph)
    results = [_result(variable, lowering) for variable in fgraph.outputs]
    kept = {value.memory for value in results if isinstance(value, Array)}
    ending = sorted(lowering.ending, key=lambda step: not isinstance(step, Claim))
    kept.update(array for step in ending for array in arrays_read(step))
    sizes = lowering.sizes
    steps, last = updates_last(
        fuse(prune(lowering.steps, kept), sizes, kept),
        fuse(ending, sizes, kept),
        _updates(fgraph, results, lowering),
        results,
        sizes,
    )
    shapes = lowering.shapes() if keep_shapes else {}
    return Program(lowering.arguments, results, [*steps, *last], sizes, shapes)


def _updates(
    fgraph: FunctionGraph, results: Sequence[Value], lowering: Lowering
) -> dict[Array, Array]:
    """Return the new values of shared ones that have memory of their own, with the old ones."""
    found: dict[Array, Array] = {}
    kept = handed_on(fgraph)
    for output, position in fgraph.update_mapping.items():
        if fgraph.inputs[position] in kept:
            continue
        new, old = results[output], lowering.arguments[position]
        if isinstance(new, Array) and isinstance(old, Array) and new not in lowering.bases.claimed:
            found[new] = old
    return found


def _lowered(fgraph: FunctionGraph) -> Lowering:
    """Lower all nodes, in an order in which every value is read before it is overwritten."""
    lowering = Lowering()
    for variable in fgraph.inputs:
        lowering.arguments.append(lowering.foreign(variable, Place.ARGUMENT))
    lowering.bases.look_at(fgraph)
    lower_nodes(fgraph, lowering)
    return lowering


def _result(variable: Variable, lowering: Lowering) -> Value:
    """Return what holds the value of an output: an array that leaves, or what is handed on."""
    if not isinstance(variable.type, TensorType):
        return lowering.value(variable)
    view = lowering.view(variable)
    array = view.array
    if view.is_whole(lowering.sizes) and array.alias is None:
        if array.place == Place.BUFFER:
            array.place = Place.RESULT
        return array
    loops = lowering.loops(view.sizes)
    target = lowering.array(array.dtype, view.sizes, Place.RESULT, variable)
    lowering.store(View.of(target, lowering.sizes), lowering.load(view, loops), loops)
    return target
