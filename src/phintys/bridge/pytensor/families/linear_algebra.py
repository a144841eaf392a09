"""Products, factorizations and equations of matrices; roots and minima that SciPy finds.

The functions take stacks of matrices, so that a ``Blockwise`` of one of these Ops is the same
function.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pytensor.tensor import optimize as theirs
from pytensor.tensor.blas.batched import BatchedDot
from pytensor.tensor.blas.gemm import Dot22, Dot22Scalar, Gemm
from pytensor.tensor.blas.gemv import Gemv
from pytensor.tensor.linalg.constructors import BlockDiagonal
from pytensor.tensor.linalg.decomposition.cholesky import Cholesky
from pytensor.tensor.linalg.decomposition.eigen import Eig, Eigh, Eigvalsh
from pytensor.tensor.linalg.decomposition.lu import LU, LUFactor, PivotToPermutations
from pytensor.tensor.linalg.decomposition.qr import QR
from pytensor.tensor.linalg.decomposition.schur import QZ, Schur
from pytensor.tensor.linalg.decomposition.svd import SVD
from pytensor.tensor.linalg.inverse import MatrixInverse, MatrixPinv, TensorInv
from pytensor.tensor.linalg.products import Expm
from pytensor.tensor.linalg.solvers.general import Solve
from pytensor.tensor.linalg.solvers.linear_control import TRSYL, SolveDiscreteARE, SolveSylvester
from pytensor.tensor.linalg.solvers.lstsq import Lstsq, TensorSolve
from pytensor.tensor.linalg.solvers.psd import CholeskySolve
from pytensor.tensor.linalg.solvers.triangular import SolveTriangular
from pytensor.tensor.linalg.solvers.tridiagonal import LUFactorTridiagonal, SolveLUFactorTridiagonal
from pytensor.tensor.linalg.summary import Det, SLogDet
from pytensor.tensor.math import Dot

import phintys.tensor as pt
import phintys.tensor.linalg as ours
from phintys.bridge.pytensor.callback import PyTensorOp
from phintys.bridge.pytensor.conversion import convert_op, converted_graph
from phintys.bridge.pytensor.types import convert_type
from phintys.control.solving.implicit import (
    Algorithm,
    ImplicitSolution,
    Minimization,
    RootSearch,
    ScalarMinimization,
    ScalarRootSearch,
)
from phintys.graph.fgraph import FunctionGraph
from phintys.tensor.linear_algebra.schur import QuasiTriangularSylvester
from phintys.tensor.linear_algebra.tridiagonal import TridiagonalLU

# PyTensor need not be installed.
# pyright: reportMissingImports=false


BATCHED = (
    BlockDiagonal,
    Cholesky,
    CholeskySolve,
    Det,
    Eig,
    Eigh,
    Eigvalsh,
    Expm,
    LU,
    LUFactor,
    MatrixInverse,
    MatrixPinv,
    PivotToPermutations,
    QR,
    QZ,
    SLogDet,
    SVD,
    Schur,
    Solve,
    SolveTriangular,
)
"""Ops whose functions here take stacks."""


@convert_op.register(Dot)
@convert_op.register(Dot22)
def _dot(op: Any, node: Any, x: Any, y: Any) -> Any:
    return pt.dot(x, y)


@convert_op.register(BatchedDot)
def _batched_dot(op: Any, node: Any, x: Any, y: Any) -> Any:
    return pt.batched_dot(x, y)


@convert_op.register(Dot22Scalar)
def _scaled_dot(op: Any, node: Any, x: Any, y: Any, scale: Any) -> Any:
    return scale * pt.dot(x, y)


@convert_op.register(Gemm)
@convert_op.register(Gemv)
def _gemm(op: Any, node: Any, z: Any, scale: Any, x: Any, y: Any, factor: Any) -> Any:
    return factor * z + scale * pt.dot(x, y)


@convert_op.register(Cholesky)
def _cholesky(op: Any, node: Any, x: Any) -> Any:
    return ours.cholesky(x, lower=op.lower, on_error="nan")


@convert_op.register(CholeskySolve)
def _cho_solve(op: Any, node: Any, factor: Any, b: Any) -> Any:
    return ours.cho_solve((factor, op.lower), b, b_ndim=op.b_ndim)


@convert_op.register(SolveTriangular)
def _solve_triangular(op: Any, node: Any, a: Any, b: Any) -> Any:
    return ours.solve_triangular(
        a, b, lower=op.lower, unit_diagonal=op.unit_diagonal, b_ndim=op.b_ndim, on_error="nan"
    )


@convert_op.register(Solve)
def _solve(op: Any, node: Any, a: Any, b: Any) -> Any:
    if op.assume_a not in {"gen", "sym", "pos", "her", "tridiagonal", "banded"}:
        return PyTensorOp(node)(a, b)
    return ours.solve(a, b, assume_a=op.assume_a, lower=op.lower, b_ndim=op.b_ndim, on_error="nan")


@convert_op.register(MatrixInverse)
def _inv(op: Any, node: Any, x: Any) -> Any:
    return ours.inv(x, on_error="nan")


@convert_op.register(MatrixPinv)
def _pinv(op: Any, node: Any, x: Any) -> Any:
    return ours.pinv(x, hermitian=op.hermitian)


@convert_op.register(TensorInv)
def _tensorinv(op: Any, node: Any, x: Any) -> Any:
    return ours.tensorinv(x, op.ind)


@convert_op.register(TensorSolve)
def _tensorsolve(op: Any, node: Any, a: Any, b: Any) -> Any:
    return ours.tensorsolve(a, b, op.axes)


@convert_op.register(Det)
def _det(op: Any, node: Any, x: Any) -> Any:
    return ours.det(x)


@convert_op.register(SLogDet)
def _slogdet(op: Any, node: Any, x: Any) -> Any:
    return list(ours.slogdet(x))


@convert_op.register(Eig)
def _eig(op: Any, node: Any, x: Any) -> Any:
    return list(ours.eig(x))


@convert_op.register(Eigh)
def _eigh(op: Any, node: Any, a: Any, b: Any = None) -> Any:
    return list(ours.eigh(a, b, lower=op.lower))


@convert_op.register(Eigvalsh)
def _eigvalsh(op: Any, node: Any, a: Any, b: Any = None) -> Any:
    return ours.eigvalsh(a, b, lower=op.lower)


@convert_op.register(SVD)
def _svd(op: Any, node: Any, x: Any) -> Any:
    found = ours.svd(x, full_matrices=op.full_matrices, compute_uv=op.compute_uv)
    return list(found) if op.compute_uv else found


@convert_op.register(QR)
def _qr(op: Any, node: Any, x: Any) -> Any:
    if op.mode == "raw":
        packed, tau, *order = ours.qr(x, mode="raw", pivoting=op.pivoting)
        return [packed, tau, _upper_rows(packed), *order]
    if op.mode == "r":
        found = ours.qr(x, mode="r", pivoting=op.pivoting)
        r, *order = found if op.pivoting else (found,)
        return [_with_zero_rows(r, x), *order]
    return list(ours.qr(x, mode=op.mode, pivoting=op.pivoting))


def _upper_rows(packed: Any) -> Any:
    """Return R, which is above the reflectors of the packed form: no more rows than columns."""
    return pt.triu(packed[..., : packed.shape[-1], :])


def _with_zero_rows(r: Any, x: Any) -> Any:
    """Return R with as many rows as the matrix: those that are missing are zero."""
    missing = x.shape[-2] - r.shape[-2]
    below = pt.zeros((*(x.shape[axis] for axis in range(x.ndim - 2)), missing, x.shape[-1]))
    return pt.concatenate([r, below.astype(r.dtype)], axis=-2)


@convert_op.register(Schur)
def _schur(op: Any, node: Any, x: Any) -> Any:
    return list(ours.schur(x, output=op.output, sort=op.sort, on_error="nan"))


@convert_op.register(QZ)
def _qz(op: Any, node: Any, a: Any, b: Any) -> Any:
    is_complex = node.outputs[0].type.dtype.startswith("complex")
    if op.return_eigenvalues and not is_complex:  # those of pairs are not on the diagonals
        return PyTensorOp(node)(a, b, return_list=True)
    output = "complex" if is_complex else "real"
    form = ours.qz if op.sort is None else partial(ours.ordqz, sort=op.sort)
    s, t, q, z = form(a, b, output=output, on_error="nan")
    if not op.return_eigenvalues:
        return [s, t, q, z]
    return [s, t, *(pt.diagonal(x, 0, x.ndim - 2, x.ndim - 1) for x in (s, t)), q, z]


@convert_op.register(LU)
def _lu(op: Any, node: Any, x: Any) -> Any:
    return list(ours.lu(x, permute_l=op.permute_l, p_indices=op.p_indices))


@convert_op.register(LUFactor)
def _lu_factor(op: Any, node: Any, x: Any) -> Any:
    return list(ours.lu_factor(x))


@convert_op.register(PivotToPermutations)
def _permutation(op: Any, node: Any, pivots: Any) -> Any:
    return ours.pivot_to_permutation(pivots, inverse=op.inverse)


@convert_op.register(LUFactorTridiagonal)
def _tridiagonal_factors(op: Any, node: Any, lower: Any, main: Any, upper: Any) -> Any:
    *factors, second, rows = TridiagonalLU()(lower, main, upper, return_list=True)
    return [*factors, second[:-1], rows]


@convert_op.register(SolveLUFactorTridiagonal)
def _tridiagonal_solution(op: Any, node: Any, *inputs: Any) -> Any:
    *factors, b = inputs
    return ours.tridiagonal_lu_solve(
        tuple(factors), b, b_ndim=op.b_ndim, transposed=op.transposed, on_error="nan"
    )


@convert_op.register(Lstsq)
def _lstsq(op: Any, node: Any, a: Any, b: Any, rcond: Any) -> Any:
    found = ours.lstsq(a, b, rcond)
    # NumPy returns residuals only where all equations count, and more than there are unknowns.
    has_rest = pt.and_(pt.eq(found.rank, a.shape[1]), a.shape[0] > a.shape[1])
    count = pt.switch(has_rest, found.residuals.shape[0], 0)
    return [found.x, found.residuals[:count], found.rank, found.s]


@convert_op.register(Expm)
def _expm(op: Any, node: Any, x: Any) -> Any:
    return ours.expm(x)


@convert_op.register(SolveSylvester)
def _sylvester(op: Any, node: Any, a: Any, b: Any, q: Any) -> Any:
    return ours.solve_sylvester(a, b, q)


@convert_op.register(TRSYL)
def _triangular_sylvester(op: Any, node: Any, a: Any, b: Any, c: Any) -> Any:
    return QuasiTriangularSylvester(on_error="nan")(a, b, c)


@convert_op.register(SolveDiscreteARE)
def _riccati(op: Any, node: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
    return ours.solve_discrete_are(a, b, q, r)


@convert_op.register(BlockDiagonal)
def _block_diagonal(op: Any, node: Any, *matrices: Any) -> Any:
    return ours.block_diag(*matrices)


# PyTensor need not be installed.
# pyright: reportMissingImports=false


@convert_op.register(theirs.RootOp)
def _root(op: Any, node: Any, *inputs: Any) -> Any:
    return _solution(op, inputs, RootSearch(op.method, op.jac, op.optimizer_kwargs), "root")


@convert_op.register(theirs.MinimizeOp)
def _minimize(op: Any, node: Any, *inputs: Any) -> Any:
    algorithm = Minimization(op.method, op.jac, op.hess, op.optimizer_kwargs)
    return _solution(op, inputs, algorithm, "minimize")


@convert_op.register(theirs.RootScalarOp)
def _root_scalar(op: Any, node: Any, *inputs: Any) -> Any:
    algorithm = ScalarRootSearch(op.method, op.jac, op.hess, op.optimizer_kwargs)
    return _solution(op, inputs, algorithm, "root_scalar")


@convert_op.register(theirs.MinimizeScalarOp)
def _minimize_scalar(op: Any, node: Any, *inputs: Any) -> Any:
    algorithm = ScalarMinimization(op.method, op.optimizer_kwargs)
    return _solution(op, inputs, algorithm, "minimize_scalar")


def _solution(op: Any, inputs: Any, algorithm: Algorithm, name: str) -> Any:
    """Return the solution that an Op of PyTensor finds, and whether it is one."""
    inner = [convert_type(one.type)(one.name) for one in op.fgraph.inputs]
    fgraph = FunctionGraph(inner, converted_graph(op.fgraph, inner), clone=False)
    minimizes = name.startswith("minimize")
    solver = ImplicitSolution(fgraph, algorithm, name, minimizes, op.bound_kwargs)
    return solver(*inputs, return_list=True)
