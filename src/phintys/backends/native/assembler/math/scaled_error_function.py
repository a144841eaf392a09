"""exp(x**2) erfc(x), and the logarithm of the normal distribution function.

Large arguments are mapped to an interval as those of erf are (M. M. Shepherd and J. G. Laframboise,
1981).
"""

from __future__ import annotations

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.constants import Ratio, words
from phintys.backends.native.assembler.math.error_function import (
    LARGEST,
    ROOT_HALF,
    erfc_near,
    erfc_ratio,
    ndtr,
)
from phintys.backends.native.assembler.math.exact import Pair, quotient, two_prod
from phintys.backends.native.assembler.math.exponential import exp_pair
from phintys.backends.native.assembler.math.floating import clamp, fabs, scaled
from phintys.backends.native.assembler.math.logarithm import log, log1p
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value

_INVERSE_ROOT_OF_PI = Ratio.read("0.5641895835477562869480794515607725858440506")
_TERMS = 8
_BITS = {"float64": 53, "float32": 24}


def _far(b: Builder, a: Value, low: Value) -> Value:
    """Return exp(a**2) erfc(a) for a >= 1/2, given as a pair.

    Where the polynomial ends, the asymptotic series of DLMF 7.12.1 begins.
    """
    largest = LARGEST[a.type.name]
    is_large = a > largest
    (dividend, more), divisor = erfc_ratio(b, (b.minimum_number(largest, a), low))
    middle = quotient(b, dividend, divisor, more)
    limited = b.maximum_number(largest, a)
    step = -0.5 / (limited * limited)
    series = b.constant(a.type, 1.0)
    for n in range(_TERMS, 1, -1):
        series = b.madd(step * (2.0 * n - 1.0), series, 1.0)
    # The first term is rounded once; what is added to it is small.
    factor, rest = words(_INVERSE_ROOT_OF_PI, a.type.name, _BITS[a.type.name])
    first = factor / limited
    far = b.madd(first, b.madd(step, series, rest / factor), first)
    return b.select(is_large, far, middle)


def _exp_of_square(b: Builder, x: Value) -> tuple[Value, Pair]:
    """Return k and p with exp(x**2) = 2**k p."""
    return exp_pair(b, *two_prod(b, x, x))


@float_function("erfcx")
def erfcx(b: Builder, x: Value) -> Value:
    """exp(x**2) erfc(x) up to 1/2, then Q / (1 + 2 x); 2 exp(x**2) - erfcx(-x) below -1/2."""
    a = b.maximum_number(0.5, fabs(b, x))
    far = _far(b, a, b.constant(x.type, 0.0))
    k, (hi, lo) = _exp_of_square(b, b.minimum_number(LARGEST[x.type.name], a))
    below = scaled(b, hi + lo, k + 1.0) - far
    inner = clamp(b, x, -0.5, 0.5)
    near = erfc_near(b, inner)
    k, (hi, lo) = _exp_of_square(b, inner)
    near = scaled(b, b.madd(hi, near, lo * near), k)
    result = b.select(fabs(b, x) > 0.5, b.select(x < 0.0, below, far), near)
    return b.select(b.isnan(x), x, result)


@float_function("log_ndtr")
def log_ndtr(b: Builder, x: Value) -> Value:
    """log1p(-ndtr(-x)) from 0 on; log(erfcx(-x / sqrt(2)) / 2) - x**2 / 2 below -1."""
    a = fabs(b, x)
    tail = ndtr(b, -a)
    root, rest = words(ROOT_HALF, x.type.name, _BITS[x.type.name])
    limited = b.maximum_number(1.0, a)
    argument, lost = two_prod(b, limited, root)
    is_far = x < -1.0
    scaled_tail = _far(b, argument, b.madd(limited, rest, lost)) * 0.5
    exponent = b.select(is_far, (x * x) * 0.5, b.constant(x.type, 0.0))
    below = log(b, b.select(is_far, scaled_tail, tail)) - exponent
    result = b.select(x < 0.0, below, log1p(b, -tail))
    return b.select(b.isnan(x), x, result)
