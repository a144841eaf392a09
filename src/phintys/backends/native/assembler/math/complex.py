"""Complex numbers, with NumPy's formulas where results with infinities and NaN depend on them."""

from __future__ import annotations

import math
from collections.abc import Callable

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.calls import float_math
from phintys.backends.native.assembler.math.constants import LN2, LN10, number
from phintys.backends.native.assembler.math.exact import Pair, pair_add, two_prod
from phintys.backends.native.assembler.math.exponential import exp_pair, limits
from phintys.backends.native.assembler.math.floating import (
    clamp,
    copysign,
    fabs,
    format_of,
    scaled,
)
from phintys.backends.native.assembler.math.logarithm import log1p_of_pair, log_of_pair
from phintys.backends.native.assembler.math.registry import complex_function
from phintys.backends.native.assembler.values import Complex, Value


@complex_function("add")
def add(b: Builder, x: Complex, y: Complex) -> Complex:
    """x + y."""
    return Complex(x.re + y.re, x.im + y.im)


@complex_function("sub")
def sub(b: Builder, x: Complex, y: Complex) -> Complex:
    """x - y."""
    return Complex(x.re - y.re, x.im - y.im)


@complex_function("mul")
def mul(b: Builder, x: Complex, y: Complex) -> Complex:
    """x * y, without fused operations, as in NumPy."""
    return Complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)


@complex_function("true_div")
def true_div(b: Builder, x: Complex, y: Complex) -> Complex:
    """x / y by Smith's method: the smaller part of y is divided by the larger one."""
    real = fabs(b, y.re) >= fabs(b, y.im)
    large, small = b.select(real, y.re, y.im), b.select(real, y.im, y.re)
    zero = b.eq(y.re, 0.0) & b.eq(y.im, 0.0)
    ratio = small / large
    scale = b.div(1.0, large + small * ratio)
    re = b.select(real, x.re + x.im * ratio, x.re * ratio + x.im) * scale
    im = b.select(real, x.im - x.re * ratio, x.im * ratio - x.re) * scale
    divisor = fabs(b, y.re)
    return Complex(b.select(zero, x.re / divisor, re), b.select(zero, x.im / divisor, im))


@complex_function("neg")
def neg(b: Builder, x: Complex) -> Complex:
    """-x."""
    return Complex(-x.re, -x.im)


@complex_function("pos")
def pos(b: Builder, x: Complex) -> Complex:
    """x."""
    return x


@complex_function("conj")
def conj(b: Builder, x: Complex) -> Complex:
    """The conjugate."""
    return Complex(x.re, -x.im)


@complex_function("abs")
def abs(b: Builder, x: Complex) -> Value:
    """The modulus."""
    return float_math(b, "hypot", x.re, x.im)


@complex_function("angle")
def angle(b: Builder, x: Complex) -> Value:
    """The angle."""
    return float_math(b, "arctan2", x.im, x.re)


@complex_function("sign")
def sign(b: Builder, x: Complex) -> Complex:
    """x / |x|; 0 for 0. An infinite part makes the finite one 0, two of them NaN."""
    modulus = abs(b, x)
    infinite_re, infinite_im = (b.eq(fabs(b, part), math.inf) for part in x)
    one = b.constant(x.re.type, 1.0)
    re = b.select(infinite_re, copysign(b, one, x.re), x.re / modulus)
    im = b.select(infinite_im, copysign(b, one, x.im), x.im / modulus)
    re = b.select(infinite_im, b.select(infinite_re, one * math.nan, 0.0), re)
    im = b.select(infinite_re, b.select(infinite_im, one * math.nan, 0.0), im)
    zero, undefined = b.eq(modulus, 0.0), b.isnan(modulus)
    return Complex(*(_or(b, undefined, math.nan, _or(b, zero, 0.0, part)) for part in (re, im)))


def _or(b: Builder, mask: Value, number: float, x: Value) -> Value:
    return b.select(mask, b.constant(x.type, number), x)


@complex_function("reciprocal")
def reciprocal(b: Builder, x: Complex) -> Complex:
    """1 / x by Smith's method."""
    real = fabs(b, x.im) <= fabs(b, x.re)
    large, small = b.select(real, x.re, x.im), b.select(real, x.im, x.re)
    ratio = small / large
    divisor = large + small * ratio
    one = b.constant(large.type, 1.0)
    return Complex(b.select(real, one, ratio) / divisor, b.select(real, -ratio, -one) / divisor)


