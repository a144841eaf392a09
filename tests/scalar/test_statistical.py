"""Entropies and power transforms against mpmath, where naive formulas lose digits."""

import mpmath as mp
import numpy as np
import pytest

import phintys
import phintys.tensor as pt

X = np.array([0.25, 1.0, 3.0, 126.0, 2.0**31 - 2, 1.0, 1e-300, 1.0])
Y = np.array([0.26, 1 + 1e-9, 2.0, 127.0, 2.0**31 - 1, 1e300, 1e300, 1 + 2.0**-52])
POWERS = np.array([0.0, 1e-300, 1e-9, -1e-5, 0.3, 1.0, -2.0])


def _divergence(x, y):
    return x * mp.log(x / y) - x + y


def _transform(x, power):
    return mp.log(x) if power == 0 else (x**power - 1) / power


def _slope(x, power):
    t = power * mp.log(x)
    if abs(t) < mp.mpf(10) ** -30:
        return mp.log(x) ** 2 / 2
    return mp.log(x) ** 2 * (mp.exp(t) * (t - 1) + 1) / t**2


def _exactly(function, *arrays):
    with mp.workdps(400):
        return [float(function(*map(mp.mpf, point))) for point in zip(*arrays, strict=True)]


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_divergences_of_close_and_of_distant_numbers(mode):
    x, y = pt.dvectors("x", "y")
    slopes = phintys.grad(pt.kl_div(x, y).sum(), [x, y])
    f = phintys.function([x, y], [pt.kl_div(x, y), *slopes], mode=mode)
    value, by_x, by_y = f(X, Y)
    np.testing.assert_allclose(value, _exactly(_divergence, X, Y), rtol=2e-15)
    np.testing.assert_allclose(by_x, _exactly(lambda x, y: mp.log(x / y), X, Y), rtol=1e-15)
    np.testing.assert_allclose(by_y, _exactly(lambda x, y: 1 - x / y, X, Y), rtol=1e-15)


def test_power_transforms_and_their_slopes_near_power_zero():
    x, power = pt.dvectors("x", "power")
    out = pt.boxcox(x, power)
    f = phintys.function([x, power], [out, phintys.grad(out.sum(), power)])
    at = np.full_like(POWERS, 1.7)
    value, slope = f(at, POWERS)
    np.testing.assert_allclose(value, _exactly(_transform, at, POWERS), rtol=2e-15)
    np.testing.assert_allclose(slope, _exactly(_slope, at, POWERS), rtol=4e-15)


def _large_powers(dtype):
    """Return bases next to 1 and far from it, and powers almost up to overflow and underflow."""
    bases = np.array(
        [1e-18, 1e-9, 1e-5, 1e-3, 0.3, 0.7, 3.3, 16.0, 1e6, -1e-9, -0.02, -0.97], dtype
    )
    limit = np.log(np.finfo(dtype).max)
    exponents = np.array([-0.95, -0.5, -0.01, 0.01, 0.3, 0.9, 0.9999, 1.001])[:, None] * limit
    x, t = np.broadcast_arrays(bases, exponents)
    return x.ravel(), (t / np.log1p(x)).astype(dtype).ravel()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["boxcox", "boxcox1p"])
def test_power_transforms_of_large_powers_have_their_digits(name, dtype):
    shift, power = _large_powers(dtype)
    at = shift if name == "boxcox1p" else (1 + shift).astype(dtype)
    base = mp.mpf(1 if name == "boxcox1p" else 0)
    x, y = pt.vector("x", dtype=dtype), pt.vector("y", dtype=dtype)
    out = getattr(pt, name)(x, y)
    f = phintys.function([x, y], [out, *phintys.grad(out.sum(), [x, y])], mode="native")
    exact = [
        lambda x, power: _transform(base + x, power),
        lambda x, power: (base + x) ** (power - 1),
        lambda x, power: _slope(base + x, power) if base + x != 1 else mp.mpf(0),
    ]
    for found, function in zip(f(at, power), exact, strict=True):
        expected = np.array(_exactly(function, at.tolist(), power.tolist()))
        size, limits = np.abs(expected), np.finfo(dtype)
        is_normal = (size >= limits.tiny) & (size <= limits.max)
        assert is_normal.sum() > len(at) // 2
        np.testing.assert_allclose(found[is_normal], expected[is_normal], rtol=4 * limits.eps)
