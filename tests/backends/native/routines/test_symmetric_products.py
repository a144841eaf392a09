"""Products of a matrix and its transpose are computed by half, if they are large."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

LARGE = [(64, 256), (70, 389), (300, 300)]
SMALL = [(0, 5), (5, 0), (3, 5), (40, 255)]


@pytest.fixture(scope="module", params=["float64", "float32"])
def products(request):
    a = pt.tensor("a", shape=(None, None), dtype=request.param)
    outputs = [a.T @ a, a[::2] @ a[::2].T]
    f = phintys.function([a], outputs, mode="native")
    assert f.explain().count("call syrk") == 2
    return request.param, f


@pytest.mark.parametrize("shape", [*SMALL, *LARGE])
def test_values(products, shape):
    dtype, f = products
    value = np.random.default_rng(0).normal(size=shape).astype(dtype)
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    for a, of_columns in ((value, True), (np.repeat(value.T, 2, axis=0), False)):
        found = f(a)[0 if of_columns else 1]
        np.testing.assert_allclose(found, value.T @ value, rtol=0, atol=tolerance * len(value))
        if shape in LARGE:
            np.testing.assert_array_equal(found, found.T)


def test_other_products_are_computed_whole():
    a = pt.dmatrix("a")
    z = pt.zmatrix("z")
    outputs = [a @ a, a[1:].T @ a[:-1], a.T @ a[::-1], z.T @ z, 2.0 * (a.T @ a) + a]
    assert "syrk" not in phintys.function([a, z], outputs, mode="native").explain()
