"""Schur forms, and equations by them, are calls of LAPACK."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

TOLERANCE = {"float32": 1e-3, "float64": 1e-11, "complex64": 1e-3, "complex128": 1e-11}
REGIONS = (None, "lhp", "rhp", "iuc", "ouc")


def drawn(shape, dtype):
    rng = np.random.default_rng(sum(shape))
    a = rng.normal(size=shape).astype(dtype)
    return a + (1j * rng.normal(size=shape)).astype(dtype) if a.dtype.kind == "c" else a


def both(inputs, outputs):
    """Return the same function in native code, without callbacks, and in Python."""
    native, reference = (phintys.function(inputs, outputs, mode=m) for m in ("native", "reference"))
    assert "callback" not in native.explain()
    return native, reference


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("output", ["real", "complex"])
def test_forms_in_every_order(dtype, output):
    a, b = (pt.tensor(name, shape=(None, None, None), dtype=dtype) for name in "ab")
    outputs = []
    for region in REGIONS:
        outputs += pt.linalg.schur(a, output, region)
        outputs += pt.linalg.ordqz(a, b, region, output) if region else pt.linalg.qz(a, b, output)
    f, g = both([a, b], outputs)
    for n in (0, 1, 2, 7):
        values = [drawn((2, n, n), dtype), drawn((3, n, n), dtype)[:2]]
        for one, other in zip(f(*values), g(*values), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(one, other, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_equations(dtype):
    a, b, q = (pt.tensor(name, shape=(None, None, None), dtype=dtype) for name in "abq")
    f, _ = both([a, b, q], pt.linalg.solve_sylvester(a, b, q))
    for m, n in ((0, 2), (2, 0), (1, 1), (5, 3), (3, 8)):
        one, other = (drawn((2, k, k), dtype) + 9 * np.eye(k, dtype=dtype) for k in (m, n))
        right = drawn((2, m, n), dtype)
        x = f(one, other, right)
        np.testing.assert_allclose(one @ x + x @ other, right, atol=100 * TOLERANCE[dtype])


def test_one_form_serves_an_equation_and_its_gradient():
    a, q = pt.dmatrix("a"), pt.dmatrix("q")
    x = pt.linalg.solve_continuous_lyapunov(a, q)
    f, g = both([a, q], [x, *phintys.grad((x**2).sum(), [a, q])])
    assert f.explain().count("call gees") == 1
    values = drawn((6, 6), "float64") - 5 * np.eye(6), drawn((6, 6), "float64")
    for one, other in zip(f(*values), g(*values), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_equations_in_modes_without_rules():
    a, q = pt.dmatrix("a"), pt.dmatrix("q")
    x = pt.linalg.solve_sylvester(a, a, q)
    f = phintys.function([a, q], x, mode=phintys.Mode("native", phintys.passes.PIPELINES["none"]))
    assert f.explain().count("call gees") == 2
    one, right = drawn((4, 4), "float64") + 8 * np.eye(4), drawn((4, 4), "float64")
    np.testing.assert_allclose(one @ f(one, right) + f(one, right) @ one, right, atol=1e-11)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_elements_that_are_not_finite(bad, dtype):
    a = pt.tensor("a", shape=(None, None, None), dtype=dtype)
    stack = np.stack([np.diag([1.0, 2.0]), np.diag([1.0, bad])]).astype(dtype)
    for function in (pt.linalg.schur, lambda a, **k: pt.linalg.qz(a, a, **k)):
        with pytest.raises(np.linalg.LinAlgError, match="not finite"):
            phintys.function([a], list(function(a)), mode="native")(stack)
        for found in phintys.function([a], list(function(a, on_error="nan")), mode="native")(stack):
            assert np.isfinite(found[0]).all()
            assert np.isnan(found[1]).all()


def test_an_equation_without_a_single_solution():
    a, b, q = pt.dtensor3("a"), pt.dtensor3("b"), pt.dtensor3("q")
    one = np.stack([np.eye(2), np.diag([1.0, 2.0])])
    other = np.stack([np.eye(2), np.diag([-2.0, -1.0])])
    right = np.ones((2, 2, 2))
    with pytest.raises(np.linalg.LinAlgError, match="common eigenvalue"):
        phintys.function([a, b, q], pt.linalg.solve_sylvester(a, b, q), mode="native")(
            one, other, right
        )
    x = pt.linalg.solve_sylvester(a, b, q, on_error="nan")
    found = phintys.function([a, b, q], x, mode="native")(one, other, right)
    np.testing.assert_allclose(found[0], 0.5)
    assert np.isnan(found[1]).all()
