"""Loops and graphs in graphs. Codes of failures are carried from step to step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.jax.arrays import jax, jnp, lax
from phintys.backends.jax.tracing import (
    CODE,
    MisfitError,
    NeedsKnownError,
    Trace,
    converts,
    is_known,
    makes_large,
)
from phintys.control.graph_ops.from_graph import OpFromGraph
from phintys.control.loops.scan_op import Scan
from phintys.control.rows.row_loop import RowLoop
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.graph.variable import Variable


@converts(OpFromGraph)
def from_graph(op: Any, node: Apply, trace: Trace, *values: Any) -> list[Any]:
    """The inner graph in place of the node."""
    inner = trace.inner()
    results = inner.evaluate(op.fgraph.inputs, op.fgraph.outputs, values)
    trace.add_code(inner.code)
    return results


def _run_step(op: Any, trace: Trace, values: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return the results of the inner graph of a step, and its code."""
    inner = trace.inner()
    made = inner.evaluate(op.fgraph.inputs, op.fgraph.outputs, values)
    return [jnp.asarray(value) for value in made], inner.code


class _Steps:
    """The steps of one Scan.

    A carry is a list of windows, one for each value with taps: the last rows that steps read; and
    the values without taps. Loops that keep no rows carry the code of the first failure as well.
    """

    def __init__(self, op: Any, node: Apply, trace: Trace, inputs: Sequence[Any]) -> None:
        self.op, self.node, self.trace = op, node, trace
        self.arguments = op.arguments
        self.given = self.arguments.node_inputs(list(inputs))
        self.depths = self.arguments.depths

    @property
    def keeps_rows(self) -> bool:
        return bool(self.arguments.taps or self.arguments.stacked)

    def start(self) -> Any:
        firsts = zip(self.given.carried, self.depths, strict=True)
        windows = [tuple(jnp.asarray(first)[i] for i in range(n)) for first, n in firsts]
        return windows, [jnp.asarray(value) for value in self.given.untraced]

    def run(self, number: Any, rows: Sequence[Any], carry: Any) -> tuple[Any, Any, Any]:
        """Return the next carry, the code, and the results of the step by their kinds."""
        windows, untraced = carry
        values = [number, *rows]
        for window, taps, depth in zip(windows, self.arguments.taps, self.depths, strict=True):
            values += [window[depth + tap] for tap in taps]
        made, code = _run_step(self.op, self.trace, [*values, *untraced, *self.given.captured])
        out = self.arguments.step_outputs(made)
        moved = [
            (*window[1:], row.astype(window[0].dtype))
            for window, row in zip(windows, out.carried, strict=True)
        ]
        after = [new.astype(old.dtype) for new, old in zip(out.untraced, untraced, strict=True)]
        return (moved, after), code, out

    def rows_at(self, number: Any) -> list[Any]:
        return [
            lax.dynamic_index_in_dim(jnp.asarray(s), number, 0, keepdims=False)
            for s in self.given.sequences
        ]

    def keeping_rows(self, count: int) -> list[Any]:
        """Return all results of a number of steps."""
        if count < 0 or any(np.shape(s)[0] < count for s in self.given.sequences):
            raise MisfitError(self.node)
        sequences, is_reversed = self._sequences(count)
        numbers = lax.iota("int64", count) if self._reads_number() else None
        if is_reversed and numbers is not None:
            numbers = numbers[::-1]

        def step(carry: Any, x: Any) -> Any:
            number, rows = x
            carry, code, out = self.run(number, rows, carry)
            failed = None if is_known(code) else code
            return carry, (list(out.carried), list(out.stacked), failed)

        (_, untraced), (rows, stacked, codes) = lax.scan(
            step, self.start(), (numbers, sequences), length=count, reverse=is_reversed
        )
        if is_reversed:
            rows, stacked = map(self._in_order, rows), map(self._in_order, stacked)
        if codes is not None and count:
            codes = codes[::-1] if is_reversed else codes
            self.trace.add_code(codes[jnp.argmax(codes != 0)])
        firsts = zip(self.given.carried, self.depths, rows, strict=True)
        carried = [jnp.concatenate([jnp.asarray(f)[:n], new]) for f, n, new in firsts]
        return [*carried, *untraced, *stacked]

    def _sequences(self, count: int) -> tuple[list[Any], bool]:
        """Return the sequences, and whether they are read from their ends."""
        found = [self.trace.reversals.get(s) for s in self.given.sequences]
        sources = [one[0] for one in found if one is not None and one[1] == 1]
        if sources and [len(s) for s in sources] == [count] * len(found):
            return sources, True
        return [jnp.asarray(s)[:count] for s in self.given.sequences], False

    def _in_order(self, rows: Any) -> Any:
        found = rows[::-1]
        self.trace.reversals[found] = rows, 1
        return found

    def _reads_number(self) -> bool:
        return bool(self.op.fgraph.clients[self.op.fgraph.inputs[0]])

    def counted(self, count: Any) -> list[Any]:
        """Return the last values of a number of steps that the device knows."""

        def step(number: Any, state: Any) -> Any:
            carry, code = state
            carry, wrong, _ = self.run(number, self.rows_at(number), carry)
            return carry, _first(code, wrong)

        first, state = jnp.zeros((), "int64"), (self.start(), jnp.zeros((), CODE))
        (_, untraced), code = lax.fori_loop(first, count.astype("int64"), step, state)
        self.trace.add_code(code)
        return untraced

    def until(self) -> tuple[list[Any], Any]:
        """Return the last values of steps until a condition holds, and their number."""
        most = jnp.asarray(self.given.n)

        def goes_on(state: Any) -> Any:
            number, is_over, _, code = state
            return (number < most) & ~is_over & (code == 0)

        def step(state: Any) -> Any:
            number, _, carry, code = state
            carry, wrong, out = self.run(number, self.rows_at(number), carry)
            return number + 1, jnp.reshape(out.until != 0, ()), carry, _first(code, wrong)

        zeros = jnp.zeros((), "int64"), jnp.zeros((), bool)
        start = (*zeros, self.start(), jnp.zeros((), CODE))
        ran, _, (_, untraced), code = lax.while_loop(goes_on, step, start)
        self.trace.add_code(code)
        return untraced, ran


