"""Checkpoints: a loop as segments of steps, so that a gradient keeps only the states between them.

The loop is written as a loop over segments, whose step is a loop over the steps of one segment;
steps that are left over run in a third loop. In the gradient, the loop over segments keeps nothing
but its states: each of its backward steps runs the segment again, and then goes backward through
it. With segments of about sqrt(n) steps, about as many states are kept at once. A segment that
is itself too large is divided further in the same way.
"""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any

from phintys._base.config import config
from phintys._base.records import record
from phintys.control.derived_loops import DerivedLoop
from phintys.control.loop_arguments import LoopArguments, Outputs
from phintys.control.residuals import UNKNOWN_SIZE, bytes_of
from phintys.gradient.arithmetic import zero_like
from phintys.gradient.pullback import pull_back
from phintys.graph.cloning import clone_replace, graph_replace
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.null_type import NullType
from phintys.graph.variable import Constant, Variable
from phintys.tensor import math
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.known import known_int
from phintys.tensor.sizes import fold, multiply_sizes, subtract_sizes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.control.residuals import Residuals
    from phintys.control.scan_op import Scan
    from phintys.control.step_gradients import StepGradients
    from phintys.graph.type import Type

__all__ = ["Plan", "plan_memory", "pull_back_segments"]


@record()
class Plan:
    """What the gradient of a loop keeps of its forward pass.

    Attributes
    ----------
    every
        The number of steps of a segment, an int or a variable; ``None`` to keep everything. With
        1, the states of all steps are kept, and nothing else.
    is_final
        Whether segments are not to be divided further.
    reason
        What was estimated, in words.
    """

    every: Any
    is_final: bool
    reason: str


