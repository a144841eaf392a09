"""Running the steps of a Scan in Python, and checks of their number that remain without it."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError, add_note
from phintys.tensor.size_check import SizeCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.control.loops.arguments import Inputs
    from phintys.control.loops.loop_op import LoopOp
    from phintys.graph.apply import Apply
    from phintys.graph.inner import InnerProgram


NEGATIVE = "A loop cannot have {n} steps. Give a number of steps that is not negative."
"""What is wrong with a number of steps."""

FEWER_ROWS = (
    "Sequence {number} of a loop of {n} steps has {rows} rows. It needs a row for each step: pass "
    "a longer sequence, or fewer steps."
)
"""What is wrong with a sequence."""


def run_steps(op: LoopOp, program: InnerProgram, node: Apply, inputs: Sequence[Any]) -> list[Any]:
    """Return the values of the outputs of a loop.

    Parameters
    ----------
    op
        The loop.
    program
        Computes a step.
    node
        The node of the loop.
    inputs
        The values of its inputs.
    """
    steps = _Steps(op, op.arguments.node_inputs(inputs))
    steps.run(program)
    return steps.results(node)


class _Steps:
    """The values of a loop, after some of its steps.

    Parameters
    ----------
    op
        The loop.
    given
        The values of its inputs.
    """

    def __init__(self, op: LoopOp, given: Inputs[Any]) -> None:
        self._op = op
        self._given = given
        self._n = _checked_count(int(given.n), given.sequences)
        self._traces = [list(map(np.asarray, first)) for first in given.carried]
        self._untraced = list(given.untraced)
        self._stacks: list[list[Any]] = [[] for _ in range(op.arguments.stacked)]
        self._ran = 0

    def run(self, program: InnerProgram) -> None:
        """Run the steps, until there are n or the condition is true."""
        is_over = False
        while self._ran < self._n and not is_over:
            made = self._op.arguments.step_outputs(self._step(program))
            self._keep(made)
            self._ran += 1
            is_over = made.until is not None and bool(made.until)

    def _step(self, program: InnerProgram) -> Sequence[Any]:
        """Return the results of the next step; an error gets a note of its number."""
        try:
            return program(self._values())
        except Exception as error:
            add_note(error, self._op.note_of_step(self._ran))
            raise

    def _values(self) -> list[Any]:
        """Return the inputs of the next step."""
        at = self._ran
        values = [np.asarray(at, "int64")]
        values += [np.asarray(x[at]) for x in self._given.sequences]
        for trace, taps in zip(self._traces, self._op.arguments.taps, strict=True):
            values += [trace[tap] for tap in taps]
        return [*values, *self._untraced, *self._given.captured]

    def _keep(self, made: Any) -> None:
        """Store what a step computed."""
        for number, (trace, row) in enumerate(zip(self._traces, made.carried, strict=True)):
            self._check(row, trace[0], f"the row of carried argument {number}")
            trace.append(np.array(row))
        for number, (old, new) in enumerate(zip(self._untraced, made.untraced, strict=True)):
            if isinstance(old, np.ndarray):
                self._check(new, old, f"state {number}")
        self._untraced = [
            deepcopy(value) if is_shared else value
            for value, is_shared in zip(made.untraced, self._op.returns_input, strict=True)
        ]
        for number, (stack, row) in enumerate(zip(self._stacks, made.stacked, strict=True)):
            if stack:
                self._check(row, stack[0], f"stacked row {number}")
            stack.append(np.array(row))

    def _check(self, new: Any, old: Any, what: str) -> None:
        if np.shape(new) == np.shape(old):
            return
        msg = (
            f"In step {self._ran} of {self._op}, {what} has the shape {np.shape(new)}; it had "
            f"{np.shape(old)} before. Shapes must be the same in all steps."
        )
        raise ShapeError(msg)

    def results(self, node: Apply) -> list[Any]:
        """Return the values of the outputs."""
        arguments = self._op.arguments
        untraced = self._untraced if self._ran else list(map(deepcopy, self._untraced))
        found = [*map(np.stack, self._traces), *untraced]
        if self._ran:
            found += map(np.stack, self._stacks)
        elif self._stacks:
            found += self._empty(node)
        if arguments.has_until:
            found.append(np.asarray(self._ran, "int64"))
        return found

    def _empty(self, node: Apply) -> list[Any]:
        """Return stacks of no rows, of the shape that a first step would have given them."""
        given = self._given
        values = [np.asarray(0, "int64")]
        values += [np.zeros(x.shape[1:], x.dtype) for x in given.sequences]
        for trace, taps in zip(self._traces, self._op.arguments.taps, strict=True):
            values += [trace[tap] for tap in taps]
        shapes = self._op.row_sizes([*values, *given.untraced, *given.captured])
        variables: list[Any] = self._op.arguments.node_outputs(node.outputs).stacked
        return [
            np.zeros((0, *shape), variable.type.numpy_dtype)
            for variable, shape in zip(variables, shapes, strict=True)
        ]


def _checked_count(n: int, sequences: Sequence[Any]) -> int:
    if n < 0:
        raise ArgumentError(NEGATIVE.format(n=n))
    for number, sequence in enumerate(sequences):
        if len(sequence) < n:
            msg = FEWER_ROWS.format(number=number, n=n, rows=len(sequence))
            raise ShapeError(msg)
    return n


class StepCount(SizeCheck):
    """Return a number of steps, after a check that a loop makes before its first step.

    The inputs are the number of steps n, and two integers, of which the first must not be less than
    the second: n and 0, or the number of rows of a sequence and n.

    Parameters
    ----------
    sequence
        The number of the sequence; ``None`` for the check that n is not negative.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control.loops.stepping import StepCount
    >>> n = pt.lscalar("n")
    >>> StepCount()(n, n, 0).eval({n: 3})
    array(3)
    """

    __props__ = ("sequence",)

    def __init__(self, sequence: int | None = None) -> None:
        super().__init__("at least", "The number of steps of a loop")
        self.sequence = sequence

    def error(self, a: int, b: int) -> Exception:
        """Return the error of the loop."""
        if self.sequence is None:
            return ArgumentError(NEGATIVE.format(n=a))
        return ShapeError(FEWER_ROWS.format(number=self.sequence, n=b, rows=a))

    def __str__(self) -> str:
        return "StepCount" if self.sequence is None else f"StepCount{{sequence={self.sequence}}}"
