"""The gradients of one step of a loop, as expressions of the gradients that later steps give it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.control.graph_ops.inner_shapes import shapes_of_outputs, sizes_of
from phintys.control.loop_derivatives.residuals import always_computed, reads_shape_only
from phintys.control.loop_derivatives.row_gradients import RowGradients, split_gradient
from phintys.gradient.arithmetic import fit_dtype, gradient_dtype, is_discrete, is_known_zero
from phintys.gradient.pullback import ZERO, pull_back
from phintys.graph.cloning import clone_node_and_cache, graph_replace
from phintys.graph.null_type import DisconnectedType, NullType
from phintys.graph.traversal import toposort
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import alloc
from phintys.tensor.joining import stack
from phintys.tensor.linear_algebra.matrix_op import FailingMatrixOp
from phintys.tensor.shapes import ShapeI
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.control.loops.loop_op import LoopOp
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


@record()
class StateGradients:
    """A carried or untraced argument, and the gradients for it.

    Attributes
    ----------
    rows, taps
        What a step reads; an untraced value is read with the tap -1.
    new
        What a step computes.
    first
        The first rows, or the first value.
    is_carried
        Whether it is a carried argument.
    given
        The gradient for the result.
    seed
        Stands for the gradient of ``new`` in the graph of a step.
    null
        The gradient, if it does not exist.
    is_live
        Whether there is a gradient.
    """

    rows: list[Variable]
    taps: tuple[int, ...]
    new: Variable
    first: Any
    is_carried: bool
    given: RowGradients
    seed: Variable
    null: Variable | None = None
    is_live: bool = False

    @property
    def depth(self) -> int:
        """How many rows back a step reads."""
        return -self.taps[0]

    @property
    def has_gradient(self) -> bool:
        """Whether the result has a gradient."""
        return self.given.rows is not None or self.given.last is not None


@record()
class Stack:
    """A stacked result with a gradient, and what stands for that of its row."""

    row: Variable
    given: RowGradients
    seed: Variable


class StepGradients:
    """The gradients for what a step reads.

    Parameters
    ----------
    op
        The loop.
    inputs, outputs, output_grads
        As for ``L_op``.

    Attributes
    ----------
    states
        The carried and the untraced arguments.
    stacks
        The stacked results with gradients.
    found
        For each input of the graph of a step but its number: an expression of the seeds,
        ``ZERO``, a variable of NullType, or ``None`` if it has no gradient.
    """

    def __init__(
        self,
        op: LoopOp,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        output_grads: Sequence[Any],
    ) -> None:
        self._op = op
        arguments, inner, made = op.arguments, op.step_inputs, op.step_outputs
        given = arguments.node_inputs(inputs)
        grads = arguments.node_outputs(
            [
                None
                if isinstance(g.type, DisconnectedType) or is_discrete(output.type)
                else fit_dtype(g, output.type)
                for g, output in zip(output_grads, outputs, strict=True)
            ]
        )
        self.states: list[StateGradients] = []
        for rows, taps, new, first, g in zip(
            inner.carried, arguments.taps, made.carried, given.carried, grads.carried, strict=True
        ):
            self.states.append(
                StateGradients(rows, taps, new, first, True, _split(g), _seed(rows[0]))
            )
        for value, new, first, g in zip(
            inner.untraced, made.untraced, given.untraced, grads.untraced, strict=True
        ):
            gradients = RowGradients(last=g)
            self.states.append(
                StateGradients([value], (-1,), new, first, False, gradients, _seed(value))
            )
        self.stacks = [
            Stack(row, _split(g), _seed(row))
            for row, g in zip(made.stacked, grads.stacked, strict=True)
            if g is not None
        ]
        self.found: dict[Variable, Any] = {}
        self._find_live()
        while self._pull():
            pass
        self._use_again()
        self._forget_shapes()

    @property
    def expressions(self) -> list[Variable]:
        """The gradients that are expressions."""
        return [g for g in self.found.values() if is_value(g)]

    @property
    def seeds(self) -> list[Variable]:
        """The seeds of all outputs, in their order."""
        return [each.seed for each in (*self.states, *self.stacks)]

    def _find_live(self) -> None:
        """Mark the states that gradients can reach, as far as connections tell."""
        within = self._op.step_connections
        inputs = {variable: i for i, variable in enumerate(self._op.inner_inputs)}
        with_gradient = {each.row for each in self.stacks}
        live = [state.has_gradient for state in self.states]
        live += [row in with_gradient for row in self._op.step_outputs.stacked]
        is_open = True
        while is_open:
            is_open = False
            for number, state in enumerate(self.states):
                if live[number] or not _is_tensor(state.new):
                    continue
                reached = [within[inputs[row]] for row in state.rows]
                if any(row[o] for row in reached for o, is_live in enumerate(live) if is_live):
                    live[number] = is_open = True
        for state, is_live in zip(self.states, live, strict=False):
            state.is_live = is_live

    def _pull(self) -> bool:
        """Pull the gradients back through a step; return whether another pull is needed.

        A state's gradient may turn out not to exist, or to be zero, by what it receives.
        """
        seeds = [
            (state.new, state.seed if state.null is None else state.null)
            for state in self.states
            if state.is_live
        ]
        seeds += [(each.row, each.seed) for each in self.stacks]
        targets = self._op.inner_inputs[1:]
        states = set(self._op.step_inputs.untraced)
        gradients = pull_back(seeds, targets)
        for variable in targets:
            total: Any = gradients.total(variable)
            if is_null(total) and total in gradients.blame:
                total = self._null(total, gradients.blame[total])
            elif is_value(total) and variable in states and not _is_tensor(variable):
                reason = f"only tensors among the states of {self._op} are differentiated, and one"
                total = NullType(f"{reason}, {variable}, is of type {variable.type}")()
            self.found[variable] = ZERO if is_value(total) and is_known_zero(total) else total
        changed = False
        for state in self.states:
            received = [self.found[row] for row in state.rows]
            null = next((g for g in received if is_null(g)), None)
            if null is not None and state.null is None:
                state.null, state.is_live, changed = null, True, True
            elif state.is_live and not state.has_gradient and not any(map(_is_some, received)):
                state.is_live, changed = False, True
        return changed

    def _null(self, null: Any, node: Apply) -> Variable:
        """Return a gradient that does not exist, with the line of the step that is the reason."""
        reason = f"({node.op} in the step of {self._op}, applied at\n  {node.origin})"
        return NullType(f"{null.type.why_null} {reason}")()

    def _use_again(self) -> None:
        """Replace matrices that the gradients compute, and that the step has computed.

        A result that would be NaN where the step has raised an error is that of the step: the
        gradient of a determinant is an inverse.
        """
        order = toposort(self.expressions, set(self._op.fgraph.variables))
        if not any(isinstance(node.op, FailingMatrixOp) for node in order):
            return
        always = always_computed(self._op.inner_outputs)
        made: dict[Any, Any] = {
            _computation(node): node
            for node in self._op.fgraph.apply_nodes
            if isinstance(node.op, FailingMatrixOp) and node.outputs[0] in always
        }
        equal: dict[Any, Any] = {}
        for node in order:
            op = node.op
            if isinstance(op, FailingMatrixOp):
                same = made.get(_computation(node))
                if same is not None and same.op.on_error in {"raise", op.on_error}:
                    equal.update(zip(node.outputs, same.outputs, strict=True))
        gradients = self.expressions
        found = dict(zip(gradients, graph_replace(gradients, equal, strict=False), strict=True))
        self.found = {v: found.get(g, g) if is_value(g) else g for v, g in self.found.items()}

    def _forget_shapes(self) -> None:
        """Compute shapes of what a step computes from those of its inputs.

        Else the backward pass would save or recompute values of which it reads only the shape.
        """
        within = self._op.fgraph.variables
        inputs = self._op.inner_inputs
        computed = set(within).difference(inputs)
        order = toposort(self.expressions, set(within))
        read = dict.fromkeys(
            variable
            for node in order
            for position, variable in enumerate(node.inputs)
            if variable in computed and reads_shape_only(node, position)
        )
        if not read:
            return
        shapes = shapes_of_outputs(inputs, list(map(sizes_of, inputs)), list(read))
        sizes = dict(zip(read, shapes, strict=True))
        equiv: dict[Any, Any] = {}
        for node in order:
            for variable in node.inputs:
                equiv.setdefault(variable, variable)
            like = node.inputs[0]
            if like in sizes and reads_shape_only(node, 0):
                equiv[node.outputs[0]] = _from_sizes(node, sizes[like], equiv)
            elif any(equiv[variable] is not variable for variable in node.inputs):
                clone_node_and_cache(node, equiv)
        for variable, gradient in self.found.items():
            if is_value(gradient):
                self.found[variable] = equiv.get(gradient, gradient)


def _computation(node: Any) -> tuple[Any, ...]:
    """Return a key for equal computations, whatever they do about errors."""
    op = node.op
    options = tuple(getattr(op, name) for name in op.__props__ if name != "on_error")
    return (type(op), options, *map(id, node.inputs))


def is_null(gradient: Any) -> bool:
    """Return whether a gradient does not exist."""
    return _is_some(gradient) and isinstance(gradient.type, NullType)


def is_value(gradient: Any) -> bool:
    """Return whether a gradient is an expression."""
    return _is_some(gradient) and not isinstance(gradient.type, NullType)


def _is_some(gradient: Any) -> bool:
    return gradient is not None and gradient is not ZERO


def _split(gradient: Any) -> RowGradients:
    return RowGradients() if gradient is None else split_gradient(gradient)


def _is_tensor(variable: Variable) -> bool:
    return isinstance(variable.type, TensorType)


def _seed(row: Any) -> Variable:
    """Return a variable for the gradient of a row."""
    if not _is_tensor(row):
        return row.type()
    return row.type.clone(dtype=gradient_dtype(row.type))()


def _from_sizes(node: Apply, sizes: Sequence[Any], equiv: dict[Any, Any]) -> Variable:
    """Compute a node from the shape of its first input."""
    op: Any = node.op
    if isinstance(op, ShapeI):
        return as_tensor_variable(sizes[op.i]).astype("int64")
    if len(node.inputs) == 1:
        return stack([as_tensor_variable(size).astype("int64") for size in sizes])
    return alloc(equiv[node.inputs[1]], *sizes)
