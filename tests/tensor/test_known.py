"""What is known of sizes when the graph is built."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.tensor.known import known_int, known_sizes

X = pt.tensor("x", shape=(None, 3, 4))

INTS = {
    "constant": (pt.constant(5), 5),
    "one element": (pt.constant([5])[0], 5),
    "static size": (X.shape[1], 3),
    "from the end": (X.shape[-1], 4),
    "shape_i": (pt.shape_i(X, 2), 4),
    "arithmetic": (X.shape[1] * X.shape[2] + 1, 13),
    "floor division": (X.shape[2] // 3, 1),
    "cast": (X.shape[1].astype("int32"), 3),
    "of a slice": (X.shape[1:][0], 3),
    "of a reversed slice": (X.shape[::-1][0], 4),
    "of a stack": (pt.stack([X.shape[0], X.shape[1]])[1], 3),
    "of a join": (pt.concatenate([X.shape[:1], X.shape[1:]])[2], 4),
    "of an elementwise vector": ((X.shape[1:] * 2)[1], 8),
    "after expand_dims": (pt.expand_dims(X.shape[1], 0)[0], 3),
    "size": (pt.size(X[0]), 12),
}

UNKNOWN = {
    "unknown size": X.shape[0],
    "input": pt.lscalar("n"),
    "mixed": X.shape[0] * 2,
    "float": pt.constant(2.0),
    "no op of sizes": pt.max(X.shape),
    "vector": X.shape,
}


@pytest.mark.parametrize("name", INTS)
def test_known(name):
    expression, value = INTS[name]
    assert known_int(expression) == value


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown(name):
    assert known_int(UNKNOWN[name]) is None


def test_known_values_are_the_computed_ones(evaluate):
    x = np.zeros((2, 3, 4))
    for expression, value in INTS.values():
        assert evaluate(expression, {X: x}) == value


def test_sizes():
    assert known_sizes(X.shape) == (None, 3, 4)
    assert known_sizes(pt.lvector("v")) is None
    assert known_sizes(pt.tensor("v", dtype="int64", shape=(2,))) == (None, None)
    assert known_sizes(pt.concatenate([X.shape, pt.constant([7])])) == (None, 3, 4, 7)
    assert known_sizes(pt.constant([1.0])) is None


def test_wraps_around_like_the_values(evaluate):
    big = pt.constant(np.int8(100)) + pt.constant(np.int8(100))
    assert known_int(big) == int(evaluate(big)) == -56


def test_a_long_chain_is_followed_only_a_few_steps(repeats):
    n = X.shape[1]
    for _ in range(repeats(20_000, 100_000)):
        n = n + 1
    assert known_int(n) is None
