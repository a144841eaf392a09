"""States of generators and their bits on arrays of JAX: Philox 4x32-10 (Salmon et al., 2011)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.jax.arrays import jnp, lax
from phintys.backends.jax.tracing import Trace, converts, makes_large
from phintys.random.bits import philox as constants
from phintys.random.bits.random_bits import Positions, RandomBits
from phintys.random.bits.states import (
    TO_FOLD,
    TO_SPLIT,
    Advance,
    FoldIn,
    Jump,
    SplitState,
    StateOfWords,
    StateWords,
)
from phintys.random.exact import steps

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


# ---- words ---------------------------------------------------------------------------------------


_HALF = np.uint64(32)
_MULTIPLIERS = tuple(np.uint64(m) for m in constants.MULTIPLIERS)
_WEYL = tuple(np.uint32(w) for w in constants.WEYL)


def split_words(words: Any) -> tuple[Any, Any]:
    """Return the lower and the upper halves of words of 64 bits."""
    return words.astype("uint32"), (words >> _HALF).astype("uint32")


def join_words(low: Any, high: Any) -> Any:
    """Return words of 64 bits from their halves."""
    return low.astype("uint64") | high.astype("uint64") << _HALF


def four_words(low: Any, high: Any, key: Any) -> tuple[Any, Any, Any, Any]:
    """Return the four words of 32 bits of each counter."""
    low, high = jnp.broadcast_arrays(low, high)
    a, b = split_words(low)
    c, d = split_words(high)
    k, m = split_words(key)
    for _ in range(constants.ROUNDS):
        left, right = a.astype("uint64") * _MULTIPLIERS[0], c.astype("uint64") * _MULTIPLIERS[1]
        left_low, left_high = split_words(left)
        right_low, right_high = split_words(right)
        a, b, c, d = right_high ^ b ^ k, right_low, left_high ^ d ^ m, left_low
        k, m = k + _WEYL[0], m + _WEYL[1]
    return a, b, c, d


def two_words(low: Any, high: Any, key: Any) -> tuple[Any, Any]:
    """Return the two words of 64 bits of each counter."""
    a, b, c, d = four_words(low, high, key)
    return join_words(a, b), join_words(c, d)


def word_at(position: Any, key: Any, low: Any, high: Any) -> Any:
    """Return the word of 64 bits at a position of a stream."""
    one = np.uint64(1)
    first, second = two_words(low + (position >> one), high, key)
    return jnp.where((position & one) != 0, second, first)


def rejection(
    op: Any, args: Sequence[Any], out: np.dtype[Any], apply: Callable[..., list[Any]]
) -> Any:
    """Make attempts for all elements together, until each of them has accepted one."""
    bits, *parameters = jnp.broadcast_arrays(*args)
    before, attempt = op.formulas([np.dtype(bits.dtype), *(np.dtype(p.dtype) for p in parameters)])
    prepared = apply(before, parameters)
    prepared = [jnp.broadcast_to(value, bits.shape) for value in prepared]
    blocks = op.words // 2
    zero = jnp.zeros((), "uint64")

    def words_of(number: Any) -> list[Any]:
        words: list[Any] = []
        for block in range(blocks):
            at = number * np.uint64(blocks) + np.uint64(block)
            words += two_words(jnp.broadcast_to(at, bits.shape), zero, bits)
        return words

    def attempt_all(carried: Any) -> Any:
        number, value, is_open = carried
        found, accepted = apply(attempt, [*words_of(number), *prepared])
        found = jnp.broadcast_to(found, bits.shape).astype(out)
        is_done = jnp.broadcast_to(accepted != 0, bits.shape)
        return number + np.uint64(1), jnp.where(is_open, found, value), is_open & ~is_done

    def is_any_open(carried: Any) -> Any:
        number, _, is_open = carried
        return jnp.any(is_open) & (number < np.uint64(steps.MOST_ATTEMPTS))

    start = (zero, jnp.zeros(bits.shape, out), jnp.ones(bits.shape, bool))
    return lax.while_loop(is_any_open, attempt_all, start)[1]


# ---- states --------------------------------------------------------------------------------------


@converts(RandomBits)
@makes_large
def random_bits(op: Any, node: Apply, trace: Trace, words: Any, *lengths: Any) -> Any:
    """The words of consecutive counters, cut into numbers of the dtype."""
    shape = trace.sizes(node, lengths)
    size = int(np.prod(shape, dtype=int))
    words = jnp.asarray(words)
    four = four_words(words[1] + lax.iota("uint64", -(-size // op.in_block)), words[2], words[0])
    match op.dtype:
        case "uint32":
            parts = list(four)
        case "uint64":
            parts = [join_words(four[0], four[1]), join_words(four[2], four[3])]
        case _:
            half = np.uint32(16)
            parts = [(word >> at).astype("uint16") for word in four for at in (np.uint32(0), half)]
    found = jnp.stack(parts, -1).reshape(-1)[:size].reshape(shape)
    trace.draws[found] = True
    return found


@converts(Positions)
@makes_large
def positions(op: Any, node: Apply, trace: Trace, *lengths: Any) -> Any:
    """Consecutive numbers."""
    shape = trace.sizes(node, lengths)
    return lax.iota("uint64", int(np.prod(shape, dtype=int))).reshape(shape)


@converts(StateWords, StateOfWords)
def state_words(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """A state is its words."""
    return x


@converts(Advance)
@makes_large
def advance(op: Any, node: Apply, trace: Trace, words: Any, count: Any) -> Any:
    """Skip counters."""
    return jnp.asarray(words).at[1].add(jnp.asarray(count).astype("uint64"))


@converts(Jump)
@makes_large
def jump(op: Any, node: Apply, trace: Trace, words: Any) -> Any:
    """Go to the next stream."""
    return jnp.asarray(words).at[2].add(np.uint64(1))


@converts(SplitState)
@makes_large
def split_state(op: Any, node: Apply, trace: Trace, words: Any) -> list[Any]:
    """States with keys of their own, and the state that follows."""
    words = jnp.asarray(words)
    counters = words[1] + lax.iota("uint64", op.count)
    keys, streams = two_words(counters, words[2], words[0] ^ TO_SPLIT)
    zero = jnp.zeros((), "uint64")
    made = [jnp.stack([keys[i], zero, streams[i]]) for i in range(op.count)]
    return [words.at[1].add(np.uint64(op.count)), *made]


@converts(FoldIn)
@makes_large
def fold_in(op: Any, node: Apply, trace: Trace, words: Any, number: Any) -> Any:
    """The state for a number."""
    words = jnp.asarray(words)
    key, stream = two_words(words[1], words[2], words[0] ^ TO_FOLD)
    low = jnp.asarray(number).astype("int64").astype("uint64")
    found, high = two_words(low, stream, key)
    return jnp.stack([found, jnp.zeros((), "uint64"), high])
