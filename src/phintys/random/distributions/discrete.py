"""Distributions on the integers: what they share, and those with closed quantile functions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from phintys.gradient.marks import GradientMark
from phintys.graph.null_type import grad_undefined
from phintys.random.bits.states import as_state
from phintys.random.distributions.base import Distribution, as_parameter
from phintys.random.distributions.checks import Domain, positive, probability
from phintys.random.exact.functions import exact_exp, exact_exponential, exact_log
from phintys.random.exact.uniform import half_open_uniform
from phintys.random.samplers.counts import exact_log1m, to_int64
from phintys.random.samplers.trials import trials
from phintys.tensor import math, special


class ParameterOfDiscrete(GradientMark):
    """A parameter of a discrete distribution, in which its draws have no derivative.

    Parameters
    ----------
    distribution
        The name of the distribution.
    parameter
        The name of the parameter.
    """

    __props__ = ("distribution", "parameter")

    def __init__(self, distribution: str, parameter: str) -> None:
        self.distribution = distribution
        self.parameter = parameter

    def _undefined(self, x: Any) -> Any:
        why = (
            f"draws from {self.distribution} are integers, which jump as {self.parameter} changes. "
            "For a gradient of an expectation, multiply the cost by the log-probability: the "
            "gradient of logp(distribution, disconnected_grad(draw)) * disconnected_grad(cost) is "
            "an unbiased estimate (score function). Or draw from a continuous relaxation, such as "
            "the softmax of (logits + Gumbel noise) / temperature, or apply disconnected_grad to "
            "the draw to treat it as a constant"
        )
        return grad_undefined(self, 0, x, why)

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return a null gradient."""
        return [self._undefined(inputs[0])]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return a null tangent."""
        return [None if eval_points[0] is None else self._undefined(inputs[0])]


def without_derivatives(distribution: Any) -> Any:
    """Return a distribution of the same parameters, in which its draws have no derivatives."""
    fixed = copy.copy(distribution)
    fixed.parameters = {
        name: ParameterOfDiscrete(type(distribution).__name__, name)(value)
        for name, value in distribution.parameters.items()
    }
    return fixed


def log_if(condition: Any, logarithm: Any) -> Any:
    """Return a log-probability where a condition holds, the logarithm of zero elsewhere."""
    return math.switch(condition, logarithm, -np.inf)


class DiscreteDistribution(Distribution):
    """A distribution whose draws are int64; quantiles are floats, since they may be infinite.

    Its sampler sees parameters without derivatives, and 64 random bits for each draw. What it
    states about values, it states about integers of the support.
    """

    is_discrete: bool = True

    @property
    def dtype(self) -> str:
        return "int64"

    def sample(self, *bits: Any) -> Any:
        return without_derivatives(self).number(*bits)

    def number(self, *bits: Any) -> Any:
        """Return draws, an expression of random bits."""
        raise NotImplementedError

    def _inner(self) -> Any:
        return self.support()[0]

    def logp(self, value: Any) -> Any:
        value = as_parameter(value)
        is_integer = math.eq(value, math.floor(value))
        of_integer = super().logp(math.switch(is_integer, value, self._inner()))
        return math.switch(math.isnan(value), value, log_if(is_integer, of_integer))

    def _between(self, value: Any, inside: Any, below: Any, above: Any) -> Any:
        value = math.floor(as_parameter(value))
        low, high = self.support()
        is_below, is_above = math.lt(value, low), math.ge(value, high)
        safe = math.switch(math.or_(is_below, is_above), self._inner(), value)
        return math.switch(is_below, below, math.switch(is_above, above, inside(safe)))

    def _about(self, q: Any) -> Any:
        """Return the quantile of ``q``, or a number next to it."""
        raise self._lacks("quantile function")

    def _about_above(self, q: Any) -> Any:
        """Return the number above which the probability is ``q``, or one next to it."""
        raise self._lacks("quantile function")

    def _icdf(self, q: Any) -> Any:
        return self._next_to(self._about(q), lambda k: self.cdf(k) >= q)

    def _isf(self, q: Any) -> Any:
        return self._next_to(self._about_above(q), lambda k: self.sf(k) <= q)

    def _next_to(self, near: Any, holds: Callable[[Any], Any]) -> Any:
        """Return the first number for which a condition holds, which is next to another one."""
        found = math.clip(near, *self.support())
        found = math.switch(holds(found), found, found + 1)
        before = found - 1
        return math.switch(holds(before), before, found)


class Bernoulli(DiscreteDistribution, method="bernoulli"):
    """1 with the probability ``p``, else 0, as int64.

    The probability of k is ``p**k * (1 - p)**(1 - k)``.

    Parameters
    ----------
    p
        The probability of 1.

    Examples
    --------
    >>> from phintys.random import Bernoulli, logp
    >>> round(float(logp(Bernoulli(0.25), 1.0).eval()), 6)
    -1.386294
    """

    defaults: ClassVar[dict[str, Any]] = {"p": 0.5}
    domains: ClassVar[dict[str, Any]] = {"p": probability}

    @property
    def bits_dtype(self) -> str:
        return "uint32" if self.p.dtype == "float32" else "uint64"

    def number(self, *bits: Any) -> Any:
        """Return draws of one word each, as parts of other distributions."""
        return math.cast(half_open_uniform(bits[0], self.p.dtype) < self.p, "int64")

    def draw(self, rng: Any, size: Any = None) -> tuple[Any, Any]:
        """Return the next state and draws, which take 16 random bits each."""
        spread, lengths = self.of_shape(size)
        after, succeeds = trials(as_state(rng), without_derivatives(spread).p, lengths)
        return after, math.cast(succeeds, "int64")

    def support(self) -> tuple[Any, Any]:
        return 0.0, 1.0

    def _logp(self, value: Any) -> Any:
        return math.switch(math.eq(value, 0), math.log1p(-self.p), math.log(self.p))

    def _cdf(self, value: Any) -> Any:
        return 1 - self.p + 0 * value

    def _sf(self, value: Any) -> Any:
        return self.p + 0 * value

    def _icdf(self, q: Any) -> Any:
        return math.cast(q > 1 - self.p, "float64")

    def _isf(self, q: Any) -> Any:
        return math.cast(q < self.p, "float64")

    def mean(self) -> Any:
        return self.p

    def variance(self) -> Any:
        return self.p * (1 - self.p)

    def entropy(self) -> Any:
        return special.entr(self.p) + special.entr(1 - self.p)


positive_probability = Domain(
    "must be above 0 and at most 1", lambda x, _: (x <= 0) | (x > 1), frozenset({"sigmoid"})
)
probability_below_one = Domain(
    "must be at least 0 and below 1", lambda x, _: (x < 0) | (x >= 1), frozenset({"sigmoid"})
)


class Geometric(DiscreteDistribution, method="geometric"):
    """How many trials of probability ``p`` there are up to the first success: 1, 2, …

    The probability of k is ``p * (1 - p)**(k - 1)``.

    Parameters
    ----------
    p
        The probability of a success.

    Examples
    --------
    >>> from phintys.random import Geometric, logp
    >>> round(float(logp(Geometric(0.25), 3.0).eval()), 6)
    -1.961659
    """

    defaults: ClassVar[dict[str, Any]] = {"p": 0.5}
    domains: ClassVar[dict[str, Any]] = {"p": positive_probability}

    def number(self, *bits: Any) -> Any:
        before = exact_exponential(bits[0]) / -exact_log1m(math.cast(self.p, "float64"))
        return 1 + to_int64(before)

    def support(self) -> tuple[Any, Any]:
        return 1.0, np.inf

    def _logp(self, value: Any) -> Any:
        return math.log(self.p) + special.xlog1py(value - 1, -self.p)

    def _cdf(self, value: Any) -> Any:
        return -math.expm1(self._logsf(value))

    def _sf(self, value: Any) -> Any:
        return math.exp(self._logsf(value))

    def _logsf(self, value: Any) -> Any:
        return special.xlog1py(value, -self.p)

    def _about(self, q: Any) -> Any:
        return math.ceil(math.log1p(-q) / math.log1p(-self.p))

    def _about_above(self, q: Any) -> Any:
        return math.ceil(math.log(q) / math.log1p(-self.p))

    def mean(self) -> Any:
        return 1 / self.p

    def variance(self) -> Any:
        return (1 - self.p) / math.sqr(self.p)

    def entropy(self) -> Any:
        return (special.entr(self.p) + special.entr(1 - self.p)) / self.p


class DiscreteWeibull(DiscreteDistribution, method="discrete_weibull"):
    """Nakagawa and Osaki's distribution: k or more have the probability ``q ** (k ** beta)``.

    The probability of k is ``q**(k**beta) - q**((k + 1)**beta)``.

    Parameters
    ----------
    q
        The probability of 1 or more.
    beta
        The exponent.

    Examples
    --------
    >>> from phintys.random import DiscreteWeibull, logp
    >>> round(float(logp(DiscreteWeibull(0.5, 2.0), 1.0).eval()), 6)
    -0.826679
    """

    defaults: ClassVar[dict[str, Any]] = {"q": 0.5, "beta": 1.0}
    domains: ClassVar[dict[str, Any]] = {"q": probability_below_one, "beta": positive}

    def number(self, *bits: Any) -> Any:
        q, beta = (math.cast(one, "float64") for one in (self.q, self.beta))
        power = exact_log(exact_exponential(bits[0]) / -exact_log(q)) / beta
        return to_int64(exact_exp(power))

    def support(self) -> tuple[Any, Any]:
        return 0.0, np.inf

    def _log_survival(self, value: Any) -> Any:
        """Return the logarithm of the probability of a value or more."""
        return math.power(value, self.beta) * math.log(self.q)

    def _logp(self, value: Any) -> Any:
        here, after = self._log_survival(value), self._log_survival(value + 1)
        return here + special.log1mexp(after - here)

    def _cdf(self, value: Any) -> Any:
        return -math.expm1(self._logsf(value))

    def _sf(self, value: Any) -> Any:
        return math.exp(self._logsf(value))

    def _logsf(self, value: Any) -> Any:
        return self._log_survival(value + 1)

    def _about(self, q: Any) -> Any:
        return math.ceil(math.power(math.log1p(-q) / math.log(self.q), 1 / self.beta)) - 1

    def _about_above(self, q: Any) -> Any:
        return math.ceil(math.power(math.log(q) / math.log(self.q), 1 / self.beta)) - 1
