"""States of generators and their bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.jax.arrays import jnp, lax
from phintys.backends.jax.rules.words import four_words, join_words, two_words
from phintys.backends.jax.tracing import Trace, converts, makes_large
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

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


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
