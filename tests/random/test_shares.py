"""Dirichlet and multinomial numbers against SciPy."""

import numpy as np
import pytest
import scipy.stats

import phintys
import phintys.tensor as pt
from phintys import random
from phintys.gradient import NullGradientError, verify_grad

ALPHA = np.array([0.3, 2.0, 1.5])
P = np.array([0.2, 0.5, 0.3])
DRAWS = 4000


def has_frequencies(counts, exact):
    """Return whether integers occur as often as they should."""
    values = np.arange(int(exact.support()[1]) + 1)
    expected = len(counts) * exact.pmf(values)
    return scipy.stats.chisquare(np.bincount(counts, minlength=len(values)), expected).pvalue > 1e-6


def test_dirichlet():
    ours, exact = random.Dirichlet(ALPHA), scipy.stats.dirichlet(ALPHA)
    tiny = random.Dirichlet(np.full(3, 1e-4))
    x, stream = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]), random.RandomStream(1)
    asked = [ours.logp(x), ours.mean(), ours.variance(), ours.entropy()]
    draws = [stream.draw(ours, DRAWS), stream.draw(tiny, 100)]
    *answers, shares, ends = phintys.function([], [*asked, *draws])()
    expected = exact.logpdf(x.T), exact.mean(), exact.var(), exact.entropy()
    for answer, wanted in zip(answers, expected, strict=True):
        np.testing.assert_allclose(answer, wanted)
    np.testing.assert_allclose(shares.sum(-1), 1)
    for i, column in enumerate(shares.T):
        beta = scipy.stats.beta(ALPHA[i], ALPHA.sum() - ALPHA[i])
        assert scipy.stats.kstest(column, beta.cdf).pvalue > 1e-6
    np.testing.assert_allclose(ends.max(-1), 1, rtol=1e-3)  # also where all gamma numbers underflow
    assert np.isneginf(ours.logp([[0.5, 0.6, 0.1], [-0.5, 0.5, 1.0]]).eval()).all()


def test_derivatives():
    def total(alpha, x):
        share = x / x.sum()
        return random.Dirichlet(alpha).logp(share) + random.DirichletMultinomial(8, alpha).logp(
            [2, 5, 1]
        )

    verify_grad(total, [ALPHA, P], rng=np.random.default_rng(2))
    alpha = pt.dvector("alpha")
    square = (random.RandomStream(3).dirichlet(alpha, 20_000)[:, 0] ** 2).mean()
    slope = phintys.grad(square, alpha).eval({alpha: ALPHA})
    step = 1e-5 * np.eye(3)

    def moment(a):
        return a[0] * (a[0] + 1) / (a.sum() * (a.sum() + 1))

    wanted = [(moment(ALPHA + one) - moment(ALPHA - one)) / 2e-5 for one in step]
    np.testing.assert_allclose(slope, wanted, atol=0.01)


def test_multinomial():
    stream = random.RandomStream(4)
    several = random.Multinomial(10, P)
    compound = random.DirichletMultinomial(8, ALPHA)
    x = np.array([[2, 5, 3], [10, 0, 0], [1, 1, 1]])
    counts, mixed, batch, density, of_compound = phintys.function(
        [],
        [
            stream.draw(several, DRAWS),
            stream.draw(compound, DRAWS),
            stream.multinomial(np.array([3, 4]), np.stack([P, [0.0, 0.0, 1.0]]), (5, 2)),
            several.logp(x),
            compound.logp([2, 5, 1]),
        ],
    )()
    assert counts.dtype == "int64"
    assert (counts.sum(-1) == 10).all()
    assert (mixed.sum(-1) == 8).all()
    for i in range(3):
        assert has_frequencies(counts[:, i], scipy.stats.binom(10, P[i]))
        rest = ALPHA.sum() - ALPHA[i]
        assert has_frequencies(mixed[:, i], scipy.stats.betabinom(8, ALPHA[i], rest))
    np.testing.assert_array_equal(batch.sum(-1), [[3, 4]] * 5)
    np.testing.assert_array_equal(batch[:, 1], [[0, 0, 4]] * 5)
    exact = scipy.stats.multinomial(10, P)
    np.testing.assert_allclose(density, exact.logpmf(x))
    np.testing.assert_allclose(
        of_compound, scipy.stats.dirichlet_multinomial(ALPHA, 8).logpmf([2, 5, 1])
    )
    covariance = np.cov(counts.T)
    assert abs(covariance - exact.cov()).max() < 0.35


def test_counts_have_no_derivatives():
    p = pt.dvector("p")
    draw = random.RandomStream(5).multinomial(4, p, 3)
    with pytest.raises(NullGradientError, match="draws from Multinomial are integers"):
        phintys.grad((1.0 * draw).sum(), p)


def test_negative_binomial_by_its_mean():
    ours, exact = random.NegativeBinomial(mu=3.0, alpha=2.0), scipy.stats.nbinom(2, 0.4)
    np.testing.assert_allclose(random.logp(ours, np.arange(5)).eval(), exact.logpmf(np.arange(5)))
    with pytest.raises(TypeError, match="takes n and p, or mu and alpha"):
        random.NegativeBinomial(2.0, mu=3.0)
