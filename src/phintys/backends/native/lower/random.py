"""Lowering of random bits, and of the Ops from states to states.

A state is an array of three words, whose values are computed like any others. The bits of an
element follow from its position alone, so their loop is vectorized, divided among threads and fused
with what uses the numbers as any elementwise one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    Literal,
    Operation,
    Position,
    SizeValue,
)
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.random.bits.random_bits import Positions, RandomBits
from phintys.random.bits.states import (
    TO_FOLD,
    TO_SPLIT,
    WORDS,
    Advance,
    FoldIn,
    Jump,
    SplitState,
    StateOfWords,
    StateWords,
)
from phintys.random.exact.steps import random_half, random_quarter, random_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.lower.lowering import Loops, Lowering
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import LoopVariable
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

_UINT64 = np.dtype("uint64")


@lowers(RandomBits)
def lower_random_bits(op: RandomBits, node: Apply, lowering: Lowering) -> None:
    """``bits[i, j] = random_word(i * m + j, key, low, high)``."""
    state = _words(node.inputs[0], lowering)
    (lengths,) = op.output_shapes(NativeShapes(node, lowering))
    target, loops = lowering.compute(node.outputs[0], lengths)
    at = Conversion(_position(loops, lengths, lowering), _UINT64)
    row = {"uint64": random_word, "uint32": random_half, "uint16": random_quarter}[op.dtype]
    value = Operation(row, (at, *state), np.dtype(op.dtype))
    lowering.store(target, value, loops, nodes=(node,))


@lowers(Positions)
def lower_positions(op: Positions, node: Apply, lowering: Lowering) -> None:
    """``positions[i, j] = i * m + j``."""
    (lengths,) = op.output_shapes(NativeShapes(node, lowering))
    target, loops = lowering.compute(node.outputs[0], lengths)
    lowering.store(
        target, Conversion(_position(loops, lengths, lowering), _UINT64), loops, nodes=(node,)
    )


def _position(loops: Loops, lengths: Sequence[Size], lowering: Lowering) -> Position:
    """Return the position of an element in the order of memory."""
    step = lowering.sizes.fixed(1)
    terms: list[tuple[LoopVariable, Size]] = []
    for loop, length in zip(reversed(loops), reversed(lengths), strict=True):
        if loop is not None:
            terms.append((loop, step))
        step = lowering.sizes.mul(step, length)
    return Position(Index(tuple(reversed(terms))))


@lowers(StateWords)
def lower_state_words(op: StateWords, node: Apply, lowering: Lowering) -> None:
    """``y = x``, in the same memory."""
    lowering.bind(node.outputs[0], lowering.view(node.inputs[0]), is_part=True)


@lowers(StateOfWords)
def lower_state_of_words(op: StateOfWords, node: Apply, lowering: Lowering) -> None:
    """``state = words``."""
    _store(node.outputs[0], _words(node.inputs[0], lowering), node, lowering)


@lowers(Advance)
def lower_advance(op: Advance, node: Apply, lowering: Lowering) -> None:
    """``next = key, low + count, high``."""
    key, low, high = _words(node.inputs[0], lowering)
    count = Conversion(SizeValue(lowering.size_of(node.inputs[1])), _UINT64)
    _store(node.outputs[0], [key, _of(ps.add, low, count), high], node, lowering)


@lowers(Jump)
def lower_jump(op: Jump, node: Apply, lowering: Lowering) -> None:
    """``next = key, low, high + 1``."""
    key, low, high = _words(node.inputs[0], lowering)
    _store(node.outputs[0], [key, low, _of(ps.add, high, _int(1))], node, lowering)


@lowers(SplitState)
def lower_split(op: SplitState, node: Apply, lowering: Lowering) -> None:
    """Children are blocks of another key, at the counter of the state."""
    key, low, high = _words(node.inputs[0], lowering)
    after, *children = node.outputs
    _store(after, [key, _of(ps.add, low, _int(op.count)), high], node, lowering)
    other = _of(ps.xor, key, _int(TO_SPLIT))
    for number, child in enumerate(children):
        first, second = (_word(2 * number + i, other, low, high) for i in range(2))
        _store(child, [first, _int(0), second], node, lowering)


@lowers(FoldIn)
def lower_fold_in(op: FoldIn, node: Apply, lowering: Lowering) -> None:
    """The block of a key that follows from the state, at the number."""
    key, low, high = _words(node.inputs[0], lowering)
    number = Conversion(SizeValue(lowering.size_of(node.inputs[1])), _UINT64)
    other = _of(ps.xor, key, _int(TO_FOLD))
    own, above = (_word(i, other, low, high) for i in range(2))
    first, second = (_word(i, own, number, above) for i in range(2))
    _store(node.outputs[0], [first, _int(0), second], node, lowering)


def _words(state: Variable, lowering: Lowering) -> list[Expression]:
    """Return the words of a state: key, low and high half of the counter."""
    view, sizes = lowering.view(state), lowering.sizes
    return [lowering.load(view.picked(0, sizes.fixed(i), sizes), ()) for i in range(WORDS)]


def _store(state: Variable, words: Sequence[Expression], node: Apply, lowering: Lowering) -> None:
    """Store the words of a new state."""
    sizes = lowering.sizes
    target, _ = lowering.compute(state, [sizes.fixed(WORDS)])
    for number, word in enumerate(words):
        lowering.store(target.picked(0, sizes.fixed(number), sizes), word, (), nodes=(node,))


def _int(value: int | np.uint64) -> Literal:
    return Literal(np.uint64(value), _UINT64)


def _of(op: Any, *arguments: Expression) -> Operation:
    return Operation(op, arguments, _UINT64)


def _word(position: int, key: Expression, low: Expression, high: Expression) -> Operation:
    return _of(random_word, _int(position), key, low, high)
