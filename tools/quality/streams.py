"""Streams of bits from generators, as programs use them: one, many interleaved, many in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import phintys
import phintys.tensor as pt
from phintys.random import RandomBits, StateWords, rng, state
from phintys.random.bits.states import TO_TRY, StateOfWords

__all__ = ["STREAMS", "bits_of"]

CHILDREN = 64
WORDS_OF_A_CHILD = 16

Stream = Callable[[Any, int], Any]

STREAMS: dict[str, Stream] = {}
"""The name of a stream -> a function of a generator and how many words of 64 bits to make."""


def _stream(function: Stream) -> Stream:
    """Enter a stream in the table."""
    STREAMS[function.__name__.replace("_", " ")] = function
    return function


def _words(generator: Any, count: Any, dtype: str = "uint64") -> Any:
    return RandomBits(dtype)(StateWords()(generator), count)


@_stream
def one_generator(generator: Any, count: int) -> Any:
    """Words of 64 bits, one after the other."""
    return _words(generator, count)


@_stream
def words_of_32_bits(generator: Any, count: int) -> Any:
    """Words of 32 bits, one after the other."""
    return _words(generator, 2 * count, "uint32")


@_stream
def words_of_16_bits(generator: Any, count: int) -> Any:
    """Words of 16 bits, one after the other."""
    return _words(generator, 4 * count, "uint16")


@_stream
def trials_of_one_half(generator: Any, count: int) -> Any:
    """The results of trials with the probability 1/2, 64 in a word."""
    _, results = generator.bernoulli(0.5, size=(count, 64), dtype="bool")
    return (results.astype("uint64") << pt.arange(64, dtype="uint64")).sum(axis=1)


@_stream
def trials_and_what_decides_few(generator: Any, count: int) -> Any:
    """A word that trials read, then one of those that decide where 16 bits do not."""
    words = StateWords()(generator)
    further = StateOfWords()(words ^ pt.constant(np.array([TO_TRY, 0, 0], "uint64")))
    return pt.stack([_words(one, count // 2) for one in (generator, further)], axis=1).ravel()


@_stream
def split_and_interleaved(generator: Any, count: int) -> Any:
    """A word of each of 64 generators that were split from one, then the next word of each."""
    _, children = generator.split(CHILDREN)
    return pt.stack([_words(child, count // CHILDREN) for child in children], axis=1).ravel()


@_stream
def folded_in(generator: Any, count: int) -> Any:
    """The first words of the generators that belong to 0, 1, 2 ..."""
    rows, _ = phintys.scan(
        lambda number: _words(generator.fold_in(number), WORDS_OF_A_CHILD),
        pt.arange(count // WORDS_OF_A_CHILD),
    )
    return rows.ravel()


@_stream
def draws_in_turn(generator: Any, count: int) -> Any:
    """Two words a draw, each with the state after the one before."""

    def step(before: Any) -> Any:
        after, _ = before.uniform(size=2)
        return _words(before, 2), after

    rows, _ = phintys.scan(step, outputs_info=[None, generator], n_steps=count // 2)[0]
    return rows.ravel()


def bits_of(name: str, sequences: int, length: int, seed: int) -> list[np.ndarray[Any, Any]]:
    """Return sequences of a stream, of ``length`` bits each, from generators of as many seeds."""
    generator = rng("generator")
    make: Any = phintys.function([generator], STREAMS[name](generator, length // 64))
    return [
        np.unpackbits(make(state([seed, number])).view(np.uint8)) for number in range(sequences)
    ]
