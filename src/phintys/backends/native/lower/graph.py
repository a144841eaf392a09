"""Lowering of a whole graph to a Program."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from phintys.backends.native.dependence import arrays_read
from phintys.backends.native.kernels.fusion import fuse
from phintys.backends.native.lower.deferred_updates import updates_last
from phintys.backends.native.lower.lowering import Lowering
from phintys.backends.native.lower.nodes import lower_nodes
from phintys.backends.native.lower.overwriting import handed_on
from phintys.backends.native.lower.reshaped_products import make_reshaped_products_results
from phintys.backends.native.lower.steps_of_commit import commit_last
from phintys.backends.native.lower.values_in_memory import is_separate
from phintys.backends.native.lower.view import View
from phintys.backends.native.program import Program
from phintys.backends.native.values import Array, Place, Value
from phintys.graph.alias_map import memory_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


def lower_program(
    fgraph: FunctionGraph, *, keep_shapes: bool = False, is_exported: bool = False
) -> Program:
    """Return a graph as a Program, with its statements fused to kernels.

    Parameters
    ----------
    fgraph
        The graph. Each of its inputs is an argument of the program; its outputs are the results.
    keep_shapes
        Whether the program records the sizes of all tensors of the graph.
    is_exported
        Whether it will run where there is no Python.

    Returns
    -------
    Program
        An array that is a result has its own memory, which the rest of the program does not use
        afterwards, unless the output is an input, a constant, or made by an Op's Python code.
    """
    lowering = _lowered(fgraph, is_exported=is_exported)
    leaving: dict[Value, list[Variable]] = {}
    make_reshaped_products_results(fgraph, lowering)
    updated = {output: fgraph.inputs[at] for output, at in fgraph.update_mapping.items()}
    results = [
        _result(variable, lowering, leaving, updated.get(output))
        for output, variable in enumerate(fgraph.outputs)
    ]
    returned = {value.memory for value in results if isinstance(value, Array)}
    before, commit = commit_last(lowering, returned)
    kept = returned.union(array for step in commit for array in arrays_read(step))
    sizes, values = lowering.sizes, lowering.bases.values
    updates = _updates(fgraph, results, lowering)
    steps, last = updates_last(fuse(before, sizes, kept), commit, updates, results, sizes, values)
    shapes = lowering.shapes() if keep_shapes else {}
    return Program(lowering.arguments, results, [*steps, *last], sizes, shapes)


def _updates(
    fgraph: FunctionGraph, results: Sequence[Value], lowering: Lowering
) -> dict[Array, Array]:
    """Return the new values of shared variables that have their own memory, with the old ones."""
    found: dict[Array, Array] = {}
    kept = handed_on(fgraph)
    for output, position in fgraph.update_mapping.items():
        if fgraph.inputs[position] in kept:
            continue
        new, old = results[output], lowering.arguments[position]
        if isinstance(new, Array) and isinstance(old, Array) and new not in lowering.bases.claimed:
            found[new] = old
    return found


def _lowered(fgraph: FunctionGraph, *, is_exported: bool) -> Lowering:
    """Lower all nodes, in an order in which every value is read before it is overwritten."""
    lowering = Lowering(is_exported=is_exported)
    for variable in fgraph.inputs:
        lowering.arguments.append(lowering.foreign(variable, Place.ARGUMENT))
    lowering.bases.look_at(fgraph)
    lower_nodes(fgraph, lowering)
    return lowering


def _result(
    variable: Variable,
    lowering: Lowering,
    leaving: dict[Value, list[Variable]],
    updated: Variable | None,
) -> Value:
    """Return the value of an output: an array that is returned, or a value passed through.

    An argument, a constant or another result is passed through only if the graph says that the
    output may share its memory, that is, if the caller who compiled the graph has allowed it.
    Memory that just happens to hold the same value is copied.

    Parameters
    ----------
    variable
        The output.
    lowering
        The state of lowering.
    leaving
        Maps the memory of results to the outputs that it holds.
    updated
        The shared variable whose next value it is, if it is one: that alone may be in the memory of
        the former value, which is there for the commit only.
    """
    if not variable.type.holds_arrays:
        return lowering.value(variable)
    view = lowering.view(variable)
    array = view.array
    is_own = array.place in {Place.BUFFER, Place.RESULT}
    is_handed_on = is_own or array.variable is not None
    claimed = lowering.bases.claimed_from.get(array)
    if claimed is not None and memory_of(variable).keys().isdisjoint(memory_of(claimed)):
        is_handed_on = False
    writer = lowering.bases.claimed.get(array)
    if writer is not None and lowering.bases.chained[writer] is not updated:
        is_handed_on = False
    if is_handed_on and view.is_whole(lowering.sizes) and array.alias is None:
        memory = lowering.bases.values.memory_of(array)
        others = [other for one in memory for other in leaving.get(one, ())]
        if not is_own:
            others.append(cast("Variable", array.variable))
        if not is_separate(variable, others):
            for one in memory:
                leaving.setdefault(one, []).append(variable)
            if array.place == Place.BUFFER:
                array.place = Place.RESULT
            return array
    loops = lowering.loops(view.sizes)
    target = lowering.array(array.dtype, view.sizes, Place.RESULT, variable)
    lowering.store(View.of(target, lowering.sizes), lowering.load(view, loops), loops)
    return target
