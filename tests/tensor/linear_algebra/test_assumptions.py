"""What programs state of matrices: free, differentiable, and checked in DebugMode."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, PhintysError, ShapeError
from phintys.tensor.linear_algebra.assumptions import ASSUMPTIONS, Assume, AssumptionError

RNG = np.random.default_rng(8)
A = RNG.normal(size=(3, 3))
P = A @ A.T + np.eye(3)
Q = np.linalg.qr(A)[0]
Z = A + 1j * A.T
WRONG = {
    "symmetric": (A, P),
    "hermitian": (Z, Z + Z.conj().T),
    "positive_definite": (-P, P),
    "positive_semidefinite": (-P, np.ones((3, 3))),
    "lower_triangular": (A, np.tril(A)),
    "upper_triangular": (A, np.triu(A)),
    "diagonal": (P, np.diag([1.0, -2.0, 0.0])),
    "orthogonal": (A, Q),
    "unitary": (Z, np.linalg.qr(Z)[0]),
    "permutation": (Q, np.eye(3)[[1, 2, 0]]),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_an_untrue_assumption_is_found_in_debug_mode(dtype):
    assert WRONG.keys() == set(ASSUMPTIONS)
    x = pt.tensor("x", dtype=dtype, shape=(None, None, None))
    for name, (bad, good) in WRONG.items():
        if np.result_type(bad, dtype) != dtype:
            continue
        f = phintys.function([x], pt.assume(x, name) * 2, mode="debug")
        np.testing.assert_array_equal(f([good, good]), np.array([good, good]) * 2)
        with pytest.raises(AssumptionError, match=rf"x, at position \[1\] .*{name[:5]}") as caught:
            f([good, bad])
        assert "test_assumptions.py" in str(caught.value)


def test_an_assumption_costs_nothing():
    x = pt.dmatrix("x")
    texts = [
        phintys.function([x], pt.exp(one) + 1, mode="native").explain()
        for one in (x, pt.assume(x, "symmetric", positive_definite=True))
    ]
    assert texts[0] == texts[1]


def test_it_passes_gradients_and_tangents():
    x, v = pt.dmatrices("x", "v")
    y = pt.exp(pt.assume(x, "symmetric"))
    values = {x: P, v: A}
    np.testing.assert_allclose(phintys.grad(y.sum(), x).eval({x: P}), np.exp(P))
    np.testing.assert_allclose(phintys.Rop(y, x, v).eval(values), np.exp(P) * A)


def test_nested_assumptions_are_one():
    x = pt.dmatrix("x")
    both = pt.assume(pt.assume(x, "symmetric"), orthogonal=True, diagonal=None)
    assert both.owner.op == Assume("symmetric", "orthogonal")
    assert both.owner.inputs == [x]
    assert pt.assume(x) is x


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda x: pt.assume(x, "positive"), ArgumentError, "expected one of .*got 'positive'"),
        (lambda x: pt.assume(x, spd=True), ArgumentError, "got 'spd'"),
        (lambda x: pt.assume(x[0], "symmetric"), ShapeError, "of rank 2 or more"),
        (lambda x: pt.assume(np.ones((2, 3)), "diagonal"), ArgumentError, "are square"),
        (
            lambda x: pt.assume(x, "diagonal", symmetric=False),
            ArgumentError,
            "symmetric follows from diagonal, and is stated not to hold",
        ),
        (
            lambda x: pt.assume(x, positive_definite=True, hermitian=False),
            ArgumentError,
            "hermitian follows from positive_definite",
        ),
        (
            lambda x: pt.assume(x, "lower_triangular", "symmetric", diagonal=False),
            ArgumentError,
            "diagonal follows from lower_triangular, symmetric",
        ),
    ],
)
def test_wrong_assumptions(build, error, words):
    with pytest.raises(error, match=words):
        build(pt.dmatrix("x"))


def test_matrices_that_are_not_square():
    x = pt.dmatrix("x")
    f = phintys.function([x], pt.assume(x, "symmetric") + 1, mode="debug")
    with pytest.raises(PhintysError, match="not square"):
        f(np.ones((2, 3)))
