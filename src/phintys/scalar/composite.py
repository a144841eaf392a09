"""Composite: a graph of scalar ops as one scalar op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.caches import kept_property
from phintys._base.config import config
from phintys._base.errors import OpContractError, TypeContractError
from phintys._base.late import LateModule
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph
from phintys.graph.null_type import DisconnectedType
from phintys.graph.variable import Variable
from phintys.scalar.formula import Formula
from phintys.scalar.op import Dtypes, ScalarOp, unsupported_dtypes
from phintys.scalar.operators import OPERATORS
from phintys.scalar.row import dtype_of
from phintys.scalar.type import ScalarType

if TYPE_CHECKING:
    from phintys.scalar import formula_derivatives as derivatives
    from phintys.scalar.formula_derivatives import Derivative
else:
    derivatives = LateModule("phintys.scalar.formula_derivatives")

__all__ = ["Composite"]


class Composite(ScalarOp, HasInnerGraph):
    """One scalar op made of a graph of scalar ops.

    Composites inside the graph are inlined. Two Composites that perform the same steps are equal.
    Each input is cast to the dtype of the graph's input, where that is safe.

    Parameters
    ----------
    inputs
        Scalar variables that are the inputs of the graph.
    outputs
        Scalar variables that the graph computes.
    name
        The printed name of the op; by default its formula.

    Raises
    ------
    MissingInputError
        An output depends on a variable that is not among the inputs.
    TypeContractError
        The graph contains something other than scalars.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar import Composite, exp, float64
    >>> x, y = float64("x"), float64("y")
    >>> op = Composite([x, y], [exp(x * y) + 1])
    >>> op
    Composite{exp(i0 * i1) + 1.0}
    >>> op.impl(np.array([0.0, 1.0]), np.log(2))
    array([2., 3.])
    """

    works_on_arrays = True
    rewrites_inner = False  # its formula is what backends know

    def __init__(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], name: str | None = None
    ) -> None:
        for what, variables in (("inputs", inputs), ("outputs", outputs)):
            if isinstance(variables, Variable) or not variables:
                msg = f"Composite takes a list of {what}, at least one; got {variables!r}."
                raise TypeContractError(msg)
        self._set(Formula.of_graph(inputs, outputs), name)

    def _set(self, formula: Formula, name: str | None) -> None:
        super().__init__(name=name)
        self.formula = formula
        self.nin = len(formula.input_types)
        self.nout = len(formula.results)
        self.cost = sum(step.op.cost for step in formula.steps)
        self._pulls: dict[tuple[object, ...], Derivative] = {}
        self._pushes: dict[tuple[object, ...], Derivative] = {}

    @classmethod
    def of_formula(cls, formula: Formula, name: str | None = None) -> Composite:
        """Return the Composite that computes a formula."""
        op = cls.__new__(cls)
        op._set(formula, name)
        return op

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Composite) and self.formula == other.formula)

    def __hash__(self) -> int:
        return hash((Composite, self.formula))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Composite.of_formula, (self.formula, self.name))

    def __str__(self) -> str:
        return self.name or f"Composite{{{self.formula}}}"

    # The graph

    @kept_property
    def _graph(self) -> tuple[list[Any], list[Any]]:
        inputs = [type(f"i{i}") for i, type in enumerate(self.formula.input_types)]
        values = self.formula.play(inputs)
        return inputs, [values[slot] for slot in self.formula.results]

    @kept_property
    def fgraph(self) -> FunctionGraph:
        """The graph as a FunctionGraph, for inspection; changing it does not change the op."""
        return FunctionGraph(self.inner_inputs, self.inner_outputs)

    @property
    def inner_inputs(self) -> list[Any]:
        """Inputs of the graph."""
        return self._graph[0]

    @property
    def inner_outputs(self) -> list[Any]:
        """Outputs of the graph."""
        return self._graph[1]

    @property
    def captured(self) -> dict[int, int]:
        """No input: each is cast to the dtype of the graph's input."""
        return {}

    def with_inner(self, fgraph: FunctionGraph) -> Composite:
        """Return the op for another graph."""
        return Composite(fgraph.inputs, fgraph.outputs, self.name)

    # Dtypes

    def output_types(self, input_types: Sequence[ScalarType]) -> list[ScalarType]:
        formula = self.formula
        if len(input_types) != self.nin:
            msg = f"{self} takes {self.nin} inputs, got {len(input_types)}."
            raise OpContractError(msg)
        for given, wanted in zip(input_types, formula.input_types, strict=True):
            if given is not wanted and not np.can_cast(given.numpy_dtype, wanted.numpy_dtype):
                raise unsupported_dtypes(
                    self,
                    [type.numpy_dtype for type in input_types],
                    f"({', '.join(type.dtype for type in formula.input_types)})",
                    f"Cast {given.dtype} to {wanted.dtype} yourself, or make a Composite for it.",
                )
        return [formula.types[slot] for slot in formula.results]

    def literal_dtypes(self, operands: Sequence[Any]) -> Dtypes:
        return tuple(
            operand if isinstance(operand, np.dtype) else type.numpy_dtype
            for operand, type in zip(operands, self.formula.input_types, strict=True)
        )

    # Values

    @kept_property
    def _program(self) -> list[tuple[Any, tuple[int, ...], tuple[int, ...]]]:
        """For each step, its kernel, the values it reads, and those not needed after it."""
        formula = self.formula
        last_use: dict[int, int] = {}
        for number, step in enumerate(formula.steps):
            last_use.update(dict.fromkeys(step.args, number))
        dead: list[list[int]] = [[] for _ in formula.steps]
        for slot, number in last_use.items():
            if slot not in formula.results:
                dead[number].append(slot)
        return [
            (
                step.op.kernel([formula.types[arg].numpy_dtype for arg in step.args]),
                step.args,
                tuple(slots),
            )
            for step, slots in zip(formula.steps, dead, strict=True)
        ]

    def impl(self, *values: Any) -> Any:
        formula = self.formula
        slots: list[Any] = [
            np.asarray(value).astype(type.numpy_dtype, copy=False)
            for value, type in zip(values, formula.input_types, strict=True)
        ]
        slots.extend(constant.data for constant in formula.constants)
        for (kernel, args, dead), step in zip(self._program, formula.steps, strict=True):
            result = kernel(*(slots[arg] for arg in args))
            slots.extend((result,) if step.op.nout == 1 else result)
            for slot in dead:
                slots[slot] = None
        results = []
        for place, slot in enumerate(formula.results):
            again = slot in formula.results[:place]
            results.append(np.array(slots[slot])[()] if again else np.asarray(slots[slot])[()])
        return results[0] if self.nout == 1 else tuple(results)

    # Derivatives

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return which inputs influence which outputs."""
        return self._pattern

    @kept_property
    def _pattern(self) -> list[list[bool]]:
        return derivatives.connections(self.formula)

    def L_op(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        output_grads: Sequence[Variable],
    ) -> list[Any]:
        """Return the gradient for each input, by the rules of the inner ops."""
        connected = tuple(not isinstance(g.type, DisconnectedType) for g in output_grads)
        key = (config.floatX, *connected)
        if key not in self._pulls:
            self._pulls[key] = derivatives.pull(self.formula, connected)
        gradients = self._pulls[key].apply([*self._cast(inputs), *outputs, *output_grads])
        # The gradient 0 is a number, regardless of the input.
        return [
            OPERATORS.second(x, gradient)
            if isinstance(gradient.type, ScalarType) and not isinstance(x.type, ScalarType)
            else gradient
            for gradient, x in zip(gradients, inputs, strict=True)
        ]

    def _cast(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the inputs cast to the dtypes of the graph's inputs."""
        return [
            x if dtype_of(x) == type.numpy_dtype else OPERATORS.cast(x, type.dtype)
            for x, type in zip(inputs, self.formula.input_types, strict=True)
        ]

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> list[Any]:
        """Return the derivative of each output along tangents, by the rules of the inner ops."""
        directions = [
            None if v is None or isinstance(v.type, DisconnectedType) else v for v in eval_points
        ]
        if all(v is None for v in directions):
            return [None] * self.nout
        return self.push_forward(inputs, self(*inputs, return_list=True), directions)

    def push_forward(
        self, inputs: Sequence[Any], outputs: Sequence[Any], directions: Sequence[Any]
    ) -> list[Any]:
        """Return the derivative of each output along tangents of the inputs.

        Parameters
        ----------
        inputs, outputs
            Inputs of the op, and what it computes from them.
        directions
            A variable for each input, or ``None`` for a zero tangent; at least one is a variable.
        """
        given = tuple(v is not None for v in directions)
        key = (config.floatX, *given)
        if key not in self._pushes:
            self._pushes[key] = derivatives.push(self.formula, given)
        tangents = self._pushes[key].apply([*self._cast(inputs), *outputs, *directions])
        return [
            OPERATORS.second(out, tangent)
            if isinstance(tangent.type, ScalarType) and not isinstance(out.type, ScalarType)
            else tangent
            for tangent, out in zip(tangents, outputs, strict=True)
        ]
