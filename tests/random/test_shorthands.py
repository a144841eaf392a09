"""Short names of distributions, for all kinds of generators, and generators from seeds."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import ArgumentError
from phintys.random.generators.shorthands import SHORTHANDS

TWINS = {
    "nbinom": (random.negative_binomial, (3.0, 0.5), (3.0, 0.5)),
    "randint": (random.integers, (2, 9), (2, 9)),
    "random": (random.uniform, (), (0.0, 1.0)),
    "standard_cauchy": (random.cauchy, (), (0.0, 1.0)),
    "standard_exponential": (random.exponential, (), (1.0,)),
    "standard_gamma": (random.gamma, (2.0,), (2.0, 1.0)),
    "standard_normal": (random.normal, (), (0.0, 1.0)),
    "standard_t": (random.t, (3.0,), (3.0, 0.0, 1.0)),
}


@pytest.mark.parametrize("name", SHORTHANDS)
def test_a_short_name_draws_as_the_distribution_does(name):
    function, given, parameters = TWINS[name]
    rng = random.default_rng(7)
    draw = getattr(random, name)(*given, size=4, rng=rng)
    wanted = function(*parameters, size=4, rng=rng).eval()
    np.testing.assert_array_equal(draw.eval(), wanted)
    _, of_method = getattr(rng, name)(*given, 4)
    np.testing.assert_array_equal(of_method.eval(), wanted)
    stream = random.RandomStream(7)
    assert getattr(stream, name)(*given, size=4, name="z").name == "z"


@pytest.mark.parametrize("name", sorted(set(SHORTHANDS) - {"nbinom", "randint"}))
def test_numpys_generators_keep_their_own_draws(name):
    given = TWINS[name][1]
    rng = random.as_rng(np.random.default_rng(3))
    _, draw = getattr(rng, name)(*given, size=4)
    wanted = getattr(np.random.default_rng(3), name)(*given, size=4)
    np.testing.assert_array_equal(draw.eval(), wanted)


def test_short_draws_take_a_dtype():
    assert random.random(size=2, dtype="float32").dtype == "float32"
    assert random.standard_normal(2).type.shape == (2,)


def test_default_rng_takes_symbolic_seeds():
    seed = pt.lscalar("seed")
    f = phintys.function([seed], random.default_rng(seed).normal(size=3)[1])
    np.testing.assert_array_equal(f(3), f(3))
    assert (f(3) != f(4)).all()


def test_as_rng_takes_generators_and_seeds():
    rng = random.rng("r")
    assert random.as_rng(rng) is rng
    for given in (5, random.state(5)):
        draw = random.as_rng(given).normal()[1]
        assert draw.eval() == random.default_rng(5).normal()[1].eval()
    with pytest.raises(ArgumentError, match="default_rng"):
        random.as_rng(pt.lscalar("seed"))


def test_sizes_are_vectors_or_none():
    n = pt.lscalar("n")
    size = random.normalize_size_param([n, 2])
    assert (size.type.dtype, size.type.shape) == ("int64", (2,))
    assert size.eval({n: 3}).tolist() == [3, 2]
    assert random.normalize_size_param(()).eval().shape == (0,)
    assert random.normalize_size_param(None).data is None
