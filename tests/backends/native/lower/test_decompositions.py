"""Singular values and QR factors are calls of LAPACK."""

import subprocess

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

SHAPES = [(5, 3), (3, 5), (4, 4), (1, 6), (0, 3), (3, 0), (40, 30)]
TOLERANCE = {"float32": 1e-4, "float64": 1e-11, "complex64": 1e-4, "complex128": 1e-11}


def drawn(shape, dtype):
    rng = np.random.default_rng(0)
    a = rng.normal(size=shape).astype(dtype)
    return a + (1j * rng.normal(size=shape)).astype(dtype) if a.dtype.kind == "c" else a


@pytest.fixture(scope="module", params=TOLERANCE)
def decomposed(request):
    """A dtype, and a function of stacks of any shape."""
    a = pt.tensor("a", shape=(None, None, None), dtype=request.param)
    outputs = [*pt.linalg.svd(a, full_matrices=False), *pt.linalg.qr(a)]
    f = phintys.function([a], outputs, mode="native")
    assert "callback" not in f.explain()
    return request.param, f


@pytest.mark.parametrize("shape", SHAPES)
def test_values(decomposed, shape):
    dtype, f = decomposed
    a = drawn((3, *shape), dtype)
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    u, s, vh, q, r = f(a)
    assert s.dtype == a.real.dtype
    identity = np.broadcast_to(np.eye(min(shape)), (3, min(shape), min(shape)))
    for orthogonal in (u, vh.mT.conj(), q):
        np.testing.assert_allclose(orthogonal.mT.conj() @ orthogonal, identity, **tolerance)
    np.testing.assert_allclose((u * s[:, None]) @ vh, a, **tolerance)
    np.testing.assert_allclose(q @ r, a, **tolerance)
    assert (np.diff(s) <= 0).all()
    assert not np.tril(r, -1).any()


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_square_factors_and_exchanges_of_columns(dtype):
    a = pt.tensor("a", shape=(None, None, None), dtype=dtype)
    q_and_r = pt.linalg.qr(a, "complete")
    pivoted = pt.linalg.qr(a, pivoting=True), pt.linalg.qr(a, "complete", pivoting=True)
    packed = *pt.linalg.qr(a, "raw", pivoting=True), *pt.linalg.qr(a, "raw")[:2]
    outputs = [*pt.linalg.svd(a), *q_and_r, *pivoted[0], *pivoted[1], *packed]
    f = phintys.function([a], outputs, mode="native")
    g = phintys.function([a], outputs, mode="reference")
    assert "callback" not in f.explain()
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    for m, n in SHAPES:
        value = drawn((2, m, n), dtype)
        found, expected = f(value), g(value)
        for one, other in zip(found[1:2] + found[3:], expected[1:2] + expected[3:], strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_allclose(one, other, **tolerance)
        u, s, vh = found[:3]
        middle = np.zeros((2, m, n))
        middle[:, range(len(s[0])), range(len(s[0]))] = s
        np.testing.assert_allclose(u @ middle @ vh, value, **tolerance)
        for orthogonal in (u, vh):
            identity = np.broadcast_to(np.eye(orthogonal.shape[-1]), orthogonal.shape)
            np.testing.assert_allclose(orthogonal @ orthogonal.mT.conj(), identity, **tolerance)


@pytest.mark.parametrize("shape", [(4, 1), (1, 4), (1, 1), (3, 3), (5, 2)])
def test_square_factors_of_known_sizes(shape):
    a = pt.tensor("a", shape=shape, dtype="float64")
    value = drawn(shape, "float64")
    q, r, p = phintys.function([a], pt.linalg.qr(a, "complete", pivoting=True), mode="native")(
        value
    )
    np.testing.assert_allclose(q @ r, value[:, p], atol=1e-12)
    np.testing.assert_allclose(q @ q.T, np.eye(shape[0]), atol=1e-12)
    assert not np.tril(r, -1).any()
    u, s, vh = phintys.function([a], pt.linalg.svd(a), mode="native")(value)
    np.testing.assert_allclose((u[:, : len(s)] * s) @ vh[: len(s)], value, atol=1e-12)


def test_transposed_and_strided_matrices():
    a = pt.dmatrix("a")
    s = pt.linalg.svdvals(a.T[::2])
    r = pt.linalg.qr(a[:, ::-1].T)[1]
    value = drawn((6, 4), "float64")
    found = phintys.function([a], [s, r], mode="native")(value)
    np.testing.assert_allclose(found[0], np.linalg.svd(value.T[::2], compute_uv=False))
    np.testing.assert_allclose(abs(found[1]), abs(np.linalg.qr(value[:, ::-1].T)[1]))


def test_a_matrix_without_singular_values():
    a = pt.dtensor3("a")
    value = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    for mode in ("native", "reference"):
        f = phintys.function([a], pt.linalg.svd(a, full_matrices=False)[1], mode=mode)
        with pytest.raises(np.linalg.LinAlgError, match=r"no convergence|does not find"):
            f(value)
        s = pt.linalg.svdvals(a, on_error="nan")
        found = phintys.function([a], s, mode=mode)(value)
        np.testing.assert_array_equal(found, [[1, 1, 1], [np.nan] * 3])


QUIET = """
    import sys
    import numpy as np
    import phintys, phintys.tensor as pt

    mode, dtype = sys.argv[1:]
    a = pt.tensor("a", shape=(None, None), dtype=dtype)
    linalg = pt.linalg
    outputs = [
        linalg.svdvals(a), *linalg.svd(a), *linalg.eigh(a), *linalg.eig(a), linalg.pinv(a),
        linalg.lstsq(a, a).x, *linalg.qr(a), *linalg.qr(a, pivoting=True), linalg.det(a),
        linalg.cholesky(a, on_error="nan"), linalg.inv(a, on_error="nan"), *linalg.schur(a),
        *linalg.qz(a, a), linalg.sqrtm(a, on_error="nan"), linalg.logm(a, on_error="nan"),
        linalg.solve_sylvester(a, a, a, on_error="nan"),
    ]
    for y in outputs:
        f = phintys.function([a], y, mode=mode)
        for bad in (np.nan, np.inf, np.finfo(dtype).max):
            for n in (1, 3, 30):
                for whole in (False, True):
                    value = np.random.default_rng(n).normal(size=(n, n)).astype(dtype)
                    value[... if whole else -1] = bad
                    try:
                        with np.errstate(all="ignore"):
                            f(value)
                    except (np.linalg.LinAlgError, ValueError):
                        pass
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_decompositions_of_what_is_not_finite_print_nothing(mode, dtype, python_command):
    done = subprocess.run(
        python_command(QUIET, mode, dtype),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_singular_values_of_what_is_not_finite_are_errors_or_nan(mode, bad):
    a = pt.tensor3("a", dtype="float64")
    value = np.stack([np.eye(3), np.diag([1.0, bad, 1.0])])
    with pytest.raises(np.linalg.LinAlgError, match=r"no convergence|not finite"):
        phintys.function([a], pt.linalg.svdvals(a), mode=mode)(value)
    found = phintys.function([a], pt.linalg.svdvals(a, on_error="nan"), mode=mode)(value)
    np.testing.assert_array_equal(found[0], np.ones(3))
    assert np.isnan(found[1]).all()
