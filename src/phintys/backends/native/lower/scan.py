"""Lowering of Scan: a loop of steps, whose rows are written where they are returned."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys._base.errors import ArgumentError
from phintys.backends.native.dependence import arrays_written, varies
from phintys.backends.native.expressions import (
    Expression,
    Literal,
    Operation,
    SizeValue,
    Statement,
)
from phintys.backends.native.failures import Failure, StepsFailure
from phintys.backends.native.kernels.fusion import fuse
from phintys.backends.native.kernels.statements import prune
from phintys.backends.native.limits import LATEST_IN_REGISTERS
from phintys.backends.native.lower.graph import lower_nodes
from phintys.backends.native.lower.lowering import (
    Lowering,
    NotLowered,
    lowers,
    require_lengths_before,
)
from phintys.backends.native.lower.rows_in_place import RowCopy, written_in_place
from phintys.backends.native.lower.view import View
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.values import Array, LoopVariable, Place
from phintys.control.loops.scan_op import Scan
from phintys.control.loops.stepping import FEWER_ROWS, NEGATIVE, StepCount
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.tensor.elemwise import Elemwise

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from phintys.backends.native.program import Step
    from phintys.backends.native.sizes import Size
    from phintys.control.loops.arguments import StepInputs, StepOutputs
    from phintys.graph.variable import Variable

_BOOL = np.dtype("bool")


_TOO_MANY = "No memory holds the rows of so many steps of a loop. Give fewer steps."


@lowers(Scan)
def lower_scan(op: Scan, node: Apply, lowering: Lowering) -> None:
    """``for t < n: trace[t + k], state, stack[t] = step(t, x[t], trace[t + k + tap], state)``."""
    if not all(value.type.holds_arrays for value in op.step_inputs.untraced):
        msg = "its steps carry objects that are not arrays"
        raise NotLowered(msg)
    _Steps(op, node, lowering).lower()


@lowers(StepCount)
def lower_step_count(op: StepCount, node: Apply, lowering: Lowering) -> None:
    """The same number, after the check of a loop."""
    view = lowering.view(node.inputs[0])
    a, b = (lowering.size_of(variable) for variable in node.inputs[1:])
    if op.sequence is None:
        _require_count(a, node, lowering)
    else:
        _require_rows(a, b, op.sequence, node, lowering)
    lowering.bind(node.outputs[0], view)


def _require_count(count: Size, node: Apply, lowering: Lowering) -> None:
    failure = StepsFailure(node, "steps", NEGATIVE.format(n="{1}"), ArgumentError)
    lowering.require_equal(lowering.sizes.at_least_zero(count), count, failure)


def _require_rows(rows: Size, count: Size, number: int, node: Apply, lowering: Lowering) -> None:
    detail = FEWER_ROWS.format(number=number, n="{1}", rows="{0}")
    least = lowering.sizes.arithmetic("min", count, rows)
    lowering.require_equal(least, count, StepsFailure(node, "steps", detail))


class _Steps:
    """Lowers one loop.

    Parameters
    ----------
    op, node
        The loop.
    lowering
        The state of lowering.
    """

    def __init__(self, op: Scan, node: Apply, lowering: Lowering) -> None:
        self.op = op
        self.node = node
        self.lowering = lowering
        self.sizes = lowering.sizes
        self.arguments = op.arguments
        self.given = self.arguments.node_inputs(node.inputs)
        self.results: Any = self.arguments.node_outputs(node.outputs)
        self.count = lowering.size_of(self.given.n)
        depth = lowering.bases.depth
        self.counter = LoopVariable(self.count, f"step{depth}" if depth else "step")
        self.traces: list[View] = []
        self.latest: list[list[View]] = []
        """For carried numbers the last ones, latest first; empty for other rows."""
        self.states: list[View] = []
        self.stacks: list[View] = []
        self.copies: list[RowCopy] = []
        """The copies of rows in a step."""

    def lower(self) -> None:
        """Add the steps of the loop, and bind its outputs."""
        lowering = self.lowering
        self.traces = list(map(self._trace, self.given.carried, self.results.carried))
        self.latest = list(map(self._latest, self.traces, self.arguments.depths))
        self.states = list(map(self._state, self.given.untraced, self.results.untraced))
        ran = self._single(np.dtype("int64")) if self.arguments.has_until else None
        # A copy, since variables are bound to values once, and other nodes may have the same Op.
        fgraph = FunctionGraph(self.op.inner_inputs, self.op.inner_outputs)
        inner = self.arguments.step_inputs(fgraph.inputs)
        captured = [lowering.view(v) for v in self.given.captured if v.type.holds_arrays]
        with lowering.steps_of_loop(captured) as steps:
            self._bind(inner)
            lower_nodes(fgraph, lowering)
            made = self.arguments.step_outputs([lowering.view(v) for v in fgraph.outputs])
            until = None if made.until is None else self._condition(made.until)
            self._store(made)
            if ran is not None:
                following = self.sizes.add(self.sizes.counter(self.counter), self.sizes.fixed(1))
                lowering.store(ran, SizeValue(following), (), nodes=(self.node,))
            kept = {view.array for view in (*self.traces, *self.states, *self.stacks)}
            kept |= {view.array for latest in self.latest for view in latest}
            kept |= {view.array for view in (ran, until) if view is not None}
            placed = written_in_place(prune(steps, kept), self.copies, kept, self.sizes)
            body = fuse(placed, self.sizes, kept)
        made_once = _made_once(body, self._carried())
        body = [step for step in body if step not in made_once]
        loop = Loop(
            self.count,
            self.counter,
            body,
            until=None if until is None else until.array,
            node=self.node,
            own_rows=self._own_rows(fgraph),
            sums=tuple([view.array for view in self.states]),
        )
        require_lengths_before(loop, "a step computes")
        self._check_lengths()
        self._begin(ran)
        lowering.steps += [*made_once, loop]
        self._bind_results(ran)

    def _own_rows(self, fgraph: FunctionGraph) -> tuple[Array, ...] | None:
        """Return the memory of all rows if no step depends on another, else ``None``.

        Steps may add to states, which nothing else reads.
        """
        if self.traces or self.arguments.has_until:
            return None
        values = self.arguments.step_inputs(fgraph.inputs).untraced
        made = self.arguments.step_outputs(fgraph.outputs).untraced
        if not all(_is_sum(value, new, fgraph) for value, new in zip(values, made, strict=True)):
            return None
        return tuple([view.array for view in self.stacks])

    def _carried(self) -> set[Array]:
        """Return the memory that holds first values before the loop, and others after a step."""
        numbers = (number for latest in self.latest for number in latest)
        return {view.array.memory for view in (*self.traces, *self.states, *numbers)}

    # ---- before the loop -------------------------------------------------------------------------

    def _check_lengths(self) -> None:
        """Check that the number of steps is not negative, and that sequences have enough rows."""
        lowering, sizes, node = self.lowering, self.sizes, self.node
        _require_count(self.count, node, lowering)
        for number, sequence in enumerate(self.given.sequences):
            _require_rows(lowering.view(sequence).sizes[0], self.count, number, node, lowering)
        conditions = [
            sizes.overflow("total", [self.count, sizes.fixed(depth)])
            for depth in self.arguments.depths
        ]
        conditions += [
            sizes.overflow("volume", view.sizes, view.array.dtype.itemsize)
            for view in (*self.traces, *self.stacks)
        ]
        for fits in conditions:
            if fits is not None:
                lowering.require(fits, StepsFailure(node, "steps", _TOO_MANY, MemoryError))

    def _trace(self, first: Variable, variable: Any) -> View:
        """Return memory for all rows of a carried argument."""
        depth, *row = self.lowering.view(first).sizes
        lengths = (self.sizes.add(self.count, depth), *row)
        array = self.lowering.array(variable.type.numpy_dtype, lengths, variable=variable)
        return View.of(array, self.sizes)

    def _latest(self, trace: View, depth: int) -> list[View]:
        """Return memory for the last rows, if they are numbers, which can be in registers."""
        if trace.ndim > 1 or depth > LATEST_IN_REGISTERS:
            return []
        return [self._single(trace.array.dtype) for _ in range(depth)]

    def _state(self, first: Variable, variable: Any) -> View:
        """Return memory for an untraced value."""
        lengths = self.lowering.view(first).sizes
        array = self.lowering.array(variable.type.numpy_dtype, lengths, variable=variable)
        return View.of(array, self.sizes)

    def _begin(self, ran: View | None) -> None:
        """Store the first rows and values."""
        lowering, sizes = self.lowering, self.sizes
        zero, one = sizes.fixed(0), sizes.fixed(1)
        for first, trace, latest in zip(self.given.carried, self.traces, self.latest, strict=True):
            given = lowering.view(first)
            self._copy(given, trace.sliced(0, zero, one, given.sizes[0], sizes))
            for back, number in enumerate(latest, 1):
                self._copy(given.picked(0, sizes.fixed(len(latest) - back), sizes), number)
        for first, state in zip(self.given.untraced, self.states, strict=True):
            self._copy(lowering.view(first), state)
        if ran is not None:
            lowering.store(ran, SizeValue(sizes.fixed(0)), (), nodes=(self.node,))

    def _single(self, dtype: np.dtype[Any]) -> View:
        return View.of(self.lowering.array(dtype, ()), self.sizes)

    def _copy(self, source: View, target: View) -> None:
        lowering = self.lowering
        loops = lowering.loops(target.sizes)
        lowering.store(target, lowering.load(source, loops), loops, nodes=(self.node,))

    def _keep(self, value: View, target: View, place: Size | None = None) -> None:
        """Copy a value of a step to its row or state; products may write there without a copy."""
        self._copy(value, target)
        statement = self.lowering.steps[-1]
        if isinstance(statement, Statement) and statement.target is target.array:
            self.copies.append(RowCopy(statement, value, target.array, place))

    # ---- a step ----------------------------------------------------------------------------------

    def _bind(self, inner: StepInputs[Variable]) -> None:
        """Bind what a step reads."""
        lowering, sizes = self.lowering, self.sizes
        number = sizes.counter(self.counter)
        index = self._single(np.dtype("int64"))
        lowering.remember(index.array, 0, number)
        lowering.store(index, SizeValue(number), ())
        lowering.bind(inner.index, index)
        for row, sequence in zip(inner.sequences, self.given.sequences, strict=True):
            lowering.bind(row, lowering.view(sequence).picked(0, number, sizes))
        for rows, taps, trace, latest in zip(
            inner.carried, self.arguments.taps, self.traces, self.latest, strict=True
        ):
            for row, tap in zip(rows, taps, strict=True):
                if latest:
                    lowering.bind(row, latest[-tap - 1])
                    continue
                place = sizes.add(number, sizes.fixed(tap - taps[0]))
                lowering.bind(row, trace.picked(0, place, sizes))
        for value, state in zip(inner.untraced, self.states, strict=True):
            lowering.bind(value, state)
            lowering.bases.own(state.array)
        for value, outer in zip(inner.captured, self.given.captured, strict=True):
            lowering.bind_same(value, outer)

    def _condition(self, view: View) -> View:
        """Return whether the loop ends after this step, as a single bool."""
        lowering = self.lowering
        value: Expression = lowering.load(view, ())
        if value.dtype != _BOOL:
            value = Operation(ps.ne, (value, Literal(value.dtype.type(0), value.dtype)), _BOOL)
        truth = self._single(_BOOL)
        lowering.store(truth, value, (), nodes=(self.node,))
        return truth

    def _store(self, made: StepOutputs[View]) -> None:
        """Store what a step has computed; states last, when nothing reads them any more."""
        sizes, arguments = self.sizes, self.arguments
        number = sizes.counter(self.counter)
        for at, (row, trace) in enumerate(zip(made.carried, self.traces, strict=True)):
            place = sizes.add(number, sizes.fixed(arguments.depths[at]))
            target = trace.picked(0, place, sizes)
            self._check_alike(row, target.sizes, f"the row of carried argument {at}")
            self._keep(row, target, place)
        for row, variable in zip(made.stacked, self.results.stacked, strict=True):
            array = self.lowering.array(
                variable.type.numpy_dtype, (self.count, *row.sizes), variable=variable
            )
            stack = View.of(array, sizes)
            self.stacks.append(stack)
            self._keep(row, stack.picked(0, number, sizes), number)
        for at, (value, state) in enumerate(zip(made.untraced, self.states, strict=True)):
            self._check_alike(value, state.sizes, f"state {at}")
        pairs = [
            (value, state)
            for value, state in zip(made.untraced, self.states, strict=True)
            if not (value.array is state.array and value.is_whole(sizes))
        ]
        for row, latest in zip(made.carried, self.latest, strict=True):
            pairs += zip((row, *latest), latest, strict=False)
        overwritten = {state.array for state in self.states}
        overwritten |= {number.array for latest in self.latest for number in latest}
        settled = [
            self.lowering.copied(value, self.node) if value.array.memory in overwritten else value
            for value, _ in pairs
        ]
        for value, (_, state) in zip(settled, pairs, strict=True):
            self._keep(value, state)

    def _check_alike(self, view: View, wanted: Sequence[Size], what: str) -> None:
        """Check that what a step has computed has the shape that the next one expects."""
        for dim, (given, size) in enumerate(zip(view.sizes, wanted, strict=True)):
            detail = (
                f"a step gives {what} the length {{0}} in dimension {dim}, where it had {{1}}. "
                "Shapes must be the same in all steps"
            )
            failure = Failure(self.node, "changed", detail, text="{op}: {detail}.")
            self.lowering.require_equal(given, size, failure)

    # ---- after the loop --------------------------------------------------------------------------

    def _bind_results(self, ran: View | None) -> None:
        """Bind the outputs of the node: if a condition has ended the loop, to the first rows."""
        lowering, sizes = self.lowering, self.sizes
        steps = self.count
        if ran is not None:
            lowering.bind(self.results.ran, ran)
            steps = lowering.element(ran, ())
            # It is read from memory, so that nothing else says what it may be.
            lowering.require_length(steps, Failure(self.node, "negative", "the number of steps"))
        for variable, trace, depth in zip(
            self.results.carried, self.traces, self.arguments.depths, strict=True
        ):
            self._bind_rows(variable, trace, sizes.add(steps, sizes.fixed(depth)))
        for variable, state in zip(self.results.untraced, self.states, strict=True):
            lowering.bind(variable, state)
        for variable, stack in zip(self.results.stacked, self.stacks, strict=True):
            self._bind_rows(variable, stack, steps)

    def _bind_rows(self, variable: Variable, rows: View, count: Size) -> None:
        sizes = self.sizes
        if self.arguments.has_until:
            rows = rows.sliced(0, sizes.fixed(0), sizes.fixed(1), count, sizes)
        self.lowering.bind(variable, rows, is_part=True)


def _is_sum(state: Variable, new: Variable, fgraph: FunctionGraph) -> bool:
    """Return whether a step only adds to a state of floats."""
    node, dtype = new.owner, getattr(new.type, "numpy_dtype", None)
    if node is None or dtype is None or dtype.kind not in "fc" or state.type.dtype != dtype:  # pyright: ignore[reportAttributeAccessIssue]
        return False
    if [client for client, _ in fgraph.clients[state]] != [node] or len(fgraph.clients[new]) > 1:
        return False
    return isinstance(node.op, Elemwise) and node.op.scalar_op is ps.add


def _made_once(body: Sequence[Step], carried: Collection[Array]) -> dict[Step, None]:
    """Return the kernels that compute the same in each pass, such as an identity matrix.

    They read nothing but each other's results: what they would read of other memory may only be
    there after the checks in the loop. They write nothing that is carried, even if all steps make
    it the same: the first step reads what was there before the loop.
    """
    writers = Counter(array for step in body for array in set(arrays_written(step)))
    written = set(writers)
    found: dict[Step, None] = {}
    made: set[Array] = set()
    for step in body:
        if not isinstance(step, Kernel) or step.may_fail:
            continue
        mine = set(arrays_written(step))
        if (
            all(array.place == Place.BUFFER and writers[array] == 1 for array in mine)
            and not any(array.memory in carried for array in mine)
            and made.issuperset(array.memory for array in step.reads())
            and not any(varies(size, written) for size in step.sizes())
            and not any(one.accumulate for one in step.statements)
        ):
            found[step] = None
            made |= mine
    return found
