"""Formula: a graph of scalar ops as a list of steps, in a canonical order.

Two graphs that compute the same result by the same steps have equal formulas, regardless of their
variables and of how often they repeat a subexpression.

This is the key of a :class:`Composite`. For 20 steps, comparing formulas takes 7 microseconds and
hashing one 0.1, where comparing the graphs takes 700; pickles are half as long and four times as
fast as those of graphs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from phintys._base.errors import MissingInputError, TypeContractError
from phintys.graph.apply import Apply
from phintys.graph.pretty import PRECEDENCE
from phintys.graph.traversal import io_toposort
from phintys.graph.variable import Constant, Variable
from phintys.scalar.casting import CASTS
from phintys.scalar.op import ScalarOp
from phintys.scalar.type import ScalarType
from phintys.scalar.variable import ScalarConstant

__all__ = ["Formula", "FormulaStep"]

_MOST_TEXT = 300


class FormulaStep:
    """One op applied to existing values: ``values[slot] = op(*values[args])``.

    Values are numbered: first the inputs, then the constants, then the outputs of each step.
    """

    __slots__ = ("args", "op", "types")

    def __init__(self, op: ScalarOp, args: tuple[int, ...], types: tuple[ScalarType, ...]) -> None:
        self.op = op
        self.args = args
        self.types = types

    def __reduce__(self) -> tuple[Any, ...]:
        return (FormulaStep, (self.op, self.args, self.types))

    def key(self) -> Hashable:
        """Return a key that is equal for equal steps."""
        return (self.op, self.args, self.types)


class Formula:
    """A sequence of steps from inputs to results.

    Parameters
    ----------
    input_types
        Types of the inputs.
    constants
        The constants used by steps or results.
    steps
        The steps, in an order in which they can be executed.
    results
        The indices of the values that are results.
    """

    def __init__(
        self,
        input_types: tuple[ScalarType, ...],
        constants: tuple[ScalarConstant, ...],
        steps: tuple[FormulaStep, ...],
        results: tuple[int, ...],
    ) -> None:
        self.input_types = input_types
        self.constants = constants
        self.steps = steps
        self.results = results
        self.types: list[ScalarType] = [*input_types, *(c.type for c in constants)]
        for step in steps:
            self.types.extend(step.types)
        self._key = (
            input_types,
            tuple(constant.signature() for constant in constants),
            tuple(step.key() for step in steps),
            results,
        )
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Formula) and self._hash == other._hash and self._key == other._key
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return (Formula, (self.input_types, self.constants, self.steps, self.results))

    @classmethod
    def of_graph(cls, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Formula:
        """Build a formula from a graph of scalar ops, inlining any op that has a ``formula``.

        Parameters
        ----------
        inputs
            The input variables; the graph above them is ignored.
        outputs
            The results.

        Raises
        ------
        MissingInputError
            The outputs need a variable that is neither an input nor a constant.
        TypeContractError
            An input or an op is not scalar, or an input is repeated.
        """
        recorder = _Recorder(inputs)
        for node in io_toposort(inputs, outputs):
            inner = getattr(node.op, "formula", None)
            if isinstance(inner, Formula):
                recorder.inline(node, inner)
            else:
                recorder.record(node)
        return recorder.formula(cls, outputs)

    def output_slots(self) -> list[range]:
        """Return the value indices of each step's outputs."""
        slots = []
        start = len(self.input_types) + len(self.constants)
        for step in self.steps:
            slots.append(range(start, start + len(step.types)))
            start = slots[-1].stop
        return slots

    def play(self, inputs: Sequence[Any]) -> list[Any]:
        """Apply the steps to variables: scalars, or types to which scalar ops are lifted.

        Returns
        -------
        list of Variable
            All values, by index.
        """
        values: list[Any] = [*inputs, *self.constants]
        for step in self.steps:
            values.extend(step.op(*(values[arg] for arg in step.args), return_list=True))
        return values

    def __str__(self) -> str:
        return _text_of(self)