@complex_function("sqr")
def sqr(b: Builder, x: Complex) -> Complex:
    """x * x."""
    product = x.re * x.im
    return Complex(x.re * x.re - x.im * x.im, product + product)


@complex_function("sqrt")
def sqrt(b: Builder, x: Complex) -> Complex:
    """Principal root: w = sqrt((|re| + |x|) / 2) and im / (2 w), swapped for negative re."""
    double = x.re.type.name == "float64"
    high, low = (2.0**1000, 2.0**-1000) if double else (2.0**120, 2.0**-120)
    largest = b.maximum_number(fabs(b, x.re), fabs(b, x.im))
    one = b.constant(x.re.type, 1.0)
    big, tiny = largest > high, largest < low
    up = 2.0**108 if double else 2.0**48
    factor = b.select(big, one * 0.0625, b.select(tiny, one * up, one))
    back = b.select(big, one * 4.0, b.select(tiny, one / math.sqrt(up), one))
    re, im = x.re * factor, x.im * factor
    w = b.intrinsic("sqrt", (fabs(b, re) + float_math(b, "hypot", re, im)) * 0.5)
    other = im / (w + w)
    zero = b.eq(w, 0.0)
    other = b.select(zero, im, other)
    right = b.bits(x.re) >= 0
    root_re = b.select(right, w, fabs(b, other)) * back
    root_im = b.select(right, other, copysign(b, w, im)) * back
    # sqrt(a + i inf) is inf + i inf even for NaN a; sqrt(-inf + i b) is i inf, or NaN + i inf.
    infinite_im = b.eq(fabs(b, x.im), math.inf)
    infinite_re = b.eq(fabs(b, x.re), math.inf) & ~infinite_im
    flat = b.select(b.isnan(x.im), x.im, b.constant(w.type, 0.0))
    inf = b.constant(w.type, math.inf)
    root_re = b.select(infinite_re, b.select(right, inf, flat), root_re)
    root_im = b.select(
        infinite_re,
        b.select(right, copysign(b, flat, x.im), copysign(b, inf, x.im)),
        root_im,
    )
    return Complex(b.select(infinite_im, inf, root_re), b.select(infinite_im, x.im, root_im))


def _turned(b: Builder, x: Value, scale: Callable[[Value], Value]) -> Complex:
    """Return scale(cos x) + i scale(sin x)."""
    return Complex(scale(float_math(b, "cos", x)), scale(float_math(b, "sin", x)))


@complex_function("exp")
def exp(b: Builder, x: Complex) -> Complex:
    """exp(re) (cos(im) + i sin(im)), which overflows only where the result does."""
    # exp(high) is 2**k for the largest k that `scaled` takes.
    high = 2.0 * format_of(x.re.type).bias * math.log(2.0)
    k, (hi, lo) = exp_pair(b, clamp(b, x.re, limits(x.re.type)[0], high))
    p = hi + lo
    result = _turned(b, x.im, lambda part: scaled(b, p * part, k))
    plain = b.eq(x.im, 0.0)
    result = Complex(result.re, b.select(plain, x.im, result.im))
    # exp(-inf + i y) is 0 for any y, exp(inf + i y) has an infinite part even then.
    odd = ~(fabs(b, x.im) < math.inf)
    zero = b.constant(p.type, 0.0)
    vanishes, grows = b.eq(x.re, -math.inf) & odd, b.eq(x.re, math.inf) & odd
    # The exponent was limited; an infinite one makes every part infinite but 0.
    grown = b.eq(x.re, math.inf)
    re = b.select(grown, result.re * math.inf, result.re)
    im = b.select(grown & ~plain, result.im * math.inf, result.im)
    re = b.select(vanishes, zero, b.select(grows, x.re, re))
    return Complex(re, b.select(vanishes, zero, im))


@complex_function("exp2")
def exp2(b: Builder, x: Complex) -> Complex:
    """exp(x ln(2))."""
    ln2 = number(LN2, x.re.type.name)
    return exp(b, Complex(x.re * ln2, x.im * ln2))


