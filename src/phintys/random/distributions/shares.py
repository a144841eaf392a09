"""Distributions of shares that sum to one, and of counts that sum to a number."""

from __future__ import annotations

from typing import Any, ClassVar

from phintys.control.loop_forms.scanning import scan
from phintys.random.distributions.checks import nonnegative, positive, probabilities
from phintys.random.distributions.discrete import log_if, without_derivatives
from phintys.random.distributions.gaussian import unit_tolerance
from phintys.random.distributions.multivariate import Multivariate, Source
from phintys.random.distributions.tails import log_peak
from phintys.random.samplers.counts import binomial_number
from phintys.random.samplers.gamma import log_gamma_of_bits
from phintys.tensor import math, reduce, special
from phintys.tensor.broadcasting import broadcast_to
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.cumulative import cumsum
from phintys.tensor.dim_shuffle import expand_dims, moveaxis
from phintys.tensor.joining import concatenate
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import subtract_sizes
from phintys.tensor.softmaxes import softmax


def _total(x: Any) -> Any:
    return reduce.sum(x, axis=-1)


class Dirichlet(Multivariate, method="dirichlet"):
    """Shares in proportion to gamma numbers of the shapes ``alpha``.

    Draws are differentiated implicitly, and are computed from logarithms of gamma numbers, so that
    small shapes do not make all of them zero.

    Parameters
    ----------
    alpha
        The shapes, vectors.

    Examples
    --------
    >>> from phintys.random import Dirichlet, logp
    >>> round(float(logp(Dirichlet([1.0, 1.0, 1.0]), [0.2, 0.3, 0.5]).eval()), 6)
    0.693147
    """

    defaults: ClassVar[dict[str, Any]] = {"alpha": [1.0]}
    domains: ClassVar[dict[str, Any]] = {"alpha": positive}
    core_ndim: ClassVar[dict[str, int]] = {"alpha": 1}
    event_ndim: ClassVar[int] = 1

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        bits = source.bits(*lengths, self.core_sizes("alpha")[0])
        return softmax(log_gamma_of_bits(bits, self.alpha), axis=-1)

    def logp(self, value: Any) -> Any:
        value = as_tensor_variable(value)
        is_inside = math.and_(
            reduce.all(value >= 0, axis=-1), abs(_total(value) - 1) < unit_tolerance(value)
        )
        safe = math.maximum(value, 0)
        constant = special.gammaln(_total(self.alpha)) - _total(special.gammaln(self.alpha))
        return log_if(is_inside, _total(special.xlogy(self.alpha - 1, safe)) + constant)

    def mean(self) -> Any:
        return self.alpha / reduce.sum(self.alpha, axis=-1, keepdims=True)

    def variance(self) -> Any:
        total = reduce.sum(self.alpha, axis=-1, keepdims=True)
        return self.mean() * (1 - self.mean()) / (total + 1)

    def entropy(self) -> Any:
        total, count = _total(self.alpha), self.core_sizes("alpha")[0]
        constant = _total(special.gammaln(self.alpha)) - special.gammaln(total)
        each = _total((self.alpha - 1) * special.digamma(self.alpha))
        return constant + (total - count) * special.digamma(total) - each


class _Counts(Multivariate):
    """Counts that sum to ``n``."""

    event_ndim: ClassVar[int] = 1
    is_discrete: bool = True

    def _is_inside(self, value: Any) -> Any:
        are_counts = math.and_(value >= 0, math.eq(value, math.floor(value)))
        return math.and_(reduce.all(are_counts, axis=-1), math.eq(_total(value), self.n))


