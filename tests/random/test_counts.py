"""Samplers of integers: frequencies for parameters on both sides of their limits."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

import phintys
import phintys.tensor as pt
from phintys import random
from phintys.gradient import verify_grad
from phintys.random.samplers import counts as samplers

BITS = np.random.default_rng(7).integers(0, 2**64, 12_000, dtype="uint64")
CHECKED = 2000  # these are compared with the reference

CASES = {
    "poisson_number": (
        scipy.stats.poisson,
        [(0.3,), (9.9,), (10.0,), (300.0,), (1e7,)],
    ),
    "binomial_number": (
        scipy.stats.binom,
        [(7, 0.3), (19, 0.5), (40, 0.5), (400, 0.97), (10**6, 0.7)],
    ),
    "hypergeometric_number": (
        lambda good, bad, sample: scipy.stats.hypergeom(good + bad, good, sample),
        [(7, 5, 6), (100, 30, 70), (3, 50, 40), (1000, 2000, 300)],
    ),
}


@pytest.fixture(scope="module", params=CASES)
def sampler(request):
    """Return a sampler, its compiled function, SciPy's distribution, and parameters."""
    op, (twin, cases) = getattr(samplers, request.param), CASES[request.param]
    bits = pt.vector("bits", dtype="uint64")
    parameters = [pt.dscalar() for _ in cases[0]]
    return op, phintys.function([bits, *parameters], op(bits, *parameters)), twin, cases


def test_numbers_have_their_frequencies(sampler):
    op, f, twin, cases = sampler
    for parameters in cases:
        numbers, exact = f(BITS, *parameters), twin(*parameters)
        reference = op.impl(BITS[:CHECKED], *map(np.float64, parameters))
        np.testing.assert_array_equal(numbers[:CHECKED], reference)
        ends = np.unique(exact.ppf(np.linspace(0.002, 0.998, 40)))
        cells = np.diff(np.concatenate([[0.0], exact.cdf(ends), [1.0]]))
        counts = np.bincount(np.searchsorted(ends, numbers), minlength=len(cells))
        is_used = cells > 1e-12
        assert scipy.stats.chisquare(counts[is_used], len(BITS) * cells[is_used]).pvalue > 1e-6
        assert not counts[~is_used].any()


def test_certain_numbers(sampler):
    op, f, *_ = sampler
    cases = {
        "poisson_number": [((0.0,), 0)],
        "binomial_number": [((5, 0), 0), ((5, 1), 5), ((0, 0.4), 0), ((1e6, 1), 10**6)],
        "hypergeometric_number": [((5, 0, 3), 3), ((0, 5, 3), 0), ((4, 6, 10), 4), ((4, 6, 0), 0)],
    }
    for parameters, number in cases[op.name]:
        assert (f(BITS[:100], *parameters) == number).all()


def test_parameters_that_are_not_numbers_end(sampler):
    _, f, _, cases = sampler
    assert f(BITS[:20], *np.full(len(cases[0]), np.nan)).shape == (20,)


@pytest.mark.parametrize("count", [3, 10**9 + 7, 2**63 + 5])
def test_integers_below(count):
    """Of the last count, almost half of all words are drawn again; of 3, only the word 0 is."""
    bits, limit = pt.vector("bits", dtype="uint64"), np.uint64(count)
    few = np.concatenate([BITS[:CHECKED], np.arange(100, dtype="uint64")])
    found = phintys.function([bits], samplers.integer_below(bits, limit))(few)
    np.testing.assert_array_equal(found, samplers.integer_below.impl(few, limit))
    assert (found < limit).all()
    spread = (found[:CHECKED] + BITS[-CHECKED:] / 2.0**64) / count
    assert scipy.stats.kstest(spread, "uniform").pvalue > 1e-6
    if count == 3:
        assert not found[CHECKED + 1 :].any()
        assert found[CHECKED] == samplers.redrawn_below.impl(np.uint64(0), limit)


def test_derivatives_of_log_probabilities():
    def total(lam, p, q, beta):
        asked = [
            (random.Poisson(lam), 3),
            (random.Poisson(lam), 40),
            (random.Binomial(9, p), 9),
            (random.Binomial(50, p), 0),
            (random.Geometric(p), 4),
            (random.LogSeries(p), 2),
            (random.DiscreteWeibull(q, beta), 3),
            (random.OrderedLogistic(lam, pt.stack([p, beta])), np.arange(3)),
            (random.Categorical(pt.stack([p, 1 - p])), 1),
            (random.Categorical(logits=pt.stack([p, q])), 1),
        ]
        return sum(pt.sum(random.logp(distribution, value)) for distribution, value in asked)

    point = [np.array(x) for x in (2.5, 0.3, 0.6, 0.9)]
    verify_grad(total, point, rng=np.random.default_rng(8))


@pytest.mark.parametrize("x", [0.0, 1.0, 3.0])
def test_negative_binomial_densities_have_derivatives_by_n(x):
    n = pt.dscalar()
    slope = phintys.grad(random.NegativeBinomial(n, 0.35).logp(pt.constant(x)), n)
    found = slope.eval({n: 0.57})
    expected = np.log(0.35) + scipy.special.digamma(x + 0.57) - scipy.special.digamma(0.57)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
