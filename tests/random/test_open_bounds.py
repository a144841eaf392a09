"""Gradients of densities with finite and infinite bounds, against differences of their values.

Bounds are known to be infinite when the gradient is built, or only when it is computed.
"""

import numpy as np
import pytest

import phintys
import phintys.random as pr
import phintys.tensor as pt
from phintys.compile import Mode
from phintys.passes import PIPELINES

INF = np.inf
STEP = 1e-6
a, b = pt.dscalars("a", "b")  # drawn from 0.2 to 1.5
value, lower, upper = pt.dvector("value"), pt.dscalar("lower"), pt.dscalar("upper")

CONTINUOUS = {
    "Normal": lambda: pr.Normal(a, b),
    "Laplace": lambda: pr.Laplace(a, b),
    "Logistic": lambda: pr.Logistic(a, b),
    "Gumbel": lambda: pr.Gumbel(a, b),
    "Cauchy": lambda: pr.Cauchy(a, b),
    "StudentT": lambda: pr.StudentT(5.0, a, b),
    "Exponential": lambda: pr.Exponential(b),
    "Gamma": lambda: pr.Gamma(a + 1, b),
    "InverseGamma": lambda: pr.InverseGamma(a + 1, b),
    "Weibull": lambda: pr.Weibull(a + 1, b),
    "LogNormal": lambda: pr.LogNormal(a, b),
    "HalfNormal": lambda: pr.HalfNormal(0.0, b),
    "HalfCauchy": lambda: pr.HalfCauchy(0.0, b),
    "Uniform": lambda: pr.Uniform(a - 5, b + 5),
    "Moyal": lambda: pr.Moyal(a, b),
    "LogLogistic": lambda: pr.LogLogistic(a + 1, b),
    "AsymmetricLaplace": lambda: pr.AsymmetricLaplace(a, b, 1.3),
}
DISCRETE = {
    "Poisson": lambda: pr.Poisson(b),
    "Geometric": lambda: pr.Geometric(b / 3),
    "NegativeBinomial": lambda: pr.NegativeBinomial(a + 2, b / 3),
}
# What is known of a bound decides how a graph is rewritten, and not how code is made of it.
REWRITTEN = Mode("reference", PIPELINES["full"], name="rewritten")
FORMS = {"Truncated": pr.Truncated, "Censored": pr.Censored}


def draw_bounds(rng, is_discrete):
    """Return bounds, each infinite half of the time, and numbers from one to the other."""
    low = rng.uniform(0.3, 2)
    high = low + rng.uniform(0.5, 2)
    if is_discrete:
        low, high = np.ceil(low), np.ceil(high) + 1
    bounds = [low if rng.random() < 0.5 else -INF, high if rng.random() < 0.5 else INF]
    numbers = rng.uniform(low, high, 3)
    ends = [bound for bound in bounds if np.isfinite(bound)]
    numbers = [low, high] if is_discrete else [*numbers, *ends]
    return bounds, np.array(numbers)


def compiled(distribution, mode=None):
    """Return a function of the parameters, numbers and bounds: density and gradient."""
    density = pr.logp(distribution, value).sum()
    gradient = phintys.grad(density, [a, b], disconnected_inputs="ignore")
    inputs = [a, b, value, lower, upper]
    return phintys.function(inputs, [density, *gradient], mode=mode, on_unused_input="ignore")


def check(f, rng, bounds, numbers):
    point = rng.uniform(0.2, 1.5, 2)
    density, *gradient = f(*point, numbers, *bounds)
    assert np.isfinite(density), (point, numbers, bounds)
    for found, step in zip(gradient, np.eye(2) * STEP, strict=True):
        above, below = (f(*(point + sign * step), numbers, *bounds)[0] for sign in (1, -1))
        expected = (above - below) / (2 * STEP)
        assert abs(found - expected) < 1e-4 * (1 + abs(expected)), (point, numbers, bounds)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CONTINUOUS | DISCRETE)
def test_bounds_of_run_time(name, form, repeats):
    distribution = FORMS[form]((CONTINUOUS | DISCRETE)[name](), lower, upper)
    f = compiled(distribution)
    rng = np.random.default_rng(5)
    for _ in range(repeats(12, 2_000)):
        check(f, rng, *draw_bounds(rng, name in DISCRETE))


@pytest.mark.sampled(5, 1)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CONTINUOUS | DISCRETE)
def test_known_bounds(name, form, repeats):
    rng = np.random.default_rng(6)
    for _ in range(repeats(1, 40)):
        bounds, numbers = draw_bounds(rng, name in DISCRETE)
        distribution = FORMS[form]((CONTINUOUS | DISCRETE)[name](), *bounds)
        check(compiled(distribution, REWRITTEN), rng, bounds, numbers)


def test_standardized_by_hand():
    """Both ends of a censored normal, of which one is open, written with functions of pt."""
    loc, scale = pt.dscalars("loc", "scale")
    ends = np.array([-INF, 0.5, INF])
    log_cdf = pt.log(pt.special.ndtr((ends - loc) / scale))
    density = pt.switch(np.isfinite(ends), log_cdf, 0).sum()
    shares = pt.erf((ends - loc) / (scale * np.sqrt(2))).sum()
    f = phintys.function(
        [loc, scale], phintys.grad(density + shares, [loc, scale]), mode="reference"
    )
    g = phintys.function([loc, scale], density + shares)
    for i, found in enumerate(f(0.2, 1.5)):
        step = np.eye(2)[i] * STEP
        expected = (g(*(np.array([0.2, 1.5]) + step)) - g(*(np.array([0.2, 1.5]) - step))) / (
            2 * STEP
        )
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_where_no_part_of_a_mixture_has_a_density():
    mixture = pr.Mixture(pt.stack([a, b]), [pr.Uniform(0.0, 1.0), pr.Uniform(2.0, 3.0)])
    gradient = phintys.grad(pr.logp(mixture, np.array([1.5, 0.5])).sum(), [a, b])
    found = phintys.function([a, b], gradient)(0.25, 0.75)
    np.testing.assert_allclose(found, [1 / 0.25 - 1, -1])
