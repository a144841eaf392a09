"""Beta numbers, which are made of two gamma numbers, and their derivatives."""

import numpy as np
import scipy.special as sp
import scipy.stats as st

import phintys
import phintys.tensor as pt
from phintys import random


def test_implicit_derivatives_of_beta_numbers():
    """They are those of the quantile at the number's own probability, on average."""
    r, a, b = random.rng("r"), pt.dvector("a"), pt.dvector("b")
    _, draw = r.beta(a, b, size=(20_000, 4))
    slopes = [phintys.gradient.Rop(draw, one, pt.ones_like(one)) for one in (a, b)]
    total = phintys.grad(draw.sum(), [a, b])
    f = phintys.function([r, a, b], [draw, *slopes, *total])
    alpha, beta = np.array([0.4, 1.0, 3.0, 40.0]), np.array([2.0, 0.6, 5.0, 1.5])
    draws, *found = f(random.state(8), alpha, beta)
    for each, together in zip(found[:2], found[2:], strict=True):
        np.testing.assert_allclose(each.sum(axis=0), together, rtol=1e-9)
    # The mean is alpha / (alpha + beta), and the mean of squares is known as well.
    for each, slope in zip(found, (beta, -alpha), strict=False):
        for values, wanted in ((each, slope / (alpha + beta) ** 2),):
            error = values.std(axis=0) / np.sqrt(len(values))
            assert (abs(values.mean(axis=0) - wanted) < 6 * error).all()
    assert (draws > 0).all()


def test_shapes_on_both_sides_of_one_in_one_vector():
    r, a, b = random.rng("r"), pt.dvector("a"), pt.dvector("b")
    draw = r.beta(a, b)[1]
    shapes = np.random.default_rng(2).uniform(0.02, 2.0, (2, 5000))
    made = [
        phintys.function([r, a, b], draw, mode=mode)(random.state(9), *shapes)
        for mode in (None, "FAST_COMPILE")
    ]
    np.testing.assert_array_equal(*made)
    probabilities = sp.betainc(*shapes, made[0])
    assert st.kstest(probabilities, "uniform").pvalue > 1e-5


def test_shares_of_tiny_shapes_are_zero_or_one():
    draws = random.RandomStream(3).beta(1e-6, 1e-6, size=200).eval()
    assert set(draws) == {0.0, 1.0}
    assert np.isnan(random.RandomStream(3).beta(np.nan, 1.0).eval())
