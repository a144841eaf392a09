"""Eigenvalues of any matrices, by functions that do not depend on their order, or on phases."""

import numpy as np
import scipy.linalg
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.linear_algebra.eigen import Eig, Eigvals
from phintys.testing import Example, OpRecord, Tolerance

SOLVED = Tolerance("factors are computed in another order", ulps=4096, normwise=True)
DTYPES = ("float64", "complex128", "float32", "complex64", "int8")


def _matrices(draw, smooth):
    """Matrices whose eigenvalues differ, since the numbers on the diagonal do."""
    dtype = draw(st.sampled_from(DTYPES[: 2 if smooth else None]))
    n = draw(st.integers(0, 4))
    leading = draw(st.sampled_from([(), (2,), (1,), (0,)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    x = rng.uniform(-0.3, 0.3, (*leading, n, n)) + np.diag(np.arange(n) - 1.0)
    if dtype.startswith("complex"):
        x = x + 1j * rng.uniform(-0.3, 0.3, x.shape)
    return Example((x.astype(dtype),))


def _exponentials(a):
    w, v = pt.linalg.eig(a)
    return (v * pt.exp(w)[..., None, :]) @ pt.linalg.inv(v)


def _expected(a):
    wide = a if a.dtype.kind in "fc" else a.astype("float64")
    whole = scipy.linalg.expm(wide) if a.size else wide
    return np.asarray(whole, np.result_type(wide, np.complex64))


def _trace(a):
    return np.asarray(np.trace(_expected(a), axis1=-2, axis2=-1))


RECORDS = [
    OpRecord(
        name="eig",
        build=_exponentials,
        reference=_expected,
        draw=_matrices,
        ops=(Eig,),
        broadcasts=True,
        tolerance=SOLVED,
        second=False,  # in tests/tensor/linear_algebra/test_eigen.py
    ),
    OpRecord(
        name="eigvals",
        build=lambda a: pt.sum(pt.exp(pt.linalg.eigvals(a)), axis=-1),
        reference=_trace,
        draw=_matrices,
        ops=(Eigvals,),
        broadcasts=True,
        tolerance=SOLVED,
        second=False,
    ),
]
