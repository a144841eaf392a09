"""The reverse engine: from gradients for outputs to gradients for the variables they depend on.

One walk over the graph, backwards from the outputs, visits each node between the outputs and the
targets once. By the time it visits a node, it has visited all nodes that read its outputs, so the
gradients for these are complete: they are summed and passed to the Op's ``L_op``.

A gradient is one of

- a value: a variable of a continuous dtype;
- nothing, where the outputs do not depend on a variable (``DisconnectedType`` to the outside);
- zero, where they depend on it only through step functions: the value of an integer does not change
  with a small change of its inputs. Zeros are created only where they are needed;
- null, where the gradient does not exist or is not implemented.

Behind an Op that chooses between inputs (:class:`~phintys.graph.choosing.Choosing`), gradients hold
only if the side that they come from is chosen. They are propagated as they are, as far as nodes are
needed for that side alone, and then replaced by a choice between them and those of the other sides:
nothing of a side that is not chosen is computed, nor can a NaN of it reach the result.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from phintys._base.errors import OpContractError, add_note
from phintys._base.garbage_collection import collector_paused
from phintys._base.late import LateModule
from phintys._base.origin import inherit_origin
from phintys.gradient.arithmetic import (
    fit_dtype,
    gradient_dtype,
    is_discrete,
    is_known_zero,
    misfit_of,
    sum_of,
    zero_like,
)
from phintys.gradient.paths import influence
from phintys.graph import contract
from phintys.graph.choosing import Choosing, find_guards, inside
from phintys.graph.null_type import DisconnectedType, NullType, disconnected_type
from phintys.graph.traversal import toposort
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from phintys.gradient.paths import PathStep
    from phintys.graph.apply import Apply
    from phintys.graph.choosing import Guard, Guards

    Terms = list["Variable | Zero"]

_spectral: Any = LateModule("phintys.gradient.spectral")


class Zero(Enum):
    """A gradient that is zero, before a variable is made for it."""

    ZERO = 0


ZERO = Zero.ZERO


class Gradients:
    """The gradients accumulated for each variable so far.

    Parameters
    ----------
    fixed
        Variable -> its gradient, regardless of what is accumulated.


    Attributes
    ----------
    blame : dict
        Null gradient -> the node whose Op returned it.
    cuts : dict
        Variable -> a node that reads it and reports its gradient as disconnected.
    """

    def __init__(self, fixed: Mapping[Variable, Variable]) -> None:
        self._terms: dict[Variable, list[Variable | Zero]] = {}
        self._totals: dict[Variable, Variable | Zero] = {
            variable: gradient
            for variable, gradient in fixed.items()
            if not isinstance(gradient.type, DisconnectedType)
        }
        self.fixed = fixed
        self.blame: dict[Variable, Apply] = {}
        self.cuts: dict[Variable, Apply] = {}
        self.choices: Choices | None = None
        self.guard: Guard = ()

    def add(self, variable: Variable, term: Variable | Zero) -> None:
        """Add a term to the gradient of a variable."""
        if variable in self.fixed:
            return
        if self.choices is not None and self.choices.take(variable, term, self.guard):
            return
        terms = self._terms.get(variable)
        if terms is None:
            self._terms[variable] = [term]
        else:
            terms.append(term)

    def total(self, variable: Variable) -> Variable | Zero | None:
        """Return the sum of the terms for a variable, ``None`` if there are none."""
        if self.choices is not None:
            chosen = self.choices.term_for(variable, self.choices.guards_of(variable)[0])
            if chosen is not None:
                self._terms.setdefault(variable, []).append(chosen)
        terms = self._terms.pop(variable, None)
        if terms is None:
            return self._totals.get(variable)
        total = _total(terms, variable)
        self._totals[variable] = total
        return total

    def value(self, variable: Variable) -> Variable | None:
        """Return :meth:`total` as a variable."""
        total = self.total(variable)
        return zero_like(variable) if total is ZERO else total


class Choices:
    """The gradients that hold only if certain sides are chosen, by variable and guard.

    Parameters
    ----------
    guards
        The guards of each variable.
    nodes
        For each selector, a node that chooses by it.
    """

    def __init__(self, guards: Mapping[Variable, Guards], nodes: Mapping[Variable, Apply]) -> None:
        self._guards = guards
        self._nodes = nodes
        self._terms: dict[Variable, dict[Guard, Terms]] = {}

    def take(self, variable: Variable, term: Variable | Zero, guard: Guard) -> bool:
        """Keep a term under a guard, unless that is the only guard of the variable itself."""
        if self.guards_of(variable) == (guard,):
            return False
        self._terms.setdefault(variable, {}).setdefault(guard, []).append(term)
        return True

    def guards_of(self, variable: Variable) -> Guards:
        """Return the guards under which a variable is needed."""
        return self._guards.get(variable, ((),))

    def term_for(self, variable: Variable, own: Guard) -> Variable | Zero | None:
        """Return the sum of what was taken for a variable, under one of its guards."""
        everything = self._terms.get(variable, {})
        taken = {g: terms for g, terms in everything.items() if g[: len(own)] == own}
        if not taken:
            return None
        for guard in taken:
            del everything[guard]
        while True:
            guard = max(taken, key=len)
            if guard == own:
                return _total(taken[guard], variable)
            outer, selector = guard[:-1], guard[-1][0]
            node = self._nodes[selector]
            op = node.op
            assert isinstance(op, Choosing)
            sides = [
                taken.pop((*outer, (selector, side)), None) for side in range(len(op.sides(node)))
            ]
            values = [ZERO if terms is None else _total(terms, variable) for terms in sides]
            taken.setdefault(outer, []).append(_choice(node, values, variable))


def _choice(node: Apply, values: Sequence[Variable | Zero], variable: Variable) -> Variable | Zero:
    """Return a gradient for a variable that is chosen as a node chooses."""
    op = node.op
    assert isinstance(op, Choosing)
    if all(isinstance(value, Zero) for value in values):
        return ZERO
    null = next((value for value in values if _is_null(value)), None)
    if null is not None:
        return null
    with inherit_origin(node.origin):
        sides: list[Any] = [
            zero_like(variable) if isinstance(value, Zero) else value for value in values
        ]
        dtypes = [getattr(one.type, "dtype", None) for one in sides]
        if len(set(dtypes)) > 1:
            sides = [one.astype(gradient_dtype(variable.type)) for one in sides]
        return op.choose(node, sides)


def _total(terms: list[Variable | Zero], variable: Variable) -> Variable | Zero:
    values: list[Variable] = []
    for term in terms:
        if isinstance(term, Zero):
            continue
        if isinstance(term.type, NullType):
            return term
        values.append(term)
    if not values:
        return ZERO
    if len(values) == 1 and values[0].type is variable.type:
        return values[0]
    if variable.owner is None:
        return fit_dtype(sum_of(values), variable.type)
    with inherit_origin(variable.owner.origin):
        return fit_dtype(sum_of(values), variable.type)


def pull_back(
    seeds: Iterable[tuple[Variable, Variable]],
    targets: Sequence[Variable],
    blocked: Collection[Variable] = (),
    fixed: Mapping[Variable, Variable] | None = None,
) -> Gradients:
    """Propagate gradients from some variables to everything on the way to the targets.

    Parameters
    ----------
    seeds
        Pairs of a variable and a gradient for it; any computed gradient is added to it.
    targets
        The variables whose gradients are wanted.
    blocked
        Variables through which nothing flows.
    fixed
        Variable -> a gradient that replaces everything accumulated for it.

    Returns
    -------
    Gradients
        The accumulated gradients, with the total for each target.
    """
    fixed = {} if fixed is None else fixed
    seeds = list(seeds)
    gradients = Gradients(fixed)
    for variable, gradient in seeds:
        if not isinstance(gradient.type, DisconnectedType):
            gradients.add(variable, gradient)
    with collector_paused():
        ends = [*(variable for variable, _ in seeds), *fixed]
        order = toposort(ends, blocked)
        steps, _ = influence(order, targets, blocked)
        if any(step.node.op.is_decomposition for step in steps):
            order = _spectral.with_whole_products(order, ends, {*targets, *blocked, *fixed})
            steps, _ = influence(order, targets, blocked)
        choosing = [step.node for step in steps if isinstance(step.node.op, Choosing)]
        if choosing:
            gradients.choices = _choices(steps, choosing, [*targets, *fixed], seeds)
        for step in reversed(steps):
            _pull_back_through(step, gradients, blocked)
    return gradients


def _choices(
    steps: Sequence[PathStep],
    choosing: Iterable[Apply],
    pinned: Iterable[Variable],
    seeds: Iterable[tuple[Variable, Variable]],
) -> Choices:
    used = [*pinned, *(variable for variable, _ in seeds)]
    guards = find_guards(((step.node, step.positions) for step in reversed(steps)), used)
    nodes: dict[Variable, Apply] = {}
    for node in choosing:
        assert isinstance(node.op, Choosing)
        nodes.setdefault(node.op.selector(node), node)
    return Choices(guards, nodes)


def _pull_back_through(step: PathStep, gradients: Gradients, blocked: Collection[Variable]) -> None:
    """Propagate the gradients of a node's outputs to its inputs."""
    node, choices = step.node, gradients.choices
    if choices is None:
        flows = [None if output in blocked else gradients.total(output) for output in node.outputs]
        _pull_back_flows(step, flows, gradients)
        return
    guards = choices.guards_of(node.outputs[0])
    for guard in guards:
        gradients.guard = guard
        flows = [
            None
            if output in blocked
            else gradients.total(output)
            if len(guards) == 1
            else choices.term_for(output, guard)
            for output in node.outputs
        ]
        if isinstance(node.op, Choosing):
            _pull_back_through_choice(step, flows, gradients)
        else:
            _pull_back_flows(step, flows, gradients)


