"""For each Op, the gradient that PyTensor computes, and that of Phintys."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor import gradient
from pytensor import sparse as ps
from pytensor.assumptions.specify import assume
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.ops import ViewOp
from pytensor.conditional import ifelse
from pytensor.graph.traversal import applys_between
from pytensor.raise_op import Assert
from pytensor.tensor import optimize
from pytensor.tensor.basic import permute_row_elements
from pytensor.tensor.blas.batched import BatchedDot
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.extra_ops import CpuContiguous, FillDiagonalOffset
from pytensor.tensor.fft import irfft, rfft
from pytensor.tensor.linalg.solvers.general import Solve
from pytensor.tensor.signal.conv import Convolve1d
from scipy.sparse import csc_matrix

import phintys
from phintys.bridge.pytensor import callbacks, convert_op, from_pytensor

PYTHON = pytensor.compile.Mode(linker="py", optimizer=None)
RNG = np.random.default_rng(8)
A, B = RNG.uniform(0.2, 0.8, (2, 2, 3))
S = A @ A.T + np.eye(2)
K = [1, 0]

REPEATS = pt.constant([2, 1, 0])
U, V = pt.dmatrices("u", "v")

PLACES = np.array([[1.0, 0.0], [2.0, 3.0]])
SPARSE = ps.as_sparse_variable(csc_matrix([[0.0, 2.0, 0.5], [3.0, 0.0, 0.0]]))
UNSORTED = [1, 0] * 3, [0, 2, 4, 6]


def _csr(x):
    return ps.csr_from_dense(x)


def _csc(x):
    return ps.csc_from_dense(x)


def _root(x, a):
    return optimize.root(x**3 - a, x)[0]


def _root_scalar(x, a, **options):
    return optimize.root_scalar(x**3 - a, x, **options)[0]


def _minimum(minimize, x, a):
    return minimize(pt.cosh(x - a).sum(), x)[0]


# Family -> functions of x and y, of the shape (2, 3), and of s, which is positive definite.
GROUPS = {
    "elementwise": {
        "switch": lambda x, y, s: pt.switch(x > y, pt.exp(x), pt.log1p(y) ** 2),
        "clip": lambda x, y, s: pt.clip(x, 0.3, 0.6) * y,
        "second": lambda x, y, s: pt.second(x, y) * x,
        "power": lambda x, y, s: x**y / (1 + s[0, 0]),
        "gamma": lambda x, y, s: pt.gammaln(x) * pt.digamma(y) + pt.erf(x) * pt.erfcx(y),
        "sigmoid": lambda x, y, s: pt.sigmoid(x) * pt.softplus(y) + pt.log1mexp(-x),
        "dimshuffle": lambda x, y, s: x.dimshuffle(1, "x", 0) * y.T[:, None],
        "scalars": lambda x, y, s: pt.tensor_from_scalar(pt.scalar_from_tensor(x[0, 0])) * y,
        "same": lambda x, y, s: ViewOp()(x) * CpuContiguous()(y),
    },
    "control": {
        "if_else": lambda x, y, s: ifelse(x[0, 0] > 0.0, x**2, y) * y,
        "check": lambda x, y, s: Assert("no")(x, y[0, 0] > 0) ** 2,
        "print": lambda x, y, s: pytensor.printing.Print("x", attrs=("ndim",))(x) * y,
        "disconnected": lambda x, y, s: gradient.disconnected_grad(x) * y * x,
        "zero": lambda x, y, s: gradient.zero_grad(x) * y * x,
        "grad_clip": lambda x, y, s: gradient.grad_clip(x, -0.1, 0.3) * y,
        "grad_scale": lambda x, y, s: gradient.grad_scale(x, -2.0) * y,
        "from_graph": lambda x, y, s: OpFromGraph([U, V], [pt.exp(U) * V])(x, y),
        "scan": lambda x, y, s: pytensor.scan(
            lambda row, total: total * 0.9 + row**2,
            sequences=x,
            outputs_info=y[0],
            return_updates=False,
        ),
    },
    "reductions": {
        "sum": lambda x, y, s: x.sum(axis=0) * y,
        "prod": lambda x, y, s: x.prod(axis=1),
        "max": lambda x, y, s: x.max(axis=1) * y.min(),
        "argmax": lambda x, y, s: x[0, pt.argmax(y, axis=1)] ** 2,
        "cumsum": lambda x, y, s: pt.cumsum(x, axis=1) ** 2,
        "softmax": lambda x, y, s: pt.special.softmax(x, axis=1) * y,
        "log_softmax": lambda x, y, s: pt.special.log_softmax(x, axis=1) * y,
        "logsumexp": lambda x, y, s: pt.logsumexp(x, axis=1),
    },
    "shapes": {
        "reshape": lambda x, y, s: x.reshape((3, 2)) * y.T,
        "join": lambda x, y, s: pt.concatenate([x, y], axis=1) ** 2,
        "split": lambda x, y, s: pt.split(x, [1, 2], n_splits=2, axis=1)[1] ** 2,
        "repeat": lambda x, y, s: pt.repeat(x, 2, axis=1) ** 2,
        "repeats": lambda x, y, s: pt.repeat(x, REPEATS, axis=1) ** 2,
        "diagonal": lambda x, y, s: pt.diagonal(s) ** 2,
        "index": lambda x, y, s: x[K, 1:] * x[::-1, :2],
        "set": lambda x, y, s: x[K].set(y) ** 2,
        "inc": lambda x, y, s: pt.set_subtensor(x[0], y[1] ** 2) * pt.inc_subtensor(y[K], x),
        "sort": lambda x, y, s: pt.sort(x, axis=1) * y,
        "argsort": lambda x, y, s: x[0, pt.argsort(y[1])] ** 2,
        "alloc": lambda x, y, s: pt.alloc(x[0], 4, 3) ** 2 * pt.eye(4, 3) * y[0, 0],
        "make_vector": lambda x, y, s: pt.stack([x[0, 0], y[1, 1], x[0, 0]]) ** 2,
        "dims": lambda x, y, s: pt.split_dims(pt.join_dims(x, 0, 2), (3, 2), axis=0) * y.T,
        "specify_shape": lambda x, y, s: pt.specify_shape(x, (2, 3)) ** 2,
        "sizes": lambda x, y, s: x * y.shape[0] * pt.arange(y.shape[1]),
        "permute_rows": lambda x, y, s: permute_row_elements(x, [1, 2, 0], inverse=True) ** 2,
        "permute_row": lambda x, y, s: permute_row_elements(x[0], [[1, 2, 0], [0, 2, 1]]) ** 2 * y,
        "fill_diagonal": lambda x, y, s: pt.fill_diagonal(s, y[0, 0]) ** 2,
        "fill_offset": lambda x, y, s: FillDiagonalOffset()(s, y[0, 0], 1) ** 2,
        "nonzero": lambda x, y, s: x[x > 0.5] ** 2,
    },
    "signal": {
        "convolve_by_mode": lambda x, y, s: Convolve1d()(x[0], y[0], pt.gt(x[0, 0], 2.0)) ** 2,
        "convolve": lambda x, y, s: pt.signal.convolve1d(x[0], y[0], mode="full") ** 2,
        "convolve_planes": lambda x, y, s: pt.signal.convolve2d(x, y, mode="full") ** 2,
        "valid_planes": lambda x, y, s: pt.signal.convolve2d(s, x[:, :2], mode="valid") ** 2,
        "fft": lambda x, y, s: rfft(x) ** 2,
        "inverse_fft": lambda x, y, s: irfft(rfft(x)) * x[:, :2],
    },
    "solving": {
        "root": lambda x, y, s: _root(x[0], y[0] * s[0, 0]),
        "root_scalar": lambda x, y, s: _root_scalar(x[0, 0], y[0, 0]),
        "bracket": lambda x, y, s: _root_scalar(
            x[0, 0], y[0, 0], method="brentq", bracket=pt.stack([0.0, 1 + y[0, 0]])
        ),
        "minimize": lambda x, y, s: _minimum(optimize.minimize, x[0], y[0]) ** 2,
        "minimize_scalar": lambda x, y, s: _minimum(optimize.minimize_scalar, x[0, 0], y[0, 0]),
    },
    "sparse": {
        "parts": lambda x, y, s: ps.csm_data(_csr(x)) * ps.csm_data(_csc(y.T)) ** 2,
        "made": lambda x, y, s: ps.CSR(x.ravel(), [0, 1, 2] * 2, [0, 3, 6], (2, 3)).toarray() * y,
        "unsorted": lambda x, y, s: ps.CSC(x.ravel(), *UNSORTED, (2, 3)).toarray() * y,
        # PyTensor's gradients of its Dot are those of dense operands alone.
        "dense_dot": lambda x, y, s: ps.dot(SPARSE, y.T) * s + ps.dot(x, SPARSE.T) * y[0, 0],
        "dot_vector": lambda x, y, s: ps.dot(SPARSE, y[0]) * ps.dot(x[1], SPARSE.T),
        "true_dot": lambda x, y, s: ps.true_dot(_csr(x), _csr(y.T)).toarray() * s,
        "structured_csr": lambda x, y, s: ps.structured_dot(_csr(x), y.T) * s,
        "structured_csc": lambda x, y, s: ps.structured_dot(_csc(x), y.T) * s,
        "sampling_dot": lambda x, y, s: ps.sampling_dot(x, y, _csr(pt.constant(PLACES))).toarray(),
        "add": lambda x, y, s: (_csr(x) + _csr(y)).toarray() ** 2 + (_csr(x) + y) ** 2,
        "add_data": lambda x, y, s: ps.add_s_s_data(_csr(x), _csr(y)).toarray() ** 2,
        "add_vector": lambda x, y, s: ps.structured_add_s_v(_csr(x), y[0]).toarray() ** 2,
        "mul": lambda x, y, s: (_csr(x) * _csr(y)).toarray() + (_csc(x) * y).toarray() * s[0, 0],
        "mul_vector": lambda x, y, s: ps.math.mul_s_v(_csr(x), y[0]).toarray(),
        "scale": lambda x, y, s: (
            ps.row_scale(_csc(x), y[:, 0]).toarray() * ps.col_scale(_csc(x), y[0]).toarray()
        ),
        "sum": lambda x, y, s: (
            ps.sp_sum(_csr(x), axis=1, sparse_grad=True) * ps.sp_sum(_csc(y), sparse_grad=True)
        ),
        "sum_of_columns": lambda x, y, s: ps.sp_sum(_csr(x), axis=0, sparse_grad=True) ** 2,
        "diagonal": lambda x, y, s: ps.diag(_csc(s)) ** 2,
        "clean": lambda x, y, s: ps.clean(_csr(x)).toarray() ** 2,
        "cast": lambda x, y, s: ps.cast(_csr(x), "float32").toarray() * y,
        "stack": lambda x, y, s: ps.hstack([_csr(x), _csr(y)]).toarray() ** 2,
        "on_top": lambda x, y, s: ps.vstack([_csr(x), _csr(y)]).toarray() ** 2,
        "rows": lambda x, y, s: _csr(x)[K].toarray() * y,
        "elements": lambda x, y, s: ps.get_item_2lists(_csc(x), [0, 1], [2, 0]) * y[0, 0],
    },
    "linear_algebra": {
        "dot": lambda x, y, s: pt.dot(x, y.T) * s,
        "cholesky": lambda x, y, s: pt.linalg.cholesky(s),
        "solve": lambda x, y, s: pt.linalg.solve(s, x) * y,
        "inverse": lambda x, y, s: pt.linalg.inv(s) ** 2,
        "determinant": lambda x, y, s: pt.linalg.det(s) * pt.linalg.slogdet(s)[1],
        "eigh": lambda x, y, s: pt.linalg.eigh(s)[0] ** 2,
        "eigvalsh": lambda x, y, s: pt.linalg.eigvalsh(s, None) ** 2,
        "cho_solve": lambda x, y, s: pt.linalg.cho_solve((pt.linalg.cholesky(s), True), x),
        "triangular": lambda x, y, s: pt.linalg.solve_triangular(pt.tril(s), x, lower=True) * y,
        "batched_dot": lambda x, y, s: BatchedDot()(x[:, :, None], y[:, None]) ** 2,
        "assumed": lambda x, y, s: pt.dot(assume(s, symmetric=True), x) * y,
        "lu_factor": lambda x, y, s: pt.linalg.lu_factor(s)[0] ** 2,
        "riccati": lambda x, y, s: pt.linalg.solve_discrete_are(s, x @ x.T, s, s) ** 2,
        "block_diagonal": lambda x, y, s: pt.linalg.block_diag(x, s) ** 2,
        "expm": lambda x, y, s: pt.linalg.expm(s) * x[0, 0],
        "lu": lambda x, y, s: pt.linalg.lu(s)[2] ** 2,
        "pinv": lambda x, y, s: pt.linalg.pinv(s) ** 2,
        "svd": lambda x, y, s: pt.linalg.svd(x, compute_uv=False) ** 2,
        "sylvester": lambda x, y, s: pt.linalg.solve_sylvester(s, s, s) ** 2,
        "stack": lambda x, y, s: Blockwise(Solve(assume_a="gen", b_ndim=2))(s[None], x[None]),
    },
}


@pytest.mark.filterwarnings("ignore:.axes. should not be .None.:DeprecationWarning")  # PyTensor's
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("group", GROUPS)
def test_gradients_are_pytensors(group):
    inputs = [pt.dmatrix(name) for name in "xys"]
    costs = [build(*inputs).sum() for build in GROUPS[group].values()]
    expected = [
        gradient
        for cost in costs
        for gradient in pytensor.grad(cost, inputs, disconnected_inputs="ignore")
    ]
    theirs = pytensor.function(inputs, expected, mode=PYTHON, on_unused_input="ignore")
    converted = from_pytensor([*inputs, *costs, *(expected if group == "sparse" else ())])
    ours, found, pulled = converted[:3], converted[3 : 3 + len(costs)], converted[3 + len(costs) :]
    assert not callbacks(pulled)  # PyTensor's gradients have Ops of their own there
    gradients = [
        gradient
        for cost in found
        for gradient in phintys.grad(cost, ours, disconnected_inputs="ignore")
    ]
    f = phintys.function(ours, [*gradients, *pulled], on_unused_input="ignore")
    names = [f"d {name} / d {wrt}" for name in GROUPS[group] for wrt in "xys"]
    wanted = theirs(A, B, S)
    repeats = 2 if pulled else 1
    for name, value, one in zip(repeats * names, f(A, B, S), repeats * wanted, strict=True):
        np.testing.assert_allclose(value, one, rtol=1e-9, atol=1e-12, err_msg=name)


# Classes whose gradient is not compared here, and why.
NONE_IN_PYTENSOR = "PyTensor has no gradient of it"
INTEGERS = "its results are integers, or its arguments"
MADE_BY_REWRITES = "PyTensor's rewrites make it, after derivatives were taken"
COMPARISONS = ("Equal", "NotEqual", "LessThan", "GreaterThan", "LessEqual", "GreaterEqual")
WITHOUT = {
    **{f"{name}Sparse{kind}": INTEGERS for name in COMPARISONS for kind in ("Sparse", "Dense")},
    **dict.fromkeys(["GetItem2d", "GetItemScalar", "Usmm"], NONE_IN_PYTENSOR),
    **dict.fromkeys(["CSMGrad", "GetItemListGrad", "GetItem2ListsGrad"], "it is of a gradient"),
    **dict.fromkeys(["StructuredDotGradCSC", "StructuredDotGradCSR"], "it is of a gradient"),
    **dict.fromkeys(["ConstructSparseFromList", "SparseBlockDiagonal"], "PyTensor's own raises"),
    "Bartlett": INTEGERS,
    "Choose": NONE_IN_PYTENSOR,
    "DeepCopyOp": NONE_IN_PYTENSOR,
    "Dot22": MADE_BY_REWRITES,
    "Dot22Scalar": MADE_BY_REWRITES,
    "Eig": "its results are complex",
    "Fourier": "PyTensor has no gradients of parts of complex numbers",
    "Gemm": MADE_BY_REWRITES,
    "Gemv": MADE_BY_REWRITES,
    "LUFactorTridiagonal": NONE_IN_PYTENSOR,
    "Lstsq": NONE_IN_PYTENSOR,
    "MakeSlice": INTEGERS,
    "Nonzero": INTEGERS,
    "PivotToPermutations": INTEGERS,
    "QZ": NONE_IN_PYTENSOR,
    "QR": "PyTensor's own raises a TypeError",
    "RandomVariable": "draws are not differentiated",
    "RavelMultiIndex": INTEGERS,
    "SLogDet": NONE_IN_PYTENSOR,
    "ScalarOp": "tests of Ops compare those of each scalar Op",
    "Schur": NONE_IN_PYTENSOR,
    "SearchsortedOp": INTEGERS,
    "Shape_i": INTEGERS,
    "SolveLUFactorTridiagonal": NONE_IN_PYTENSOR,
    "TRSYL": NONE_IN_PYTENSOR,
    "TensorInv": NONE_IN_PYTENSOR,
    "TensorSolve": NONE_IN_PYTENSOR,
    "UndefinedGrad": "it has none",
    "Unique": NONE_IN_PYTENSOR,
    "UnravelIndex": INTEGERS,
}


def _classes(outputs):
    """Return the names of the classes of Ops in graphs, and of what they do to each item."""
    found = set()
    for node in applys_between([], outputs):
        for op in (node.op, getattr(node.op, "core_op", None)):
            found.update(cls.__name__ for cls in type(op).__mro__)
    return found


def test_each_converted_op_has_its_gradient_compared():
    inputs = [pt.dmatrix(name) for name in "xys"]
    graphs = [build(*inputs) for group in GROUPS.values() for build in group.values()]
    registered = {
        cls.__name__ for cls in convert_op.registry if cls.__module__.startswith("pytensor.")
    }
    assert registered - _classes(graphs) == set(WITHOUT) & registered
