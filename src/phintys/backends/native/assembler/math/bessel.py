"""Bessel functions: by Hankel's expansion far out, and SciPy's where these have more digits.

See :mod:`phintys.scalar.bessel` (H. Hankel, 1869; DLMF 10.17.3).
"""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.bessel_recurrence import (
    modified_near_0,
    modified_series,
)
from phintys.backends.native.assembler.math.bessel_slopes import log_ive_slope, log_kve_slope
from phintys.backends.native.assembler.math.calls import float_math
from phintys.backends.native.assembler.math.exact import polynomial
from phintys.backends.native.assembler.math.floating import fabs
from phintys.backends.native.assembler.math.lanewise import computed_where, redo_lanes
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value
from phintys.scalar.bessel import (
    BEYOND,
    FAR,
    HANKEL,
    ORDERS_BELOW,
    SCALED_BELOW,
    SCALED_FROM,
    SERIES_FROM,
    WRONSKIAN_FROM,
    WRONSKIAN_TO,
)
from phintys.scalar.bessel_near_0 import LARGE, NEAR_TO
from phintys.scalar.bessel_slopes import LARGEST


@float_function("j0")
def j0(b: Builder, x: Value) -> Value:
    """The function of order 0."""
    return _bessel(b, 0, x)


@float_function("j1")
def j1(b: Builder, x: Value) -> Value:
    """The function of order 1."""
    return _bessel(b, 1, x)


def _bessel(b: Builder, order: int, x: Value) -> Value:
    if x.type.name == "float32":
        return b.convert(_bessel(b, order, b.convert(x, x.type.like("float64"))), x.type)
    size = fabs(b, x)
    is_far = b.le(FAR, size) & (size < math.inf)
    found = computed_where(b, is_far, lambda: _far(b, order, b.select(is_far, size, FAR)))
    found = found if order == 0 else b.select(x < 0.0, -found, found)
    return redo_lanes(b, found, ~is_far, f"phintys_scipy_j{order}_float64", [x])


def _far(b: Builder, order: int, x: Value) -> Value:
    inverse = b.div(1.0, x)
    square = inverse * inverse
    even, odd = (polynomial(b, square, numbers) for numbers in HANKEL[order])
    odd = odd * inverse
    cosine, sine = float_math(b, "cos", x), float_math(b, "sin", x)
    first, second = (cosine, sine) if order == 0 else (sine, -cosine)
    total = (even + odd) * first + (even - odd) * second
    return total / b.intrinsic("sqrt", x * math.pi)


@float_function("ive", 2)
def ive(b: Builder, v: Value, x: Value) -> Value:
    """The scaled modified function of the first kind."""
    if x.type.name == "float32":
        wide = x.type.like("float64")
        return b.convert(ive(b, b.convert(v, wide), b.convert(x, wide)), x.type)
    size = fabs(b, x)
    is_near = (size < SERIES_FROM) | (v * v > size + size)
    is_near = is_near & (size > SCALED_FROM) & (size < SCALED_BELOW)
    is_near = is_near & (fabs(b, v) < ORDERS_BELOW)
    zero = b.constant(x.type, 0.0)
    near = redo_lanes(b, zero, is_near, "phintys_scipy_iv_float64", [v, x])
    near = near * float_math(b, "exp", -size)
    is_whole = b.eq(b.intrinsic("rint", v), v)
    is_usual = is_whole | (b.le(0.0, x) & ((v > -0.5) | (-v < x)))
    is_beyond = is_usual & (float_math(b, "hypot", v, x) > BEYOND)

    def beyond() -> Value:
        half = b.select(is_whole, v, zero) * 0.5
        is_odd = ~b.eq(b.intrinsic("floor", half), half)
        found = _beyond(b, v, size, 1.0, 0.0)
        return b.select((x < 0.0) & is_odd, -found, found)

    found = b.select(is_beyond, computed_where(b, is_beyond, beyond), near)
    return redo_lanes(b, found, ~(is_near | is_beyond), "phintys_scipy_ive_float64", [v, x])


@float_function("kv", 2)
def kv(b: Builder, v: Value, x: Value) -> Value:
    """The modified function of the second kind."""
    return _second_kind(b, "kv", v, x)


@float_function("kve", 2)
def kve(b: Builder, v: Value, x: Value) -> Value:
    """The scaled modified function of the second kind."""
    return _second_kind(b, "kve", v, x)


def _second_kind(b: Builder, name: str, v: Value, x: Value) -> Value:
    if x.type.name == "float32":
        wide = x.type.like("float64")
        return b.convert(_second_kind(b, name, b.convert(v, wide), b.convert(x, wide)), x.type)
    order = fabs(b, v)
    is_between = b.le(WRONSKIAN_FROM, x) & (x <= WRONSKIAN_TO) & (order < ORDERS_BELOW)

    def by_wronskian() -> Value:
        degree, place = b.select(is_between, order, 0.5), b.select(is_between, x, 1.0)
        first = modified_series(b, degree, place)
        slopes = (log_ive_slope(b, degree, place) + 2.0) - log_kve_slope(b, degree, place)
        scale = float_math(b, "exp", place) if name == "kve" else b.constant(x.type, 1.0)
        return scale / (place * first * slopes)

    found = computed_where(b, is_between, by_wronskian)
    is_near = (x > 0.0) & (x < NEAR_TO) & (order <= LARGE)

    def near_0() -> Value:
        degree, place = b.select(is_near, order, 0.5), b.select(is_near, x, 0.1)
        near = modified_near_0(b, degree, place)
        return near * float_math(b, "exp", place) if name == "kve" else near

    found = b.select(is_near, computed_where(b, is_near, near_0), found)
    is_beyond = (x > 0.0) & (float_math(b, "hypot", v, x) > BEYOND)
    growth = 0.0 if name == "kve" else -1.0
    beyond = computed_where(b, is_beyond, lambda: _beyond(b, v, x, -1.0, growth))
    found = b.select(is_beyond, beyond, found)
    known = is_between | is_near | is_beyond
    return redo_lanes(b, found, ~known, f"phintys_scipy_{name}_float64", [v, x])


def _beyond(b: Builder, v: Value, x: Value, side: float, growth: float) -> Value:
    """Write a function of the first kind (1) or the second (-1), by ``exp(growth * x)`` larger."""
    v = b.minimum_number(fabs(b, v), LARGEST)
    distance = float_math(b, "hypot", v, x)
    share = v / distance
    rest = v * 0.5 / (distance * 0.5 + x * 0.5) - float_math(b, "arcsinh", v / x)
    exponent = v * rest * side
    if growth:
        exponent = exponent + x * growth
    total = (3.0 - share * share * 5.0) / (distance * 24.0) * side + 1.0
    scale = math.sqrt(0.5 * math.pi**-side)
    root = b.intrinsic("sqrt", distance)
    return float_math(b, "exp", exponent) / root * scale * total
