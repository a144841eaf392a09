"""Forward and reverse derivatives of formulas, as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phintys._base.config import config
from phintys.graph import contract
from phintys.graph.apply import Apply
from phintys.graph.null_type import DisconnectedType, NullType, disconnected_type
from phintys.graph.variable import Constant, Variable
from phintys.scalar.formula import Formula
from phintys.scalar.operators import OPERATORS
from phintys.scalar.row import zeros_like
from phintys.scalar.type import ScalarType, get_scalar_type


def connections(formula: Formula) -> list[list[bool]]:
    """Return ``[input][result] -> bool``: whether the input influences the result."""
    _, _, _, nodes = _start(formula)
    count = len(formula.input_types)
    # For each value, the inputs that it depends on, as the bits of an int.
    reach = [1 << i for i in range(count)] + [0] * len(formula.constants)
    for step, node in zip(formula.steps, nodes, strict=True):
        pattern = contract.connection_pattern(node)
        for place in range(len(step.types)):
            bits = 0
            for arg, row in zip(step.args, pattern, strict=True):
                bits |= reach[arg] if row[place] else 0
            reach.append(bits)
    return [[bool(reach[slot] >> i & 1) for slot in formula.results] for i in range(count)]


class Derivative:
    """A formula for derivatives, some of which can be missing (null or disconnected).

    Parameters
    ----------
    variables
        The variables that the derivatives can depend on; ``None`` for those not given.
    derivatives
        The derivatives, as scalar expressions.
    """

    def __init__(self, variables: Sequence[Any], derivatives: Sequence[Variable]) -> None:
        self._given = [place for place, v in enumerate(variables) if v is not None]
        self._types = [derivative.type for derivative in derivatives]
        present = [d for d in derivatives if isinstance(d.type, ScalarType)]
        given = [variables[place] for place in self._given]
        self._formula = Formula.of_graph(given, present)

    def apply(self, variables: Sequence[Any]) -> list[Any]:
        """Return the derivatives in terms of other variables."""
        values = self._formula.play([variables[place] for place in self._given])
        results = iter(self._formula.results)
        return [
            values[next(results)] if isinstance(type, ScalarType) else type()
            for type in self._types
        ]


def _start(formula: Formula) -> tuple[list[Any], list[Any], list[Any], list[Apply]]:
    """Return inputs, placeholders for the outputs, all values, and a node for each step.

    A value that is an output is represented by its placeholder, so that derivatives use it instead
    of recomputing it.
    """
    inputs = [type() for type in formula.input_types]
    outputs = [formula.types[slot]() for slot in formula.results]
    computed = range(len(inputs) + len(formula.constants), len(formula.types))
    stand_ins = {
        slot: output
        for slot, output in zip(formula.results, outputs, strict=True)
        if slot in computed
    }
    values: list[Any] = [*inputs, *formula.constants]
    nodes = []
    for step in formula.steps:
        node = step.op.make_node(*(values[arg] for arg in step.args))
        for place in range(len(node.outputs)):
            node.outputs[place] = stand_ins.get(len(values), node.outputs[place])
            values.append(node.outputs[place])
        nodes.append(node)
    return inputs, outputs, values, nodes


class _Gradients:
    """The accumulated gradients of values."""

    def __init__(self) -> None:
        self._terms: dict[int, list[Any]] = {}
        self._nulls: dict[int, Any] = {}

    def add(self, slot: int, term: Any) -> None:
        """Add a term to the gradient of a value."""
        if isinstance(term.type, NullType):
            self._nulls.setdefault(slot, term)
        elif not isinstance(term.type, DisconnectedType):
            self._terms.setdefault(slot, []).append(term)

    def total(self, slot: int) -> Any:
        """Return the gradient of a value, which may be null or disconnected."""
        if slot in self._nulls:
            return self._nulls[slot]
        terms = self._terms.get(slot)
        if terms is None:
            return disconnected_type()
        # Drop zeros, except the last.
        terms = [t for t in terms if not _is_zero(t)] or terms[:1]
        return terms[0] if len(terms) == 1 else OPERATORS.add(*terms)


def _reverse(formula: Formula, nodes: Sequence[Apply], gradients: _Gradients) -> None:
    """Propagate gradients from the results to the inputs."""
    slots_of = formula.output_slots()
    for step, node, slots in zip(
        reversed(formula.steps), reversed(nodes), reversed(slots_of), strict=True
    ):
        totals = [gradients.total(slot) for slot in slots]
        if all(isinstance(total.type, DisconnectedType) for total in totals):
            continue
        null = next((total for total in totals if isinstance(total.type, NullType)), None)
        terms = contract.input_gradients(node, totals) if null is None else [null] * node.nin
        if all(map(_is_zero, totals)):
            terms = [_zero_instead(term) for term in terms]
        for arg, term in zip(step.args, terms, strict=True):
            gradients.add(arg, term)


def _is_zero(term: Any) -> bool:
    return isinstance(term, Constant) and isinstance(term.type, ScalarType) and term.data == 0


def _zero_instead(term: Any) -> Any:
    """Return 0 for a gradient that is a multiple of 0: 0 times infinity would be NaN."""
    is_number = isinstance(term.type, ScalarType)
    return zeros_like(term, term.type.dtype) if is_number else term


def _gradient_type(type: ScalarType) -> ScalarType:
    return get_scalar_type(config.floatX) if type.numpy_dtype.kind in "biu" else type


def pull(formula: Formula, connected: tuple[bool, ...]) -> Derivative:
    """Differentiate backward from the outputs that are connected to a cost."""
    inputs, outputs, _, nodes = _start(formula)
    output_grads = [
        _gradient_type(formula.types[slot])() if there else None
        for slot, there in zip(formula.results, connected, strict=True)
    ]
    gradients = _Gradients()
    for slot, g in zip(formula.results, output_grads, strict=True):
        if g is not None:
            gradients.add(slot, g)
    _reverse(formula, nodes, gradients)
    totals = [gradients.total(slot) for slot in range(len(inputs))]
    return Derivative([*inputs, *outputs, *output_grads], totals)


def push(formula: Formula, given: tuple[bool, ...]) -> Derivative:
    """Differentiate forward along the given tangents."""
    inputs, outputs, values, nodes = _start(formula)
    directions = [
        _gradient_type(type)() if there else None
        for type, there in zip(formula.input_types, given, strict=True)
    ]
    tangents: list[Any] = [*directions, *(None for _ in formula.constants)]
    for step, node in zip(formula.steps, nodes, strict=True):
        tangents.extend(_push_step(node, [tangents[arg] for arg in step.args]))
    results = []
    for slot in formula.results:
        tangent = tangents[slot]
        results.append(
            zeros_like(values[slot], _gradient_type(values[slot].type).dtype)
            if tangent is None
            else tangent
        )
    return Derivative([*inputs, *outputs, *directions], results)


def _push_step(node: Apply, tangents: Sequence[Any]) -> Sequence[Any]:
    if all(tangent is None for tangent in tangents):
        return [None] * len(node.outputs)
    null = next((t for t in tangents if t is not None and isinstance(t.type, NullType)), None)
    if null is not None:
        return [null] * len(node.outputs)
    if not contract.defines(node.op, "R_op"):
        return _push_by_pulling_twice(node, tangents)
    found = contract.push_forward(node, tangents)
    if all(tangent is not None for tangent in found):
        return found
    # Where R_op has no answer, the reverse rule decides whether there is one.
    pulled = _push_by_pulling_twice(node, tangents)
    return [
        other if tangent is None else tangent for tangent, other in zip(found, pulled, strict=True)
    ]


def _push_by_pulling_twice(node: Apply, tangents: Sequence[Any]) -> list[Any]:
    """Push forward with the reverse rule alone.

    ``L_op`` is linear in the gradients g of the outputs: it computes ``J^T g``. So its own reverse
    rule, with respect to g and for the tangents v, computes ``J v``.
    """
    dummies: list[Any] = [_gradient_type(out.type)() for out in node.outputs]  # pyright: ignore[reportArgumentType]
    pulled = contract.input_gradients(node, dummies)
    pairs = [
        (term, v)
        for term, v in zip(pulled, tangents, strict=True)
        if v is not None and not isinstance(term.type, DisconnectedType)
    ]
    null = next((term for term, _ in pairs if isinstance(term.type, NullType)), None)
    if null is not None:
        return [null] * len(node.outputs)
    if not pairs:
        return [None] * len(node.outputs)
    fixed: list[Any] = [
        *dict.fromkeys(v for v in [*node.inputs, *node.outputs] if not isinstance(v, Constant))
    ]
    formula = Formula.of_graph([*dummies, *fixed], [term for term, _ in pairs])
    values: list[Any] = [*dummies, *fixed, *formula.constants]
    nodes = []
    for step in formula.steps:
        inner = step.op.make_node(*(values[arg] for arg in step.args))
        values.extend(inner.outputs)
        nodes.append(inner)
    gradients = _Gradients()
    for slot, (_, v) in zip(formula.results, pairs, strict=True):
        gradients.add(slot, v)
    _reverse(formula, nodes, gradients)
    totals = [gradients.total(slot) for slot in range(len(dummies))]
    return [None if isinstance(t.type, DisconnectedType) else t for t in totals]
