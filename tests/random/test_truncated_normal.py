"""Moments of truncated normal numbers: far out, between close ends, and at infinite ends."""

import itertools

import mpmath as mp
import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random

BOUNDS = {"float64": 1e-13, "float32": 2e-6}


def exact(loc, scale, lower, upper):
    """The closed forms, with digits enough for all that cancel."""
    with mp.workdps(250):
        loc, scale, lower, upper = (mp.mpf(x) for x in (loc, scale, lower, upper))
        a, b = (lower - loc) / scale, (upper - loc) / scale
        if b <= 0:
            mean, variance, entropy = exact(-loc, scale, -upper, -lower)
            return -mean, variance, entropy
        total = (mp.erfc(a / mp.sqrt(2)) - mp.erfc(b / mp.sqrt(2))) / 2
        at = [mp.npdf(x) / total if mp.isfinite(x) else mp.mpf(0) for x in (a, b)]
        first = [
            x * density if density else mp.mpf(0) for x, density in zip((a, b), at, strict=True)
        ]
        offset, moment = at[0] - at[1], first[0] - first[1]
        variance = scale**2 * (1 + moment - offset**2)
        entropy = mp.log(mp.sqrt(2 * mp.pi * mp.e) * scale) + mp.log(total) + moment / 2
        return loc + scale * offset, variance, entropy


def cases():
    """Ends from none to far out in either tail, near each other and apart."""
    starts = (-np.inf, -1e5, -40.0, -8.0, -0.3, 0.0, 1e-9, 2.0, 37.0, 1e4)
    yield from ((0.0, 1.0, start, np.inf) for start in starts)
    widths = (1e-3, 0.7, 50.0)
    yield from ((0.0, 1.0, *ends(start, w)) for start, w in itertools.product(starts[1:], widths))
    yield from ((3.0, 0.01, -np.inf, 2.0), (-5.0, 1e6, 0.0, 1.0), (1.0, 1e-8, 2.0, 3.0))


def ends(start, width):
    return (start, start + width) if width < 1 else (-start - width, -start)


@pytest.fixture(scope="module", params=BOUNDS)
def moments(request):
    """The moments of a dtype, compiled once."""
    parameters = [pt.vector(dtype=request.param) for _ in range(4)]
    one = random.TruncatedNormal(*parameters)
    results = [random.mean(one), random.variance(one), random.entropy(one)]
    slopes = phintys.grad(results[0].sum() + results[1].sum(), parameters)
    return request.param, phintys.function(parameters, [*results, *slopes])


def test_moments_have_their_digits_wherever_the_ends_are(moments):
    dtype, compute = moments
    drawn = np.array(list(cases()), dtype)
    drawn = drawn[drawn[:, 2] < drawn[:, 3]]  # points of float32 have a test of their own
    mean, variance, entropy, *slopes = compute(*drawn.T)
    for at, parameters in enumerate(drawn):
        wanted = [float(one) for one in exact(*parameters.tolist())]
        deviation = np.sqrt(wanted[1])
        bound, message = BOUNDS[dtype], f"{parameters}"
        assert abs(mean[at] - wanted[0]) <= bound * max(abs(wanted[0]), deviation), message
        np.testing.assert_allclose(variance[at], wanted[1], rtol=bound, err_msg=message)
        np.testing.assert_allclose(entropy[at], wanted[2], rtol=bound, atol=bound, err_msg=message)
    assert all(np.isfinite(slope).all() for slope in slopes)


def test_points_are_their_own_mean_and_have_no_spread(moments):
    dtype, compute = moments
    points = np.array([np.inf, -np.inf, 2.0, 0.0], dtype)
    mean, variance, entropy, *slopes = compute(
        np.zeros(4, dtype), np.ones(4, dtype), points, points
    )
    np.testing.assert_array_equal(mean, points)
    np.testing.assert_array_equal(variance, 0)
    np.testing.assert_array_equal(entropy, -np.inf)
    assert not any(np.isnan(slope).any() for slope in slopes)


@pytest.mark.parametrize(
    "parameters", [(0.0, 1.0, 0.0, 2.0), (0.5, 2.0, 3.0, 4.0), (0.0, 1.0, 300.0, 301.0)]
)
def test_slopes_of_moments_are_those_of_the_exact_ones(parameters):
    symbols = [pt.dscalar() for _ in parameters]
    one = random.TruncatedNormal(*symbols)
    slopes = phintys.grad(random.mean(one) + random.variance(one), symbols)
    found = phintys.function(symbols, slopes)(*parameters)
    for at, slope in enumerate(found):

        def total(x, at=at):
            return mp.fsum(exact(*parameters[:at], x, *parameters[at + 1 :])[:2])

        with mp.workdps(60):
            wanted = float(mp.diff(total, parameters[at], h=mp.mpf(10) ** -20))
        np.testing.assert_allclose(slope, wanted, rtol=1e-11, atol=1e-14)
