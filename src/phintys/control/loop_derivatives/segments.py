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
from phintys.control.graph_ops.inner_shapes import shapes_of_outputs, sizes_of
from phintys.control.loop_derivatives.derived_loops import DerivedLoop
from phintys.control.loop_derivatives.residuals import UNKNOWN_SIZE, bytes_of, has_tensor_form
from phintys.control.loops.arguments import LoopArguments, Outputs
from phintys.gradient.arithmetic import zero_like
from phintys.gradient.pullback import pull_back
from phintys.graph.cloning import clone_replace, graph_replace
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.null_type import NullType
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant, Variable
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.known import known_int
from phintys.tensor.sizes import fold, multiply_sizes, subtract_sizes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.control.loop_derivatives.residuals import Residuals
    from phintys.control.loop_derivatives.step_gradients import StepGradients
    from phintys.control.loops.loop_op import LoopOp
    from phintys.graph.type import Type

MEGABYTE = 10**6

LARGE = 10_000
"""Elements that a value of unknown size may have, in a loop of many steps: then sizes that are
known when the gradient runs decide what it keeps. Such a gradient takes longer to compile."""

MANY = 100_000
"""What an unknown number of steps counts if all sizes are known: the number that there are when the
gradient runs decides what it keeps if so many steps were too large."""


@record()
class CheckpointPlan:
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


