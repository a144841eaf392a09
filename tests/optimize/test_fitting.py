"""Least squares: SciPy's results, with dense and sparse Jacobians."""

import numpy as np
import pytest
import scipy.sparse

import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.optimize import least_squares


def smooth(n):
    """A curve through noise that bends little: n parameters, of which each residual has three."""
    x, seen = pt.dvector("x"), pt.dvector("seen")
    bends = 3.0 * (x[2:] - 2.0 * x[1:-1] + x[:-2])
    return pt.concatenate([pt.tanh(x) - seen, bends]), x, seen


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_methods_agree_with_normal_equations(method):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(6, 2)), rng.normal(size=6)
    x = pt.dvector("x")
    fit = least_squares(pt.dot(a, x) - b, x, np.zeros(2), method=method)
    np.testing.assert_allclose(fit.params, np.linalg.lstsq(a, b)[0], rtol=1e-6)
    np.testing.assert_allclose(fit.value, (fit.residuals**2).sum() / 2)
    np.testing.assert_allclose(fit.jacobian, a)


def test_a_sparse_jacobian_leads_to_the_same_fit():
    residuals, x, seen = smooth(8)
    values = np.sin(np.linspace(0, 2, 8)) * 0.9
    close = {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-10}
    found = [
        least_squares(residuals, x, np.zeros(8), {seen: values}, options=close, sparse=sparse)
        for sparse in (False, True)
    ]
    assert scipy.sparse.issparse(found[1].jacobian)
    assert found[1].jacobian.nnz == 8 + 3 * 6
    np.testing.assert_allclose(found[1].params, found[0].params, atol=1e-5)


def test_bounds_and_trees_of_parameters():
    params = {"a": pt.dscalar("a"), "b": pt.fvector("b")}
    residuals = pt.concatenate([params["b"] - 2.0, (params["a"] - params["b"]).ravel()])
    fit = least_squares(
        residuals, params, {"a": 0.0, "b": [0.0, 0.0]}, bounds=(None, {"a": 1.0, "b": 3.0})
    )
    assert fit.success
    assert fit.params["a"] == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(fit.params["b"], [1.5, 1.5], rtol=1e-5)


def test_wrong_arguments_are_refused():
    x = pt.dvector("x")
    with pytest.raises(ArgumentError, match="'lm' does not take sparse matrices"):
        least_squares(x, x, [1.0], method="lm", sparse=True)
    with pytest.raises(ArgumentError, match="real floating dtype"):
        least_squares(pt.lvector("n"), x, [1.0])
    with pytest.raises(ArgumentError, match="least_squares: x is not a shared variable"):
        least_squares(x, x)