def _pull_back_flows(
    step: PathStep, flows: Sequence[Variable | Zero | None], gradients: Gradients
) -> None:
    """Propagate the gradients of a node's outputs, which are given, to its inputs."""
    if len(flows) == 1 and step.pattern is None:
        _pull_back_through_one(step, flows[0], gradients)
    elif any(flow is not None for flow in flows):
        _pull_back_through_several(step, flows, gradients)


def _pull_back_through_choice(
    step: PathStep, flows: Sequence[Variable | Zero | None], gradients: Gradients
) -> None:
    """Pass the gradients of a choice to its sides; each holds if that side is chosen."""
    node, op, guard = step.node, step.node.op, gradients.guard
    assert isinstance(op, Choosing)
    for side, positions in enumerate(op.sides(node)):
        inner = inside(guard, node, side)
        if inner is None:
            continue
        gradients.guard = inner
        for position, flow, output in zip(positions, flows, node.outputs, strict=True):
            if flow is not None and position in step.positions:
                vanishes = not _is_null(flow) and is_discrete(output.type)
                gradients.add(node.inputs[position], ZERO if vanishes else flow)


def _pull_back_through_one(
    step: PathStep, flow: Variable | Zero | None, gradients: Gradients
) -> None:
    """Propagate the gradient through a node with one output, which depends on every input."""
    node = step.node
    if flow is None:
        return
    if _is_null(flow):
        for position in step.positions:
            gradients.add(node.inputs[position], flow)
        return
    vanishes = flow is ZERO or is_discrete(node.outputs[0].type)
    found = _call_pullback(node, [flow])
    for position in step.positions:
        _collect(node, position, found[position], vanishes, gradients)


