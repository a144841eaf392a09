"""Graphs of many nodes: no recursion, and a cost in proportion."""

import sys

import pytest

import phintys.tensor as pt
from phintys.gradient import Rop, grad, hessian_vector_product
from phintys.graph import applys_between


@pytest.fixture
def _shallow_stack():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    yield
    sys.setrecursionlimit(limit)


def count_nodes(x, y):
    return len(list(applys_between([x], [y])))


@pytest.mark.usefixtures("_shallow_stack")
def test_a_long_chain(repeats):
    number = repeats(20_000, 100_000)
    x = pt.dscalar("x")
    y = x
    for step in range(number):
        y = -y
        if step == number // 4:
            early = y
    assert count_nodes(x, grad(y, x)) == number
    assert count_nodes(x, Rop(early, x, pt.dscalar("v"))) == number // 4 + 1


def test_a_wide_sum(repeats):
    number = repeats(4_000, 10_000)
    x = pt.dscalar("x")
    y = pt.add(*(x * float(i) for i in range(number)))
    gradient = grad(y, x)
    assert len(gradient.owner.inputs) == number, "one sum over all ways, not a chain of sums"


def test_a_ladder():
    # The number of paths doubles with each rung; the gradient visits each rung once.
    x = pt.dscalar("x")
    y = x
    for _ in range(1_000):
        y = y + y
    assert count_nodes(x, grad(y, x)) <= 4 * 1_000
    assert count_nodes(x, Rop(y, x, pt.dscalar("v"))) <= 4 * 1_000


def test_second_derivatives():
    x, p = pt.dscalars("x", "p")
    y = x
    for _ in range(2_000):
        y = y * 1.0001
    product = hessian_vector_product(y * x, x, p)
    assert float(product.eval({p: 1.0})) == pytest.approx(2 * 1.0001**2_000)
