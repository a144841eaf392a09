"""Bessel functions and their derivatives where SciPy's lose digits, beside mpmath."""

import mpmath
import numpy as np
import pytest
import scipy.special

import phintys
import phintys.tensor as pt

EPS = np.finfo(float).eps
ORDERS = [0.04, 0.75, 1.3, 7.4]
# Next to the ends of formulas, and far out, where sums of neighboring orders cancel.
PLACES = [0.26, 0.49, 0.6, 1.9, 11.4, 19.0, 40.0, 63.0, 65.0, 590.0, 610.0, 1e5]


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_errors_are_small_beside_the_amplitude(mode):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(5, 50, 40), 10 ** rng.uniform(2, 15, 40)])
    x *= rng.choice([-1, 1], len(x))
    v = pt.dvector("v")
    found = phintys.function([v], [pt.special.j0(v), pt.special.j1(v)], mode=mode)(x)
    with mpmath.workdps(60):
        for order, values in enumerate(found):
            for one, at in zip(values, x, strict=True):
                exact = mpmath.besselj(order, mpmath.mpf(float(at)))
                amplitude = (2 / np.pi / abs(at)) ** 0.5
                assert abs(float(one) - exact) < 5e-16 * amplitude, (order, at)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_other_numbers_are_as_in_scipy(mode):
    x = np.array([0.0, -0.0, 5e-324, 3.5, -4.9, np.inf, -np.inf, np.nan])
    v = pt.dvector("v")
    found = phintys.function([v], [pt.special.j0(v), pt.special.j1(v)], mode=mode)(x)
    np.testing.assert_array_equal(found, [scipy.special.j0(x), scipy.special.j1(x)])


def exact_modified(name, v, x):
    """Return a scaled modified function, its derivative, and the larger term of that."""
    first = name == "ive"
    function, sign = (mpmath.besseli, 1) if first else (mpmath.besselk, -1)
    growth = {"ive": -1, "kve": 1, "kv": 0}[name]
    at, above = function(v, x), function(v + 1, x)
    scale = mpmath.exp(growth * x)
    slope = scale * (sign * above + v / x * at + growth * at)
    return scale * at, slope, scale * at * (v + 0.5) / x if first else abs(slope)


@pytest.fixture(scope="module", params=["native", "reference"])
def modified(request):
    v, x = pt.dvectors("v", "x")
    values = [pt.special.ive(v, x), pt.special.kve(v, x), pt.special.kv(v, x)]
    slopes = [phintys.grad(value.sum(), x) for value in values]
    return phintys.function([v, x], values + slopes, mode=request.param)


def test_modified_functions_and_their_slopes_keep_their_digits(modified):
    v, x = (part.ravel() for part in np.meshgrid(ORDERS, PLACES))
    found = modified(v, x)
    with mpmath.workdps(40):
        for i, (order, at) in enumerate(zip(v.tolist(), x.tolist(), strict=True)):
            order, at = mpmath.mpf(order), mpmath.mpf(at)
            for k, name in enumerate(("ive", "kve", "kv")):
                value, slope, scale = exact_modified(name, order, at)
                if value < 1e-290:
                    continue
                assert abs(found[k][i] - value) <= 16 * EPS * value, (name, order, at)
                assert abs(found[k + 3][i] - slope) <= 24 * EPS * scale, (name, order, at)


def test_modified_functions_of_the_second_kind_keep_their_digits_next_to_0(modified):
    rng = np.random.default_rng(11)
    v = np.concatenate([rng.uniform(0, 3, 15), rng.uniform(3, 50, 10), rng.integers(0, 50, 5)])
    x = 10.0 ** np.concatenate([rng.uniform(-8, -0.61, 15), rng.uniform(-2, -0.61, 15)])
    found = modified(v, x)
    with mpmath.workdps(40):
        for i, (order, at) in enumerate(zip(v.tolist(), x.tolist(), strict=True)):
            order, at = mpmath.mpf(order), mpmath.mpf(at)
            for k, name in ((1, "kve"), (2, "kv")):
                value, slope, scale = exact_modified(name, order, at)
                assert abs(found[k][i] - value) <= 6 * EPS * value, (name, order, at)
                assert abs(found[k + 3][i] - slope) <= 8 * EPS * scale, (name, order, at)


