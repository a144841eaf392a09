"""Code of the scalar ops of random numbers: Philox 4x32-10, bits of floats, rejection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys.backends.native.emit.scalar_ops import CODE, emit_formula
from phintys.backends.native.emit.types import BOOL, INT64
from phintys.backends.native.emit.values import Value
from phintys.random.exact import (
    MOST_ATTEMPTS,
    FloatBits,
    FloatOfBits,
    RandomWord,
    Rejection,
    Seldom,
)
from phintys.random.philox import MULTIPLIERS, ROUNDS, WEYL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.emit.builder import Builder

__all__ = ["block_words"]

_LOW = 0xFFFFFFFF


def block_words(key: Value, low: Value, high: Value) -> tuple[Value, Value]:
    """Write one block of the generator for each lane; return its two words.

    Parameters
    ----------
    key, low, high
        The key, and the halves of the counter, uint64.
    """
    c0, c1, c2, c3 = low, low >> 32, high, high >> 32
    k0, k1 = key, key >> 32
    for _ in range(ROUNDS):
        # The upper halves are anything: products of the lower halves are one instruction.
        left, right = ((c & _LOW) * m for c, m in zip((c0, c2), MULTIPLIERS, strict=True))
        c0, c1, c2, c3 = (right >> 32) ^ c1 ^ k0, right, (left >> 32) ^ c3 ^ k1, left
        k0, k1 = k0 + WEYL[0], k1 + WEYL[1]
    return (c0 & _LOW) | (c1 << 32), (c2 & _LOW) | (c3 << 32)


@CODE.register(RandomWord)
def emit_random_word(b: Builder, op: RandomWord, values: Sequence[Any]) -> Value:
    """Write the block of each lane, and choose one of its words."""
    position, key, low, high = values
    first, second = block_words(key, low + (position >> 1), high)
    return b.select(b.ne(position & 1, 0), second, first)


@CODE.register(FloatBits, FloatOfBits)
def emit_same_bits(b: Builder, op: FloatBits | FloatOfBits, values: Sequence[Any]) -> Value:
    """Write the conversion of floats to integers with the same bits, or back."""
    (x,) = values
    name = x.type.integer.name if isinstance(op, FloatBits) else f"float{x.type.bits}"
    return b.bitcast(x, x.type.like(name))


@CODE.register(Rejection)
def emit_rejection(b: Builder, op: Rejection, values: Sequence[Any]) -> Value:
    """Write a loop of attempts of all lanes, until each has accepted one."""
    before, attempt = op.formulas([value.type.name for value in values])
    # Lanes beyond the end of an array hold anything, and have attempts too.
    bits, *parameters = (b.write(x.type, f"freeze {x.typed}") for x in values)
    prepared = emit_formula(b, before.formula, parameters)
    lanes = bits.type.lanes

    start, body, after = b.block, b.new_block("attempt"), b.new_block("accepted")
    formula = attempt.formula
    result_type = bits.type.like(formula.types[formula.results[0]].dtype)
    b.jump(body)
    b.begin(body)
    number, left, result = b.phi(INT64), b.phi(BOOL.of(lanes)), b.phi(result_type)
    words: list[Value] = []
    for block in range(op.words // 2):
        at = number.value * (op.words // 2) + block
        low = b.splat(b.convert(at, bits.type.of(1)), lanes)
        words += block_words(bits, low, b.constant(bits.type, 0))
    value, accepted = cast("list[Value]", emit_formula(b, formula, [*words, *prepared]))
    chosen = b.select(left.value, value, result.value)
    still = left.value & ~accepted
    next_number = number.value + 1
    again = b.any(still) & (next_number < MOST_ATTEMPTS)
    b.branch(again, body, after)
    first = (b.constant(INT64, 0), b.constant(left.value.type, 1), b.constant(result_type, 0))
    for phi, initial, following in zip(
        (number, left, result), first, (next_number, still, chosen), strict=True
    ):
        phi.add(initial, start)
        phi.add(following, b.block)
    b.begin(after)
    return chosen


@CODE.register(Seldom)
def emit_seldom(b: Builder, op: Seldom, values: Sequence[Any]) -> Value:
    """Write the usual steps, and the others behind a branch for vectors that need them."""
    parts = op.formulas([value.type.name for value in values])
    # Lanes beyond the end of an array hold anything.
    values = [b.write(x.type, f"freeze {x.typed}") for x in values]
    (usual,), (is_seldom,) = (emit_formula(b, parts[i].formula, values) for i in (0, 2))
    mask, result = cast("Value", is_seldom), cast("Value", usual)
    before, seldom, after = b.block, b.new_block("seldom"), b.new_block("after")
    b.branch(b.any(mask), seldom, after)
    b.begin(seldom)
    (other,) = emit_formula(b, parts[1].formula, values)
    chosen = b.select(mask, cast("Value", other), result)
    last = b.block
    b.jump(after)
    b.begin(after)
    phi = b.phi(result.type)
    phi.add(result, before)
    phi.add(chosen, last)
    return phi.value
