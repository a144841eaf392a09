"""Work of the steps of a loop that is done outside of it, for all steps at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.control.loops.scan_op import Scan
from phintys.graph.traversal import io_toposort
from phintys.graph.variable import Constant
from phintys.passes._facts import is_pure, uniform_value
from phintys.passes._loops import (
    EditedLoop,
    LoopArgument,
    always_computed,
    arguments_of,
    clients_of,
    may_vanish,
    replacements,
)
from phintys.passes.loop_batches import BATCHED, Outside
from phintys.rewriting import NOT_CONSTANT, late_rules, node_rewriter
from phintys.tensor.creation import Alloc
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.known import known_int
from phintys.tensor.products import Dot
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["LOOP_WORK", "new_stack"]


# ---- before the loop ---------------------------------------------------------------------------


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, row, a: [row * pt.exp(a)], 3, sequences=[x3], captured=[s])[0]",
        "loop(lambda t, h, a: [h * (a + 1)], n, untraced=[x], captured=[s])[0]",
        "loop(lambda t, h, w, v: [w @ v @ h], 3, untraced=[x3], captured=[X3, Y3])[0]",
    ],
)
def hoist_invariant_work(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(f(g(x))) -> loop(f(y)), with y = g(x) captured, where g(x) is the same in all steps"""
    loop = EditedLoop.of(node)
    nodes = loop.nodes()
    outside = Outside(loop, nodes)
    same = [one for one in nodes if outside.rows.get(one.outputs[0]) is False]
    if not same:
        return None
    steps = known_int(loop.n)
    may_fail = not steps
    always = always_computed(nodes, loop.made)
    movable = {one for one in same if one in always}
    if may_fail:
        _remove_unsafe(movable, same)
    moved = _worth_moving(nodes, movable, loop.made)
    if not moved:
        return None
    outside.start()
    rows: dict[Any, Any] = {}
    for variable in moved:
        rows[variable] = row = variable.type()
        loop.captured.append(LoopArgument([row], outside[variable]))
    loop.replace(rows)
    return replacements(fgraph, node, loop.apply())


def _remove_unsafe(movable: set[Apply], nodes: Iterable[Apply]) -> None:
    """Remove the nodes that may fail, and those that depend on them."""
    for node in nodes:
        if not node.op.raises_only_for_shapes or any(
            x.owner is not None and x.owner not in movable for x in node.inputs
        ):
            movable.discard(node)


def _worth_moving(
    nodes: Sequence[Apply], movable: set[Apply], made: Iterable[Variable]
) -> list[Variable]:
    """Return the results of movable nodes to be moved, which others read."""
    stack = [x for node in nodes if node not in movable for x in node.inputs]
    stack += made
    found: dict[Variable, None] = {}
    met: set[Variable] = set()
    while stack:
        variable = stack.pop()
        if variable in met or variable.owner not in movable:
            continue
        met.add(variable)
        owner = variable.owner
        assert owner is not None
        if isinstance(owner.op, DimShuffle | Subtensor | Alloc) or _grows(owner):
            stack += owner.inputs
        elif uniform_value(variable) is NOT_CONSTANT:
            found[variable] = None
    return list(found)


