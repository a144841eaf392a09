"""Distributions that are made of others."""

import numpy as np
import pytest
import scipy.stats as st

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import (
    ArgumentError,
    DomainError,
    MethodNotDefinedError,
    NullGradientError,
)
from phintys.random import (
    Censored,
    Exponential,
    Gamma,
    Geometric,
    Hurdle,
    Mixture,
    Normal,
    Poisson,
    Transformed,
    Truncated,
    ZeroInflated,
)

X = np.array([-2.0, -0.5, 0.0, 0.7, 1.0, 2.5, 6.0])
COUNTS = np.arange(-1.0, 7.0)
Q = np.array([1e-6, 0.2, 0.5, 0.9])


def answers(*expressions):
    return phintys.function([], list(expressions), mode="FAST_COMPILE")()


@pytest.mark.parametrize(("lower", "upper"), [(-0.5, 2.0), (8.0, np.inf), (-np.inf, -9.0)])
def test_truncated_normal_numbers_also_far_in_a_tail(lower, upper):
    ours = Truncated(Normal(0.5, 2.0), lower, upper)
    twin = st.truncnorm((lower - 0.5) / 2, (upper - 0.5) / 2, 0.5, 2)
    x = twin.ppf([0.01, 0.4, 0.99])
    at = np.concatenate([x, [-30.0, 30.0]])
    results = answers(
        random.logp(ours, at), random.cdf(ours, x), random.sf(ours, x), random.icdf(ours, Q)
    )
    wanted = twin.logpdf(at), twin.cdf(x), twin.sf(x), twin.ppf(Q)
    for result, exact in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, exact, rtol=1e-9)


