"""Gamma and beta functions and densities in mode jax have the digits of the native ones."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.scalar import beta_density, gamma_density

pytest.importorskip("jax", reason="needs jax")

a, b, u = pt.dvectors("a", "b", "u")
DIGITS = 2e-14
"""Of the exponential of a sum of terms up to 100."""

TINY = 1e-300  # devices may replace subnormal numbers by 0, also those in between


def _parameters(count, low=-3.0, high=3.0):
    return 10 ** np.random.default_rng(5).uniform(low, high, (2, count))


def _compare(output, *values, rtol=DIGITS, atol=TINY):
    inputs = [a, b, u][: len(values)]
    found = phintys.function(inputs, output, mode="jax")(*values)
    expected = phintys.function(inputs, output)(*values)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def test_the_beta_function():
    """JAX's has seven digits where one parameter is a little above 10."""
    first, second = np.concatenate([_parameters(300), [[2, 10, 50, 0.5], [2, 20, 60, 0.5]]], axis=1)
    _compare(pt.beta(a, b), first, second, rtol=5e-13)
    _compare(pt.betaln(a, b), first, second, rtol=2e-13, atol=1e-14)


def test_the_gamma_function():
    shapes = np.concatenate([_parameters(100, high=2)[0], -_parameters(100, high=1)[0]])
    _compare(pt.gamma(a), shapes)
    _compare(pt.factorial(a), np.array([0, 1, 5, 9, 20, 100, 170, 180, -1.0]))
    whole = np.arange(1.0, 11)
    exact = phintys.function([a], pt.gamma(a), mode="jax")(whole)
    assert exact.tolist() == [1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880]


@pytest.mark.stress
def test_rising_factorials():
    first, steps = _parameters(200, high=1.5)
    _compare(pt.poch(a, b), first, steps)


@pytest.mark.stress
def test_densities_near_their_peaks():
    first, second = _parameters(300, high=6)
    share = np.random.default_rng(6).normal(0, 2, 300)
    peak = first / (first + second)
    place = np.clip(peak + share * np.sqrt(peak * (1 - peak) / (first + second + 1)), 0.01, 0.99)
    _compare(pt.Elemwise(beta_density)(a, b, u), first, second, place, rtol=1e-12)
    _compare(pt.Elemwise(gamma_density)(a, b), first, first + share * np.sqrt(first), rtol=1e-12)
