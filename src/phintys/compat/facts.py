"""``pytensor.assumptions``: what is known of matrices, with keys and rules of a program's own.

What Phintys finds out by itself, and what :func:`assume` states, answers for the keys that are
named here. Rules that a program registers answer :func:`check_assumption`, and rewrites of the
program that ask it; the passes of Phintys do not ask them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING, Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.compat.old_classes import core_classes, stands_for
from phintys.graph import Constant, FunctionGraph, Op, Variable
from phintys.graph.features import AlreadyThere, Feature
from phintys.graph.traversal import ancestors, applys_between
from phintys.passes.matrices import is_known
from phintys.tensor.linear_algebra.assumptions import ASSUMPTIONS, Assume

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "ALL_KEYS",
    "ASSUMPTION_INFER_REGISTRY",
    "CONSTANT_INFER_REGISTRY",
    "DIAGONAL",
    "IMPLIES",
    "LOWER_TRIANGULAR",
    "ORTHOGONAL",
    "PERMUTATION",
    "POSITIVE_DEFINITE",
    "SELECTION",
    "SYMMETRIC",
    "TRIDIAGONAL",
    "UNIQUE_INDICES",
    "UNIT_MAGNITUDE",
    "UPPER_TRIANGULAR",
    "AssumptionFeature",
    "AssumptionKey",
    "ConflictingAssumptionsError",
    "FactState",
    "SpecifyAssumptions",
    "all_inputs_have_key",
    "assume",
    "assumption_tags",
    "check_assumption",
    "infer_assumption_for_node",
    "propagate_first",
    "register_assumption",
    "register_constant_inference",
    "register_implies",
    "summarize_assumptions",
    "true_if",
]


class ConflictingAssumptionsError(ArgumentError):
    """A property was found to hold, and was found not to hold."""


class FactState(IntFlag):
    """What is known of a property; two findings are joined by ``|``."""

    UNKNOWN = 0
    TRUE = 1
    FALSE = 2
    CONFLICT = 3

    def __bool__(self) -> bool:
        """Raise: what is not known is neither true nor false."""
        msg = "FactState has no boolean value: compare it, as in `state is FactState.TRUE`."
        raise TypeError(msg)

    @classmethod
    def join(cls, left: FactState, right: FactState) -> FactState:
        """Return a finding that says what two say."""
        return cls(int(left) | int(right))


@dataclass(frozen=True)
class AssumptionKey:
    """The name of a property, and a shorter one for tags."""

    name: str
    short_name: str = ""

    def __repr__(self) -> str:
        return self.name


DIAGONAL = AssumptionKey("diagonal", "diag")
TRIDIAGONAL = AssumptionKey("tridiagonal", "tridiag")
LOWER_TRIANGULAR = AssumptionKey("lower_triangular", "tril")
UPPER_TRIANGULAR = AssumptionKey("upper_triangular", "triu")
SYMMETRIC = AssumptionKey("symmetric", "sym")
POSITIVE_DEFINITE = AssumptionKey("positive_definite", "pd")
ORTHOGONAL = AssumptionKey("orthogonal", "orth")
SELECTION = AssumptionKey("selection", "sel")
PERMUTATION = AssumptionKey("permutation", "perm")
UNIT_MAGNITUDE = AssumptionKey("unit_magnitude", "unit")
UNIQUE_INDICES = AssumptionKey("unique_indices", "unique")

ALL_KEYS = (
    DIAGONAL,
    TRIDIAGONAL,
    LOWER_TRIANGULAR,
    UPPER_TRIANGULAR,
    SYMMETRIC,
    POSITIVE_DEFINITE,
    ORTHOGONAL,
    SELECTION,
    PERMUTATION,
    UNIT_MAGNITUDE,
    UNIQUE_INDICES,
)

IMPLIES: dict[AssumptionKey, list[AssumptionKey]] = {}
"""What follows from each property."""

ASSUMPTION_INFER_REGISTRY: dict[tuple[AssumptionKey, type], list[Callable[..., Any]]] = {}
CONSTANT_INFER_REGISTRY: dict[AssumptionKey, Callable[[Any], FactState]] = {}


def register_implies(stronger: AssumptionKey, *weaker: AssumptionKey) -> None:
    """Say that other properties follow from one."""
    IMPLIES.setdefault(stronger, []).extend(weaker)


register_implies(DIAGONAL, TRIDIAGONAL, LOWER_TRIANGULAR, UPPER_TRIANGULAR, SYMMETRIC)
register_implies(POSITIVE_DEFINITE, SYMMETRIC)
register_implies(PERMUTATION, SELECTION, ORTHOGONAL)


def register_assumption(key: AssumptionKey, *op_types: type) -> Any:
    """Return a decorator of a rule ``(key, op, feature, fgraph, node, input_states)``.

    The rule returns a list with a state for each output. The first rule of the most specific class
    that knows something decides.
    """

    def decorate(rule: Callable[..., Any]) -> Callable[..., Any]:
        for op_type in core_classes(op_types):
            ASSUMPTION_INFER_REGISTRY.setdefault((key, op_type), []).append(rule)
        return rule

    return decorate


def register_constant_inference(key: AssumptionKey, fn: Callable[[Any], FactState]) -> None:
    """Ask a function for the states of constants."""
    CONSTANT_INFER_REGISTRY[key] = fn


def infer_assumption_for_node(
    key: AssumptionKey,
    op: Op,
    feature: AssumptionFeature,
    fgraph: Any,
    node: Any,
    input_states: list[FactState],
) -> list[FactState]:
    """Return the facts about the outputs of a node that follow by the registered rules."""
    for cls in type(op).__mro__:
        rules = ASSUMPTION_INFER_REGISTRY.get((key, cls))
        if rules is None:
            continue
        for rule in rules:
            found = rule(key, op, feature, fgraph, node, input_states)
            if len(found) != len(node.outputs):
                msg = (
                    f"A rule for {key} must return a state for each of the {len(node.outputs)} "
                    f"outputs of {node}; it returned {len(found)}."
                )
                raise ArgumentError(msg)
            if any(state is not FactState.UNKNOWN for state in found):
                return found
        break
    return [FactState.UNKNOWN for _ in node.outputs]


def true_if(cond: bool, else_false: bool = False) -> list[FactState]:
    """Return a list for one output: true if a condition holds, else unknown, or false."""
    if cond:
        return [FactState.TRUE]
    return [FactState.FALSE if else_false else FactState.UNKNOWN]


def propagate_first(
    key: Any, op: Any, feature: Any, fgraph: Any, node: Any, input_states: Sequence[FactState]
) -> list[FactState]:
    """Say what holds for the first input: a rule to register."""
    return true_if(input_states[0] is FactState.TRUE)


def all_inputs_have_key(
    key: Any, op: Any, feature: Any, fgraph: Any, node: Any, input_states: Sequence[FactState]
) -> list[FactState]:
    """Say what holds for all inputs: a rule to register."""
    return true_if(all(state is FactState.TRUE for state in input_states))


class AssumptionFeature(Feature):
    """Answers what is known of the variables of a graph."""

    def __init__(self) -> None:
        self.fgraph: Any = None
        self._found: dict[tuple[Variable, AssumptionKey], FactState] = {}
        self._structures: dict[Variable, int] = {}
        self._open: set[tuple[Variable, AssumptionKey]] = set()
        self._relied_on: set[tuple[Variable, AssumptionKey]] = set()

    def on_attach(self, fgraph: Any) -> None:
        """Begin to answer; a graph has one such feature."""
        if any(isinstance(one, AssumptionFeature) for one in fgraph.features):
            msg = "AssumptionFeature is already attached"
            raise AlreadyThere(msg)
        self.fgraph = fgraph

    def on_change_input(
        self, fgraph: Any, node: Any, i: int, old: Any, new: Any, reason: object = None
    ) -> None:
        """Forget what was not known, and pass on what was: the values are the same."""
        known = {
            which: state for which, state in self._found.items() if state is not FactState.UNKNOWN
        }
        self._found = dict(known)
        self._structures.clear()
        for (variable, key), state in known.items():
            if variable is old:
                of_new = known.get((new, key), FactState.UNKNOWN)
                self._found[new, key] = FactState.join(of_new, state)

    def clone(self) -> AssumptionFeature:
        """Return a feature for a copy of the graph."""
        return AssumptionFeature()

    def get(self, var: Any, key: AssumptionKey) -> FactState:
        """Return the known facts.

        What implications and rules of a program say does not depend on what was asked before.

        Raises
        ------
        ConflictingAssumptionsError
            It was found to hold, and found not to hold: of the variable, or of one that it is
            computed from, or another property was, one that implies this one or follows from it.
        """
        if (var, key) not in self._found:
            # Inputs first, so that the depth of a graph is not that of calls.
            for node in applys_between([], [var]):
                for output in node.outputs:
                    self._look_at(output, key)
        state = self._look_at(var, key)
        if state is FactState.CONFLICT:
            msg = f"Conflicting evidence for {key}: {var} was found to be so, and not to be so."
            raise ConflictingAssumptionsError(msg)
        return state

    def check(self, var: Any, key: AssumptionKey) -> bool:
        """Return whether a property is known to hold."""
        return self.get(var, key) is FactState.TRUE

    def _look_at(self, var: Any, key: AssumptionKey) -> FactState:
        """Return the answer to a question, and keep it unless it relies on one that is open.

        A question is open while rules and implications are asked for its answer. One of them that
        asks it again gets UNKNOWN, and so finds less than if it were asked by itself.
        """
        asked = (var, key)
        if asked in self._found:
            return self._found[asked]
        if asked in self._open:
            self._relied_on.add(asked)
            return FactState.UNKNOWN
        before, self._relied_on = self._relied_on, set()
        self._open.add(asked)
        try:
            state = FactState.join(self._by_rules(var, key), self._by_structure(var, key))
            if state is FactState.UNKNOWN:
                state = self._by_others(var, key)
            self._relied_on.discard(asked)
            if not self._relied_on:
                self._found[asked] = state
        finally:
            self._open.discard(asked)
            self._relied_on |= before
        return state

    def _by_rules(self, var: Any, key: AssumptionKey) -> FactState:
        node = var.owner
        if node is None:
            asked = CONSTANT_INFER_REGISTRY.get(key) if isinstance(var, Constant) else None
            return FactState.UNKNOWN if asked is None else asked(var)
        states = [self.get(given, key) for given in node.inputs]
        found = infer_assumption_for_node(key, node.op, self, self.fgraph, node, states)
        return found[var.index or 0]

    def _by_structure(self, var: Any, key: AssumptionKey) -> FactState:
        if key not in ALL_KEYS or key.name not in ASSUMPTIONS or getattr(var.type, "ndim", 0) < 2:
            return FactState.UNKNOWN
        return true_if(is_known(var, key.name, self._structures))[0]

    def _by_others(self, var: Any, key: AssumptionKey) -> FactState:
        for stronger, weaker in IMPLIES.items():
            if key in weaker and self.get(var, stronger) is FactState.TRUE:
                return FactState.TRUE
        if any(self.get(var, weaker) is FactState.FALSE for weaker in IMPLIES.get(key, ())):
            return FactState.FALSE
        return FactState.UNKNOWN


def _feature_of(fgraph: Any) -> AssumptionFeature:
    for feature in fgraph.features:
        if isinstance(feature, AssumptionFeature):
            return feature
    feature = AssumptionFeature()
    fgraph.attach_feature(feature)
    return feature


def check_assumption(fgraph: FunctionGraph | None, var: Any, key: AssumptionKey) -> bool:
    """Return whether a property is known to hold for a variable of a graph.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.facts import SYMMETRIC, assume, check_assumption
    >>> from phintys.graph import FunctionGraph
    >>> x = pt.dmatrix("x")
    >>> y = assume(x, symmetric=True) + x @ x.T
    >>> check_assumption(FunctionGraph([x], [y], clone=False), y, SYMMETRIC)
    True
    """
    return fgraph is not None and _feature_of(fgraph).check(var, key)


def summarize_assumptions(feature: AssumptionFeature, var: Any) -> str:
    """Return the short names of what is known, in braces; ``""`` if nothing is.

    What follows from another property is left out; ``!`` marks what does not hold.
    """
    states: dict[AssumptionKey, FactState] = {}
    for key in ALL_KEYS:
        try:
            states[key] = feature.get(var, key)
        except ConflictingAssumptionsError:
            states[key] = FactState.CONFLICT
    true = {key for key, state in states.items() if state is FactState.TRUE}
    false = {key for key, state in states.items() if state is FactState.FALSE}
    told: list[str] = []
    for key, state in states.items():
        if key in true and not any(key in IMPLIES.get(other, ()) for other in true):
            told.append(key.short_name)
        elif key in false and not false.intersection(IMPLIES.get(key, ())):
            told.append(f"!{key.short_name}")
        elif state is FactState.CONFLICT:
            told.append(f"{key.short_name}=CONFLICT")
    return f"{{{', '.join(told)}}}" if told else ""


def assumption_tags(outputs: Sequence[Any]) -> dict[Any, str]:
    """Return the summary of each variable before ``outputs`` of which something is known."""
    feature = AssumptionFeature()
    found = {one: summarize_assumptions(feature, one) for one in ancestors(outputs)}
    return {one: tag for one, tag in found.items() if tag}


# ---- statements ----------------------------------------------------------------------------------


def assume(
    x: Any,
    diagonal: bool | None = None,
    lower_triangular: bool | None = None,
    upper_triangular: bool | None = None,
    symmetric: bool | None = None,
    positive_definite: bool | None = None,
    orthogonal: bool | None = None,
    selection: bool | None = None,
    permutation: bool | None = None,
    tridiagonal: bool | None = None,
    unit_magnitude: bool | None = None,
    unique_indices: bool | None = None,
) -> Any:
    """Return ``x``, of which something is stated; see :func:`phintys.tensor.assume`.

    ``selection``, ``tridiagonal``, ``unit_magnitude`` and ``unique_indices`` have no effect: no
    rewrite of Phintys asks for them.
    """
    del selection, tridiagonal, unit_magnitude, unique_indices
    stated = {
        "diagonal": diagonal,
        "lower_triangular": lower_triangular,
        "upper_triangular": upper_triangular,
        "symmetric": symmetric,
        "positive_definite": positive_definite,
        "orthogonal": orthogonal,
        "permutation": permutation,
    }
    if all(holds is None for holds in stated.values()):
        return pt.as_tensor_variable(x)
    return pt.assume(x, **stated)


def _state(assumptions: dict[str, FactState]) -> Callable[[Any], Any]:
    """Return a function that states what is true, and what is false."""
    holds = {name: state is FactState.TRUE for name, state in assumptions.items()}
    return lambda x: assume(x, **holds)


SpecifyAssumptions = stands_for("SpecifyAssumptions", Assume, _state)
