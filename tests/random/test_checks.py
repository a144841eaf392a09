"""Checks of parameters: what they say, which are made, and how they are switched off."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import config, random
from phintys._base.errors import DomainError
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
