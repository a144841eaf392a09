"""Scalar functions that JAX does not have as the library defines them.

Logarithms of gamma and beta functions and of their densities lose digits in exp. Parameters of less
than :data:`_LARGE` are moved above it by the recurrence, where Stirling's series (DLMF 5.11.1) has
all digits of float64. Logarithms of quotients are those of DiDonato and Morris, Algorithm 708
(1992), densities those of Loader (2000): large terms cancel on paper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phintys.backends.jax.arrays import jnp, jsp, lax

_LN2 = float(np.log(2.0))
_SPLIT = 134217729.0
_MOST = 700.0
_MOST_BELOW = 0.9
_NEWTON_STEPS = 6


def whole_division(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a division that gives 0 for integers divided by 0, as NumPy's does."""

    def divide(x: Any, y: Any) -> Any:
        if x.dtype.kind in "iu":
            return jnp.where(y == 0, 0, function(x, jnp.where(y == 0, 1, y)))
        return function(x, y)

    return divide


def quotient(x: Any, y: Any) -> Any:
    """Return x / y of the rounded x.

    XLA would compute a quotient x = a / b once more, as a / (b y): that may overflow, and a is kept
    in memory for longer.
    """
    return jnp.true_divide(lax.optimization_barrier(x), y)


def comparison(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a comparison that is false of complex numbers with NaN in any part, as in NumPy."""

    def compare(x: Any, y: Any) -> Any:
        found = function(x, y)
        are_complex = "c" in (x.dtype.kind, y.dtype.kind)
        return found & ~jnp.isnan(x) & ~jnp.isnan(y) if are_complex else found

    return compare


def extreme(
    function: Callable[[Any, Any], Any], is_chosen: Callable[[Any, Any], Any], *, keeps_nan: bool
) -> Callable[[Any, Any], Any]:
    """Return a choice of two numbers, of which complex ones are compared by their parts."""

    def choose(x: Any, y: Any) -> Any:
        if "c" not in (x.dtype.kind, y.dtype.kind):
            return function(x, y)
        is_first = comparison(is_chosen)(x, y)
        return jnp.where(is_first | jnp.isnan(x if keeps_nan else y), x, y)

    return choose


def log1mexp(x: Any) -> Any:
    """Return log(1 - exp(x)), in the form that is accurate for x (Maechler, 2012)."""
    return jnp.where(x > -_LN2, jnp.log(-jnp.expm1(x)), jnp.log1p(-jnp.exp(x)))


def round_half_away(x: Any) -> Any:
    """Round halves away from 0."""
    below_half = np.nextafter(np.asarray(0.5, x.dtype), np.asarray(0, x.dtype))
    return jnp.trunc(x + jnp.copysign(below_half, x))


def digamma(x: Any) -> Any:
    """The pole at 0 has a sign; JAX returns NaN there."""
    return jnp.where(x == 0, -jnp.copysign(jnp.inf, x), jsp.digamma(x))


def polygamma(n: Any, x: Any) -> Any:
    """Return a derivative of digamma, of a whole order."""
    whole = jnp.floor(n)
    return jnp.where(n == whole, jsp.polygamma(whole.astype("int64"), x), jnp.nan)


def zeta(x: Any, q: Any) -> Any:
    """Return Hurwitz's zeta function, of exponents from 1 on; JAX has poles below 1 as well."""
    return jnp.where(x < 1, jnp.nan, jsp.zeta(x, q))


def expn(n: Any, x: Any) -> Any:
    """Return the exponential integral of a whole order."""
    whole = jnp.floor(n)
    at_zero = jnp.where(n > 1, 1 / (n - 1), jnp.inf)
    found = jnp.where(x == 0, at_zero, jsp.expn(whole.astype("int64"), x))
    found = jnp.where(x == jnp.inf, 0, found)
    return jnp.where((n == whole) & (n >= 0), found, jnp.nan)


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """Return 1 - betainc(a, b, x); 1 - x would lose the digits of a small x."""
    below = jsp.betainc(a, b, x)
    return jnp.where(below < _MOST_BELOW, 1 - below, jsp.betainc(b, a, 1 - x))


def log_ndtr(x: Any) -> Any:
    """Return the logarithm of the normal distribution; above 0, JAX's loses digits."""
    above = jnp.log1p(-jsp.ndtr(-jnp.maximum(x, 0)))
    return jnp.where(x > 0, above, jsp.log_ndtr(x))


def ndtri_exp(y: Any) -> Any:
    """Return the x whose log_ndtr is y, by Newton's steps; near 0 by what 1 lacks."""
    dtype, y = y.dtype, y.astype("float64")
    near_one = -jsp.ndtri(-jnp.expm1(y))
    is_below = (y < -0.5) & (y > -jnp.inf)
    goal = jnp.where(is_below, y, -1)
    x = jnp.where(goal > -2, jsp.ndtri(jnp.exp(goal)), -jnp.sqrt(-2 * jnp.minimum(goal, -2)))
    for _ in range(_NEWTON_STEPS):
        scaled = jsp.erfcx(-x * np.sqrt(0.5))
        error = jnp.log(scaled / 2) - 0.5 * x * x - goal
        x = x - error * scaled * np.sqrt(np.pi / 2)
    found = jnp.where(y == -jnp.inf, -jnp.inf, near_one)
    return jnp.where(is_below, x, found).astype(dtype)


def second(first: Any, then: Any) -> Any:
    """Return the second argument in the shape of both."""
    return jnp.broadcast_to(then, jnp.broadcast_shapes(first.shape, then.shape))


def spacing(x: Any) -> Any:
    """Return the distance to the next number away from 0, with the sign that NumPy gives it."""
    distance = jnp.nextafter(x, jnp.copysign(jnp.asarray(jnp.inf, x.dtype), x)) - x
    return jnp.abs(distance) if x.dtype == np.float16 else distance


def erfcinv(x: Any) -> Any:
    """Return the inverse of erfc, in the form that is accurate for x."""
    return jnp.where(x > 0.5, jsp.erfinv(1 - x), -jsp.ndtri(x / 2) / np.sqrt(2).astype(x.dtype))


def _share_by(power: Callable[[Any], Any], unit: float) -> Callable[[Any, Any], Any]:
    def share(x: Any, y: Any) -> Any:
        (x, y), dtype = _wide(x, y)
        difference = x - y
        part = difference - x
        error = (x - (difference - part)) - (y + part)  # exact: Knuth, 1969
        error = unit * jnp.where(jnp.abs(error) < 1, error, 0)
        is_below = difference < 0
        small = power(-jnp.abs(difference)) * (1 + jnp.where(is_below, error, -error))
        found = jnp.where(is_below, small, 1) / (1 + small)
        found = jnp.where(jnp.isnan(difference), difference, found)
        return jnp.where((x == -jnp.inf) & (y == -jnp.inf), 0, found).astype(dtype)

    return share


exp_share = _share_by(jnp.exp, 1.0)
exp2_share = _share_by(jnp.exp2, _LN2)


def _halves(x: Any) -> tuple[Any, Any]:
    high = _SPLIT * x
    high = high - (high - x)
    return high, x - high


def exp_of_product(x: Any, y: Any) -> Any:
    """Return exp(x y) of the exact product (Dekker, 1971)."""
    (x, y), dtype = _wide(x, y)
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    is_known = (jnp.abs(product) < _MOST) & jnp.isfinite(error)
    return (jnp.exp(product) * (1 + jnp.where(is_known, error, 0))).astype(dtype)


def pow_less_one(x: Any, y: Any) -> Any:
    """Return x**(y - 1) of the exact difference."""
    (x, y), dtype = _wide(x, y)
    power = y - 1
    part = power - y
    change = ((y - (power - part)) - (1 + part)) * jnp.log(jnp.abs(x))
    scale = 1 + jnp.where(jnp.abs(change) < 1, change, 0)
    return (jnp.power(x, power) * scale).astype(dtype)


# ---- gamma and beta functions and their densities ------------------------------------------------


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
