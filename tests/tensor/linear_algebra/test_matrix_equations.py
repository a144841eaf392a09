"""Sylvester's, Lyapunov's and Riccati's equations: second derivatives and failures."""

import numpy as np
import pytest
import scipy.linalg

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError
from phintys.gradient import verify_grad

RNG = np.random.default_rng(0)
A, Q = RNG.normal(size=(2, 2)) / 4 + np.eye(2) / 2, RNG.normal(size=(2, 2))
B = RNG.normal(size=(2, 1))
R = np.array([[1.5]])


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (pt.linalg.solve_sylvester, (A, A + 0.25, Q)),
        (pt.linalg.solve_discrete_lyapunov, (A, Q)),
        (pt.linalg.solve_continuous_are, (A, B, Q @ Q.T, R)),
        (pt.linalg.solve_discrete_are, (A, B, Q @ Q.T, R)),
    ],
)
def test_gradients_of_gradients(function, values):
    def slope(*matrices):
        found = phintys.grad((function(*matrices) ** 2).sum(), list(matrices))
        return sum(((g**2).sum() for g in found), start=pt.constant(0.0))

    verify_grad(slope, list(values), mode="reference")


def test_methods_for_lyapunov_agree_with_scipy():
    q = np.stack([Q, Q + 1j])
    found = pt.linalg.solve_discrete_lyapunov(A, q, "direct").eval(mode="reference")
    wanted = [scipy.linalg.solve_discrete_lyapunov(A, one, "direct") for one in q]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    found = pt.linalg.solve_continuous_lyapunov(A, q).eval(mode="reference")
    # SciPy's residual is 0.25 for a real matrix and a complex right side.
    wanted = [scipy.linalg.solve_continuous_lyapunov(A + 0j, one) for one in q]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_equations_without_a_single_solution_are_named():
    a = pt.tensor3("a")
    stack = np.stack([np.eye(2), np.diag([1.0, -3.0])])
    b, q = np.eye(2) * 3, np.ones((2, 2))
    with pytest.raises(np.linalg.LinAlgError, match=r"position \[1\].*common eigenvalue"):
        pt.linalg.solve_sylvester(a, b, q).eval({a: stack}, mode="reference")
    x = pt.linalg.solve_sylvester(a, b, q, on_error="nan").eval({a: stack}, mode="reference")
    np.testing.assert_allclose(x[0], 0.25)
    assert np.isnan(x[1]).all()
    broken = np.full((1, 2, 2), np.nan)
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        pt.linalg.solve_sylvester(a, b, q).eval({a: broken}, mode="reference")


def test_an_equation_that_no_feedback_stabilizes():
    unstable = np.diag([2.0, 0.5])
    with pytest.raises(np.linalg.LinAlgError, match="no stabilizing solution"):
        pt.linalg.solve_discrete_are(unstable, np.zeros((2, 1)), np.eye(2), R).eval(
            mode="reference"
        )


@pytest.mark.parametrize(
    ("error", "match", "build"),
    [
        (ShapeError, "named n", lambda: pt.linalg.solve_sylvester(A, A, np.ones((2, 3)))),
        (ShapeError, "rank 2", lambda: pt.linalg.solve_sylvester(A, A, [1.0, 2.0])),
        (ShapeError, "named n", lambda: pt.linalg.solve_discrete_are(A, B[:1], Q, R)),
        (ShapeError, "named m", lambda: pt.linalg.solve_continuous_are(A, B, Q, np.eye(2))),
        (
            ArgumentError,
            "'direct'; got 'fast'",
            lambda: pt.linalg.solve_discrete_lyapunov(A, Q, "fast"),
        ),
    ],
)
def test_wrong_arguments(error, match, build):
    with pytest.raises(error, match=match):
        build()