def _grows(node: Any) -> bool:
    """Return whether a result has more elements than each of the operands."""
    if not isinstance(node.op, Elemwise):
        return False
    result: Any = node.outputs[0].type
    return all(x.type.broadcastable != result.broadcastable for x in node.inputs)


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, row, h, w: [row @ w + h], 3, [X3], [((-1,), X3[:1])], [], [Y3])[0]",
        "loop(lambda t, row, h, w: [w @ row + h], n, [X3], untraced=[x3], captured=[Y3])[0]",
    ],
)
def multiply_before_loop(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(f(dot(x[t], w))) -> loop(f(y[t])), with y = dot(x, w) for all steps at once"""
    arguments = arguments_of(node)
    if arguments.has_until or not arguments.sequences:
        return None
    loop = EditedLoop.of(node)
    nodes = loop.nodes()
    if not any(isinstance(one.op, Dot) for one in nodes):
        return None
    always = always_computed(nodes, loop.made)
    outside = Outside(loop, [one for one in nodes if one in always])
    clients = clients_of(nodes, loop.made)
    tops: dict[Variable, None] = {}
    for one in nodes:
        if outside.rows.get(one.outputs[0]) and _is_product(one, outside.rows):
            tops[_top(one.outputs[0], outside, clients)] = None
    if not tops:
        return None
    outside.start()
    rows: dict[Any, Any] = {}
    for top in tops:
        rows[top] = row = top.type()
        loop.sequences.append(LoopArgument([row], outside[top]))
    loop.replace(rows)
    return replacements(fgraph, node, loop.apply())


def _is_product(node: Any, rows: Mapping[Any, bool]) -> bool:
    """Return whether a node multiplies rows by a matrix that is the same in all steps."""
    if not isinstance(node.op, Dot):
        return False
    x, y = node.inputs
    if rows.get(x) is False:
        x, y = y, x
    return rows.get(y) is False and y.ndim == 2 and rows.get(x) is not False


def _top(variable: Any, outside: Outside, clients: Mapping[Any, list[Any]]) -> Any:
    """Return what is computed from a product alone, elementwise and of the same size."""
    while True:
        readers = clients[variable]
        if len(readers) != 1 or readers[0] is None:
            return variable
        (reader,) = readers
        result = reader.outputs[0]
        is_alike = is_pure(reader) and outside.rows.get(result)
        if not is_alike or result.type.broadcastable != variable.type.broadcastable:
            return variable
        variable = result


# ---- after the loop ----------------------------------------------------------------------------


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, h, w: [pt.tanh(h), h @ w], 3, [], [((-1,), X3[:1])], [], [Y3])[1]",
        "loop(lambda t, x, h, w: [h * x, w @ (h + x)], 3, [x3], [], [x3], [Y3])[1]",
    ],
)
def multiply_after_loop(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(dot(f(h), w)) -> dot(loop(f(h)), w), with one product for all steps"""
    if not arguments_of(node).stacked:
        return None
    loop = EditedLoop.of(node)
    nodes = loop.nodes()
    if not any(isinstance(one.op, Dot) for one in nodes):
        return None
    in_loop = set(io_toposort(loop.inputs, [*(one.new for one in loop.states), *_until(loop)]))
    free = Outside(loop, nodes, ()).rows
    moved: list[LoopArgument] = []
    stacks: dict[Variable, LoopArgument] = {}
    for one in loop.stacked:
        factors = _factors_of_rows(one.new, free, in_loop)
        if factors is not None and len(factors) <= 1:
            moved.append(one)
            stacks.update((x, new_stack(x)) for x in factors if x not in stacks)
    if not moved:
        return None
    kept = [one for one in loop.stacked if one not in moved]
    stacks |= {one.new: one for one in kept}
    outside = Outside(loop, nodes, stacks.values())
    if not all(outside.rows.get(one.new) for one in moved):
        return None
    loop.stacked = [*stacks.values()]
    return replacements(fgraph, node, _with_results(loop, outside, moved))


def _until(loop: EditedLoop) -> list[Any]:
    return [] if loop.until is None else [loop.until]


def _factors_of_rows(
    variable: Any, free: Mapping[Any, bool], in_loop: Collection[Apply]
) -> set[Any] | None:
    """Return what a loop must stack, so that a value is computed from products after it.

    ``None`` if the value is not computed from products, or not from them and known rows alone.
    """
    found: set[Any] = set()
    products = 0
    stack = [variable]
    while stack:
        x = stack.pop()
        node = x.owner
        if node is None or node in in_loop:
            if x not in free and not isinstance(x, Constant):
                return None
        elif _is_product(node, free):
            products += 1
            found.update(y for y in node.inputs if y not in free)
        elif free.get(x) is not False:
            if not isinstance(node.op, BATCHED):
                return None
            stack += node.inputs
    return found if products else None


def new_stack(value: Any) -> LoopArgument:
    """Return an argument that stacks the values of a variable of a step."""
    out = TensorType(value.type.dtype, (None, *value.type.shape))()
    return LoopArgument([], None, value, [out])


def _with_results(
    loop: EditedLoop, outside: Outside, moved: Iterable[LoopArgument]
) -> dict[Variable, Any]:
    """Return the results of a loop, and those that are computed after it."""
    found: dict[Variable, Any] = {}
    if loop.results or loop.ran:
        found.update(loop.apply())
    outside.start(found)
    for one in moved:
        found.update(dict.fromkeys(one.out, outside.stacked(one.new)))
    return found


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, row, h: [h * row, row], 3, sequences=[x3], untraced=[s])[1]",
        "loop(lambda t, h: [h * 2, h], 3, carried=[((-1,), x3[:1])])[1]",
        "loop(lambda t, h, g: [g + h, g], 3, carried=[((-2, -1), x3[:2])])[1]",
        "loop(lambda t, row, h, a: [h * row, a], 3, [x3], untraced=[s], captured=[x])[1]",
    ],
)
def stack_once(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(x[t]) -> x[:n], likewise for rows that are carried, and loop(c) -> alloc(c, n)"""
    if not arguments_of(node).stacked:
        return None
    loop = EditedLoop.of(node)
    known = {row for one in loop.carried for row in (*one.rows, one.new)}
    known.update(one.rows[0] for one in loop.sequences)
    known.update(one.rows[0] for one in loop.captured)
    moved = [one for one in loop.stacked if one.new in known or isinstance(one.new, Constant)]
    if not moved:
        return None
    loop.stacked = [one for one in loop.stacked if one not in moved]
    is_empty = not loop.results and loop.until is None
    outside = Outside(loop, (), ())
    if not all(one.new in outside.rows or isinstance(one.new, Constant) for one in moved):
        return None
    if is_empty:
        if not may_vanish(loop):
            return None
        outside.start()
        return replacements(
            fgraph, node, {out: outside.stacked(one.new) for one in moved for out in one.out}
        )
    return replacements(fgraph, node, _with_results(loop, outside, moved))


# ---- instead of the loop -----------------------------------------------------------------------


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, row: [pt.exp(row) * 2], 3, sequences=[x3])[0]",
        "loop(lambda t, row, a: [row * a + t], x.shape[0], sequences=[X3[:, 1]], captured=[s])[0]",
        "loop(lambda t, row, w: [(row @ w).sum()], 3, sequences=[X3], captured=[Y3])[0]",
    ],
)
def map_whole_arrays(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(f(x[t])) -> f(x[:n]), where no step reads what others computed"""
    arguments = arguments_of(node)
    if arguments.taps or arguments.untraced or arguments.has_until:
        return None
    loop = EditedLoop.of(node)
    if not may_vanish(loop):
        return None
    nodes = loop.nodes()
    outside = Outside(loop, nodes)
    if not all(outside.rows.get(one.new) for one in loop.stacked):
        return None
    outside.start()
    found = {out: outside[one.new] for one in loop.stacked for out in one.out}
    return replacements(fgraph, node, found)


LOOP_WORK = late_rules(
    stack_once,
    map_whole_arrays,
    hoist_invariant_work,
    multiply_before_loop,
    multiply_after_loop,
    needs=[Scan],
)
"""In the order in which they are tried."""
