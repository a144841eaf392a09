"""Arguments of loops: those that are not needed, that are equal, or that do not change."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.control.loops.scan_op import Scan
from phintys.graph.variable import Constant
from phintys.passes._loops import (
    EditedLoop,
    LoopArgument,
    arguments_of,
    covers,
    enough_rows,
    is_like,
    is_not_negative,
    not_negative,
    replacements,
)
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.convert import constant
from phintys.tensor.creation import Alloc, alloc
from phintys.tensor.joining import join
from phintys.tensor.known import known_int
from phintys.tensor.shapes import shape_i

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, a: [a * 2, t * 2.0], 3, carried=[((-1,), x[:1])])[0]",
        "loop(lambda t, a, b: [a + t, a + b, b * a], n, untraced=[s, s])[0]",
        "loop(lambda t, a, b: [a * 2, a + b, b], 3, sequences=[x3], untraced=[s])[0]",
    ],
)
def drop_unread_results(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(x, y)[0] -> loop(x)[0], where no step needs y for the result that is read"""
    used = [bool(fgraph.clients.get(out)) for out in node.outputs]
    if all(used) or not any(used):
        return None
    loop = EditedLoop.of(node)
    is_read = used[: len(loop.results)]
    state_of = {row: state for state in loop.states for row in state.rows}
    needed = dict.fromkeys(compress(loop.results, is_read))
    stack = [one.new for one in needed]
    if loop.until is not None:
        stack.append(loop.until)
    met: set[Any] = set()
    while stack:
        variable = stack.pop()
        if variable in met:
            continue
        met.add(variable)
        if variable.owner is not None and variable not in state_of:
            stack.extend(variable.owner.inputs)
        state = state_of.get(variable)
        if state is not None and state not in needed:
            needed[state] = None
            stack.append(state.new)
    if len(needed) == len(loop.results):
        return None
    loop.carried = [one for one in loop.carried if one in needed]
    loop.untraced = [one for one in loop.untraced if one in needed]
    loop.stacked = [one for one in loop.stacked if one in needed]
    return replacements(fgraph, node, loop.apply())


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, row, a, b: [row * b], 3, sequences=[x3], captured=[s, t])[0]",
        "loop(lambda t, row, other: [row * 2], n, sequences=[x, y], name='two')[0]",
    ],
)
def drop_unread_inputs(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(x, y) -> loop(x), where no step reads y"""
    loop = EditedLoop.of(node)
    clients = loop.op.fgraph.clients

    def is_read(argument: LoopArgument) -> bool:
        return any(clients.get(row) for row in argument.rows)

    captured = [one for one in loop.captured if is_read(one)]
    sequences: list[LoopArgument] = []
    is_known = known_int(loop.n) is not None
    for number, one in enumerate(loop.sequences):
        if is_read(one) or (is_known and not covers(loop.n, one.given)):
            sequences.append(one)
        else:
            loop.n = enough_rows(loop.n, one.given, number)
    if len(captured) == len(loop.captured) and len(sequences) == len(loop.sequences):
        return None
    loop.captured, loop.sequences = captured, sequences
    return replacements(fgraph, node, loop.apply())


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, row, a, b: [row * b + a], 3, sequences=[x3], captured=[s, s])[0]",
        "loop(lambda t, one, other: [one * other], 3, sequences=[x3, x3])[0]",
    ],
)
def unite_inputs(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(x, x) -> loop(x)"""
    if len(set(node.inputs)) == len(node.inputs):
        return None
    loop = EditedLoop.of(node)
    rows: dict[Any, Any] = {}
    sequences = _different(loop.sequences, rows)
    captured = _different(loop.captured, rows)
    if not rows:
        return None
    loop.sequences, loop.captured = sequences, captured
    loop.replace(rows)
    return replacements(fgraph, node, loop.apply())


def _different(arguments: Iterable[LoopArgument], rows: dict[Any, Any]) -> list[LoopArgument]:
    """Return the arguments without repetitions, whose rows are added to ``rows``."""
    first: dict[Any, LoopArgument] = {}
    found: list[LoopArgument] = []
    for one in arguments:
        former = first.setdefault(one.given, one)
        if former is not one and former.rows[0].type == one.rows[0].type:
            rows[one.rows[0]] = former.rows[0]
        else:
            found.append(one)
    return found


@node_rewriter(
    [Scan], examples=["loop(lambda t, row, a: [row * a], 3, sequences=[x3], captured=[2])[0]"]
)
def capture_constants(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(constant(1)) -> loop(), with the constant in the graph of a step"""
    if not any(isinstance(x, Constant) for x in node.inputs[1:]):
        return None
    loop = EditedLoop.of(node)
    rows = {
        one.rows[0]: one.given
        for one in loop.captured
        if isinstance(one.given, Constant) and is_like(one.given, one.rows[0])
    }
    if not rows:
        return None
    loop.captured = [one for one in loop.captured if one.rows[0] not in rows]
    loop.replace(rows)
    return replacements(fgraph, node, loop.apply())


def has_constant_rows(node: Apply) -> bool:
    """Return whether a node is a loop that reads the same constant in all steps."""
    op = node.op
    if not isinstance(op, Scan):
        return False
    given, rows = op.arguments.node_inputs(node.inputs), op.step_inputs
    constants = [
        *zip(given.captured, rows.captured, strict=True),
        *((_repeated_row(x), row) for x, row in zip(given.sequences, rows.sequences, strict=True)),
    ]
    return any(isinstance(x, Constant) and is_like(x, row) for x, row in constants)


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, row, a: [row * a], 3, sequences=[x3, pt.alloc(s, 3)])[0]",
        "loop(lambda t, row, a: [row * a], 3, sequences=[x3, pt.alloc(x, 4, x.shape[0])])[0]",
        "loop(lambda t, row, a: [row * a], 3, sequences=[x3, pt.constant([2.0, 2.0, 2.0])])[0]",
    ],
)
def capture_repeated_rows(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(alloc(x, n, m)) -> loop(alloc(x, m)) with a captured value in place of a sequence"""
    sequences = node.inputs[1 : 1 + arguments_of(node).sequences]
    if not any(map(_may_repeat, sequences)):
        return None
    loop = EditedLoop.of(node)
    kept: list[LoopArgument] = []
    for one in loop.sequences:
        row = _repeated_row(one.given) if covers(loop.n, one.given) else None
        if row is None or not is_like(row, one.rows[0]):
            kept.append(one)
        else:
            loop.captured.append(LoopArgument(one.rows, row))
    if len(kept) == len(loop.sequences):
        return None
    loop.sequences = kept
    return replacements(fgraph, node, loop.apply())


def _may_repeat(x: Any) -> bool:
    """Return whether a tensor is made of copies of one row, or is a constant that may be."""
    if isinstance(x, Constant):
        return len(x.data) > 0 and _same_bits(x.data[:1], x.data[-1:])
    return x.owner is not None and isinstance(x.owner.op, Alloc)


def _repeated_row(x: Any) -> Any:
    """Return the row of a tensor that repeats it; else ``None``."""
    if not _may_repeat(x):
        return None
    if isinstance(x, Constant):
        row = x.data[:1]
        return constant(row[0]) if _same_bits(np.broadcast_to(row, x.data.shape), x.data) else None
    value, _, *sizes = x.owner.inputs
    if value.ndim == x.ndim:
        if value.type.shape[0] != 1:
            return None
        value = value[0]
    return alloc(value, *sizes) if sizes else value


def _same_bits(x: Any, y: Any) -> bool:
    """Return whether all elements of two arrays are the same, NaN and signs of zeros included."""
    return x.tobytes() == y.tobytes()


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, row, a: [a, row * a], 3, sequences=[x3], untraced=[s])[1]",
        "loop(lambda t, row, a: [a, row * a], 3, sequences=[x3], untraced=[s])[0]",
        "loop(lambda t, row, a: [a, row * a], 3, sequences=[x3], carried=[((-1,), x3[:1])])[0]",
    ],
)
def capture_unchanging_states(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(x) -> alloc(x), where every step returns the state x as it is"""
    loop = EditedLoop.of(node)
    new: dict[Variable, Any] = {}
    steady: list[LoopArgument] = []
    for one in loop.states:
        if one.new is not one.rows[-1] or one.taps not in {(), (-1,)}:
            continue
        value = one.given[0] if one.taps else one.given
        if not is_like(value, one.rows[0]):
            continue
        steady.append(one)
        if one.taps and any(fgraph.clients.get(out) for out in one.out):
            value = _trace_of_same(one.given, loop)
            if value is None:
                return None
        new.update(dict.fromkeys(one.out, value))
    if not steady:
        return None
    for one in steady:
        value = one.given[0] if one.taps else one.given
        loop.captured.append(LoopArgument(one.rows, value))
    loop.carried = [one for one in loop.carried if one not in steady]
    loop.untraced = [one for one in loop.untraced if one not in steady]
    is_over = not loop.results and not any(map(fgraph.clients.get, loop.ran))
    if is_over and not (
        is_not_negative(loop.n) and all(covers(loop.n, one.given) for one in loop.sequences)
    ):
        return None
    if not is_over:
        new |= loop.apply()
    return replacements(fgraph, node, new)


def _trace_of_same(first: Any, loop: EditedLoop) -> Any:
    """Return the trace of a state that does not change; ``None`` with a condition."""
    if loop.until is not None:
        return None
    sizes = [shape_i(first, dim) for dim in range(1, first.ndim)]
    return join(0, first, alloc(first[0], not_negative(loop.n), *sizes))


LOOP_ARGUMENTS = late_rules(
    drop_unread_results,
    drop_unread_inputs,
    unite_inputs,
    capture_constants,
    capture_repeated_rows,
    capture_unchanging_states,
    needs=[Scan],
)
"""In the order in which they are tried."""

CONSTANT_ARGUMENTS: tuple[NodeRewriter, ...] = (capture_repeated_rows, capture_constants)
"""Those that take constants into the graphs of steps."""
