"""Patterns of loops, branches and Ops made of graphs."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.control.branches import IfElse
from phintys.control.fences import Fence
from phintys.control.graph_ops.from_graph import OpFromGraph
from phintys.control.loops.scan_op import Scan
from phintys.gradient.arithmetic import is_discrete
from phintys.gradient.patterns.index_sets import (
    gathered,
    identity,
    related,
    stacked,
    taken,
    union,
)
from phintys.gradient.patterns.rules import Facts, pattern_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.gradient.patterns.index_sets import Sets
    from phintys.gradient.patterns.rules import PatternStep
    from phintys.graph.variable import Variable


@pattern_of(Fence)
def pattern_of_fence(step: PatternStep) -> list[Sets]:
    """The values themselves."""
    return list(step.sets[: step.op.count])


@pattern_of(IfElse)
def pattern_of_branches(step: PatternStep) -> list[Sets]:
    """The union of both sides, unless the condition is known."""
    count = step.op.count
    sides = [step.sets[1 : 1 + count], step.sets[1 + count :]]
    condition = step.value(0)
    if condition is not None:
        return list(sides[step.op.chosen(condition)])
    return [union(pair) for pair in zip(*sides, strict=True)]


@pattern_of(OpFromGraph)
def pattern_of_graph(step: PatternStep) -> list[Sets]:
    """That of the inner graph; derivatives of the Op's own may depend on anything."""
    op = step.op
    if op.has_own_derivatives:
        return step.dense()
    inner = op.inner_inputs
    shapes = {
        variable: step.walk.facts.shape(outer)
        for variable, outer in zip(inner, step.node.inputs, strict=True)
    }
    values = {variable: step.value(at) for at, variable in enumerate(inner)}
    given = dict(zip(inner, step.sets, strict=True))
    walk = step.walk.inside(_known(given), step.width, Facts(_known(shapes), _known(values)))
    return walk.run(op.inner_outputs)


def _known(entries: dict[Any, Any]) -> dict[Any, Any]:
    return {key: value for key, value in entries.items() if value is not None}


# ---- loops ---------------------------------------------------------------------------------------


@pattern_of(Scan)
def pattern_of_loop(step: PatternStep) -> list[Sets]:
    """Step by step; the pattern of a step is the same for all, unless it knows its number."""
    return _Loop(step).run()


