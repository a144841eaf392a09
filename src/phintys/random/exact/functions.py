"""The functions that samplers use, in exact steps: the same bits from every backend.

Their errors are of the size of a rounding or two. All are functions of scalars that apply to
tensors element by element, for float32 and float64; their derivatives are those of the functions
that they compute.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phintys import scalar as ps
from phintys.random.exact.normal_coefficients import CENTRAL, CENTRE, TAILS
from phintys.random.exact.steps import RareCase, bits_float, exact_function, float_bits


def polynomial(x: Any, coefficients: Any) -> Any:
    """Return a polynomial: the even and the odd powers each in turn, side by side."""
    if len(coefficients) <= 4:
        return _in_turn(x, coefficients)
    square = x * x
    return _in_turn(square, coefficients[::2]) + x * _in_turn(square, coefficients[1::2])


def _in_turn(x: Any, coefficients: Any) -> Any:
    result = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = result * x + coefficient
    return result


# ---- logarithm -----------------------------------------------------------------------------------

_LN2 = {"float64": (6.93147180369123816490e-01, 1.90821492927058770002e-10)}
_LN2["float32"] = (6.93145751953125e-01, 1.42860676533018e-06)
"""The logarithm of 2 as a sum: products of the first part with exponents are exact."""

_DIGITS = {"float64": 52, "float32": 23}
_ROOT_HALF = {"float64": 0x3FE6A09E667F3BCD, "float32": 0x3F3504F3}  # bits of sqrt(1/2)

# (log((1 + s) / (1 - s)) / s - 2) / s**2 in powers of s**2
_LOG = {
    "float64": (
        0.666666666666667,
        0.3999999999989866,
        0.2857142862632603,
        0.22222211079646972,
        0.18182893057705415,
        0.1533159296307251,
        0.14618018408590605,
    ),
    "float32": (0.6666666655364938, 0.4000012245280212, 0.28550756771720187, 0.233321097870078),
}


def _log_of_usual(x: Any) -> Any:
    """Return the logarithm of a number that is positive, finite and not subnormal."""
    dtype = x.dtype
    bits = float_bits(x)
    kind = np.dtype(bits.dtype).type
    above = bits - kind(_ROOT_HALF[dtype])
    exponent = ps.right_shift(above, kind(_DIGITS[dtype]))
    mantissa = bits_float(bits - ps.left_shift(exponent, kind(_DIGITS[dtype])))
    f = mantissa - 1.0  # from sqrt(1/2) - 1 to sqrt(2) - 1
    s = f / (f + 2.0)
    square = s * s
    half = (f * f) * 0.5
    e = ps.cast(exponent, dtype)
    high, low = _LN2[dtype]
    rest = s * (half + square * polynomial(square, _LOG[dtype])) + e * low
    return e * high - ((half - rest) - f)


def _log_of_any(x: Any) -> Any:
    dtype = x.dtype
    info = np.finfo(dtype)
    is_small = ps.lt(x, float(info.tiny))
    scale = 2.0 ** (_DIGITS[dtype] + 1)
    is_usual = ps.and_(ps.gt(x, 0.0), ps.lt(x, math.inf))
    usual = _log_of_usual(ps.switch(is_usual, ps.switch(is_small, x * scale, x), 1.0))
    shift = float(info.dtype.type(math.log(scale)))
    small = ps.switch(is_small, usual - shift, usual)
    special = ps.switch(ps.eq(x, 0.0), -math.inf, ps.switch(ps.gt(x, 0.0), x, math.nan))
    return ps.switch(is_usual, small, special)


@exact_function(derivative=lambda x, out: (1 / x,))
def exact_log(x: Any) -> Any:
    """log(x), in exact steps."""
    return _log_of_any(x)


# ---- exponential ---------------------------------------------------------------------------------

# (exp(r) - 1 - r) / r**2 in powers of r
_EXP = {
    "float64": (
        0.5,
        0.1666666666666667,
        0.041666666666666616,
        0.008333333333326127,
        0.0013888888888918941,
        0.00019841269874915074,
        2.4801587244850673e-05,
        2.755725525602011e-06,
        2.7557349993030355e-07,
        2.5105279426473477e-08,
        2.0889303593443577e-09,
    ),
    "float32": (
        0.5000000013439547,
        0.1666666652269338,
        0.041666464870191926,
        0.008333363616999632,
        0.0013933674260393292,
        0.0001985603413883028,
    ),
}
_EXP_RANGE = {"float64": (-745.2, 709.79), "float32": (-104.0, 88.73)}
_BIAS = {"float64": 1023, "float32": 127}


def _power_of_two(exponent: Any, dtype: str) -> Any:
    kind = np.dtype(exponent.dtype).type
    return bits_float(ps.left_shift(exponent + kind(_BIAS[dtype]), kind(_DIGITS[dtype])))


@exact_function(derivative=lambda x, out: (out,))
def exact_exp(x: Any) -> Any:
    """exp(x), in exact steps."""
    dtype = x.dtype
    least, most = _EXP_RANGE[dtype]
    high, low = _LN2[dtype]
    inside = ps.switch(ps.and_(ps.gt(x, least), ps.lt(x, most)), x, 0.0)
    count = ps.rint(inside * (1 / math.log(2)))
    r = (inside - count * high) - count * low
    value = 1.0 + (r + (r * r) * polynomial(r, _EXP[dtype]))
    exponent = ps.cast(count, {"float64": "int64", "float32": "int32"}[dtype])
    # In two steps, as 2**count itself may be beyond the range of the dtype.
    first = ps.right_shift(exponent, np.dtype(exponent.dtype).type(1))
    value = (value * _power_of_two(first, dtype)) * _power_of_two(exponent - first, dtype)
    outside = ps.switch(ps.ge(x, most), math.inf, ps.switch(ps.le(x, least), 0.0, value))
    return ps.switch(ps.ne(x, x), x, outside)


# ---- sine and cosine -----------------------------------------------------------------------------

# sin(pi x) / x, and (cos(pi x) - 1) / x**2, in powers of x**2
_SIN_PI = {
    "float64": (
        3.141592653589793,
        -5.167712780049953,
        2.550164039873232,
        -0.5992645289296018,
        0.082145868863245,
        -0.007370016978768257,
        0.0004615067152604388,
    ),
    "float32": (3.141592643349927, -5.167707656976276, 2.5497597452081515, -0.5889957321373458),
}
_COS_PI = {
    "float64": (
        -4.934802200544679,
        4.058712126416765,
        -1.3352627688537924,
        0.23533063028278953,
        -0.025806887926091586,
        0.0019294933038007456,
        -0.00010369766575310547,
    ),
    "float32": (-4.934802197404444, 4.058710537397931, -1.3351365306769303, 0.2321109145268345),
}
_MOST_TURNS = {"float64": 2.0**52, "float32": 2.0**23}  # greater numbers are even


def _of_quarter_turns(x: Any, ahead: int) -> Any:
    """Return ``sin(pi * (x + ahead / 2))``."""
    dtype = x.dtype
    inside = ps.switch(ps.lt(ps.abs(x), _MOST_TURNS[dtype]), x, 0.0)
    count = ps.rint(inside * 2.0)
    rest = inside - count * 0.5
    square = rest * rest
    sine = rest * polynomial(square, _SIN_PI[dtype])
    cosine = 1.0 + square * polynomial(square, _COS_PI[dtype])
    quarter = ps.cast(count, "int64") + np.int64(ahead)
    is_odd = ps.ne(ps.and_(quarter, np.int64(1)), np.int64(0))
    is_below = ps.ne(ps.and_(quarter, np.int64(2)), np.int64(0))
    value = ps.switch(is_odd, cosine, sine)
    return ps.switch(ps.lt(ps.abs(x), math.inf), ps.switch(is_below, -value, value), math.nan)


@exact_function(derivative=lambda x, out: (math.pi * ps.cos(math.pi * x),))
def exact_sin_pi(x: Any) -> Any:
    """sin(pi * x), in exact steps."""
    return _of_quarter_turns(x, 0)


@exact_function(derivative=lambda x, out: (-math.pi * ps.sin(math.pi * x),))
def exact_cos_pi(x: Any) -> Any:
    """cos(pi * x), in exact steps."""
    return _of_quarter_turns(x, 1)


# (arcsin(x) / x - 1) / x**2 in powers of x**2, for x up to 1/2
_ARCSIN = {
    "float64": (
        0.16666666666666669,
        0.07499999999998433,
        0.04464285714635543,
        0.030381944138531247,
        0.02237217294214989,
        0.017352392720869973,
        0.013971212973552933,
        0.011479177415184906,
        0.01032281435018578,
        0.005457506718640358,
        0.01740087944269402,
        -0.014851887071247204,
        0.028757851367421566,
    ),
    "float32": (
        0.16666666337430908,
        0.07500094543497424,
        0.04459940152851218,
        0.03110066273549457,
        0.017149238357677253,
        0.03369084720283012,
    ),
}


@exact_function(derivative=lambda x, out: (1 / ps.sqrt((1 - x) * (1 + x)),))
def exact_arcsin(x: Any) -> Any:
    """arcsin(x), in exact steps."""
    dtype = x.dtype
    size = ps.abs(x)
    is_small = ps.le(size, 0.5)
    # arcsin(x) = pi / 2 - 2 arcsin(sqrt((1 - x) / 2))
    square = ps.switch(is_small, x * x, (1.0 - size) * 0.5)
    y = ps.switch(is_small, size, ps.sqrt(square))
    near = y + y * (square * polynomial(square, _ARCSIN[dtype]))
    value = ps.switch(is_small, near, (0.5 * math.pi) - 2.0 * near)
    return ps.switch(ps.lt(x, 0.0), -value, value)


# ---- normal and exponential numbers --------------------------------------------------------------


def _central(x: Any, w: Any) -> Any:
    return x * polynomial(w - CENTRE, CENTRAL[x.dtype])


def _tail(x: Any, y: Any) -> Any:
    """Return the quantile where y is small."""
    w = -_log_of_any(y)
    return ps.switch(ps.lt(w, math.inf), _tail_at(x, w), x * math.inf)


def _tail_at(x: Any, w: Any) -> Any:
    """Return the quantile where w is large and finite."""
    u = ps.sqrt(w)
    kind = np.dtype(x.dtype).type
    *nearer, (_, *numbers) = TAILS[x.dtype]
    chosen = [kind(number) for number in numbers]
    for end, *numbers in reversed(nearer):
        is_nearer = ps.lt(u, end)
        pairs = zip(numbers, chosen, strict=True)
        chosen = [ps.switch(is_nearer, kind(near), far) for near, far in pairs]
    centre, *coefficients = chosen
    return x * _in_turn(u - centre, coefficients)


# The quantile of (1 + x) / 2, where y = 1 - x**2 is given too, as it is known more precisely.
normal_quantile = RareCase(
    "normal_quantile",
    nin=2,
    usual=lambda x, y: _central(x, -_log_of_usual(y)),
    rare=_tail,
    is_rare=lambda x, y: ps.logical_not(ps.ge(y, math.exp(-2 * CENTRE))),
)
# Of bits, y is never 0 or subnormal: both cases have one logarithm.
_quantile_of_bits = RareCase(
    "_quantile_of_bits",
    nin=2,
    usual=lambda x, y: _central(x, -_log_of_usual(y)),
    rare=lambda x, y: _tail_at(x, -_log_of_usual(y)),
    is_rare=lambda x, y: ps.lt(y, math.exp(-2 * CENTRE)),
)


@exact_function(derivative=lambda bits, out: (0,))
def exact_normal(bits: Any) -> Any:
    """Standard normal numbers of random bits: float64 of uint64, float32 of uint32.

    One bit is the sign; the others are the probability of the tail, so that it reaches to 2**-64,
    or 2**-32.
    """
    unsigned = np.dtype(bits.dtype)
    digits = 8 * unsigned.itemsize - 1
    signed, dtype = {"uint64": ("int64", "float64"), "uint32": ("int32", "float32")}[unsigned.name]
    number = ps.cast(ps.and_(bits, unsigned.type(2**digits - 1)), signed)
    q = (ps.cast(number, dtype) + 0.5) * 2.0**-digits  # twice the probability of the tail
    x = 1.0 - q
    is_negative = ps.lt(ps.cast(bits, signed), np.dtype(signed).type(0))
    return _quantile_of_bits(ps.switch(is_negative, -x, x), q * (2.0 - q))


@exact_function(
    derivative=lambda p, out: (math.sqrt(2 * math.pi) * ps.exp(0.5 * ps.sqr(out)),),
)
def exact_ndtri(p: Any) -> Any:
    """The quantile of the standard normal distribution, in exact steps."""
    q = ps.switch(ps.lt(p, 0.5), p, 1.0 - p) * 2.0
    value = normal_quantile(ps.switch(ps.lt(p, 0.5), q - 1.0, 1.0 - q), q * (2.0 - q))
    return ps.switch(ps.and_(ps.ge(p, 0.0), ps.le(p, 1.0)), value, math.nan)


@exact_function(derivative=lambda bits, out: (0,))
def exact_exponential(bits: Any) -> Any:
    """Standard exponential numbers of random bits: float64 of uint64, float32 of uint32."""
    unsigned = np.dtype(bits.dtype)
    digits = 8 * unsigned.itemsize - 1
    signed, dtype = {"uint64": ("int64", "float64"), "uint32": ("int32", "float32")}[unsigned.name]
    number = ps.cast(ps.right_shift(bits, unsigned.type(1)), signed)
    return 0.0 - _log_of_usual((ps.cast(number, dtype) + 0.5) * 2.0**-digits)  # never -0.0


# ---- what quantile functions are made of ---------------------------------------------------------


@exact_function(derivative=lambda x, out: (1 / (1 + x),))
def exact_log1p(x: Any) -> Any:
    """log(1 + x), in exact steps."""
    sum_ = 1.0 + x
    # The rounding of the sum is in both factors, and cancels.
    value = _log_of_any(sum_) * (x / (sum_ - 1.0))
    is_plain = ps.and_(ps.ne(sum_, 1.0), ps.lt(sum_, math.inf))
    return ps.switch(is_plain, value, x)


@exact_function(derivative=lambda x, out: (1 + out,))
def exact_expm1(x: Any) -> Any:
    """exp(x) - 1, in exact steps."""
    power = exact_exp(x)
    value = (power - 1.0) * (x / _log_of_any(power))
    is_inside = ps.and_(ps.gt(x, -20.0), ps.lt(power, math.inf))  # far below, power has few digits
    is_plain = ps.and_(ps.ne(power, 1.0), is_inside)
    return ps.switch(is_plain, value, ps.switch(ps.eq(power, 1.0), x, power - 1.0))


@exact_function(
    derivative=lambda x, y, out: (y * ps.pow(x, y - 1), out * ps.log(x)),
)
def exact_power(x: Any, y: Any) -> Any:
    """x**y of a positive x, in exact steps."""
    return ps.switch(ps.eq(y, 0.0), 1.0, exact_exp(y * exact_log(x)))


@exact_function(
    derivative=lambda x, out: (0.5 * math.sqrt(math.pi) * ps.exp(ps.sqr(out)),),
)
def exact_erfinv(x: Any) -> Any:
    """The inverse of erf, in exact steps."""
    return normal_quantile(x, (1.0 - x) * (1.0 + x)) * math.sqrt(0.5)


@exact_function(
    derivative=lambda x, out: (-0.5 * math.sqrt(math.pi) * ps.exp(ps.sqr(out)),),
)
def exact_erfcinv(x: Any) -> Any:
    """The inverse of erfc, in exact steps."""
    return exact_ndtri(x * 0.5) * -math.sqrt(0.5)