def plan_memory(
    op: LoopOp, inputs: Sequence[Any], n: Variable, step: StepGradients, kept: Residuals
) -> CheckpointPlan:
    """Decide what the gradient of a loop keeps.

    Parameters
    ----------
    op, inputs
        The loop, and the inputs of its node.
    n
        Its number of steps.
    step
        The gradients of a step.
    kept
        What they need.
    """
    known = known_int(n)
    rows = _kept_for_gradient(op, step, kept)
    is_of_known_sizes = all(map(_is_of_known_size, rows))
    steps = known
    if steps is None:
        steps = MANY if is_of_known_sizes else UNKNOWN_SIZE
    row = sum(map(bytes_of, rows))
    text = f"{_text(steps * row)} for {steps} steps"
    if known is None:
        text += " (their number is unknown)"
    each = op.checkpoint or 1
    is_whole = each > 1 and known is not None and known <= each
    if kept.needs_segments and (each == 1 or is_whole):
        return CheckpointPlan(
            1, True, "keeps the states before all steps, to draw random numbers again"
        )
    if op.truncate_gradient >= 0 and op.checkpoint != 1:
        last = f"the last {op.truncate_gradient} steps, the only ones that it goes through"
        return CheckpointPlan(None, True, f"keeps {last}")
    if op.checkpoint is not None:
        if not op.checkpoint:
            return CheckpointPlan(
                None, True, f"keeps everything, {text}, as checkpoint=False demands"
            )
        reason = f"keeps the states before every {op.checkpoint} steps"
        return CheckpointPlan(None if is_whole else op.checkpoint, True, reason)
    budget = config.loop_megabytes * MEGABYTE
    most = row if known is None else sum(bytes_of(one, LARGE) for one in rows)
    if steps * most <= budget:
        return CheckpointPlan(None, True, f"keeps everything, {text}")
    reason = f"everything would take {text}"
    states = sum(bytes_of(state.new) * state.depth for state in step.states)
    every = isqrt(max(steps * states // row, 1) - 1) + 1
    if every == 1 or (known is not None and is_of_known_sizes):
        if every > 1 and every * 2 > steps:
            reason = f"keeps everything, {text}: to run steps again would save little"
            return CheckpointPlan(None, True, reason)
        return CheckpointPlan(
            every, False, f"keeps the states before every {every} steps: {reason}"
        )
    small = f"keeps everything if it takes at most {config.loop_megabytes} MB when it runs"
    often = f"about every sqrt({states / row:.2g} n) steps"
    length = _steps_of_a_segment(op, inputs, n, step, rows)
    return CheckpointPlan(length, True, f"{small}, and else the states before {often}: {reason}")


def _kept_for_gradient(op: LoopOp, step: StepGradients, kept: Residuals) -> list[Variable]:
    """Return the variables of a step that are kept for the gradient alone."""
    inner = op.step_inputs
    found = [*kept.saved, *(inner.untraced[number] for number in kept.traced)]
    for state in step.states:
        is_read = any(v in kept.read for v in (*state.rows, state.new))
        if state.is_carried and is_read and state.given.rows is None:
            found.append(state.new)
    return found


def _text(size: int) -> str:
    return f"{size / MEGABYTE:.4g} MB"


def _is_of_known_size(variable: Any) -> bool:
    return None not in getattr(variable.type, "shape", ())


# ---- sizes that are known when the gradient runs -------------------------------------------------


def _steps_of_a_segment(
    op: LoopOp, inputs: Sequence[Any], n: Any, step: StepGradients, rows: Sequence[Variable]
) -> Any:
    """Return how many steps make a segment, by sizes that are known when the gradient runs.

    It is one more than there are, so that no step is run again, if everything may be kept.
    """
    states = [state.new for state in step.states for _ in range(state.depth)]
    values = [*rows, *states]
    sizes = [
        float(bytes_of(value)) if size is None else size
        for value, size in zip(values, bytes_when_run(op, inputs, values), strict=True)
    ]
    row, state = _total(sizes[: len(rows)]), _total(sizes[len(rows) :])
    root: Any = math.ceil(math.sqrt(n * (state / math.maximum(row, 1.0))))
    root = math.maximum(root, 1.0)
    is_small = math.le(n * row, float(config.loop_megabytes * MEGABYTE))
    whole: Any = math.add(n, 1)
    return math.switch(is_small | math.gt(root * 2.0, n), whole, math.cast(root, "int64"))


def _total(sizes: Sequence[Any]) -> Any:
    """Return the sum of numbers of bytes, as a float."""
    total: Any = as_tensor_variable(0.0, dtype="float64")
    for size in sizes:
        total = total + size
    return total


def bytes_when_run(op: LoopOp, inputs: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return how many bytes values of a step take, as expressions of the loop's inputs.

    ``None`` stands for a size that depends on what a step computes, which is known too late.
    """
    given, inner = op.arguments.node_inputs(inputs), op.step_inputs
    shapes: dict[Any, Any] = {inner.index: ()}
    shapes |= {v: _of_row(x) for v, x in zip(inner.sequences, given.sequences, strict=True)}
    for some, x in zip(inner.carried, given.carried, strict=True):
        shapes |= dict.fromkeys(some, _of_row(x))
    shapes |= {v: sizes_of(x) for v, x in zip(inner.untraced, given.untraced, strict=True)}
    shapes |= {v: sizes_of(x) for v, x in zip(inner.captured, given.captured, strict=True)}
    leaves = op.inner_inputs
    inside = set(leaves)
    found: list[Any] = []
    known = shapes_of_outputs(leaves, [shapes[leaf] for leaf in leaves], values)
    for value, sizes in zip(values, known, strict=True):
        if _is_of_known_size(value):
            found.append(float(bytes_of(value)))
            continue
        symbolic = [size for size in sizes or () if isinstance(size, Variable)]
        if sizes is None or not inside.isdisjoint(ancestors(symbolic)):
            found.append(None)
            continue
        size: Any = float(value.type.numpy_dtype.itemsize)
        for each in sizes:
            size = size * each
        found.append(size)
    return found


def _of_row(x: Any) -> Any:
    return sizes_of(x)[1:]


# ---- the loops -----------------------------------------------------------------------------------


def pull_back_segments(
    op: LoopOp, inputs: Sequence[Any], n: Any, step: StepGradients, plan: CheckpointPlan
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

    def __init__(
        self, op: LoopOp, inputs: Sequence[Any], plan: CheckpointPlan, step: StepGradients
    ) -> None:
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

    def _of_steps(self, more: Sequence[Variable], plan: CheckpointPlan) -> LoopOp:
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
    """A state of the loop over segments, kept for all of them if its type has a tensor form."""

    def __init__(self, loop: DerivedLoop, type_: Type, first: Any) -> None:
        self._loop = loop
        self._form = _form_of(type_)
        if self._form is None:
            self._number, self.value = loop.untraced(type_, first)
            return
        start = self._form.to_tensor(first)
        rows = type_ if isinstance(type_, TensorType) else start.type
        self._number, (row,) = loop.carried(rows, (-1,), expand_dims(start, 0))
        self.value: Any = self._form.from_tensor(row)

    def set_value(self, value: Variable) -> None:
        """Set the value after a segment."""
        if self._form is None:
            self._loop.set_value(self._number, value)
        else:
            self._loop.set_row(self._number, self._form.to_tensor(value))

    def last(self, results: Outputs[Any]) -> Any:
        """Return the value after all segments."""
        if self._form is None:
            return results.untraced[self._number]
        return self._form.from_tensor(results.carried[self._number][-1])


class _TensorForm:
    """How tensors are kept: as they are."""

    @staticmethod
    def to_tensor(value: Any) -> Any:
        return value

    from_tensor = to_tensor


def _form_of(type_: Type) -> Any:
    """Return the object with ``to_tensor`` and ``from_tensor`` for a type, or ``None``."""
    if isinstance(type_, TensorType):
        return _TensorForm
    return type_ if has_tensor_form(type_) else None


def _last_rows(trace: Any, count: int) -> Any:
    """Return the last rows; if there is one, such that its gradient needs no zeros for others."""
    return expand_dims(trace[-1], 0) if count == 1 else trace[-count:]


def _rows_type(row: Variable, count: int | None) -> TensorType:
    type_: Any = row.type
    return TensorType(type_.dtype, (count, *type_.shape))
