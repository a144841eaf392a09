"""Convolutions with filters of their own at each place, and enlarged images."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.compat.images import (
    bilinear_upsampling,
    conv2d,
    conv2d_grad_wrt_inputs,
    conv2d_grad_wrt_weights,
    frac_bilinear_upsampling,
)
from phintys.compat.neural import ultra_fast_sigmoid
from phintys.gradient import verify_grad


def by_definition(x, w, pads, steps, dilation, flip, groups):
    """The sums, written out."""
    if flip:
        w = w[..., ::-1, ::-1]
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    features, rows, columns, channels, height, width = w.shape
    out = np.zeros((len(x), features, rows, columns))
    for o, r, c in itertools.product(range(features), range(rows), range(columns)):
        first = (o * groups // features) * channels
        for k, i, j in itertools.product(range(channels), range(height), range(width)):
            place = r * steps[0] + i * dilation[0], c * steps[1] + j * dilation[1]
            out[:, o, r, c] += x[:, first + k, place[0], place[1]] * w[o, r, c, k, i, j]
    return out


CASES = {
    "plain": {},
    "not flipped": {"filter_flip": False},
    "strides": {"subsample": (2, 1)},
    "groups": {"num_groups": 2},
    "half": {"border_mode": "half"},
    "full and dilated": {"border_mode": "full", "filter_dilation": (2, 1)},
    "numbers": {"border_mode": (1, 0)},
    "pairs": {"border_mode": ((1, 0), (0, 2))},
}
_PADS = {
    "half": ((1, 1), (1, 1)),
    "full": ((2, 2), (1, 1)),
    (1, 0): ((1, 1), (0, 0)),
    "valid": ((0, 0), (0, 0)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", list(CASES))
def test_unshared_convolutions_and_their_gradients(case):
    options = CASES[case]
    rng = np.random.default_rng(3)
    groups, steps = options.get("num_groups", 1), options.get("subsample", (1, 1))
    dilation, mode = options.get("filter_dilation", (1, 1)), options.get("border_mode", "valid")
    pads = _PADS.get(mode, mode)
    shape, lengths = (2, 2, 5, 4), (2, 2)
    sizes = [
        (length + sum(pad) - (extent - 1) * apart - 1) // step + 1
        for length, pad, extent, apart, step in zip(
            shape[2:], pads, lengths, dilation, steps, strict=True
        )
    ]
    x = rng.normal(size=shape)
    w = rng.normal(size=(4, *sizes, 2 // groups, *lengths))
    expected = by_definition(x, w, pads, steps, dilation, options.get("filter_flip", True), groups)
    X = pt.dtensor4("x")
    W = pt.TensorType("float64", (None,) * 6)("w")
    out = conv2d(X, W, filter_shape=w.shape, unshared=True, **options)
    g = pt.TensorType("float64", expected.shape)("g")
    by_x = conv2d_grad_wrt_inputs(g, W, shape, w.shape, unshared=True, **options)
    by_w = conv2d_grad_wrt_weights(X, g, w.shape, shape, unshared=True, **options)
    f = phintys.function([X, W, g], [out, by_x, by_w])
    weights = rng.normal(size=expected.shape)
    found, found_x, found_w = f(x, w, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # It is linear in both, so that both gradients have the same product with their argument.
    total = (weights * expected).sum()
    assert (found_x * x).sum() == pytest.approx(total)
    assert (found_w * w).sum() == pytest.approx(total)
    other = by_definition(
        np.ones(shape), w, pads, steps, dilation, options.get("filter_flip", True), groups
    )
    assert found_x.sum() == pytest.approx((weights * other).sum())


def test_unshared_filters_have_known_sizes():
    x, w = pt.dtensor4("x"), pt.TensorType("float64", (None,) * 6)("w")
    with pytest.raises(ArgumentError, match="state filter_shape"):
        conv2d(x, w, unshared=True)
    with pytest.raises(ArgumentError, match="filters of rank 6"):
        conv2d(x, pt.dtensor4("w"), unshared=True)


@pytest.mark.parametrize("fraction", [(3, 2), (6, 4), (2, 1), ((3, 2), (5, 3)), (1, 2)])
def test_images_are_enlarged_by_fractions(fraction):
    x = pt.dtensor4("x")
    value = np.random.default_rng(1).normal(size=(2, 3, 4, 5))
    pairs = fraction if isinstance(fraction[0], tuple) else (fraction, fraction)
    found = bilinear_upsampling(x, frac_ratio=fraction).eval({x: value})
    expected = value
    for axis, (p, q) in zip((2, 3), pairs, strict=True):
        length = value.shape[axis]
        # Element t of the enlarged axis lies at (t - (p - 1) // 2) / p of the given one.
        places = np.arange(0, length * p, q // np.gcd(p, q) * np.gcd(p, q))
        p, q = p // np.gcd(p, q), q // np.gcd(p, q)
        places = (np.arange(0, length * p, q) - (p - 1) // 2) / p
        line = np.arange(length)
        expected = np.apply_along_axis(
            lambda row, at=places, of=line: np.interp(at, of, row), axis, expected
        )
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found.shape == frac_bilinear_upsampling(x, fraction).eval({x: value}).shape


def test_a_ratio_or_a_fraction():
    x = pt.dtensor4("x")
    for options in ({}, {"ratio": 2, "frac_ratio": (3, 2)}):
        with pytest.raises(ArgumentError, match="either ratio= or frac_ratio="):
            bilinear_upsampling(x, **options)
    with pytest.raises(ArgumentError, match="must be"):
        frac_bilinear_upsampling(x, [3, 2])


def test_the_fast_sigmoid_is_an_approximation():
    x = np.linspace(-8, 8, 33)
    found = ultra_fast_sigmoid(pt.as_tensor_variable(x)).eval()
    exact = 1 / (1 + np.exp(-x))
    assert 0.01 < np.abs(found - exact).max() < 0.05
    np.testing.assert_allclose(found + found[::-1], 1)
    verify_grad(ultra_fast_sigmoid, [np.array([-5.0, -1.0, 0.3, 4.0, 7.0])])
