"""RowLoop: the rows of a Jacobian, one at a time, for a number of rows known at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.once import kept_property
from phintys.gradient.arithmetic import fit_dtype
from phintys.gradient.forward import push_forward
from phintys.gradient.pullback import pull_back
from phintys.graph.apply import Apply
from phintys.graph.clone import clone
from phintys.graph.compiler import compile_graph
from phintys.graph.equality import equal_computations
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.null_type import DisconnectedType, NullType, disconnected_type
from phintys.graph.op import Op
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.known import known_int
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


__all__ = ["RowLoop", "row_loop"]


class RowLoop(Op):
    """Compute a graph for each row number 0, 1, ..., n - 1, and stack or sum the results.

    The inputs of a node are the number n of rows and the variables that the graph captures.
    Subexpressions that are the same for all rows belong outside: :func:`row_loop` separates them.

    Parameters
    ----------
    index
        The row number: an int64 variable of rank 0, a leaf of the inner graph.
    captured
        Leaves of the inner graph, in the order of the node's further inputs.
    results
        The outputs of the inner graph for one row.
    like
        For each result the position, among ``captured``, of a variable of the same shape, which
        determines the shape of the result if there are no rows.
    stacked
        For each result, whether the rows are stacked along a new first axis instead of summed.

    Notes
    -----
    The Op is closed under differentiation. The gradient for a captured variable is a sum over the
    rows, so it is another RowLoop that contains the pulled-back graph and sums its results; the
    R-operator is one that contains the pushed-forward graph.
    """

    def __init__(
        self,
        index: Variable,
        captured: Sequence[Variable],
        results: Sequence[Any],
        like: Sequence[int],
        stacked: Sequence[bool],
    ) -> None:
        self.index = index
        self.captured = list(captured)
        self.results = list(results)
        self.like = list(like)
        self.stacked = list(stacked)
        self._function: Callable[..., list[Any]] | None = None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, RowLoop)
            and self._signature == other._signature
            and equal_computations(
                self.results, other.results, self.inner_inputs, other.inner_inputs
            )
        )

    def __hash__(self) -> int:
        return hash((RowLoop, self._signature))

    @property
    def _signature(self) -> tuple[Any, ...]:
        types = tuple(variable.type for variable in (*self.captured, *self.results))
        return (types, tuple(self.like), tuple(self.stacked))

    def clone(self) -> RowLoop:
        """Return an equal Op with a copy of the inner graph."""
        (index, *captured), results = clone(self.inner_inputs, self.results, copy_orphans=False)
        return RowLoop(index, captured, results, self.like, self.stacked)

    @kept_property
    def fgraph(self) -> FunctionGraph:
        """A copy of the inner graph, for inspection; changing it does not change the Op."""
        return FunctionGraph(self.inner_inputs, self.results)

    @property
    def inner_inputs(self) -> list[Variable]:
        """The leaves of the inner graph."""
        return [self.index, *self.captured]

    @property
    def inner_outputs(self) -> list[Variable]:
        """The outputs of the inner graph."""
        return self.results

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_function": None}
        state.pop("fgraph", None)
        return state

    def make_node(self, n: Any, *captured: Any) -> Apply:
        """Apply to the number of rows and the values of the captured variables."""
        n = as_tensor_variable(n)
        outer = [
            inner.type.filter_variable(given)
            for inner, given in zip(self.captured, captured, strict=True)
        ]
        rows = known_int(n)
        outputs: list[Variable] = []
        for result, stack in zip(self.results, self.stacked, strict=True):
            shape = (rows, *result.type.shape) if stack else result.type.shape
            outputs.append(TensorType(result.type.dtype, shape)())
        return Apply(self, [n, *outer], outputs)

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Call the compiled inner graph for each row."""
        if self._function is None:
            self._function = compile_graph(
                self.inner_inputs, self.results, on_unused_input="ignore"
            )
        n, captured = int(inputs[0]), inputs[1:]
        arrays: list[np.ndarray[Any, Any]] = []
        for output, like, stack in zip(
            cast(list[Any], node.outputs), self.like, self.stacked, strict=True
        ):
            shape = captured[like].shape
            arrays.append(np.zeros((n, *shape) if stack else shape, output.type.dtype))
        for i in range(n):
            rows = self._function(np.asarray(i, "int64"), *captured)
            for array, row, stack in zip(arrays, rows, self.stacked, strict=True):
                if stack:
                    array[i] = row
                else:
                    array += row
        for cell, array in zip(output_storage, arrays, strict=True):
            cell[0] = array

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Apply, input_shapes: Sequence[Any]
    ) -> list[Any]:
        """Return the number of rows, and the shapes of the variables that results are like."""
        return [
            (node.inputs[0], *input_shapes[like + 1]) if stack else input_shapes[like + 1]
            for like, stack in zip(self.like, self.stacked, strict=True)
        ]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Pull the gradients back through the inner graph, and sum over the rows."""
        seeds: list[tuple[Variable, Variable]] = []
        whole: list[tuple[Variable, Variable]] = []
        for result, g, stack in zip(self.results, output_grads, self.stacked, strict=True):
            if isinstance(g.type, DisconnectedType):
                continue
            inner = g.type()
            whole.append((inner, g))
            seeds.append((result, fit_dtype(inner[self.index] if stack else inner, result.type)))
        gradients = pull_back(seeds, self.captured)
        found: list[Any] = [disconnected_type() for _ in inputs]
        computed: list[int] = []
        for position, variable in enumerate(self.captured):
            gradient = gradients.value(variable)
            if gradient is None:
                continue
            found[position + 1] = gradient
            if not isinstance(gradient.type, NullType):
                computed.append(position)
        if not computed:
            return found
        loop = RowLoop(
            self.index,
            [*self.captured, *(inner for inner, _ in whole)],
            [found[position + 1] for position in computed],
            computed,
            [False] * len(computed),
        )
        summed = loop(*inputs, *(g for _, g in whole), return_list=True)
        for position, gradient in zip(computed, summed, strict=True):
            found[position + 1] = gradient
        return found

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Push the tangents forward through the inner graph."""
        moved = [
            (inner, inner.type() if v.type == inner.type else v.type(), v)
            for inner, v in zip(self.captured, eval_points[1:], strict=True)
            if v is not None
        ]
        tangents = push_forward(self.results, [(inner, point) for inner, point, _ in moved])
        found: list[Any] = list(tangents)
        computed = [
            o for o, v in enumerate(found) if v is not None and not isinstance(v.type, NullType)
        ]
        if not computed:
            return found
        loop = RowLoop(
            self.index,
            [*self.captured, *(point for _, point, _ in moved)],
            [found[o] for o in computed],
            [self.like[o] for o in computed],
            [self.stacked[o] for o in computed],
        )
        pushed = loop(*inputs, *(v for _, _, v in moved), return_list=True)
        for o, tangent in zip(computed, pushed, strict=True):
            found[o] = tangent
        return found


