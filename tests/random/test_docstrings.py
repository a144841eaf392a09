"""What the docstrings of distributions say: parameters, examples, and densities."""

import inspect
import math
import re

import numpy as np
import pytest
import scipy.special as sp

import phintys
from phintys import random
from phintys.random.distributions import DISTRIBUTIONS
from tests.random.records import RECORDS

pytestmark = pytest.mark.docstrings

CLASSES = {one.__name__: one for one in DISTRIBUTIONS.values()}
CLASSES |= {
    name: getattr(random, name)
    for name in ("Truncated", "Censored", "Mixture", "Hurdle", "Transformed", "ZeroInflated")
}

NAMES = {
    **{name: getattr(np, name) for name in ("exp", "log", "sqrt", "cos", "where", "pi")},
    "B": sp.beta,
    "I0": sp.i0,
    "abs": np.abs,
    "comb": sp.comb,
    "gamma": sp.gamma,
    "ndtr": sp.ndtr,
    "zeta": sp.zeta,
}

DENSITY = re.compile(r"The (?:density of (x)|probability of (k)) is\s+``(.*?)``\.", re.DOTALL)

# Without elementary functions of one line, or by a record of the tests: these have none.
WITHOUT_DENSITY = {"truncated_normal"}


def _sections(doc):
    """Return the text of each section of a docstring, by its title."""
    parts = re.split(r"^(\w+)\n-+\n", doc, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _documented(section):
    heads = [line for line in section.splitlines() if line and not line.startswith(" ")]
    return {name.strip() for head in heads for name in head.partition(" : ")[0].split(",")}


@pytest.mark.parametrize("name", CLASSES)
def test_parameters_and_an_example(name):
    sections = _sections(inspect.getdoc(CLASSES[name]))
    wanted = getattr(CLASSES[name], "defaults", None) or inspect.signature(CLASSES[name]).parameters
    assert _documented(sections["Parameters"]) >= set(wanted)
    assert ">>> " in sections["Examples"]


def test_densities_are_those_of_logp():
    """All in one function, at values inside of the support."""
    stated, asked = {}, {}
    for record in RECORDS:
        found = DENSITY.search(inspect.getdoc(DISTRIBUTIONS[record.method]))
        if found is None:
            assert record.method in WITHOUT_DENSITY
            continue
        parameters = record.parameters()
        values = record.exact().ppf(np.array([0.1, 0.45, 0.9])[:, None])
        letter, text = found[1] or found[2], " ".join(found[3].split())
        names = {**NAMES, **parameters, letter: values}
        stated[record.method] = eval(text, {"__builtins__": {}}, names) + np.zeros_like(values)
        distribution = DISTRIBUTIONS[record.method](**parameters)
        asked[record.method] = random.logp(distribution, values)
    logarithms = phintys.function([], list(asked.values()), mode="FAST_COMPILE")()
    assert len(asked) > 45
    for name, logarithm in zip(asked, logarithms, strict=True):
        np.testing.assert_allclose(np.log(stated[name]), logarithm, rtol=1e-9, err_msg=name)


def test_densities_of_angles_and_ranges():
    for one, at in ((random.VonMises(0.5, 2.0), 1.0), (random.DiscreteUniform(1, 6), 3.0)):
        found = DENSITY.search(inspect.getdoc(type(one)))
        known = {name: float(value.eval()) for name, value in one.parameters.items()}
        names = {**NAMES, **known, found[1] or found[2]: at}
        stated = eval(" ".join(found[3].split()), {"__builtins__": {}}, names)
        assert math.isclose(math.log(stated), float(random.logp(one, at).eval()), rel_tol=1e-12)


HOLDERS = {
    "streams": random.RandomStream,
    "generators": type(random.rng()),
    "functions": random,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_methods_and_functions_describe_their_parameters(holder):
    for name, distribution in DISTRIBUTIONS.items():
        method = getattr(HOLDERS[holder], name)
        sections = _sections(inspect.getdoc(method))
        wanted = {*inspect.signature(method).parameters} - {"self"}
        assert _documented(sections["Parameters"]) >= wanted - {"size"} | {"size"}, name
        assert "Returns" in sections, name
        assert distribution.__name__ in inspect.getdoc(method)
