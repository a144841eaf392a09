"""Calls of LAPACK and BLAS for stacks of matrices, and for views of matrices."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

RNG = np.random.default_rng(0)
DTYPES = ("float32", "float64", "complex64", "complex128")


def hermitian(shape, dtype):
    a = RNG.normal(size=shape).astype(dtype)
    if a.dtype.kind == "c":
        a = a + (1j * RNG.normal(size=shape)).astype(dtype)
    return a + a.mT.conj()


def tolerance(dtype):
    return {"rtol": 1e-3, "atol": 1e-3} if dtype in DTYPES[::2] else {"rtol": 1e-9, "atol": 1e-9}


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (7, 7), (3, 2, 2), (2, 0, 5, 5), (2, 2, 20, 20)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_eigh(dtype, shape):
    value = hermitian(shape, dtype)
    a = pt.tensor("a", dtype=dtype, shape=(None,) * len(shape))
    w, v = pt.linalg.eigh(a)
    f = phintys.function([a], [w, (v * w[..., None, :]) @ v.mT.conj()], mode="native")
    assert "call evd" in f.explain()
    assert "callback" not in f.explain()
    values, product = f(value)
    assert values.dtype == value.real.dtype
    wanted = np.linalg.eigvalsh(value) if value.size else np.zeros(shape[:-1])
    np.testing.assert_allclose(values, wanted, **tolerance(dtype))
    np.testing.assert_allclose(product, value, **tolerance(dtype))


VIEWS = {
    "every second": lambda a, b: pt.linalg.solve(a[::-1][:, ::2][::2], b[::4]),
    "backwards": lambda a, b: pt.linalg.solve(a.T, b[::-2]),
    "part of a product": lambda a, b: pt.linalg.cholesky((a @ a.T)[::2, ::2] + pt.eye(4)),
    "transposed": lambda a, b: pt.linalg.solve_triangular(a.T, b[:8], lower=True),
    "a corner": lambda a, b: pt.linalg.solve_triangular(a[2:6, 3:7], b[:4]),
    "a stack of corners": lambda a, b: pt.linalg.solve_triangular(
        pt.stack([a, a.T])[:, 1:5, 2:6], b[:4], lower=True
    ),
    "one matrix for all": lambda a, b: pt.linalg.solve(a[None], b.reshape((2, 8, 3))),
    "a column": lambda a, b: pt.linalg.solve_triangular(a, b[:8, 1]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name):
    a, b = pt.dmatrices("a", "b")
    values = RNG.normal(size=(8, 8)) + 4 * np.eye(8), RNG.normal(size=(16, 3))
    out = VIEWS[name](a, b)
    fast, slow = (
        phintys.function([a, b], out, mode=mode, on_unused_input="ignore")
        for mode in ("native", "reference")
    )
    np.testing.assert_allclose(fast(*values), slow(*values), rtol=1e-7, atol=1e-9)


def test_a_transpose_is_not_copied_to_be_read():
    a, b = pt.dmatrices("a", "b")
    f = phintys.function([a, b], pt.linalg.solve_triangular(a.T, b, lower=True), mode="native")
    kernels = [line for line in f.explain().splitlines() if ". kernel" in line]
    assert len(kernels) == 1  # the right side, which becomes the result


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_three_diagonals(dtype):
    a, b = (pt.tensor(name, dtype=dtype, shape=(None, None, None)) for name in "ab")
    solutions = [
        pt.linalg.solve(a, b, assume_a="tridiagonal", transposed=turned, on_error="nan")
        for turned in (False, True)
    ]
    f = phintys.function([a, b], solutions, mode="native")
    assert f.explain().count("call gtsv") == 2
    for n in (0, 1, 2, 9):
        matrix = np.tril(np.triu(RNG.normal(size=(3, n, n)), -1), 1).astype(dtype)
        matrix[1] = 0
        right = RNG.normal(size=(3, n, 2)).astype(dtype)
        for found, one in zip(f(matrix, right), (matrix, matrix.mT), strict=True):
            for at in (0, 2):
                np.testing.assert_allclose(one[at] @ found[at], right[at], atol=1e-9)
            assert np.isnan(found[1]).all()
