"""Checks of parameters: what they say, which are made, and how they are switched off."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import config, random
from phintys._base.errors import ArgumentError, DomainError, DtypeError
from phintys.random.distributions import checks

R = random.random_type("r")
STATE = random.state(1)

CONSTANTS = {
    "a negative scale": (lambda: R.normal(0, -1), "Normal: scale must not be negative, got -1"),
    "one of several": (lambda: R.normal(0.0, [1.0, -2.0]), r"got \[ 1. -2.\]"),
    "in float32": (lambda: R.normal(0.0, -1.0, dtype="float32"), "Normal: scale"),
    "a probability": (lambda: random.bernoulli(1.5), "p must be between 0 and 1, got 1.5"),
    "ends": (lambda: R.uniform(3.0, 1.0), "Uniform: high must not be below low, got 1.0"),
    "a shape": (lambda: random.RandomStream(1).weibull(0.0), "Weibull: a must be positive"),
    "a density": (lambda: random.logp(random.Normal(0, -1), 0.0), "Normal: scale"),
    "a quantile": (lambda: random.icdf(random.Normal(0, -1), 0.5), "Normal: scale"),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_checked_at_once(name):
    draw, message = CONSTANTS[name]
    with pytest.raises(DomainError, match=message):
        draw()


def test_values_are_checked_at_run_time_and_the_line_is_named():
    scale, p, low = pt.dscalar("scale"), pt.dvector("p"), pt.dscalar("low")
    normal = R.normal(0.0, scale, size=2)[1]
    bernoulli = R.bernoulli(p)[1]
    uniform = R.uniform(low, 2.0)[1]
    density = random.logp(random.Normal(0.0, scale), 0.0)
    inputs = [R, scale, p, low]
    f = phintys.function(inputs, [normal, bernoulli, uniform], on_unused_input="ignore")
    g = phintys.function(inputs, density, on_unused_input="ignore")
    for scale, p, low, of, value in (
        (-1.5, [0.5], 0.0, "Normal: scale must not", "-1.5"),
        (1.0, [0.5, 1.5], 0.0, "Bernoulli: p must", "1.5"),
        (1.0, [0.5], 3.0, "Uniform: high must not be below low", "2."),
    ):
        with pytest.raises(DomainError, match=of) as caught:
            f(STATE, scale, p, low)
        notes = "\n".join(caught.value.__notes__)
        assert __file__ in notes
        assert f"{of.partition(':')[0].lower()} = R." in notes
        assert value in notes
    with pytest.raises(DomainError, match="Normal: scale"):
        g(STATE, -1.0, [0.5], 0.0)
    assert np.isnan(f(STATE, np.nan, [0.5], 0.0)[0]).all()
    assert f(STATE, 0.0, [0.0, 1.0], 2.0)[1].tolist() == [0, 1]


def checks_in(expression):
    """Return how many nodes check a parameter."""
    nodes = phintys.graph.toposort([expression])
    return sum(isinstance(node.op, pt.CheckAndRaise) for node in nodes)


def test_what_needs_no_check_or_is_not_stored_has_none():
    x, v = pt.dscalar("x"), pt.dvector("v")
    assert checks_in(R.normal(x, 1.0)[1]) == 0
    assert checks_in(R.normal(0.0, pt.exp(x))[1]) == 0
    assert checks_in(R.bernoulli(pt.sigmoid(v))[1]) == 0
    assert checks_in(R.normal(0.0, v)[1]) == checks_in(R.normal(0.0, v[:, None])[1]) == 1
    assert checks_in(R.normal(0.0, x + 1)[1]) == 1
    assert checks_in(R.normal(0.0, v + 1)[1]) == 0
    with config.change_flags(parameter_checks="all"):
        assert checks_in(R.normal(0.0, v + 1)[1]) == 1
    with config.change_flags(parameter_checks="off"):
        assert checks_in(R.normal(0.0, x)[1]) == 0
        assert np.isfinite(random.normal(0.0, -1.0).eval())


def test_domains_of_users():
    class Die(random.Distribution):
        """Which face of a die is up."""

        defaults = {"faces": [0.5, 0.5]}
        domains = {"faces": checks.probabilities}

        def draw(self, rng, size=None):
            after, u = rng.uniform(size=size)
            return after, pt.cumsum(self.faces).searchsorted(u)

    faces = pt.dvector("faces")
    f = phintys.function([faces], random.RandomStream(1).gen(Die, faces, size=50))
    assert set(f([0.5, 0.0, 0.5])) == {0, 2}
    for wrong in ([0.5, 0.6], [1.5, -0.5]):
        with pytest.raises(DomainError, match="Die: faces must not be negative and have the sum 1"):
            f(wrong)


def _on(method, *parameters, **named):
    return lambda: getattr(random.RandomStream(1), method)(*parameters, **named)


REFUSED = {
    "an empty range": (_on("integers", 5, 5), DomainError, "high must be above low, got 5"),
    "no integers": (_on("integers", 0), DomainError, "Integers: low must be positive, got 0"),
    "nothing to choose from": (_on("choice", -3), DomainError, "Choice: a must be positive"),
    "no success": (_on("geometric", 0.0), DomainError, "p must be above 0 and at most 1"),
    "certain repetition": (_on("logseries", 1.0), DomainError, "p must be at least 0 and below 1"),
    "no death": (_on("discrete_weibull", 1.0), DomainError, "q must be at least 0 and below 1"),
    "integers of NaN": (_on("poisson", np.nan), DomainError, "Poisson: lam .* got nan"),
    "categories of NaN": (_on("categorical", [np.nan, 0.5]), DomainError, "Categorical: p"),
    "ends of a truncation": (
        _on("gen", random.Truncated(random.Normal(), 2.0, 1.0)),
        DomainError,
        "Truncated: upper must not be below lower",
    ),
    "few degrees of freedom": (_on("wishart", 0.5, np.eye(3)), DomainError, "Wishart: df must be"),
    "a long direction": (
        _on("von_mises_fisher", [2.0, 0.0]),
        DomainError,
        "mu must be of length 1",
    ),
    "parts that are vectors": (
        lambda: random.Truncated(random.Dirichlet([1.0, 2.0])),
        ArgumentError,
        "those of Dirichlet are arrays",
    ),
    "a distribution as a parameter": (
        _on("normal", random.Normal()),
        ArgumentError,
        "got the distribution Normal",
    ),
    "a class": (_on("draw", random.Normal), ArgumentError, r"such as Normal\(…\), got the class"),
    "half precision": (_on("normal", dtype="float16"), DtypeError, r"draw.astype\('float16'\)"),
    "integers of floats": (_on("normal", dtype=int), DtypeError, r"draw.round\(\).astype"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_uses_are_refused(name):
    use, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        use()


def test_ranges_are_checked_at_run_time():
    n, lam = pt.lscalar("n"), pt.dscalar("lam")
    stream = random.RandomStream(1)
    f = phintys.function([n], [stream.integers(n, size=2), stream.choice(n, 2)])
    assert [draws.tolist() for draws in f(1)] == [[0, 0], [0, 0]]
    with pytest.raises(DomainError, match="Integers: low must be positive"):
        f(0)
    draw = phintys.function([lam], stream.poisson(lam))
    with pytest.raises(DomainError, match="Poisson: lam must not be negative"):
        draw(np.nan)
    assert np.isnan(random.logp(random.Poisson(np.nan), 1.0).eval())


METHODS = ["cdf", "sf", "logcdf", "logsf", "icdf", "isf", "logp"]


@pytest.mark.parametrize("method", [*METHODS, "mean", "variance", "stddev", "entropy", "median"])
def test_methods_check_parameters_as_functions_do(method):
    arguments = [0.5] if method in METHODS else []
    with pytest.raises(DomainError, match="Normal: scale must not be negative, got -1"):
        getattr(random.Normal(0, -1), method)(*arguments)


def test_methods_that_a_distribution_defines_itself_check_parameters():
    """Also those of users, each parameter once."""

    class Shifted(random.Distribution):
        defaults = {"away": 1.0}
        domains = {"away": checks.positive}

        def logp(self, value):
            return self.cdf(value) - self.away

        def cdf(self, value):
            return value * self.away

    with pytest.raises(DomainError, match="Shifted: away must be positive"):
        Shifted(-1.0).logp(0.0)
    with pytest.raises(DomainError, match="Poisson: lam must not be negative"):
        random.Poisson(-1.0).logp(2.0)
    with pytest.raises(DomainError, match="mu must be of length 1"):
        random.VonMisesFisher([2.0, 0.0]).logp([1.0, 0.0])
    away = pt.dscalar("away")
    assert checks_in(Shifted(away).logp(1.0)) == 1
    assert checks_in(random.logp(Shifted(away), 1.0)) == 1
    density = phintys.function([away], Shifted(away).logp(1.0))
    with pytest.raises(DomainError, match="Shifted: away must be positive"):
        density(0.0)
