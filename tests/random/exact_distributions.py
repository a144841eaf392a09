"""Densities and distribution functions in mpmath, of every distribution that has a closed form.

Each function takes parameters and a value as mpmath numbers, and returns the density, or the
probability of an integer, and the probabilities of numbers up to the value and above it. It may
leave one of these two out, where it is not the smaller one.
"""

from __future__ import annotations

import mpmath as mp

__all__ = ["DIGITS", "EXACT", "answers", "derivative"]

DIGITS = 60
"""Digits to compute with; a complement of a probability above 1e-40 keeps 20 of them."""


def answers(name, value, parameters):
    """Return the density, the probability up to a value, and that above it, as mpmath numbers."""
    density, below, above = EXACT[name](value, *parameters)
    if below is None:
        below = 1 - above
    if above is None:
        above = 1 - below
    return density, below, above


def derivative(name, question, numbers, steps, order=()):
    """Return a derivative of ``logp``, ``logcdf`` or ``logsf``, by central differences.

    Parameters
    ----------
    name, question
        The distribution, and what is asked.
    numbers
        The value and the parameters.
    steps
        How far each of them is moved. Differences of steps relative to 1e-20 have 40 digits.
    order
        The places, among the numbers, of those by which the answer is differentiated.
    """
    if not order:
        return _logarithm(question, *answers(name, *_value_and_parameters(numbers)))
    place, *rest = order
    up, down = ([*numbers] for _ in range(2))
    up[place] += steps[place]
    down[place] -= steps[place]
    change = derivative(name, question, up, steps, rest)
    change -= derivative(name, question, down, steps, rest)
    return change / (2 * steps[place])


def _value_and_parameters(numbers):
    value, *parameters = numbers
    return value, parameters


def _logarithm(question, density, below, above):
    if question == "logp":
        return mp.log(density)
    p, rest = (below, above) if question == "logcdf" else (above, below)
    return mp.log(p) if p < 0.5 else mp.log1p(-rest)


def ndtr(z):
    return mp.erfc(-z / mp.sqrt(2)) / 2


def npdf(z):
    return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


def _gamma_tails(shape, x):
    if x > shape:
        return None, mp.gammainc(shape, x, mp.inf, regularized=True)
    return mp.gammainc(shape, 0, x, regularized=True), None


def _gamma(x, shape, scale):
    z = x / scale
    density = mp.exp((shape - 1) * mp.log(z) - z - mp.loggamma(shape)) / scale
    return (density, *_gamma_tails(shape, z))


def _power_of_gamma(x, shape, scale, power):
    """Of ``scale * g ** (1 / power)``."""
    z = x / scale
    g = z**power
    density = abs(power) * mp.exp(shape * mp.log(g) - g - mp.loggamma(shape)) / x
    below, above = _gamma_tails(shape, g)
    return (density, below, above) if power > 0 else (density, above, below)


def beta_tails(a, b, x, rest):
    """Return the probabilities of a beta number up to x and above it; ``rest`` is ``1 - x``."""
    if x * (a + b) > a:
        below = None
        above = _beta_below(b, a, rest, x)
    else:
        below = _beta_below(a, b, x, rest)
        above = None
    return below, above


def _beta_below(a, b, x, rest):
    """By the hypergeometric series (DLMF 8.17.8), whose terms are positive."""
    logarithm = a * mp.log(x) + b * mp.log(rest) - mp.log(a) - _betaln(a, b)
    term = total = mp.mpf(1)
    n = 0
    while term > total * mp.mpf(10) ** -(DIGITS - 10):
        term *= (a + b + n) / (a + 1 + n) * x
        total += term
        n += 1
    return mp.exp(logarithm) * total


def _betaln(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def _beta(x, a, b):
    density = mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - _betaln(a, b))
    return (density, *beta_tails(a, b, x, 1 - x))


def _f(x, dfnum, dfden):
    a, b = dfnum / 2, dfden / 2
    total = dfnum * x + dfden
    share, rest = dfnum * x / total, dfden / total
    density = mp.exp(a * mp.log(share) + b * mp.log(rest) - _betaln(a, b)) / x
    return (density, *beta_tails(a, b, share, rest))


def _t(x, df, loc, scale):
    z = (x - loc) / scale
    half_density, below, above = _half_t(abs(z), df, mp.mpf(1))
    tail = (1 - below if above is None else above) / 2
    density = half_density / 2 / scale
    return (density, tail, None) if z < 0 else (density, None, tail)


