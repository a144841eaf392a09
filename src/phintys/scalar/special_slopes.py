"""Parts of derivatives of special functions, in forms that do not cancel.

Where there is no formula, there is a polynomial: the derivative times a power of the argument tends
to a constant, and ``benchmarks/minimax.py`` fits that product. Large arguments are mapped to an
interval by ``(x - k) / (x + k)`` (Shepherd and Laframboise, "Chebyshev approximation of
(1 + 2x) exp(x**2) erfc x in 0 <= x < infinity", 1981). The derivatives of these expressions have
their digits too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.arithmetic import abs, sqr
from phintys.scalar.comparison import gt, lt
from phintys.scalar.exponential import log1p, sqrt
from phintys.scalar.logic import and_
from phintys.scalar.row import dtype_of
from phintys.scalar.selection import maximum, minimum, switch
from phintys.scalar.slope_coefficients import (
    BESSEL,
    BESSEL_NEAR,
    BESSEL_TAIL,
    DAWSN,
    DAWSN_TAIL,
    ERFCX,
    I1E_MIDDLE,
    I1E_NEAR,
    Coefficients,
)

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
    np.float64(0.005559312219)
    """
    inverse = 1 / (1 + x)
    return _polynomial(ERFCX, dtype_of(x), 1 - 8 / (x + 4)) * inverse * inverse


I1E_SLOPE_TO = 8.0
"""The largest argument of :func:`slope_of_i1e`."""

_I1E_NEAR = 2.0


def slope_of_i1e(x: Any) -> Any:
    """Return the derivative of i1e for x from 0 to 8.

    Examples
    --------
    >>> from phintys.scalar import float64
    >>> from phintys.scalar.special_slopes import slope_of_i1e
    >>> x = float64("x")
    >>> round(slope_of_i1e(x).eval({x: 0.0}), 12)
    np.float64(0.5)
    """
    near = _polynomial(I1E_NEAR, dtype_of(x), minimum(x, _I1E_NEAR) - 1)
    middle = maximum(x, _I1E_NEAR)
    middle = _polynomial(I1E_MIDDLE, dtype_of(x), (middle - 4) / (middle + 4))
    return switch(lt(x, _I1E_NEAR), near, middle)


DAWSN_FROM, DAWSN_TO = 1.5, 10.0
"""The ends of :func:`minus_slope_of_dawsn`."""

_DAWSN_MIDDLE = 4.0


def minus_slope_of_dawsn(x: Any) -> Any:
    """Return ``2 x dawsn(x) - 1`` for x from 1.5 to 10.

    Examples
    --------
    >>> from phintys.scalar import float64
    >>> from phintys.scalar.special_slopes import minus_slope_of_dawsn
    >>> x = float64("x")
    >>> round(minus_slope_of_dawsn(x).eval({x: 5.0}), 12)
    np.float64(0.021340744243)
    """
    near, far = minimum(x, _DAWSN_MIDDLE), maximum(x, _DAWSN_MIDDLE)
    near = _polynomial(DAWSN, dtype_of(x), (near - 2.75) * 0.8)
    far = _polynomial(DAWSN_TAIL, dtype_of(x), 40 / (3 * far) - 7 / 3) / sqr(far)
    return switch(lt(x, _DAWSN_MIDDLE), near, far)


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
    return _polynomial(BESSEL_NEAR, dtype, x - _NEAR / 2)


def _difference(dtype: np.dtype[Any], x: Any, root: Any) -> Any:
    return _polynomial(BESSEL, dtype, (x - 4) / (x + 4)) / ((1 + x) * root)


def _difference_far(dtype: np.dtype[Any], x: Any, root: Any) -> Any:
    return _polynomial(BESSEL_TAIL, dtype, 16 / x - 1) / x / root


_SHIFTS = 12
_SCALE = 2.0**-64
# B(2 k) / (2 k): the asymptotic series of digamma (DLMF 5.11.2).
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def difference_of_digammas(a: Any, b: Any, digamma: Any) -> Any:
    """Return ``digamma(a + b) - digamma(a)`` as an expression, given digamma."""
    is_usual = and_(gt(a, 0), gt(a + b, 0))
    inner, step = switch(is_usual, a, 1), switch(is_usual, b, 1)
    others = digamma(switch(is_usual, 1, a + b)) - digamma(switch(is_usual, 1, a))
    return switch(is_usual, _difference_of_positive(inner, step, log1p), others)


def digamma_difference(a: Any, b: Any) -> Any:
    """Return the numbers of :func:`difference_of_digammas`, of arrays of float32 or float64.

    Examples
    --------
    >>> import numpy as np
    >>> digamma_difference(np.array([1.0, 1e5]), np.array([1.0, 1e-9])).round(20)
    array([1.000000e+00, 1.000005e-14])
    """
    digamma = import_whole("scipy.special").psi
    with np.errstate(all="ignore"):
        is_usual = (a > 0) & (a + b > 0)
        one = np.result_type(a, b).type(1)
        usual = _difference_of_positive(
            np.where(is_usual, a, one), np.where(is_usual, b, one), np.log1p
        )
        return np.where(is_usual, usual, digamma(a + b) - digamma(a))


def _difference_of_positive(a: Any, b: Any, log1p: Any) -> Any:
    """Return ``digamma(a + b) - digamma(a)`` of positive a and a + b, term by term.

    Both are moved up by the recurrence (DLMF 5.5.2), and differences of powers of their inverses u
    and v are multiples of ``u - v = b u v``.
    """
    # The product of a and b may overflow; the power of 2 is exact.
    total: Any = 0.0
    for n in range(1, _SHIFTS):
        total = total + 1 / ((a + n) * ((a + b) * _SCALE + n * _SCALE))
    u, v = 1 / (a + _SHIFTS), 1 / ((a + b) + _SHIFTS)
    p, q = u * u, v * v
    series: Any = 0.0
    sums: Any = 1.0  # of p**i q**j for i + j = n
    power: Any = 1.0
    for number in _DIGAMMA:
        series = series + number * sums
        power = power * q
        sums = sums * p + power
    first = b / (a + b) / a  # the product of both may underflow
    return first + b * (total * _SCALE + u * v * (0.5 + (u + v) * series)) + log1p(b * u)


def _polynomial(coefficients: Coefficients, dtype: np.dtype[Any], x: Any) -> Any:
    numbers = coefficients["float64" if dtype == np.float64 else "float32"]
    total: Any = numbers[-1]
    for number in reversed(numbers[:-1]):
        total = number + x * total
    return total
