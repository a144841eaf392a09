"""Batches of loops, branches and Ops made of graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.control.branches import IfElse
from phintys.control.fences import Fence
from phintys.control.graph_ops.from_graph import OpFromGraph
from phintys.control.graph_ops.inner_shapes import shapes_of_outputs
from phintys.control.loops.arguments import Inputs, LoopArguments, StepOutputs
from phintys.control.loops.scan_op import Scan
from phintys.gradient.marks import GradientMark
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.variable import Constant, Variable
from phintys.tensor.batching.blockwise import Blockwise, signature_of
from phintys.tensor.batching.engine import broadcasts, vectorize_inner
from phintys.tensor.batching.rules import batches
from phintys.tensor.creation import alloc, zeros
from phintys.tensor.dim_shuffle import moveaxis, shape_padright
from phintys.tensor.math import cast, eq, ge, invert, maximum, or_, switch
from phintys.tensor.reduce import all, max
from phintys.tensor.shapes import Shape, ShapeI, sizes_of
from phintys.tensor.sizes import multiply_sizes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.batching.engine import Batch


@batches(Fence, GradientMark)
def batch_unchanged(node: Any, batch: Batch) -> list[Any]:
    """The Ops return their inputs, of any types."""
    return node.op(*batch.inputs, return_list=True)


# ---- branches ----------------------------------------------------------------------------------


@batches(IfElse)
def batch_if_else(node: Any, batch: Batch) -> list[Any] | None:
    """Choose between batches; with a condition for each item, compute both and choose by item."""
    op = node.op
    pairs = [(1 + o, 1 + op.count + o) for o in range(op.count)]
    if not batch.ranks[0]:
        sides: list[list[Any]] = [[], []]
        for pair in pairs:
            for side, position in zip(sides, pair, strict=True):
                side.append(batch.whole(position) if batch.any_of(pair) else batch.inputs[position])
        return op(batch.inputs[0], *sides[0], *sides[1], return_list=True)
    found: list[Any] = []
    for pair in pairs:
        then, otherwise = (node.inputs[position] for position in pair)
        if not isinstance(then.type, TensorType) or not _alike(then, otherwise):
            return None
        condition = batch.padded(0)
        if then.ndim:
            condition = shape_padright(condition, then.ndim)
        sides = [batch.padded(position) for position in pair]
        if _has_sizes_of_values(then) or _has_sizes_of_values(otherwise):
            sides = _fitted(sides, [bool(batch.ranks[position]) for position in pair], batch)
        found.append(switch(condition, *sides))
    return found


def _has_sizes_of_values(variable: Any) -> bool:
    """Return whether sizes depend on values, as far as is known: items may give others."""
    if None not in variable.type.shape:
        return False
    stack: list[Any] = list(shapes_of_outputs([], [], [variable])[0])
    seen: set[Variable] = set()
    while stack:
        size = stack.pop()
        if not isinstance(size, Variable) or isinstance(size, Constant) or size in seen:
            continue
        seen.add(size)
        node = size.owner
        if node is None:
            return True
        if not isinstance(node.op, Shape | ShapeI) or node.inputs[0].owner is not None:
            stack += node.inputs
    return False


def _fitted(sides: Sequence[Any], are_batched: Sequence[bool], batch: Batch) -> list[Any]:
    """Return the sides of a choice such that they fit if there are no items to tell the sizes.

    A size that depends on the values of items is 0 then, and the other side may have another one.
    """
    first = batch.ndim
    shapes = [sizes_of(side) for side in sides]
    is_empty = eq(multiply_sizes(batch.sizes), 0)
    found: list[Any] = []
    for side, shape, is_batched in zip(sides, shapes, are_batched, strict=True):
        if not is_batched:
            found.append(side)
            continue
        core = [
            own if isinstance(own, int) else switch(is_empty, maximum(*pair), own)
            for own, pair in zip(
                shape[first:], zip(*(one[first:] for one in shapes), strict=True), strict=True
            )
        ]
        found.append(side.reshape((*shape[:first], *core)))
    return found


def _alike(one: Any, other: Any) -> bool:
    """Return whether neither of two tensors broadcasts where the other does not."""
    return one.type.broadcastable == other.type.broadcastable


# ---- Ops made of graphs ------------------------------------------------------------------------


class BatchedGraph(OpFromGraph):
    """An OpFromGraph with derivatives of its own, for a batch.

    Parameters
    ----------
    inputs, outputs, name, inline
        As for OpFromGraph: of its graph for a batch.
    blockwise
        The Op, applied to the items of the batch: its derivatives are those of this Op.
    """

    __props__ = (*OpFromGraph.__props__, "blockwise")

    def __init__(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        blockwise: Blockwise,
        name: str | None = None,
        inline: bool | None = None,
    ) -> None:
        super().__init__(inputs, outputs, inline, name=name)
        self.blockwise = blockwise

    @property
    def has_own_derivatives(self) -> bool:
        """Whether derivatives are given: always."""
        return True

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Return that of the Op for an item."""
        return self.blockwise.connection_pattern(node)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients of the Op for an item, batched."""
        return self.blockwise.L_op(inputs, outputs, output_grads)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the tangents of the Op for an item, batched."""
        return self.blockwise.R_op(inputs, eval_points)


