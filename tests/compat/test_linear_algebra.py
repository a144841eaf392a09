"""Decompositions and solvers under their old names."""

import numpy as np
import pytest
import scipy.linalg

from phintys._base.errors import ArgumentError
from phintys.compat import install, uninstall

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
