"""Distribution functions of counts, as sums of probabilities.

The sum is that of the tail of a value, below it or above it, which does not have the mean in it.
Each probability follows from the one before by a ratio, until they no longer change the sum. So
small tails have as many digits as the first probability, and derivatives are those of the sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.errors import MethodNotDefinedError
from phintys.control import while_loop
from phintys.random.distributions.searching import SearchedCounts
from phintys.tensor import math
from phintys.tensor.broadcasting import broadcast_arrays
from phintys.tensor.creation import ones_like


class SummedCounts(SearchedCounts):
    """A distribution of counts that states by how much one is more probable than the one before."""

    def _growth(self, value: Any) -> tuple[Any, Any]:
        """Return ``a, b``: ``value + 1`` is ``a / b`` times as probable as ``value``."""
        msg = f"{type(self).__name__} does not state _growth, which its sums need."
        raise MethodNotDefinedError(msg)

    def _tail(self, value: Any) -> tuple[Any, Any]:
        """Return whether the tail is the one above the value, and the logarithm of its sum."""
        value = broadcast_arrays(value, *self.all_parameters())[0]
        is_above = value + 1 > self.mean()
        first = math.switch(is_above, value + 1, value)
        low, high = self.support()
        smallest = np.finfo(first.dtype).eps / 8

        def matters(carry: Any) -> Any:
            _, term, total = carry
            return math.gt(term, smallest * total)

        def next_sum(carry: Any) -> Any:
            k, term, total = carry
            is_inside = math.switch(is_above, k < high, k > low)
            (up, after), (before, down) = self._growth(k), self._growth(k - 1)
            a, b = math.switch(is_above, up, down), math.switch(is_above, after, before)
            term = term * _ratio(a, b, math.and_(is_inside, matters(carry)))
            return math.switch(is_above, k + 1, k - 1), term, total + term

        start = first, ones_like(first), ones_like(first)
        total = while_loop(lambda carry: matters(carry).any(), next_sum, start)[2]
        return is_above, self._logp(first) + math.log(total)

    def _log_side(self, value: Any, *, above: bool) -> Any:
        """Return the logarithm of the probability of larger values, or of all others."""
        is_above, tail = self._tail(value)
        is_summed = is_above if above else math.logical_not(is_above)
        rest = math.log1p(-math.exp(math.switch(is_summed, -np.inf, tail)))
        return math.switch(is_summed, tail, rest)

    def _logcdf(self, value: Any) -> Any:
        return self._log_side(value, above=False)

    def _logsf(self, value: Any) -> Any:
        return self._log_side(value, above=True)

    def _cdf(self, value: Any) -> Any:
        is_above, tail = self._tail(value)
        return math.switch(is_above, -math.expm1(tail), math.exp(tail))

    def _sf(self, value: Any) -> Any:
        is_above, tail = self._tail(value)
        return math.switch(is_above, math.exp(tail), -math.expm1(tail))


def _ratio(a: Any, b: Any, is_counted: Any) -> Any:
    """Return ``a / b``, and zero where that is not counted."""
    return math.switch(is_counted, a / math.switch(is_counted, b, 1), 0)