def plan_memory(op: Scan, n: Variable, step: StepGradients, kept: Residuals) -> Plan:
    """Decide what the gradient of a loop keeps.

    Parameters
    ----------
    op
        The loop.
    n
        Its number of steps.
    step
        The gradients of a step.
    kept
        What they need.
    """
    known = known_int(n)
    steps = UNKNOWN_SIZE if known is None else known
    row = _bytes_of_rows(op, step, kept)
    text = f"{_text(steps * row)} for {steps} steps"
    if known is None:
        text += " (their number is unknown)"
    if op.truncate_gradient >= 0 and op.checkpoint != 1:
        last = f"the last {op.truncate_gradient} steps, the only ones that it goes through"
        return Plan(None, True, f"keeps {last}")
    if op.checkpoint is not None:
        if not op.checkpoint:
            return Plan(None, True, f"keeps everything, {text}, as checkpoint=False demands")
        reason = f"keeps the states before every {op.checkpoint} steps"
        is_whole = op.checkpoint > 1 and known is not None and known <= op.checkpoint
        return Plan(None if is_whole else op.checkpoint, True, reason)
    budget = config.loop_megabytes << 20
    if steps * row <= budget:
        return Plan(None, True, f"keeps everything, {text}")
    states = sum(bytes_of(state.new) * state.depth for state in step.states)
    every = isqrt(max(steps * states // row, 1) - 1) + 1
    if known is not None and every * 2 > steps:
        return Plan(None, True, f"keeps everything, {text}: to run steps again would save little")
    reason = f"everything would take {text}"
    if known is not None or every == 1:
        return Plan(every, False, f"keeps the states before every {every} steps: {reason}")
    ratio = states / row
    root: Any = math.ceil(math.sqrt(math.mul(n, ratio)))
    every = math.maximum(root.astype("int64"), 1)
    often = f"about every sqrt({ratio:.2g} n) steps"
    return Plan(every, True, f"keeps the states before {often}: {reason}")


def _bytes_of_rows(op: Scan, step: StepGradients, kept: Residuals) -> int:
    """Return how many bytes of each step exist only for the gradient."""
    inner = op.step_inputs
    total = sum(map(bytes_of, kept.saved))
    total += sum(bytes_of(inner.untraced[number]) for number in kept.traced)
    for state in step.states:
        is_read = any(v in kept.read for v in (*state.rows, state.new))
        if state.is_carried and is_read and state.given.rows is None:
            total += bytes_of(state.new)
    return total


def _text(size: int) -> str:
    return f"{size / 2**20:.4g} MB"


def pull_back_segments(
    op: Scan, inputs: Sequence[Any], n: Any, step: StepGradients, plan: Plan
) -> list[Any]:
    """Return the gradients for the inputs of a loop; ``None`` where there is none.

    Parameters
    ----------
    op
        The loop.
    inputs
        Those of its node.
    n
        How many steps it runs.
    step
        The gradients that the results have.
    plan
        How many steps make a segment.
    """
    given = op.arguments.node_inputs(inputs)
    # Variables of their own: an input may depend on others, or be given twice.
    leaves = [n, *(x if isinstance(x, Constant) else x.type() for x in list(given)[1:])]
    loop = _Segments(op, leaves, plan, step)
    gradients = pull_back(loop.seeds(), leaves[1:])
    found: list[Any] = [None, *(gradients.value(leaf) for leaf in leaves[1:])]
    computed = [g for g in found if g is not None and not isinstance(g.type, NullType)]
    outside = {
        leaf: x for leaf, x in zip(leaves, inputs, strict=True) if leaf is not x and leaf is not n
    }
    replaced = dict(zip(computed, graph_replace(computed, outside, strict=False), strict=True))
    return [replaced.get(g, g) for g in found]


class _Segments:
    """A loop over segments, and one over the steps that are left."""

    def __init__(self, op: Scan, inputs: Sequence[Any], plan: Plan, step: StepGradients) -> None:
        self._op = op
        self._step = step
        self._every: Any = plan.every
        self._name = f"{op} in segments"
        if isinstance(plan.every, int):
            self._name += f" of {plan.every}"
        given = op.arguments.node_inputs(inputs)
        n: Any = fold(given.n)
        self._count: Any = n // self._every
        self._done: Any = multiply_sizes([self._count, self._every])
        self._left: Any = subtract_sizes(n, self._done)
        self._is_whole = isinstance(self._left, int) and not self._left
        self._given = given
        # A stacked result of which only the last row has a gradient is a value like any other.
        only_last = [each for each in step.stacks if each.given.last is not None]
        given.untraced += [
            zero_like(each.given.last) for each in only_last if each.given.last is not None
        ]
        self._part = self._of_steps([each.row for each in only_last], plan)

    def _of_steps(self, more: Sequence[Variable], plan: Plan) -> Scan:
        """Return a loop over some of the steps, which takes the number of the first one."""
        op = self._op
        arguments, inner, made = op.arguments, op.step_inputs, op.step_outputs
        start: Any = inner.index.type()
        outputs = [*made.carried, *made.untraced, *more, *made.stacked]
        outputs = clone_replace(outputs, {inner.index: math.add(start, inner.index)})
        inner.untraced += [row.type() for row in more]
        kinds = LoopArguments(
            sequences=arguments.sequences,
            taps=arguments.taps,
            untraced=len(inner.untraced),
            stacked=arguments.stacked,
            captured=arguments.captured + 1,
        )
        graph = FunctionGraph([*inner, start], outputs)
        checkpoint = False if plan.is_final else None
        return type(op)(graph, kinds, op.name, checkpoint=checkpoint)

    def seeds(self) -> list[tuple[Variable, Variable]]:
        """Return results of the loops, with their gradients."""
        seeds: list[tuple[Variable, Variable]] = []
        arguments = self._op.arguments
        carried = self._step.states[: len(arguments.taps)]
        stacks = {each.row: each.given.rows for each in self._step.stacks}
        rows = [state.given.rows for state in carried]
        rows += [stacks.get(row) for row in self._op.step_outputs.stacked]
        depths = [*arguments.depths, *([0] * arguments.stacked)]
        parts, states = self._run_segments([g is not None for g in rows])
        end = self._run_rest(states)
        tensors = [*end.carried, *end.stacked]
        for number, part in parts.items():
            given: Any = rows[number]
            depth = depths[number]
            if depth:
                seeds.append((self._given.carried[number], given[:depth]))
            later = given[depth:]
            shape = [part.shape[i] if n is None else n for i, n in enumerate(part.type.shape)]
            seeds.append((part, later[: self._done].reshape(shape)))
            if not self._is_whole:
                seeds.append((tensors[number][depth:], later[self._done :]))
        for state, trace in zip(carried, end.carried, strict=True):
            if state.given.last is not None:
                seeds.append((trace[-1], state.given.last))
        lasts = [state.given.last for state in self._step.states[len(carried) :]]
        lasts += [each.given.last for each in self._step.stacks if each.given.last is not None]
        for value, last in zip(end.untraced, lasts, strict=True):
            if last is not None:
                seeds.append((value, last))
        return seeds

    def _run_segments(self, is_kept: Sequence[bool]) -> tuple[dict[int, Any], list[Any]]:
        """Return the rows of all segments where they are kept, and the states after them."""
        op, given, inner = self._op, self._given, self._part.step_inputs
        loop = DerivedLoop(self._count)
        known = self._every if isinstance(self._every, int) else None
        every: Any = self._every
        if known is None:
            every = loop.captured(every)
        sequences: list[Any] = []
        for row, x in zip(inner.sequences, given.sequences, strict=True):
            sizes = [x.shape[i] if n is None else n for i, n in enumerate(x.type.shape)][1:]
            parts = x[: self._done].reshape((self._count, self._every, *sizes))
            sequences.append(loop.sequence(_rows_type(row, known), parts))
        depths = op.arguments.depths
        states = [
            _BlockState(loop, _rows_type(rows[0], depth), first)
            for rows, depth, first in zip(inner.carried, depths, given.carried, strict=True)
        ]
        states += [
            _BlockState(loop, v.type, first)
            for v, first in zip(inner.untraced, given.untraced, strict=True)
        ]
        captured = [
            x if isinstance(x, Constant) else loop.captured(x, v.type)
            for v, x in zip(inner.captured, given.captured, strict=False)
        ]
        start: Any = math.mul(loop.index, every)
        before = [state.value for state in states]
        results = self._apply(every, [*sequences, *before, *captured, start])
        after = [_last_rows(x, depth) for x, depth in zip(results.carried, depths, strict=True)]
        for state, value in zip(states, [*after, *results.untraced], strict=True):
            state.set_value(value)
        rows = [x[k:] for x, k in zip(results.carried, depths, strict=True)] + results.stacked
        numbers = {i: loop.stack(row) for i, row in enumerate(rows) if is_kept[i]}
        found = loop.build(lambda fgraph, kinds: type(op)(fgraph, kinds, self._name, checkpoint=1))
        kept = {i: found.stacked[number] for i, number in numbers.items()}
        return kept, [state.last(found) for state in states]

    def _run_rest(self, states: Sequence[Any]) -> Outputs[Any]:
        """Return the results of the steps that are left."""
        if self._is_whole:
            count = len(self._op.arguments.taps)
            return Outputs(list(states[:count]), list(states[count:]), [])
        sequences = [x[self._done :] for x in self._given.sequences]
        given = [*sequences, *states, *self._given.captured, self._done]
        return self._apply(self._left, given)

    def _apply(self, n: Any, given: Sequence[Any]) -> Outputs[Any]:
        part = self._part
        return part.arguments.node_outputs(part(n, *given, return_list=True))


class _BlockState:
    """A state of the loop over segments, kept for all of them if it is a tensor."""

    def __init__(self, loop: DerivedLoop, type_: Type, first: Any) -> None:
        self._loop = loop
        self._is_kept = isinstance(type_, TensorType)
        if self._is_kept:
            self._number, (self.value,) = loop.carried(type_, (-1,), expand_dims(first, 0))
        else:
            self._number, self.value = loop.untraced(type_, first)

    def set_value(self, value: Variable) -> None:
        """Say what a segment makes of it."""
        set_new = self._loop.set_row if self._is_kept else self._loop.set_value
        set_new(self._number, value)

    def last(self, results: Outputs[Any]) -> Any:
        """Return it after all segments."""
        if self._is_kept:
            return results.carried[self._number][-1]
        return results.untraced[self._number]


def _last_rows(trace: Any, count: int) -> Any:
    """Return the last rows; if there is one, such that its gradient needs no zeros for others."""
    return expand_dims(trace[-1], 0) if count == 1 else trace[-count:]


def _rows_type(row: Variable, count: int | None) -> TensorType:
    type_: Any = row.type
    return TensorType(type_.dtype, (count, *type_.shape))
