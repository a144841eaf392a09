"""What the backward pass of a loop reads: rows that exist, values saved, values recomputed.

The gradient of a step needs values that the step computed. Rows of sequences, traces and stacks
exist after the loop; captured values are the same in all steps. Everything else is either
recomputed from these or saved by the forward pass as further stacked rows:

- Cheap work is recomputed: views, copies, elementwise arithmetic. If what it needs in turn would
  have to be saved, and is larger than the result, the result is saved instead.
- What takes long (products, loops, transcendental functions, reductions, Ops that only have
  Python) is saved, and so are untraced values, since later steps replace them.
- Loops within the step are saved with the residuals of their own gradients.
- A variable whose shape may differ between the steps is recomputed: its rows cannot be stacked.
- A variable that is only computed on one side of a choice is recomputed: saving it would compute
  it in all steps.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from phintys._base.caches import kept_property
from phintys._base.errors import GradientError
from phintys._base.records import record
from phintys.control.loop_derivatives.steady_shapes import SteadyShapes, is_of_known_shape
from phintys.graph.choosing import Choosing
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable
from phintys.scalar.arithmetic import pow as pow_
from phintys.scalar.selection import second
from phintys.scalar.type import ScalarType
from phintys.tensor.creation import Alloc, AllocEmpty
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.indexing import IncSubtensor
from phintys.tensor.joining import Join, Split
from phintys.tensor.scalar_bridge import MakeVector, ScalarFromTensor, TensorFromScalar
from phintys.tensor.shapes import Shape, ShapeI
from phintys.tensor.softmaxes import ExpFamily
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from phintys.control.loops.loop_op import LoopOp
    from phintys.graph.apply import Apply
    from phintys.graph.type import Type

UNKNOWN_SIZE = 100
"""What an unknown size counts in estimates of memory, and an unknown number of steps of such."""

_MOST_COST = 8.0  # of an elementwise function that is recomputed; that of a division is 5

_SIMPLE_POWERS = {0.5, 1, 1.5, 2, 3, 4}

_CHEAP = (
    *(Alloc, AllocEmpty, IncSubtensor, Join, Split, MakeVector),
    *(Shape, ShapeI, ScalarFromTensor, TensorFromScalar),
)


@record()
class Residuals:
    """What the forward pass must keep.

    Attributes
    ----------
    saved
        Variables of the step that are stacked.
    traced
        The numbers of the untraced values that are carried instead.
    beside
        Variables of the backward pass that a step can compute almost for nothing. They are large;
        so they are kept only if there is room when the gradient runs, and recomputed otherwise.
    read
        Rows that exist in any case and are read.
    needs_segments
        Whether untraced values are needed that are not tensors, but have a tensor form: only a loop
        over segments keeps these.
    """

    saved: list[Variable]
    traced: list[int]
    beside: list[Variable]
    read: set[Variable]
    needs_segments: bool = False


def bytes_of(variable: Variable, at_least: int = 0) -> int:
    """Return how many bytes a value takes, with unknown sizes taken as :data:`UNKNOWN_SIZE`.

    If any size is unknown, ``at_least`` elements or more are assumed.
    """
    type_: Any = variable.type
    if not isinstance(type_, TensorType):
        return 8
    size = prod(UNKNOWN_SIZE if n is None else n for n in type_.shape)
    if None in type_.shape and size:
        size = max(size, at_least)
    return size * type_.numpy_dtype.itemsize


def reads_shape_only(node: Apply, position: int) -> bool:
    """Return whether a node reads only the shape of one of its inputs."""
    op = node.op
    if isinstance(op, Shape | ShapeI):
        return position == 0
    if position or not isinstance(op, Elemwise) or op.scalar_op != second:
        return False
    types: Any = [variable.type for variable in node.inputs]
    like, value = types
    return all(a != 1 or b == 1 for a, b in zip(like.shape, value.shape, strict=True))


def find_residuals(
    op: LoopOp,
    needed: Sequence[Variable],
    pending: Collection[Variable],
    steps: int | None = None,
    keep: bool = True,
) -> Residuals:
    """Return the values that the forward pass of a loop keeps for the backward pass.

    Parameters
    ----------
    op
        The loop.
    needed
        What a step of the backward pass computes: expressions of variables of the forward step.
    pending
        Their inputs that belong to the backward pass.
    steps
        How many steps there are, if known: what a single step reads is what the loop is given.
    keep
        Whether values can be saved; otherwise only states are, and all else is recomputed.

    Raises
    ------
    GradientError
        A value is needed that can be neither saved nor recomputed.
    """
    return _Search(op, needed, pending, steps == 1, keep).result


class _Search:
    """The search for what must be kept; see :func:`find_residuals`."""

    def __init__(
        self,
        op: LoopOp,
        needed: Sequence[Variable],
        pending: Collection[Variable],
        is_single: bool,
        keep: bool,
    ) -> None:
        self._op = op
        given, made = op.step_inputs, op.step_outputs
        self._states = {value: number for number, value in enumerate(given.untraced)}
        self._new_states: dict[Variable, int] = {}
        for number, value in enumerate(made.untraced):
            self._new_states.setdefault(value, number)
        self._constant = set(given.captured)
        self._given = set(op.inner_inputs)
        self._existing = {given.index, *given.sequences, *made.carried, *made.stacked}
        self._existing.update(row for rows in given.carried for row in rows)
        if is_single:
            self._existing.update(given.untraced)
        self._is_single = is_single
        self._savable = always_computed(op.inner_outputs) if keep else set[Variable]()
        self._saves_loops = keep and not any(
            isinstance(node.op, Choosing) for node in op.fgraph.apply_nodes
        )
        self._weights: dict[Variable, int] = {}
        self._wanted: set[Variable] = set()
        self.result = Residuals([], [], [], set())
        self._pending = list(pending)
        self._needed = list(needed)
        stops = [*self._existing, *op.inner_inputs, *pending]
        order = toposort(needed, set(stops))
        self._find_weights(order)
        self._want(needed, order, pending)
        for node in reversed(order):
            for output in node.outputs:
                if output in self._wanted:
                    self._decide(output, node)
        for value, number in self._states.items():
            if value in self._wanted and not is_single:
                self._trace(value, number)
        self.result.read.update(self._wanted & self._existing)

    def _is_free(self, variable: Variable) -> bool:
        return variable in self._existing or isinstance(variable, Constant)

    def _find_weights(self, order: Iterable[Apply]) -> None:
        """Find how many bytes a row of each variable needs, if it is available after the loop."""
        weights = self._weights
        for value in self._states:
            weights[value] = bytes_of(value)
        for node in order:
            invariant = all(self._is_invariant(variable) for variable in node.inputs)
            total = sum(
                weights.get(variable, 0)
                for position, variable in enumerate(node.inputs)
                if not reads_shape_only(node, position)
            )
            if self._saves_loops and isinstance(node.op, type(self._op)):
                self._savable.update(node.outputs)
            for output in node.outputs:
                if invariant:
                    self._constant.add(output)
                elif self._must_be_saved(output, node):
                    weights[output] = bytes_of(output)
                elif self._can_be_saved(output):
                    weights[output] = min(total, bytes_of(output))
                else:
                    weights[output] = total

    def _is_beside(self, node: Apply) -> bool:
        """Return whether a step in any case does most of the work for a node that it has not."""
        op = node.op
        if not isinstance(op, ExpFamily) or not self._is_steady(node.outputs[0]):
            return False
        others = [n for n, _ in self._op.fgraph.clients.get(node.inputs[0], ()) if n != "output"]
        return any(op.shares_work(n.op) and n.outputs[0] in self._savable for n in others)

    def _is_invariant(self, variable: Variable) -> bool:
        return variable in self._constant or isinstance(variable, Constant)

    def _can_be_saved(self, variable: Variable) -> bool:
        if variable in self._new_states:
            return isinstance(variable.type, TensorType)
        if variable not in self._savable or not isinstance(variable.type, TensorType):
            return False
        return self._is_steady(variable)

    def _is_steady(self, variable: Variable) -> bool:
        """Return whether a variable has the same shape in all steps."""
        if self._is_single or is_of_known_shape(variable):
            return True
        if variable.owner in self._op.fgraph.apply_nodes:
            return variable in self._steady
        return variable in self._steady_beyond

    @kept_property
    def _steady(self) -> SteadyShapes:
        found = SteadyShapes(self._op, self._pending)
        found.add(toposort(self._op.inner_outputs, self._op.inner_inputs))
        return found

    @kept_property
    def _steady_beyond(self) -> SteadyShapes:
        """The same, with what is not part of a step: loops that run again, to keep more."""
        self._steady.add(toposort(self._needed, {*self._op.fgraph.variables, *self._pending}))
        return self._steady

    def _must_be_saved(self, variable: Variable, node: Apply) -> bool:
        return self._can_be_saved(variable) and not _is_cheap(node)

    def _want(
        self, needed: Iterable[Variable], order: Iterable[Apply], pending: Collection[Variable]
    ) -> None:
        """Collect the variables of the forward pass that the backward pass reads."""
        backward = set(pending)
        for node in order:
            if any(variable in backward for variable in node.inputs):
                backward.update(node.outputs)
        for node in order:
            if node.outputs[0] in backward:
                self._want_inputs(node, backward)
        self._wanted.update(variable for variable in needed if variable not in backward)

    def _want_inputs(self, node: Apply, without: Collection[Variable] = ()) -> None:
        self._wanted.update(
            variable
            for position, variable in enumerate(node.inputs)
            if variable not in without
            and not (variable in self._given and reads_shape_only(node, position))
        )

    def _decide(self, variable: Variable, node: Apply) -> None:
        """Save a variable that is wanted, or want the inputs that it is recomputed from."""
        if self._is_free(variable) or self._is_invariant(variable):
            return
        if self._is_beside(node):
            self.result.beside.append(variable)
        if not self._must_be_saved(variable, node):
            missing = {
                v
                for position, v in enumerate(node.inputs)
                if v not in self._wanted
                and not (v in self._given and reads_shape_only(node, position))
            }
            weight = sum(self._weights.get(v, 0) for v in missing)
            if not self._can_be_saved(variable) or weight <= bytes_of(variable):
                self._want_inputs(node)
                return
        if variable in self._new_states:
            self._trace(variable, self._new_states[variable])
        else:
            self.result.saved.append(variable)

    def _trace(self, value: Variable, number: int) -> None:
        if has_tensor_form(value.type):
            self.result.needs_segments = True
            return
        if not isinstance(value.type, TensorType):
            msg = (
                f"The gradient of {self._op} needs the value that {value} has in every step, but "
                f"only tensors can be stored for all steps, and it is of type {value.type}. "
                "Compute what depends on it before the loop and pass it as a sequence, or exclude "
                "it with phintys.gradient.disconnected_grad."
            )
            raise GradientError(msg)
        if number not in self.result.traced:
            self.result.traced.append(number)


def has_tensor_form(type_: Type) -> bool:
    """Return whether values of a Type that is not one of tensors can be kept as tensors."""
    return hasattr(type_, "to_tensor")


def _is_cheap(node: Apply) -> bool:
    """Return whether a node is recomputed rather than saved."""
    op: Any = node.op
    if isinstance(op, Elemwise):
        return op.scalar_op.cost <= _MOST_COST or _is_simple_power(node)
    if isinstance(node.outputs[0].type, ScalarType):
        return True
    return bool(getattr(op, "view_map", None)) or isinstance(op, _CHEAP)


def _is_simple_power(node: Apply) -> bool:
    """Return whether a node computes a power that is a product, a quotient or a root of these."""
    op: Any = node.op
    if op.scalar_op != pow_:
        return False
    exponent: Any = node.inputs[1]
    while exponent.owner is not None and isinstance(exponent.owner.op, DimShuffle):
        exponent = exponent.owner.inputs[0]
    if not isinstance(exponent, Constant):
        return False
    value: Any = exponent.data
    return value.size == 1 and abs(value.item()) in _SIMPLE_POWERS


def always_computed(outputs: Iterable[Variable]) -> set[Variable]:
    """Return the variables that are computed whatever sides the choices in a graph take."""
    found: set[Variable] = set()
    stack = list(outputs)
    while stack:
        variable = stack.pop()
        if variable in found:
            continue
        found.add(variable)
        node = variable.owner
        if node is not None:
            choice = isinstance(node.op, Choosing)
            stack += [node.op.selector(node)] if isinstance(node.op, Choosing) else node.inputs
            if not choice:
                found.update(node.outputs)
    return found
