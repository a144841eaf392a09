"""The logarithm of the gamma function: of numbers that are not negative, in NumPy alone.

Priors with constant parameters have such constants. To import SciPy's special functions for them
takes longer than all else that is done for a small model.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole

__all__ = ["log_gamma"]

Vector = np.ndarray[Any, np.dtype[np.float64]]

_ONE_LESS_EULER = 0.42278433509846713
# (zeta(k) - 1) / k for k from 2 on: the expansion of log(gamma(2 + w)) (DLMF 5.7.3).
_NEAR = (
    0.3224670334241132,
    0.0673523010531981,
    0.020580808427784546,
    0.007385551028673986,
    0.0028905103307415234,
    0.001192753911703261,
    0.0005096695247430425,
    0.00022315475845357939,
    9.945751278180853e-05,
    4.492623673813314e-05,
    2.050721277567069e-05,
    9.439488275268397e-06,
    4.374866789907488e-06,
    2.039215753801366e-06,
    9.55141213040742e-07,
    4.492469198764566e-07,
    2.1207184805554665e-07,
    1.0043224823968099e-07,
    4.7698101693639804e-08,
    2.2711094608943164e-08,
    1.0838659214896955e-08,
    5.183475041970047e-09,
    2.4836745438024785e-09,
    1.1921401405860912e-09,
    5.731367241678862e-10,
    2.7595228851242334e-10,
    1.330476437424449e-10,
)
# B(2 k) / (2 k (2 k - 1)): Stirling's series (DLMF 5.11.1).
_STIRLING = (
    *(1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188),
    *(-691 / 360360, 1 / 156, -3617 / 122400),
)
_LOG_ROOT_TWO_PI = math.log(2 * math.pi) / 2
_FAR = 10.0
_TINY = 1e-300  # -log|x| up to here


def log_gamma(x: Any) -> Any:
    """Return log|gamma(x)| of an array of float32 or float64.

    Negative numbers are left to SciPy.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar.log_gamma import log_gamma
    >>> log_gamma(np.array([0.5, 1.0, 2.0, 5.0]))
    array([0.57236494, 0.        , 0.        , 3.17805383])
    """
    x = np.asarray(x)
    wide = x.astype(np.float64)
    wide = np.where(np.abs(wide) < _TINY, np.abs(wide), wide)
    others = wide < 0
    with np.errstate(over="ignore", divide="ignore"):
        found = _of_positive(np.where(others, 1.0, wide))
    if others.any():
        found[others] = import_whole("scipy.special").gammaln(wide[others])
    return found.astype(x.dtype)[()]


def _of_positive(x: Vector) -> Vector:
    is_far = x >= _FAR
    return np.where(is_far, _by_stirling(np.maximum(x, _FAR)), _near(np.where(is_far, 2.0, x)))


def _by_stirling(x: Vector) -> Vector:
    inverse = 1 / x
    series = _polynomial(inverse * inverse, _STIRLING) * inverse
    return (x - 0.5) * (np.log(x) - 1) + (series + (_LOG_ROOT_TWO_PI - 0.5))


def _near(x: Vector) -> Vector:
    """Return log(gamma(x)) of 0 < x < 10, by that of 2 + w with |w| <= 1/2."""
    down = np.ones_like(x)  # gamma(x) = (x - 1) gamma(x - 1)
    while (steps := x > 2.5).any():
        x = np.where(steps, x - 1, x)
        down = np.where(steps, down * x, down)
    is_small, is_low = x < 0.5, x < 1.5
    w = np.where(is_small, x, np.where(is_low, x - 1, x - 2))
    result = w * (_ONE_LESS_EULER + w * _polynomial(-w, _NEAR)) + np.log(down)
    result = np.where(is_low, result - np.log1p(w), result)  # gamma(x) = gamma(x + 1) / x
    return np.where(is_small, result - np.log(np.where(is_small, x, 1.0)), result)


def _polynomial(t: Vector, coefficients: tuple[float, ...]) -> Vector:
    found = np.full_like(t, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        found = found * t + coefficient
    return found
