"""Factors of learning rates."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.contrib import cosine_decay, exponential_decay, piecewise, sgd, warmup

CASES = {
    "warmup": (lambda t: warmup(t, 4), lambda t: np.minimum((t + 1) / 4, 1)),
    "cosine": (
        lambda t: cosine_decay(t, 8, last=0.25),
        lambda t: 0.25 + 0.75 * (1 + np.cos(np.pi * np.minimum(t / 8, 1))) / 2,
    ),
    "exponential": (lambda t: exponential_decay(t, 3, 0.9), lambda t: 0.9 ** (t / 3)),
    "piecewise": (
        lambda t: piecewise(t, [2, 5], [1.0, 0.5, 0.125]),
        lambda t: np.select([t < 2, t < 5], [1.0, 0.5], 0.125),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_factors_are_those_of_numpy(name):
    factor, expected = CASES[name]
    t = phintys.shared(0, name="t")
    w = phintys.shared(0.0, name="w")
    step = phintys.function([], factor(t), updates=sgd(w, [w], factor(t)) | {t: t + 1})
    factors = [float(step()) for _ in range(12)]
    np.testing.assert_allclose(factors, expected(np.arange(12)), rtol=1e-14)
    np.testing.assert_allclose(w.get_value(), -sum(factors))


@pytest.mark.parametrize("schedule", [warmup, cosine_decay, exponential_decay])
@pytest.mark.parametrize("steps", [0, -1, 1.5])
def test_steps_must_be_positive(schedule, steps):
    with pytest.raises(ArgumentError, match=f"steps must be a positive int, got {steps}"):
        schedule(pt.lscalar("t"), steps)


@pytest.mark.parametrize(
    ("bounds", "factors", "message"),
    [([3, 2], [1, 2, 3], "ascending order"), ([1], [1.0], "one entry more than the 1 bounds")],
)
def test_wrong_pieces(bounds, factors, message):
    with pytest.raises(ArgumentError, match=message):
        piecewise(pt.lscalar("t"), bounds, factors)
