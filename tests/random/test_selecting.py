"""Random orders and choices: every result is as frequent as it should be."""

import itertools

import numpy as np
import pytest
import scipy.stats

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import ArgumentError, ShapeError
from phintys.random.samplers import orders

ROWS = 6000


def is_uniform(labels, count):
    """Return whether labels from 0 to ``count - 1`` are about equally frequent."""
    return scipy.stats.chisquare(np.bincount(labels, minlength=count)).pvalue > 1e-6


def rank_of_order(rows):
    """Return a number for each row of permutations."""
    known = {order: rank for rank, order in enumerate(itertools.permutations(range(rows.shape[1])))}
    return np.array([known[tuple(row)] for row in rows.tolist()])


def test_all_orders_are_equally_frequent():
    stream = random.RandomStream(3)
    x = np.tile(np.arange(4), (ROWS, 1))
    rows, columns = phintys.function(
        [], [stream.permuted(x, axis=1), stream.permuted(x.T, axis=0)]
    )()
    assert is_uniform(rank_of_order(rows), 24)
    assert is_uniform(rank_of_order(columns.T), 24)


def test_ties_of_leading_bits_are_settled_evenly():
    bits = np.random.default_rng(1).integers(0, 2**64, (ROWS, 4), dtype="uint64")
    low, top = np.uint64(3), np.uint64(1 << 63)
    alike = (bits[:, :1] & ~low | top) | bits & low  # the leading bits of a row agree
    alike[:, 1] &= ~top
    found = orders.random_order(alike)
    assert (found[:, 0] == 1).all()
    assert is_uniform(rank_of_order(np.searchsorted([0, 2, 3], found[:, 1:])), 6)
    same = orders.random_order(np.full((1, 500), 77, "uint64"))
    np.testing.assert_array_equal(np.sort(same[0]), np.arange(500))
    assert (same[0] != np.arange(500)).mean() > 0.9


def test_permutations_keep_slices():
    n, state = pt.lscalar("n"), random.rng("r")
    x = np.arange(12).reshape(3, 4)
    draws = [
        state.permutation(n)[1],
        state.permutation(x)[1],
        state.shuffle(x, axis=1)[1],
        state.permuted(x)[1],
    ]
    numbers, rows, columns, elements = phintys.function([state, n], draws)(random.state(1), 50)
    np.testing.assert_array_equal(np.sort(numbers), np.arange(50))
    assert sorted(map(tuple, rows)) == list(map(tuple, x))
    assert sorted(map(tuple, columns.T)) == list(map(tuple, x.T))
    np.testing.assert_array_equal(np.sort(elements, axis=None).reshape(3, 4), x)


@pytest.mark.parametrize("n", [3, 24])  # all are ordered, or repeated integers are replaced
def test_choices_without_replacement(n):
    random_bits = np.random.default_rng(2).integers(0, 2**64, (ROWS, n), dtype="uint64")
    count = 3
    if n == 3:
        found = orders.random_order(random_bits)
    else:
        found = np.array([orders.distinct(row[:count], n) for row in random_bits])
    assert all(len(set(row)) == count for row in found.tolist())
    for column in found.T:
        assert is_uniform(column, n)
    assert is_uniform(rank_of_order(found.argsort().argsort()), 6)


def test_choices_of_arrays():
    stream = random.RandomStream(4)
    a = np.arange(10.0).reshape(5, 2)
    p = np.array([0.5, 0.0, 0.2, 0.3, 0.0])
    several, weighted, without, columns, one = phintys.function(
        [],
        [
            stream.choice(a, (3, 4)),
            stream.choice(5, 4000, p=p),
            stream.choice(a, 3, replace=False, p=p),
            stream.choice(a, size=6, axis=1),
            stream.choice(7),
        ],
    )()
    assert several.shape == (3, 4, 2)
    assert set(several[..., 0].ravel()) <= {0.0, 2.0, 4.0, 6.0, 8.0}
    counts = np.bincount(weighted, minlength=5)
    assert not counts[[1, 4]].any()
    assert scipy.stats.chisquare(counts[p > 0], 4000 * p[p > 0]).pvalue > 1e-6
    assert set(without[:, 0]) == {0.0, 4.0, 6.0}
    assert columns.shape == (5, 6)
    assert one.shape == ()
    assert 0 <= one < 7


def test_weights_without_replacement_are_those_of_one_draw_after_the_other():
    p = np.array([0.5, 0.3, 0.2])
    times = np.random.default_rng(5).exponential(size=(ROWS, 3)) / p
    keys, count = pt.dvector("keys"), pt.lscalar("count")
    first = phintys.function([keys, count], orders.FirstPlaces()(keys, count))
    pairs = np.array([first(row, 2) for row in times])
    expected = {(i, j): p[i] * p[j] / (1 - p[i]) for i in range(3) for j in range(3) if i != j}
    counts = [np.all(pairs == pair, axis=1).sum() for pair in expected]
    assert scipy.stats.chisquare(counts, ROWS * np.array(list(expected.values()))).pvalue > 1e-6


def test_wrong_arguments():
    stream = random.RandomStream(4)
    with pytest.raises(ArgumentError, match="permutation has the shape of its argument"):
        stream.permutation(5, size=3)
    with pytest.raises(ShapeError, match="shuffle takes an array"):
        stream.shuffle(5)
    with pytest.raises(ArgumentError, match="replaced is not one of its parameters"):
        stream.choice(5, replaced=False)
    with pytest.raises(ShapeError, match="p is a vector"):
        stream.choice(5, p=0.5)
    with pytest.raises(ValueError, match="6 of 5 cannot be taken"):
        stream.choice(5, 6, replace=False).eval()
    with pytest.raises(ValueError, match="only 1 of 2 have a positive probability"):
        stream.choice(2, 2, replace=False, p=[0.0, 1.0]).eval()
