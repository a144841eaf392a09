"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phintys.scalar.arithmetic import sqr
from phintys.scalar.exponential import sqrt
from phintys.scalar.row_kinds import UfuncRow

__all__ = [
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "cos",
    "cosh",
    "deg2rad",
    "rad2deg",
    "sin",
    "sinh",
    "tan",
    "tanh",
]

sin = UfuncRow("sin", np.sin, derivative=lambda x, out: (cos(x),), cost=15)
"""Sine."""

cos = UfuncRow("cos", np.cos, derivative=lambda x, out: (-sin(x),), cost=15)
"""Cosine."""

tan = UfuncRow("tan", np.tan, derivative=lambda x, out: (1 + sqr(out),), cost=25)
"""Tangent."""

# (1 - x) (1 + x) keeps the digits that 1 - x * x loses near 1.
arcsin = UfuncRow(
    "arcsin", np.arcsin, derivative=lambda x, out: (1 / sqrt((1 - x) * (1 + x)),), cost=25
)
"""Inverse sine, in [-pi/2, pi/2]."""

arccos = UfuncRow(
    "arccos", np.arccos, derivative=lambda x, out: (-1 / sqrt((1 - x) * (1 + x)),), cost=25
)
"""Inverse cosine, in [0, pi]."""

arctan = UfuncRow("arctan", np.arctan, derivative=lambda x, out: (1 / (1 + sqr(x)),), cost=20)
"""Inverse tangent, in [-pi/2, pi/2]."""


def _partials_of_arctan2(y: Any, x: Any, out: Any) -> tuple[Any, Any]:
    square = sqr(x) + sqr(y)
    return x / square, -y / square


arctan2 = UfuncRow(
    "arctan2",
    np.arctan2,
    hint="For a complex z, angle(z) is arctan2(imag(z), real(z)).",
    derivative=_partials_of_arctan2,
    cost=30,
)
"""Angle of the point with abscissa x (the second input) and ordinate y, in [-pi, pi]."""

sinh = UfuncRow("sinh", np.sinh, derivative=lambda x, out: (cosh(x),), cost=20)
"""Hyperbolic sine."""

cosh = UfuncRow("cosh", np.cosh, derivative=lambda x, out: (sinh(x),), cost=20)
"""Hyperbolic cosine."""

tanh = UfuncRow("tanh", np.tanh, derivative=lambda x, out: (1 - sqr(out),), cost=20)
"""Hyperbolic tangent."""

arcsinh = UfuncRow(
    "arcsinh", np.arcsinh, derivative=lambda x, out: (1 / sqrt(1 + sqr(x)),), cost=30
)
"""Inverse hyperbolic sine."""

# Two roots, not the root of a product: that would be real below -1 and, for complex numbers, have
# another branch cut than arccosh.
arccosh = UfuncRow(
    "arccosh",
    np.arccosh,
    derivative=lambda x, out: (1 / (sqrt(x - 1) * sqrt(x + 1)),),
    cost=30,
)
"""Inverse hyperbolic cosine, not negative."""

arctanh = UfuncRow(
    "arctanh", np.arctanh, derivative=lambda x, out: (1 / ((1 - x) * (1 + x)),), cost=30
)
"""Inverse hyperbolic tangent."""

deg2rad = UfuncRow("deg2rad", np.deg2rad, derivative=lambda x, out: (math.pi / 180,), cost=1)
"""x degrees in radians."""

rad2deg = UfuncRow("rad2deg", np.rad2deg, derivative=lambda x, out: (180 / math.pi,), cost=1)
"""x radians in degrees."""
