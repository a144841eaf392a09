"""Systems of equations with sparse matrices: by factors, triangular ones, and by iteration.

Matrices are the arrays of the format csc. A matrix of the format csr is the transpose of such a
one, whose systems the same factors solve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError, TypeContractError
from phintys._base.late import LateModule
from phintys.gradient.reverse import Lop
from phintys.graph.apply import Apply
from phintys.graph.cloning import clone_get_equiv
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable
from phintys.sparse.operations import diag, dot, is_sparse
from phintys.sparse.patterns import check_pattern
from phintys.sparse.products import ProductByColumns, ProductByRows, ProductOfRows, conj
from phintys.sparse.type import sp
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import scipy.sparse.linalg as sl

    from phintys.graph.inner import InnerProgram
    from phintys.sparse.parts import Form
else:
    sl = LateModule("scipy.sparse.linalg")


class SolvingOp(Op):
    """The solution of ``A x = b``, or of ``A.T x = b`` if ``transposed``.

    Inputs are those with which the method prepares itself, perhaps the factors; the elements,
    indices and ``indptr`` of A in the format csc; and b, a vector or a matrix.
    """

    before: int = 0
    """How many inputs come before the matrix. They have no derivative."""

    transposed: bool

    def make_node(self, *inputs: Any) -> Apply:
        """Build a node; elements and b are cast to one floating dtype."""
        factors, (data, *pattern, b) = inputs[: self.before], inputs[self.before :]
        data, b = as_tensor_variable(data), as_tensor_variable(b)
        if b.ndim not in {1, 2}:
            msg = f"The right side must be a vector or a matrix, got {b} of type {b.type}."
            raise ShapeError(msg)
        arrays = [as_tensor_variable(v) for v in pattern]
        return Apply(self, [*factors, data, *arrays, b], [b.type()])

    def transposing(self) -> SolvingOp:
        """Return the Op for the transposed matrix."""
        raise NotImplementedError

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Solve."""
        self.check_rows(*inputs[-2:])
        output_storage[0][0] = np.ascontiguousarray(self.solution(*inputs), inputs[-1].dtype)

    @staticmethod
    def check_rows(indptr: Any, b: Any) -> None:
        """Check that the right side has as many rows as the matrix."""
        if len(b) != len(indptr) - 1:
            msg = f"The right side must have {len(indptr) - 1} rows, got {len(b)}."
            raise ShapeError(msg)

    def solution(self, *inputs: Any) -> Any:
        """Return the solution."""
        raise NotImplementedError

    def matrix(self, data: Any, indices: Any, indptr: Any) -> Any:
        """Return A as a matrix of SciPy; its pattern is checked."""
        n = len(indptr) - 1
        check_pattern(self, indices, indptr, n)
        return sp.csc_array((data, indices, indptr), shape=(n, n))

    def infer_shape(self, fgraph: Any, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the shape of the right side."""
        return [input_shapes[-1]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Elements and the right side have derivatives."""
        last = len(node.inputs) - 1
        return [[at in {self.before, last}] for at in range(len(node.inputs))]

    def _parts(self, inputs: Any) -> tuple[Any, Any, Any]:
        factors, (data, *pattern, b) = inputs[: self.before], inputs[self.before :]
        return factors, (data, *pattern), b

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return the solution with the adjoint matrix, and its product with x at the entries."""
        (g,), (x,) = output_grads, outputs
        factors, (data, *pattern), _ = self._parts(inputs)
        of_b = conj(self.transposing()(*factors, data, *pattern, conj(g)))
        rows, columns = (of_b, conj(x)) if self.transposed else (conj(x), of_b)
        of_data = -self.elements_of(ProductOfRows()(rows, columns, *pattern), inputs)
        none = [disconnected_type() for _ in pattern]
        return [*(disconnected_type() for _ in factors), of_data, *none, of_b]

    def elements_of(self, gradient: Any, inputs: Any) -> Any:
        """Return the gradient of the elements on which the solution depends; 0 for others."""
        return gradient

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return ``A^-1 (db - dA x)``."""
        factors, (data, *pattern), b = self._parts(inputs)
        of_data, of_b = eval_points[len(factors)], eval_points[-1]
        right = of_b
        if of_data is not None:
            x = self(*inputs)
            of_data = self.elements_of(of_data, inputs)
            moved = (
                ProductByRows()(of_data, x, *pattern)
                if self.transposed
                else ProductByColumns()(of_data, x, *pattern, b.shape[0])
            )
            right = -moved if of_b is None else of_b - moved
        return [None if right is None else self(*factors, data, *pattern, right)]


class SolveByFactors(SolvingOp):
    """``(factors, data, indices, indptr, b)``: the solution by the factors of A."""

    __props__ = ("transposed",)
    before = 1

    def __init__(self, transposed: bool = False) -> None:
        self.transposed = transposed

    def transposing(self) -> SolvingOp:
        """Return the Op for the transposed matrix, with the same factors."""
        return SolveByFactors(not self.transposed)

    def solution(self, factors: Any, data: Any, indices: Any, indptr: Any, b: Any) -> Any:
        """Substitute."""
        return factors.solve(b, self.transposed)


class SolveTriangularMatrix(SolvingOp):
    """``(data, indices, indptr, b)``: the solution with a triangle of A; others are not read.

    Parameters
    ----------
    lower
        Whether it is the lower triangle of the stored matrix.
    unit_diagonal
        Whether the diagonal is 1, whatever is stored.
    transposed
        Whether the system is that of the transposed triangle.
    """

    __props__ = ("lower", "unit_diagonal", "transposed")

    def __init__(
        self, lower: bool = True, unit_diagonal: bool = False, transposed: bool = False
    ) -> None:
        self.lower = lower
        self.unit_diagonal = unit_diagonal
        self.transposed = transposed

    def transposing(self) -> SolvingOp:
        """Return the Op for the transposed triangle."""
        return SolveTriangularMatrix(self.lower, self.unit_diagonal, not self.transposed)

    def solution(self, data: Any, indices: Any, indptr: Any, b: Any) -> Any:
        """Substitute with SciPy."""
        matrix = self.matrix(data, indices, indptr)
        part = sp.tril(matrix, format="csc") if self.lower else sp.triu(matrix, format="csc")
        if not self.unit_diagonal and not part.diagonal().all():
            msg = "The triangular sparse matrix is singular: its diagonal has a zero."
            raise np.linalg.LinAlgError(msg)
        if not b.size:
            return b.copy()
        if self.unit_diagonal:
            part = sp.csc_array(part)
            part.setdiag(1)
        if self.transposed:
            return sl.spsolve_triangular(part.T.tocsr(), b, lower=not self.lower)
        return sl.spsolve_triangular(part, b, lower=self.lower)

    def elements_of(self, gradient: Any, inputs: Any) -> Any:
        """Return the gradient in the triangle."""
        _, indices, indptr, _ = inputs
        columns = pt.repeat(pt.arange(indptr.shape[0] - 1), pt.diff(indptr))
        below, above = (indices, columns) if self.lower else (columns, indices)
        is_read = pt.gt(below, above) if self.unit_diagonal else pt.ge(below, above)
        return pt.where(is_read, gradient, pt.zeros_like(gradient))


class SolveByIteration(SolvingOp):
    """``(data, indices, indptr, b)``: the solution by a method of SciPy; its gradient by the same.

    Parameters
    ----------
    method
        ``"cg"`` or ``"gmres"``.
    rtol, atol
        The residual is at most ``max(rtol * norm(b), atol)``.
    maxiter, restart
        As SciPy takes them.
    transposed
        Whether the system is that of the transposed matrix.
    """

    __props__ = ("method", "rtol", "atol", "maxiter", "restart", "transposed")

    def __init__(
        self,
        method: str,
        rtol: float,
        atol: float,
        maxiter: int | None,
        restart: int | None = None,
        transposed: bool = False,
    ) -> None:
        self.method, self.rtol, self.atol = method, rtol, atol
        self.maxiter, self.restart, self.transposed = maxiter, restart, transposed

    def transposing(self) -> SolvingOp:
        """Return the Op for the transposed matrix."""
        given = (self.method, self.rtol, self.atol, self.maxiter, self.restart)
        return SolveByIteration(*given, not self.transposed)

    def solution(self, data: Any, indices: Any, indptr: Any, b: Any, inverse: Any = None) -> Any:
        """Iterate, for one right side after the other.

        Parameters
        ----------
        data, indices, indptr, b
            As they are given.
        inverse
            A function that multiplies a vector with about the inverse of the matrix.
        """
        matrix = self.matrix(data, indices, indptr)
        matrix = matrix.T if self.transposed else matrix
        if inverse is not None:
            inverse = sl.LinearOperator(matrix.shape, inverse, dtype=b.dtype)
        result = np.zeros(b.shape, b.dtype)
        if b.ndim == 1:
            return self._one(matrix, b, inverse)
        for at, right in enumerate(b.T):
            result[:, at] = self._one(matrix, right, inverse)
        return result

    def _one(self, matrix: Any, b: Any, inverse: Any) -> Any:
        given = {"rtol": self.rtol, "atol": self.atol, "maxiter": self.maxiter, "M": inverse}
        if self.method == "gmres":
            given["restart"] = self.restart
        x, info = getattr(sl, self.method)(matrix, b, **given)
        if info:
            msg = (
                f"{self.method} has not converged"
                + (f" in {info} iterations" if info > 0 else "")
                + f" to a residual of rtol={self.rtol} times the norm of the right side (or "
                f"atol={self.atol}). Allow more with maxiter=, or use phintys.sparse.linalg.solve."
            )
            raise np.linalg.LinAlgError(msg)
        return x


class PreconditionedIteration(HasInnerGraph, SolveByIteration):
    """``(*captured, data, indices, indptr, b)``: the solution by a method with a preconditioner.

    The inner graph is a linear function of a vector, the first inner input; it may depend on
    others, the captured ones. The solution does not depend on it, so it has no derivative.

    Parameters
    ----------
    fgraph
        The inner graph.
    settings
        The parameters of :class:`~phintys.sparse.solving.SolveByIteration`.
    """

    __props__ = SolveByIteration.__props__

    def __init__(self, fgraph: FunctionGraph, *settings: Any) -> None:
        super().__init__(*settings)
        self.fgraph = fgraph
        self.before = len(fgraph.inputs) - 1

    @property
    def captured(self) -> Mapping[int, int]:
        """The first inputs; the iterations give the first inner one."""
        return {position: position + 1 for position in range(self.before)}

    @property
    def _settings(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in SolveByIteration.__props__)

    def with_inner(self, fgraph: FunctionGraph) -> PreconditionedIteration:
        """Return an Op like this one with another graph."""
        return PreconditionedIteration(fgraph, *self._settings)

    def make_node(self, *inputs: Any) -> Apply:
        """Build a node; what is captured has the types of the inner graph."""
        types: list[Any] = [inner.type for inner in self.fgraph.inputs[1:]]
        captured = (t.filter_variable(v) for t, v in zip(types, inputs, strict=False))
        return super().make_node(*captured, *inputs[self.before :])

    def transposing(self) -> PreconditionedIteration:
        """Return the Op for the transposed matrix, whose preconditioner is the transposed one.

        Conjugate gradients have a symmetric one.
        """
        *settings, transposed = self._settings
        graph = self.fgraph if self.method == "cg" else _transposed(self.fgraph)
        return PreconditionedIteration(graph, *settings, not transposed)

    def perform_with(
        self,
        program: InnerProgram,
        node: Apply,
        inputs: Sequence[Any],
        output_storage: Sequence[list[Any]],
    ) -> None:
        """Iterate."""
        captured, arrays = inputs[: self.before], inputs[self.before :]
        self.check_rows(*arrays[-2:])
        b = arrays[-1]

        def inverse(residual: Any) -> Any:
            (found,) = program([np.ascontiguousarray(residual, b.dtype).ravel(), *captured])
            if found.shape != (len(b),):
                msg = f"M must return a vector of {len(b)} numbers, got shape {found.shape}."
                raise ShapeError(msg)
            return np.array(found)

        found = self.solution(*arrays, inverse=inverse)
        output_storage[0][0] = np.ascontiguousarray(found, b.dtype)


def _transposed(fgraph: FunctionGraph) -> FunctionGraph:
    """Return the graph of the transposed linear function."""
    vector, *captured = fgraph.inputs
    pulled_back = cast("Any", vector.type)("v")
    pulled = Lop(fgraph.outputs[0], vector, pulled_back)
    # Of the vector, nothing but its size is used: the function is linear.
    return _closed([pulled_back, *captured], pulled, {vector: pulled_back})


def _closed(inputs: list[Any], output: Any, same: dict[Any, Any]) -> FunctionGraph:
    """Return a graph of copies; ``same`` maps further leaves to inputs."""
    memo: dict[Any, Any] = {one: one.type.make_variable(one.name) for one in inputs}
    inner = list(memo.values())
    memo |= {one: memo[other] for one, other in same.items()}
    equiv = clone_get_equiv((), [output], copy_orphans=False, memo=memo)
    return FunctionGraph(inner, [equiv[output]], clone=False)


def preconditioned(settings: tuple[Any, ...], M: Any, form: Form, b: Any) -> tuple[Any, Any]:
    """Return the Op of an iteration with a preconditioner, and what its inner graph captures.

    Parameters
    ----------
    settings
        The parameters of :class:`~phintys.sparse.solving.SolveByIteration`, for the csc matrix.
    M
        As users give it, for the matrix of which that may be the transpose.
    form, b
        The csc matrix, and the right side.
    """
    if b.dtype.startswith("complex"):
        msg = f"Systems with a preconditioner M must be real, got {b.dtype}."
        raise TypeContractError(msg)
    vector = TensorType(b.dtype, (form.static[0],))("residual")
    output = as_tensor_variable(_function(M, form)(vector))
    depending: set[Any] = {vector}
    captured: dict[Any, None] = {}
    for node in toposort([output]):
        if depending.intersection(node.inputs):
            depending.update(node.outputs)
            captured |= dict.fromkeys(node.inputs)
    if output not in depending or output.ndim != 1:
        msg = f"M must map a vector to a vector that depends on it, got {output} ({output.type})."
        raise TypeContractError(msg)
    # What does not depend on the vector is computed once, not in each iteration.
    outer = [v for v in captured if v not in depending and not isinstance(v, Constant)]
    output = output if output.dtype == b.dtype else pt.cast(output, b.dtype)
    return PreconditionedIteration(_closed([vector, *outer], output, {}), *settings), outer


def _function(M: Any, form: Form) -> Callable[[Any], Any]:
    """Return a preconditioner as a function of variables."""
    if isinstance(M, str):
        if M != "jacobi":
            msg = f"M must be a function, a matrix or 'jacobi', got {M!r}."
            raise ArgumentError(msg)
        diagonal = diag(form.variable)
        inverse = 1 / pt.where(pt.eq(diagonal, 0), 1, diagonal)
        return lambda v: inverse * v
    if is_sparse(M):
        return lambda v: dot(M, v)
    if isinstance(M, Variable) or not callable(M):
        return lambda v: pt.dot(M, v)
    return M
