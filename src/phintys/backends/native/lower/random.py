"""Lowering of random bits: Philox 4x32-10, as integer arithmetic on the position.

Each element computes its block from the position alone, so the loop is vectorized, divided among
threads and fused with what uses the numbers as any elementwise one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.view import View
from phintys.backends.native.program import (
    Cast,
    Expression,
    Index,
    Literal,
    Operation,
    Position,
)
from phintys.random.bits import RandomBits
from phintys.random.philox import MULTIPLIERS, ROUNDS, WEYL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.lower.lowering import Lowering
    from phintys.backends.native.sizes import Size
    from phintys.graph.apply import Apply

__all__: list[str] = []

_UINT64 = np.dtype("uint64")


@lowers(RandomBits)
def lower_random_bits(op: RandomBits, node: Apply, lowering: Lowering) -> None:
    """Compute the words of each element's own block, and choose among them."""
    words = lowering.view(node.inputs[0])
    length = lowering.size_of(node.inputs[1])
    once = partial(_stored, lowering, (), node)
    each = partial(_stored, lowering, [length], node)
    sizes = lowering.sizes
    key, low, high = (
        words.sliced(0, sizes.fixed(i), sizes.fixed(1), sizes.fixed(1), sizes).load((None,))
        for i in range(3)
    )
    target, (loop,) = lowering.compute(node.outputs[0], [length])
    at = Cast(Position(Index(() if loop is None else ((loop, sizes.fixed(1)),))), _UINT64)
    shift = {2: 1, 4: 2}[op.in_block]
    block = each(_of(ps.add, each(_of(ps.right_shift, at, _int(shift))), low))
    keys = [once(_low(key)), once(_high(key))]
    c0, c1 = each(_low(block)), each(_high(block))
    c2, c3 = once(_low(high)), once(_high(high))
    for number in range(ROUNDS):
        keys_now = [
            once(_low(_of(ps.add, k, _int(number * step))))
            for k, step in zip(keys, WEYL, strict=True)
        ]
        left = each(_of(ps.mul, c0, _int(MULTIPLIERS[0])))
        right = each(_of(ps.mul, c2, _int(MULTIPLIERS[1])))
        c0, c1, c2, c3 = (
            each(_xor(_xor(_high(right), c1), keys_now[0])),
            each(_low(right)),
            each(_xor(_xor(_high(left), c3), keys_now[1])),
            each(_low(left)),
        )
    if op.dtype == "uint64":
        odd = each(_of(ps.and_, at, _int(1)))
        first, second = (
            each(_of(ps.or_, low_word, _of(ps.left_shift, high_word, _int(32))))
            for low_word, high_word in ((c0, c1), (c2, c3))
        )
        value = _choose(odd, second, first)
    else:
        odd = each(_of(ps.and_, at, _int(1)))
        upper = each(_of(ps.and_, at, _int(2)))
        pair = each(_choose(odd, c1, c0)), each(_choose(odd, c3, c2))
        value = Cast(each(_choose(upper, pair[1], pair[0])), np.dtype("uint32"))
    lowering.store(target, value, [loop], nodes=(node,))


def _int(value: int) -> Literal:
    return Literal(np.uint64(value), _UINT64)


def _of(op: Any, *arguments: Expression) -> Operation:
    return Operation(op, arguments, _UINT64)


def _xor(a: Expression, b: Expression) -> Operation:
    return _of(ps.xor, a, b)


def _low(value: Expression) -> Operation:
    return _of(ps.and_, value, _int(0xFFFFFFFF))


def _high(value: Expression) -> Operation:
    return _of(ps.right_shift, value, _int(32))


def _choose(bit: Expression, if_set: Expression, otherwise: Expression) -> Operation:
    is_set = Operation(ps.ne, (bit, _int(0)), np.dtype("bool"))
    return _of(ps.switch, is_set, if_set, otherwise)


def _stored(
    lowering: Lowering, lengths: Sequence[Size], node: Apply, value: Expression
) -> Expression:
    """Store a value for each element; return the expression that reads it."""
    loops = lowering.loops(lengths)
    view = View.of(lowering.array(value.dtype, lengths), lowering.sizes)
    lowering.store(view, value, loops, nodes=(node,))
    return view.load(loops)
