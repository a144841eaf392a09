"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.scalar.arithmetic import abs, hypot, sqr
from phintys.scalar.cancelling import cancelled_product, product
from phintys.scalar.comparison import eq, gt, lt
from phintys.scalar.exponential import sqrt
from phintys.scalar.row import as_continuous, dtype_of
from phintys.scalar.row_kinds import FloatRow, UfuncRow
from phintys.scalar.selection import switch

if TYPE_CHECKING:
    from collections.abc import Callable

sin = UfuncRow(
    "sin",
    np.sin,
    doc="Sine.",
    derivative=lambda x, out: (cos(x),),
    cost=15,
    slope_at_zero=1,
)

cos = UfuncRow("cos", np.cos, doc="Cosine.", derivative=lambda x, out: (-sin(x),), cost=15)

tan = UfuncRow(
    "tan",
    np.tan,
    doc="Tangent.",
    derivative=lambda x, out: (1 + sqr(out),),
    cost=25,
    slope_at_zero=1,
)


def _one_less_square(x: Any) -> Any:
    """Return ``1 - x**2``, whose digits and derivatives are exact near 0 and near 1."""
    return switch(lt(abs(x), 0.5), 1 - sqr(x), (1 - x) * (1 + x))


def _root_of_one_and_square(x: Any) -> Any:
    """Return ``sqrt(1 + x**2)``; of real numbers without overflow."""
    return sqrt(1 + sqr(x)) if dtype_of(x).kind == "c" else hypot(1, x)


def _slope_of_arccos(x: Any) -> Any:
    return -1 / sqrt(_one_less_square(x))


# Two roots, not the root of a product, which would be real below -1 and, for complex numbers, have
# a different branch cut than arccosh.
def _slope_of_arccosh(x: Any) -> Any:
    return 1 / (sqrt(x - 1) * sqrt(x + 1))


def _steep_beside_zero(slope: Callable[[Any], Any], limit: float) -> dict[str, Any]:
    """Return both rules of a function f that is 0 at 1, where its slope is infinite.

    There the product of both, half of the slope of the square of f, has a limit. It is used where
    a factor f cancels, and in forward mode always: only a later factor could be f.
    """

    def half_slope_of_square(x: Any, out: Any) -> Any:
        return switch(eq(x, 1), limit, out * slope(x))

    def pull(x: Any, out: Any, g: Any) -> tuple[Any] | None:
        above = cancelled_product(1 / out, g)
        return None if above is None else (above * half_slope_of_square(x, out),)

    def push(x: Any, out: Any, v: Any) -> Any:
        return (
            slope(x) * v[0]
            if dtype_of(x).kind == "c"
            else (product(half_slope_of_square(x, out) / out, v[0]))
        )

    return {"pullback": pull, "pushforward": push}


arcsin = UfuncRow(
    "arcsin",
    np.arcsin,
    doc="Inverse sine, in [-pi/2, pi/2].",
    domain="-1 <= x <= 1",
    derivative=lambda x, out: (1 / sqrt(_one_less_square(x)),),
    cost=25,
    slope_at_zero=1,
)

arccos = UfuncRow(
    "arccos",
    np.arccos,
    doc="Inverse cosine, in [0, pi].",
    domain="-1 <= x <= 1",
    derivative=lambda x, out: (_slope_of_arccos(x),),
    **_steep_beside_zero(_slope_of_arccos, -1),
    cost=25,
)


def _slope_of_arctan(x: Any) -> Any:
    """Return ``1 / (1 + x**2)``; far out, where the 1 makes no difference, without the square."""
    if dtype_of(x).kind == "c":
        return 1 / (1 + sqr(x))
    is_far = gt(abs(x), 1e9)
    inverse = 1 / switch(is_far, x, 1 + sqr(switch(is_far, 0, x)))
    return switch(is_far, sqr(inverse), inverse)


arctan = UfuncRow(
    "arctan",
    np.arctan,
    doc="Inverse tangent, in [-pi/2, pi/2].",
    example="[0.0, 1.0]",
    derivative=lambda x, out: (_slope_of_arctan(x),),
    cost=20,
    slope_at_zero=1,
)


def _partials_of_arctan2(y: Any, x: Any, out: Any) -> tuple[Any, Any]:
    distance = hypot(x, y)  # its square overflows or underflows where the partials do not
    return x / distance / distance, -y / distance / distance


