"""Philox 4x32-10 (Salmon et al., 2011) on arrays of JAX: the words of the library's own draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from phintys.backends.jax.arrays import jnp, lax
from phintys.random.bits import philox as constants
from phintys.random.exact import steps

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