def _half_t(x, df, scale):
    z = x / scale
    log_density = (
        -(df + 1) / 2 * mp.log1p(z * z / df) - mp.log(df) / 2 - _betaln(df / 2, mp.mpf(1) / 2)
    )
    density = 2 * mp.exp(log_density) / scale
    if z == 0:
        return density, mp.mpf(0), mp.mpf(1)
    total = df + z * z
    return (density, *beta_tails(mp.mpf(1) / 2, df / 2, z * z / total, df / total))


def _of_standard(function):
    """Return the functions of ``loc + scale * z`` for those of z."""

    def shifted(x, loc, scale):
        density, below, above = function((x - loc) / scale)
        return density / scale, below, above

    return shifted


def _normal(z):
    return npdf(z), ndtr(z), ndtr(-z)


def _laplace(z):
    tail = mp.exp(-abs(z)) / 2
    return (tail, tail, None) if z < 0 else (tail, None, tail)


def _logistic(z):
    below, above = 1 / (1 + mp.exp(-z)), 1 / (1 + mp.exp(z))
    return below * above, below, above


def _gumbel(z):
    return mp.exp(-z - mp.exp(-z)), mp.exp(-mp.exp(-z)), -mp.expm1(-mp.exp(-z))


def _cauchy(z):
    tail = mp.atan2(1, abs(z)) / mp.pi
    density = 1 / (mp.pi * (1 + z * z))
    return (density, tail, None) if z < 0 else (density, None, tail)


def _halfcauchy(z):
    density = 2 / (mp.pi * (1 + z * z))
    return density, 2 * mp.atan2(z, 1) / mp.pi, 2 * mp.atan2(1, z) / mp.pi


def _halfnormal(z):
    return 2 * npdf(z), mp.erf(z / mp.sqrt(2)), mp.erfc(z / mp.sqrt(2))


def _levy(z):
    density = mp.exp(-1 / (2 * z)) / mp.sqrt(2 * mp.pi * z**3)
    return density, mp.erfc(mp.sqrt(1 / (2 * z))), mp.erf(mp.sqrt(1 / (2 * z)))


def _moyal(z):
    root = mp.exp(-z / 2) / mp.sqrt(2)
    density = mp.exp(-(z + mp.exp(-z)) / 2) / mp.sqrt(2 * mp.pi)
    return density, mp.erfc(root), mp.erf(root)


def _exponential(x, scale):
    z = x / scale
    return mp.exp(-z) / scale, -mp.expm1(-z), mp.exp(-z)


def _lognormal(x, mean, sigma):
    z = (mp.log(x) - mean) / sigma
    return npdf(z) / (sigma * x), ndtr(z), ndtr(-z)


def _logitnormal(x, mu, sigma):
    z = (mp.log(x) - mp.log1p(-x) - mu) / sigma
    return npdf(z) / (sigma * x * (1 - x)), ndtr(z), ndtr(-z)


def _of_hazard(x, hazard, slope):
    """Of the integral of the hazard rate, and the rate."""
    return slope * mp.exp(-hazard), -mp.expm1(-hazard), mp.exp(-hazard)


def _weibull(x, a, scale):
    return _of_hazard(x, (x / scale) ** a, a / x * (x / scale) ** a)


def _rayleigh(x, scale):
    return _of_hazard(x, (x / scale) ** 2 / 2, x / scale**2)


def _pareto(x, b, scale):
    return _of_hazard(x, b * mp.log(x / scale), b / x)


def _lomax(x, alpha, scale):
    return _of_hazard(x, alpha * mp.log1p(x / scale), alpha / (x + scale))


def _burr12(x, c, d, scale):
    power = (x / scale) ** c
    return _of_hazard(x, d * mp.log1p(power), c * d * power / (1 + power) / x)


def _kumaraswamy(x, a, b):
    hazard = -b * (mp.log(-mp.expm1(a * mp.log(x))) if x > 0.5 else mp.log1p(-(x**a)))
    return _of_hazard(x, hazard, a * b * x ** (a - 1) * mp.exp(hazard / b))


def _loglogistic(x, alpha, beta):
    odds = (x / alpha) ** beta
    below, above = odds / (1 + odds), 1 / (1 + odds)
    return beta / x * below * above, below, above


def _power(x, a):
    logarithm = a * mp.log(x)
    return a * mp.exp(logarithm) / x, mp.exp(logarithm), -mp.expm1(logarithm)


def _uniform(x, low, high):
    width = high - low
    return 1 / width, (x - low) / width, (high - x) / width


