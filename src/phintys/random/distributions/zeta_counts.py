"""Counts with probabilities that fall as powers: Zipf's distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from phintys.random.distributions.checks import Domain
from phintys.random.distributions.searching import SearchedCounts
from phintys.random.samplers.counts import zipf_number
from phintys.scalar.euler_maclaurin import COEFFICIENTS
from phintys.tensor import math

_TERMS = 10

_CORRECTIONS = COEFFICIENTS[:7]


def zeta(a: Any, first: Any) -> Any:
    """Return the sum of ``k ** -a`` over the integers k from ``first`` on.

    By the formula of Euler and Maclaurin, which has derivatives in ``a``, as the scalar function
    ``zeta`` has not.

    Parameters
    ----------
    a
        The power, above 1.
    first
        A positive number.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.random.distributions.zeta_counts import zeta
    >>> round(float(zeta(pt.constant(2.0), pt.constant(1.0)).eval()), 6)
    1.644934
    """
    before: Any = 0.0
    for number in range(_TERMS):
        before = before + math.exp(-a * math.log(first + number))
    after = first + _TERMS
    series: Any = after / (a - 1) + 0.5
    factor = a / after
    for number, correction in enumerate(_CORRECTIONS):
        series = series + correction * factor
        rising = (a + (2 * number + 1)) * (a + (2 * number + 2))
        factor = factor * rising / math.sqr(after)
    return before + math.exp(-a * math.log(after)) * series


class Zipf(SearchedCounts, method="zipf"):
    """1, 2, … with probabilities in proportion to ``k ** -a``.

    The probability of k is ``k**-a / zeta(a)``.

    Parameters
    ----------
    a
        The exponent, above 1.

    Examples
    --------
    >>> from phintys.random import Zipf, logp
    >>> round(float(logp(Zipf(2.0), 3).eval()), 6)
    -2.694925
    """

    defaults: ClassVar[dict[str, Any]] = {"a": 2.0}
    domains: ClassVar[dict[str, Any]] = {"a": Domain("must be above 1", lambda x, _: x <= 1)}

    def number(self, *bits: Any) -> Any:
        return zipf_number(bits[0], math.cast(self.a, "float64") - 1)

    def support(self) -> tuple[Any, Any]:
        return 1.0, np.inf

    def _logp(self, value: Any) -> Any:
        return -self.a * math.log(value) - math.log(zeta(self.a, 1.0))

    def _cdf(self, value: Any) -> Any:
        # Up to 1 it is the probability of 1, which is far above that of all others if a is large.
        return math.switch(value < 2, 1 / zeta(self.a, 1.0), 1 - self._sf(value))

    def _sf(self, value: Any) -> Any:
        return zeta(self.a, value + 1) / zeta(self.a, 1.0)

    def _about(self, q: Any) -> Any:
        return self._beyond(1 - q)

    def _about_above(self, q: Any) -> Any:
        return self._beyond(q)

    def _beyond(self, q: Any) -> Any:
        """Return about where the probability of larger numbers is ``q``, by an integral."""
        power = self.a - 1
        return math.exp(-math.log(q * power * zeta(self.a, 1.0)) / power)

    def _moment(self, order: int) -> Any:
        """Return the mean of a power of the numbers."""
        is_finite = self.a > order + 1
        above = math.switch(is_finite, self.a - order, 2)
        return math.switch(is_finite, zeta(above, 1.0) / zeta(self.a, 1.0), np.inf)

    def mean(self) -> Any:
        return self._moment(1)

    def variance(self) -> Any:
        mean = math.switch(self.a > 3, self._moment(1), 0)
        return self._moment(2) - math.sqr(mean)