def _pull_back_through_several(
    step: PathStep, flows: Sequence[Variable | Zero | None], gradients: Gradients
) -> None:
    """Propagate the gradients through a node whose outputs or connections must be distinguished."""
    node, pattern = step.node, step.pattern
    wanted: list[tuple[int, bool]] = []
    apart: list[int] = []
    for position in step.positions:
        reaching = [
            (flow, output)
            for o, (flow, output) in enumerate(zip(flows, node.outputs, strict=True))
            if flow is not None and (pattern is None or pattern[position][o])
        ]
        if not reaching:
            apart.append(position)
            continue
        null = next((flow for flow, _ in reaching if _is_null(flow)), None)
        if null is not None:
            gradients.add(node.inputs[position], null)
            continue
        vanishes = all(flow is ZERO or is_discrete(output.type) for flow, output in reaching)
        wanted.append((position, vanishes))
    if not wanted:
        return
    found = _call_pullback(node, flows)
    for position, vanishes in wanted:
        _collect(node, position, found[position], vanishes, gradients)
    for position in apart:
        _check_apart(node, position, found[position])


def _is_null(flow: Variable | Zero) -> bool:
    return flow is not ZERO and isinstance(flow.type, NullType)


def _call_pullback(node: Apply, flows: Sequence[Variable | Zero | None]) -> list[Variable]:
    """Call an Op's ``L_op``; the nodes it builds are attributed to the user's line."""
    with inherit_origin(node.origin):
        output_grads: list[Variable] = []
        for flow, output in zip(flows, node.outputs, strict=True):
            if flow is None or _is_null(flow):
                output_grads.append(disconnected_type())
            else:
                output_grads.append(zero_like(output) if isinstance(flow, Zero) else flow)
        try:
            return contract.input_gradients(node, output_grads)
        except Exception as error:
            add_note(error, f"While differentiating {node.op}, applied at\n  {node.origin}")
            raise


