"""The logarithm of the beta function, in NumPy.

Native code has the same formulas, and says where they come from.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.log_gamma import log_gamma, stirling_remainder

STIRLING_FROM = 10.0
"""Where Stirling's series is used from."""

TINY = 1e-250
"""beta(x, y) of such an x is ``1 / x + 1 / y``."""

_LOG_ROOT_TWO_PI = math.log(2 * math.pi) / 2


def betaln(x: Any, y: Any) -> Any:
    """Return log|beta(x, y)| of arrays.

    Examples
    --------
    >>> from phintys.scalar.log_beta import betaln
    >>> betaln(1e6, 1e-5).round(8)
    np.float64(11.51278154)
    """
    low, high = np.minimum(x, y), np.maximum(x, y)
    is_usual = (low > 0) & (high >= STIRLING_FROM) & (high < np.inf)
    found = _found(_log_beta, "betaln", is_usual, (x, y), (low, high))
    is_tiny = (low > 0) & (low < TINY) & (high < STIRLING_FROM)
    return np.where(is_tiny, _of_tiny(low, high), found)[()] if np.any(is_tiny) else found


def _of_tiny(low: Any, high: Any) -> Any:
    """Return ``log(1 / x + 1 / y)``, where the inverse may overflow."""
    with np.errstate(all="ignore"):
        return (np.log1p(low / high) - np.log(low)).astype(np.result_type(low, high))


def _found(function: Any, name: str, is_usual: Any, given: Any, ends: Any) -> Any:
    """Return the numbers of a function of the ends where that is usual, and SciPy's elsewhere."""
    dtype = np.result_type(*given)
    if not np.any(is_usual):
        return getattr(import_whole("scipy.special"), name)(*given)
    is_usual = np.asarray(is_usual)
    result = np.empty(is_usual.shape, dtype)
    with np.errstate(over="ignore", under="ignore"):
        result[is_usual] = function(
            *(np.broadcast_to(end, is_usual.shape)[is_usual].astype(float) for end in ends)
        )
    if not is_usual.all():
        others = (np.broadcast_to(one, is_usual.shape)[~is_usual] for one in given)
        result[~is_usual] = getattr(import_whole("scipy.special"), name)(*others)
    return result[()]


def _log_beta(low: Any, high: Any) -> Any:
    """Return log(beta(low, high)) of positive numbers, of which the larger one is large."""
    ratio, total = low / high, low + high
    both, log_high = np.log1p(ratio), np.log(high)
    rest = stirling_remainder(high) - stirling_remainder(total)
    few, many = np.minimum(low, STIRLING_FROM), np.maximum(low, STIRLING_FROM)
    near = log_gamma(few) - few * (log_high - 1) - (total - 0.5) * both + rest
    far = (many - 0.5) * np.log(ratio / (ratio + 1)) - high * both
    far += rest + stirling_remainder(many) + _LOG_ROOT_TWO_PI - log_high / 2
    return np.where(low < STIRLING_FROM, near, far)
