"""Code of the scalar ops of random numbers: Philox 4x32-10, bits of floats, rejection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.math import MathSymbol
from phintys.backends.native.emit.math.calls import RANDOM_BITS
from phintys.backends.native.emit.scalar_ops import CODE, emit_formula
from phintys.backends.native.emit.types import BOOL, INT64, UINT64, type_of
from phintys.backends.native.emit.values import Value
from phintys.random.exact import (
    MOST_ATTEMPTS,
    FloatBits,
    FloatOfBits,
    RandomHalf,
    RandomWord,
    Rejection,
    Seldom,
)
from phintys.random.philox import MULTIPLIERS, ROUNDS, WEYL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.emit.module import Module

__all__ = ["block_words", "write_random_bits"]

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
    """Write a call of the outlined function for these lanes."""
    type = values[0].type.like("uint32" if isinstance(op, RandomHalf) else "uint64")
    symbol = MathSymbol(RANDOM_BITS, type.name, type.lanes).symbol
    b.module.math_functions.add(symbol)
    return b.call(symbol, type, values, convention=b.target.convention)


def write_random_bits(module: Module, symbol: MathSymbol) -> None:
    """Write ``bits(position, key, low, high)``, for consecutive positions and for any others.

    The two words of a block are next to each other. If the positions of the lanes are consecutive,
    from a multiple of what a block holds, a pair of lanes computes a block together: one has the
    words ``c0, c1`` of the counter, the other one ``c2, c3``. A round then is a multiplication, an
    exchange of neighbours, a shift and an xor for all lanes.
    """
    lanes, is_half = symbol.lanes, symbol.dtype == "uint32"
    returns, word = type_of(symbol.dtype, lanes), UINT64.of(lanes)
    function = module.function(
        symbol.symbol, returns, [word] * 4, convention=module.target.convention
    )
    b = Builder(function, inline=True)
    position, *state = b.arguments
    in_block = 4 if is_half else 2
    if lanes >= in_block:
        first = b.extract(position, 0)
        consecutive = b.splat(first, lanes) + b.lane_numbers(word)
        is_start = b.eq(first & (in_block - 1), 0)
        paired, others = b.new_block("paired"), b.new_block("others")
        b.branch(b.all(b.eq(position, consecutive)) & is_start, paired, others)
        b.begin(paired)
        count = lanes // 2 if is_half else lanes
        blocks = b.splat(first >> (2 if is_half else 1), count)
        blocks = blocks + (b.lane_numbers(UINT64.of(count)) >> 1)
        key, low, high = (b.splat(b.extract(value, 0), count) for value in state)
        words = _paired_words(b, blocks + low, high, key)
        b.ret(b.bitcast(words, returns))
        b.begin(others)
    of_word = position >> 1 if is_half else position
    key, low, high = state
    even, odd = block_words(key, low + (of_word >> 1), high)
    bits = b.select(b.ne(of_word & 1, 0), odd, even)
    b.ret(b.convert(bits >> ((position & 1) << 5), returns) if is_half else bits)


def _paired_words(b: Builder, low: Value, high: Value, key: Value) -> Value:
    """Write blocks of which each is in two neighbouring lanes, where the arguments are equal."""
    lanes = low.type.lanes
    is_even = b.eq(b.lane_numbers(low.type) & 1, 0)
    neighbours = [lane ^ 1 for lane in range(lanes)]

    def each(even: Any, odd: Any) -> Value:
        return b.select(is_even, b.value(low.type, even), b.value(low.type, odd))

    c02, c13 = each(low, high), each(low >> 32, high >> 32)
    keys, step, multiplier = each(key, key >> 32), each(*WEYL), each(*MULTIPLIERS)
    for _ in range(ROUNDS):
        products = (c02 & _LOW) * multiplier
        moved = b.shuffle(products, products, neighbours)
        c02, c13 = (moved >> 32) ^ c13 ^ keys, moved
        keys = keys + step
    return (c02 & _LOW) | (c13 << 32)


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
