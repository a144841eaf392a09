"""Functions of a distribution and a value: its densities, probabilities, quantiles and moments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys.random.distributions.base import Distribution

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable


def _distribution(distribution: Any) -> Distribution:
    if not isinstance(distribution, Distribution):
        msg = f"Expected a distribution such as Normal(loc, scale), got {distribution!r}."
        raise ArgumentError(msg)
    return distribution


def logp(distribution: Distribution, value: Any) -> TensorVariable:
    """Return the logarithm of the density or probability of a value.

    Examples
    --------
    >>> from phintys.random import Normal, logp
    >>> round(float(logp(Normal(0.0, 1.0), 0.0).eval()), 6)
    -0.918939
    """
    return _distribution(distribution).logp(value)


def cdf(distribution: Distribution, value: Any) -> TensorVariable:
    """Return the probability of numbers up to a value.

    Examples
    --------
    >>> from phintys.random import Normal, cdf
    >>> float(cdf(Normal(0.0, 1.0), 0.0).eval())
    0.5
    """
    return _distribution(distribution).cdf(value)


def logcdf(distribution: Distribution, value: Any) -> TensorVariable:
    """Return the logarithm of the probability of numbers up to a value.

    Examples
    --------
    >>> from phintys.random import Normal, logcdf
    >>> round(float(logcdf(Normal(0.0, 1.0), -50.0).eval()), 6)
    -1254.831361
    """
    return _distribution(distribution).logcdf(value)


def sf(distribution: Distribution, value: Any) -> TensorVariable:
    """Return the probability of numbers above a value.

    Examples
    --------
    >>> from phintys.random import Exponential, sf
    >>> round(float(sf(Exponential(1.0), 100.0).eval() * 1e44), 6)
    3.720076
    """
    return _distribution(distribution).sf(value)


def logsf(distribution: Distribution, value: Any) -> TensorVariable:
    """Return the logarithm of the probability of numbers above a value.

    Examples
    --------
    >>> from phintys.random import Exponential, logsf
    >>> float(logsf(Exponential(1.0), 1000.0).eval())
    -1000.0
    """
    return _distribution(distribution).logsf(value)


def icdf(distribution: Distribution, q: Any) -> TensorVariable:
    """Return the value up to which numbers have the probability ``q``.

    Examples
    --------
    >>> from phintys.random import Uniform, icdf
    >>> float(icdf(Uniform(2.0, 4.0), 0.25).eval())
    2.5
    """
    return _distribution(distribution).icdf(q)


def isf(distribution: Distribution, q: Any) -> TensorVariable:
    """Return the value above which numbers have the probability ``q``.

    Examples
    --------
    >>> from phintys.random import Exponential, isf
    >>> round(float(isf(Exponential(1.0), 1e-100).eval()), 6)
    230.258509
    """
    return _distribution(distribution).isf(q)


def mean(distribution: Distribution) -> TensorVariable:
    """Return the mean of a distribution.

    Examples
    --------
    >>> from phintys.random import Uniform, mean
    >>> float(mean(Uniform(2.0, 4.0)).eval())
    3.0
    """
    return _distribution(distribution).mean()


def variance(distribution: Distribution) -> TensorVariable:
    """Return the variance of a distribution.

    Examples
    --------
    >>> from phintys.random import Normal, variance
    >>> float(variance(Normal(0.0, 3.0)).eval())
    9.0
    """
    return _distribution(distribution).variance()


def stddev(distribution: Distribution) -> TensorVariable:
    """Return the standard deviation of a distribution.

    Examples
    --------
    >>> from phintys.random import Normal, stddev
    >>> float(stddev(Normal(0.0, 3.0)).eval())
    3.0
    """
    return _distribution(distribution).stddev()


def entropy(distribution: Distribution) -> TensorVariable:
    """Return the entropy of a distribution, in nats.

    Examples
    --------
    >>> from phintys.random import Uniform, entropy
    >>> float(entropy(Uniform(2.0, 3.0)).eval())
    0.0
    """
    return _distribution(distribution).entropy()
