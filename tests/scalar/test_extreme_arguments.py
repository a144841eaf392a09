"""Values at arguments near both ends of floats, beside mpmath: none is lost, early 0 or infinite.

Arguments are drawn from a grid of magnitudes with fixed seeds, and, of functions that grow or decay
like exponentials, from next to where they overflow and underflow.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import phintys
import phintys.scalar.table as scalars
import phintys.tensor as pt

MAGNITUDES = [5e-324, 1e-310, 1e-200, 1e-30, 1e-3, 0.5, 1.5, 10.0, 38.0, 170.0, 1e3, 1e6, 1e15]
HUGE = [1e100, 1e155, 1e300, 1.7e308]
ENDS = [690.0, 700.0, 705.0, 709.0, 711.0, 713.5, 716.0, 720.0, 740.0, 744.0, 750.0]
FLOATS = MAGNITUDES + HUGE + ENDS
MODERATE = [x for x in MAGNITUDES if x <= 1e6]
RTOL = 1e-12
LARGEST = mp.mpf(2) ** 1024


@dataclass(frozen=True)
class Extreme:
    """A function of mpmath, and what its arguments are drawn from.

    Results of the reference below ``least`` are not compared: there SciPy's are 0.
    """

    exact: Callable[..., Any]
    arguments: tuple[list[float], ...]
    signed: bool = False
    least: float = 0.0
    points: list[tuple[float, ...]] = field(default_factory=list)


def scaled(function, growth):
    return lambda v, x: mp.exp(growth * x) * function(v, x)


def erfc(x):
    return mp.erfc(x) if x < 1e5 else mp.mpf(0)


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x) if x < 1e5 else (1 - 1 / (2 * x * x)) / (x * mp.sqrt(mp.pi))


def ndtr(x):
    return erfc(-x / mp.sqrt(2)) / 2


def dawsn(x):
    if abs(x) > 1e5:
        return (1 + 1 / (2 * x * x)) / (2 * x)
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def gamma_density(a, x):
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def log_beta(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def binom(n, k):
    """Return the coefficient by its definition, where the gamma function has no pole."""
    if n - k == mp.floor(n - k) and n < k:
        return mp.mpf(0)
    return mp.exp(mp.loggamma(n + 1)) * mp.rgamma(k + 1) * mp.rgamma(n - k + 1)


ORDERS = [0.0, 1e-300, 0.5, 1.0, 1.5, 3.0, 10.0, 38.0, 60.0, 170.0, 400.0]
# Where functions of large orders overflow and underflow.
CORNERS = {
    "jv": [(160.0, 1.16), (170.0, 1.1), (400.0, 49.0), (1000.0, 330.0), (2000.0, 900.0)],
    "iv": [(150.0, 1.004), (150.0, 1.13), (400.0, 62.0), (40.0, 1.2e-6), (3.0, 1e-107)],
    "kv": [(150.0, 0.966), (400.0, 49.4), (55.0, 1.12e-4), (3.0, 4.2e-103), (30.0, 1e-9)],
}

FUNCTIONS = {
    "erf": Extreme(mp.erf, (FLOATS,), signed=True),
    "erfc": Extreme(erfc, ([*FLOATS, 26.0, 26.5, 27.2],), signed=True, least=1e-307),
    "erfcx": Extreme(erfcx, ([*FLOATS, 26.0, 26.6],), signed=True),
    "ndtr": Extreme(ndtr, ([*FLOATS, 37.0, 38.4],), signed=True, least=1e-307),
    "gammaln": Extreme(mp.loggamma, (FLOATS,)),
    "digamma": Extreme(mp.digamma, (FLOATS,)),
    "trigamma": Extreme(lambda x: mp.psi(1, x), (FLOATS,)),
    "polygamma": Extreme(
        lambda n, x: mp.psi(int(n), x),
        ([1, 2, 3, 5, 20, 21, 60, 100, 170, 200, 400], [*FLOATS, -0.5, -1.5, -20.25, -100.5]),
    ),
    "factorial": Extreme(mp.factorial, ([x for x in FLOATS if x < 171],)),
    "beta": Extreme(lambda a, b: mp.exp(log_beta(a, b)), (MODERATE, MODERATE)),
    "betaln": Extreme(log_beta, (MAGNITUDES, MAGNITUDES)),
    "binom": Extreme(
        binom,
        ([0.0, 0.3, 2.7, 10.5, 40.25], [1.5, -3.25, 77.3, 1e6 + 0.5, 1e9 + 0.3, 1e14, 1e100]),
        points=[(0.5, 1e15), (10.0, 1e15), (170.0, 1e300), (0.5, 1.7e308), (1e-20, 5.0)],
    ),
    "poch": Extreme(
        lambda z, m: mp.exp(mp.loggamma(z + m) - mp.loggamma(z)),
        (MODERATE[2:], MODERATE[2:]),
        points=[(1.5, 170.0), (100.0, 119.0)],
    ),
    "gamma_density": Extreme(
        gamma_density, (FLOATS, FLOATS), points=[(1e155, 1e155), (1e300, 1e300)]
    ),
    "j0": Extreme(lambda x: mp.besselj(0, x), (FLOATS,), signed=True),
    "j1": Extreme(lambda x: mp.besselj(1, x), (FLOATS,), signed=True),
    "jv": Extreme(mp.besselj, (ORDERS, [*MODERATE, *ENDS, 1e12]), points=CORNERS["jv"]),
    "yv": Extreme(mp.bessely, (ORDERS, ENDS), points=CORNERS["jv"]),
    "i0": Extreme(lambda x: mp.besseli(0, x), (FLOATS,), signed=True),
    "i1": Extreme(lambda x: mp.besseli(1, x), (FLOATS,), signed=True),
    "iv": Extreme(mp.besseli, (ORDERS, [*MODERATE, *ENDS]), points=CORNERS["iv"]),
    "ive": Extreme(scaled(mp.besseli, -1), (ORDERS, MODERATE), points=CORNERS["iv"]),
    "kv": Extreme(mp.besselk, (ORDERS, ENDS), points=CORNERS["kv"]),
    "kve": Extreme(scaled(mp.besselk, 1), (ORDERS, ENDS), points=CORNERS["kv"]),
    "exp1": Extreme(mp.e1, (FLOATS,)),
    "expi": Extreme(mp.ei, (FLOATS,), signed=True),
    "sine_integral": Extreme(mp.si, (FLOATS,), signed=True),
    "dawsn": Extreme(dawsn, (FLOATS,), signed=True),
    "sinc": Extreme(lambda x: mp.sinpi(x) / (mp.pi * x), (FLOATS,), signed=True),
}


def drawn(extreme, count):
    """Return arguments, the same on each run: pairs are a part of all pairs."""
    rng = np.random.default_rng(8)
    grids = np.meshgrid(*(np.array(one, float) for one in extreme.arguments))
    columns = [grid.ravel() for grid in grids]
    if len(columns) > 1:
        chosen = rng.permutation(columns[0].size)[:count]
        columns = [column[chosen] for column in columns]
    elif extreme.signed:
        columns = [np.concatenate([columns[0], -columns[0]])]
    more = np.array(extreme.points).reshape(-1, len(columns)).T
    return [np.concatenate(pair) for pair in zip(columns, more, strict=True)]


@cache
def settled(name, point):
    """Return a value computed with so many digits that twice as many change nothing."""
    function, arguments = FUNCTIONS[name].exact, [mp.mpf(x) for x in point]
    most = max(abs(int(mp.log10(abs(x)))) for x in arguments if x) if any(arguments) else 0
    with mp.workdps(60 + most):
        value = mp.re(function(*arguments))
    with mp.workdps(120 + 2 * most):
        again = mp.re(function(*arguments))
    return again if abs(value - again) <= abs(again) * mp.mpf(10) ** -20 else None


def assert_near(found, exact, where):
    if abs(exact) >= LARGEST:
        assert np.isinf(found), (where, found)
        assert (found > 0) == (exact > 0), where
        return
    allowed = max(abs(exact) * RTOL, mp.mpf(4) * mp.ldexp(1, -1074))
    assert np.isfinite(found), (where, found, float(exact))
    assert abs(mp.mpf(float(found)) - exact) <= allowed, (where, found, float(exact))


@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_near_the_ends_of_floats(name, mode, repeats):
    extreme = FUNCTIONS[name]
    arguments = drawn(extreme, repeats(12, 400))
    least = extreme.least if mode == "reference" else 0.0
    variables = [pt.dvector() for _ in arguments]
    out = pt.Elemwise(getattr(scalars, name))(*variables)
    found = phintys.function(variables, out, mode=mode)(*arguments)
    known = 0
    for one, *point in zip(found.tolist(), *(x.tolist() for x in arguments), strict=True):
        exact = settled(name, tuple(point))
        if exact is not None and mp.isfinite(exact) and abs(exact) >= least:
            assert_near(one, exact, (name, *point))
            known += 1
    assert known > len(found) / 2


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_modified_functions_of_the_second_kind_decay_into_subnormal_numbers(mode):
    v, x = pt.dvectors("v", "x")
    value = pt.special.kv(v, x)
    f = phintys.function([v, x], [value, phintys.grad(value.sum(), x)], mode=mode)
    orders, places = (part.ravel() for part in np.meshgrid([0.0, 0.3, 1.0, 2.5, 17.0, 75.0], ENDS))
    found = f(orders, places)
    with mp.workdps(40):
        for i, (order, at) in enumerate(zip(orders.tolist(), places.tolist(), strict=True)):
            exact = mp.besselk(order, at)
            slope = -(mp.besselk(order - 1, at) + order / at * exact)
            for values, one in zip(found, (exact, slope), strict=True):
                allowed = max(abs(one) * mp.mpf(2) ** -50, mp.mpf(4) * mp.ldexp(1, -1074))
                assert abs(mp.mpf(float(values[i])) - one) <= allowed, (order, at)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_fresnel_integrals_of_huge_numbers_are_their_limits(mode):
    x = pt.dvector("x")
    values = [pt.special.fresnel_sine(x), pt.special.fresnel_cosine(x)]
    slopes = [phintys.grad(value.sum(), x) for value in values]
    places = np.array([1e12, 1e16, 1e18, 1e154, 1e155, 1.7e308])
    found = phintys.function([x], values + slopes, mode=mode)
    for sign in (1, -1):
        sine, cosine, *bounded = found(sign * places)
        np.testing.assert_allclose([sine, cosine], sign * 0.5, rtol=1e-11)
        # Each of these floats is a multiple of 4, or of 2**-11 at least.
        with mp.workdps(700):
            squares = [mp.mpf(place) ** 2 / 2 for place in places.tolist()]
            expected = [[float(turn(one)) for one in squares] for turn in (mp.sinpi, mp.cospi)]
        np.testing.assert_allclose(bounded, expected, rtol=0, atol=1e-15)
    infinite = found(np.array([np.inf, -np.inf]))
    np.testing.assert_array_equal(infinite[:2], [[0.5, -0.5]] * 2)
    np.testing.assert_array_equal(infinite[2:], [[0, 0], [1, 1]])


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_second_derivatives_of_i1_next_to_0(mode):
    x = pt.dvector("x")
    first = phintys.grad(pt.special.i1(x).sum(), x)
    f = phintys.function([x], phintys.grad(first.sum(), x), mode=mode)
    places = np.array([1e-310, 1e-160, -1e-160, 1e-20, 1e-8])
    np.testing.assert_allclose(f(places), 0.375 * places, rtol=1e-12)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_gradients_of_incomplete_gamma_functions_of_huge_shapes(mode):
    a, x = pt.dvectors("a", "x")
    value = pt.special.gammaincc(a, x)
    f = phintys.function([a, x], [value, *phintys.grad(value.sum(), [a, x])], mode=mode)
    found = f([1e155, 1e155, 1e155, 1e300], [1e-3, 1e155, 1e300, 1e155])
    peak = 1 / np.sqrt(2 * np.pi * 1e155)
    np.testing.assert_allclose(found[0], [1, 0.5, 0, 1])
    np.testing.assert_allclose(found[1:], [[0, peak, 0, 0], [0, -peak, 0, 0]])


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_differences_of_digamma_of_huge_numbers(mode):
    a, b = pt.dvectors("a", "b")
    f = phintys.function([a, b], pt.Elemwise(scalars.digamma_difference)(a, b), mode=mode)
    first, second = np.array([0.5, 10.0, 1e9, 3.0]), np.array([1.7e308, 1.7e308, 1e300, 1e-300])
    with mp.workdps(700):
        exact = [
            float(mp.digamma(mp.mpf(p) + mp.mpf(q)) - mp.digamma(mp.mpf(p)))
            for p, q in zip(first.tolist(), second.tolist(), strict=True)
        ]
    np.testing.assert_allclose(f(first, second), exact, rtol=1e-14)
