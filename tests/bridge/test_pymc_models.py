"""Whole models of PyMC, of the kinds that its users write: values and gradients are PyMC's own."""
# PyMC need not be installed.
# pyright: reportMissingImports=false

import numpy as np
import pytest

# Other packages warn on import: their warnings are no errors here.
pytestmark = pytest.mark.filterwarnings("default")
pm = pytest.importorskip("pymc", reason="PyMC is not installed", exc_type=ImportError)

import pytensor.tensor as pt  # noqa: E402
from pymc.distributions.dist_math import SplineWrapper  # noqa: E402
from pymc.math import BatchedDiag  # noqa: E402
from scipy.interpolate import InterpolatedUnivariateSpline  # noqa: E402
from scipy.sparse import csc_matrix, csr_matrix  # noqa: E402

import phintys  # noqa: E402
import phintys.bridge.pymc as bridge  # noqa: E402
from phintys.bridge.pytensor import callbacks, from_pytensor  # noqa: E402


def poisson_with_offsets(rng):
    """Counts of events in units of different exposure, with effects of groups and of a year."""
    group, year = rng.integers(0, 7, 60), rng.integers(0, 4, 60)
    exposure = rng.uniform(10.0, 100.0, 60)
    counts = rng.poisson(exposure * 0.05)
    with pm.Model(coords={"group": range(7), "year": range(4), "unit": range(60)}) as model:
        offset = pm.Data("offset", np.log(exposure), dims="unit")
        at, when = pm.Data("at", group, dims="unit"), pm.Data("when", year, dims="unit")
        level = pm.Normal("level", -3.0, 1.0)
        effect = pm.ZeroSumNormal("effect", sigma=0.5, dims="group")
        spread = pm.HalfNormal("spread", 1.0)
        trend = pm.GaussianRandomWalk(
            "trend", sigma=spread, init_dist=pm.Normal.dist(0, 1), dims="year"
        )
        rate = pm.math.exp(level + effect[at] + trend[when] + offset)
        pm.Poisson("counts", rate, observed=counts, dims="unit")
    return model


def mixture_of_normals(rng):
    """Vectors of two elements from three clusters, whose weights are unknown."""
    data = np.concatenate([rng.normal(center, 0.5, (15, 2)) for center in (-2.0, 0.0, 2.0)])
    with pm.Model() as model:
        weights = pm.Dirichlet("weights", np.full(3, 2.0))
        centers = pm.Normal("centers", [[-1.0], [0.0], [1.0]], 2.0, shape=(3, 2))
        scales = pm.InverseGamma("scales", 3.0, 1.0, shape=3)
        parts = [pm.MvNormal.dist(centers[at], pt.eye(2) * scales[at]) for at in range(3)]
        pm.Mixture("data", weights, parts, observed=data)
    return model


def walk_with_heavy_tails(rng):
    """A level that changes from day to day, seen with Student's noise and days without data."""
    seen = rng.standard_t(3, 50).cumsum() * 0.1 + rng.standard_t(3, 50) * 0.2
    seen[[5, 17, 30]] = np.nan
    with pm.Model() as model:
        step, noise = pm.HalfStudentT("step", nu=3, sigma=0.5), pm.HalfCauchy("noise", 0.5)
        degrees = pm.Gamma("degrees", 2.0, 0.1)
        start = pm.Normal.dist(0.0, 1.0)
        level = pm.RandomWalk(
            "level",
            innovation_dist=pm.StudentT.dist(nu=degrees, sigma=step),
            init_dist=start,
            steps=49,
        )
        pm.StudentT("seen", nu=degrees, mu=level, sigma=noise, observed=seen)
    return model


def hilbert_space_process(rng):
    """A Gaussian process by basis functions, for counts that vary more than Poisson's."""
    x = np.linspace(0.0, 10.0, 80)[:, None]
    counts = rng.negative_binomial(5, 0.4, 80)
    with pm.Model() as model:
        length, scale = pm.InverseGamma("length", 5.0, 5.0), pm.Exponential("scale", 1.0)
        process = pm.gp.HSGP(m=[15], c=1.5, cov_func=scale**2 * pm.gp.cov.ExpQuad(1, length))
        f = process.prior("f", X=x)
        pm.NegativeBinomial("counts", mu=pm.math.exp(f), alpha=pm.HalfNormal("alpha", 5.0),
                            observed=counts)  # fmt: skip
    return model


def multinomial_logit(rng):
    """Choices among four goods, one of them the reference, by features of buyer and good."""
    buyers, goods = rng.normal(size=(90, 3)), rng.normal(size=(90, 4, 2))
    chosen = rng.integers(0, 4, 90)
    with pm.Model() as model:
        by_buyer = pm.Normal("by_buyer", 0.0, 1.0, shape=(3, 3))
        by_good = pm.Laplace("by_good", 0.0, 1.0, shape=2)
        free = pt.concatenate([buyers @ by_buyer, pt.zeros((90, 1))], axis=1)
        utility = free + pt.dot(goods, by_good)
        pm.Categorical("chosen", p=pm.math.softmax(utility, axis=1), observed=chosen)
    return model