class _Recorder:
    """Numbers the values of a graph; equal values get the same number."""

    def __init__(self, inputs: Sequence[Variable]) -> None:
        self.input_types: list[ScalarType] = []
        self.constants: list[ScalarConstant] = []
        self.steps: list[FormulaStep] = []
        # The slot of each variable. Constants are numbered -1, -2 ... until all of them are known.
        self.slots: dict[Variable, int] = {}
        self.types: dict[int, ScalarType] = {}
        self.known: dict[Hashable, Any] = {}
        self.next = 0
        for variable in inputs:
            if not isinstance(variable.type, ScalarType):
                msg = f"The inputs must be scalars; {variable} is of type {variable.type}."
                raise TypeContractError(msg)
            if variable in self.slots:
                msg = f"The input {variable} is given twice."
                raise TypeContractError(msg)
            self.input_types.append(variable.type)
            self.slots[variable] = self._new_slot(variable.type)

    def _new_slot(self, type: ScalarType) -> int:
        self.types[self.next] = type
        self.next += 1
        return self.next - 1

    def slot(self, variable: Variable) -> int:
        """Return the slot of a variable that was recorded, or is a constant."""
        slot = self.slots.get(variable)
        if slot is not None:
            return slot
        if isinstance(variable, Constant) and isinstance(variable.type, ScalarType):
            return self.constant(variable)
        msg = (
            f"The outputs depend on {variable} (type {variable.type}), which is not among the "
            "inputs. Add it to the inputs."
        )
        raise MissingInputError(msg)

    def constant(self, constant: Constant) -> int:
        """Return the slot of a constant."""
        signature = constant.signature()
        if signature not in self.known:
            self.constants.append(ScalarConstant(constant.type, constant.data))
            slot = self.known[signature] = -len(self.constants)
            self.types[slot] = self.constants[-1].type
        return self.known[signature]

    def step(self, op: ScalarOp, args: Sequence[int], types: Sequence[ScalarType]) -> list[int]:
        """Return the slots of an op's outputs; those of an equal earlier step, if there is one."""
        step = FormulaStep(op, tuple(args), tuple(types))
        key = step.key()
        if key not in self.known:
            self.steps.append(step)
            self.known[key] = [self._new_slot(type) for type in types]
        return self.known[key]

    def record(self, node: Apply) -> None:
        """Add the step that a node represents."""
        if not isinstance(node.op, ScalarOp):
            msg = (
                f"Only scalar ops can be combined; {node.op} is not one. "
                f"It is used at\n{node.origin}"
            )
            raise TypeContractError(msg)
        args = [self.slot(variable) for variable in node.inputs]
        types: Any = [variable.type for variable in node.outputs]
        self.slots.update(zip(node.outputs, self.step(node.op, args, types), strict=True))

    def inline(self, node: Apply, formula: Formula) -> None:
        """Add the steps of a node that is itself a formula."""
        values = []
        for variable, wanted in zip(node.inputs, formula.input_types, strict=True):
            slot = self.slot(variable)
            if self.types[slot] is not wanted:
                (slot,) = self.step(CASTS[wanted.dtype], (slot,), (wanted,))
            values.append(slot)
        values.extend(self.constant(constant) for constant in formula.constants)
        for step in formula.steps:
            values.extend(self.step(step.op, [values[arg] for arg in step.args], step.types))
        results = (values[result] for result in formula.results)
        self.slots.update(zip(node.outputs, results, strict=True))

    def formula(self, cls: type[Formula], outputs: Sequence[Variable]) -> Formula:
        """Return the recorded formula."""
        results = [self.slot(variable) for variable in outputs]
        inputs, constants = len(self.input_types), len(self.constants)

        def place(slot: int) -> int:
            if slot < 0:
                return inputs - slot - 1
            return slot if slot < inputs else slot + constants

        return cls(
            tuple(self.input_types),
            tuple(self.constants),
            tuple(FormulaStep(s.op, tuple(map(place, s.args)), s.types) for s in self.steps),
            tuple(map(place, results)),
        )


def _text_of(formula: Formula) -> str:
    """Return the results as text: ``t0 = i0 + i1; t0 * t0``.

    A value that is used once is written where it is used; one used more often is named, so that
    the text is never longer than the formula.
    """
    uses = [0] * len(formula.types)
    for slot in [*(arg for step in formula.steps for arg in step.args), *formula.results]:
        uses[slot] += 1
    inputs = [(f"i{i}", PRECEDENCE["call"]) for i in range(len(formula.input_types))]
    texts: list[tuple[str, float]] = [
        *inputs,
        *((str(constant.data), PRECEDENCE["call"]) for constant in formula.constants),
    ]
    named: list[str] = []
    for step in formula.steps:
        text, precedence = _text_of_step(step.op, [texts[arg] for arg in step.args])
        for output in range(len(step.types)):
            whole = text if len(step.types) == 1 else f"{text}[{output}]"
            if uses[len(texts)] > 1 or len(whole) > _MOST_TEXT:
                name = f"t{len(named)}"
                named.append(f"{name} = {whole}")
                texts.append((name, PRECEDENCE["call"]))
            else:
                texts.append((whole, precedence))
    results = ", ".join(texts[slot][0] for slot in formula.results)
    return "; ".join([*named, results])


def _text_of_step(op: ScalarOp, args: Sequence[tuple[str, float]]) -> tuple[str, float]:
    if op.symbol is None:
        return f"{op}({', '.join(text for text, _ in args)})", PRECEDENCE["call"]
    if len(args) == 1:
        text, binds = args[0]
        return op.symbol + (text if binds >= op.precedence else f"({text})"), op.precedence
    free = {"right": len(args) - 1, "none": None}.get(op.associativity, 0)
    operands = [
        text if binds > op.precedence or (binds == op.precedence and place == free) else f"({text})"
        for place, (text, binds) in enumerate(args)
    ]
    return f" {op.symbol} ".join(operands), op.precedence
