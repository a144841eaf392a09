"""Default updates of generators that draw in loops, in graphs with other parameters."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import MissingInputError
from phintys.control import fori_loop, while_loop
from phintys.graph.cloning import clone_replace
from phintys.random import RandomStream

M, OTHER, MANY = pt.dscalar("m"), pt.dscalar("other"), pt.dvector("many")


def by_scan(stream):
    steps = phintys.scan(
        lambda h: h + stream.normal(M), None, pt.constant(0.0), n_steps=3, return_updates=False
    )
    return steps[-1]


def by_while(stream):
    _, last = while_loop(
        lambda carry: carry[0] < 3,
        lambda carry: (carry[0] + 1, carry[1] + stream.normal(M)),
        (0, pt.constant(0.0)),
    )
    return last


def by_fori(stream):
    return fori_loop(0, 3, lambda _, total: total + stream.normal(M), pt.constant(0.0))


def by_two(stream):
    return by_scan(stream) + by_fori(stream)


LOOPS = [by_scan, by_while, by_fori, by_two]


def numbers(y, variable, value):
    """Return what two calls return: the second one draws from the next state."""
    f = phintys.function([variable], y)
    return np.array([f(value), f(value)])


@pytest.mark.parametrize("make", LOOPS)
def test_a_graph_with_another_parameter_draws_the_same_numbers(make):
    expected = numbers(make(RandomStream(5)), M, 1.5)
    assert expected[0] != expected[1]
    y = make(RandomStream(5))
    (replaced,) = clone_replace([y], {M: OTHER * 3})
    np.testing.assert_array_equal(numbers(replaced, OTHER, 0.5), expected)


@pytest.mark.parametrize("make", LOOPS)
def test_a_batch_shares_the_numbers_of_a_loop(make):
    y = make(RandomStream(5))
    found = numbers(pt.vectorize_graph(y, {M: MANY}), MANY, [1.5, -1.0])
    for column, m in enumerate([1.5, -1.0]):
        np.testing.assert_allclose(found[:, column], numbers(make(RandomStream(5)), M, m))


N = pt.lscalar("n")
NUMBERS = {
    "draw": (N, lambda stream: stream.normal(size=(N,)).sum()),
    "loop": (N, lambda stream: phintys.scan(stream.normal, n_steps=N, return_updates=False).sum()),
    "loop of draws": (
        MANY,
        lambda stream: phintys.scan(
            lambda: stream.normal(MANY), n_steps=2, return_updates=False
        ).sum(),
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_an_unknown_number_of_draws_is_an_error_that_names_what_tells_it_and_what_mends_it(name):
    m, make = NUMBERS[name]
    value = [3.0, 4.0] if m.ndim else 3
    other = m.type("other")
    (y,) = clone_replace([make(RandomStream(5))], {m: other + 1})
    words = rf"Only the next value of <shared RandomType\(\)>.* needs {m}[\s\S]*givens={{{m}: value"
    with pytest.raises(MissingInputError, match=words):
        phintys.function([other], y)
    f = phintys.function([other], y, givens={m: other + 1})
    expected = numbers(make(RandomStream(5)), m, np.add(value, 1))
    np.testing.assert_array_equal([f(value), f(value)], expected)
    fixed = phintys.function([other], y, no_default_updates=True)
    assert fixed(value) == fixed(value)


def test_a_variable_that_is_missing_elsewhere_too_needs_a_value():
    with pytest.raises(MissingInputError, match="Add n to the inputs"):
        phintys.function([], NUMBERS["draw"][1](RandomStream(5)))
