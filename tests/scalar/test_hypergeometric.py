"""Kummer's hypergeometric function, and the derivatives of Gauss's in its parameters."""

import mpmath
import numpy as np
import pytest
import scipy.special

import phintys.scalar as ps

# a, b, c, x, and the derivatives by a, b and c, from differences in 50 digits.
POINTS = np.array(
    [
        [3.75, 1.0, 2.75, -0.25, -0.054938142817464376, -0.2237137617021774, 0.0760951676108528],
        [1.0, 1.0, 1.0, 0.625, 2.6155446746979365, 2.6155446746979365, -2.6155446746979365],
        [1.0, 31.0, 41.0, 1.0, 6.825270649241036, 0.49382716049382713, -0.38271604938271603],
        [1.0, -2.125, 41.0, 1.0, -0.04975441653146442, 0.02254136251970168, 0.0011975098838591517],
        [-0.5, -4.5, -3.25, 0.875, 0.9295845378489614, 0.3815686418285671, -2.6127944007423483],
        [-3.0, 2.0, 1.5, 0.5, 0.049687533573002686, -0.24761904761904763, 0.36244897959183675],
        [
            2.0,
            3.0,
            4.0,
            -100.0,
            -0.0010373167186900683,
            -0.00036272962750097057,
            0.00021407665499055488,
        ],
        [0.5, 0.5, 1.5, -1.0, -0.21271729769140246, -0.21271729769140246, 0.06506085876812913],
    ]
)

# Next to 1, where the series converges slowly; in three rows, c - a - b is an integer.
NEXT_TO_ONE = np.array(
    [
        [0.75, 1.5, 2.9, 0.999, 4.528890487007357, 3.0687649953007177, -2.146469302195894],
        [
            1.25,
            0.5,
            1.75,
            0.9999999999990905,
            214.8888431392616,
            241.31601590223434,
            -207.75931354351718,
        ],
        [
            1.25,
            0.5,
            2.75,
            0.9999990463256836,
            0.982930678992305,
            1.8415622065491255,
            -0.5883336095103666,
        ],
        [
            1.0,
            2.0,
            3.0,
            0.9999999990686774,
            430.4077133686734,
            392.8188824226041,
            -374.31433506537087,
        ],
        [2.3, 1.1, 2.0, 0.9990234375, 82179.30434481204, 95559.9358001004, -84493.40439737382],
        [
            0.75,
            0.5,
            1.3,
            -1000000.0,
            -0.006268443121120746,
            -0.024305847067583475,
            0.0017389789028319652,
        ],
        [1.0, 0.5, 3.0, 1.0, 0.5150591481598542, 0.8888888888888888, -0.2222222222222222],
        [
            -2.0,
            0.5,
            1.2,
            0.9999990463256836,
            0.09107822095539642,
            -0.9090907645941115,
            0.3285698243734222,
        ],
    ]
)


def test_derivatives_by_the_parameters():
    a, b, c, x, by_a, by_b, by_c = POINTS.T
    np.testing.assert_allclose(ps.hyp2f1_by_a.impl(a, b, c, x), by_a, rtol=1e-13)
    np.testing.assert_allclose(ps.hyp2f1_by_a.impl(b, a, c, x), by_b, rtol=1e-13)
    np.testing.assert_allclose(ps.hyp2f1_by_c.impl(a, b, c, x), by_c, rtol=1e-13)
    one = ps.hyp2f1_by_a.impl(*POINTS[0, :4])
    np.testing.assert_allclose(one, by_a[0], rtol=1e-13)


def test_derivatives_next_to_one():
    a, b, c, x, by_a, by_b, by_c = NEXT_TO_ONE.T
    np.testing.assert_allclose(ps.hyp2f1_by_a.impl(a, b, c, x), by_a, rtol=1e-12)
    np.testing.assert_allclose(ps.hyp2f1_by_a.impl(b, a, c, x), by_b, rtol=1e-12)
    np.testing.assert_allclose(ps.hyp2f1_by_c.impl(a, b, c, x), by_c, rtol=1e-12)


def test_nothing_is_said_where_too_little_is_known():
    """Outside of the disc of convergence, and where the terms cancel each other."""
    a, b, c, x = np.array([[1, 12, 20, 1.2], [1, 12, 10, 1], [30, 40, 2.5, -0.7]]).T
    assert np.isnan(ps.hyp2f1_by_a.impl(a, b, c, x)).all()
    assert np.isnan(ps.hyp2f1_by_c.impl(a, b, c, x)).all()


