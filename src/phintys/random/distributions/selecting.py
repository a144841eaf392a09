"""Choices among the elements of an array, and random orders of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError
from phintys.random.distributions.base import Distribution, as_parameter
from phintys.random.distributions.bounded import Uniform
from phintys.random.distributions.categorical import places_among
from phintys.random.distributions.checks import (
    positive,
    probabilities,
    up_to_integer,
    with_domains,
)
from phintys.random.distributions.discrete import ParameterOfDiscrete
from phintys.random.distributions.multivariate import Source
from phintys.random.distributions.positive import Exponential
from phintys.random.samplers.counts import integer_below
from phintys.random.samplers.orders import DistinctIntegers, FirstPlaces, RandomOrder
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import as_sizes
from phintys.tensor.dim_shuffle import moveaxis, normalize_axis
from phintys.tensor.indexing.setting import take_along_axis
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shapes import sizes_of, specify_shape
from phintys.tensor.sizes import as_size, fold, multiply_sizes

if TYPE_CHECKING:
    from phintys.graph.variable import Variable


def random_order(source: Source, *lengths: Any) -> Any:
    """Return random orders along the last axis."""
    return RandomOrder()(source.bits(*lengths))


class Selection(Distribution):
    """What draws elements of an array; its numbers have no density.

    The arguments are those of the methods of NumPy's generators.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        self.arguments: dict[str, Any] = {**self.defaults, **self._named(values, named)}
        self.parameters: dict[str, Any] = {}
        self._source = next(iter(self.defaults))
        count = as_tensor_variable(self.arguments[self._source])
        if count.ndim == 0:  # the integers below it
            self.parameters[self._source] = count

    def _elements(self) -> tuple[Any, Any]:
        """Return the array to select from, ``None`` for integers below a number, and its length."""
        if self._source in self.parameters:
            count = self.parameters[self._source]
            return None, fold(as_size(count, "The number of integers to select from"))
        x = as_tensor_variable(self.arguments[self._source])
        return x, sizes_of(x)[normalize_axis(self.arguments["axis"], x.ndim)]

    def within(self, dtype: str) -> Any:
        if self._source not in self.parameters:
            return self
        return with_domains(self, {self._source: up_to_integer(dtype, beyond=1)})

    def draw(self, rng: Any, size: Any = None) -> tuple[Variable, Any]:
        source = Source(rng)
        selected = self.selected(source, size)
        return source.state, selected

    def selected(self, source: Source, size: Any) -> Any:
        """Return the selected elements."""
        raise NotImplementedError

    def without_size(self, size: Any) -> None:
        """Raise an error if a size is given."""
        if size is not None:
            msg = f"{type(self).__name__.lower()} has the shape of its argument; got size={size!r}."
            raise ArgumentError(msg)


class Permutation(Selection, method="permutation"):
    """An array with its slices along an axis in a random order, or the integers below a number.

    All orders have the same probability.

    Parameters
    ----------
    x
        The array, or how many integers.
    axis
        The axis.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.random import RandomStream
    >>> np.sort(RandomStream(1).permutation(4).eval())
    array([0, 1, 2, 3])
    """

    defaults: ClassVar[dict[str, Any]] = {"x": None, "axis": 0}

    def selected(self, source: Source, size: Any) -> Any:
        self.without_size(size)
        x, count = self._elements()
        order = random_order(source, count)
        return order if x is None else x.take(order, axis=self.arguments["axis"])