def _slopes_of_arctan2_slope(x: Any, y: Any, g: Any, out: Any) -> tuple[Any, Any, Any]:
    distance = hypot(x, y)
    is_far = eq(distance, np.inf)
    along, across = (switch(is_far, 0, one) / distance for one in (x, y))
    # The fourth power of the distance overflows or underflows where these quotients do not.
    by_x = (across - along) * (across + along) * g / distance / distance
    return by_x, -2 * (along * across * g / distance / distance), along / distance


def _arctan2_slope(x: Any, y: Any, g: Any) -> Any:
    with np.errstate(all="ignore"):
        distance = np.hypot(x, y)
        return x / distance * g / distance


arctan2_slope = FloatRow(
    "arctan2_slope",
    _arctan2_slope,
    doc="x / hypot(x, y)**2 * g, with derivatives that do not overflow early.",
    source=(
        "Scaled as by J. L. Blue, A portable Fortran program to find the Euclidean norm of a "
        "vector, ACM Trans. Math. Softw. 4, 1978."
    ),
    parameters=("x", "y", "g"),
    example="3.0, 4.0, 1.0",
    nin=3,
    intervals=((0.1, 5.0), (-5.0, -0.1), (-5.0, 5.0)),
    expansion=lambda x, y, g: x / hypot(x, y) * g / hypot(x, y),
    derivative=_slopes_of_arctan2_slope,
    cost=25,
    special=False,
)


def _pull_arctan2(y: Any, x: Any, out: Any, g: Any) -> tuple[Any, Any]:
    """x / distance * g / distance, -(y / distance * g / distance)

    A partial underflows where the logarithm of a small angle makes up for it by a large g.
    """
    y, x = as_continuous(y, out), as_continuous(x, out)
    return arctan2_slope(x, y, g), -arctan2_slope(y, x, g)


arctan2 = UfuncRow(
    "arctan2",
    np.arctan2,
    doc="Angle of the point with ordinate x1 and abscissa x2, in [-pi, pi].",
    example="[1.0, -1.0], [0.0, 1.0]",
    hint="For a complex z, angle(z) is arctan2(imag(z), real(z)).",
    derivative=_partials_of_arctan2,
    pullback=_pull_arctan2,
    cost=30,
)

sinh = UfuncRow(
    "sinh",
    np.sinh,
    doc="Hyperbolic sine.",
    derivative=lambda x, out: (cosh(x),),
    cost=20,
    infinite_slope=True,
    slope_at_zero=1,
)

cosh = UfuncRow(
    "cosh",
    np.cosh,
    doc="Hyperbolic cosine.",
    derivative=lambda x, out: (sinh(x),),
    cost=20,
    infinite_slope=True,
)

tanh = UfuncRow(
    "tanh",
    np.tanh,
    doc="Hyperbolic tangent.",
    derivative=lambda x, out: (1 - sqr(out),),
    cost=20,
    slope_at_zero=1,
)

arcsinh = UfuncRow(
    "arcsinh",
    np.arcsinh,
    doc="Inverse hyperbolic sine.",
    derivative=lambda x, out: (1 / _root_of_one_and_square(x),),
    cost=30,
    slope_at_zero=1,
)

arccosh = UfuncRow(
    "arccosh",
    np.arccosh,
    doc="Inverse hyperbolic cosine, not negative.",
    domain="x >= 1",
    example="[1.0, 2.0]",
    derivative=lambda x, out: (_slope_of_arccosh(x),),
    **_steep_beside_zero(_slope_of_arccosh, 1),
    cost=30,
)

arctanh = UfuncRow(
    "arctanh",
    np.arctanh,
    doc="Inverse hyperbolic tangent.",
    domain="-1 < x < 1",
    example="[0.0, 0.5]",
    derivative=lambda x, out: (1 / _one_less_square(x),),
    cost=30,
    slope_at_zero=1,
)

deg2rad = UfuncRow(
    "deg2rad",
    np.deg2rad,
    doc="x degrees in radians.",
    example="[90.0, 180.0]",
    derivative=lambda x, out: (math.pi / 180,),
    cost=1,
    slope_at_zero=math.pi / 180,
)

rad2deg = UfuncRow(
    "rad2deg",
    np.rad2deg,
    doc="x radians in degrees.",
    derivative=lambda x, out: (180 / math.pi,),
    cost=1,
    slope_at_zero=180 / math.pi,
)