def test_limits_of_modified_functions(modified):
    numbers = [0.0, -0.0, 0.5, -0.5, 1, -1, 1.5, 3, -3, 60, 700, 1e5, 1e300, 1e-300, 5e-324, 1e-20]
    numbers += [np.inf, -np.inf, np.nan]
    v, x = (part.ravel() for part in np.meshgrid(numbers, numbers))
    found = modified(v, x)
    for values, name in zip(found[:3], ("ive", "kve", "kv"), strict=True):
        expected = getattr(scipy.special, name)(v, x)
        # SciPy has no values of a subnormal order or argument, nor where Amos's routines end, nor
        # of large exponents, nor the limit of a negative order at 0.
        is_beyond = (np.hypot(v, x) > 1e9) & np.isnan(expected)
        is_subnormal = (v == 5e-324) | ((x == 5e-324) & ~((expected > 0) & (expected < np.inf)))
        is_pole = (v == -0.5) & (x == 0) & (name == "ive")
        np.testing.assert_array_equal(values[is_pole], np.inf)
        is_lost = (expected == 0) & (values < 1e-300)
        expected = np.where(is_subnormal | is_beyond | is_pole | is_lost, values, expected)
        np.testing.assert_allclose(values, expected, rtol=1e-12)
    values = modified(np.array([0.0, 0.5]), np.array([5e-324, 5e-324]))[2]
    np.testing.assert_allclose(values, [744.55600343704, 5.638552261265e161], rtol=1e-12)
    slopes = modified(np.array([1.0, 0.5]), np.array([0.0, np.nan]))[3]
    np.testing.assert_array_equal(slopes, [0.5, np.nan])


def test_modified_functions_go_on_where_the_routines_of_amos_end(modified):
    points = [
        (0.5, 2e9),
        (1.3, 1e17),
        (1e5, 1e10),
        (3e9, 1e19),
        (-0.7, 2e9),
        (7, 1e300),
        (4e9, 2.0),
    ]
    found = modified(*np.array(points).T)
    with mpmath.workdps(60):
        for i, point in enumerate(points):
            v, x = (abs(mpmath.mpf(number)) for number in point)
            r = mpmath.hypot(v, x)
            exponent = v * (v / (r + x) - mpmath.asinh(v / x))
            step = (3 - 5 * (v / r) ** 2) / (24 * r)
            first = mpmath.exp(exponent) / mpmath.sqrt(2 * mpmath.pi * r) * (1 + step)
            second = mpmath.exp(-exponent) * mpmath.sqrt(mpmath.pi / (2 * r)) * (1 - step)
            exact = [first, second, second * mpmath.exp(-x)]
            size = 1 + min(abs(exponent), 700)
            for values, one in zip(found, exact, strict=False):
                one = float(one) if one < 1e308 else np.inf
                np.testing.assert_allclose(values[i], one, rtol=4 * EPS * float(size), atol=1e-300)
    ends = [(0.5, np.inf), (np.inf, 1.0), (3.0, -2e9), (-3.0, -2e9), (2.0, -2e9), (2.5, -2e9)]
    ive, kve, kv = modified(*np.array(ends).T)[:3]
    np.testing.assert_allclose(ive, np.array([0, 0, -1, -1, 1, np.nan]) * ive[4], rtol=1e-8)
    np.testing.assert_array_equal(kve, [0, np.inf] + [np.nan] * 4)
    np.testing.assert_array_equal(kv, [0, np.inf] + [np.nan] * 4)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_slopes_of_negative_orders_and_arguments(mode):
    v, x = pt.dvectors("v", "x")
    slope = phintys.grad(pt.special.ive(v, x).sum(), x)
    orders, places = (
        np.array([1.0, 2.0, -2.0, -0.3, -1.6]),
        np.array([-30.0, -30.0, 30.0, 9.0, 9.0]),
    )
    found = phintys.function([v, x], slope, mode=mode)(orders, places)
    with mpmath.workdps(40):
        for one, order, at in zip(found, orders.tolist(), places.tolist(), strict=True):
            order, at = mpmath.mpf(order), mpmath.mpf(at)
            inner = (mpmath.besseli(order - 1, at) + mpmath.besseli(order + 1, at)) / 2
            exact = mpmath.exp(-abs(at)) * (inner - mpmath.sign(at) * mpmath.besseli(order, at))
            assert abs(one - exact) <= 1e-13 * abs(exact), (order, at)


@pytest.fixture(scope="module", params=["native", "reference"])
def oscillating(request):
    v, x = pt.dvectors("v", "x")
    values = [pt.special.jv(v, x), pt.special.yv(v, x)]
    slopes = [phintys.grad(value.sum(), x) for value in values]
    return phintys.function([v, x], values + slopes, mode=request.param)


