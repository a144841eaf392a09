"""Sylvester's, Lyapunov's and Riccati's equations, beside SciPy."""

import numpy as np
import scipy.linalg
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.linear_algebra.matrix_equations import (
    ContinuousRiccati,
    DiscreteRiccati,
)
from phintys.tensor.linear_algebra.schur import QuasiTriangularSylvester, Sylvester
from phintys.testing import Example, OpRecord, Tolerance

SOLVED = Tolerance("factors are computed in another order", ulps=2**15, normwise=True)
DTYPES = ("float64", "complex128", "float32", "complex64", "int8")


def _stable(rng, shape, dtype):
    """Matrices with eigenvalues inside the unit circle, of positive real part."""
    n = shape[-1]
    if dtype == "int8":
        return np.broadcast_to(np.tri(n, dtype=dtype), shape).copy()
    x = rng.uniform(-0.3, 0.3, shape) / max(n, 1)
    if dtype.startswith("complex"):
        x = x + 1j * rng.uniform(-0.3, 0.3, shape) / max(n, 1)
    return (x + 0.5 * np.eye(n)).astype(dtype)


def _any(rng, shape, dtype):
    x = rng.uniform(-2, 2, shape)
    return (x + 1j * rng.uniform(-2, 2, shape) if dtype.startswith("complex") else x).astype(dtype)


def _start(draw, smooth, dtypes=DTYPES):
    dtype = draw(st.sampled_from(dtypes[: 2 if smooth else None]))
    leading = draw(st.sampled_from([(), (2,), (1,), (0,)]))
    return np.random.default_rng(draw(st.integers(0, 2**16))), dtype, leading


def _sylvester(draw, smooth):
    rng, dtype, leading = _start(draw, smooth)
    m, n = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    shapes = (m, m), (n, n), (*leading, m, n)
    a, b = (_stable(rng, shape, dtype) for shape in shapes[:2])
    return Example((a, b, _any(rng, shapes[2], dtype)))


def _lyapunov(draw, smooth):
    rng, dtype, leading = _start(draw, smooth, DTYPES[:4])
    n = draw(st.integers(0, 3))
    return Example((_stable(rng, (*leading, n, n), dtype), _any(rng, (n, n), dtype)))


def _riccati(draw, smooth):
    rng, dtype, leading = _start(draw, smooth, DTYPES[:2])
    n, m = draw(st.integers(1, 2)), 1
    q, r = (np.eye(size) + _any(rng, (size, size), dtype) / 8 for size in (n, m))
    return Example((_stable(rng, (n, n), dtype), _any(rng, (*leading, n, m), dtype), q, r))


def _triangular(draw, smooth):
    example = _sylvester(draw, smooth)
    a, b, q = example.values
    turns = {name: draw(st.booleans()) for name in ("turn_r", "turn_s")}
    return Example((np.triu(a), np.triu(b), q), turns)


def _by_triangles(r, s, q, turn_r=False, turn_s=False):
    """The part that is read: random matrices are Schur forms of real numbers."""
    return scipy.linalg.solve_sylvester(r.conj().T if turn_r else r, s.conj().T if turn_s else s, q)


def _stacks(function):
    """Return a function of stacks, for results of the shape of the last of some matrices."""

    def of_stacks(*arrays, **params):
        dtype = np.result_type(*arrays)
        dtype = np.dtype("float64") if dtype.kind in "biu" else dtype
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
        shown = [np.broadcast_to(x, (*batch, *x.shape[-2:])).astype(dtype) for x in arrays]
        own = (arrays[0].shape[-1], arrays[2 if function in _OF_RIGHT_SIDE else 0].shape[-1])
        out = np.zeros((*batch, *own), dtype)
        for at in np.ndindex(batch):
            if out.size:
                out[at] = function(*(x[at] for x in shown), **params)
        return out

    return of_stacks


def _one_sylvester(a, b, q):
    return scipy.linalg.solve_sylvester(a, b, q)


_OF_RIGHT_SIDE = (_one_sylvester, _by_triangles)


def _one_discrete(a, q):
    return scipy.linalg.solve_discrete_lyapunov(a, q)


def _hermitian(solver):
    def solve(a, b, q, r):
        return solver(a, b, (q + q.conj().T) / 2, (r + r.conj().T) / 2)

    return solve


def _record(name, one, draw, op):
    return OpRecord(
        name=name,
        build=getattr(pt.linalg, name),
        reference=_stacks(one),
        draw=draw,
        ops=(op,),
        broadcasts=True,
        tolerance=SOLVED,
        second=False,  # in tests/tensor/linear_algebra/test_matrix_equations.py
    )


_continuous = _hermitian(scipy.linalg.solve_continuous_are)
_in_steps = _hermitian(scipy.linalg.solve_discrete_are)


def _continuous_riccati(draw, smooth):
    """Equations that are well conditioned however little B controls."""
    a, *others = _riccati(draw, smooth).values
    return Example((a - np.eye(a.shape[-1]), *others))


RECORDS = [
    _record("solve_sylvester", _one_sylvester, _sylvester, Sylvester),
    OpRecord(
        name="quasi_triangular_sylvester",
        build=lambda r, s, q, **turns: QuasiTriangularSylvester(**turns)(pt.triu(r), pt.triu(s), q),
        reference=_stacks(_by_triangles),
        draw=_triangular,
        ops=(QuasiTriangularSylvester,),
        broadcasts=True,
        tolerance=SOLVED,
        second=False,
    ),
    OpRecord(
        name="solve_continuous_lyapunov",
        build=pt.linalg.solve_continuous_lyapunov,
        reference=_stacks(lambda a, q: scipy.linalg.solve_sylvester(a, a.conj().T, q)),
        draw=_lyapunov,
        broadcasts=True,
        tolerance=SOLVED,
    ),
    _record("solve_discrete_lyapunov", _one_discrete, _lyapunov, Sylvester),
    _record("solve_continuous_are", _continuous, _continuous_riccati, ContinuousRiccati),
    _record("solve_discrete_are", _in_steps, _riccati, DiscreteRiccati),
]