def survival_with_censoring(rng):
    """Times until an event, some of which end before: Weibull, and a hazard in pieces."""
    x = rng.normal(size=(70, 2))
    times, observed = rng.weibull(1.5, 70) * 3.0, rng.random(70) < 0.7
    bounds = np.array([0.0, 1.0, 2.0, 4.0, 20.0])
    exposure = np.clip(times[:, None] - bounds[:-1], 0.0, np.diff(bounds))
    failed = observed[:, None] & (times[:, None] > bounds[:-1]) & (times[:, None] <= bounds[1:])
    with pm.Model() as model:
        shape, beta = pm.Gamma("shape", 2.0, 1.0), pm.Normal("beta", 0.0, 1.0, shape=2)
        scale = pm.math.exp(x @ beta)
        latent = pm.Weibull.dist(alpha=shape, beta=scale)
        upper = np.where(observed, np.inf, times)
        pm.Censored("times", latent, lower=None, upper=upper, observed=times)
        log_hazard = pm.Normal("log_hazard", 0.0, 1.0, shape=4)
        hazard = pt.outer(scale, pt.exp(log_hazard))
        pm.Poisson("events", hazard * exposure + 1e-9, observed=failed.astype(int))
    return model


def penalized_spline(rng):
    """A smooth curve and its smoothness: a basis of B-splines, and differences of coefficients."""
    from scipy.interpolate import BSpline

    x = np.sort(rng.uniform(0.0, 1.0, 100))
    y = np.sin(6.0 * x) + rng.normal(size=100) * 0.2
    knots = np.concatenate([[0.0] * 3, np.linspace(0.0, 1.0, 12), [1.0] * 3])
    basis = BSpline.design_matrix(x, knots, 3).toarray()
    with pm.Model() as model:
        smooth = pm.Exponential("smooth", 1.0)
        raw = pm.Normal("raw", 0.0, 1.0, shape=basis.shape[1])
        weights = pm.Deterministic("weights", pt.cumsum(pt.cumsum(raw * smooth)) * 0.1)
        pm.Potential("rough", -0.5 * (pt.diff(weights, n=2) ** 2).sum() * 10.0)
        noise = pm.HalfNormal("noise", 1.0)
        pm.AsymmetricLaplace("y", mu=basis @ weights, b=1.0 / noise, q=0.3, observed=y)
    return model


def correlated_effects(rng):
    """Intercepts and slopes of groups that correlate, in units of their covariance."""
    group, x = rng.integers(0, 9, 80), rng.normal(size=80)
    with pm.Model() as model:
        deviations = pm.Exponential.dist(1.0, shape=2)
        factor, _, _ = pm.LKJCholeskyCov("factor", n=2, eta=2.0, sd_dist=deviations)
        unit = pm.Normal("unit", 0.0, 1.0, shape=(9, 2))
        effects = pm.Deterministic("effects", unit @ factor.T)
        mean = effects[group, 0] + effects[group, 1] * x
        pm.Normal("y", mean, pm.HalfNormal("noise", 1.0), observed=rng.normal(size=80))
    return model


def inflated_counts(rng):
    """Two kinds of counts with more zeros than usual, and proportions with both ends."""
    x = rng.normal(size=60)
    with pm.Model() as model:
        a, b = pm.Normal("a"), pm.Normal("b")
        psi = pm.Beta("psi", 2.0, 2.0)
        mean = pm.math.exp(a + b * x)
        many = rng.negative_binomial(3, 0.4, 60) * (rng.random(60) < 0.6)
        pm.ZeroInflatedNegativeBinomial("zinb", psi=psi, mu=mean, alpha=2.0, observed=many)
        pm.HurdlePoisson("hurdle", psi=psi, mu=mean, observed=rng.poisson(2.0, 60))
        alpha = pm.math.softplus(pt.stack([a, b, a * b]))
        pm.DirichletMultinomial(
            "parts", n=12, a=alpha, observed=rng.multinomial(12, [0.5, 0.3, 0.2], 8)
        )
        pm.OrderedProbit("grade", eta=a * x, cutpoints=np.array([-1.0, 0.5]),
                         observed=rng.integers(0, 3, 60))  # fmt: skip
        pm.VonMises("angle", b, psi * 5.0, observed=rng.uniform(-3.0, 3.0, 20))
        pm.ExGaussian("delay", a, 0.5, nu=psi, observed=rng.exponential(1.0, 20))
        pm.TruncatedNormal("bounded", a, 1.0, lower=-1.0, upper=2.0,
                           observed=rng.uniform(-1.0, 2.0, 15))  # fmt: skip
    return model