@complex_function("expm1")
def expm1(b: Builder, x: Complex) -> Complex:
    """expm1(re) cos(im) - 2 sin(im / 2)**2, and exp(re) sin(im)."""
    half = float_math(b, "sin", x.im * 0.5)
    grown = float_math(b, "expm1", x.re)
    re = grown * float_math(b, "cos", x.im) - (half * half) * 2.0
    # The limits, where the angle does not matter or is unknown.
    is_open = b.compare("uno", x.im - x.im, x.im)
    grows = b.eq(x.re, math.inf) & is_open
    re = b.select(b.eq(x.re, -math.inf), b.constant(x.re.type, -1.0), re)
    re = b.select(grows, x.re, re)
    return Complex(re, exp(b, x).im)


def _log_of_modulus(b: Builder, x: Complex) -> Value:
    """log|x|, accurate near 1: half the logarithm of a pair."""
    double = x.re.type.name == "float64"
    re, im = (fabs(b, part) for part in x)
    one = b.constant(re.type, 1.0)
    high, low = (2.0**500, 2.0**-450) if double else (2.0**60, 2.0**-40)
    up = 600.0 if double else 100.0
    largest = b.maximum_number(re, im)
    big, tiny = largest > high, largest < low
    factor = b.select(big, one * 2.0**-up, b.select(tiny, one * 2.0**up, one))
    more = b.select(big, one * (2.0 * up), b.select(tiny, one * (-2.0 * up), 0.0))
    hi, lo = _sum_of_squares(b, re * factor, im * factor)
    result = log_of_pair(b, (hi, lo), more) * 0.5
    result = b.select(b.eq(largest, 0.0), b.constant(re.type, -math.inf), result)
    result = b.select(b.compare("uno", re, im), re + im, result)
    infinite = b.eq(re, math.inf) | b.eq(im, math.inf)
    return b.select(infinite, b.constant(re.type, math.inf), result)


def _sum_of_squares(b: Builder, x: Value, y: Value) -> Pair:
    return pair_add(b, two_prod(b, x, x), two_prod(b, y, y))


@complex_function("log")
def log(b: Builder, x: Complex) -> Complex:
    """log|x| + i angle(x)."""
    return Complex(_log_of_modulus(b, x), angle(b, x))


@complex_function("log2")
def log2(b: Builder, x: Complex) -> Complex:
    """log(x) / ln(2)."""
    return _divided(b, log(b, x), number(1 / LN2, x.re.type.name))


@complex_function("log10")
def log10(b: Builder, x: Complex) -> Complex:
    """log(x) / ln(10)."""
    return _divided(b, log(b, x), number(1 / LN10, x.re.type.name))


def _divided(b: Builder, x: Complex, factor: float) -> Complex:
    return Complex(x.re * factor, x.im * factor)


@complex_function("log1p")
def log1p(b: Builder, x: Complex) -> Complex:
    """log|1 + x| from 2 re + re**2 + im**2, accurate near 0."""
    moderate = b.maximum_number(fabs(b, x.re), fabs(b, x.im)) < 2.0**20
    re = b.select(moderate, x.re, 0.0)
    im = b.select(moderate, x.im, 0.0)
    squares = _sum_of_squares(b, re, im)
    near = log1p_of_pair(b, pair_add(b, (re + re, b.constant(re.type, 0.0)), squares)) * 0.5
    shifted = Complex(x.re + 1.0, x.im)
    origin = b.eq(shifted.re, 0.0) & b.eq(x.im, 0.0)
    near = _or(b, origin, -math.inf, near)
    return Complex(b.select(moderate, near, _log_of_modulus(b, shifted)), angle(b, shifted))


@complex_function("sinh")
def sinh(b: Builder, x: Complex) -> Complex:
    """sinh(re) cos(im) + i cosh(re) sin(im)."""
    sine, cosine = float_math(b, "sin", x.im), float_math(b, "cos", x.im)
    real = b.eq(x.im, 0.0)
    im = float_math(b, "cosh", x.re) * sine
    re = _product(b, float_math(b, "sinh", x.re), cosine)
    re = b.select(_infinite_at_nothing(b, x), x.re, re)
    return Complex(re, b.select(real, x.im, im))


