"""Scan: a graph that runs repeatedly, whose results the next steps read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError, TypeContractError
from phintys._base.late import LateModule
from phintys._base.once import kept_property
from phintys.control.graph_ops.inner_shapes import shapes_of_outputs, sizes_of
from phintys.control.loops.stepping import run_steps
from phintys.gradient.paths import connections
from phintys.graph.alias_map import AliasMap
from phintys.graph.apply import Apply
from phintys.graph.cloning import clone_replace
from phintys.graph.compiler import link_graph
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph
from phintys.graph.op import Op
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Constant, Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.joining import stack
from phintys.tensor.known import known_int
from phintys.tensor.sizes import add_sizes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.control.loop_derivatives import tangent_loops as _tangent_loops
    from phintys.control.loop_derivatives import through_time as _through_time
    from phintys.control.loops.arguments import LoopArguments, StepInputs, StepOutputs
    from phintys.graph.inner import InnerProgram
else:
    _tangent_loops = LateModule("phintys.control.loop_derivatives.tangent_loops")
    _through_time = LateModule("phintys.control.loop_derivatives.through_time")

__all__ = ["Scan"]


class Scan(HasInnerGraph, Op):
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

    def __init__(
        self,
        fgraph: FunctionGraph,
        arguments: LoopArguments,
        name: str | None = None,
        truncate_gradient: int = -1,
        checkpoint: int | None = None,
    ) -> None:
        self.fgraph = fgraph
        self.arguments = arguments
        self.name = name
        self.truncate_gradient = truncate_gradient
        self.checkpoint = checkpoint
        self._check()

    def __str__(self) -> str:
        return self.name or "Scan"

    def _check(self) -> None:
        """Check that the graph of the step has the inputs and outputs that the arguments name."""
        checkpoint: Any = self.checkpoint
        if checkpoint is True or not isinstance(checkpoint, int | None) or (checkpoint or 0) < 0:
            msg = (
                "checkpoint must be None (decided by an estimate), False (keep everything), or the "
                f"number of steps between the states that are kept, 1 or more; got {checkpoint!r}."
            )
            raise ArgumentError(msg)
        arguments = self.arguments
        _, inputs, outputs = arguments.counts
        for what, expected, found in (
            ("inputs", inputs, len(self.inner_inputs)),
            ("outputs", outputs, len(self.inner_outputs)),
        ):
            if expected != found:
                msg = f"The graph of a step must have {expected} {what}, got {found}: {arguments}."
                raise ArgumentError(msg)
        given, made = self.step_inputs, self.step_outputs
        for rows, new in zip(given.carried, made.carried, strict=True):
            for row in rows:
                _check_alike(row, new, "row of a carried argument")
        for value, new in zip(given.untraced, made.untraced, strict=True):
            _check_alike(value, new, "untraced value")
        for row in (*given.sequences, *made.carried, *made.stacked):
            if not isinstance(row.type, TensorType):
                msg = f"A loop stacks tensors, got {row} of type {row.type}."
                raise TypeContractError(msg)

    # ---- the graph of a step -------------------------------------------------------------------

    @property
    def step_inputs(self) -> StepInputs[Variable]:
        """The inputs of the graph of a step, by their kinds."""
        return self.arguments.step_inputs(self.inner_inputs)

    @property
    def step_outputs(self) -> StepOutputs[Variable]:
        """The outputs of the graph of a step, by their kinds."""
        return self.arguments.step_outputs(self.inner_outputs)

    @property
    def captured(self) -> dict[int, int]:
        """The captured values: inputs of a node -> inner inputs."""
        count = self.arguments.captured
        outer = 1 + self.arguments.sequences + len(self.arguments.taps) + self.arguments.untraced
        inner = len(self.inner_inputs) - count
        return {outer + i: inner + i for i in range(count)}

    def with_inner(self, fgraph: FunctionGraph) -> Scan:
        """Return a loop like this one over the steps that another graph computes."""
        return self.with_step(fgraph, self.arguments)

    def with_step(self, fgraph: FunctionGraph, arguments: LoopArguments) -> Scan:
        """Return a loop with another step and other arguments, but the same name and options."""
        return Scan(fgraph, arguments, self.name, self.truncate_gradient, self.checkpoint)

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

    @kept_property
    def returns_input(self) -> tuple[bool, ...]:
        """For each untraced value, whether a step may return it in memory that is not its own."""
        aliases = AliasMap.of_graph(self.fgraph)
        given = set(self.inner_inputs)
        taken: set[Variable] = set()
        found: list[bool] = []
        for value in self.step_outputs.untraced:
            of = aliases.roots(value)
            found.append(any(v in given or v in taken or isinstance(v, Constant) for v in of))
            taken.update(of)
        return tuple(found)

    @kept_property
    def row_sizes(self) -> InnerProgram:
        """Computes the shapes of the stacked rows, as int64 vectors, from the inputs of a step."""
        inner = self.inner_inputs
        shapes = shapes_of_outputs(inner, list(map(sizes_of, inner)), self.step_outputs.stacked)
        vectors: list[Variable] = []
        for shape in shapes:
            sizes = [as_tensor_variable(size).astype("int64") for size in shape]
            vectors.append(stack(sizes) if sizes else as_tensor_variable(np.zeros(0, "int64")))
        return link_graph(FunctionGraph(inner, vectors))

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
                    if any(leaf in self._varying for leaf in leaves):
                        moved = None
                sizes.append(moved)
            found.append(tuple(sizes))
        return found

    @kept_property
    def _varying(self) -> frozenset[Variable]:
        """The inner inputs that differ between the steps."""
        return frozenset(self.inner_inputs) - frozenset(self.step_inputs.captured)

    # ---- derivatives ---------------------------------------------------------------------------

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return which inputs affect which outputs, in the same step or through later ones."""
        return self.connections

    @kept_property
    def step_connections(self) -> list[list[bool]]:
        """Which inputs of the graph of a step affect which of its outputs."""
        return connections(self.fgraph)

    @kept_property
    def connections(self) -> list[list[bool]]:
        """Which inputs of a node affect which of its outputs."""
        arguments = self.arguments
        within = self.step_connections
        numbers = arguments.step_inputs(range(len(self.inner_inputs)))
        states = [*numbers.carried, *([number] for number in numbers.untraced)]
        outputs = len(states) + arguments.stacked
        reach = [
            [any(within[i][o] for i in group) for o in range(outputs)]
            for group in (
                *([i] for i in numbers.sequences),
                *states,
                *([i] for i in numbers.captured),
            )
        ]
        first = arguments.sequences
        is_open = True
        while is_open:
            is_open = False
            for row in reach:
                for state in range(len(states)):
                    if not row[state]:
                        continue
                    for o, further in enumerate(reach[first + state]):
                        if further and not row[o]:
                            row[o] = is_open = True
        for state in range(len(states)):  # the first value is part of the trace, or is the result
            reach[first + state][state] = True
        count = [False] if arguments.has_until else []
        return [[False] * (outputs + len(count)), *([*row, *count] for row in reach)]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Pull the gradients back through the steps, from the last one to the first."""
        return _through_time.pull_back_loop(self, inputs, outputs, output_grads)

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


def _check_alike(old: Any, new: Any, what: str) -> None:
    """Check that what a step computes can be what the next one reads."""
    if old.type.is_super(new.type):
        return
    if isinstance(old.type, TensorType) and isinstance(new.type, TensorType):
        one, other = old.type, new.type
        is_possible = one.dtype == other.dtype and one.ndim == other.ndim
        if is_possible and all(
            a is None or b is None or a == b for a, b in zip(one.shape, other.shape, strict=True)
        ):
            return
    msg = (
        f"A step reads a {what} of type {old.type}, and computes one of type {new.type} for the "
        "next step. They must have the same dtype, rank and shape."
    )
    raise TypeContractError(msg)
