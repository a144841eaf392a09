"""Generators for users: shared ones, symbolic inputs, and streams with default updates."""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys.graph.shared_variable import SharedVariable
from phintys.random.distributions import DISTRIBUTIONS, drawing
from phintys.random.states import GeneratorVariable, random_type, state

__all__ = ["RandomStream", "rng", "shared_rng"]


def rng(name: str | None = None) -> GeneratorVariable:
    """Return a symbolic generator, an input of a function.

    Examples
    --------
    >>> import phintys
    >>> from phintys.random import rng, state
    >>> r = rng("r")
    >>> after, draw = r.uniform(0.0, 1.0, size=2)
    >>> f = phintys.function([r], [after, draw])
    >>> after, first = f(state(1))
    >>> bool((f(after)[1] == first).any())
    False
    """
    return random_type(name)  # pyright: ignore[reportReturnType]


def shared_rng(seed: Any, name: str | None = None) -> SharedVariable:
    """Return a shared generator.

    Parameters
    ----------
    seed
        A non-negative int, a sequence of them, or a ``numpy.random.SeedSequence``.
    name
        The name of the variable.

    Examples
    --------
    >>> import phintys
    >>> from phintys.random import shared_rng
    >>> r = shared_rng(1)
    >>> after, draw = r.normal(size=3)
    >>> f = phintys.function([], draw, updates={r: after})
    >>> bool((f() == f()).any())
    False
    """
    return random_type.make_shared(state(seed), name=name, borrow=True)


class RandomStream:
    """Draws that differ at each call of a function.

    It has a method for each distribution. Each draw has a shared generator of its own, whose
    default update is the next state.

    Parameters
    ----------
    seed
        A non-negative int, a sequence of them, or a ``numpy.random.SeedSequence``.

    Examples
    --------
    >>> import phintys
    >>> from phintys.random import RandomStream
    >>> stream = RandomStream(1)
    >>> f = phintys.function([], stream.normal(0.0, 1.0, size=3))
    >>> bool((f() == f()).any())
    False
    """

    def __init__(self, seed: Any) -> None:
        self._generators: list[SharedVariable] = []
        self.seed(seed)

    def seed(self, seed: Any) -> None:
        """Set the states of all generators of the stream anew."""
        state(seed)  # checks it
        self._entropy = seed.entropy if isinstance(seed, np.random.SeedSequence) else seed
        self._key = seed.spawn_key if isinstance(seed, np.random.SeedSequence) else ()
        for number, generator in enumerate(self._generators):
            generator.set_value(self._state(number))

    def _state(self, number: int) -> Any:
        key = (*self._key, number)
        return state(np.random.SeedSequence(self._entropy, spawn_key=key))

    def gen(self) -> SharedVariable:
        """Return a new shared generator of the stream."""
        generator = shared_rng(0)
        generator.set_value(self._state(len(self._generators)))
        self._generators.append(generator)
        return generator

    def draw(self, distribution: Any, size: Any = None) -> Any:
        """Return numbers of a distribution, of the shape ``size``."""
        generator = self.gen()
        after, numbers = distribution.draw(generator, size)
        generator.default_update = after
        return numbers

    def updates(self) -> list[tuple[SharedVariable, Any]]:
        """Return the generators and their next states."""
        return [
            (one, one.default_update) for one in self._generators if one.default_update is not None
        ]


for _name, _distribution in DISTRIBUTIONS.items():
    for _cls in (GeneratorVariable, RandomStream):
        setattr(_cls, _name, drawing(_distribution))
