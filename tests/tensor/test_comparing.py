"""``==`` and ``!=``: elementwise, with the truth of identity where Python asks for it."""

import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError, TypeContractError
from phintys.graph import Type, clone_replace
from phintys.tensor.comparing import Mismatch

A = np.array([1.0, 2.0, np.nan, 0.0])
B = np.array([1.0, 3.0, np.nan, -0.0])


@pytest.mark.parametrize(
    "other", [0, 2.0, True, np.float32(2), B, B.tolist(), np.int8(1)], ids=repr
)
def test_values(other, evaluate):
    x = pt.dvector("x")
    for found, wanted in (
        (x == other, other == A),
        (other == x, other == A),
        (x != other, other != A),
        (other != x, other != A),
    ):
        assert found.dtype == "bool"
        np.testing.assert_array_equal(evaluate(found, {x: A}), wanted)


def test_variables(evaluate):
    x, y = pt.dvectors("x", "y")
    m = pt.lmatrix("m")
    np.testing.assert_array_equal(evaluate(x == y, {x: A, y: B}), A == B)
    np.testing.assert_array_equal(evaluate(x != y, {x: A, y: B}), A != B)
    M = np.array([[1, 0, 0, 0], [0, 2, 0, 0]])
    np.testing.assert_array_equal(evaluate(x == m, {x: A, m: M}), A == M)
    s = phintys.shared(2.0)
    np.testing.assert_array_equal((s == pt.constant([1.0, 2.0])).eval(), [False, True])
    np.testing.assert_array_equal((pt.constant([1, 2]) != 2).eval(), [True, False])


def test_a_condition_guards():
    x = pt.dvector("x")
    y = pt.switch(x == 0, 1.0, 1 / x)
    assert y.eval({x: [0.0, 4.0]}).tolist() == [1.0, 0.25]
    y = pt.where(x != 0, x, -1.0)
    assert y.eval({x: [0.0, 4.0]}).tolist() == [-1.0, 4.0]


@pytest.mark.parametrize(
    "other",
    [None, "x", object(), ["a"], slice(None), Type()("g"), np.array("a").item()],
    ids=lambda other: type(other).__name__,
)
def test_what_is_not_a_tensor_is_not_equal(other):
    x = pt.dvector("x")
    assert (x == other) is False
    assert (other == x) is False
    assert (x != other) is True
    assert x not in [other, None]
    assert other not in [x, x]


@pytest.mark.parametrize("other", [Fraction(1, 2), Decimal(1)], ids=repr)
def test_numbers_that_numpy_does_not_know_are_refused(other):
    x = pt.dvector("x")
    for compare in (lambda: x == other, lambda: x != other, lambda: other == x):
        with pytest.raises(TypeContractError, match="number"):
            compare()


def test_ranges_are_compared_element_by_element(evaluate):
    x = pt.dvector("x")
    np.testing.assert_array_equal(
        evaluate(x == range(4), {x: np.array([0.0, 2.0, 2.0, 0.0])}), [1, 0, 1, 0]
    )


class Answers:
    def __eq__(self, other):
        return "mine"

    __hash__ = None


def test_others_may_answer():
    assert (pt.dvector("x") == Answers()) == "mine"


# ---- truth ---------------------------------------------------------------------------------------


def test_truth_of_variables_is_identity():
    x, y = pt.dvectors("x", "y")
    s, c = phintys.shared(1.0), pt.constant(1.0)
    everything = [x, y, s, c, pt.exp(x), pt.exp(x)]
    for position, one in enumerate(everything):
        assert everything.index(one) == position
        assert bool(one == x) == (one is x)
        assert bool(one != x) == (one is not x)
    assert (x, 1) == (x, 1)
    assert (x, 1) != (y, 1)
    assert {"a": x} == {"a": x}
    assert {"a": x} != {"a": y}
    assert {x: 1, y: 2}[x] == 1
    rest = list(everything)
    rest.remove(s)
    assert len(rest) == 5
    assert s not in rest


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x == 0,
        lambda x: x != 0,
        lambda x: x == np.zeros(3),
        lambda x: x < x,
        lambda x: pt.eq(x, x),
        lambda x: (x == x) & True,
        lambda x: x in [0, 1],
        lambda x: [1.0, x].index(x),
    ],
)
def test_truth_of_values_is_not_known(make):
    x = pt.dvector("x")
    with pytest.raises(TypeError, match=r"pt\.switch.*pt\.all.*`x is y`"):
        bool(make(x))


def test_truth_belongs_to_the_one_object():
    x, y, z = pt.dvectors("x", "y", "z")
    same, other = x == x, x == y
    # Copies of the whole keep who is who; what replaces variables does not.
    for again in (copy.deepcopy([same, other]), pickle.loads(pickle.dumps([same, other]))):
        assert [bool(one) for one in again] == [True, False]
    for unknown in (other.clone(), other.copy(), clone_replace(other, {x: z}), pt.eq(x, y)):
        with pytest.raises(TypeError):
            bool(unknown)


def test_shapes_that_do_not_fit():
    x = pt.tensor("x", dtype="float64", shape=(2,))
    y = pt.tensor("y", dtype="float64", shape=(3,))
    assert x not in [y, y]
    assert [x, y].index(y) == 1
    assert x != y
    assert not x == y  # noqa: SIM201 - the other operator
    comparison = x == y
    assert isinstance(comparison, Mismatch)
    assert "y: shape (3,)" in repr(comparison)
    for use in (
        lambda: pt.switch(comparison, 1.0, 0.0),
        lambda: comparison.sum,
        lambda: comparison & (x == x),
        lambda: pt.all(comparison),
        lambda: x == np.zeros(3),
    ):
        with pytest.raises(ShapeError, match="The sizes in dimension 0 must be equal"):
            use()


def test_hashes_are_of_objects():
    x, y = pt.dvectors("x", "y")
    assert hash(x) == object.__hash__(x)
    assert len({x, y, x}) == 2
