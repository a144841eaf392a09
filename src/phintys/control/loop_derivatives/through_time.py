"""Reverse mode through a Scan: a loop over its steps in reverse order.

A step of the backward loop pulls gradients back through the graph of one step. It reads rows of
what the forward loop read and computed, in reverse order, and, as rows of further sequences, the
gradients for the rows of traces and stacks. Its state is the gradients of the states: for a carried
argument that reads up to k rows back, those of the k rows before the current one, since any of them
may still receive terms. The gradients of captured values are sums over the steps; those of the rows
of sequences are stacked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import GradientError
from phintys.control.branches import IfElse
from phintys.control.loop_derivatives.derived_loops import DerivedLoop
from phintys.control.loop_derivatives.pending_gradients import pending_gradients
from phintys.control.loop_derivatives.residuals import find_residuals, reads_shape_only
from phintys.control.loop_derivatives.segments import (
    MANY,
    MEGABYTE,
    bytes_when_run,
    plan_memory,
    pull_back_segments,
)
from phintys.control.loop_derivatives.step_gradients import StepGradients, is_null, is_value
from phintys.gradient.arithmetic import sum_of, zero_like
from phintys.graph.cloning import clone_node_and_cache
from phintys.graph.equality import equal_computations
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.null_type import DisconnectedType, disconnected_type
from phintys.graph.traversal import general_toposort
from phintys.graph.variable import Constant, Variable
from phintys.scalar.type import ScalarType
from phintys.tensor import math
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.indexing import set_subtensor
from phintys.tensor.known import known_int
from phintys.tensor.shapes import specify_shape
from phintys.tensor.sizes import clip_size, fold, subtract_sizes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.control.loop_derivatives.pending_gradients import Pending
    from phintys.control.loop_derivatives.residuals import Residuals
    from phintys.control.loop_derivatives.step_gradients import Stack, StateGradients
    from phintys.control.loops.arguments import LoopArguments, Outputs
    from phintys.control.loops.loop_op import LoopOp

_NOT_TRUNCATED = (
    "The gradient of {op} cannot be truncated: it needs the states that its generators have in all "
    "steps, to draw again. Draw before the loop, pass the draws as a sequence, and give no "
    "checkpoint."
)

_NOT_KEPT = (
    "The gradient of {op} needs the value that {variable} (type {variable.type}) has in every "
    "step, which the forward pass does not keep. Give the loop checkpoint=1, and report this."
)


MOST_BESIDE = 16 * MEGABYTE
"""Up to how many bytes values are kept that a step computes almost for nothing: what caches hold.
Beyond, reading them takes as long as computing them again."""

_ALL = 2**62  # rows of a value


def pull_back_loop(
    op: LoopOp, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
) -> list[Any]:
    """Return the gradients for the inputs of a loop; see ``Scan.L_op``."""
    step = StepGradients(op, inputs, outputs, output_grads)
    results = op.arguments.node_outputs(outputs)
    n = inputs[0] if results.ran is None else results.ran
    kept = find_residuals(op, step.expressions, step.seeds, known_int(n))
    plan = plan_memory(op, inputs, n, step, kept)
    if isinstance(plan.every, int) and plan.every == 1:
        kept = find_residuals(op, step.expressions, step.seeds, known_int(n), keep=False)
        if not kept.needs_segments:
            plan.every = None
    if kept.needs_segments and op.truncate_gradient >= 0:
        raise GradientError(_NOT_TRUNCATED.format(op=op))
    if plan.every is None:
        forward = _Forward(op, inputs, outputs, kept)
        found = _Backward(op, inputs, forward, step).gradients()
    else:
        found = pull_back_segments(op, inputs, n, step, plan)
    for position, row in enumerate(op.connections):
        is_reached = any(
            connected and not isinstance(g.type, DisconnectedType)
            for connected, g in zip(row, output_grads, strict=True)
        )
        if found[position] is None:
            is_zero = is_reached and isinstance(inputs[position].type, TensorType)
            found[position] = zero_like(inputs[position]) if is_zero else disconnected_type()
    return found


class _Forward:
    """The values that the forward pass leaves, as sequences in reverse order.

    Parameters
    ----------
    op
        The loop.
    inputs, outputs
        Those of its node.
    kept
        What the backward pass needs. If the node does not return it, another one does.

    Attributes
    ----------
    rows
        For each variable of a step that is kept, what returns its rows.
    beside
        Rows of variables that are kept only if there is room.
    room
        Whether there is, when the gradient runs.
    """

    def __init__(
        self, op: LoopOp, inputs: Sequence[Any], outputs: Sequence[Any], kept: Residuals
    ) -> None:
        arguments, inner, made = op.arguments, op.step_inputs, op.step_outputs
        given, results = arguments.node_inputs(inputs), arguments.node_outputs(outputs)
        self.n: Any = given.n if results.ran is None else results.ran
        self.is_single = known_int(self.n) == 1
        taps = list(arguments.taps)
        carried, new_rows = list(inner.carried), list(made.carried)
        stacked = list(made.stacked)
        traces, stacks = results.carried, results.stacked
        self.room, beside = _room_for(op, inputs, self.n, kept.beside)
        saved = list(kept.saved)
        if self.room is None:
            saved, beside = [*saved, *beside], []
        if saved or kept.traced or beside:
            taps += [(-1,)] * len(kept.traced)
            carried += [[inner.untraced[number]] for number in kept.traced]
            new_rows += [made.untraced[number] for number in kept.traced]
            stacked += saved
            again = _run_again(op, inputs, results, kept.traced, saved, beside, self.room)
            traces, stacks = again.carried, again.stacked
        self.rows: dict[Variable, Callable[[], Any]] = {}
        self._state_of = dict(zip(inner.untraced, given.untraced, strict=True))
        for row, x in zip(inner.sequences, given.sequences, strict=True):
            self._offer(row, lambda x=x: self._first_rows(x))
        for rows, which, trace in zip(carried, taps, traces, strict=True):
            for row, tap in zip(rows, which, strict=True):
                self._offer(row, lambda x=trace, a=tap - which[0], b=tap: x[a:b])
        for row, which, trace in zip(new_rows, taps, traces, strict=True):
            self._offer(row, lambda x=trace, k=-which[0]: x[k:])
        always = len(stacked)
        for row, x in zip(stacked, stacks[:always], strict=True):
            self._offer(row, lambda x=x: x)
        self.beside = dict(zip(beside, stacks[always:], strict=True))

    def _offer(self, row: Variable, rows: Callable[[], Any]) -> None:
        self.rows.setdefault(row, lambda: rows()[::-1])

    def _first_rows(self, x: Any) -> Any:
        return x if is_length_of(self.n, x) else x[: self.n]

    def like(self, variable: Variable) -> Any:
        """Return a value of the same shape as a state in all steps."""
        return self._state_of[variable]


def _room_for(
    op: LoopOp, inputs: Sequence[Any], n: Any, beside: Sequence[Variable]
) -> tuple[Any, list[Variable]]:
    """Return which values there may be room for, and whether there is, when the gradient runs.

    ``None`` stands for a yes that is known before.
    """
    pairs = zip(beside, bytes_when_run(op, inputs, beside), strict=True)
    found = {value: size for value, size in pairs if size is not None}
    total: Any = sum(found.values())
    steps = known_int(n)
    if isinstance(total, float | int):
        if total * (MANY if steps is None else steps) <= MOST_BESIDE:
            return None, list(found)
        if steps is not None:
            return None, []
    return math.le(math.mul(math.cast(n, "float64"), total), float(MOST_BESIDE)), list(found)


def _run_again(
    op: LoopOp,
    inputs: Sequence[Any],
    results: Outputs[Any],
    traced: Sequence[int],
    saved: Sequence[Variable],
    beside: Sequence[Variable],
    room: Any,
) -> Outputs[Any]:
    """Return the results of a loop that also keeps what its gradient needs.

    Rewrites merge it with the first one. If the condition of a loop has ended it before it had
    any traces, its number of steps may have no bound; so it runs as many as the first one did.
    """
    arguments, inner, made = op.arguments, op.step_inputs, op.step_outputs
    given = arguments.node_inputs(inputs)
    others = [i for i in range(arguments.untraced) if i not in traced]
    has_until = arguments.has_until and bool(arguments.taps or arguments.stacked)
    kinds = type(arguments)(
        sequences=arguments.sequences,
        taps=(*arguments.taps, *([(-1,)] * len(traced))),
        untraced=len(others),
        stacked=arguments.stacked + len(saved) + len(beside),
        captured=arguments.captured + (1 if beside else 0),
        has_until=has_until,
    )
    rows = [row for group in inner.carried for row in group]
    step_inputs = [inner.index, *inner.sequences, *rows]
    step_inputs += [inner.untraced[i] for i in (*traced, *others)]
    step_inputs += inner.captured
    step_outputs = [*made.carried, *(made.untraced[i] for i in (*traced, *others))]
    step_outputs += [*made.stacked, *saved]
    if beside:
        most: Any = TensorType("int64", ())()
        step_inputs.append(most)
        step_outputs += [value[:most] for value in cast("Any", beside)]
    if has_until and made.until is not None:
        step_outputs.append(made.until)
    n = given.n if has_until or results.ran is None else results.ran
    outer = [n, *given.sequences, *given.carried]
    outer += [expand_dims(given.untraced[i], 0) for i in traced]
    outer += [given.untraced[i] for i in others]
    outer += given.captured
    if beside:
        outer.append(math.switch(room, _ALL, 0))
    again = op.with_step(FunctionGraph(step_inputs, step_outputs), kinds)
    return kinds.node_outputs(again(*outer, return_list=True))


class _Backward:
    """The backward loop.

    Parameters
    ----------
    op
        The loop.
    inputs
        Those of its node.
    forward
        What its steps computed.
    step
        The gradients of one step.
    """

    def __init__(
        self, op: LoopOp, inputs: Sequence[Any], forward: _Forward, step: StepGradients
    ) -> None:
        self._op = op
        self._inner = op.step_inputs
        self._given = op.arguments.node_inputs(inputs)
        self._forward = forward
        self._step = step
        self._n = n = forward.n
        truncate = op.truncate_gradient
        known = known_int(n)
        self._is_truncated = truncate >= 0 and not (known is not None and known <= truncate)
        self._steps: Any = clip_size(fold(n), None, truncate) if self._is_truncated else n
        self._loop = DerivedLoop(self._steps)
        self._equiv: dict[Any, Any] = {}
        self._outside = dict(zip(self._inner.captured, self._given.captured, strict=True))

    def gradients(self) -> list[Any]:
        """Return the gradients for the inputs of the node; ``None`` where there is none."""
        pending = [self._receive(state) for state in self._step.states]
        for each in self._step.stacks:
            self._receive_stacked(each)
        self._copy()
        received = [
            [self._copied(self._step.found[row]) for row in state.rows]
            for state in self._step.states
        ]
        for rule, gradients in zip(pending, received, strict=True):
            if rule is not None:
                rule.pass_on(gradients)
        rows = [self._stack(row) for row in self._inner.sequences]
        sums = [self._add_up(value) for value in self._inner.captured]
        results: Any = None
        if not self._loop.is_empty:
            results = self._loop.build(self._make)
        found = [None]
        found += [
            self._of_sequence(x, self._step.found[row], number, results)
            for x, row, number in zip(
                self._given.sequences, self._inner.sequences, rows, strict=True
            )
        ]
        found += [
            self._of_state(state, rule, results)
            for state, rule in zip(self._step.states, pending, strict=True)
        ]
        found += [
            gradient if is_null(gradient) else None if number is None else results.untraced[number]
            for gradient, number in zip(
                (self._step.found[value] for value in self._inner.captured), sums, strict=True
            )
        ]
        return found

    def _make(self, fgraph: FunctionGraph, arguments: LoopArguments) -> LoopOp:
        op = self._op
        return type(op)(fgraph, arguments, f"gradient of {op}", checkpoint=op.checkpoint)

    # ---- what a step receives ------------------------------------------------------------------

    def _receive(self, state: StateGradients) -> Pending | None:
        """Set the gradient of a state's new row."""
        rule: Pending | None = None
        terms: list[Variable] = []
        is_wanted = state.null is None and (state.is_live or state.given.last is not None)
        if is_wanted and isinstance(state.new.type, TensorType | ScalarType):
            rule = pending_gradients(state, self._loop)
            terms += rule.terms
        if state.given.rows is not None and state.null is None:
            given: Any = state.given.rows
            terms.append(self._loop.sequence(state.seed.type, given[state.depth :][::-1]))
        if terms:
            self._equiv[state.seed] = sum_of(terms)
        return rule

    def _receive_stacked(self, each: Stack) -> None:
        """Set the gradient of a stacked row."""
        terms: list[Variable] = []
        given: Any = each.given.rows
        if given is not None:
            terms.append(self._loop.sequence(each.seed.type, given[::-1]))
        if each.given.last is not None:  # in the first step of the backward loop only
            number, value = self._loop.untraced(each.seed.type, each.given.last)
            self._loop.set_value(number, zero_like(value))
            terms.append(value)
        self._equiv[each.seed] = sum_of(terms)

    # ---- what it computes ----------------------------------------------------------------------

    def _copy(self) -> None:
        """Copy the gradients of a step into the backward loop."""
        equiv = self._equiv
        for item in general_toposort(self._step.expressions, self._read_by):
            variable: Variable = item
            if variable in equiv:
                continue
            available = self._available(variable)
            if available is not None:
                equiv[variable] = available
                continue
            node = variable.owner
            if node is None:
                raise GradientError(_NOT_KEPT.format(op=self._op, variable=variable))
            for read in node.inputs:
                if read not in equiv:  # a state of which only the shape is read
                    equiv[read] = self._loop.captured(self._forward.like(read), read.type)
            clone_node_and_cache(node, equiv)
            if variable in self._forward.beside:
                equiv[variable] = self._kept_or(variable, equiv[variable])

    def _kept_or(self, variable: Variable, recomputed: Any) -> Any:
        """Return a value of the forward pass: the one kept, if there was room for it."""
        rows: Any = self._forward.beside[variable]
        kept = self._loop.sequence(rows.type.clone(shape=rows.type.shape[1:]), rows[::-1])
        like = recomputed.owner.inputs[0]
        sizes = [like.shape[d] if n is None else n for d, n in enumerate(recomputed.type.shape)]
        return IfElse(1)(
            self._loop.captured(self._forward.room), specify_shape(kept, sizes), recomputed
        )

    def _read_by(self, variable: Variable) -> list[Variable]:
        """Return the variables that must be copied before another."""
        node = variable.owner
        if node is None or variable in self._equiv or variable in self._forward.rows:
            return []
        return [
            v
            for position, v in enumerate(node.inputs)
            if not (reads_shape_only(node, position) and self._is_lost(v))
        ]

    def _is_lost(self, variable: Variable) -> bool:
        """Return whether a variable is an untraced value that is not kept."""
        return variable in self._inner.untraced and variable not in self._forward.rows

    def _available(self, variable: Variable) -> Variable | None:
        """Return the counterpart in the backward loop of a variable that is available there."""
        if isinstance(variable, Constant):
            return variable
        if variable is self._inner.index:
            last = math.sub(self._loop.captured(self._n), 1)
            return math.sub(last, self._loop.index)
        if self._forward.is_single and variable in self._inner.untraced:
            return self._loop.captured(self._forward.like(variable), variable.type)
        if variable in self._outside:
            return self._loop.captured(self._outside[variable], variable.type)
        rows = self._forward.rows.get(variable)
        return None if rows is None else self._loop.sequence(variable.type, rows())

    def _copied(self, gradient: Any) -> Variable | None:
        return self._equiv[gradient] if is_value(gradient) else None

    def _stack(self, row: Variable) -> int | None:
        gradient = self._copied(self._step.found[row])
        return None if gradient is None else self._loop.stack(gradient)

    def _add_up(self, value: Variable) -> int | None:
        """Sum the gradients of a captured value over the steps."""
        gradient = self._copied(self._step.found[value])
        if gradient is None:
            return None
        zero = zero_like(self._outside[value])
        type_ = value.type
        if isinstance(type_, TensorType):
            type_ = type_.clone(dtype=gradient.type.dtype)  # pyright: ignore[reportAttributeAccessIssue]
        number, total = self._loop.untraced(type_, zero)
        self._loop.set_value(number, sum_of([total, gradient]))
        return number

    # ---- results -------------------------------------------------------------------------------

    def _of_sequence(self, x: Any, gradient: Any, number: int | None, results: Any) -> Any:
        if is_null(gradient) or number is None:
            return gradient if is_null(gradient) else None
        rows = results.stacked[number][::-1]
        if not self._is_truncated and is_length_of(self._n, x):
            return rows
        start = subtract_sizes(fold(self._n), self._steps) if self._is_truncated else None
        zero: Any = zero_like(x)
        return set_subtensor(zero[start : self._n], rows)

    def _of_state(self, state: StateGradients, rule: Pending | None, results: Any) -> Any:
        if state.null is not None:
            return state.null
        terms: list[Any] = []
        if rule is not None:
            value = rule.gradient(results)
            if self._is_truncated:
                value = self._of_early_rows(state, value)
            terms.append(value)
        given: Any = state.given.rows
        if given is not None:
            terms.append(given[: state.depth])
        return sum_of(terms) if terms else None

    def _of_early_rows(self, state: StateGradients, pending: Any) -> Any:
        """Return the gradient of the first rows or value, if the loop may end early.

        What is pending then belongs to later rows, some of which may be among the first ones.
        """
        left: Any = subtract_sizes(fold(self._n), self._steps)
        zero: Any = zero_like(pending)
        if not state.is_carried:
            return math.switch(math.gt(left, 0), zero, pending)
        skipped = clip_size(left, None, state.depth)
        return set_subtensor(zero[skipped:], pending[: subtract_sizes(state.depth, skipped)])


def is_length_of(n: Variable, x: Any) -> bool:
    """Return whether a number of steps is known to be the number of rows of a tensor."""
    rows = x.type.shape[0]
    if rows is not None:
        return known_int(n) == rows
    return equal_computations([n], [x.shape[0]])
