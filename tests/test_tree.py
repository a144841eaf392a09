"""Trees: their leaves, and vectors of all their elements."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import tree
from phintys._base.errors import ArgumentError


@dataclass(frozen=True)
class Layer:
    weights: Any
    bias: Any

    def __post_init__(self):
        assert self.weights is not None  # copies do not come here


class Pair(NamedTuple):
    first: Any
    second: Any


class Described:
    """What attrs leaves in a class."""

    class _Field:
        name = "only"

    __attrs_attrs__ = (_Field,)

    def __init__(self, only):
        self.only = only


TREE = {"layers": [Layer(1, 2), Layer(3, 4)], "pair": Pair(5, (6, None))}


def test_leaves_and_their_paths():
    assert tree.leaves(TREE) == [1, 2, 3, 4, 5, 6, None]
    paths = [path for path, _ in tree.leaves_with_paths(TREE)]
    assert paths[0] == "['layers'][0].weights"
    assert paths[-1] == "['pair'][1][1]"
    assert tree.leaves(7) == [7]


def test_flatten_builds_the_same_form():
    leaves, build = tree.flatten(TREE)
    assert build(leaves) == TREE
    built = build("abcdefg")
    assert built["layers"][1] == Layer("c", "d")
    assert built["pair"] == Pair("e", ("f", "g"))
    with pytest.raises(ArgumentError, match="has 7 leaves, got 2"):
        build([1, 2])


def test_classes_of_attrs():
    doubled = tree.map(lambda x: 2 * x, Described(4))
    assert isinstance(doubled, Described)
    assert doubled.only == 8


def test_map_over_several_trees():
    assert tree.map(lambda a, b: a + b, {"x": (1, 2)}, {"x": [10, 20]}) == {"x": (11, 22)}
    for other in ({"y": (1, 2)}, {"x": (1, 2, 3)}, {"x": 1}, [1], Pair(1, 2)):
        with pytest.raises(ArgumentError, match=r"tree 2 has another form .* expected \{'x'"):
            tree.map(lambda a, b: a, {"x": (1, 2)}, other)


def test_ravel_of_arrays():
    vector, unravel = tree.ravel(
        {"w": np.arange(6.0).reshape(2, 3), "b": 7, "none": np.ones((0, 2))}
    )
    np.testing.assert_array_equal(vector, [0, 1, 2, 3, 4, 5, 7])
    back = unravel(vector)
    np.testing.assert_array_equal(back["w"], [[0, 1, 2], [3, 4, 5]])
    assert back["b"] == 7
    assert back["none"].shape == (0, 2)
    assert tree.ravel({})[0].shape == (0,)


def test_ravel_of_variables():
    params = Layer(pt.dmatrix("weights"), pt.tensor("bias", dtype="float64", shape=(2,)))
    vector, unravel = tree.ravel(params)
    f = phintys.function([params], [vector, unravel(vector * 2)])
    flat, doubled = f(Layer([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0]))
    np.testing.assert_array_equal(flat, [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(doubled.weights, [[2, 4], [6, 8]])
    np.testing.assert_array_equal(doubled.bias, [10, 12])
