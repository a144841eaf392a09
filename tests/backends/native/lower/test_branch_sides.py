"""How deep choices are nested, and in how many places nodes are needed, in native code."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import ifelse
from phintys.backends.native.limits import MOST_BRANCHES_OF_NODE

X = np.array([0.5, 1.0, 2.0, 0.25])


def chain(levels):
    """Return a function that chooses one of many numbers, one after the other."""
    k, x = pt.lscalar("k"), pt.tensor("x", dtype="float64", shape=(4,))
    value = x[0]
    for number in range(levels):
        value = ifelse(pt.eq(k, number), x[number % 4], value + 1.0)
    return [k, x], [value, phintys.grad(value, x)]


def check_chain(f, levels):
    for number in (-1, 0, 1, levels - 1):
        value, slope = f(number, X)
        above = levels - 1 - number
        assert float(value) == X[max(number, 0) % 4] + above
        assert slope.tolist() == [float(at == max(number, 0) % 4) for at in range(4)]


@pytest.mark.parametrize(("levels", "branches"), [(2, 2), (30, 30), (61, 0)])
def test_choices_inside_of_each_other_are_branches(levels, branches):
    f = phintys.function(*chain(levels), mode="native")
    check_chain(f, levels)
    assert f.explain().splitlines()[0].endswith(f"{branches} branches" if branches else "callback")


def test_a_deep_stack_leaves_less_room():
    def called(depth):
        return called(depth - 1) if depth else phintys.function(*chain(30), mode="native")

    f = called(750)
    check_chain(f, 30)
    assert len(f.vm.callback_nodes) == 1
    assert not phintys.function(*chain(30), mode="native").vm.callback_nodes


def wide(places, length):
    """Return a function in which an expression is needed in many cases."""
    conditions = [pt.bscalar(f"c{n}") for n in range(places)]
    x = pt.tensor("x", dtype="float64", shape=(4,))
    middle = x
    for n in range(length):
        middle = pt.cumsum(middle) * n
    outputs = [ifelse(one, middle + n, x * n) for n, one in enumerate(conditions)]
    return phintys.function([*conditions, x], pt.stack(outputs).sum(axis=0), mode="native")


@pytest.mark.parametrize(
    ("places", "length", "is_native"),
    [(8, 2, True), (40, 2, True), (MOST_BRANCHES_OF_NODE + 1, 2, False), (40, 40, False)],
)
def test_what_is_needed_in_many_cases(places, length, is_native):
    f = wide(places, length)
    assert bool(f.vm.callback_nodes) != is_native
    expected = X
    for n in range(length):
        expected = np.cumsum(expected) * n
    truths = [n % 3 == 0 for n in range(places)]
    rows = [expected + n if truth else X * n for n, truth in enumerate(truths)]
    np.testing.assert_allclose(f(*truths, X), np.sum(rows, axis=0))