def _loguniform(x, low, high):
    width = mp.log(high / low)
    return 1 / (x * width), mp.log(x / low) / width, mp.log(high / x) / width


def _triangular(x, left, mode, right):
    width, rise, fall = right - left, mode - left, right - mode
    if x < mode:
        below = (x - left) ** 2 / (width * rise)
        above = (fall + (mode - x) * (1 + (x - left) / rise)) / width
        return 2 * (x - left) / (width * rise), below, above
    below = (rise + (x - mode) * (1 + (right - x) / fall)) / width
    return 2 * (right - x) / (width * fall), below, (right - x) ** 2 / (width * fall)


def _truncexpon(x, b, loc, scale):
    z = (x - loc) / scale
    total = -mp.expm1(-b)
    above = mp.exp(-z) * -mp.expm1(z - b) / total
    return mp.exp(-z) / (total * scale), -mp.expm1(-z) / total, above


def _truncated_normal(x, loc, scale, lower, upper):
    z, low, high = ((one - loc) / scale for one in (x, lower, upper))
    total = _between(low, high)
    return npdf(z) / (scale * total), _between(low, z) / total, _between(z, high) / total


def _between(low, high):
    if low > 0:
        return ndtr(-low) - ndtr(-high)
    if high < 0:
        return ndtr(high) - ndtr(low)
    return (mp.erf(high / mp.sqrt(2)) - mp.erf(low / mp.sqrt(2))) / 2


def _asymmetriclaplace(x, kappa, loc, scale):
    z, square = (x - loc) / scale, kappa * kappa
    density = mp.exp(z / kappa if z < 0 else -z * kappa) / (scale * (kappa + 1 / kappa))
    if z < 0:
        return density, square / (1 + square) * mp.exp(z / kappa), None
    return density, None, mp.exp(-kappa * z) / (1 + square)


def _wald(x, mean, scale):
    root = mp.sqrt(scale / x)
    low, high = root * (x / mean - 1), root * (x / mean + 1)
    factor = mp.exp(2 * scale / mean)
    density = mp.sqrt(scale / (2 * mp.pi * x**3)) * mp.exp(-(low**2) / 2)
    return density, ndtr(low) + factor * ndtr(-high), ndtr(-low) - factor * ndtr(-high)


def _exgaussian(x, mu, sigma, nu):
    z, ratio = (x - mu) / sigma, sigma / nu
    waiting = mp.exp(ratio**2 / 2 - ratio * z) * ndtr(z - ratio)
    return waiting / nu, ndtr(z) - waiting, ndtr(-z) + waiting


def _skewnormal(x, loc, scale, alpha):
    """By integrals of the density from the value to the end of the thinner tail."""
    z = (x - loc) / scale
    density = 2 * npdf(z) * ndtr(alpha * z) / scale
    if alpha < 0:
        z, alpha = -z, -alpha
        return (density, *reversed(_skew_tails(z, alpha)))
    return (density, *_skew_tails(z, alpha))


def _skew_tails(z, alpha):
    """Return the tails for a positive skewness."""

    def ahead(t):
        return 2 * npdf(z + t) * ndtr(alpha * (z + t))

    def back(t):
        return 2 * npdf(z - t) * ndtr(alpha * (z - t))

    if z > 0:
        return None, _falling(ahead, 1 / (1 + z))
    return _falling(back, 1 / (1 + abs(z) * (1 + alpha**2))), None


def _falling(function, width):
    """Integrate from 0 to infinity a function that falls within some width."""
    ends = [width * end for end in (0, 1, 2, 4, 8, 16, 32, 64, 128)]
    height = function(0)  # the quadrature ends when its absolute error is small
    return height * mp.quad(lambda t: function(t) / height, ends)


# ---- integers ------------------------------------------------------------------------------------


def _bernoulli(k, p):
    return (1 - p, 1 - p, p) if k == 0 else (p, mp.mpf(1), mp.mpf(0))


def _poisson(k, lam):
    return (mp.exp(k * mp.log(lam) - lam - mp.loggamma(k + 1)), *reversed(_gamma_tails(k + 1, lam)))


def _binomial(k, n, p):
    log_ways = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
    mass = mp.exp(log_ways + k * mp.log(p) + (n - k) * mp.log1p(-p))
    if k == n:
        return mass, mp.mpf(1), mp.mpf(0)
    above, below = beta_tails(k + 1, n - k, p, 1 - p)
    return mass, below, above


