"""From a whole graph to a Program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.base import is_copy
from phintys.backends.native.fuse import fuse
from phintys.backends.native.lower.creation import lower_copy
from phintys.backends.native.lower.lowering import Lowering, NotLowered, lower
from phintys.backends.native.lower.pruning import prune
from phintys.backends.native.lower.view import View
from phintys.backends.native.program import Array, Place, Program, Value
from phintys.backends.reference.vm import execution_order
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["lower_program"]


def lower_program(fgraph: FunctionGraph) -> Program:
    """Return a graph as a Program, its statements fused to kernels.

    Parameters
    ----------
    fgraph
        The graph. Each of its inputs is an argument of the program; its outputs are the results.

    Returns
    -------
    Program
        A result that is an array has memory of its own, which nothing else of the program uses
        afterwards, unless the output is an input, a constant, or made by an Op's Python code.
    """
    lowering = _lowered(fgraph)
    results = [_result(variable, lowering) for variable in fgraph.outputs]
    kept = {value.memory for value in results if isinstance(value, Array)}
    steps = fuse(prune(lowering.steps, kept), lowering.sizes, kept)
    return Program(lowering.arguments, results, steps, lowering.sizes)


def _lowered(fgraph: FunctionGraph) -> Lowering:
    """Lower all nodes, in an order in which every value is read before it is overwritten."""
    lowering = Lowering()
    for variable in fgraph.inputs:
        lowering.arguments.append(lowering.foreign(variable, Place.ARGUMENT))
    for node in execution_order(fgraph):
        try:
            if is_copy(node.op):
                lower_copy(node, lowering)
            else:
                lower(node.op, node, lowering)
        except NotLowered as reason:
            lowering.callback(node, str(reason))
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
