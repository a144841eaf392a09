"""NumPy's generators as states: numbers equal NumPy's, bit by bit."""

import copy
import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import ArgumentError, ShapeError, TypeContractError
from phintys.random.generators.numpy_draws import NUMPY_METHODS

GENERATORS = {
    name: np.random.Generator(getattr(np.random, name)(17))
    for name in ("PCG64", "Philox", "MT19937", "SFC64")
}

CALLS = {
    "beta": (2.0, 3.0),
    "binomial": (10, 0.4),
    "chisquare": (3.0,),
    "dirichlet": ([1.0, 2.0, 3.0],),
    "exponential": (2.0,),
    "f": (3.0, 4.0),
    "gamma": (0.5, 2.0),
    "geometric": (0.3,),
    "gumbel": (1.0, 2.0),
    "hypergeometric": (10, 5, 7),
    "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "lognormal": (0.5, 0.75),
    "logseries": (0.6,),
    "multinomial": (10, [0.2, 0.3, 0.5]),
    "multivariate_hypergeometric": ([5, 6, 7], 4),
    "multivariate_normal": ([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]]),
    "negative_binomial": (5, 0.4),
    "noncentral_chisquare": (3.0, 1.5),
    "noncentral_f": (3.0, 4.0, 1.5),
    "normal": (1.0, 2.0),
    "pareto": (3.0,),
    "poisson": (4.0,),
    "power": (2.0,),
    "random": (),
    "rayleigh": (2.0,),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": (2.0,),
    "standard_normal": (),
    "standard_t": (5.0,),
    "triangular": (-1.0, 0.5, 2.0),
    "uniform": (-1.0, 3.0),
    "vonmises": (0.5, 2.0),
    "wald": (1.0, 2.0),
    "weibull": (1.5,),
    "zipf": (2.5,),
    "integers": (3, 40),
    "choice": ([1.5, 2.5, 3.5],),
}


def test_all_methods_are_called():
    assert set(CALLS) == {*NUMPY_METHODS, "integers", "choice"}


@pytest.fixture(scope="module")
def drawn():
    """Return the numbers of all methods, one after the other, for each kind of generator."""
    r, draws = random.random_generator_type("r"), {}
    after = r
    for name, given in CALLS.items():
        after, draws[name] = getattr(after, name)(*given, size=(2, 3))
    after, draws["single"] = after.normal()
    after, draws["permuted"] = after.permutation(np.arange(6.0).reshape(3, 2))
    after, draws["integers8"] = after.integers(7, size=5, dtype="int8", endpoint=True)
    after, draws["random32"] = after.random(5, dtype="float32")
    f = phintys.function([r], list(draws.values()))
    return {
        kind: dict(zip(draws, f(generator), strict=True)) for kind, generator in GENERATORS.items()
    }


@pytest.mark.parametrize("kind", GENERATORS)
def test_numbers_are_those_of_numpy(drawn, kind):
    generator = copy.deepcopy(GENERATORS[kind])
    expected = {
        name: getattr(generator, name)(*given, size=(2, 3)) for name, given in CALLS.items()
    }
    expected["single"] = generator.normal()
    expected["permuted"] = generator.permutation(np.arange(6.0).reshape(3, 2))
    expected["integers8"] = generator.integers(7, size=5, dtype="int8", endpoint=True)
    expected["random32"] = generator.random(5, dtype="float32")
    for name, wanted in expected.items():
        np.testing.assert_array_equal(drawn[kind][name], wanted, err_msg=name)
        assert drawn[kind][name].dtype == np.asarray(wanted).dtype, name


def test_generators_that_are_given_are_not_changed(drawn):
    fresh = np.random.Generator(np.random.PCG64(17))
    assert GENERATORS["PCG64"].bit_generator.state == fresh.bit_generator.state


