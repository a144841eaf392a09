"""Quantiles of counts, found by a search with their distribution function.

The search starts at the quantile of a normal number of the same mean and variance. From there it
takes steps that double until it has passed the quantile, and then halves the interval that is left,
so it evaluates the distribution function about ``2 * log2(error of the start)`` times. All elements
are searched at once, in a compiled loop that ends with the last of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phintys.control import while_loop
from phintys.gradient.marks import zero_grad
from phintys.random.distributions.discrete import DiscreteDistribution
from phintys.tensor import math, special
from phintys.tensor.broadcasting import broadcast_arrays

_STEP = 2.0**-12


def first_integer(holds: Callable[[Any], Any], start: Any, step: Any, below: Any, last: Any) -> Any:
    """Return the first integer after ``below`` for which a condition holds.

    Parameters
    ----------
    holds
        The condition on an array of integers, as floats. From the first one on it holds for all.
    start
        Where to begin. The result is NaN where it is NaN.
    step
        The length of the first step.
    below
        A finite integer for which the condition does not hold.
    last
        An integer for which it holds, or infinity.

    Examples
    --------
    >>> import numpy as np
    >>> import phintys.tensor as pt
    >>> from phintys.random.distributions.searching import first_integer
    >>> wanted = pt.as_tensor_variable([1000.0, 10.0])
    >>> root = first_integer(lambda k: k * k >= wanted, pt.zeros(2), 1.0, -1.0, np.inf)
    >>> root.eval()
    array([32.,  4.])
    """
    start, step, below, last = (
        math.cast(one, start.dtype) for one in broadcast_arrays(start, step, below, last)
    )

    def is_between(carry: Any) -> Any:
        low, probe, high, _ = carry
        return math.and_(low < probe, probe < high).any()

    def narrowed(carry: Any) -> Any:
        low, probe, high, step = carry
        found = holds(probe)
        low, high = math.switch(found, low, probe), math.switch(found, probe, high)
        middle = math.floor(0.5 * (low + high))
        down, up = math.maximum(high - step, middle), math.minimum(low + step, middle)
        return low, math.switch(found, down, up), high, 2 * step

    first = math.minimum(math.maximum(math.floor(start), below + 1), last - 1)
    found = while_loop(is_between, narrowed, (below, first, last, step))[2]
    return zero_grad(math.switch(math.isnan(start), start, found))


class SearchedCounts(DiscreteDistribution):
    """A distribution of counts that states its distribution function, mean and variance.

    The search begins near a normal number, unless it states ``_about`` and ``_about_above``.
    """

    def _about(self, q: Any) -> Any:
        return self.mean() + self.stddev() * special.ndtri(q)

    def _about_above(self, q: Any) -> Any:
        return self.mean() - self.stddev() * special.ndtri(q)

    def _icdf(self, q: Any) -> Any:
        return self._first(lambda k: self.cdf(k) >= q, self._about(q))

    def _isf(self, q: Any) -> Any:
        return self._first(lambda k: self.sf(k) <= q, self._about_above(q))

    def _first(self, holds: Callable[[Any], Any], start: Any) -> Any:
        """Return the first count for which a condition holds, from a number near it."""
        low, high = self.support()
        # A large number is near by a few of its digits.
        step = 1 + math.floor(_STEP * abs(start))
        return first_integer(holds, start, step, low - 1, high)
