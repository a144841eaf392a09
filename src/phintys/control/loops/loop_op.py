"""What a loop is made of: the graph of a step, and what its inputs and outputs stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.caches import kept_property
from phintys._base.errors import ArgumentError, TypeContractError
from phintys.control.graph_ops.inner_shapes import shapes_of_outputs, sizes_of
from phintys.gradient.paths import connections
from phintys.graph.alias_map import AliasMap
from phintys.graph.compiler import link_graph
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph
from phintys.graph.op import Op
from phintys.graph.variable import Constant, Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.joining import stack
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from typing import Self

    from phintys.control.loops.arguments import LoopArguments, StepInputs, StepOutputs
    from phintys.graph.apply import Apply
    from phintys.graph.inner import InnerProgram
    from phintys.graph.op import Roles

__all__ = ["LoopOp"]


class LoopOp(HasInnerGraph, Op):
    """The graph of a step, its arguments, and what follows from both.

    The base class of :class:`~phintys.control.Scan`, which adds how a loop is applied, run and
    differentiated. The functions that run and differentiate it need only this class.

    Parameters
    ----------
    fgraph, arguments, name, truncate_gradient, checkpoint
        See :class:`~phintys.control.Scan`.
    """

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

    def note_of_step(self, number: int) -> str:
        """Return a note for an error that a step raises."""
        return f"In step {number} of {self}; the first is step 0."

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

    def roles(self, node: Apply) -> Roles:
        """Return which argument each input and output is."""
        return self.arguments.node_roles

    @property
    def inner_roles(self) -> Roles:
        """Which argument each input and output of the graph of a step is."""
        return self.arguments.step_roles

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

    def with_inner(self, fgraph: FunctionGraph) -> Self:
        """Return a loop like this one over the steps that another graph computes."""
        return self.with_step(fgraph, self.arguments)

    def with_step(self, fgraph: FunctionGraph, arguments: LoopArguments) -> Self:
        """Return a loop with another step and other arguments, but the same name and options."""
        return type(self)(fgraph, arguments, self.name, self.truncate_gradient, self.checkpoint)

    # ---- facts about a step --------------------------------------------------------------------

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

    @kept_property
    def varying(self) -> frozenset[Variable]:
        """The inner inputs that differ between the steps."""
        return frozenset(self.inner_inputs) - frozenset(self.step_inputs.captured)

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
