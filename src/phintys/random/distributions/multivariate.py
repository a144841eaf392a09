"""Distributions whose numbers are vectors or matrices: what they share."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

from phintys._base.errors import ArgumentError, ShapeError
from phintys.random.bits.random_bits import RandomBits
from phintys.random.bits.states import Advance, StateWords, as_state
from phintys.random.distributions.base import Distribution, as_parameter
from phintys.tensor.broadcasting import broadcast_shape, broadcast_sizes, broadcast_to
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import as_sizes
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import ceil_div_sizes, fold, multiply_sizes

if TYPE_CHECKING:
    from phintys.graph.variable import Variable


class Source:
    """A state that advances with each draw, for distributions that are made of other draws.

    Parameters
    ----------
    rng
        A generator.
    """

    def __init__(self, rng: Any) -> None:
        self.state: Variable = as_state(rng)

    def draw(self, distribution: Any, *lengths: Any) -> Any:
        """Return numbers of a distribution, of a shape."""
        self.state, numbers = distribution.draw(self.state, lengths)
        return numbers

    def bits(self, *lengths: Any) -> Any:
        """Return 64 random bits for each element of a shape, as uint64."""
        op = RandomBits("uint64")
        count = multiply_sizes([fold(length) for length in lengths])
        bits = op(StateWords()(self.state), *lengths)
        self.state = Advance()(self.state, ceil_div_sizes(count, op.in_block))
        return bits


class Multivariate(Distribution):
    """A distribution whose numbers are arrays.

    The last dimensions of a parameter belong to one distribution, those before to a batch of them;
    batches broadcast against each other. ``size`` is the shape of the batch that is drawn, and the
    dimensions of a number follow it.
    """

    core_ndim: ClassVar[dict[str, int]] = {}
    """How many last dimensions of each parameter belong to one distribution; 0 for others."""

    option_names: ClassVar[tuple[str, ...]] = ()
    """Those of ``defaults`` that are not variables."""

    def __init__(self, *values: Any, **named: Any) -> None:
        given = {**self.defaults, **self._named(values, named)}
        self.size = given.pop("size", None)
        self.options = {one: given.pop(one) for one in self.option_names}
        self.parameters: dict[str, Any] = {
            parameter: self._parameter(parameter, value)
            for parameter, value in given.items()
            if value is not None
        }

    def _parameter(self, parameter: str, value: Any) -> Any:
        value = as_tensor_variable(value)
        least = self.core_ndim.get(parameter, 0)
        if value.ndim < least:
            what = {1: "a vector", 2: "a matrix"}[least]
            msg = (
                f"{type(self).__name__}: {parameter} is {what}, or a batch of them, got "
                f"{value.ndim} dimensions."
            )
            raise ShapeError(msg)
        return as_parameter(value)

    def one_of(self, *parameters: str) -> str:
        """Return which of some parameters is given, or raise an error."""
        given = [one for one in parameters if one in self.parameters]
        if len(given) != 1:
            got = " and ".join(given) or "none of them"
            msg = f"{type(self).__name__} takes one of {', '.join(parameters)}, got {got}."
            raise ArgumentError(msg)
        return given[0]

    @property
    def batch_ndim(self) -> int:
        return max(map(len, self._batches().values()))

    def _batches(self) -> dict[str, tuple[Any, ...]]:
        """Return the shapes of the batches of parameters."""
        return {
            one: sizes_of(value)[: value.ndim - self.core_ndim.get(one, 0)]
            for one, value in self.parameters.items()
        }

    def core_sizes(self, parameter: str) -> tuple[Any, ...]:
        """Return the sizes of the dimensions of a parameter that belong to one distribution."""
        value = self.parameters[parameter]
        return sizes_of(value)[value.ndim - self.core_ndim.get(parameter, 0) :]

    def common_size(self, *parameters: str) -> Any:
        """Return the size of the last dimension of several parameters."""
        known = [self.core_sizes(one)[-1:] for one in parameters if one in self.parameters]
        return broadcast_sizes(known, type(self).__name__)[0]

    def draw(self, rng: Any, size: Any = None) -> tuple[Variable, Any]:
        """Return the next state and draws; ``size`` is the shape of the batch."""
        size = self.size if size is None else size
        batches = self._batches()
        if size is None:
            lengths = broadcast_shape(*batches.values())
            spread = self
        else:
            lengths = tuple(as_sizes(size, "The size of a draw"))
            spread = self._of_size(lengths)
        source = Source(rng)
        numbers = spread.numbers(source, lengths)
        return source.state, numbers

    def _of_size(self, lengths: tuple[Any, ...]) -> Any:
        for parameter, batch in self._batches().items():
            if len(batch) > len(lengths):
                msg = (
                    f"{type(self).__name__}: {parameter} is a batch of {len(batch)} dimensions, "
                    f"more than size, which has {len(lengths)}. The shape of the batch of draws is "
                    "size."
                )
                raise ShapeError(msg)
        spread = copy.copy(self)
        spread.parameters = {
            one: broadcast_to(value, (*lengths, *self.core_sizes(one)))
            if self._batches()[one]
            else value
            for one, value in self.parameters.items()
        }
        return spread

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        """Return draws; each parameter is single, or a batch of the shape ``lengths``."""
        raise NotImplementedError