class Shuffle(Permutation, method="shuffle"):
    """An array with its slices along an axis in a random order; the array itself stays as it is.

    Parameters
    ----------
    x
        The array.
    axis
        The axis.

    Examples
    --------
    >>> from phintys.random import RandomStream
    >>> sorted(RandomStream(1).shuffle([3, 5, 7]).eval().tolist())
    [3, 5, 7]
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        if as_tensor_variable(self.arguments["x"]).ndim == 0:
            msg = "shuffle takes an array with dimensions, got a scalar; see permutation."
            raise ShapeError(msg)


class Permuted(Selection, method="permuted"):
    """An array with the elements along an axis in random orders, a different one for each slice.

    Without an axis all elements are in one random order.

    Parameters
    ----------
    x
        The array.
    axis
        The axis; all elements are mixed with each other by default.

    Examples
    --------
    >>> from phintys.random import RandomStream
    >>> sorted(RandomStream(1).permuted([3, 5, 7]).eval().tolist())
    [3, 5, 7]
    """

    defaults: ClassVar[dict[str, Any]] = {"x": None, "axis": None}

    def selected(self, source: Source, size: Any) -> Any:
        self.without_size(size)
        x = as_tensor_variable(self.arguments["x"])
        sizes = sizes_of(x)
        if self.arguments["axis"] is None:
            order = random_order(source, multiply_sizes(sizes))
            return reshape(flatten(x)[order], sizes, ndim=x.ndim)
        rows = moveaxis(x, self.arguments["axis"], -1)
        order = random_order(source, *sizes_of(rows))
        return moveaxis(take_along_axis(rows, order, axis=-1), -1, self.arguments["axis"])


class Choice(Selection, method="choice"):
    """Elements of an array, or integers below a number.

    Parameters
    ----------
    a
        The array; an int stands for the integers from 0 to ``a - 1``.
    size
        The shape that takes the place of ``axis``; one element by default.
    replace
        Whether an element can be drawn more than once.
    p
        Probabilities of the elements; equal ones by default.
        Without replacement, elements are drawn one after the other with probabilities in proportion
        to those of the elements that are left.
    axis
        The axis along which elements, or slices, are drawn.
    shuffle
        Accepted as in NumPy: draws without replacement are always in a random order.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.random import RandomStream
    >>> stream = RandomStream(1)
    >>> np.sort(stream.choice(np.array([5, 6, 7]), 3, replace=False).eval())
    array([5, 6, 7])
    >>> stream.choice(2, 4, p=[0.0, 1.0]).eval()
    array([1, 1, 1, 1])
    """

    defaults: ClassVar[dict[str, Any]] = {
        "a": None,
        "size": None,
        "replace": True,
        "p": None,
        "axis": 0,
        "shuffle": True,
    }
    domains: ClassVar[dict[str, Any]] = {"a": positive, "p": probabilities}
    is_discrete: bool = True  # what is drawn are places

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        if self.arguments["p"] is not None:
            p = as_tensor_variable(self.arguments["p"])
            if p.ndim != 1:
                msg = f"choice: p is a vector with a probability for each element, got {p.type}."
                raise ShapeError(msg)
            self.parameters["p"] = as_parameter(p)

    def selected(self, source: Source, size: Any) -> Any:
        size = self.arguments["size"] if size is None else size
        lengths = () if size is None else tuple(as_sizes(size, "The size of a choice"))
        a, count = self._elements()
        places = self._places(source, count, lengths)
        return places if a is None else a.take(places, axis=self.arguments["axis"])

    def _places(self, source: Source, count: Any, lengths: tuple[Any, ...]) -> Any:
        if self.arguments["replace"]:
            return self._with_replacement(source, count, lengths)
        wanted = multiply_sizes([fold(length) for length in lengths])
        if "p" not in self.parameters:
            needed = DistinctIntegers.words(wanted, count)
            places = DistinctIntegers()(source.bits(needed), count, wanted)
        else:
            # The first to happen of events with rates p are such a choice.
            times = source.draw(Exponential(np.float64(1)), count) / self._weights(count)
            places = FirstPlaces()(times, wanted)
        return reshape(places, lengths, ndim=len(lengths))

    def _with_replacement(self, source: Source, count: Any, lengths: tuple[Any, ...]) -> Any:
        if "p" not in self.parameters:
            below = integer_below(source.bits(*lengths), math.cast(count, "uint64"))
            return math.cast(below, "int64")
        uniform = source.draw(Uniform(np.float64(0), np.float64(1)), *lengths)
        return places_among(self._weights(count), uniform)

    def _weights(self, count: Any) -> Any:
        weights = ParameterOfDiscrete("Choice", "p")(math.cast(self.p, "float64"))
        return specify_shape(weights, (count,))