def test_shared_generators_go_on_from_call_to_call():
    start = np.random.default_rng(3)
    r = phintys.shared(start, name="r")
    after, draw = r.standard_normal(2)
    x = pt.dvector("x")
    f = phintys.function([x], draw + x, updates={r: after})
    again = pickle.loads(pickle.dumps(f))
    expected = np.random.default_rng(3)
    np.testing.assert_array_equal(f([0, 0]), expected.standard_normal(2))
    state = r.get_value().bit_generator.state
    with pytest.raises(ShapeError, match=r"2 and 3|shape \(2,\)"):
        f([1.0, 2.0, 3.0])
    assert r.get_value().bit_generator.state == state
    np.testing.assert_array_equal(f([0, 0]), expected.standard_normal(2))
    np.testing.assert_array_equal(again([0, 0]), np.random.default_rng(3).standard_normal(2))
    assert start.bit_generator.state == np.random.default_rng(3).bit_generator.state
    r.set_value(np.random.default_rng(4))
    np.testing.assert_array_equal(f([0, 0]), np.random.default_rng(4).standard_normal(2))


def test_streams_of_numpys_generators():
    stream = random.RandomStream(1, rng_ctor=np.random.default_rng)
    draws = [
        stream.normal(1.0, 2.0, size=3),
        stream.gen(random.Normal(1.0, 2.0), size=3),
        stream.gen("normal", 1.0, 2.0, (3,)),
    ]
    f = phintys.function([], draws)
    first = f()
    for number, draw in enumerate(first):
        seed = np.random.SeedSequence(1, spawn_key=(number,))
        np.testing.assert_array_equal(draw, np.random.default_rng(seed).normal(1.0, 2.0, 3))
    assert len(np.unique([*first, *f()])) == 18


def test_other_distributions_are_drawn_from_a_state_that_the_generator_seeds():
    r = random.shared_rng(np.random.default_rng(5))
    after, draw = r.bernoulli(0.5, size=20)
    same = random.bernoulli(0.5, size=20, rng=r)
    _, later = after.bernoulli(0.5, size=20)
    one, two, three = phintys.function([], [draw, same, later])()
    np.testing.assert_array_equal(one, two)
    assert set(one) == {0, 1}
    assert list(one) != list(three)


def test_functions_draw_as_the_methods_of_numpy():
    r = random.random_generator_type("r")
    draws = {
        "beta": random.beta(2.0, 3.0, size=3, rng=r),
        "weibull": random.weibull(1.5, size=3, rng=r),
        "gamma": random.gamma(0.5, 2.0, size=3, rng=r),
        "binomial": random.binomial(10, [0.4, 0.4, 0.4], rng=r),
        "hypergeometric": random.hypergeometric(10, 5, 7, size=3, rng=r),
        "integers": random.integers(3, 40, size=3, rng=r),
        "choice": random.choice([1.5, 2.5, 3.5], size=3, rng=r),
        "permutation": random.permutation(5, rng=r),
    }
    found = phintys.function([r], list(draws.values()))(np.random.default_rng(8))
    for name, draw in zip(draws, found, strict=True):
        method = getattr(np.random.default_rng(8), name)
        wanted = method(5) if name == "permutation" else method(*CALLS[name], size=3)
        np.testing.assert_array_equal(draw, wanted, err_msg=name)


def test_loops_over_numpys_generators():
    r = random.random_generator_type("r")

    def step(state):
        after, draw = state.normal(size=2)
        return after, draw

    last, draws = phintys.scan(step, outputs_info=[r, None], n_steps=3, return_updates=False)
    generator = np.random.default_rng(6)
    after, looped = phintys.function([r], [last, draws])(generator)
    np.testing.assert_array_equal(looped, generator.normal(size=(3, 2)))
    assert random.random_generator_type.values_eq(after, generator)
    assert not random.random_generator_type.values_eq(after, np.random.default_rng(6))


def test_wrong_arguments_are_explained():
    r = random.random_generator_type("r")
    with pytest.raises(ArgumentError, match=r"beta .* parameters a, b; got \(1.0,\), {}"):
        r.beta(1.0)
    with pytest.raises(TypeContractError, match=r"Expected a numpy.random.Generator, got 3"):
        random.random_generator_type.filter(3)