def _infinite_at_nothing(b: Builder, x: Complex) -> Value:
    """Return whether the real part is infinite and the imaginary part is infinite or NaN."""
    return b.eq(fabs(b, x.re), math.inf) & ~(fabs(b, x.im) < math.inf)


@complex_function("cosh")
def cosh(b: Builder, x: Complex) -> Complex:
    """cosh(re) cos(im) + i sinh(re) sin(im)."""
    sine, cosine = float_math(b, "sin", x.im), float_math(b, "cos", x.im)
    re = float_math(b, "cosh", x.re) * cosine
    re = b.select(_infinite_at_nothing(b, x), fabs(b, x.re), re)
    return Complex(re, _product(b, float_math(b, "sinh", x.re), sine))


def _product(b: Builder, x: Value, y: Value) -> Value:
    """x * y, but 0 where one is 0, with the sign of the product."""
    zero = b.eq(x, 0.0) | b.eq(y, 0.0)
    one, nothing = b.constant(x.type, 1.0), b.constant(x.type, 0.0)
    return b.select(zero, copysign(b, one, x) * copysign(b, nothing, y), x * y)


@complex_function("tanh")
def tanh(b: Builder, x: Complex) -> Complex:
    """Kahan's formula: (s c d + i t) / (1 + s**2 d).

    Here t = tan(im), s = sinh(re), c = cosh(re), d = 1 + t**2.
    """
    t, s = float_math(b, "tan", x.im), float_math(b, "sinh", x.re)
    spread = b.madd(t, t, 1.0)
    c = b.intrinsic("sqrt", b.madd(s, s, 1.0))
    divisor = b.madd(spread * s, s, 1.0)
    re, im = spread * s * c / divisor, t / divisor
    # For large re: +-1, and 4 sin(im) cos(im) exp(-2 |re|).
    large = fabs(b, x.re) > (22.0 if x.re.type.name == "float64" else 11.0)
    small = float_math(b, "exp", fabs(b, x.re) * -2.0) * 4.0
    both = float_math(b, "sin", x.im) * float_math(b, "cos", x.im)
    one = copysign(b, b.constant(re.type, 1.0), x.re)
    infinite = b.eq(fabs(b, x.re), math.inf)
    sign = b.select(fabs(b, x.im) < math.inf, both, x.im)
    flat = b.select(infinite, copysign(b, b.constant(im.type, 0.0), sign), both * small)
    re = b.select(large, b.select(infinite, one, one + flat * 0.0), re)
    re = b.select(b.eq(x.re, 0.0), x.re, re)
    im = b.select(b.eq(x.im, 0.0), x.im, b.select(large, flat, im))
    return Complex(re, im)


def _times_i(b: Builder, x: Complex) -> Complex:
    return Complex(-x.im, x.re)


@complex_function("sin")
def sin(b: Builder, x: Complex) -> Complex:
    """-i sinh(i x)."""
    result = sinh(b, _times_i(b, x))
    return Complex(result.im, -result.re)


@complex_function("cos")
def cos(b: Builder, x: Complex) -> Complex:
    """cosh(i x)."""
    return cosh(b, _times_i(b, x))


@complex_function("tan")
def tan(b: Builder, x: Complex) -> Complex:
    """-i tanh(i x)."""
    result = tanh(b, _times_i(b, x))
    return Complex(result.im, -result.re)


# NumPy multiplies for whole exponents below this.
_LARGEST_WHOLE = 100


