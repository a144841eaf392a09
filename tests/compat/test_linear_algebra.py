"""Decompositions, solvers and BLAS under their old names."""

import importlib

import numpy as np
import pytest
import scipy.linalg

import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.compat import install, uninstall
from phintys.tensor.blas import Gemm

RNG = np.random.default_rng(2)
A = RNG.normal(size=(4, 4)) + 4 * np.eye(4)
P = A @ A.T
B = RNG.normal(size=(4, 2))


def test_functions_of_nlinalg_and_slinalg(theano):
    T = theano.tensor
    a, p, b = T.dmatrices("a", "p", "b")
    n, s = T.nlinalg, T.slinalg
    cases = [
        (n.matrix_inverse(a), np.linalg.inv(A)),
        (n.det(a), np.linalg.det(A)),
        (n.pinv(a), np.linalg.pinv(A)),
        (n.matrix_power(a, 3), np.linalg.matrix_power(A, 3)),
        (n.eigh(p)[0], np.linalg.eigh(P)[0]),
        (n.eigh(p, "U")[0], np.linalg.eigh(P)[0]),
        (n.svd(a, 0)[1], np.linalg.svd(A)[1]),
        (n.svd(a, compute_uv=False), np.linalg.svd(A)[1]),
        (n.qr(a)[1], np.linalg.qr(A)[1]),
        (s.cholesky(p), np.linalg.cholesky(P)),
        (s.Cholesky(lower=False)(p), np.linalg.cholesky(P).T),
        (s.solve(a, b), np.linalg.solve(A, B)),
        (s.Solve()(a, b), np.linalg.solve(A, B)),
        (s.Solve("lower_triangular")(a, b), scipy.linalg.solve_triangular(A, B, lower=True)),
        (s.solve_lower_triangular(a, b), scipy.linalg.solve_triangular(A, B, lower=True)),
        (s.solve_upper_triangular(a, b), scipy.linalg.solve_triangular(A, B)),
        (s.expm(a), scipy.linalg.expm(A)),
        (s.eigvalsh(p, None), np.linalg.eigvalsh(P)),
    ]
    outputs, expected = zip(*cases, strict=True)
    f = theano.function([a, p, b], list(outputs), on_unused_input="ignore")
    for value, wanted in zip(f(A, P, B), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("module", ["linalg", "linalg.ops", "linalg.kron"])
def test_functions_where_they_were_before_nlinalg(theano, module):
    """SymPy takes them from there."""
    linalg = importlib.import_module(f"theano.sandbox.{module}")
    x = theano.tensor.dmatrix("x")
    f = theano.function([x], [linalg.det(x), linalg.trace(x), linalg.kron(x, x)[0, 0]])
    assert [float(one) for one in f([[2.0, 0.0], [0.0, 3.0]])] == [6.0, 5.0, 4.0]


def test_options_of_later_packages(aesara):
    s = aesara.tensor.slinalg
    np.testing.assert_allclose(s.cholesky(P, check_finite=False).eval(), np.linalg.cholesky(P))
    factors = s.lu_factor(A, check_finite=False, overwrite_a=True)
    np.testing.assert_allclose(s.lu_solve(factors, B).eval(), np.linalg.solve(A, B))
    x = s.solve(P, B, assume_a="pos", b_ndim=2, check_finite=False)
    np.testing.assert_allclose(x.eval(), np.linalg.solve(P, B))
    x = s.solve_triangular(A, B, lower=True, check_finite=False)
    np.testing.assert_allclose(x.eval(), scipy.linalg.solve_triangular(A, B, lower=True))
    with pytest.raises(ArgumentError, match="no argument 'sym_pos'"):
        s.solve(A, B, sym_pos=True)


def test_assumptions():
    install("pytensor")
    try:
        from pytensor.assumptions import assume

        x = assume(np.eye(2), positive_definite=True, diagonal=None)
        assert str(x.owner.op) == "Assume{positive_definite}"
    finally:
        uninstall("pytensor")


def test_matrix_ops_by_their_classes(theano):
    nlinalg = importlib.import_module("theano.tensor.nlinalg")
    slinalg = importlib.import_module("theano.tensor.slinalg")
    T = theano.tensor
    A = np.random.default_rng(6).normal(size=(3, 3))
    S = A @ A.T + np.eye(3)
    x, v = T.dmatrix("x"), T.dvector("v")
    cases = [
        (nlinalg.MatrixInverse, (), S, np.linalg.inv(S)),
        (nlinalg.MatrixPinv, (), A[:, :2], np.linalg.pinv(A[:, :2])),
        (nlinalg.Det, (), S, np.linalg.det(S)),
        (slinalg.Cholesky, (), S, np.linalg.cholesky(S)),
        (slinalg.Expm, (), A, scipy.linalg.expm(A)),
        (slinalg.Eigvalsh, (True,), S, np.linalg.eigvalsh(S)),
    ]
    for old, arguments, value, expected in cases:
        result = old(*arguments)(x)
        np.testing.assert_allclose(result.eval({x: value}), expected, rtol=1e-9, atol=1e-12)
    assert isinstance(nlinalg.Det()(x).owner.op, nlinalg.Det)
    assert not isinstance(nlinalg.MatrixInverse()(x).owner.op, nlinalg.Det)
    for old in (nlinalg.Eig(), nlinalg.Eigh()):
        values, vectors = theano.function([x], old(x))(S)
        np.testing.assert_allclose(S @ vectors, values * vectors, atol=1e-12)
    for factors in (nlinalg.QRFull("reduced")(x), nlinalg.SVD(full_matrices=False)(x)):
        made = theano.function([x], factors)(A)
        product = made[0] @ made[1] if len(made) == 2 else made[0] * made[1] @ made[2]
        np.testing.assert_allclose(product, A)
    solution = slinalg.SolveTriangular(lower=True)(x, v)
    np.testing.assert_allclose(
        solution.eval({x: np.tril(S), v: A[0]}), np.linalg.solve(np.tril(S), A[0])
    )
    assert slinalg.Kron()(x, x).eval({x: A}).shape == (9, 9)
    fit = nlinalg.lstsq()(x, v, 1e-10)[0]
    expected = np.linalg.lstsq(A[:, :2], A[0], rcond=None)[0]
    np.testing.assert_allclose(fit.eval({x: A[:, :2], v: A[0]}), expected)


X, Y, Z = (np.random.default_rng(seed).normal(size=(3, 3)) for seed in range(3))
v, w = X[0], Y[1]


@pytest.mark.parametrize(
    ("names", "arguments", "wanted"),
    [
        ("gemm_inplace gemm_no_inplace", (Z, 2.0, X, Y, 3.0), 3 * Z + 2 * X @ Y),
        ("gemv gemv_inplace gemv_no_inplace", (v, 2.0, X, w, 3.0), 3 * v + 2 * X @ w),
        ("ger ger_destructive", (Z, 2.0, v, w), Z + 2 * np.outer(v, w)),
        ("_dot22", (X, Y), X @ Y),
        ("_dot22scalar", (X, Y, 2.0), 2 * X @ Y),
    ],
)
def test_values_of_blas(theano, names, arguments, wanted):
    from theano.tensor import blas

    for name in names.split():
        out = getattr(blas, name)(*map(pt.as_tensor_variable, arguments))
        np.testing.assert_allclose(theano.function([], out)(), wanted)


def test_ops_of_blas_are_found_in_compiled_functions(aesara):
    from aesara.tensor.blas import Dot22

    T = aesara.tensor
    x, y, z = T.dmatrices("x", "y", "z")
    f = aesara.function([x, y, z], [z + 2 * T.dot(x, y), T.dot(y, z)], mode="FAST_RUN")
    kinds = [type(node.op) for node in f.maker.fgraph.toposort()]
    assert Dot22 in kinds
    assert aesara.tensor.blas.Gemm is aesara.tensor.blas.Gemv is Gemm
    assert Gemm in kinds