def _divided(source: Source, lengths: tuple[Any, ...], n: Any, weights: Any) -> Any:
    """Return counts that sum to n, with given weights along the last axis.

    They are drawn one after the other: each is binomial, given those before.
    """
    weights = math.cast(weights, "float64")
    left_over = cumsum(weights[..., ::-1], axis=-1)[..., ::-1]
    shares = math.switch(left_over > 0, weights / left_over, 0)
    size = subtract_sizes(sizes_of(weights)[-1], 1)
    left = broadcast_to(math.cast(n, "float64"), lengths)

    def step(bits: Any, share: Any, left: Any) -> tuple[Any, Any]:
        count = binomial_number(bits, left, share)
        return count, left - count

    counts, lefts = scan(
        step,
        sequences=[source.bits(size, *lengths), moveaxis(shares[..., :-1], -1, 0)],
        outputs_info=[None, left],
        return_updates=False,
    )
    lefts = concatenate([expand_dims(left, 0), lefts], axis=0)
    last = math.cast(lefts[-1:], "int64")
    return moveaxis(concatenate([counts, last], axis=0), 0, -1)


class Multinomial(_Counts, method="multinomial"):
    """How often each category occurs in ``n`` trials with the probabilities ``p``.

    Parameters
    ----------
    n
        How many trials there are.
    p
        The probabilities, vectors, also ``pvals``.

    Examples
    --------
    >>> from phintys.random import Multinomial, logp
    >>> round(float(logp(Multinomial(3.0, [0.5, 0.5]), [1.0, 2.0]).eval()), 6)
    -0.980829
    """

    defaults: ClassVar[dict[str, Any]] = {"n": 1.0, "p": [1.0]}
    domains: ClassVar[dict[str, Any]] = {"n": nonnegative, "p": probabilities}
    alternatives: ClassVar[Any] = {"pvals": ("p", lambda p: p)}
    core_ndim: ClassVar[dict[str, int]] = {"p": 1}

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        fixed = without_derivatives(self)
        return _divided(source, lengths, fixed.n, fixed.p)

    def _expected(self) -> Any:
        return expand_dims(self.n, -1) * self.p

    def logp(self, value: Any) -> Any:
        value = as_tensor_variable(value)
        is_inside = self._is_inside(value)
        safe = math.switch(expand_dims(is_inside, -1), value, self._expected())
        each = log_peak(safe) - special.kl_div(safe, self._expected())
        return log_if(is_inside, _total(each) - log_peak(self.n))

    def mean(self) -> Any:
        return self._expected()

    def variance(self) -> Any:
        return self._expected() * (1 - self.p)


class DirichletMultinomial(_Counts, method="dirichlet_multinomial"):
    """How often each category occurs in ``n`` trials whose probabilities are Dirichlet numbers.

    Parameters
    ----------
    n
        How many trials there are.
    alpha
        The shapes of the distribution of the probabilities, vectors.

    Examples
    --------
    >>> from phintys.random import DirichletMultinomial, logp
    >>> round(float(logp(DirichletMultinomial(3.0, [1.0, 2.0]), [1.0, 2.0]).eval()), 6)
    -1.203973
    """

    defaults: ClassVar[dict[str, Any]] = {"n": 1.0, "alpha": [1.0]}
    domains: ClassVar[dict[str, Any]] = {"n": nonnegative, "alpha": positive}
    core_ndim: ClassVar[dict[str, int]] = {"alpha": 1}

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        fixed = without_derivatives(self)
        return _divided(source, lengths, fixed.n, source.draw(Dirichlet(fixed.alpha), *lengths))

    def logp(self, value: Any) -> Any:
        value = as_tensor_variable(value)
        is_inside = self._is_inside(value)
        safe = math.switch(expand_dims(is_inside, -1), value, 0)
        total = _total(self.alpha)
        each = special.gammaln(safe + self.alpha) - special.gammaln(self.alpha)
        ways = (
            special.gammaln(self.n + 1) + special.gammaln(total) - special.gammaln(self.n + total)
        )
        return log_if(is_inside, ways + _total(each - special.gammaln(safe + 1)))

    def mean(self) -> Any:
        return expand_dims(self.n, -1) * Dirichlet(self.alpha).mean()

    def variance(self) -> Any:
        share = Dirichlet(self.alpha).mean()
        total = reduce.sum(self.alpha, axis=-1, keepdims=True)
        n = expand_dims(self.n, -1)
        return n * share * (1 - share) * (n + total) / (1 + total)