def switching_volatility(rng):
    """A GARCH model, whose variance is a loop, and a matrix-valued latent variable."""
    returns = rng.normal(size=60) * 0.5
    with pm.Model() as model:
        omega, alpha = pm.HalfNormal("omega", 0.5), pm.Beta("alpha", 2.0, 5.0)
        beta = pm.Beta("beta", 2.0, 2.0)
        pm.GARCH11("returns", omega=omega, alpha_1=alpha, beta_1=beta, initial_vol=0.5,
                   observed=returns)  # fmt: skip
        rows = np.array([[1.0, 0.3], [0.3, 1.0]])
        matrix, zero = rng.normal(size=(3, 2)), np.zeros((3, 2))
        scale = np.eye(3) * (0.5 + alpha)
        pm.MatrixNormal("matrix", mu=zero, rowcov=scale, colcov=rows, observed=matrix)
        pm.Wishart("scatter", nu=5, V=np.eye(2) * (1.0 + beta), observed=rows * 4.0)
    return model


MODELS = [
    poisson_with_offsets, mixture_of_normals, walk_with_heavy_tails, hilbert_space_process,
    multinomial_logit, survival_with_censoring, penalized_spline, correlated_effects,
    inflated_counts, switching_volatility,
]  # fmt: skip


def assert_pymcs(model, jitter):
    """Compare log-densities and gradients with PyMC's, near the initial point."""
    ours = bridge.compile_logp_dlogp(model)
    theirs = model.logp_dlogp_function(ravel_inputs=True, mode="FAST_COMPILE")
    theirs.set_extra_values({})
    for seed in range(3):
        x = ours.initial_point(seed, jitter=jitter)
        wanted_value, wanted = theirs(x)
        assert np.isfinite(wanted_value)
        value, gradient = ours(x)
        np.testing.assert_allclose(value, wanted_value, rtol=1e-9)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-9 * abs(wanted).max())
    assert not ours.function.vm.callback_nodes


@pytest.mark.parametrize("make", MODELS)
def test_values_and_gradients_are_pymcs(make):
    assert_pymcs(make(np.random.default_rng(20)), jitter=0.3)


@pytest.mark.parametrize("ext", ["extrapolate", "zeros", "const", "raise"])
@pytest.mark.parametrize("degree", [1, 3])
def test_splines_are_scipys(degree, ext):
    x = np.array([0.0, 0.5, 1.5, 2.0, 3.5, 5.0])
    spline = InterpolatedUnivariateSpline(x, np.sin(x), k=degree, ext=ext)
    at = np.array([0.2, 1.1, 1.5, 4.9]) if ext == "raise" else np.linspace(-1.0, 6.0, 29)
    wanted = SplineWrapper(spline)(pt.dvector("x"))
    ours, value = from_pytensor([*wanted.owner.inputs, wanted])
    assert bool(callbacks(value)) == (ext == "raise")
    f = phintys.function([ours], [value, phintys.grad(value.sum(), ours)])
    found, slopes = f(at)
    np.testing.assert_allclose(found, spline(at), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(slopes, spline.derivative()(at), rtol=1e-12, atol=1e-14)


def test_stacks_of_diagonal_matrices_are_pymcs():
    diagonals = pt.dmatrix("x")
    wanted = BatchedDiag()(diagonals)
    ours, value = from_pytensor([diagonals, wanted])
    assert not callbacks(value)
    f = phintys.function([ours], [value, phintys.grad((value**2).sum(), ours)])
    given = np.arange(6.0).reshape(2, 3)
    found, slopes = f(given)
    np.testing.assert_array_equal(found, wanted.eval({diagonals: given}))
    np.testing.assert_array_equal(slopes, 2 * given)


@pytest.mark.parametrize("make", [np.asarray, csr_matrix, csc_matrix])
def test_spatial_densities_are_pymcs(make):
    weights = np.triu(np.random.default_rng(4).random((9, 9)) < 0.5, 1).astype(float)
    with pm.Model() as model:
        alpha, tau = pm.Beta("alpha", 2, 2), pm.HalfNormal("tau", 1)
        mu = pm.Normal("mu", 0, 1, shape=9)
        pm.CAR("phi", mu=mu, W=make(weights + weights.T), alpha=alpha, tau=tau)
    assert_pymcs(model, jitter=0.3)
    density = bridge.compile_logp_dlogp(model)
    assert not density.function.vm.callback_nodes
    assert "evd" not in density.function.explain()  # the eigenvalues are constant


def test_interpolated_densities_are_pymcs():
    x = np.linspace(-2.0, 2.0, 9)
    with pm.Model() as model:
        y = pm.Interpolated("y", x, np.exp(-(x**2)))
        pm.Normal("z", y, 1.0, observed=0.3)
    assert_pymcs(model, jitter=0.3)
