"""Quantiles of counts that are searched for: native code, tails, derivatives, truncated draws."""

import numpy as np
import pytest
import scipy.stats

import phintys
import phintys.tensor as pt
from phintys import random

PROBABILITIES = np.array([1e-300, 1e-12, 0.1, 0.5, 0.9, 1 - 1e-12])
MEANS = np.array([[0.0], [1e-3], [0.3], [5.0], [80.0], [1e6]])


@pytest.mark.parametrize("mode", [None, "FAST_COMPILE"])
def test_quantiles_far_from_a_normal_number(mode):
    q, lam = pt.dvector("q"), pt.dmatrix("lam", shape=(None, 1))
    count = random.Poisson(lam)
    f = phintys.function([q, lam], [random.icdf(count, q), random.isf(count, q)], mode=mode)
    below, above = f(PROBABILITIES, MEANS)
    exact = scipy.stats.poisson(MEANS)
    assert (exact.cdf(below) >= PROBABILITIES).all()
    assert ((exact.cdf(below - 1) < PROBABILITIES) | (below == 0)).all()
    assert (exact.sf(above) <= PROBABILITIES).all()
    assert ((exact.sf(above - 1) > PROBABILITIES) | (above == 0)).all()


def test_quantiles_of_probabilities_are_the_counts():
    trials = random.Binomial(40, 0.3)
    x = pt.dvector("x")
    back = [random.icdf(trials, random.cdf(trials, x)), random.isf(trials, random.sf(trials, x))]
    k = np.arange(31.0)
    of_cdf, of_sf = phintys.function([x], back)(k)
    np.testing.assert_array_equal(of_cdf[:25], k[:25])  # later ones have the probability 1
    np.testing.assert_array_equal(of_sf, k)


def test_quantiles_of_counts_do_not_change_with_parameters():
    p, q = pt.dscalars("p", "q")
    found = random.icdf(random.NegativeBinomial(3.0, p), q)
    slopes = phintys.grad(found, [p, q])
    value, *zero = phintys.function([p, q], [found, *slopes])(0.4, 0.7)
    assert value == scipy.stats.nbinom.ppf(0.7, 3.0, 0.4)
    assert zero == [0, 0]


def test_counts_are_truncated():
    draws = random.RandomStream(3).gen(random.Truncated(random.Poisson(3.0), 2, 5), size=4000)
    drawn = draws.eval()
    values = np.arange(2, 6)
    share = scipy.stats.poisson(3.0).pmf(values)
    expected = len(drawn) * share / share.sum()
    assert scipy.stats.chisquare(np.bincount(drawn)[2:], expected).pvalue > 1e-6


def test_numbers_with_probabilities_that_fall_slowly():
    a = pt.dscalar("a")
    ours, q = random.Zipf(a), np.array([1e-3, 0.3, 0.6, 0.9])
    k = np.array([1.0, 2.0, 40.0, 1e9])
    r = random.rng("r")
    asked = [ours.draw(r, 4000)[1], ours.isf(q), ours.logp(k), ours.logsf(k), ours.mean()]
    f = phintys.function([r, a], [*asked, phintys.grad(asked[2].sum(), a)])
    drawn, above, density, tail, mean, slope = f(random.state(5), 1.4)

    def above_exactly(k):
        return scipy.special.zeta(1.4, k + 1) / scipy.special.zeta(1.4)

    np.testing.assert_allclose(density, scipy.stats.zipf(1.4).logpmf(k))
    np.testing.assert_allclose(tail, np.log(above_exactly(k)))
    assert (above_exactly(above) <= q).all()
    assert (above_exactly(above - 1) > q).all()
    assert mean == np.inf
    moved = f(random.state(5), 1.4 + 1e-6)[2] - f(random.state(5), 1.4 - 1e-6)[2]
    np.testing.assert_allclose(slope, moved.sum() / 2e-6, rtol=1e-6)
    # NumPy's numbers are also those that fit in an int64.
    ends = np.array([0, 1, 2, 5, 100, 1e7, 2.0**63])
    shares = -np.diff(above_exactly(ends))
    counts = np.histogram(drawn.astype(float), ends + 0.5)[0]
    assert scipy.stats.chisquare(counts, 4000 * shares / shares.sum()).pvalue > 1e-6


def test_sums_of_probabilities_in_native_code():
    p, k, q = pt.dscalar("p"), np.array([1.0, 3.0, 30.0, 200.0]), np.array([1e-12, 0.3, 0.9])
    ours, exact = random.LogSeries(p), scipy.stats.logser(0.9)
    counts = random.BetaBinomial(40, 0.5, 1.0)
    asked = [ours.logsf(k), ours.logcdf(k), ours.icdf(q), ours.isf(q), counts.cdf(np.arange(41.0))]
    f = phintys.function([p], [*asked, phintys.grad(asked[0].sum(), p)])
    tail, below, quantiles, above, of_counts, slope = f(0.9)
    # The upper tail by its terms, of which SciPy has only those above 1e-16.
    terms = np.arange(1.0, 2000.0)
    exactly = [np.log(np.sum(0.9 ** terms[int(n) :] / terms[int(n) :])) for n in k]
    np.testing.assert_allclose(tail, np.array(exactly) - np.log(-np.log1p(-0.9)), rtol=1e-12)
    np.testing.assert_allclose(below, np.log1p(-np.exp(tail)), rtol=1e-12)
    np.testing.assert_array_equal(quantiles, exact.ppf(q))
    np.testing.assert_array_equal(above[1:], exact.isf(q[1:]))
    wanted = scipy.stats.betabinom(40, 0.5, 1.0).cdf(np.arange(41))
    np.testing.assert_allclose(of_counts, wanted, rtol=1e-10)
    moved = f(0.9 + 1e-6)[0].sum() - f(0.9 - 1e-6)[0].sum()
    np.testing.assert_allclose(slope, moved / 2e-6, rtol=1e-6)
