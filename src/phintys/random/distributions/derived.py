"""Distributions that are made of others: truncated, censored, mixed, with more zeros, transformed.

They are drawn as all distributions are: ``stream.gen(Truncated(Normal(0, 1), 0, 2), size=5)``, or
``rng.draw(distribution, size)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from phintys._base.errors import ArgumentError
from phintys.gradient import grad
from phintys.graph.null_type import grad_undefined
from phintys.graph.variable import Constant
from phintys.random.distributions.base import (
    Distribution,
    as_parameter,
    by_rest,
    is_infinite,
    log_by_rest,
    log_of_smaller,
)
from phintys.random.distributions.checks import (
    at_least,
    both,
    checked,
    down_to,
    nonnegative,
    probability,
    up_to,
)
from phintys.random.distributions.discrete import ParameterOfDiscrete
from phintys.random.exact.uniform import open_uniform
from phintys.tensor import math, reduce, special


class ParameterOfChoice(ParameterOfDiscrete):
    """A parameter by which one of several draws is chosen, in which the result has no derivative.

    Parameters
    ----------
    distribution, parameter
        Their names.
    """

    def _undefined(self, x: Any) -> Any:
        why = (
            f"draws from {self.distribution} jump from one part to another as {self.parameter} "
            "changes. The gradient of an expectation is that of its parts' weighted sum, or of "
            "logp(distribution, disconnected_grad(draw)) * disconnected_grad(cost); or apply "
            "disconnected_grad to the draw"
        )
        return grad_undefined(self, 0, x, why)


class Derived(Distribution):
    """A distribution that is made of others, its parts, and of parameters of its own.

    Parameters
    ----------
    parts
        The distributions.
    parameters
        Its own parameters, by name.
    """

    defaults: ClassVar[dict[str, Any]] = {}
    own_words: ClassVar[int] = 0
    """How many random words it needs besides those of its parts."""

    def __init__(self, parts: Sequence[Distribution], **parameters: Any) -> None:
        for part in parts:
            if not isinstance(part, Distribution):
                msg = (
                    f"{type(self).__name__} is made of distributions such as Normal(loc, scale), "
                    f"got {part!r}."
                )
                raise ArgumentError(msg)
            if part.event_ndim:
                msg = (
                    f"{type(self).__name__} is made of distributions of numbers; those of "
                    f"{type(part).__name__} are arrays."
                )
                raise ArgumentError(msg)
        self.parts: list[Any] = [checked(part) for part in parts]
        self.parameters = {name: as_parameter(value) for name, value in parameters.items()}
        self.words = self.own_words + sum(part.words for part in parts)
        self.is_discrete = all(part.is_discrete for part in parts)

    @property
    def base(self) -> Any:
        """The distribution that it is made of, if it is one."""
        return self.parts[0]

    def all_parameters(self) -> Iterator[Any]:
        yield from self.parameters.values()
        for part in self.parts:
            yield from part.all_parameters()

    def mapped(self, convert: Callable[[Any], Any]) -> Any:
        result = super().mapped(convert)
        result.parts = [part.mapped(convert) for part in self.parts]
        return result

    @property
    def dtype(self) -> str:
        return np.result_type(*(part.dtype for part in self.parts)).name

    @property
    def bits_dtype(self) -> str:
        is_wide = any(part.bits_dtype == "uint64" for part in self.parts)
        return "uint64" if is_wide else "uint32"

    def _sampled_parts(self, bits: tuple[Any, ...]) -> list[Any]:
        """Return draws of the parts, from the words after those of its own."""
        left = list(bits[self.own_words :])
        draws: list[Any] = []
        for part in self.parts:
            words, left = left[: part.words], left[part.words :]
            draws.append(part.sample(*(_as_words(word, part.bits_dtype) for word in words)))
        return draws

    def support(self) -> tuple[Any, Any]:
        return self.base.support()


def _as_words(bits: Any, dtype: str) -> Any:
    """Return random words of a dtype: the upper halves of longer ones."""
    if bits.dtype == dtype:
        return bits
    return math.cast(math.right_shift(bits, np.uint64(32)), dtype)


def _log_difference(log_larger: Any, log_smaller: Any) -> Any:
    return log_larger + special.log1mexp(math.minimum(log_smaller - log_larger, 0))


class Truncated(Derived):
    """A distribution given that its numbers are from ``lower`` to ``upper``.

    It is drawn by quantiles of the distribution, so it can be truncated far in a tail. If only an
    end of the support is left, all numbers are that end, where the density is infinite; ends beyond
    the support, which leave nothing, are refused.

    Parameters
    ----------
    base
        The distribution, which has a closed quantile function.
    lower, upper
        The ends, which may be infinite.

    Examples
    --------
    >>> from phintys.random import Normal, Truncated, icdf
    >>> round(float(icdf(Truncated(Normal(0.0, 1.0), lower=10.0), 0.5).eval()), 6)
    10.068412
    """

    def __init__(self, base: Any, lower: Any = -np.inf, upper: Any = np.inf) -> None:
        super().__init__([base], lower=lower, upper=upper)
        self.words = 1
        self.domains = {"upper": at_least("lower")}  # pyright: ignore[reportAttributeAccessIssue]
        least, most = self.base.support()
        if not is_infinite(most):
            self.domains["lower"] = up_to(most, f"the largest number of {self.base}")
        if not is_infinite(least):
            smallest = down_to(least, f"the smallest number of {self.base}")
            self.domains["upper"] = both(self.domains["upper"], smallest)

    def support(self) -> tuple[Any, Any]:
        low, high = self.base.support()
        return math.maximum(self.lower, low), math.minimum(self.upper, high)

    def _is_point(self) -> Any:
        """Return whether only an end of the support of a continuous base is left, which has no
        probability; ``None`` for a base to which that does not happen.
        """
        if self.is_discrete:
            return None
        if not all(map(is_infinite, self.base.support())):
            low, high = self.support()
            return math.ge(low, high)
        # Only an infinite number can be left of a line: of each end that may be beyond all others.
        beyond = [
            math.eq(end, number)
            for end, number in ((self.lower, np.inf), (self.upper, -np.inf))
            if not (isinstance(end, Constant) and np.all(end.data != number))
        ]
        return math.or_(*beyond) if len(beyond) > 1 else (beyond or [None])[0]

    def _ends(self) -> tuple[Any, Any]:
        """Return the ends; infinite ones where they would leave a point, whose logarithm and
        derivatives are not those of any probability.
        """
        is_point = self._is_point()
        if is_point is None:
            return self.lower, self.upper
        open_ends = ((self.lower, -np.inf), (self.upper, np.inf))
        return tuple(math.switch(is_point, beyond, end) for end, beyond in open_ends)  # pyright: ignore[reportReturnType]

    def _inner(self) -> Any:
        return self._quantile(0.5, 0.5)

    def _before(self) -> Any:
        """Return the largest number below those that are left."""
        lower, _ = self._ends()
        return math.ceil(lower) - 1 if self.is_discrete else lower

    def _is_in_upper_tail(self) -> Any:
        return self.base.sf(self._before()) < 0.5

    def _log_total(self) -> Any:
        """Return the log-probability of what is left."""
        return self._log_between(self._before(), self._ends()[1])

    def _log_between(self, low: Any, high: Any) -> Any:
        """Return the log-probability of numbers above one and up to another, by the thinner tails.

        By logarithms, as probabilities may underflow.
        """
        above = _log_difference(self.base.logsf(low), self.base.logsf(high))
        below = _log_difference(self.base.logcdf(high), self.base.logcdf(low))
        apart = math.switch(self._is_in_upper_tail(), above, below)
        near = self.base._log_between_close(low, high)
        return apart if near is None else math.switch(*near, apart)

    def sample(self, *bits: Any) -> Any:
        q = open_uniform(bits[0], "float64" if self.is_discrete else self.dtype)
        return math.cast(self._icdf(q), self.dtype)

    def _logp(self, value: Any) -> Any:
        is_point = self._is_point()
        if is_point is None:
            return self.base.logp(value) - self._log_total()
        inside = math.switch(is_point, self._inner(), value)
        return math.switch(is_point, np.inf, self.base.logp(inside) - self._log_total())

    def _logs(self, value: Any) -> tuple[Any, Any]:
        """Return the log-probabilities of numbers up to a value and above it, if they are small."""
        total = self._log_total()
        up_to = self._log_between(self._before(), value)
        return up_to - total, self._log_between(value, self._ends()[1]) - total

    def _cdf(self, value: Any) -> Any:
        up_to, above = map(math.exp, self._logs(value))
        return by_rest(up_to, above)

    def _sf(self, value: Any) -> Any:
        up_to, above = map(math.exp, self._logs(value))
        return by_rest(above, up_to)

    def _logcdf(self, value: Any) -> Any:
        up_to, above = self._logs(value)
        return log_by_rest(up_to, math.exp(above))

    def _logsf(self, value: Any) -> Any:
        up_to, above = self._logs(value)
        return log_by_rest(above, math.exp(up_to))

    def _icdf(self, q: Any) -> Any:
        return math.clip(self._quantile(q, 1 - q), *self.support())

    def _isf(self, q: Any) -> Any:
        return math.clip(self._quantile(1 - q, q), *self.support())

    def _quantile(self, below: Any, above: Any) -> Any:
        """Return the number that has some shares of what is left below and above it."""
        lower, upper = self._ends()
        found = self.base._between_ends(below, above, lower, upper)
        if found is not None:
            return found
        before, is_upper = self._before(), self._is_in_upper_tail()
        p = self.base.cdf(before) * above + self.base.cdf(upper) * below
        q = self.base.sf(before) * above + self.base.sf(upper) * below
        return math.switch(is_upper, self.base.isf(q), self.base.icdf(p))


class Censored(Derived):
    """A distribution whose numbers beyond ``lower`` and ``upper`` are replaced by these.

    Parameters
    ----------
    base
        The distribution.
    lower, upper
        The ends, which may be infinite.

    Examples
    --------
    >>> from phintys.random import Censored, Normal, logp
    >>> censored = Censored(Normal(0.0, 1.0), upper=0.0)
    >>> [round(float(logp(censored, x).eval()), 6) for x in (-1.0, 0.0, 1.0)]
    [-1.418939, -0.693147, -inf]
    """

    domains: ClassVar[dict[str, Any]] = {"upper": at_least("lower")}

    def __init__(self, base: Any, lower: Any = -np.inf, upper: Any = np.inf) -> None:
        super().__init__([base], lower=lower, upper=upper)

    def sample(self, *bits: Any) -> Any:
        (draw,) = self._sampled_parts(bits)
        return math.cast(math.clip(draw, self.lower, self.upper), self.dtype)

    def logp(self, value: Any) -> Any:
        value = as_parameter(value)
        last = math.ceil(self.upper) - 1 if self.is_discrete else self.upper
        is_outside = math.or_(value < self.lower, value > self.upper)
        at_ends = math.switch(
            math.eq(value, self.lower), self.base.logcdf(self.lower), self.base.logsf(last)
        )
        is_end = math.or_(math.eq(value, self.lower), math.eq(value, self.upper))
        inside = math.switch(is_end, at_ends, self.base.logp(value))
        return math.switch(is_outside, -np.inf, inside)

    def cdf(self, value: Any) -> Any:
        value = as_parameter(value)
        up_to = math.switch(value >= self.upper, 1.0, self.base.cdf(value))
        return math.switch(value < self.lower, 0.0, up_to)

    def sf(self, value: Any) -> Any:
        value = as_parameter(value)
        above = math.switch(value >= self.upper, 0.0, self.base.sf(value))
        return math.switch(value < self.lower, 1.0, above)

    def logcdf(self, value: Any) -> Any:
        value = as_parameter(value)
        up_to = math.switch(value >= self.upper, 0.0, self.base.logcdf(value))
        return math.switch(value < self.lower, -np.inf, up_to)

    def logsf(self, value: Any) -> Any:
        value = as_parameter(value)
        above = math.switch(value >= self.upper, -np.inf, self.base.logsf(value))
        return math.switch(value < self.lower, 0.0, above)

    def icdf(self, q: Any) -> Any:
        return math.clip(self.base.icdf(q), self.lower, self.upper)

    def isf(self, q: Any) -> Any:
        return math.clip(self.base.isf(q), self.lower, self.upper)


class Mixture(Derived):
    """Numbers of one of several distributions, chosen with given weights.

    Draws have derivatives in the parameters of the distributions, none in the weights.

    Parameters
    ----------
    weights
        The probabilities, along the last axis, whose length is known. They are divided by their
        sum.
    components
        A list of distributions; or one, whose parameters have the components along the last axis.

    Examples
    --------
    >>> from phintys.random import Mixture, Normal, mean
    >>> mixture = Mixture([0.25, 0.75], [Normal(0.0, 1.0), Normal(4.0, 2.0)])
    >>> float(mean(mixture).eval())
    3.0
    """

    own_words: ClassVar[int] = 1

    def __init__(self, weights: Any, components: Any) -> None:
        weights = as_parameter(weights)
        count = weights.type.shape[-1] if weights.ndim else None
        if isinstance(components, Distribution):
            if count is None:
                msg = "Mixture: the number of weights must be known. Give a list of components."
                raise ArgumentError(msg)
            components = [
                components.mapped(lambda one, i=i: one[..., i] if one.ndim else one)
                for i in range(count)
            ]
        if weights.ndim == 0 or count not in (None, len(components)):
            msg = f"Mixture has {len(components)} components, and weights of shape {weights.type}."
            raise ArgumentError(msg)
        total = reduce.sum(weights, axis=-1)
        shares = {f"weight{i}": weights[..., i] / total for i in range(len(components))}
        super().__init__(components, **shares)
        self.domains = dict.fromkeys(shares, nonnegative)  # pyright: ignore[reportAttributeAccessIssue]

    def _weights(self) -> list[Any]:
        return list(self.parameters.values())

    def _average(self, values: Sequence[Any]) -> Any:
        terms = [w * value for w, value in zip(self._weights(), values, strict=True)]
        return sum(terms[1:], start=terms[0])

    def sample(self, *bits: Any) -> Any:
        uniform = open_uniform(bits[0], self._weights()[0].dtype)
        mark = ParameterOfChoice("Mixture", "weights")
        up_to: Any = 0.0
        *others, chosen = self._sampled_parts(bits)
        places = []
        for weight in self._weights()[:-1]:
            up_to = up_to + mark(weight)
            places.append(uniform < up_to)
        for is_here, draw in zip(reversed(places), reversed(others), strict=True):
            chosen = math.switch(is_here, draw, chosen)
        return chosen

    def _log_average(self, logarithms: Sequence[Any]) -> Any:
        terms = [math.log(w) + one for w, one in zip(self._weights(), logarithms, strict=True)]
        total = terms[0]
        for term in terms[1:]:
            total = math.logaddexp(total, term)
        return total

    def logp(self, value: Any) -> Any:
        return self._log_average([part.logp(value) for part in self.parts])

    def cdf(self, value: Any) -> Any:
        return self._average([part.cdf(value) for part in self.parts])

    def sf(self, value: Any) -> Any:
        return self._average([part.sf(value) for part in self.parts])

    def logcdf(self, value: Any) -> Any:
        up_to = self._log_average([part.logcdf(value) for part in self.parts])
        return log_by_rest(up_to, self.sf(value))

    def logsf(self, value: Any) -> Any:
        above = self._log_average([part.logsf(value) for part in self.parts])
        return log_by_rest(above, self.cdf(value))

    def icdf(self, q: Any) -> Any:
        raise self._lacks("quantile function")

    isf = icdf

    def mean(self) -> Any:
        return self._average([part.mean() for part in self.parts])

    def variance(self) -> Any:
        squares = [part.variance() + math.sqr(part.mean()) for part in self.parts]
        return self._average(squares) - math.sqr(self.mean())


class ZeroInflated(Derived):
    """Numbers of a distribution with the probability ``psi``, otherwise 0.

    Parameters
    ----------
    psi
        The probability.
    base
        The distribution, of integers.

    Examples
    --------
    >>> from phintys.random import Poisson, ZeroInflated, mean
    >>> float(mean(ZeroInflated(0.5, Poisson(4.0))).eval())
    2.0
    """

    own_words: ClassVar[int] = 1
    domains: ClassVar[dict[str, Any]] = {"psi": probability}

    def __init__(self, psi: Any, base: Any) -> None:
        super().__init__([base], psi=psi)

    def sample(self, *bits: Any) -> Any:
        psi = ParameterOfChoice(type(self).__name__, "psi")(self.psi)
        (draw,) = self._sampled_parts(bits)
        return math.switch(open_uniform(bits[0], self.psi.dtype) < psi, draw, _zero(draw))

    def logp(self, value: Any) -> Any:
        value = as_parameter(value)
        inside = math.log(self.psi) + self.base.logp(value)
        return math.switch(math.eq(value, 0), math.logaddexp(math.log1p(-self.psi), inside), inside)

    def _others(self) -> Any:
        """Return the distribution of the numbers that are drawn with the probability ``psi``."""
        return self.base

    def cdf(self, value: Any) -> Any:
        more = math.switch(as_parameter(value) < 0, 0.0, 1 - self.psi)
        return more + self.psi * self._others().cdf(value)

    def sf(self, value: Any) -> Any:
        more = math.switch(as_parameter(value) < 0, 1 - self.psi, 0.0)
        return more + self.psi * self._others().sf(value)

    def logcdf(self, value: Any) -> Any:
        value = as_parameter(value)
        below = math.log(self.psi) + self._others().logcdf(value)
        up_to = log_of_smaller(self.cdf(value), self.sf(value))
        return math.switch(value < 0, below, up_to)

    def logsf(self, value: Any) -> Any:
        value = as_parameter(value)
        above = math.log(self.psi) + self._others().logsf(value)
        return math.switch(value < 0, math.log1p(-self.psi * self._others().cdf(value)), above)

    def icdf(self, q: Any) -> Any:
        raise self._lacks("quantile function")

    isf = icdf

    def mean(self) -> Any:
        return self.psi * self.base.mean()

    def variance(self) -> Any:
        squares = self.base.variance() + math.sqr(self.base.mean())
        return self.psi * squares - math.sqr(self.mean())


def _zero(draw: Any) -> Any:
    return np.zeros((), draw.dtype)


class Hurdle(ZeroInflated):
    """Numbers of a distribution that are not 0, with the probability ``psi``, otherwise 0.

    Parameters
    ----------
    psi
        The probability of a number that is not 0.
    base
        The distribution, of positive numbers or of counts. Counts are drawn by their quantiles.

    Examples
    --------
    >>> from phintys.random import Exponential, Hurdle, mean
    >>> float(mean(Hurdle(0.25, Exponential(4.0))).eval())
    1.0
    """

    def _others(self) -> Any:
        return Truncated(self.base, lower=1.0) if self.is_discrete else self.base

    def _log_nonzero(self) -> Any:
        """Return the logarithm of the probability that the distribution has for other numbers."""
        return self.base.logsf(0) if self.is_discrete else 0.0

    def sample(self, *bits: Any) -> Any:
        if not self.is_discrete:
            return super().sample(*bits)
        draw = self._others().sample(*(_as_words(word, self.bits_dtype) for word in bits[1:2]))
        psi = ParameterOfChoice("Hurdle", "psi")(self.psi)
        return math.switch(open_uniform(bits[0], self.psi.dtype) < psi, draw, _zero(draw))

    def logp(self, value: Any) -> Any:
        value = as_parameter(value)
        inside = math.log(self.psi) + self.base.logp(value) - self._log_nonzero()
        return math.switch(math.eq(value, 0), math.log1p(-self.psi), inside)

    def mean(self) -> Any:
        return self.psi * self.base.mean() / math.exp(self._log_nonzero())

    def variance(self) -> Any:
        squares = self.base.variance() + math.sqr(self.base.mean())
        return self.psi * squares / math.exp(self._log_nonzero()) - math.sqr(self.mean())


class Transformed(Derived):
    """A monotonic function of the numbers of a continuous distribution.

    Parameters
    ----------
    base
        The distribution.
    forward, inverse
        Elementwise functions of variables: the function, and its inverse.
    support
        The ends of the numbers that it gives.
    is_increasing
        Whether the function increases; else it decreases.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.random import Normal, Transformed, logp
    >>> positive = Transformed(Normal(0.0, 1.0), pt.exp, pt.log, support=(0.0, float("inf")))
    >>> round(float(logp(positive, 1.0).eval()), 6)
    -0.918939
    """

    def __init__(
        self,
        base: Any,
        forward: Callable[[Any], Any],
        inverse: Callable[[Any], Any],
        support: tuple[Any, Any] = (-np.inf, np.inf),
        is_increasing: bool = True,
    ) -> None:
        super().__init__([base])
        self.forward, self.inverse = forward, inverse
        self._support = support
        self.is_increasing = is_increasing

    def support(self) -> tuple[Any, Any]:
        return self._support

    def sample(self, *bits: Any) -> Any:
        (draw,) = self._sampled_parts(bits)
        return self.forward(draw)

    def _logp(self, value: Any) -> Any:
        before = self.inverse(value)
        slope = grad(reduce.sum(before), value)
        return self.base.logp(before) + math.log(abs(slope))

    def _cdf(self, value: Any) -> Any:
        before = self.inverse(value)
        return self.base.cdf(before) if self.is_increasing else self.base.sf(before)

    def _sf(self, value: Any) -> Any:
        before = self.inverse(value)
        return self.base.sf(before) if self.is_increasing else self.base.cdf(before)

    def _icdf(self, q: Any) -> Any:
        return self.forward(self.base.icdf(q) if self.is_increasing else self.base.isf(q))

    def _isf(self, q: Any) -> Any:
        return self.forward(self.base.isf(q) if self.is_increasing else self.base.icdf(q))
