"""Gamma and beta functions and their densities, where exp of JAX's logarithms loses digits.

Parameters of less than :data:`_LARGE` are moved above it by the recurrence, where Stirling's series
(DLMF 5.11.1) has all digits of float64. Logarithms of quotients are those of DiDonato and Morris,
Algorithm 708 (1992), densities those of Loader (2000): large terms cancel on paper.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys.backends.jax.arrays import jnp, jsp

_LARGE = 10
_GAMMA_OF_LARGE = 362880.0
_OVERFLOWS = 200.0
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_HALF_LOG_2_PI = float(np.log(2 * np.pi) / 2)
_MOST_OF_PRODUCT = 100.0


def _wide(*values: Any) -> tuple[list[Any], Any]:
    """Return float64 values of one shape, and the dtype of the result."""
    dtype = np.result_type(*(value.dtype for value in values))
    return jnp.broadcast_arrays(*(value.astype("float64") for value in values)), dtype


def _remainder(p: Any) -> Any:
    """Return log(gamma(p)) less Stirling's formula, of large numbers."""
    inverse = 1 / p
    square, series = inverse * inverse, jnp.zeros_like(p)
    for factor in reversed(_STIRLING):
        series = series * square + factor
    return series * inverse


def gamma(x: Any) -> Any:
    """Return gamma(x)."""
    if x.dtype.kind == "c":
        return jsp.gamma(x)
    (x,), dtype = _wide(x)
    is_below = x < 0.5
    p = jnp.where(is_below, 1 - x, x)
    product = jnp.ones_like(p)
    for _ in range(_LARGE):
        is_small = p < _LARGE
        product = jnp.where(is_small, product * p, product)
        p = jnp.where(is_small, p + 1, p)
    p = jnp.minimum(p, _OVERFLOWS)
    root = jnp.power(p, p / 2 - 0.25)  # its square may overflow before the exponential is small
    found = root * (jnp.exp(_HALF_LOG_2_PI + _remainder(p) - p) * root)
    found = jnp.where(p == _LARGE, _GAMMA_OF_LARGE, found) / product
    # gamma(x) gamma(1 - x) = pi / sin(pi x)
    whole = jnp.round(x)
    sine = jnp.sin(np.pi * (x - whole)) * jnp.where(whole % 2 == 0, 1.0, -1.0)
    reflected = np.pi / (sine * found)
    reflected = jnp.where(x == 0, 1 / x, jnp.where(x == whole, jnp.nan, reflected))
    return jnp.where(is_below, reflected, found).astype(dtype)


def factorial(n: Any) -> Any:
    """Return gamma(n + 1); 0 of negative numbers."""
    return jnp.where(n < 0, 0, gamma(n + 1)).astype(n.dtype)


def _log_beta_parts(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a logarithm and a factor: the beta function of positive numbers is exp(log) factor."""
    factor = jnp.ones_like(a)
    for _ in range(_LARGE):
        # B(a, b) = B(a + 1, b) (a + b) / a
        is_small = a < _LARGE
        factor = jnp.where(is_small, factor * ((a + b) / a), factor)
        a = jnp.where(is_small, a + 1, a)
        is_small = b < _LARGE
        factor = jnp.where(is_small, factor * ((a + b) / b), factor)
        b = jnp.where(is_small, b + 1, b)
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    share = small / large
    powers = (small - 0.5) * jnp.log(share / (1 + share)) - large * jnp.log1p(share)
    rest = _remainder(small) + _remainder(large) - _remainder(small + large)
    return powers + rest + _HALF_LOG_2_PI - 0.5 * jnp.log(large), factor


def _are_usual(a: Any, b: Any) -> Any:
    return (a > 0) & (b > 0) & (a < jnp.inf) & (b < jnp.inf)


def betaln(x: Any, y: Any) -> Any:
    """Return log(abs(beta(x, y)))."""
    (x, y), dtype = _wide(x, y)
    is_usual = _are_usual(x, y)
    logarithm, factor = _log_beta_parts(jnp.where(is_usual, x, 1), jnp.where(is_usual, y, 1))
    return jnp.where(is_usual, logarithm + jnp.log(factor), jsp.betaln(x, y)).astype(dtype)


def beta(x: Any, y: Any) -> Any:
    """Return gamma(x) gamma(y) / gamma(x + y)."""
    (x, y), dtype = _wide(x, y)
    is_usual = _are_usual(x, y)
    logarithm, factor = _log_beta_parts(jnp.where(is_usual, x, 1), jnp.where(is_usual, y, 1))
    return jnp.where(is_usual, jnp.exp(logarithm) * factor, jsp.beta(x, y)).astype(dtype)


def poch(z: Any, m: Any) -> Any:
    """Return gamma(z + m) / gamma(z)."""
    (z, m), dtype = _wide(z, m)
    is_usual = (z > 0) & (m > 0) & (z < jnp.inf) & (m < _MOST_OF_PRODUCT)
    first, part = jnp.where(is_usual, z, 1), jnp.where(is_usual, m, 1)
    return jnp.where(is_usual, gamma(part) / beta(first, part), jsp.poch(z, m)).astype(dtype)


def gamma_density(a: Any, x: Any) -> Any:
    """Return x**(a - 1) exp(-x) / gamma(a)."""
    (a, x), dtype = _wide(a, x)
    is_large = (a >= _LARGE) & (x > 0) & (x < jnp.inf)
    shape, place = jnp.where(is_large, a, _LARGE), jnp.where(is_large, x, _LARGE)
    change = (place - shape) / shape
    exponent = (shape - 1) * jnp.log1p(change) - shape * change - _remainder(shape)
    large = jnp.exp(exponent - _HALF_LOG_2_PI) / jnp.sqrt(shape)
    small = jnp.exp(jsp.xlogy(a - 1, x) - x - jsp.gammaln(a))
    inside = jnp.where(is_large, large, small)
    return jnp.where((a < 0) | (x < 0), jnp.nan, jnp.where(x == jnp.inf, 0, inside)).astype(dtype)


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """Return x**(a - 1) (1 - x)**(b - 1) / beta(a, b)."""
    (a, b, x), dtype = _wide(a, b, x)
    is_inside = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    are_large = (a >= _LARGE) & (b >= _LARGE) & (a < jnp.inf) & (b < jnp.inf) & (x > 0) & (x < 1)
    one, other = jnp.where(are_large, a, _LARGE), jnp.where(are_large, b, _LARGE)
    place, whole = jnp.where(are_large, x, 0.5), one + other
    change = other * place - one * (1 - place)
    exponent = (one - 1) * jnp.log1p(change / one) + (other - 1) * jnp.log1p(-change / other)
    exponent += _remainder(whole) - _remainder(one) - _remainder(other) - _HALF_LOG_2_PI
    large = jnp.exp(exponent) * whole * jnp.sqrt(whole / one / other)
    small = jsp.xlogy(a - 1, x) + jsp.xlog1py(b - 1, -x) - betaln(a, b)
    found = jnp.where(are_large, large, jnp.exp(small))
    return jnp.where(is_inside, found, jnp.nan).astype(dtype)
