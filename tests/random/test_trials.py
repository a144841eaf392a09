"""Trials that read 16 bits each, and further ones where those do not decide."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import NullGradientError
from phintys.random.bits.philox import blocks, word_at
from phintys.random.bits.states import TO_TRY

SEED = random.state(21)
COUNT = 400_000


def _quarters(count):
    return blocks(SEED, -(-count // 8)).astype("<u4").view("<u2").reshape(-1)[:count]


def _further(count):
    """Return the uniform numbers that decide where 16 bits do not."""
    key, low, high = (np.full(count, word) for word in SEED)
    words = word_at(np.arange(count, dtype="uint64"), key ^ TO_TRY, low, high)
    return (words >> np.uint64(11)).astype("float64") * 2.0**-53


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", [None, "FAST_COMPILE"])
@pytest.mark.parametrize("p", [0.0, 1e-5, 0.3, 0.5, 1 - 1e-5, 1.0])
def test_all_digits_of_the_probability_count(mode, p):
    r, probability = random.rng("r"), pt.dscalar("p")
    f = phintys.function([r, probability], r.bernoulli(probability, size=COUNT)[1], mode=mode)
    exact = _quarters(COUNT) + _further(COUNT)
    np.testing.assert_array_equal(f(SEED, p), exact < p * 65536)


def test_bits_that_are_equal_to_the_leading_digits_decide_nothing():
    """With one possible value of the leading digits, frequencies are those of the others."""
    r = random.rng("r")
    tie = np.flatnonzero(_quarters(COUNT) == 7)
    assert len(tie) > 2
    p = (7 + _further(COUNT)[tie].mean()) / 65536
    draws = phintys.function([r], r.bernoulli(p, size=COUNT)[1])(SEED)[tie]
    assert 0 < draws.sum() < len(tie)


def test_shapes_dtypes_and_states():
    r, p = random.rng("r"), pt.dmatrix("p")
    after, draw = r.bernoulli(p)
    _, mask = r.bernoulli(p, dtype="bool")
    _, wide = r.bernoulli(p[0], size=(5, 2, 3))
    f = phintys.function([r, p], [draw, mask, wide, after])
    g = phintys.function([r, p], [draw, mask, wide, after], mode="FAST_COMPILE")
    values = np.array([[0.0, 0.3, 1.0], [0.5, 1.0, 0.0]])
    for result, wanted in zip(f(SEED, values), g(SEED, values), strict=True):
        np.testing.assert_array_equal(result, wanted)
    draw, mask, wide, after = f(SEED, values)
    assert (draw.dtype, mask.dtype, wide.shape) == ("int64", "bool", (5, 2, 3))
    assert draw[:, [0, 2]].tolist() == [[0, 1], [draw[1, 0], 0]]
    np.testing.assert_array_equal(mask, draw)
    assert after[1] == SEED[1] + 3  # a further word for each of the six


def test_trials_are_batched_and_have_no_derivatives():
    r, p = random.rng("r"), pt.dscalar("p")
    draw = r.bernoulli(p, size=4)[1]
    ps = pt.dvector("ps")
    batched = pt.vectorize_graph(draw, {p: ps})
    made = phintys.function([r, ps], batched)(SEED, [0.0, 1.0, 0.5])
    assert made.shape == (3, 4)
    assert made[:2].tolist() == [[0] * 4, [1] * 4]
    with pytest.raises(NullGradientError, match="Bernoulli are integers"):
        phintys.grad(draw.sum() * 1.5, p)


def test_masks_take_no_memory():
    r, x = random.rng("r"), pt.fmatrix("x")
    _, kept = r.bernoulli(0.8, size=x.shape, dtype="bool")
    dropped = pt.switch(kept, x * np.float32(1.25), np.float32(0))
    f = phintys.function([r, x], dropped, mode="native")
    assert "no buffers" in str(f.explain())
    assert "1 kernel" in str(f.explain())