@batches(OpFromGraph)
def batch_from_graph(node: Any, batch: Batch) -> list[Any] | None:
    """Batch the inner graph."""
    op = node.op
    if op.destroy_map:
        return None
    given = list(batch.inputs)
    has_own = op.has_own_derivatives
    if has_own:
        given = list(Blockwise(op, signature_of(node)).make_node(*given).inputs)
    inner = [x.type() for x in given]
    outputs = vectorize_inner(op.inner_outputs, dict(zip(op.inner_inputs, inner, strict=True)))
    if not has_own:
        return op.like(inner, outputs, f"batch of {op}")(*given, return_list=True)
    whole = [
        _repeated(new, old, _leading(inner, node.inputs, batch.ndim))
        for new, old in zip(outputs, op.inner_outputs, strict=True)
    ]
    blockwise = Blockwise(op, signature_of(node))
    twin = BatchedGraph(inner, whole, blockwise, f"batch of {op}", op.inline)
    return twin(*given, return_list=True)


def _leading(inner: Sequence[Any], cores: Sequence[Any], ndim: int) -> list[Any]:
    """Return the sizes of the axes of a batch, of variables that all have them."""
    tensors = [x for x in inner if isinstance(x.type, TensorType)]
    found: list[Any] = []
    for dim in range(ndim):
        wide = [x for x in tensors if x.type.shape[dim] != 1]
        found.append(sizes_of(wide[0])[dim] if wide else 1)
    return found


def _repeated(x: Any, core: Any, sizes: Sequence[Any]) -> Any:
    """Return a variable with all axes of a batch, repeated where it is the same for several."""
    if not isinstance(core.type, TensorType):
        return x
    rank = x.ndim - core.ndim
    if rank == len(sizes) and not broadcasts(x.type.shape[:rank], sizes):
        return x
    return alloc(x, *sizes, *sizes_of(x)[rank:])


# ---- loops -------------------------------------------------------------------------------------


@batches(Scan)
def batch_scan(node: Any, batch: Batch) -> list[Any] | None:
    """Run all items together: the states of a step are batches.

    If items run different numbers of steps, the loop runs until the last one ends. The states of
    those that have ended keep their values, and their other rows are 0.
    """
    return _Batched(node, batch).build()


