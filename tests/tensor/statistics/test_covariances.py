"""Weights of covariances are checked, as NumPy checks them."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import DomainError

M = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 4.0]])


@pytest.mark.parametrize(
    ("name", "weights", "what"),
    [
        ("fweights", np.array([1, -1, 3]), "whole numbers that are not negative"),
        ("fweights", np.array([1.0, -1.0, 3.0]), "whole numbers that are not negative"),
        ("fweights", np.array([1.0, 1.5, 3.0]), "whole numbers that are not negative"),
        ("aweights", np.array([1.0, -0.5, 3.0]), "not negative"),
    ],
)
def test_weights_of_cov_are_checked(name, weights, what):
    with pytest.raises(DomainError, match=f"cov: {name} must be {what}, got"):
        pt.cov(M, **{name: weights})
    w = pt.vector("w", dtype=weights.dtype)
    f = phintys.function([w], pt.cov(M, **{name: w}))
    with pytest.raises(DomainError, match=f"cov: {name} must be {what}"):
        f(weights)
    good = abs(np.rint(weights)).astype(weights.dtype)
    counts = good.astype(int) if name == "fweights" else good
    np.testing.assert_allclose(f(good), np.cov(M, **{name: counts}))