def test_truncated_normal_numbers_as_a_method():
    """The same draws as those of the truncated distribution; moments with infinite ends too."""
    r, loc, scale = random.rng("r"), pt.dscalar("loc"), pt.dscalar("scale")
    ends = [(-0.5, 2.0), (1.0, np.inf), (-np.inf, 0.3), (-np.inf, np.inf), (6.0, 9.0)]
    asked, wanted = [], []
    for lower, upper in ends:
        one = random.TruncatedNormal(mu=loc, sigma=scale, lower=lower, upper=upper)
        # SciPy's entropy is NaN at infinite ends.
        near, far = max(lower, -40.0), min(upper, 40.0)
        twin = st.truncnorm((near - 0.5) / 2, (far - 0.5) / 2, 0.5, 2)
        asked += [random.mean(one), random.variance(one), random.entropy(one), one.mode()]
        wanted += [*twin.stats("mv"), twin.entropy(), np.clip(0.5, lower, upper)]
    f = phintys.function([loc, scale], [*asked, *phintys.grad(sum(asked), [loc, scale])])
    *found, along, across = f(0.5, 2.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    for slope, step in ((along, (1e-6, 0)), (across, (0, 1e-6))):
        up, down = (sum(f(0.5 + sign * step[0], 2 + sign * step[1])[:-2]) for sign in (1, -1))
        np.testing.assert_allclose(slope, (up - down) / 2e-6, rtol=1e-6)
    (_, ours), (_, same) = (
        r.truncated_normal(0.5, 2.0, -0.5, 2.0, size=9),
        r.draw(Truncated(Normal(0.5, 2.0), -0.5, 2.0), 9),
    )
    np.testing.assert_array_equal(*phintys.function([r], [ours, same])(random.state(1)))
    with pytest.raises(DomainError, match="TruncatedNormal: upper must not be below lower"):
        r.truncated_normal(lower=2.0, upper=1.0)


def test_truncated_counts():
    ours, twin = Truncated(Geometric(0.3), lower=3, upper=5), st.geom(0.3)
    share = twin.cdf(5) - twin.cdf(2)
    inside = (COUNTS >= 3) & (COUNTS <= 5)
    logp, cdf = answers(random.logp(ours, COUNTS), random.cdf(ours, COUNTS[4:]))
    np.testing.assert_allclose(np.exp(logp), np.where(inside, twin.pmf(COUNTS) / share, 0))
    wanted = (twin.cdf(np.clip(COUNTS[4:], 2, 5)) - twin.cdf(2)) / share
    np.testing.assert_allclose(cdf, wanted, rtol=1e-12)


def test_censored_numbers():
    ours, twin = Censored(Normal(0.5, 2.0), -0.5, 1.0), st.norm(0.5, 2)
    logp, cdf, icdf = answers(random.logp(ours, X), random.cdf(ours, X), random.icdf(ours, Q))
    inside = twin.logpdf([0.0, 0.7])
    ends = twin.logcdf(-0.5), twin.logsf(1.0)
    wanted = [-np.inf, ends[0], *inside, ends[1], -np.inf, -np.inf]
    np.testing.assert_allclose(logp, wanted, rtol=1e-12)
    np.testing.assert_allclose(cdf, [0, *twin.cdf([-0.5, 0, 0.7]), 1, 1, 1], rtol=1e-12)
    np.testing.assert_allclose(icdf, np.clip(twin.ppf(Q), -0.5, 1.0), rtol=1e-12)


def test_mixtures():
    weights, loc, scale = np.array([0.2, 0.5, 0.3]), np.array([-1.0, 0, 3]), np.array([1.0, 2, 0.5])
    ours = Mixture(weights, [Normal(loc[i], scale[i]) for i in range(3)])
    batched = Mixture(weights, Normal(loc, scale))
    twin = st.norm(loc, scale)
    logp, same, cdf, mean, variance = answers(
        random.logp(ours, X),
        random.logp(batched, X),
        random.cdf(ours, X),
        random.mean(ours),
        random.variance(ours),
    )
    np.testing.assert_allclose(np.exp(logp), twin.pdf(X[:, None]) @ weights, rtol=1e-12)
    np.testing.assert_array_equal(same, logp)
    np.testing.assert_allclose(cdf, twin.cdf(X[:, None]) @ weights, rtol=1e-12)
    np.testing.assert_allclose(mean, weights @ loc)
    np.testing.assert_allclose(variance, weights @ (scale**2 + loc**2) - (weights @ loc) ** 2)


def test_more_zeros_and_hurdles():
    twin = st.poisson(2.5)
    more, hurdle = ZeroInflated(0.6, Poisson(2.5)), Hurdle(0.6, Poisson(2.5))
    logp, cdf, mean, other, up_to, variance = answers(
        random.logp(more, COUNTS),
        random.cdf(more, COUNTS),
        random.mean(more),
        random.logp(hurdle, COUNTS),
        random.cdf(hurdle, COUNTS),
        random.variance(hurdle),
    )
    p = 0.6 * twin.pmf(COUNTS) + 0.4 * (COUNTS == 0)
    np.testing.assert_allclose(np.exp(logp), p, rtol=1e-12)
    np.testing.assert_allclose(cdf, np.cumsum(p), rtol=1e-12)
    np.testing.assert_allclose(mean, 1.5)
    q = np.where(COUNTS == 0, 0.4, 0.6 * twin.pmf(COUNTS) / twin.sf(0))
    np.testing.assert_allclose(np.exp(other), q, rtol=1e-12)
    np.testing.assert_allclose(up_to, np.cumsum(q), rtol=1e-12)
    k = np.arange(60)
    shares = np.where(k == 0, 0.4, 0.6 * twin.pmf(k) / twin.sf(0))
    np.testing.assert_allclose(variance, shares @ k**2 - (shares @ k) ** 2)


def test_transformed_numbers():
    growing = Transformed(Normal(0.3, 0.8), pt.exp, pt.log, support=(0.0, np.inf))
    falling = Transformed(
        Exponential(2.0), lambda x: pt.exp(-x), lambda y: -pt.log(y), (0.0, 1.0), False
    )
    x = np.array([0.2, 0.9])
    for ours, twin in (
        (growing, st.lognorm(0.8, scale=np.exp(0.3))),
        (falling, st.powerlaw(0.5)),
    ):
        logp, cdf, icdf = answers(random.logp(ours, x), random.cdf(ours, x), random.icdf(ours, Q))
        np.testing.assert_allclose(logp, twin.logpdf(x), rtol=1e-12)
        np.testing.assert_allclose(cdf, twin.cdf(x), rtol=1e-12)
        np.testing.assert_allclose(icdf, twin.ppf(Q), rtol=1e-9)


def test_draws():
    """Shares up to some numbers, within six standard deviations; native as the reference."""
    distributions = [
        Truncated(Gamma(2.0, 1.0), 0.5, 3.0),
        Truncated(Geometric(0.3), 3, 6),
        Censored(Normal(0.5, 2.0), -0.5, 1.0),
        Mixture([0.3, 0.7], [Normal(-1.0, 1.0), Gamma(2.0, 1.5)]),
        ZeroInflated(0.6, Poisson(2.5)),
        Hurdle(0.6, Geometric(0.3)),
        Hurdle(0.6, Exponential(2.0)),
        Transformed(Gamma(2.0, 1.0), pt.log, pt.exp),
    ]
    r, at = random.rng("r"), np.array([-0.6, -0.5, 0.0, 0.9, 1.0, 2.0, 4.0])
    draws = [r.draw(one, 4000)[1] for one in distributions]
    expected = answers(*(random.cdf(one, at) for one in distributions))
    native = phintys.function([r], draws)(random.state(3))
    reference = phintys.function([r], draws, mode="FAST_COMPILE")(random.state(3))
    for ours, made, same, p in zip(distributions, native, reference, expected, strict=True):
        np.testing.assert_allclose(made, same, rtol=1e-10, atol=1e-14)
        assert made.dtype == ours.dtype
        shares = (made[:, None] <= at).mean(axis=0)
        assert (abs(shares - p) <= 6 * np.sqrt(p * (1 - p) / 4000) + 1e-12).all(), ours


def test_derivatives_of_draws_of_parts():
    r, loc, weight = random.rng("r"), pt.dscalar("loc"), pt.dscalar("weight")
    mixture = Mixture(pt.stack([weight, 1 - weight]), [Normal(loc, 1.0), Normal(5.0, 1.0)])
    draw = r.draw(mixture, 1000)[1]
    slope = phintys.grad(draw.mean(), loc).eval({r: random.state(1), loc: 0.0, weight: 0.3})
    assert 0.2 < slope < 0.4  # the share of the first part
    with pytest.raises(NullGradientError, match="jump from one part to another as weights changes"):
        phintys.grad(draw.mean(), weight)


def test_wrong_parts_are_refused():
    with pytest.raises(ArgumentError, match="Truncated is made of distributions such as Normal"):
        Truncated(3.0)
    with pytest.raises(ArgumentError, match="2 components"):
        Mixture([0.2, 0.3, 0.5], [Normal(), Normal()])
    with pytest.raises(MethodNotDefinedError, match="Mixture has no closed quantile function"):
        random.icdf(Mixture([0.5, 0.5], [Normal(), Normal()]), 0.5)