class _Batched:
    """A loop over the steps of all items."""

    def __init__(self, node: Any, batch: Batch) -> None:
        self.op: Scan = node.op
        self.node = node
        self.batch = batch
        arguments: LoopArguments = node.op.arguments
        self.arguments = arguments
        self.places = arguments.node_inputs(range(len(node.inputs)))
        self.inner = arguments.step_inputs(node.op.inner_inputs)
        self.steps = batch.inputs[0]
        self.by_item = bool(batch.ranks[0])  # whether items end at different steps

    def build(self) -> list[Any] | None:
        """Return the results of the loop; ``None`` if a value that is not a tensor would differ."""
        ranks = self.batch.ranks
        places = self.places
        states = [*places.carried, *places.untraced]
        is_batched = [bool(ranks[at]) for at in states]
        while True:
            if self.by_item:
                is_batched = [True] * len(states)
            outer, inner = self._inputs(is_batched)
            made = self._step(inner)
            if made is None:
                return None
            news = [*made.carried, *made.untraced]
            olds = [*self._made.carried, *self._made.untraced]
            grown = [
                one or _rank(new, old) > 0
                for one, new, old in zip(is_batched, news, olds, strict=True)
            ]
            by_item = self.by_item or (
                made.until is not None and _rank(made.until, self._made.until) > 0
            )
            if grown == is_batched and by_item == self.by_item:
                break
            is_batched, self.by_item = grown, by_item
        for x, is_one in zip(states, is_batched, strict=True):
            if is_one and not isinstance(self.node.inputs[x].type, TensorType):
                return None
        if self.by_item and any(taps[-1] != -1 for taps in self.arguments.taps):
            return None  # the last value of a state, which stays, is not read by the step
        return self._built(outer, inner, made, is_batched)

    @property
    def _made(self) -> StepOutputs[Any]:
        return self.op.step_outputs

    def _inputs(self, is_batched: Sequence[bool]) -> tuple[Inputs[Any], dict[Any, Any]]:
        """Return the inputs of the loop, and inputs of a step for those of the step of an item."""
        batch, places, first = self.batch, self.places, self.batch.ndim
        inner: dict[Any, Any] = {self.inner.index: self.inner.index.type()}

        def rows_first(x: Any) -> Any:
            return moveaxis(x, first, 0)

        def row_of(x: Any) -> Any:
            return x.type.clone(shape=x.type.shape[1:])()

        sequences: list[Any] = []
        for at, row in zip(places.sequences, self.inner.sequences, strict=True):
            x = rows_first(batch.padded(at)) if batch.ranks[at] else batch.inputs[at]
            sequences.append(x)
            inner[row] = row_of(x)
        marks = iter(is_batched)
        carried: list[Any] = []
        for at, rows in zip(places.carried, self.inner.carried, strict=True):
            x = rows_first(batch.whole(at)) if next(marks) else batch.inputs[at]
            carried.append(x)
            inner.update((row, row_of(x)) for row in rows)
        untraced: list[Any] = []
        for at, value in zip(places.untraced, self.inner.untraced, strict=True):
            x = batch.whole(at) if next(marks) and _is_tensor(value) else batch.inputs[at]
            untraced.append(x)
            inner[value] = x.type()
        captured: list[Any] = []
        for at, value in zip(places.captured, self.inner.captured, strict=True):
            x = batch.padded(at) if batch.ranks[at] else batch.inputs[at]
            captured.append(x)
            inner[value] = x.type()
        return Inputs(self.steps, sequences, carried, untraced, captured), inner

    def _step(self, inner: dict[Any, Any]) -> StepOutputs[Any] | None:
        """Return the results of a step for all items."""
        outputs = vectorize_inner(self.op.inner_outputs, inner)
        return self.arguments.step_outputs(outputs)

    def _built(
        self,
        outer: Inputs[Any],
        inner: dict[Any, Any],
        made: StepOutputs[Any],
        is_batched: Sequence[bool],
    ) -> list[Any]:
        """Return the results of the loop, with the axes of the batch in front."""
        first = self.batch.ndim
        old = [inner[rows[-1]] for rows in self.inner.carried]
        old += [inner[value] for value in self.inner.untraced]
        news = [
            _fitting(new, before, first) if is_one else new
            for new, before, is_one in zip(
                [*made.carried, *made.untraced], old, is_batched, strict=True
            )
        ]
        further: list[tuple[Any, Any, Any]] = []  # states: first value, inner input, new value
        captured: list[tuple[Any, Any]] = []
        until, stacked = made.until, list(made.stacked)
        if self.by_item:
            ended, until = self._ends(inner, until, further, captured)
            news = [
                switch(_right(ended, new, first), before, new)
                for new, before in zip(news, old, strict=True)
            ]
            stacked = [
                switch(_right(ended, row, _rank(row, core)), row.zeros_like(), row)
                for row, core in zip(stacked, self._made.stacked, strict=True)
            ]
        count = len(made.carried)
        arguments = LoopArguments(
            sequences=self.arguments.sequences,
            taps=self.arguments.taps,
            untraced=self.arguments.untraced + len(further),
            stacked=self.arguments.stacked,
            captured=self.arguments.captured + len(captured),
            has_until=until is not None,
        )
        inputs = [inner[x] for x in (self.inner.index, *self.inner.sequences)]
        inputs += [inner[row] for rows in self.inner.carried for row in rows]
        inputs += [*(inner[x] for x in self.inner.untraced), *(value for _, value, _ in further)]
        inputs += [*(inner[x] for x in self.inner.captured), *(value for _, value in captured)]
        outputs = StepOutputs[Any](
            news[:count], [*news[count:], *(new for _, _, new in further)], stacked, until
        )
        op = self.op.with_step(FunctionGraph(inputs, list(outputs)), arguments)
        n = _most(self.steps) if self.batch.ranks[0] else self.steps
        given = Inputs[Any](
            n,
            outer.sequences,
            outer.carried,
            [*outer.untraced, *(start for start, _, _ in further)],
            [*outer.captured, *(x for x, _ in captured)],
        )
        found = arguments.node_outputs(op(*given, return_list=True))
        results = [
            moveaxis(x, 0, first) if is_one else x
            for x, is_one in zip(found.carried, is_batched, strict=False)
        ]
        results += found.untraced[: self.arguments.untraced]
        for x, core in zip(found.stacked, self.node.outputs[len(results) :], strict=False):
            results.append(moveaxis(x, 0, first) if _rank(x, core) else x)
        if self.arguments.has_until:
            results.append(found.untraced[-1] if self.by_item else found.ran)
        if self.by_item:
            self._count_rows(results, found.untraced[-1] if until is not None else None)
        return results

    def _count_rows(self, results: Sequence[Any], ran: Any) -> None:
        """Note how many rows each item has, after the number of its steps."""
        steps = self.batch.padded(0) if ran is None else ran
        for at, taps in enumerate(self.arguments.taps):
            self.batch.uneven[at] = steps - taps[0]  # rows before the first step come first
        rows = len(self.arguments.taps) + self.arguments.untraced
        for at in range(rows, rows + self.arguments.stacked):
            if _rank(results[at], self.node.outputs[at]):
                self.batch.uneven[at] = steps

    def _ends(
        self,
        inner: dict[Any, Any],
        until: Any,
        further: list[tuple[Any, Any, Any]],
        captured: list[tuple[Any, Any]],
    ) -> tuple[Any, Any]:
        """Return which items have ended before a step, and the condition that ends the loop.

        States for the items that a condition has ended, and for the number of their steps, are
        added to ``further``, and the number of steps of each to ``captured``.
        """
        batch = self.batch
        sizes = batch.sizes
        ended: Any = None
        if batch.ranks[0]:
            most = batch.padded(0)
            own = most.type()
            captured.append((most, own))
            ended = ge(inner[self.inner.index], own)
        if until is None:
            return ended, None
        start = zeros(sizes, dtype="bool")
        was = start.type()
        ended = was if ended is None else or_(ended, was)
        now = or_(ended, until)
        further.append((start, was, now))
        number = zeros(sizes, dtype="int64")
        before = number.type()
        further.append((number, before, before + cast(invert(ended), "int64")))
        return ended, all(now)


def _most(steps: Any) -> Any:
    """Return the largest number of steps of an item; 0 for a batch without items."""
    lowest = np.iinfo(steps.dtype).min  # a negative number remains one, which the loop refuses
    return switch(steps.size > 0, max(steps, initial=lowest), 0)


def _is_tensor(x: Any) -> bool:
    return isinstance(x.type, TensorType)


def _rank(new: Any, old: Any) -> int:
    return getattr(new.type, "ndim", 0) - getattr(old.type, "ndim", 0)


def _right(condition: Any, x: Any, first: int) -> Any:
    """Return a condition for each item, with the axes of a variable of which some are items."""
    missing = x.ndim - first
    return shape_padright(condition, missing) if missing else condition


def _fitting(new: Any, before: Any, first: int) -> Any:
    """Return the new value of a state for all items, of the shape of the former one."""
    rank = first - (before.ndim - new.ndim)
    core = new.ndim - rank
    sizes = sizes_of(before)[:first]
    if rank == first and not broadcasts(new.type.shape[:rank], sizes):
        return new
    return alloc(new, *sizes, *sizes_of(new)[new.ndim - core :])