def _negative_binomial(k, n, p):
    log_ways = mp.loggamma(n + k) - mp.loggamma(k + 1) - mp.loggamma(n)
    mass = mp.exp(log_ways + n * mp.log(p) + k * mp.log1p(-p))
    if p == 1:
        return mass, mp.mpf(1), mp.mpf(0)
    return (mass, *beta_tails(n, k + 1, p, 1 - p))


def _geometric(k, p):
    return p * (1 - p) ** (k - 1), -mp.expm1(k * mp.log1p(-p)), (1 - p) ** k


def _discrete_weibull(k, q, beta):
    here, after = q ** (k**beta), q ** ((k + 1) ** beta)
    return here - after, 1 - after, after


def _logseries(k, p):
    total = -mp.log1p(-p)
    # The sum of p**j / j above k is an integral of t**k / (1 - t) from 0 to p.
    above = p ** (k + 1) / (k + 1) * mp.hyp2f1(1, k + 1, k + 2, p) / total
    return p**k / (k * total), None, above


def _zipf(k, a):
    whole = mp.zeta(a)
    above = mp.zeta(a, k + 1) if a < 4 else mp.nsum(lambda j: j**-a, [k + 1, mp.inf])
    return k**-a / whole, None, above / whole


def _of_masses(mass, k, last):
    """Sum the masses of integers from 0 to the last one, of the smaller tail."""
    below = mp.fsum(mass(mp.mpf(j)) for j in range(int(k) + 1))
    above = mp.fsum(mass(mp.mpf(j)) for j in range(int(k) + 1, int(last) + 1))
    return mass(k), below, above


def _hypergeometric(k, ngood, nbad, nsample):
    whole = mp.binomial(ngood + nbad, nsample)
    return _of_masses(
        lambda j: mp.binomial(ngood, j) * mp.binomial(nbad, nsample - j) / whole, k, nsample
    )


def _betabinom(k, n, alpha, beta):
    def mass(j):
        logarithm = _betaln(j + alpha, n - j + beta) - _betaln(alpha, beta)
        return mp.binomial(n, j) * mp.exp(logarithm)

    return _of_masses(mass, k, n)


EXACT = {
    "asymmetriclaplace": _asymmetriclaplace,
    "bernoulli": _bernoulli,
    "beta": _beta,
    "betabinom": _betabinom,
    "binomial": _binomial,
    "burr12": _burr12,
    "cauchy": _of_standard(_cauchy),
    "chisquare": lambda x, df: _gamma(x, df / 2, mp.mpf(2)),
    "discrete_weibull": _discrete_weibull,
    "exgaussian": _exgaussian,
    "exponential": _exponential,
    "f": _f,
    "gamma": _gamma,
    "gengamma": lambda x, alpha, p, lambd: _power_of_gamma(x, alpha / p, lambd, p),
    "geometric": _geometric,
    "gumbel": _of_standard(_gumbel),
    "halfcauchy": _of_standard(_halfcauchy),
    "halfnormal": _of_standard(_halfnormal),
    "halfstudentt": _half_t,
    "hypergeometric": _hypergeometric,
    "invgamma": lambda x, shape, scale: _power_of_gamma(x, shape, scale, mp.mpf(-1)),
    "kumaraswamy": _kumaraswamy,
    "laplace": _of_standard(_laplace),
    "levy": _of_standard(_levy),
    "logistic": _of_standard(_logistic),
    "logitnormal": _logitnormal,
    "loglogistic": _loglogistic,
    "lognormal": _lognormal,
    "logseries": _logseries,
    "loguniform": _loguniform,
    "lomax": _lomax,
    "maxwell": lambda x, scale: _power_of_gamma(x, mp.mpf(3) / 2, mp.sqrt(2) * scale, mp.mpf(2)),
    "moyal": _of_standard(_moyal),
    "nakagami": lambda x, nu, scale: _power_of_gamma(x, nu, scale / mp.sqrt(nu), mp.mpf(2)),
    "negative_binomial": _negative_binomial,
    "normal": _of_standard(_normal),
    "pareto": _pareto,
    "poisson": _poisson,
    "power": _power,
    "rayleigh": _rayleigh,
    "skewnormal": _skewnormal,
    "t": _t,
    "triangular": _triangular,
    "truncated_normal": _truncated_normal,
    "truncexpon": _truncexpon,
    "uniform": _uniform,
    "wald": _wald,
    "weibull": _weibull,
    "zipf": _zipf,
}
