"""Iterations with preconditioners: what multiplies with about the inverse of the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError, TypeContractError
from phintys.gradient.reverse import Lop
from phintys.graph.apply import Apply
from phintys.graph.cloning import clone_get_equiv
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable
from phintys.sparse.operations import diag, dot, is_sparse
from phintys.sparse.solving import SolveByIteration
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.graph.inner import InnerProgram
    from phintys.sparse.parts import Form


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
