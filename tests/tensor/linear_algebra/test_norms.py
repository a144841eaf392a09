"""Norms of matrices beside NumPy's, also of those without rows or columns."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]
SHAPES = [(0, 3), (3, 0), (0, 0), (2, 0, 3), (0, 2, 3), (2, 3, 2)]


def numpy_norm(value, order, keepdims):
    if order in {1, 2, np.inf} and not value.size:  # an error in NumPy before 2.3
        return np.zeros(value.sum((-2, -1), keepdims=keepdims).shape)
    return np.linalg.norm(value, order, (-2, -1), keepdims)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_are_those_of_numpy(order, keepdims, mode):
    for shape in SHAPES:
        value = np.random.default_rng(0).normal(size=shape)
        a = pt.tensor("a", dtype="float64", shape=(None,) * len(shape))
        f = phintys.function([a], pt.linalg.norm(a, order, (-2, -1), keepdims), mode=mode)
        try:
            wanted = numpy_norm(value, order, keepdims)
        except ValueError:
            with pytest.raises(ValueError, match="no element"):
                f(value)
            continue
        np.testing.assert_allclose(f(value), wanted, strict=True)
