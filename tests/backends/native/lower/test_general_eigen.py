"""Eigenvalues of any matrices are calls of LAPACK."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

TOLERANCE = {"float32": 1e-4, "float64": 1e-11, "complex64": 1e-4, "complex128": 1e-11}


def compiled(a, mode="native", **options):
    f = phintys.function(
        [a], [*pt.linalg.eig(a, **options), pt.linalg.eigvals(a, **options)], mode=mode
    )
    assert mode != "native" or "callback" not in f.explain()
    return f


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_values_and_vectors(dtype):
    a = pt.tensor("a", shape=(None, None, None), dtype=dtype)
    f, g = compiled(a), compiled(a, "reference")
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 5, 40):
        value = rng.normal(size=(3, n, n)).astype(dtype)
        if value.dtype.kind == "c":
            value += (1j * rng.normal(size=value.shape)).astype(dtype)
        w, v, alone = f(value)
        for one, other in zip((w, v, alone), g(value), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        np.testing.assert_allclose(value @ v, v * w[:, None], atol=10 * TOLERANCE[dtype])


def test_pairs_and_real_values_among_each_other():
    value = np.zeros((5, 5))
    value[:2, :2] = [[0, -1], [1, 0]]
    value[2, 2] = 3.0
    value[3:, 3:] = [[1, 2], [-2, 1]]
    a = pt.dmatrix("a")
    w, v, _ = compiled(a)(value.T)
    np.testing.assert_allclose(sorted(w.imag), [-2, -1, 0, 1, 2])
    np.testing.assert_allclose(value.T @ v, v * w, atol=1e-14)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_elements_that_are_not_finite(bad, dtype):
    a = pt.tensor("a", shape=(None, None, None), dtype=dtype)
    stack = np.stack([np.diag([1.0, 2.0]), np.diag([1.0, bad])]).astype(dtype)
    with pytest.raises(np.linalg.LinAlgError, match=r"not finite"):
        compiled(a)(stack)
    for found in compiled(a, on_error="nan")(stack):
        assert np.isfinite(found[0]).all()
        assert np.isnan(found[1]).all()