def test_kummers_function_keeps_its_digits_where_its_terms_hardly_cancel():
    rng = np.random.default_rng(4)
    a, x = rng.uniform(0.1, 5, 40), rng.uniform(-40, 40, 40)
    b = np.where(x > 0, rng.uniform(0.1, 5, 40), a + rng.uniform(0.1, 5, 40))
    found = ps.hyp1f1.impl(a, b, x)
    with mpmath.workdps(60):
        for one, *at in zip(found.tolist(), a.tolist(), b.tolist(), x.tolist(), strict=True):
            exact = mpmath.hyp1f1(*map(mpmath.mpf, at))
            assert abs(one - exact) <= 16 * np.finfo(float).eps * abs(exact), at


@pytest.mark.parametrize("by", [None, 0, 1])
def test_kummers_function_keeps_its_digits_where_terms_cancel(by):
    """Next to zeros of the function, which has some for negative x and b < a, or negative a."""
    name = "hyp1f1" if by is None else f"hyp1f1_by_{'ab'[by]}"
    rng = np.random.default_rng(8)
    a, b = rng.uniform(0.5, 3, (2, 30))
    x = rng.uniform(-5, 5, 30)
    a[x > 0] *= -1
    points = [*zip(a, b, x, strict=True), (14.02, 0.253, -0.1475), (2.5, 1.5, -1.4999)]
    a, b, x = np.array(points).T
    found = getattr(ps, name).impl(a, b, x)
    with mpmath.workdps(60):
        for one, *at in zip(found.tolist(), a.tolist(), b.tolist(), x.tolist(), strict=True):
            at = [mpmath.mpf(number) for number in at]
            order = [int(by == i) for i in range(3)]
            exact = mpmath.diff(mpmath.hyp1f1, at, tuple(order)) if by is not None else None
            exact = mpmath.hyp1f1(*at) if exact is None else exact
            assert abs(one - exact) <= 16 * np.finfo(float).eps * abs(exact), at


def test_kummers_function_of_a_pole_and_of_nan_is_as_in_scipy():
    a, b, x = np.array(
        [[1, 0, 0.5], [2, -1, -0.5], [-1, -2, 0.5], [np.nan, 1, 1], [1, 1, np.nan], [0, 1.5, -3]]
    ).T
    np.testing.assert_array_equal(ps.hyp1f1.impl(a, b, x), scipy.special.hyp1f1(a, b, x))


def _kummers_slope(at, by):
    """Return a derivative by a or b, by a central difference in many digits."""
    a, b, x = map(mpmath.mpf, at)
    step = mpmath.mpf(10) ** -60
    upper, lower = ((a + h, b) if by == "a" else (a, b + h) for h in (step, -step))
    return (mpmath.hyp1f1(*upper, x) - mpmath.hyp1f1(*lower, x)) / (2 * step)


@pytest.mark.parametrize("by", ["a", "b"])
def test_kummers_slopes_of_large_arguments_are_right_or_unknown(by):
    """Where terms are 1e20 times as large as their sum, floats have no digit of it."""
    rng = np.random.default_rng(11)
    points = rng.uniform([-90, -90, -120], [90, 90, 120], (12, 3)).tolist()
    points += [(60.5, 1.5, -80.0), (-60.5, 1.5, 20.0), (2.0, 3.0, -700.0), (2.0, 3.0, -720.0)]
    points += [(1.5, 60.5, -200.0), (0.1, 200.5, -730.0), (2.0, 3.0, 700.0)]
    found = getattr(ps, f"hyp1f1_by_{by}").impl(*np.array(points).T)
    assert np.isfinite(found).sum() > len(points) / 2
    with mpmath.workdps(180):
        for one, at in zip(found.tolist(), points, strict=True):
            exact = _kummers_slope(at, by)
            assert np.isnan(one) or abs(one - exact) <= 1e-13 * abs(exact), at


def test_kummers_slopes_are_infinite_only_where_all_terms_agree():
    a, b, x = np.array([[1, 1, 800], [2, 3, -5000], [-30.5, 1.5, 2000], [1.5, 2.5, 720]]).T
    np.testing.assert_array_equal(ps.hyp1f1_by_a.impl(a, b, x), [np.inf, np.nan, np.nan, np.inf])


@pytest.mark.parametrize(
    "at", [(1e-20, 1.5, 45.0), (1.5, -5 + 2.0**-50, 1e-4), (1.5, -5 - 2.0**-50, -1e-4)]
)
def test_kummers_series_goes_on_while_terms_may_grow_again(at):
    """A small a makes the second term small, a b next to -5 the seventh one large."""
    with mpmath.workdps(180):
        exact = [mpmath.hyp1f1(*map(mpmath.mpf, at)), *(_kummers_slope(at, by) for by in "ab")]
        functions = (ps.hyp1f1, ps.hyp1f1_by_a, ps.hyp1f1_by_b)
        for function, expected in zip(functions, exact, strict=True):
            assert abs(function.impl(*at) - expected) <= 1e-14 * abs(expected), function
