"""For each Op, the value that PyTensor computes, and ours."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.conditional import ifelse
from pytensor.tensor import fourier, optimize
from pytensor.tensor.basic import inverse_permutation, permute_row_elements
from pytensor.tensor.linalg import solve_triangular
from pytensor.tensor.linalg.decomposition.qr import QR
from pytensor.tensor.linalg.solvers.linear_control import TRSYL
from pytensor.tensor.linalg.solvers.lstsq import lstsq
from pytensor.tensor.linalg.solvers.tridiagonal import tridiagonal_lu_factor, tridiagonal_lu_solve
from pytensor.tensor.signal.conv import Convolve1d

import phintys
from phintys.bridge.pytensor import callbacks, from_pytensor
from phintys.bridge.pytensor.families.elementwise import SCALARS

PYTHON = pytensor.compile.Mode(linker="py", optimizer=None)
RNG = np.random.default_rng(7)
A = RNG.uniform(0.2, 0.8, (3, 4))
B = RNG.uniform(0.2, 0.8, (3, 4))
S = A @ A.T + np.eye(3)
STACK = np.stack([S, S + np.eye(3)])
V = RNG.uniform(0.2, 0.8, 4)
K = np.array([2, 0, 1])
T = A > 0.5


def parts_of(z):
    return [pt.real(z), pt.imag(z)]


def _roots(x, a):
    """Return where functions are zero, found in each way."""
    one, b = x[0], a[0]
    tight = {"optimizer_kwargs": {"xtol": 1e-15}}
    return [
        *optimize.root(x**3 - a + x[::-1], x),
        *optimize.root(one**3 - b, one, jac=False),
        *optimize.root_scalar(one**3 - b, one),
        *optimize.root_scalar(one**3 - b, one, method="halley", jac=True, hess=True, **tight),
        *optimize.root_scalar(one**3 - b, one, method="brentq", bracket=(0, 1 + b), **tight),
    ]


def _minima(x, a):
    """Return where functions are lowest, found in each way."""
    one, b = x[0], a[0]
    cost = pt.cosh(x - a).sum() + (x[::-1] * x).sum() / 9
    return [
        *optimize.minimize(cost, x),
        *optimize.minimize(cost, x, method="trust-exact", hess=True),
        *optimize.minimize(pt.cosh(one - b), one, method="Nelder-Mead", jac=False),
        *optimize.minimize_scalar(pt.cosh(one - b), one),
        *optimize.minimize_scalar(pt.cosh(one - b), one, method="bounded", bounds=(0, 2 * b)),
    ]


# Name -> the function of PyTensor's variables, and values for them.
RECORDS = {
    "add": (lambda x, y: x + y + x, A, B),
    "scalars": (lambda x, y: pt.switch(x > y, pt.exp(x), pt.log1p(y) ** 2), A, B),
    "int_division": (lambda k: [k // 2, k % 2, k / 2, pt.log(k + 1)], K),
    "bitwise": (lambda x: [x & ~x, x | x, x ^ x], T),
    "dimshuffle": (lambda x: x.dimshuffle(1, "x", 0), A),
    "clip": (lambda x: pt.clip(x, 0.3, 0.6), A),
    "second": (pt.second, A, V),
    "cast": (lambda x: x.astype("float32"), A),
    "sum": (lambda x: [x.sum(), x.sum(axis=0), x.sum(axis=(0, 1), dtype="float32")], A),
    "reduced_numbers": (
        lambda v: [
            *(one(v[0], axis=-1) for one in (pt.sum, pt.prod, pt.max, pt.min)),
            pt.all(v[0] > 0, axis=0),
        ],
        V,
    ),
    "prod": (lambda x: [x.prod(axis=1), pt.prod(x)], A),
    "extremes": (lambda x: [x.max(axis=1), x.min(), x.argmax(axis=1), pt.argmax(x)], A),
    "logical": (lambda x: [x.all(axis=0), x.any()], T),
    "cumulative": (lambda x: [pt.cumsum(x, axis=1), pt.cumprod(x, axis=0), pt.cumsum(x)], A),
    "softmax": (lambda x: [pt.special.softmax(x, axis=1), pt.special.log_softmax(x)], A),
    "logsumexp": (lambda x: [pt.logsumexp(x), pt.logsumexp(x, axis=1, keepdims=True)], A),
    "reshape": (lambda x: [x.reshape((2, -1)), x.ravel(), x.shape, x.shape[1]], A),
    "dims": (lambda x: [pt.join_dims(x, 0, 2), pt.split_dims(x, (2, 2), axis=1)], A),
    "join": (lambda x, y: [pt.concatenate([x, y], axis=1), pt.stack([x, y])], A, B),
    "split": (lambda x: pt.split(x, [1, 3], n_splits=2, axis=1), A),
    "alloc": (lambda v: [pt.alloc(v, 2, 4), pt.eye(3), pt.arange(1, 7, 2), pt.diag(v)], V),
    "diagonal": (lambda x: [pt.diagonal(x, 1), pt.diag(x), pt.tril(x)], S),
    "specify_shape": (lambda x: pt.specify_shape(x, (3, None)), A),
    "repeat": (lambda x, k: [pt.repeat(x, 2, axis=1), pt.repeat(x, k, axis=0)], A, K),
    "index": (lambda x, k: [x[1], x[::-1, 1:], x[k], x[:, k[0]], x[k, k]], A, K),
    "mask": (lambda x, m: [x[m], pt.nonzero(m)[1]], A, T),
    "assign": (lambda x, k: [x[0].set(1.0), x[k].inc(2.0), x[k, :2].set(0.0)], A, K),
    "order": (lambda v: [pt.sort(v), pt.argsort(v), pt.searchsorted(pt.sort(v), v)], V),
    "unique": (pt.unique, np.array([3, 1, 3])),
    "places": (lambda k: [*pt.unravel_index(k, (2, 2)), pt.ravel_multi_index((k, k), (3, 3))], K),
    "dot": (lambda x, y, v: [pt.dot(x, y.T), pt.dot(x, v), pt.dot(v, v)], A, B, V),
    "matmul": (lambda x, y: [x @ y, pt.matmul(x[0], y)], STACK, STACK),
    "cholesky": (pt.linalg.cholesky, STACK),
    "solve": (pt.linalg.solve, S, A),
    "solve_stack": (lambda x, y: pt.linalg.solve(x, y, b_ndim=2), STACK, A),
    "triangular": (lambda x, y: solve_triangular(x, y, lower=True), np.tril(S), A),
    "cho_solve": (lambda x, y: pt.linalg.cho_solve((x, True), y), np.linalg.cholesky(S), A),
    "inverse": (lambda x: [pt.linalg.inv(x), pt.linalg.pinv(x)], STACK),
    "determinant": (lambda x: [pt.linalg.det(x), *pt.linalg.slogdet(x)], STACK),
    "eigh": (lambda x: [pt.linalg.eigh(x)[0], pt.linalg.eigvalsh(x, None)], S),
    "svd": (lambda x: pt.linalg.svd(x, compute_uv=False), A),
    "expm": (pt.linalg.expm, S),
    "schur": (lambda x: [*pt.linalg.schur(x), *pt.linalg.schur(x, output="complex")], S),
    "block_diag": (pt.linalg.block_diag, A, S),
    "qr": (
        lambda x: [
            *(part for mode in ("full", "economic", "raw") for part in QR(mode=mode)(x)),
            QR(mode="r")(x),
        ],
        A.T,
    ),
    "pivoted_qr": (
        lambda x: [
            part for mode in ("economic", "raw", "r") for part in QR(mode=mode, pivoting=True)(x)
        ],
        A.T,
    ),
    "qz": (
        lambda x, y: [
            *pt.linalg.qz(x, y),
            *pt.linalg.qz(x, y, output="complex", sort="iuc", return_eigenvalues=True),
        ],
        STACK,
        STACK[::-1] + np.triu(STACK),
    ),
    "lstsq": (lambda x, y: [*lstsq(x, x @ y, 1e-9), *lstsq(y, x.T, 1e-9)], A.T, S),
    "tridiagonal": (
        lambda x, y: [
            *tridiagonal_lu_factor(x),
            tridiagonal_lu_solve(tridiagonal_lu_factor(x), y, b_ndim=2),
            tridiagonal_lu_solve(tridiagonal_lu_factor(x), y[:, 0], b_ndim=1, transposed=True),
        ],
        STACK,
        S[:, :2],
    ),
    "triangular_sylvester": (TRSYL(), np.triu(S), np.triu(S), A[:, :3]),
    "permute_rows": (
        lambda x, k: [
            permute_row_elements(x, k),
            permute_row_elements(x, pt.stack([k, k[::-1]]), inverse=True),
            permute_row_elements(x[0], pt.stack([k, k[::-1]]), inverse=True),
            inverse_permutation(k),
        ],
        A[:2, :3],
        K,
    ),
    "roots": (_roots, V, V[::-1] + 1),
    "minima": (_minima, V, V[::-1] + 1),
    "convolve_by_mode": (
        lambda v, w, m: [Convolve1d()(v, w, m[0, 0]), Convolve1d()(w, v, m[1, 1])],
        V,
        A[0, :3],
        np.array([[True, True], [True, False]]),
    ),
    "convolve_planes": (
        lambda x, y: [
            pt.signal.convolve2d(x, y[:2, :2], mode=mode, boundary=boundary)
            for mode in ("full", "valid", "same")
            for boundary in ("fill", "wrap")
        ],
        A,
        B,
    ),
    "convolve": (
        lambda x, v: [
            pt.signal.convolve1d(v, x[0], mode=mode) for mode in ("full", "valid", "same")
        ],
        B,
        V,
    ),
    "fourier": (
        lambda v, x: [part for one in (v, x) for part in parts_of(fourier.fft(one, 5, axis=0))],
        V,
        A,
    ),
    "if_else": (lambda x, y: ifelse(x[0, 0] > 0.0, x, y), A, B),
}


INSTANCES = [
    op
    for op in (*vars(pt).values(), *vars(pt.special).values())
    if isinstance(op, pt.elemwise.Elemwise) and op.nfunc_spec
]
OTHER_OPERANDS = {"Invert", "AND", "OR", "XOR", "PolyGamma", "Hyp2F1"}
SCALAR_RECORDS = {
    type(op.scalar_op).__name__: (op, A, B, A)[: 1 + op.nfunc_spec[1]]
    for op in INSTANCES
    if type(op.scalar_op) in SCALARS and type(op.scalar_op).__name__ not in OTHER_OPERANDS
} | {
    "ArcCosh": (pt.arccosh, A + 1),
    "Log1mexp": (pt.log1mexp, -A),
    "PolyGamma": (pt.polygamma, K, A[0, :3]),
    "Hyp2F1": (pt.hyp2f1, A, B, A + 1, B),
    "Clip": (lambda x: pt.clip(x, 0.3, 0.6), A),
    "Complex": (lambda x, y: abs(pt.complex(x, y)), A, B),
    "Conj": (lambda x, y: abs(pt.conj(pt.complex(x, y))), A, B),
    "Identity": (pt.tensor_copy, A),
    "IsInf": (pt.isinf, A),
    "IsNan": (pt.isnan, A),
    "RoundHalfAwayFromZero": (pt.round_half_away_from_zero, 4 * A),
    "Second": (lambda x, y: pt.second(x, y) * x, A, B),
    "Softplus": (pt.softplus, A),
    "TriGamma": (pt.tri_gamma, A),
}


# Of these PyTensor knows no derivative with respect to the inputs at these places.
UNKNOWN = {
    "BetaIncInv": (0, 1),
    "GammaIncCInv": (0,),
    "GammaIncInv": (0,),
    "Hyp2F1": (0, 1, 2),
    "Ive": (0,),
    "Jv": (0,),
    "Kve": (0,),
}
# These have no derivative: their results are discrete.
DISCRETE = {"LT", "GT", "LE", "GE", "EQ", "NEQ", "IsNan", "IsInf"}
# PyTensor's own gradients raise: those of complex numbers are not of its dtypes.
REFUSED = {"Complex", "Conj", "Imag", "Real"}


def test_each_scalar_op_of_the_table_has_a_record():
    with_others = {"AND", "OR", "XOR", "Invert", "MulWithoutZeros"}  # "bitwise", and gradients
    theirs = {cls.__name__ for cls in SCALARS if cls.__module__.startswith("pytensor.")}
    assert theirs - set(SCALAR_RECORDS) == with_others


@pytest.mark.parametrize("name", sorted(set(SCALAR_RECORDS) - DISCRETE - REFUSED))
def test_gradients_of_scalar_ops_are_pytensors(name):
    build, *values = SCALAR_RECORDS[name]
    inputs = [
        pt.tensor(f"x{at}", dtype=one.dtype.name, shape=(None,) * one.ndim)
        for at, one in enumerate(values)
    ]
    wrt = [
        at
        for at, one in enumerate(inputs)
        if one.dtype == "float64" and at not in UNKNOWN.get(name, ())
    ]
    cost = build(*inputs).sum()
    wanted = pytensor.grad(cost, [inputs[at] for at in wrt], disconnected_inputs="ignore")
    theirs = pytensor.function(inputs, wanted, mode=PYTHON, on_unused_input="ignore")
    *ours, found = from_pytensor([*inputs, cost])
    gradients = phintys.grad(found, [ours[at] for at in wrt], disconnected_inputs="ignore")
    f = phintys.function(ours, gradients, on_unused_input="ignore")
    for value, expected in zip(f(*values), theirs(*values), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", RECORDS | SCALAR_RECORDS)
def test_values_are_pytensors(name):
    build, *values = (RECORDS | SCALAR_RECORDS)[name]
    inputs = [
        pt.tensor(f"x{at}", dtype=one.dtype.name, shape=(None,) * one.ndim)
        for at, one in enumerate(values)
    ]
    outputs = build(*inputs)
    outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    theirs = pytensor.function(inputs, outputs, mode="FAST_COMPILE", on_unused_input="ignore")
    converted = from_pytensor([*inputs, *outputs])
    ours, found = converted[: len(inputs)], converted[len(inputs) :]
    assert not callbacks(found)
    f = phintys.function(ours, found, on_unused_input="ignore")
    for expected, value, output in zip(theirs(*values), f(*values), outputs, strict=True):
        assert value.dtype == output.dtype
        assert value.shape == np.shape(expected)
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
