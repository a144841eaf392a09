"""Polynomials in sizes: equal ones are one object."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phintys.backends.native.polynomials import Polynomials
from phintys.backends.native.sizes import Sizes
from phintys.backends.native.values import Array, LoopVariable, Place
from tests.budget import budget

OPERATIONS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}


def argument(sizes, ndim):
    array = Array(Place.ARGUMENT, np.dtype("float64"), (), "x")
    array.sizes = tuple(sizes.extent(array, axis) for axis in range(ndim))
    return array


@st.composite
def expressions(draw):
    """A size as a tree: a number of an axis, a constant, or an operation and two trees."""
    if draw(st.integers(0, 2)) == 0:
        return draw(st.one_of(st.integers(0, 2), st.integers(-3, 3).map(lambda n: ("number", n))))
    return (draw(st.sampled_from(sorted(OPERATIONS))), draw(expressions()), draw(expressions()))


def as_size(tree, sizes, axes):
    if isinstance(tree, int):
        return axes[tree]
    if tree[0] == "number":
        return sizes.fixed(tree[1])
    left, right = (as_size(part, sizes, axes) for part in tree[1:])
    return sizes.arithmetic(tree[0], left, right)


def value_of(tree, point):
    if isinstance(tree, int):
        return point[tree]
    if tree[0] == "number":
        return tree[1]
    return OPERATIONS[tree[0]](*(value_of(part, point) for part in tree[1:]))


@given(expressions(), st.lists(st.integers(-5, 5), min_size=3, max_size=3))
@budget(25)
def test_polynomials_have_the_value_of_their_size(tree, point):
    sizes = Sizes()
    axes = argument(sizes, 3).sizes
    ring = Polynomials(sizes)
    found = ring.of(as_size(tree, sizes, axes))
    total = 0
    for atoms, factor in found.terms:
        assert factor
        for atom in atoms:
            factor *= point[axes.index(ring.atoms[atom])]
        total += factor
    assert total == value_of(tree, point)
    if found.known is not None:
        assert found.known == total


def test_equal_polynomials_are_one_object():
    sizes = Sizes()
    n, m, k = argument(sizes, 3).sizes
    ring = Polynomials(sizes)
    assert ring.product([n, m, k]) is ring.product([k, m, n])
    total = sizes.add(sizes.mul(n, m), sizes.mul(m, k))
    assert ring.of(total) is ring.mul(ring.of(m), ring.add(ring.of(k), ring.of(n)))
    assert ring.sub(ring.of(n), ring.of(n)) is ring.zero
    assert ring.constant(1) is ring.one
    assert repr(ring.add(ring.of(n), ring.constant(2))) == "2 + 1*a0"


def test_sizes_that_are_known_to_be_equal_are_one():
    sizes = Sizes()
    n, m, _ = argument(sizes, 3).sizes
    sizes.equate(n, m)
    ring = Polynomials(sizes)
    assert ring.of(n) is ring.of(m)


def test_quotients_and_counters_are_atoms():
    sizes = Sizes()
    n, m, _ = argument(sizes, 3).sizes
    ring = Polynomials(sizes)
    half = sizes.arithmetic("floordiv", n, sizes.fixed(2))
    counter = LoopVariable(n, "i")
    found = ring.add(ring.of(half), ring.mul(ring.of(counter), ring.of(m)))
    assert set(ring.atoms) >= {half, counter}
    assert len(found.terms) == 2


def test_deep_sums_are_no_problem():
    sizes = Sizes()
    n, m, _ = argument(sizes, 3).sizes
    size = n
    for _ in range(20_000):
        size = sizes.arithmetic("add", size, m)
    ring = Polynomials(sizes)
    assert ring.of(size) is ring.add(ring.of(n), ring.scale(ring.of(m), 20_000))


def test_strides_and_bytes():
    sizes = Sizes()
    array = argument(sizes, 3)
    ring = Polynomials(sizes)
    n, m, k = map(ring.of, array.sizes)
    assert ring.strides(array) == (ring.mul(m, k), k, ring.one)
    assert ring.bytes(array) is ring.scale(ring.mul(n, ring.mul(m, k)), 8)