def test_functions_of_any_order_keep_their_digits(oscillating):
    rng = np.random.default_rng(7)
    v = [rng.uniform(-0.5, 3, 60), rng.integers(0, 6, 20), rng.uniform(3, 100, 40)]
    x = [rng.uniform(0.25, 2, 40), rng.uniform(2, 25, 40), rng.uniform(2, 200, 40)]
    # Where SciPy's have lost up to a thousand units.
    v += [rng.uniform(0, 3, 10), rng.integers(0, 12, 10), rng.uniform(3, 160, 10), [158.5, 101, 60]]
    x += [10.0 ** rng.uniform(-8, -0.6, 20), rng.uniform(0.01, 0.25, 10), [14.0, 2.5, 1.5]]
    v, x = np.concatenate(v), np.concatenate(x)
    # Next to the ends of formulas.
    v = np.concatenate([v, [0.5, 1.5, 2.5, 0.1, 0.9, 4.99, 5.01, 10.0, 10.1]])
    x = np.concatenate([x, [0.25, 2.0, 2.0001, 24.99, 25.01, 25.0, 25.1, 1.9, 1.9]])
    found = oscillating(v, x)
    with mpmath.workdps(40):
        for i, (order, at) in enumerate(zip(v.tolist(), x.tolist(), strict=True)):
            order, at = mpmath.mpf(order), mpmath.mpf(at)
            for k, function in enumerate((mpmath.besselj, mpmath.bessely)):
                if k and order < 0:  # SciPy's
                    continue
                value, above = function(order, at), function(order + 1, at)
                slope = order / at * value - above
                least = at**-0.5 if at > order else 0
                # Oscillating ones of the second kind are raised to a large order.
                few = (16, 24) if k and at > 2 else (6, 12)
                scales = max(abs(value), least), max(abs(order / at * value), abs(above), least)
                for one, exact, ulps, scale in zip(
                    found[k::2], (value, slope), few, scales, strict=True
                ):
                    if 1e-290 < abs(exact) < 1e290:
                        assert abs(one[i] - exact) <= ulps * EPS * scale, (k, order, at)


def test_functions_of_any_order_go_on_where_the_routines_of_amos_end(oscillating):
    v = [0.0, 3.0, 0.5, 1e3, 1e5, 1e8, 2e9, 9e9, -3.0, 1e10, 1e300, np.inf]
    x = [1e10, 1e300, 1e12, 1e10, 1e10, 1e9, 1e10, 1e10, 1e10, 9e9, 1e10, 2.0]
    v = np.array([*v, -0.5, -1.25, -20.75, -99.5, -120.3, -300.7, -1e5 - 0.5])
    x = np.array([*x, 1e10, 1e11, 2e9, 1e12, 1e10, 1e15, 1e10])
    found = oscillating(v, x)[:2]
    for i, (order, at) in enumerate(zip(v.tolist(), x.tolist(), strict=True)):
        if order > at:
            assert (found[0][i], found[1][i]) == (0, -np.inf)
            continue
        with mpmath.workdps(700):
            degree, place = abs(mpmath.mpf(order)), mpmath.mpf(at)
            distance = mpmath.sqrt(place**2 - degree**2)
            phase = distance - degree * mpmath.acos(degree / place) - mpmath.pi / 4
            angle, share = mpmath.expj(phase), (degree / distance) ** 2
            turn = mpmath.expjpi(degree) if order < 0 else 1  # DLMF 10.4.6
            exact = angle * (1 - 1j * (3 + 5 * share) / (24 * distance)) * turn
            exact *= mpmath.sqrt(2 / (mpmath.pi * distance))
        for one, part in zip(found, (exact.real, exact.imag), strict=True):
            # A rounding error of v changes the phase by v eps times the angle of v and x.
            allowed = 4 * EPS * (1 + order * order / at)
            assert abs(one[i] - part) <= allowed * abs(exact), (order, at)


def test_limits_of_functions_of_any_order(oscillating):
    numbers = [0.0, -0.0, 0.5, -0.5, 1, -1, 1.5, -2.5, 3, -3, 60, 120, 700, 1e5, 1e-300, 1e-20]
    numbers += [np.inf, -np.inf, np.nan]
    v, x = (part.ravel() for part in np.meshgrid(numbers, numbers))
    found = oscillating(v, x)
    with np.errstate(all="ignore"):
        amplitude = np.nan_to_num(np.abs(x) ** -0.5, posinf=0)
    for values, name in zip(found[:2], ("jv", "yv"), strict=True):
        expected = getattr(scipy.special, name)(v, x)
        # SciPy's routines end at infinite orders, and lose digits of large ones.
        expected = np.where(np.isinf(v), values, expected)
        exact = {"jv": mpmath.besselj, "yv": mpmath.bessely}[name]
        for i in np.flatnonzero((v >= 120) & (v <= 700) & (x == 1e5)):
            expected[i] = exact(v[i], x[i])
        is_finite = np.isfinite(expected)
        np.testing.assert_array_equal(values[~is_finite], expected[~is_finite])
        values, expected = values[is_finite], expected[is_finite]
        allowed = 1e-12 * np.abs(expected) + 1e-13 * amplitude[is_finite]
        assert (np.abs(values - expected) <= allowed).all()


def test_slopes_at_0_are_those_of_the_series(oscillating):
    v = np.array([0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 1.5])
    slopes = oscillating(v, np.zeros(7))[2]
    np.testing.assert_array_equal(slopes, [0, 0.5, -0.5, 0, 0, np.inf, 0])