def row_loop(
    n: Any, index: Variable, rows: Sequence[Variable], like: Sequence[Variable]
) -> list[Variable]:
    """Return, for each of ``rows``, its values for ``index = 0, ..., n - 1``, stacked.

    Subexpressions that do not depend on ``index`` are computed once, outside the loop.

    Parameters
    ----------
    n
        Number of rows, symbolic.
    index
        0-d int64 leaf that ``rows`` depend on.
    rows
        Expressions for row number ``index``.
    like
        For each of them, a variable of the same shape that does not depend on ``index``.
    """
    captured: dict[Variable, Variable] = {}

    def capture(variable: Variable) -> Variable:
        if variable not in captured:
            captured[variable] = variable.type()
        return captured[variable]

    for variable in like:
        capture(variable)
    copies: dict[Variable, Variable] = {index: index}

    def inside(variable: Variable) -> Variable:
        if variable in copies:
            return copies[variable]
        return variable if isinstance(variable, Constant) else capture(variable)

    for node in toposort(rows):
        if any(variable in copies for variable in node.inputs):
            copy = node.clone([inside(variable) for variable in node.inputs])
            copies.update(zip(node.outputs, copy.outputs, strict=True))
    results = [inside(row) for row in rows]
    outer = list(captured)
    place = {variable: position for position, variable in enumerate(outer)}
    loop = RowLoop(
        index,
        list(captured.values()),
        results,
        [place[variable] for variable in like],
        [True] * len(results),
    )
    return loop(n, *outer, return_list=True)
