"""RowLoop: the rows of a Jacobian, one at a time, for a number of rows known at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.caches import kept_property
from phintys._base.errors import add_note
from phintys.gradient.arithmetic import fit_dtype
from phintys.gradient.forward import push_forward
from phintys.gradient.paths import connections
from phintys.gradient.pullback import pull_back
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph
from phintys.graph.null_type import DisconnectedType, NullType, disconnected_type
from phintys.graph.op import Op
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import Alloc, given_lengths
from phintys.tensor.known import known_int
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.inner import InnerProgram

_MOST_FOLDED = 1000


class RowLoop(HasInnerGraph, Op):
    """Compute a graph for each row number 0, 1, ..., n - 1, and stack or sum the results.

    The inputs of a node are the number n of rows and the variables that the graph captures.
    Subexpressions that are the same for all rows belong outside: :func:`row_loop` separates them.

    Parameters
    ----------
    fgraph
        The graph for one row. Its inputs are the row number, an int64 variable of rank 0, and those
        that it captures, in the order of the node's further inputs.
    like
        For each result the position, among the captured inputs, of one of the same shape, which
        determines the shape of the result if there are no rows.
    stacked
        For each result, whether the rows are stacked along a new first axis instead of summed.

    Notes
    -----
    The Op is closed under differentiation. The gradient for a captured variable is a sum over the
    rows, so it is another RowLoop that contains the pulled-back graph and sums its results; the
    R-operator is one that contains the pushed-forward graph.
    """

    __props__ = ("like", "stacked")

    def __init__(self, fgraph: FunctionGraph, like: Sequence[int], stacked: Sequence[bool]) -> None:
        self.fgraph = fgraph
        self.like = tuple(like)
        self.stacked = tuple(stacked)

    def __str__(self) -> str:
        return "RowLoop"

    def note_of_step(self, number: int) -> str:
        """Return a note for an error that a row raises."""
        return f"In row {number} of {self}; the first is row 0."

    @property
    def index(self) -> Any:
        """The row number, an input of the inner graph."""
        return self.fgraph.inputs[0]

    @property
    def captures(self) -> list[Variable]:
        """The inputs of the inner graph that are the same for all rows."""
        return self.fgraph.inputs[1:]

    @property
    def captured(self) -> dict[int, int]:
        """All inputs of a node but the number of rows."""
        return {position: position for position in range(1, len(self.fgraph.inputs))}

    def with_inner(self, fgraph: FunctionGraph) -> RowLoop:
        """Return a loop like this one over the rows that another graph computes."""
        return RowLoop(fgraph, self.like, self.stacked)

    def make_node(self, n: Any, *captured: Any) -> Apply:
        """Apply to the number of rows and the values of the captured variables."""
        n = as_tensor_variable(n)
        outer = [
            inner.type.filter_variable(given)
            for inner, given in zip(self.captures, captured, strict=True)
        ]
        rows = known_int(n)
        outputs: list[Variable] = []
        for result, stack in zip(self.inner_outputs, self.stacked, strict=True):
            type_: Any = result.type
            shape = (rows, *type_.shape) if stack else type_.shape
            outputs.append(TensorType(type_.dtype, shape)())
        return Apply(self, [n, *outer], outputs)

    def perform_with(
        self,
        program: InnerProgram,
        node: Apply,
        inputs: Sequence[Any],
        output_storage: Sequence[list[Any]],
    ) -> None:
        """Run the inner graph for each row."""
        n, captured = int(inputs[0]), inputs[1:]
        arrays: list[np.ndarray[Any, Any]] = []
        for output, like, stack in zip(
            cast(list[Any], node.outputs), self.like, self.stacked, strict=True
        ):
            shape = captured[like].shape
            if stack:
                shape = given_lengths(self, (n, *shape), output.type.dtype)
            arrays.append(np.zeros(shape, output.type.dtype))
        for i in range(n):
            try:
                rows = program([np.asarray(i, "int64"), *captured])
            except Exception as error:
                add_note(error, self.note_of_step(i))
                raise
            for array, row, stack in zip(arrays, rows, self.stacked, strict=True):
                if stack:
                    array[i] = row
                else:
                    array += row
        for cell, array in zip(output_storage, arrays, strict=True):
            cell[0] = array

    def do_constant_folding(self, fgraph: FunctionGraph | None, node: Apply) -> bool:
        """Return whether there are few rows: each takes tens of microseconds while compiling."""
        rows = known_int(node.inputs[0])
        return rows is not None and rows <= _MOST_FOLDED

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Apply, input_shapes: Sequence[Any]
    ) -> list[Any]:
        """Return the number of rows, and the shapes of the variables that results are like."""
        return [
            (node.inputs[0], *input_shapes[like + 1]) if stack else input_shapes[like + 1]
            for like, stack in zip(self.like, self.stacked, strict=True)
        ]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return which inputs affect which outputs; the number of rows affects shapes only."""
        return [[False] * len(node.outputs), *self._connections[1:]]

    @kept_property
    def _connections(self) -> list[list[bool]]:
        return connections(self.fgraph)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Pull the gradients back through the inner graph, and sum over the rows."""
        seeds: list[tuple[Variable, Variable]] = []
        whole: list[tuple[Variable, Variable]] = []
        for result, g, stack in zip(self.inner_outputs, output_grads, self.stacked, strict=True):
            if isinstance(g.type, DisconnectedType):
                continue
            inner = g.type()
            whole.append((inner, g))
            seeds.append((result, fit_dtype(inner[self.index] if stack else inner, result.type)))
        gradients = pull_back(seeds, self.captures)
        found: list[Any] = [disconnected_type() for _ in inputs]
        computed: list[int] = []
        for position, variable in enumerate(self.captures):
            gradient = gradients.value(variable)
            if gradient is None:
                continue
            found[position + 1] = gradient
            if not isinstance(gradient.type, NullType):
                computed.append(position)
        if not computed:
            return found
        loop = RowLoop(
            FunctionGraph(
                [*self.inner_inputs, *(inner for inner, _ in whole)],
                [found[position + 1] for position in computed],
            ),
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
            for inner, v in zip(self.captures, eval_points[1:], strict=True)
            if v is not None
        ]
        tangents = push_forward(self.inner_outputs, [(inner, point) for inner, point, _ in moved])
        found: list[Any] = list(tangents)
        computed = [
            o for o, v in enumerate(found) if v is not None and not isinstance(v.type, NullType)
        ]
        if not computed:
            return found
        loop = RowLoop(
            FunctionGraph(
                [*self.inner_inputs, *(point for _, point, _ in moved)],
                [found[o] for o in computed],
            ),
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

    Subexpressions that do not depend on ``index`` are computed once, outside the loop, but arrays
    of one known number are inside, where rules see that what is written into them stands alone.

    The parameters are those of ``stacked_rows`` of :class:`~phintys.gradient.graph_ops.GraphOps`.
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
        if variable not in copies and _is_of_known_number(variable):
            node = cast(Apply, variable.owner)
            copies[variable] = node.clone([inside(x) for x in node.inputs]).outputs[0]
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
        FunctionGraph([index, *captured.values()], results),
        [place[variable] for variable in like],
        [True] * len(results),
    )
    return loop(n, *outer, return_list=True)


def _is_of_known_number(x: Variable) -> bool:
    """Return whether all elements of an array are known to be one number."""
    node = x.owner
    return node is not None and isinstance(node.op, Alloc) and isinstance(node.inputs[0], Constant)
