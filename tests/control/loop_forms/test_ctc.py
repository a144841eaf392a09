"""The loss of connectionist temporal classification."""

from __future__ import annotations

from itertools import groupby, product

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError


def _by_all_ways(scores, labels):
    """Return minus the logarithm of the sum over all ways to spell the labels."""
    total = -np.inf
    for way in product(range(scores.shape[1]), repeat=len(scores)):
        spelled = [each for each, _ in groupby(way) if each]
        if spelled == list(labels):
            total = np.logaddexp(total, scores[np.arange(len(scores)), way].sum())
    return -total


LABELS = np.array([[1, 2, -1], [1, 1, 2], [-1, -1, -1], [2, 2, 2], [2, -1, -1]])
LENGTHS = np.array([5, 4, 3, 4, 2])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_loss_is_that_of_all_ways(dtype):
    x = np.random.default_rng(0).normal(size=(5, 5, 3)).astype(dtype)
    activations = pt.tensor("a", shape=(None, None, None), dtype=dtype)
    costs = pt.ctc_loss(activations, LABELS, LENGTHS)
    slope = phintys.grad(pt.switch(pt.isinf(costs), 0, costs).sum(), activations)
    f = phintys.function([activations], [costs, slope])
    found, slopes = f(x)
    scores = x - np.log(np.exp(x).sum(-1, keepdims=True))
    wanted = [
        _by_all_ways(scores[:length, item], [one for one in LABELS[item] if one >= 0])
        for item, length in enumerate(LENGTHS)
    ]
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == "float32" else 1e-12)
    assert np.isinf(found[3])
    # Steps behind the end of a sequence, and labels that do not fit, have no slope.
    assert not slopes[4:, 1].any()
    assert not slopes[:, 3].any()
    if dtype == "float64":
        for place in [(0, 0, 1), (3, 1, 0), (1, 2, 2), (1, 4, 0)]:
            moved = np.zeros_like(x)
            moved[place] = 1e-6
            above, below = (f(x + sign * moved)[0][place[1]] for sign in (1, -1))
            np.testing.assert_allclose(slopes[place], (above - below) / 2e-6, rtol=1e-6)


def test_any_class_may_be_the_blank():
    x = np.random.default_rng(1).normal(size=(4, 2, 3))
    labels, lengths = np.array([[1, 2], [2, -1]]), np.array([4, 3])
    # The classes in another order: 0, 1, 2 -> 2, 0, 1.
    others = np.where(labels > 0, labels - 1, labels)
    expected = pt.ctc_loss(x, labels, lengths).eval()
    found = pt.ctc_loss(x[:, :, [1, 2, 0]], others, lengths, blank=2).eval()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_arguments_are_checked():
    with pytest.raises(ShapeError, match="ranks 2, 2 and 1"):
        pt.ctc_loss(np.zeros((2, 2)), [[1]], [2])
    with pytest.raises(ArgumentError, match="got int64 and 0"):
        pt.ctc_loss(np.zeros((2, 1, 2), "int64"), [[1]], [2])
    with pytest.raises(ArgumentError, match="got float64 and -1"):
        pt.ctc_loss(np.zeros((2, 1, 2)), [[1]], [2], blank=-1)