def _collect(
    node: Apply, position: int, gradient: Variable, vanishes: bool, gradients: Gradients
) -> None:
    """Check what an Op returned for one input, and add it to the gradient of that input."""
    variable = node.inputs[position]
    type_ = gradient.type
    if isinstance(type_, DisconnectedType):
        gradients.cuts[variable] = node
        return
    if isinstance(type_, NullType):
        gradients.blame.setdefault(gradient, node)
        gradients.add(variable, gradient)
        return
    if vanishes or is_known_zero(gradient):
        gradients.add(variable, ZERO)
        return
    if type_ is not variable.type:
        _check_fits(node, position, gradient)
    gradients.add(variable, gradient)


def _check_fits(node: Apply, position: int, gradient: Variable) -> None:
    """Raise unless a gradient has the rank, and can have the shape, of its input."""
    variable = node.inputs[position]
    misfit = misfit_of(gradient.type, variable.type)
    if not misfit:
        return
    method = "L_op" if contract.defines(node.op, "L_op") else "grad"
    msg = (
        f"{node.op}.{method} must return, for each input, a gradient with {misfit} of that input. "
        f"Input {position}, {variable}, is of type {variable.type}; its gradient is of type "
        f"{gradient.type}. If the input is broadcast, sum the gradient over what was "
        f"broadcast.\nThe Op was applied at\n  {node.origin}"
    )
    raise OpContractError(msg)


def _check_apart(node: Apply, position: int, gradient: Variable) -> None:
    """Raise if an Op returns a gradient for an input that it reports as disconnected."""
    if isinstance(gradient.type, DisconnectedType | NullType) or is_known_zero(gradient):
        return
    msg = (
        f"{node.op}.connection_pattern says that input {position}, {node.inputs[position]}, has "
        f"no influence on any output that the cost depends on, and yet its gradient was returned "
        f"as {gradient} (type {gradient.type}). Correct the pattern, or return "
        f"DisconnectedType()() for this input.\nThe Op was applied at\n  {node.origin}"
    )
    raise OpContractError(msg)