@complex_function("pow")
def pow(b: Builder, x: Complex, y: Complex) -> Complex:
    """exp(y log(x)); by multiplications for small integers y; 1 for y == 0."""
    if x.re.type.name == "float32":
        # y log(x) needs more digits than the result.
        wide = x.re.type.like("float64")
        x, y = (Complex(b.convert(z.re, wide), b.convert(z.im, wide)) for z in (x, y))
        result, single = pow(b, x, y), wide.like("float32")
        return Complex(b.convert(result.re, single), b.convert(result.im, single))
    general = exp(b, mul(b, y, log(b, x)))
    type = x.re.type
    count = fabs(b, y.re)
    whole = b.eq(y.im, 0.0) & (count < _LARGEST_WHOLE) & b.eq(b.intrinsic("trunc", count), count)
    bits = b.convert(b.select(whole, count, 0.0), type.like("int32"))
    zero, one = b.constant(type, 0.0), b.constant(type, 1.0)
    product, factor = Complex(one, zero), x
    for bit in range(_LARGEST_WHOLE.bit_length()):
        wanted = b.ne(bits & (1 << bit), 0)
        # 1 * x would turn infinite parts into NaN.
        first = b.eq(bits & ((1 << bit) - 1), 0)
        longer = _select(b, first, factor, mul(b, product, factor))
        product = _select(b, wanted, longer, product)
        factor = mul(b, factor, factor)
    inverse = true_div(b, Complex(one, zero), product)
    product = _select(b, y.re < 0.0, inverse, product)
    at_zero = b.eq(x.re, 0.0) & b.eq(x.im, 0.0)
    nan = b.constant(type, math.nan)
    limit = _select(b, y.re > 0.0, Complex(zero, zero), Complex(nan, nan))
    result = _select(b, whole, product, general)
    result = _select(b, at_zero, limit, result)
    nothing = b.eq(y.re, 0.0) & b.eq(y.im, 0.0)
    return _select(b, nothing, Complex(one, zero), result)


@complex_function("xlogy")
def xlogy(b: Builder, x: Complex, y: Complex) -> Complex:
    """x log(y), and 0 where x is 0."""
    return _product_with_log(b, x, y, log(b, y))


@complex_function("xlog1py")
def xlog1py(b: Builder, x: Complex, y: Complex) -> Complex:
    """x log(1 + y), and 0 where x is 0."""
    return _product_with_log(b, x, y, log1p(b, y))


def _product_with_log(b: Builder, x: Complex, y: Complex, logarithm: Complex) -> Complex:
    zero = b.constant(x.re.type, 0.0)
    nothing = b.eq(x.re, 0.0) & b.eq(x.im, 0.0) & ~_has_nan(b, y)
    return _select(b, nothing, Complex(zero, zero), mul(b, x, logarithm))


def _select(b: Builder, mask: Value, x: Complex, y: Complex) -> Complex:
    return Complex(b.select(mask, x.re, y.re), b.select(mask, x.im, y.im))


def is_before(b: Builder, x: Complex, y: Complex, *, equal: bool) -> Value:
    """Whether x < y (or x <= y): by the real parts, then the imaginary ones."""
    last = b.le(x.im, y.im) if equal else b.lt(x.im, y.im)
    ordered = b.compare("ord", x.im, y.im)
    return ((x.re < y.re) & ordered) | (b.eq(x.re, y.re) & last)


def _has_nan(b: Builder, x: Complex) -> Value:
    return b.compare("uno", x.re, x.im)


@complex_function("maximum")
def maximum(b: Builder, x: Complex, y: Complex) -> Complex:
    """The later of two; NaN if one is NaN."""
    return _select(b, is_before(b, y, x, equal=True) | _has_nan(b, x), x, y)


@complex_function("minimum")
def minimum(b: Builder, x: Complex, y: Complex) -> Complex:
    """The earlier of two; NaN if one is NaN."""
    return _select(b, is_before(b, x, y, equal=True) | _has_nan(b, x), x, y)


@complex_function("fmax")
def fmax(b: Builder, x: Complex, y: Complex) -> Complex:
    """The later of two, ignoring a NaN."""
    return _select(b, is_before(b, y, x, equal=True) | _has_nan(b, y), x, y)


@complex_function("fmin")
def fmin(b: Builder, x: Complex, y: Complex) -> Complex:
    """The earlier of two, ignoring a NaN."""
    return _select(b, is_before(b, x, y, equal=True) | _has_nan(b, y), x, y)


@complex_function("clip")
def clip(b: Builder, x: Complex, lower: Complex, upper: Complex) -> Complex:
    """minimum(maximum(x, lower), upper)."""
    return minimum(b, maximum(b, x, lower), upper)


@complex_function("rint")
def rint(b: Builder, x: Complex) -> Complex:
    """Each part rounded."""
    return Complex(b.intrinsic("rint", x.re), b.intrinsic("rint", x.im))
