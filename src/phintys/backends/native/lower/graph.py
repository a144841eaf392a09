"""Lowering of graphs: of the nodes of one in order, and of a whole one to a Program.

A product of stacks with a matrix is one large product, which is then reshaped. Its memory would be
that of the arena, with the wrong sizes for a result, and be copied. But a routine that is passed an
address and strides does not depend on the sizes of its output: it writes to the memory that is
returned.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, cast

from phintys.backends.native.dependence import arrays_read, arrays_written
from phintys.backends.native.kernels.fusion import fuse
from phintys.backends.native.lower.branch_sides import Sides
from phintys.backends.native.lower.commit import commit_last, updates_last
from phintys.backends.native.lower.handing_over import hand_over
from phintys.backends.native.lower.lowering import LOWERINGS, Lowering, NotLowered
from phintys.backends.native.lower.overwriting import handed_on, is_separate
from phintys.backends.native.lower.view import View
from phintys.backends.native.program import Program
from phintys.backends.native.sizes import Extent
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.values import Array, Place, Value
from phintys.graph.alias_map import memory_of
from phintys.graph.aliasing import execution_order
from phintys.graph.inner import require_calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable


# ---- nodes ---------------------------------------------------------------------------------------


def lower_node(op: Op, node: Apply, lowering: Lowering) -> None:
    """Add the steps for one node, by the rule for its Op.

    Raises
    ------
    NotLowered
        If there is no rule, or it does not cover the node.
    """
    rule = LOWERINGS.find(type(op))
    if rule is None:
        msg = f"{type(op).__name__} has no lowering"
        raise NotLowered(msg)
    require_calls(op)
    rule(op, node, lowering)


def lower_nodes(fgraph: FunctionGraph, lowering: Lowering) -> None:
    """Lower all nodes, in an order in which every value is read before it is overwritten.

    Nodes without a lowering become callbacks. Nodes that are needed only if something is chosen are
    lowered with what chooses.
    """
    lowering.bases.enter(fgraph)
    order = execution_order(fgraph)
    outer, lowering.sides = lowering.sides, Sides(fgraph, order)
    clients, lowering.clients = lowering.clients, fgraph.clients
    has_sides = not lowering.sides.is_empty
    for node in order:
        if has_sides and not lowering.sides.is_certain(node):
            continue
        _lower(node, lowering)
        lowering.bases.leave(node)
    lowering.sides, lowering.clients = outer, clients


def lower_each(nodes: Iterable[Apply], lowering: Lowering) -> None:
    """Lower nodes in order; those without a lowering become callbacks."""
    for node in nodes:
        _lower(node, lowering)


def _lower(node: Apply, lowering: Lowering) -> None:
    try:
        if node.op.is_copy:
            _lower_copy(node, lowering)
        else:
            lower_node(node.op, node, lowering)
    except NotLowered as reason:
        lowering.callback(node, str(reason))


def _lower_copy(node: Apply, lowering: Lowering) -> None:
    """``out = x``, in new memory."""
    if not node.inputs[0].type.holds_arrays:
        msg = f"a value of type {node.inputs[0].type}"
        raise NotLowered(msg)
    view = lowering.view(node.inputs[0])
    lowering.bind(node.outputs[0], lowering.copied(view, node))


# ---- programs ------------------------------------------------------------------------------------


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
    returned.update(hand_over(lowering.steps))
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


# ---- reshaped products ---------------------------------------------------------------------------


def make_reshaped_products_results(fgraph: FunctionGraph, lowering: Lowering) -> None:
    """Let library calls write outputs that are reshaped, where nothing else uses their memory."""
    shown: defaultdict[Array, set[Array]] = defaultdict(set)
    for variable in fgraph.outputs:
        if variable.type.holds_arrays:
            view = lowering.view(variable)
            if view.array.memory.place == Place.BUFFER:
                is_one = view.array.alias is not None and view.is_whole(lowering.sizes)
                shown[view.array.memory].add(view.array if is_one else view.array.memory)
    # The key itself is among the values if it is an output as it is, or in part.
    found = {
        base: views.pop()
        for base, views in shown.items()
        if len(views) == 1 and base not in views and base not in lowering.bases.claimed
    }
    if not found:
        return
    writers: defaultdict[Array, list[Any]] = defaultdict(list)
    for step in lowering.steps:
        for memory in arrays_read(step):
            found.pop(memory, None)
        for memory in arrays_written(step):
            if memory in found:
                writers[memory].append(step)
    for base, array in found.items():
        steps = writers[base]
        if len(steps) == 1 and _is_movable(steps[0], base) and _are_known_early(array):
            (call,) = steps
            call.outputs = (array,)
            array.alias, array.place = None, Place.BUFFER


def _is_movable(step: Any, base: Array) -> bool:
    """Return whether a step is a call whose output can have other sizes."""
    return (
        isinstance(step, LibraryCall)
        and step.routine.ignores_sizes_of_output
        and step.outputs == (base,)
    )


def _are_known_early(array: Array) -> bool:
    """Return whether sizes are known when a call begins."""
    return all(
        size.known is not None
        or all(
            isinstance(leaf, Extent) and leaf.array.place == Place.ARGUMENT for leaf in size.leaves
        )
        for size in array.sizes
    )
