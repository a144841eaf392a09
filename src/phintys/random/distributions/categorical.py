"""Choices among numbered categories."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.base import as_parameter
from phintys.random.distributions.bounded import Uniform
from phintys.random.distributions.checks import probabilities
from phintys.random.distributions.discrete import DiscreteDistribution, without_derivatives
from phintys.random.distributions.location_scale import Logistic
from phintys.random.distributions.multivariate import Multivariate, Source
from phintys.tensor import math, reduce, special
from phintys.tensor.creation import zeros_like
from phintys.tensor.cumulative import cumsum
from phintys.tensor.dim_shuffle import expand_dims, squeeze
from phintys.tensor.indexing.setting import take_along_axis
from phintys.tensor.joining import concatenate
from phintys.tensor.ranges import arange
from phintys.tensor.searching import searchsorted
from phintys.tensor.softmaxes import log_softmax

_MOST_COMPARED = 64


def places_among(weights: Any, uniform: Any) -> Any:
    """Return the category of each uniform number of [0, 1), by the running sums of weights.

    The result is exact: a category is chosen with the share that the weights have in their sum, up
    to the spacing of the uniform numbers. Few sums are all compared with a number, which is a sum
    over a fused loop; many that all numbers share are searched.

    Parameters
    ----------
    weights
        A vector, or a batch of them of the shape of ``uniform``; not negative, with any sum.
    uniform
        Numbers in [0, 1).
    """
    sums = cumsum(math.cast(weights, "float64"), axis=-1)
    at = uniform * sums[..., -1]
    inner = sums[..., :-1]
    count = weights.type.shape[-1]
    if weights.ndim == 1 and (count is None or count > _MOST_COMPARED):
        return searchsorted(inner, at, side="right")
    passed = math.cast(inner <= expand_dims(at, -1), "int64")
    return reduce.sum(passed, axis=-1)


def picked(rows: Any, places: Any) -> Any:
    """Return the element of a vector, or of each of a batch of vectors, that has an index."""
    if rows.ndim == 1:
        return rows[places]
    more = places.ndim - (rows.ndim - 1)
    rows = expand_dims(rows, tuple(range(more))) if more > 0 else rows
    places = expand_dims(places, tuple(range(-more))) if more < 0 else places
    return squeeze(take_along_axis(rows, expand_dims(places, -1), axis=-1), -1)


class Categorical(DiscreteDistribution, Multivariate, method="categorical"):
    """0, 1, …, each with its probability.

    Parameters
    ----------
    p
        The probabilities, along the last axis.
    size
        The shape of the draws.
    logits
        Logarithms of probabilities up to a common constant, instead of ``p``.

    Examples
    --------
    >>> from phintys.random import Categorical, logp
    >>> round(float(logp(Categorical([0.25, 0.75]), 0).eval()), 6)
    -1.386294
    """

    defaults: ClassVar[dict[str, Any]] = {"p": None, "size": None, "logits": None}
    core_ndim: ClassVar[dict[str, int]] = {"p": 1, "logits": 1}
    domains: ClassVar[dict[str, Any]] = {"p": probabilities}

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self.one_of("p", "logits")

    def _log_probabilities(self) -> Any:
        if "logits" in self.parameters:
            return log_softmax(self.logits, axis=-1)
        return math.log(self.p) - math.log(reduce.sum(self.p, axis=-1, keepdims=True))

    def _probabilities(self) -> Any:
        if "logits" in self.parameters:
            return math.exp(self._log_probabilities())
        return self.p / reduce.sum(self.p, axis=-1, keepdims=True)

    def _count(self) -> Any:
        return self.common_size("p", "logits")

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        fixed = without_derivatives(self)
        if "logits" in self.parameters:
            logits = fixed.logits
            weights = math.exp(logits - reduce.max(logits, axis=-1, keepdims=True))
        else:
            weights = fixed.p
        return places_among(weights, source.draw(Uniform(np.float64(0), np.float64(1)), *lengths))

    def support(self) -> tuple[Any, Any]:
        return 0.0, math.cast(self._count() - 1, "float64")

    def _logp(self, value: Any) -> Any:
        return picked(self._log_probabilities(), math.cast(value, "int64"))

    def _cdf(self, value: Any) -> Any:
        return picked(cumsum(self._probabilities(), axis=-1), math.cast(value, "int64"))

    def icdf(self, q: Any) -> Any:
        q = as_parameter(q)
        sums = cumsum(self._probabilities(), axis=-1)[..., :-1]
        place = reduce.sum(math.cast(sums < expand_dims(q, -1), "float64"), axis=-1)
        return math.switch(math.and_(q >= 0, q <= 1), place, np.nan)

    def mean(self) -> Any:
        return reduce.sum(self._probabilities() * arange(self._count()), axis=-1)

    def variance(self) -> Any:
        squares = reduce.sum(self._probabilities() * math.sqr(arange(self._count())), axis=-1)
        return squares - math.sqr(self.mean())

    def entropy(self) -> Any:
        return reduce.sum(special.entr(self._probabilities()), axis=-1)


class OrderedLogistic(DiscreteDistribution, Multivariate, method="ordered_logistic"):
    """How many cut points a logistic number about ``eta`` exceeds.

    Parameters
    ----------
    eta
        The locations.
    cutpoints
        In ascending order, along the last axis.

    Examples
    --------
    >>> from phintys.random import OrderedLogistic, logp
    >>> round(float(logp(OrderedLogistic(0.5, [-1.0, 0.0, 1.0]), 2.0).eval()), 6)
    -1.406829
    """

    defaults: ClassVar[dict[str, Any]] = {"eta": 0.0, "cutpoints": [0.0]}
    core_ndim: ClassVar[dict[str, int]] = {"cutpoints": 1}

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        fixed = without_derivatives(self)
        noise = source.draw(Logistic(np.float64(0), np.float64(1)), *lengths)
        exceeds = fixed.cutpoints < expand_dims(fixed.eta + noise, -1)
        return reduce.sum(math.cast(exceeds, "int64"), axis=-1)

    def support(self) -> tuple[Any, Any]:
        return 0.0, math.cast(self.common_size("cutpoints"), "float64")

    def _logp(self, value: Any) -> Any:
        place = math.cast(value, "int64")
        end = zeros_like(self.cutpoints[..., :1]) + np.inf
        bounds = concatenate([-end, self.cutpoints, end], axis=-1)
        low, high = picked(bounds, place), picked(bounds, place + 1)
        # sigmoid(a) - sigmoid(b) = sigmoid(a) sigmoid(-b) (1 - exp(b - a))
        ends = special.log_sigmoid(self.eta - low) + special.log_sigmoid(high - self.eta)
        return ends + special.log1mexp(low - high)

    def _logcdf(self, value: Any) -> Any:
        return special.log_sigmoid(picked(self.cutpoints, math.cast(value, "int64")) - self.eta)

    def _cdf(self, value: Any) -> Any:
        return math.exp(self._logcdf(value))

    def _logsf(self, value: Any) -> Any:
        return special.log_sigmoid(self.eta - picked(self.cutpoints, math.cast(value, "int64")))

    def _sf(self, value: Any) -> Any:
        return math.exp(self._logsf(value))
