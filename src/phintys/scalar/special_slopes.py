"""Derivatives of special functions that have no formula without cancellation, by polynomials.

They multiply the derivative by a power of the argument, so that what is left tends to a constant,
and give the rest as a polynomial, which ``benchmarks/minimax.py`` fits. Large arguments are mapped
to an interval by ``(x - k) / (x + k)`` (Shepherd and Laframboise, "Chebyshev approximation of
(1 + 2x) exp(x**2) erfc x in 0 <= x < infinity", 1981). The derivatives of these expressions have
their digits too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys.scalar.arithmetic import abs
from phintys.scalar.comparison import lt
from phintys.scalar.exponential import sqrt
from phintys.scalar.row import dtype_of
from phintys.scalar.selection import maximum, minimum, switch
from phintys.scalar.slope_coefficients import (
    BESSEL,
    BESSEL_NEAR,
    BESSEL_TAIL,
    ERFCX,
    Coefficients,
)

__all__ = [
    "ERFCX_FROM",
    "bessel_difference",
    "i0e_less_i1e",
    "minus_slope_of_erfcx",
]

ERFCX_FROM = 0.5
"""The least argument of :func:`minus_slope_of_erfcx`."""

_NEAR, _FAR = 1.5, 8.0  # where the polynomials of the Bessel functions meet


def minus_slope_of_erfcx(x: Any) -> Any:
    """Return ``2 / sqrt(pi) - 2 x erfcx(x)``, the negative derivative of erfcx, for x >= 1/2.

    Examples
    --------
    >>> from phintys.scalar import float64
    >>> from phintys.scalar.special_slopes import minus_slope_of_erfcx
    >>> x = float64("x")
    >>> round(minus_slope_of_erfcx(x).eval({x: 10.0}), 12)
    np.float64(0.005560139837)
    """
    inverse = 1 / (1 + x)
    return _polynomial(ERFCX, dtype_of(x), 1 - 8 / (x + 4)) * inverse * inverse


def bessel_difference(x: Any) -> Any:
    """Return ``i0e(x) - abs(i1e(x))`` as an expression."""
    x = abs(x)
    near = _difference_near(dtype_of(x), minimum(x, _NEAR))
    middle, far = minimum(maximum(x, _NEAR), _FAR), maximum(x, _FAR)
    middle = _difference(dtype_of(x), middle, sqrt(1 + middle))
    far = _difference_far(dtype_of(x), far, sqrt(far))
    return switch(lt(x, _NEAR), near, switch(lt(x, _FAR), middle, far))


def i0e_less_i1e(x: Any) -> Any:
    """Return the numbers of :func:`bessel_difference`, of an array of float32 or float64.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import i0e, i1e
    >>> x = np.array([1.0, 5.0, 20.0])
    >>> bool(np.allclose(i0e_less_i1e(x), i0e(x) - i1e(x), rtol=1e-13))
    True
    """
    x = np.abs(x)
    dtype = x.dtype
    near = _difference_near(dtype, np.minimum(x, dtype.type(_NEAR)))
    middle, far = np.clip(x, dtype.type(_NEAR), dtype.type(_FAR)), np.maximum(x, dtype.type(_FAR))
    middle = _difference(dtype, middle, np.sqrt(1 + middle))
    far = _difference_far(dtype, far, np.sqrt(far))
    return np.where(x < _NEAR, near, np.where(x < _FAR, middle, far))


def _difference_near(dtype: np.dtype[Any], x: Any) -> Any:
    return _polynomial(BESSEL_NEAR, dtype, x)


def _difference(dtype: np.dtype[Any], x: Any, root: Any) -> Any:
    return _polynomial(BESSEL, dtype, (x - 4) / (x + 4)) / ((1 + x) * root)


def _difference_far(dtype: np.dtype[Any], x: Any, root: Any) -> Any:
    return _polynomial(BESSEL_TAIL, dtype, 16 / x - 1) / x / root


def _polynomial(coefficients: Coefficients, dtype: np.dtype[Any], x: Any) -> Any:
    numbers = coefficients["float64" if dtype == np.float64 else "float32"]
    total: Any = numbers[-1]
    for number in reversed(numbers[:-1]):
        total = number + x * total
    return total
