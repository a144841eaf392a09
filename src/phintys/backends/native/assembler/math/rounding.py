"""Rounding to integers that are still floats."""

from __future__ import annotations

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.floating import copysign, fabs
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value


@float_function("ceil", outlined=False)
def ceil(b: Builder, x: Value) -> Value:
    """The least integer that is not below x."""
    return b.intrinsic("ceil", x)


@float_function("floor", outlined=False)
def floor(b: Builder, x: Value) -> Value:
    """The greatest integer that is not above x."""
    return b.intrinsic("floor", x)


@float_function("trunc", outlined=False)
def trunc(b: Builder, x: Value) -> Value:
    """x without its fraction."""
    return b.intrinsic("trunc", x)


@float_function("rint", outlined=False)
def rint(b: Builder, x: Value) -> Value:
    """The nearest integer; of two equally near ones, the even one."""
    return b.intrinsic("rint", x)


@float_function("round_half_away", outlined=False)
def round_half_away(b: Builder, x: Value) -> Value:
    """The nearest integer; of two equally near ones, the one farther from 0."""
    whole = b.intrinsic("trunc", x)
    away = whole + copysign(b, b.constant(x.type, 1.0), x)
    return b.select(fabs(b, x - whole) >= 0.5, away, whole)
