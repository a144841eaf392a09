"""States of generators and their bits on arrays of JAX: Philox 4x32-10 (Salmon et al., 2011)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.jax.arrays import jax, jnp, lax
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
_LOWER = np.uint64(2**32 - 1)
_MULTIPLIERS = tuple(np.uint64(m) for m in constants.MULTIPLIERS)
_WEYL = tuple(np.uint64(w) for w in constants.WEYL)


def two_words(low: Any, high: Any, key: Any) -> tuple[Any, Any]:
    """Return the two words of 64 bits of each counter.

    The halves of 32 bits are numbers of 64 bits, whose upper halves are cut off where a product
    needs that: a round is two thirds as many steps as with conversions to 64 bits and back.
    """
    low, high = jnp.broadcast_arrays(low, high)
    a, b, c, d = low & _LOWER, low >> _HALF, high & _LOWER, high >> _HALF
    k, m = key, key >> _HALF
    for _ in range(constants.ROUNDS):
        a, b, c, d = _one_round(a, b, c, d, k, m)
        k, m = k + _WEYL[0], m + _WEYL[1]
    return a | b << _HALF, c | d << _HALF


@jax.jit  # traced once for all rounds
def _one_round(a: Any, b: Any, c: Any, d: Any, k: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """Return the words after a round; the upper halves of the second and the fourth are not 0."""
    left, right = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
    a, c = (right >> _HALF ^ b ^ k) & _LOWER, (left >> _HALF ^ d ^ m) & _LOWER
    return a, right, c, left


def word_at(position: Any, key: Any, low: Any, high: Any) -> Any:
    """Return the word of 64 bits at a position of a stream."""
    one = np.uint64(1)
    first, second = two_words(low + (position >> one), high, key)
    return jnp.where((position & one) != 0, second, first)


def rejection(
    op: Any, args: Sequence[Any], out: np.dtype[Any], trace: Trace, apply: Callable[..., list[Any]]
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
        for word in words:
            trace.draws[word] = True
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
    count = -(-size // op.in_block)
    words = jnp.asarray(words)
    pair = two_words(words[1] + lax.iota("uint64", count), words[2], words[0])
    # Words are cut before they are joined: LLVM makes vectors of what joins two arrays, not four.
    parts = [
        lax.bitcast_convert_type(word, op.dtype).reshape(count, op.in_block // 2) for word in pair
    ]
    found = jnp.concatenate(parts, 1).reshape(-1)[:size].reshape(shape)
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
