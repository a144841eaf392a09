"""Philox 4x32-10 in NumPy: the reference that all other implementations are checked against.

The generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(SC 2011): a bijection of 128-bit counters, chosen by a 64-bit key.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)  # what is added to the key in each round

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(counter: Any, key: Any) -> np.ndarray[Any, Any]:
    """Return the random words of counters.

    Parameters
    ----------
    counter
        uint32 of shape ``(..., 4)``, the least significant word first.
    key
        uint32 of shape ``(..., 2)``, which broadcasts against the counters.

    Returns
    -------
    ndarray
        uint32 of shape ``(..., 4)``.

    Examples
    --------
    >>> from phintys.random.bits.philox import philox
    >>> [f"{word:08x}" for word in philox([0, 0, 0, 0], [0, 0])]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    words = np.asarray(counter, "uint64")
    keys = np.asarray(key, "uint64")
    c0, c1, c2, c3 = (words[..., i] for i in range(4))
    k0, k1 = (keys[..., i] for i in range(2))
    first, second = (np.uint64(one) for one in MULTIPLIERS)
    for _ in range(ROUNDS):
        left, right = c0 * first, c2 * second
        c0, c1, c2, c3 = (
            (right >> _HALF) ^ c1 ^ k0,
            right & _LOW,
            (left >> _HALF) ^ c3 ^ k1,
            left & _LOW,
        )
        k0, k1 = ((k + np.uint64(step)) & _LOW for k, step in zip((k0, k1), WEYL, strict=True))
    return np.stack(np.broadcast_arrays(c0, c1, c2, c3), axis=-1).astype("uint32")


def blocks(words: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    """Return the next ``count`` blocks of a state, uint32 of shape ``(count, 4)``.

    Parameters
    ----------
    words
        The state, three uint64: the key, and the low and high half of the counter. The low half
        wraps around: the high half tells streams apart.
    count
        How many blocks.
    """
    low = words[1] + np.arange(count, dtype="uint64")  # NumPy's arrays wrap around
    high = np.broadcast_to(words[2], low.shape)
    counter = np.stack([low & _LOW, low >> _HALF, high & _LOW, high >> _HALF], axis=-1)
    return philox(counter, np.stack([words[0] & _LOW, words[0] >> _HALF]))


def word_at(position: Any, key: Any, low: Any, high: Any) -> np.ndarray[Any, Any]:
    """Return 64 random bits for each position of a state; all arguments are arrays of uint64.

    Parameters
    ----------
    position
        The block at ``low + position // 2`` has two words; an even position has the first one.
    key, low, high
        The words of a state.
    """
    at = low + (position >> np.uint64(1))
    counter = np.stack([at & _LOW, at >> _HALF, high & _LOW, high >> _HALF], axis=-1)
    words = philox(counter, np.stack([key & _LOW, key >> _HALF], axis=-1)).astype("uint64")
    is_second = (position & np.uint64(1)).astype(bool)
    first, second = (words[..., i] | words[..., i + 1] << _HALF for i in (0, 2))
    return np.where(is_second, second, first)
