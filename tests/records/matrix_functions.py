"""Roots and logarithms of matrices, Schur forms, pivoted factors, updates, structured systems."""

import numpy as np
import scipy.linalg
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.linear_algebra.banded import SolveBanded
from phintys.tensor.linear_algebra.cholesky import CholeskyUpdate
from phintys.tensor.linear_algebra.matrix_functions import Logm, Sqrtm
from phintys.tensor.linear_algebra.qr import PackedQR, PivotedQR
from phintys.tensor.linear_algebra.schur import QZ, Schur
from phintys.tensor.linear_algebra.toeplitz_systems import SolveToeplitz
from phintys.testing import Example, OpRecord, Tolerance

SOLVED = Tolerance("factors are computed in another order", ulps=2**13, normwise=True)
DTYPES = ("float64", "complex128", "float32")


def _start(draw, smooth, dtypes=DTYPES):
    dtype = draw(st.sampled_from(dtypes[: 2 if smooth else None]))
    leading = draw(st.sampled_from([(), (2,), (0,)]))
    return np.random.default_rng(draw(st.integers(0, 2**16))), dtype, leading


def _numbers(rng, shape, dtype, size=1.0):
    x = rng.uniform(-size, size, shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.uniform(-size, size, shape)
    return x.astype(dtype)


def _near(center, dtypes=DTYPES):
    """Return a draw of square matrices near a diagonal one."""

    def draw_example(draw, smooth):
        rng, dtype, leading = _start(draw, smooth, dtypes)
        n = draw(st.integers(0, 2))
        x = _numbers(rng, (*leading, n, n), dtype, 0.4)
        return Example((x + np.diag(center + np.arange(n)).astype(dtype),))

    return draw_example


def _pair(draw, smooth):
    (a,) = _near(1.0)(draw, smooth).values
    b = a[..., ::-1, :] + np.eye(a.shape[-1], dtype=a.dtype)
    return Example((a, b), {"is_ordered": draw(st.booleans())})


def _rectangle(draw, smooth):
    """Columns of very different lengths: their order does not change nearby."""
    rng, dtype, leading = _start(draw, smooth)
    m, n = draw(st.sampled_from([(3, 2), (2, 2), (2, 3), (0, 2), (2, 0)]))
    x = _numbers(rng, (*leading, m, n), dtype, 0.2) + np.eye(m, n)
    return Example(((x * 9.0 ** np.arange(n)).astype(dtype),))


def _factor_and_vector(draw, smooth):
    rng, dtype, leading = _start(draw, smooth, ("float64", "float32"))
    n = draw(st.integers(0, 4))
    factor = _numbers(rng, (*leading, n, n), dtype) + 3 * np.eye(n)
    x = _numbers(rng, draw(st.sampled_from([(n,), (*leading, n)])), dtype, 0.5)
    params = {"downdate": draw(st.booleans()), "lower": draw(st.booleans())}
    return Example((factor.astype(dtype), x), params)


def _toeplitz_system(draw, smooth):
    rng, dtype, leading = _start(draw, smooth)
    n, k = draw(st.integers(1, 4)), draw(st.integers(0, 2))
    column, row = (_numbers(rng, (*leading, n), dtype) for _ in range(2))
    column[..., 0] += 6
    return Example((column, row, _numbers(rng, (n, k), dtype)))


def _half_of_bands(draw, smooth):
    n, is_lower = draw(st.integers(2, 3)), draw(st.booleans())  # SciPy needs 2
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    ab = _numbers(rng, (2, n), "float64")
    ab[0 if is_lower else 1] += 4
    types = pt.TensorType("float64", (2, None)), pt.TensorType("float64", (None,))
    return Example((ab, _numbers(rng, (n,), "float64")), {"lower": is_lower}, types)


def _each(function, *cores):
    """Return a function of stacks, from one of matrices or vectors that returns an array."""

    def of_stacks(*arrays, **params):
        batch = np.broadcast_shapes(
            *(x.shape[: x.ndim - core] for x, core in zip(arrays, cores, strict=True))
        )
        shown = [
            np.broadcast_to(x, (*batch, *x.shape[x.ndim - core :]))
            for x, core in zip(arrays, cores, strict=True)
        ]
        out = np.zeros((*batch, *shown[-1 if cores[-1] == 2 else 0].shape[len(batch) :]))
        out = out.astype(np.result_type(*arrays))
        for at in np.ndindex(batch):
            if out.size:
                out[at] = function(*(x[at] for x in shown), **params)
        return out

    return of_stacks


def _logm(a):
    return scipy.linalg.logm(a.copy()).astype(a.dtype)  # old releases want to write to it


def _updated(factor, x, downdate, lower):
    factor = np.tril(factor) if lower else np.triu(factor).T
    found = np.linalg.cholesky(factor @ factor.T + (-1 if downdate else 1) * np.outer(x, x))
    return found if lower else found.T


def _by_toeplitz(column, row, b):
    return np.linalg.solve(scipy.linalg.toeplitz(column, row), b)


def _pivoted(a):
    """``Q R`` for the columns in their order, and where they were."""
    q, r, p = pt.linalg.qr(a, pivoting=True)
    return [q @ r, abs(r), p]


def _pivoted_reference(a):
    m, n = a.shape[-2:]
    shapes = (m, n), (min(m, n), n), (n,)
    dtypes = a.dtype, a.real.dtype, "int64"
    outs = [np.zeros((*a.shape[:-2], *s), d) for s, d in zip(shapes, dtypes, strict=True)]
    for at in np.ndindex(a.shape[:-2]):
        if a.size:
            q, r, p = scipy.linalg.qr(a[at], mode="economic", pivoting=True)
        else:
            q, r, p = np.zeros((m, 0)), np.zeros((0, n)), np.arange(n)
        for out, value in zip(outs, (q @ r, abs(r), p), strict=True):
            out[at] = value
    return outs


def _packed(a):
    packed, _, p = pt.linalg.qr(a, mode="raw", pivoting=True)
    return [abs(pt.triu(packed)), p]


def _packed_reference(a):
    _, r, p = _pivoted_reference(a)
    whole = np.zeros(a.shape, r.dtype)
    whole[..., : r.shape[-2], :] = r
    return whole, p


def _schur_product(a, **params):
    t, z = pt.linalg.schur(a, **params)
    return z @ t @ z.mT.conj()


def _qz_products(a, b, is_ordered):
    s, t, q, z = pt.linalg.ordqz(a, b, "ouc") if is_ordered else pt.linalg.qz(a, b)
    return [q @ s @ z.mT.conj(), q @ t @ z.mT.conj()]


def _record(name, build, reference, draw, op):
    # Derivatives are in tests/tensor/linear_algebra/test_matrix_functions.py, at few points.
    facts = {"tolerance": SOLVED, "differentiable": ()}
    return OpRecord(name=name, build=build, reference=reference, draw=draw, ops=(op,), **facts)


RECORDS = [
    _record("sqrtm", pt.linalg.sqrtm, _each(scipy.linalg.sqrtm, 2), _near(2.0), Sqrtm),
    _record("logm", pt.linalg.logm, _each(_logm, 2), _near(2.0), Logm),
    _record("schur", _schur_product, lambda a: a, _near(1.0), Schur),
    _record("qz", _qz_products, lambda a, b, is_ordered: (a, b), _pair, QZ),
    _record("pivoted_qr", _pivoted, _pivoted_reference, _rectangle, PivotedQR),
    _record("packed_qr", _packed, _packed_reference, _rectangle, PackedQR),
    _record(
        "cholesky_update",
        pt.linalg.cholesky_update,
        _each(_updated, 2, 1),
        _factor_and_vector,
        CholeskyUpdate,
    ),
    _record(
        "solve_toeplitz",
        lambda c, r, b: pt.linalg.solve_toeplitz((c, r), b),
        _each(_by_toeplitz, 1, 1, 2),
        _toeplitz_system,
        SolveToeplitz,
    ),
    _record(
        "solveh_banded",
        pt.linalg.solveh_banded,
        scipy.linalg.solveh_banded,
        _half_of_bands,
        SolveBanded,
    ),
]
