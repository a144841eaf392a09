"""Code of the scalar ops of random numbers: Philox 4x32-10, bits of floats, rejection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import computed_if, frozen, iterate
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.math.calls import outlined
from phintys.backends.native.assembler.scalar_ops import CODE, emit_formula
from phintys.backends.native.assembler.types import BOOL, INT64, UINT64, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.random.bits.philox import MULTIPLIERS, ROUNDS, WEYL
from phintys.random.exact.steps import (
    MOST_ATTEMPTS,
    FloatBits,
    FloatOfBits,
    RandomWord,
    RareCase,
    Rejection,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.module import Module

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
    """Write the bits at some positions.

    The two words of a block are next to each other. For the positions of a loop, a pair of lanes
    computes a block together, unless the first position is within a block. Other positions are
    those of an outlined function.
    """
    position, *state = values
    returns = position.type.like(op.returns)
    in_block = 16 // returns.itemsize
    first = b.ramps.get(position.text)
    if first is None or returns.lanes < in_block:
        return _of_any(b, position, state, returns)
    paired, others, after = b.new_block("paired"), b.new_block("others"), b.new_block("after")
    b.branch(b.eq(first & (in_block - 1), 0), paired, others)
    b.begin(paired)
    bits = _of_blocks(b, first >> (in_block.bit_length() - 1), state, returns)
    b.jump(after)
    b.begin(others)
    any_bits = _of_any(b, position, state, returns)
    b.jump(after)
    b.begin(after)
    phi = b.phi(returns)
    phi.add(bits, paired)
    phi.add(any_bits, others)
    return phi.value


def _of_any(b: Builder, position: Value, state: Sequence[Value], returns: MachineType) -> Value:
    return outlined(b, "random_bits", returns, [position, *state])


def _of_blocks(b: Builder, first: Value, state: Sequence[Value], returns: MachineType) -> Value:
    """Write the bits of all of the blocks from a number on."""
    word = UINT64.of(returns.lanes * returns.itemsize // 8)
    key, low, high = state
    start = b.convert(first, UINT64) + b.extract(low, 0)
    if word.lanes > b.target.lanes(word):
        return b.bitcast(_interleaved_words(b, start, high, key, word.lanes), returns)
    start = b.splat(start, word.lanes)
    key, high = (b.part(value, 0, word.lanes) for value in (key, high))
    return b.bitcast(_paired_words(b, start + (b.lane_numbers(word) >> 1), high, key), returns)


def _interleaved_words(b: Builder, start: Value, high: Value, key: Value, count: int) -> Value:
    """Write the words of blocks, one block in a lane, for at least two vector registers of words.

    Against :func:`_paired_words`, rounds exchange nothing; words change their lanes at the end.
    """
    lanes = count // 2
    key, high = (b.part(value, 0, lanes) for value in (key, high))
    low = b.splat(start, lanes) + b.lane_numbers(high.type)
    words = block_words(key, low, high)
    return b.shuffle(*words, [at for lane in range(lanes) for at in (lane, lane + lanes)])


def _paired_words(b: Builder, low: Value, high: Value, key: Value) -> Value:
    """Write blocks of which each is in two neighbouring lanes, where the arguments are equal.

    One of the lanes has the words ``c0, c1`` of the counter, the other one ``c2, c3``. A round is
    a multiplication, an exchange of neighbours, a shift and an xor for all lanes.
    """
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


@outlined_function("random_bits")
def write_random_bits(module: Module, symbol: OutlinedSymbol) -> None:
    """Write ``bits(position, key, low, high)``, of the block of each lane."""
    returns, word = type_of(symbol.dtype, symbol.lanes), UINT64.of(symbol.lanes)
    convention = module.target.convention
    function = module.function(symbol.symbol, returns, [word] * 4, convention=convention)
    b = Builder(function, inline=True)
    position, key, low, high = b.arguments
    in_word = 8 // returns.itemsize
    of_word = position >> (in_word.bit_length() - 1)
    even, odd = block_words(key, low + (of_word >> 1), high)
    bits = b.select(b.ne(of_word & 1, 0), odd, even)
    if in_word > 1:
        bits = bits >> ((position & (in_word - 1)) * returns.bits)
    b.ret(b.convert(bits, returns))


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
    bits, *parameters = (frozen(b, x) for x in values)
    prepared = emit_formula(b, before.formula, parameters)
    lanes = bits.type.lanes
    formula = attempt.formula
    result_type = bits.type.like(formula.types[formula.results[0]].dtype)

    def try_again(number: Value, left: Value, result: Value) -> tuple[list[Value], Value]:
        words: list[Value] = []
        for block in range(op.words // 2):
            at = number * (op.words // 2) + block
            low = b.splat(b.convert(at, bits.type.of(1)), lanes)
            words += block_words(bits, low, b.constant(bits.type, 0))
        value, accepted = cast("list[Value]", emit_formula(b, formula, [*words, *prepared]))
        still = left & ~accepted
        return [number + 1, still, b.select(left, value, result)], still

    first = [b.constant(INT64, 0), b.constant(BOOL.of(lanes), 1), b.constant(result_type, 0)]
    return iterate(b, MOST_ATTEMPTS, first, try_again)[-1]


@CODE.register(RareCase)
def emit_rare_case(b: Builder, op: RareCase, values: Sequence[Any]) -> Value:
    """Write the usual steps, and the others behind a branch for vectors that need them."""
    parts = op.formulas([value.type.name for value in values])
    # Lanes beyond the end of an array hold anything.
    values = [frozen(b, x) for x in values]
    (usual,), (is_rare,) = (emit_formula(b, parts[i].formula, values) for i in (0, 2))
    mask, result = cast("Value", is_rare), cast("Value", usual)

    def compute() -> list[Value]:
        (other,) = emit_formula(b, parts[1].formula, values)
        return [b.select(mask, cast("Value", other), result)]

    (chosen,) = computed_if(b, b.any(mask), compute, [result])
    return chosen
