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


def test_an_update_that_depends_on_a_replaced_variable_is_an_error_that_names_it():
    m = pt.dvector("m")
    y = RandomStream(5).normal(m)
    with pytest.raises(MissingInputError, match=r"default update[\s\S]*pt.vectorize"):
        phintys.function([MANY], clone_replace([y], {m: MANY * 2}))
