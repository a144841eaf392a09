"""Loops of a small known number of steps, written out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.control.loops.scan_op import Scan
from phintys.control.loops.stepping import StepCount
from phintys.graph.cloning import clone_replace
from phintys.graph.inner import HasInnerGraph
from phintys.passes._facts import same_size
from phintys.passes._loops import EditedLoop, covers, is_like, may_vanish, replacements
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.convert import constant
from phintys.tensor.joining import join, stack
from phintys.tensor.known import known_int
from phintys.tensor.shapes import shape_i, specify_shape
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.passes._loops import LoopArgument

_MOST_STEPS = 4
_MOST_NODES = 48  # in all steps together


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, u: [u * 2 + t], 3, untraced=[s])[0]",
        "loop(lambda t, row, h: [h * row + h, pt.exp(h)], 2, [x3], [((-1,), x[:1])])[1]",
        "loop(lambda t, h, g: [g + h, h], 3, [], [((-2, -1), x[:2])])[0]",
        "loop(lambda t, h: [h * 2], 0, [], [((-1,), x[:1])])[0]",
    ],
)
def write_out_few_steps(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(x) of 2 steps -> step(step(x)), and likewise for up to 4 small ones"""
    n = known_int(node.inputs[0])
    if n is None or not 0 <= n <= _MOST_STEPS:
        return None
    loop = EditedLoop.of(node)
    nodes = loop.nodes()
    if loop.until is not None or len(nodes) * n > _MOST_NODES or not may_vanish(loop):
        return None
    if any(isinstance(one.op, HasInnerGraph) for one in nodes) or (n == 0 and loop.stacked):
        return None
    if not all(
        is_like(one.given, one.rows[0]) for one in (*loop.untraced, *loop.captured)
    ) or not all(is_like(one.given[0], one.rows[0]) for one in loop.sequences if n):
        return None
    return replacements(fgraph, node, _written_out(loop, n))


def _written_out(loop: EditedLoop, n: int) -> dict[Variable, Any]:
    """Return the outputs of a loop of n steps."""
    traces: dict[LoopArgument, list[Any]] = {
        one: [one.given[i] for i in range(-one.taps[0])] for one in loop.carried
    }
    states: dict[LoopArgument, Any] = {one: one.given for one in loop.untraced}
    rows: dict[LoopArgument, list[Any]] = {one: [] for one in loop.stacked}
    for at in range(n):
        given: dict[Variable, Variable] = {loop.index: constant(at, dtype="int64")}
        for number, one in enumerate(loop.sequences):
            given[one.rows[0]] = _row(one.given, at, n, number)
        given.update((one.rows[0], one.given) for one in loop.captured)
        for one, trace in traces.items():
            given.update((row, trace[tap]) for tap, row in zip(one.taps, one.rows, strict=True))
        given.update((one.rows[0], state) for one, state in states.items())
        made = iter(clone_replace(loop.made, given, rebuild_strict=False))
        for trace in traces.values():
            trace.append(next(made))
        for one in states:
            states[one] = _like_before(one, next(made))
        for stacked in rows.values():
            stacked.append(next(made))
    found: dict[Variable, Any] = {}
    for one, trace in traces.items():
        value = join(0, one.given, stack(trace[-n:])) if n else one.given
        found.update(dict.fromkeys(one.out, value))
    for one, state in states.items():
        found.update(dict.fromkeys(one.out, state))
    for one, stacked in rows.items():
        found.update(dict.fromkeys(one.out, stack(stacked)))
    return found


def _row(x: Any, at: int, n: int, number: int) -> Any:
    """Return a row of a sequence, which must have n of them."""
    if covers(constant(n), x):
        return x[at]
    return x[StepCount(number)(at, shape_i(x, 0), n)]


def _like_before(one: LoopArgument, value: Any) -> Any:
    """Return a new value of a state, which must have the shape of the former ones."""
    row = one.rows[0]
    if not isinstance(row.type, TensorType):
        return value
    unknown = [dim for dim in range(row.ndim) if not same_size(one.new, row, dim)]
    if not unknown:
        return value
    sizes = [shape_i(one.given, dim) if dim in unknown else None for dim in range(row.ndim)]
    return specify_shape(value, sizes)


LOOP_UNROLLING = late_rules(write_out_few_steps, needs=[Scan])
"""In the order in which they are tried."""
