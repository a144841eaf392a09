"""A matrix of a known small size is computed without calls; those of stacks in lanes."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

RNG = np.random.default_rng(4)
HOW = {
    "cholesky": lambda a, b: [pt.linalg.cholesky(a), pt.linalg.cholesky(a, lower=False)],
    "solve_triangular": lambda a, b: [
        pt.linalg.solve_triangular(a, b, lower=True),
        pt.linalg.solve_triangular(a, b, unit_diagonal=True),
    ],
    "lu_factor": lambda a, b: [*pt.linalg.lu_factor(a), pt.linalg.det(a)],
    "solve": lambda a, b: [
        pt.linalg.solve(a, b),
        pt.linalg.solve(a.mT, b),
        pt.linalg.solve(a, b, assume_a="pos"),
        pt.linalg.inv(a),
        *pt.linalg.slogdet(a),
    ],
    "gradient": lambda a, b: phintys.grad(
        pt.linalg.cholesky(a).sum() + (pt.linalg.solve(a, b) ** 2).sum(), [a, b]
    ),
}


def variables(n, batch, dtype="float64"):
    rest = (None,) * len(batch)
    a = pt.tensor("a", dtype=dtype, shape=(*rest, n, n))
    b = pt.tensor("b", dtype=dtype, shape=(*rest, n, None))
    x = RNG.normal(size=(*batch, n, n))
    right = RNG.normal(size=(*batch, n, 2)).astype(dtype)
    return [a, b], [(x @ x.mT + np.eye(n)).astype(dtype), right]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("batch", [(), (9,), (2, 0)])
@pytest.mark.parametrize("n", [1, 3, 4])
@pytest.mark.parametrize("name", HOW)
def test_values(name, n, batch):
    inputs, values = variables(n, batch)
    outputs = HOW[name](*inputs)
    f = phintys.function(inputs, outputs, mode="native", on_unused_input="ignore")
    slow = phintys.function(inputs, outputs, mode="reference", on_unused_input="ignore")
    names = ("potrf", "getrf", "trsm", "trsv", "callback")
    calls = [line for line in f.explain().splitlines() if any(name in line for name in names)]
    assert all(line.endswith("in lanes") or "in lanes up to" in line for line in calls)
    assert bool(calls) == bool(batch)
    for one, other in zip(f(*values), slow(*values), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_are_exchanged_as_lapack_does(dtype):
    inputs, _ = variables(3, (50,), dtype)
    value = RNG.normal(size=(50, 3, 3)).astype(dtype)
    outputs = [*pt.linalg.lu_factor(inputs[0]), pt.linalg.inv(inputs[0])]
    f = phintys.function(inputs[:1], outputs, mode="native")
    slow = phintys.function(inputs[:1], outputs, mode="reference")
    factors, exchanges, inverse = f(value)
    wanted, exact, other = slow(value)
    np.testing.assert_array_equal(exchanges, exact)
    tolerance = {"rtol": 1e-3, "atol": 1e-3} if dtype == "float32" else {"rtol": 1e-8}
    np.testing.assert_allclose(factors, wanted, **tolerance)
    np.testing.assert_allclose(inverse, other, **tolerance)


def test_failures():
    (a, _), _ = variables(2, (3,))
    value = np.array([np.eye(2), -np.eye(2), np.eye(2)])
    f = phintys.function([a], pt.linalg.cholesky(a))
    with pytest.raises(np.linalg.LinAlgError, match=r"position \[1\] .* not positive definite"):
        f(value)
    np.testing.assert_array_equal(f(value[::2]), value[::2])
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        phintys.function([a], pt.linalg.inv(a))(value * 0)
    out = phintys.function([a], pt.linalg.cholesky(a, on_error="nan"))(value)
    assert np.isnan(out[1]).all()
    np.testing.assert_array_equal(out[::2], value[::2])
    out = phintys.function([a], pt.linalg.inv(a, on_error="nan"))(value * [[[1]], [[0]], [[1]]])
    assert np.isnan(out[1]).all()
    np.testing.assert_array_equal(out[::2], value[::2])


def test_a_size_that_a_check_has_made_known():
    a = pt.dmatrix("a")
    weights = pt.constant(np.array([[1.0, 2.0], [3.0, 4.0]]))
    factor = pt.linalg.cholesky(a)
    gradient = phintys.grad(None, a, known_grads={factor: weights})
    outputs = [gradient, pt.linalg.solve(a + weights, weights)]
    value = np.array([[4.0, 1.0], [1.0, 3.0]])
    fast, slow = (phintys.function([a], outputs, mode=mode) for mode in ("native", "reference"))
    for one, other in zip(fast(value), slow(value), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