def _first(code: Any, wrong: Any) -> Any:
    """Return the code of the first failure."""
    return code if is_known(wrong) else jnp.where(code != 0, code, wrong)


@converts(Scan)
def scan(op: Any, node: Apply, trace: Trace, *inputs: Any) -> list[Any]:
    """A loop of known length keeps its rows; others keep the last values alone."""
    steps = _Steps(op, node, trace, inputs)
    n = steps.given.n
    if is_known(n) and any(np.shape(s)[0] < int(n) for s in steps.given.sequences):
        raise MisfitError(node)
    if op.arguments.has_until:
        if not steps.keeps_rows:
            untraced, ran = steps.until()
            return [*untraced, ran]
        what = "the number of steps of a loop with a condition, whose rows are kept,"
        count = trace.size(node, "steps", what, lambda: _CountSteps(op).of(node))
        return [*steps.keeping_rows(count), np.asarray(count, "int64")]
    if is_known(n):
        return steps.keeping_rows(int(n))
    if steps.keeps_rows:
        raise NeedsKnownError(node, "the number of steps of a loop", [_count_input(op, node)])
    for sequence in steps.given.sequences:
        trace.check(n <= np.shape(sequence)[0], node, lambda: MisfitError(node))
    trace.check(n >= 0, node, lambda: MisfitError(node))
    return steps.counted(n)


def _count_input(op: Any, node: Apply) -> Variable:
    return op.arguments.node_inputs(list(node.inputs)).n


class _CountSteps(Op):
    """How many steps a loop with a condition runs: the loop without its rows."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop

    def of(self, node: Apply) -> Variable:
        """Return the number of steps of a node of the loop."""
        return Apply(self, list(node.inputs), [TensorType("int64", ())()]).outputs[0]


@converts(_CountSteps)
@makes_large
def count_steps(op: Any, node: Apply, trace: Trace, *inputs: Any) -> Any:
    """Run the loop for its number of steps."""
    return _Steps(op.loop, node, trace, inputs).until()[1]


@converts(RowLoop)
@makes_large
def row_loop(op: Any, node: Apply, trace: Trace, n: Any, *captured: Any) -> list[Any]:
    """Rows do not depend on each other: the device computes them together."""
    if not is_known(n):
        raise NeedsKnownError(node, "the number of rows", [node.inputs[0]])
    count = int(n)
    if count <= 0:
        return [_no_rows(op, node, i, captured) for i in range(len(node.outputs))]

    def row(number: Any) -> Any:
        made, code = _run_step(op, trace, [number, *captured])
        return made, None if is_known(code) else code

    made, codes = jax.vmap(row)(lax.iota("int64", count))
    if codes is not None:
        trace.add_code(jnp.max(codes))
    return [
        rows if is_stacked else jnp.sum(rows, 0, dtype=rows.dtype)
        for rows, is_stacked in zip(made, op.stacked, strict=True)
    ]


def _no_rows(op: Any, node: Apply, number: int, captured: Sequence[Any]) -> Any:
    shape = np.shape(captured[op.like[number]])
    dtype = node.outputs[number].type.dtype  # pyright: ignore[reportAttributeAccessIssue]
    return jnp.zeros((0, *shape) if op.stacked[number] else shape, dtype)
