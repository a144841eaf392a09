"""The loss of connectionist temporal classification."""

from __future__ import annotations

from itertools import groupby, product

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.compat.ctc import ctc


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
    costs = ctc(activations, LABELS, LENGTHS)
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


def test_symbolic_labels_in_a_program(theano):
    from theano.tensor.nnet.ctc import ctc_available

    T = theano.tensor
    a, labels, lengths = T.ftensor3("a"), T.imatrix("labels"), T.ivector("lengths")
    f = theano.function([a, labels, lengths], T.nnet.ctc(a, labels, lengths))
    assert ctc_available()
    found = f(np.zeros((2, 1, 2), "float32"), np.array([[1]], "int32"), np.array([2], "int32"))
    np.testing.assert_allclose(np.exp(-found), [0.75], rtol=1e-6)


def test_ranks_are_checked():
    with pytest.raises(ShapeError, match="ranks 2, 2 and 1"):
        ctc(np.zeros((2, 2)), [[1]], [2])
