"""The logarithm of the beta function.

Of large arguments, logarithms of gamma functions are huge, and their differences lose the digits
that differ. Stirling's series leaves quotients of powers, and small remainders (A. R. DiDonato and
A. H. Morris, "Algorithm 708: Significant digit computation of the incomplete beta function ratios",
ACM Trans. Math. Softw. 18, 1992). Other arguments are left to SciPy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.coefficients import BINET
from phintys.backends.native.assembler.math.exact import polynomial
from phintys.backends.native.assembler.math.lanewise import computed_where, redo_lanes
from phintys.backends.native.assembler.math.log_gamma import gammaln
from phintys.backends.native.assembler.math.logarithm import log, log1p
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value
from phintys.scalar.log_beta import STIRLING_FROM, TINY

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG_ROOT_TWO_PI = math.log(2 * math.pi) / 2


@float_function("betaln", 2)
def betaln(b: Builder, x: Value, y: Value) -> Value:
    """log|beta(x, y)|"""
    if x.type.name == "float32":
        return _in_double(betaln, b, x, y)
    low, high = b.minimum_number(x, y), b.maximum_number(x, y)
    are_positive = (x > 0.0) & (y > 0.0)  # not so for NaN, which the smaller number hides
    others = ~(are_positive & b.le(STIRLING_FROM, high) & (high < math.inf))
    found = computed_where(b, ~others, lambda: _log_beta(b, *_safe(b, others, low, high)))
    is_tiny = are_positive & (low < TINY) & (high < STIRLING_FROM)
    tiny = computed_where(b, is_tiny, lambda: log1p(b, low / high) - log(b, low))
    found = b.select(is_tiny, tiny, found)
    return redo_lanes(b, found, others & ~is_tiny, "phintys_scipy_betaln_float64", [x, y])


def _in_double(
    function: Callable[[Builder, Value, Value], Value], b: Builder, x: Value, y: Value
) -> Value:
    wide = x.type.like("float64")
    return b.convert(function(b, b.convert(x, wide), b.convert(y, wide)), x.type)


def _safe(b: Builder, others: Value, low: Value, high: Value) -> tuple[Value, Value]:
    return b.select(others, 1.0, low), b.select(others, STIRLING_FROM, high)


def _log_beta(b: Builder, low: Value, high: Value) -> Value:
    """Return log(beta(low, high)) of positive numbers, of which the larger one is large."""
    ratio, total = low / high, low + high
    both = log1p(b, ratio)
    rest = _remainder(b, high) - _remainder(b, total)
    few = b.minimum_number(low, STIRLING_FROM)
    log_high = log(b, high)
    near = gammaln(b, few) - few * (log_high - 1.0) - (total - 0.5) * both + rest
    many = b.maximum_number(low, STIRLING_FROM)
    far = (many - 0.5) * log(b, ratio / (ratio + 1.0)) - high * both
    far = far + (rest + _remainder(b, many) + _LOG_ROOT_TWO_PI - log_high * 0.5)
    return b.select(low < STIRLING_FROM, near, far)


def _remainder(b: Builder, x: Value) -> Value:
    """Return log(gamma(x)) less Stirling's formula."""
    inverse = b.div(1.0, x)
    return inverse * polynomial(b, inverse * inverse, BINET["float64"])
