"""Scan: a graph that runs repeatedly, whose results the next steps read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys._base.late import LateModule
from phintys.control.graph_ops.inner_shapes import shapes_of_outputs, sizes_of
from phintys.control.loops.loop_op import LoopOp
from phintys.control.loops.stepping import run_steps
from phintys.graph.apply import Apply
from phintys.graph.cloning import clone_replace
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.known import known_int
from phintys.tensor.sizes import add_sizes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.control.loop_derivatives import tangent_loops as _tangent_loops
    from phintys.control.loop_derivatives import through_time as _through_time
    from phintys.control.loops import log_products as _log_products
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.inner import InnerProgram
else:
    _tangent_loops = LateModule("phintys.control.loop_derivatives.tangent_loops")
    _through_time = LateModule("phintys.control.loop_derivatives.through_time")
    _log_products = LateModule("phintys.control.loops.log_products")


class Scan(LoopOp):
    """Run the graph of a step n times; a step reads rows of sequences, and what earlier ones left.

    Use :func:`~phintys.scan`, :func:`~phintys.control.loop` or the functions beside them to apply
    it. The inputs of a node are the number n of steps, the sequences, the first rows of the carried
    arguments, the first values of the untraced ones, and the captured values. The outputs are the
    carried, untraced and stacked results and, if there is a condition, the number of steps that
    were run.

    Parameters
    ----------
    fgraph
        The graph of a step. Its inputs are the number of the step, an int64 variable of rank 0, the
        rows of the sequences, a row for each tap of each carried argument, and the untraced and
        captured values. Its outputs are the new carried rows, the untraced values, the rows to
        stack and, if there is one, the condition that ends the loop after the step.
    arguments
        What these inputs and outputs stand for.
    name
        A name, for printing and profiles.
    truncate_gradient
        How many steps, counted from the last one, gradients are propagated through; -1 for all.
    checkpoint
        What a gradient keeps of the forward pass. ``False``: all that the backward pass needs. A
        number: the states before every that many steps, and the steps in between are run again.
        ``None``: all, unless it is estimated to take more than ``config.loop_megabytes``; then the
        states of some steps, such that the total is smallest.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import LoopArguments, Scan
    >>> from phintys.graph import FunctionGraph
    >>> t, x, total = pt.lscalar("t"), pt.dscalar("x"), pt.dscalar("total")
    >>> step = FunctionGraph([t, x, total], [total + x])
    >>> cumsum = Scan(step, LoopArguments(sequences=1, taps=((-1,),)))
    >>> cumsum(3, [1.0, 2.0, 3.0], [0.0]).eval()
    array([0., 1., 3., 6.])
    """

    __props__ = ("arguments", "name", "truncate_gradient", "checkpoint")

    # ---- nodes ---------------------------------------------------------------------------------

    def make_node(self, n: Any, *values: Any) -> Apply:
        """Apply to the number of steps, and values for all arguments."""
        count, _, _ = self.arguments.counts
        if len(values) + 1 != count:
            msg = f"{self} takes {count} inputs, got {len(values) + 1}: {self.arguments}."
            raise ArgumentError(msg)
        given = self.arguments.node_inputs([_as_count(n), *values])
        inner = self.step_inputs
        given.sequences = [
            _rows_of(row, None, x) for row, x in zip(inner.sequences, given.sequences, strict=True)
        ]
        given.carried = [
            _rows_of(rows[0], depth, x)
            for rows, depth, x in zip(
                inner.carried, self.arguments.depths, given.carried, strict=True
            )
        ]
        given.untraced = [
            value.type.filter_variable(x)
            for value, x in zip(inner.untraced, given.untraced, strict=True)
        ]
        given.captured = [
            value.type.filter_variable(x)
            for value, x in zip(inner.captured, given.captured, strict=True)
        ]
        return Apply(self, list(given), self._outputs(given.n))

    def rows_read(self, node: Apply) -> Sequence[int]:
        """Return the positions of the sequences: a step reads a row of each."""
        return self.arguments.node_inputs(range(len(node.inputs))).sequences

    def _outputs(self, n: Variable) -> list[Variable]:
        arguments, inner, made = self.arguments, self.step_inputs, self.step_outputs
        steps = None if arguments.has_until else known_int(n)
        outputs = [
            _stacked_type(rows[0], None if steps is None else depth + steps)()
            for rows, depth in zip(inner.carried, arguments.depths, strict=True)
        ]
        outputs += [value.type() for value in inner.untraced]
        outputs += [_stacked_type(row, steps)() for row in made.stacked]
        if arguments.has_until:
            outputs.append(TensorType("int64", ())())
        return outputs

    # ---- values --------------------------------------------------------------------------------

    def perform_with(
        self,
        program: InnerProgram,
        node: Apply,
        inputs: Sequence[Any],
        output_storage: Sequence[list[Any]],
    ) -> None:
        """Run the graph of the step, until there are n steps or the condition is true."""
        for cell, value in zip(output_storage, run_steps(self, program, node, inputs), strict=True):
            cell[0] = value

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Apply, input_shapes: Sequence[Any]
    ) -> list[Any]:
        """Return the numbers of rows, and the shapes of rows as far as inputs determine them."""
        arguments = self.arguments
        outer, shapes = arguments.node_inputs(node.inputs), arguments.node_inputs(input_shapes)
        results = arguments.node_outputs(node.outputs)
        steps: Any = outer.n if results.ran is None else results.ran
        rows = self._shapes_of_rows(node, input_shapes)
        found: list[Any] = [
            (add_sizes(depth, steps), *shape[1:])
            for depth, shape in zip(arguments.depths, shapes.carried, strict=True)
        ]
        found += shapes.untraced
        for result, row in zip(results.stacked, rows, strict=True):
            own = sizes_of(result)[1:]
            found.append((steps, *(b if a is None else a for a, b in zip(row, own, strict=True))))
        return found if results.ran is None else [*found, ()]

    def _shapes_of_rows(self, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        """Return the shapes of stacked rows; ``None`` for sizes that the steps determine."""
        arguments, inner = self.arguments, self.step_inputs
        shapes = arguments.node_inputs(input_shapes)
        within = arguments.step_inputs(self.inner_inputs)
        given: list[Any] = [(), *(shape[1:] for shape in shapes.sequences)]
        for rows, shape in zip(within.carried, shapes.carried, strict=True):
            given += [shape[1:]] * len(rows)
        given += [*shapes.untraced, *shapes.captured]
        outside: dict[Variable, Variable] = dict(
            zip(inner.captured, arguments.node_inputs(node.inputs).captured, strict=True)
        )
        known = set(node.inputs)
        found: list[Any] = []
        for shape in shapes_of_outputs(self.inner_inputs, given, self.step_outputs.stacked):
            sizes: list[Any] = []
            for size in shape:
                moved = size
                if isinstance(size, Variable):
                    (moved,) = clone_replace([size], outside)
                    leaves = graph_inputs([moved], known)
                    if any(leaf in self.varying for leaf in leaves):
                        moved = None
                sizes.append(moved)
            found.append(tuple(sizes))
        return found

    # ---- derivatives ---------------------------------------------------------------------------

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return which inputs affect which outputs, in the same step or through later ones."""
        return self.connections

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Pull the gradients back through the steps, from the last one to the first."""
        op = _log_products.with_log_products(self)
        return _through_time.pull_back_loop(op, inputs, outputs, output_grads)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Push the tangents forward through the steps."""
        return _tangent_loops.push_forward_loop(self, inputs, eval_points)


def _as_count(n: Any) -> Variable:
    """Return a number of steps as an int64 variable."""
    found = as_tensor_variable(n)
    if found.type.ndim:
        msg = f"The number of steps must be an integer, got {found} of type {found.type}."
        raise ShapeError(msg)
    if found.type.numpy_dtype.kind not in "iu":
        msg = (
            f"The number of steps must be an integer, got {found} of type {found.type}. Convert it "
            'with n.astype("int64").'
        )
        raise DtypeError(msg)
    return found if found.type.dtype == "int64" else found.astype("int64")


def _rows_of(row: Variable, count: int | None, given: Any) -> Variable:
    """Return a value as a tensor whose rows have the type of a variable."""
    type_: Any = row.type
    return TensorType(type_.dtype, (count, *type_.shape)).filter_variable(given)


def _stacked_type(row: Variable, count: int | None) -> TensorType:
    type_: Any = row.type
    return TensorType(type_.dtype, (count, *type_.shape))
