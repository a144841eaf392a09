"""Exponential integrals: SciPy's (S. Zhang and J. Jin, 1996), but for those that it overflows in.

Those have the asymptotic series of DLMF 6.12.2.
"""

from __future__ import annotations

import math

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.math.calls import float_math
from phintys.backends.native.assembler.math.exact import polynomial
from phintys.backends.native.assembler.math.lanewise import computed_where, redo_lanes
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.values import Value
from phintys.scalar.exponential_integrals import EXPI_FROM, EXPI_SERIES, LIFT


@float_function("expi")
def expi(b: Builder, x: Value) -> Value:
    """The principal value of the integral of exp(t) / t from -inf to x."""
    if x.type.name == "float32":
        return b.convert(expi(b, b.convert(x, x.type.like("float64"))), x.type)
    is_far = (x > EXPI_FROM) & (x < math.inf)

    def far() -> Value:
        place = b.select(is_far, x, EXPI_FROM)
        inverse = b.div(1.0, place)
        series = inverse * polynomial(b, inverse, EXPI_SERIES)
        return float_math(b, "exp", place - LIFT) * series * math.exp(LIFT)

    found = computed_where(b, is_far, far)
    return redo_lanes(b, found, ~is_far, "phintys_scipy_expi_float64", [x])
