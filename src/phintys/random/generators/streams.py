"""Generators for users: shared ones, symbolic inputs, and streams with default updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import numpy as np

from phintys._base.errors import ArgumentError
from phintys.graph.op import Op
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.sharing import shared
from phintys.graph.variable import Variable
from phintys.random.bits.states import (
    FoldIn,
    GeneratorVariable,
    RandomType,
    random_type,
    seed_sequence,
    state,
)
from phintys.random.distributions import DISTRIBUTIONS, Distribution
from phintys.random.generators.drawing import asked_for, draw_from, has_draws, named_draw
from phintys.random.generators.numpy_generators import (
    RandomGeneratorType,
    copied,
    random_generator_type,
)


def _draw(self: Any, distribution: Any, size: Any = None) -> tuple[Variable, Any]:
    """Return the next state and numbers of a distribution, of the shape ``size``."""
    return draw_from(distribution, self, size)


setattr(GeneratorVariable, "draw", _draw)  # noqa: B010 - the class knows no distributions
has_draws(GeneratorVariable)


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


def default_rng(seed: Any = None) -> Variable:
    """Return a generator with a seed, the same at each call of a function.

    Parameters
    ----------
    seed
        As for :class:`RandomStream`; or a symbolic integer.

    Returns
    -------
    GeneratorVariable
        A constant, or a function of the symbolic seed.

    Examples
    --------
    >>> from phintys.random import default_rng
    >>> draw = default_rng(32).normal(size=2)[1]
    >>> bool((draw.eval() == draw.eval()).all())
    True
    """
    if isinstance(seed, Variable):
        return FoldIn()(random_type.make_constant(state(0)), seed)
    return random_type.make_constant(state(seed))


def as_rng(value: Any) -> Variable:
    """Return a generator as a variable.

    Parameters
    ----------
    value
        A variable, which is returned; a ``numpy.random.Generator`` or a state, which become
        constants; or a seed, as for :func:`default_rng`.

    Returns
    -------
    Variable
        A generator, ours or NumPy's.

    Raises
    ------
    ArgumentError
        ``value`` is a variable of another Type, or no seed.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.random import as_rng
    >>> bool(
    ...     as_rng(np.random.default_rng(1)).normal()[1].eval() == np.random.default_rng(1).normal()
    ... )
    True
    """
    if isinstance(value, Variable):
        if isinstance(value.type, RandomType | RandomGeneratorType):
            return value
        msg = (
            f"Expected a generator, got {value} of type {value.type}. A generator with a symbolic "
            "seed is default_rng(seed)."
        )
        raise ArgumentError(msg)
    if isinstance(value, np.random.Generator):
        return random_generator_type.make_constant(copied(value))
    if random_type.is_valid_value(value):
        return random_type.make_constant(value)
    return default_rng(value)


def shared_rng(
    value: Any = None, *, seed: Any = None, name: str | None = None, borrow: bool = False
) -> SharedVariable:
    """Return a shared generator.

    Its state stays the same until a function updates it: give the function ``updates``, or the
    variable a ``default_update``. :class:`RandomStream` does the latter.

    Parameters
    ----------
    value
        A state, a generator of NumPy, or a seed.
    seed
        A seed, instead of a value: a non-negative int, a string of its digits, a sequence of ints,
        a ``numpy.random.SeedSequence``, or ``None`` for fresh entropy.
    name
        The name of the variable.
    borrow
        Whether a state is kept itself, not a copy.

    Examples
    --------
    >>> import phintys
    >>> from phintys.random import shared_rng
    >>> r = shared_rng(seed=1)
    >>> after, draw = r.normal(size=3)
    >>> f = phintys.function([], draw, updates={r: after})
    >>> bool((f() == f()).any())
    False
    """
    if value is not None and seed is not None:
        msg = f"shared_rng takes a value or a seed, not both; got {value!r} and seed={seed!r}."
        raise ArgumentError(msg)
    if random_type.is_valid_value(value):
        return random_type.make_shared(value, name=name, borrow=borrow)
    if isinstance(value, np.random.Generator):
        return shared(value, name=name, borrow=borrow)
    return random_type.make_shared(state(seed if value is None else value), name=name, borrow=True)


@partial(has_draws, returns="variable\n    The draws.")
class RandomStream:
    """Draws that differ at each call of a function.

    It has a method for each distribution. Each draw has a shared generator of its own, whose
    default update is the next state: a function that computes the draw stores that state when it is
    called, and the next call continues there.

    Parameters
    ----------
    seed
        A non-negative int, a string of its digits, a sequence of ints, a
        ``numpy.random.SeedSequence``, or ``None`` for fresh entropy.
    namespace
        Where methods for further distributions are looked up by their names: a module, an object
        or a dict of classes derived from :class:`~phintys.random.Distribution` or of
        :class:`~phintys.random.RandomVariable` Ops.
    rng_ctor
        What makes the generators from a ``numpy.random.SeedSequence``, such as
        ``numpy.random.default_rng``; the numbers are then NumPy's. By default they are ours.

    Examples
    --------
    >>> import phintys
    >>> from phintys.random import RandomStream
    >>> stream = RandomStream(1)
    >>> f = phintys.function([], stream.normal(0.0, 1.0, size=3))
    >>> bool((f() == f()).any())
    False
    """

    def __init__(
        self, seed: Any = None, namespace: Any = None, rng_ctor: Callable[[Any], Any] | None = None
    ) -> None:
        if rng_ctor is np.random.RandomState:
            msg = (
                "rng_ctor makes a numpy.random.Generator, got numpy.random.RandomState, whose "
                "states cannot be those of variables. Use numpy.random.default_rng."
            )
            raise ArgumentError(msg)
        self._generators: list[SharedVariable] = []
        self._namespace = namespace
        self._make = state if rng_ctor is None else rng_ctor
        self.seed(seed)

    def seed(self, seed: Any = None) -> None:
        """Reset the states of all generators of the stream.

        Examples
        --------
        >>> import phintys
        >>> from phintys.random import RandomStream
        >>> stream = RandomStream(1)
        >>> f = phintys.function([], stream.uniform())
        >>> first = f()
        >>> stream.seed(1)
        >>> bool(f() == first)
        True
        """
        self._seed = seed_sequence(seed)
        for number, generator in enumerate(self._generators):
            generator.set_value(self._state(number))

    def _state(self, number: int) -> Any:
        key = (*self._seed.spawn_key, number)
        return self._make(np.random.SeedSequence(self._seed.entropy, spawn_key=key))

    def generator(self) -> SharedVariable:
        """Return a new shared generator of the stream, without a default update."""
        first = self._state(len(self._generators))
        generator = shared_rng(first, borrow=True)
        self._generators.append(generator)
        return generator

    def draw(self, distribution: Any, size: Any = None) -> Any:
        """Return numbers of a distribution, of the shape ``size``."""
        if not hasattr(distribution, "draw"):
            msg = f"Expected a distribution such as Normal(loc, scale), got {distribution!r}."
            raise ArgumentError(msg)
        generator = self.generator()
        after, numbers = draw_from(distribution, generator, size)
        generator.default_update = after
        return numbers

    def gen(
        self,
        distribution: Any,
        *parameters: Any,
        size: Any = None,
        dtype: Any = None,
        name: str | None = None,
        **named: Any,
    ) -> Any:
        """Return numbers of a distribution that is given by its class, its method, or itself.

        A :class:`~phintys.random.RandomVariable` is applied to the parameters. ``name`` becomes the
        name of the numbers.

        Examples
        --------
        >>> from phintys.random import Normal, RandomStream
        >>> stream = RandomStream(1)
        >>> draws = stream.gen(Normal, 0.0, 1.0, size=3)
        >>> stream.gen("normal", 0.0, 1.0, size=3).type == draws.type
        True
        """
        if isinstance(distribution, str) and distribution in DISTRIBUTIONS:
            distribution = DISTRIBUTIONS[distribution]
        if isinstance(distribution, Op):
            options = {"size": size, "dtype": dtype, "return_next_rng": True, **named}
            generator = self.generator()
            generator.default_update, numbers = distribution(*parameters, rng=generator, **options)
            return named_draw(numbers, name)
        if isinstance(distribution, Distribution):
            given = distribution
            drawn = self.draw(*asked_for(lambda: given, parameters, size, dtype, named))
            return named_draw(drawn, name)
        if not callable(distribution):
            known = ", ".join(sorted(DISTRIBUTIONS))
            msg = f"gen takes a distribution, its class or the name of its method, one of {known}; "
            msg = f"{msg}got {distribution!r}."
            raise ArgumentError(msg)
        return named_draw(self.draw(*asked_for(distribution, parameters, size, dtype, named)), name)

    def __getattr__(self, name: str) -> Any:
        namespace = self.__dict__.get("_namespace")
        if namespace is not None and not name.startswith("_"):
            found = (
                cast("Mapping[str, Any]", namespace).get(name)
                if isinstance(namespace, Mapping)
                else getattr(namespace, name, None)
            )
            is_other = isinstance(found, type) and not issubclass(found, Distribution)
            if callable(found) and not is_other:
                return lambda *parameters, **named: self.gen(found, *parameters, **named)
        msg = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(msg, name=name, obj=self)

    def updates(self) -> list[tuple[SharedVariable, Any]]:
        """Return the generators and their next states."""
        return [
            (one, one.default_update) for one in self._generators if one.default_update is not None
        ]
