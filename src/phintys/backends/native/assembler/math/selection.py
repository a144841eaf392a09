"""Extremes, of floats and integers."""

from __future__ import annotations

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.registry import float_function, integer_function
from phintys.backends.native.assembler.values import Value


@float_function("maximum", 2, outlined=False)
def maximum(b: Builder, x: Value, y: Value) -> Value:
    """The larger of two; NaN if one is NaN."""
    return b.select((x >= y) | b.isnan(x), x, y)


@float_function("minimum", 2, outlined=False)
def minimum(b: Builder, x: Value, y: Value) -> Value:
    """The smaller of two; NaN if one is NaN."""
    return b.select((x <= y) | b.isnan(x), x, y)


@float_function("fmax", 2, outlined=False)
def fmax(b: Builder, x: Value, y: Value) -> Value:
    """The larger of two, ignoring a NaN."""
    return b.select((x >= y) | b.isnan(y), x, y)


@float_function("fmin", 2, outlined=False)
def fmin(b: Builder, x: Value, y: Value) -> Value:
    """The smaller of two, ignoring a NaN."""
    return b.select((x <= y) | b.isnan(y), x, y)


@float_function("clip", 3, outlined=False)
def clip(b: Builder, x: Value, lower: Value, upper: Value) -> Value:
    """minimum(maximum(x, lower), upper)."""
    return minimum(b, maximum(b, x, lower), upper)


@integer_function("maximum", "fmax")
def larger(b: Builder, x: Value, y: Value) -> Value:
    """The larger of two."""
    return b.select(x >= y, x, y)


@integer_function("minimum", "fmin")
def smaller(b: Builder, x: Value, y: Value) -> Value:
    """The smaller of two."""
    return b.select(x <= y, x, y)


@integer_function("clip")
def clip_integer(b: Builder, x: Value, lower: Value, upper: Value) -> Value:
    """minimum(maximum(x, lower), upper)."""
    return smaller(b, larger(b, x, lower), upper)
