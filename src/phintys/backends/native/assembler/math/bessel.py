"""Bessel functions of the first kind: by Hankel's expansion far out, and SciPy's elsewhere.

See :mod:`phintys.scalar.bessel` (H. Hankel, 1869; DLMF 10.17.3).
"""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.calls import float_math
from phintys.backends.native.assembler.math.exact import polynomial
from phintys.backends.native.assembler.math.floating import fabs
from phintys.backends.native.assembler.math.lanewise import computed_where, redo_lanes
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value
from phintys.scalar.bessel import FAR, HANKEL


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