class _Loop:
    """The pattern of a loop.

    Parameters
    ----------
    step
        The node of the loop.
    """

    def __init__(self, step: PatternStep) -> None:
        self.step = step
        self.op: Any = step.op
        self.arguments = self.op.arguments
        self.inner: list[Any] = list(self.op.inner_inputs)
        self.shapes = self._shapes_of_inputs()
        self.sizes = [prod(shape) for shape in self.shapes]
        self.steps_differ = self._steps_differ()
        self.local: list[Sets] | None = None

    def _shapes_of_inputs(self) -> list[tuple[int, ...]]:
        """Return the shapes of what a step reads; those of other values than tensors are ()."""
        found: list[tuple[int, ...]] = []
        outer = self.arguments.node_inputs(range(len(self.step.node.inputs)))
        found.append(())
        found += [self._outer(at)[1:] for at in outer.sequences]
        for at, taps in zip(outer.carried, self.arguments.taps, strict=True):
            found += [self._outer(at)[1:]] * len(taps)
        found += [self._outer(at) for at in (*outer.untraced, *outer.captured)]
        return found

    def _steps_differ(self) -> bool:
        """Return whether steps know their number, or integers that are known for each of them."""
        clients = self.op.fgraph.clients
        known = [self.inner[0]]
        within = self.arguments.step_inputs(self.inner).sequences
        outer = self.arguments.node_inputs(range(len(self.step.node.inputs))).sequences
        known += [
            variable
            for variable, at in zip(within, outer, strict=True)
            if is_discrete(variable.type) and self.step.value(at) is not None
        ]
        return any(clients.get(variable) for variable in known)

    def _outer(self, at: int) -> tuple[int, ...]:
        known = self.step.walk.facts.shape(self.step.node.inputs[at])
        if known is None and getattr(self.step.node.inputs[at].type, "ndim", None) is None:
            return ()
        return self.step.shape(at)

    # ---- one step

    def through(self, given: Sequence[Sets], number: int | None) -> list[Sets]:
        """Return the sets of what a step computes, from those of what it reads."""
        if number is not None and self.steps_differ:
            return self._walked(given, self.step.width, number)
        if self.local is None:
            self.local = self._local()
        whole = stacked(list(zip(given, self.sizes, strict=True)), self.step.width)
        if whole is None:
            return [None] * len(self.local)
        return [None if one is None else one @ whole for one in self.local]

    def _local(self) -> list[Sets]:
        """Return which elements of what a step computes depend on which of what it reads."""
        width = sum(self.sizes)
        sets: list[Sets] = []
        first = 0
        for variable, size in zip(self.inner, self.sizes, strict=True):
            sets.append(None if is_discrete(variable.type) else identity(size, first, width))
            first += size
        return self._walked(sets, width, None)

    def _walked(self, given: Sequence[Sets], width: int, number: int | None) -> list[Sets]:
        shapes = dict(zip(self.inner, self.shapes, strict=True))
        outer = self.arguments.node_inputs(range(len(self.step.node.inputs)))
        within = self.arguments.step_inputs(self.inner)
        values: dict[Variable, Any] = {
            variable: self.step.value(at)
            for variable, at in zip(within.captured, outer.captured, strict=True)
        }
        if number is not None:
            values[within.index] = np.int64(number)
            for variable, at in zip(within.sequences, outer.sequences, strict=True):
                rows = self.step.value(at)
                values[variable] = None if rows is None else rows[number]
        sets = _known(dict(zip(self.inner, given, strict=True)))
        return self.step.walk.inside(sets, width, Facts(shapes, _known(values))).run(
            self.op.inner_outputs
        )

    # ---- all steps

    def run(self) -> list[Sets]:
        """Return the sets of the outputs of the loop."""
        given = self.arguments.node_inputs(self.step.sets)
        count = self.step.value(0)
        if count is None or self.arguments.has_until:
            return self._of_any_step(given)
        if not (self.arguments.taps or self.arguments.untraced or self.steps_differ):
            return self._of_all_steps(given, int(count))
        return self._of_each_step(given, int(count))

    def _of_all_steps(self, given: Any, count: int) -> list[Sets]:
        """Return the sets of the rows of a loop without state, those of all steps at once."""
        starts = np.cumsum([0, *self.sizes])
        captured = len(self.inner) - len(given.captured)
        steps = np.arange(count)[:, None]
        found: list[Sets] = []
        for local in self._local():
            if local is None:
                found.append(None)
                continue
            rows = local.shape[0]
            entries = local.tocoo()
            parts: list[Sets] = []
            for at, sets in enumerate(given.sequences, 1):
                inside = (entries.col >= starts[at]) & (entries.col < starts[at + 1])
                sources = steps * self.sizes[at] + (entries.col[inside] - starts[at])
                targets = steps * rows + entries.row[inside]
                shape = (count * rows, 0 if sets is None else sets.shape[0])
                parts.append(related(sources, targets, shape, sets))
            for at, sets in enumerate(given.captured, captured):
                if sets is not None:
                    row = local[:, starts[at] : starts[at + 1]] @ sets
                    parts.append(taken(row, np.tile(np.arange(rows), count)))
            found.append(union(parts))
        return found

    def _of_each_step(self, given: Any, count: int) -> list[Sets]:
        arguments, sizes = self.arguments, self.arguments.step_inputs(self.sizes)
        carried = [
            [_row(sets, number, size[0]) for number in range(depth)]
            for sets, depth, size in zip(
                given.carried, arguments.depths, sizes.carried, strict=True
            )
        ]
        untraced = given.untraced
        stacks: list[list[Sets]] = [[] for _ in range(arguments.stacked)]
        for t in range(count):
            read = [None]
            read += [
                _row(sets, t, size)
                for sets, size in zip(given.sequences, sizes.sequences, strict=True)
            ]
            for rows, taps in zip(carried, arguments.taps, strict=True):
                read += [rows[len(rows) + tap] for tap in taps]
            made = arguments.step_outputs(self.through([*read, *untraced, *given.captured], t))
            for rows, new in zip(carried, made.carried, strict=True):
                rows.append(new)
            for rows, new in zip(stacks, made.stacked, strict=True):
                rows.append(new)
            untraced = made.untraced
        rows = [*zip(carried, (size[0] for size in sizes.carried), strict=True)]
        results = arguments.node_outputs(range(len(self.step.node.outputs)))
        rows += [
            (stack, prod(self.step.output_shape(o)[1:]))
            for stack, o in zip(stacks, results.stacked, strict=True)
        ]
        joined = [self._joined(*pair) for pair in rows]
        first = len(carried)
        return [*joined[:first], *untraced, *joined[first:]]

    def _joined(self, rows: list[Sets], size: int) -> Sets:
        return stacked([(row, size) for row in rows], self.step.width)

    def _of_any_step(self, given: Any) -> list[Sets]:
        """Return the sets after any number of steps: unions, until nothing is added."""
        arguments, sizes = self.arguments, self.arguments.step_inputs(self.sizes)
        sequences = [
            _any_row(sets, size)
            for sets, size in zip(given.sequences, sizes.sequences, strict=True)
        ]
        carried = [
            _any_row(sets, size[0]) for sets, size in zip(given.carried, sizes.carried, strict=True)
        ]
        untraced = list(given.untraced)
        while True:
            read = [None, *sequences]
            for sets, taps in zip(carried, arguments.taps, strict=True):
                read += [sets] * len(taps)
            made = arguments.step_outputs(self.through([*read, *untraced, *given.captured], None))
            former = [*carried, *untraced]
            carried, untraced = (
                [union(pair) for pair in zip(old, new, strict=True)]
                for old, new in ((carried, made.carried), (untraced, made.untraced))
            )
            if all(map(_is_same, former, [*carried, *untraced])):
                break
        results = arguments.node_outputs(range(len(self.step.node.outputs)))
        of_rows = [
            self.step.walk.repeat(sets, self.step.node.outputs[o])
            for sets, o in zip(
                [*carried, *made.stacked], [*results.carried, *results.stacked], strict=True
            )
        ]
        first = len(carried)
        ran = [] if results.ran is None else [None]
        return [*of_rows[:first], *untraced, *of_rows[first:], *ran]


def _row(sets: Sets, number: int, size: int) -> Sets:
    """Return the sets of a row of an array."""
    return None if sets is None else sets[number * size : (number + 1) * size]


def _any_row(sets: Sets, size: int) -> Sets:
    """Return the union over the rows of an array."""
    if sets is None or not size:
        return None
    return gathered(sets, np.arange(sets.shape[0]) % size, size, np.arange(size))


def _is_same(one: Sets, other: Sets) -> bool:
    """Return whether nothing was added to sets."""
    return (0 if one is None else one.nnz) == (0 if other is None else other.nnz)
