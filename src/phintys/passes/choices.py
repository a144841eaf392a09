"""Simplification of choices of which only the chosen side is computed, and their combination."""

from __future__ import annotations

from operator import is_
from time import perf_counter
from typing import TYPE_CHECKING, Any

from phintys._base.errors import InconsistencyError
from phintys._base.origin import inherit_origin
from phintys.control.branches import IfElse
from phintys.graph.choosing import find_guards
from phintys.graph.variable import Constant
from phintys.rewriting import GraphRewriter, late_rewriter, late_rules, node_rewriter
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import RewriteTrace


def _sides(node: Apply) -> tuple[list[Variable], list[Variable]]:
    op: Any = node.op
    then, otherwise = ([node.inputs[position] for position in side] for side in op.sides(node))
    return then, otherwise


@node_rewriter([IfElse], examples=["phintys.ifelse(True, x, y)", "phintys.ifelse(0, x, y)"])
def known_condition(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """ifelse(True, x, y) -> x, ifelse(False, x, y) -> y"""
    condition = node.inputs[0]
    if not isinstance(condition, Constant):
        return None
    return _sides(node)[0 if condition.data else 1]


@node_rewriter(
    [IfElse],
    examples=["phintys.ifelse(x.any(), phintys.ifelse(x.any(), x, y), y)"],
    depth=2,
)
def known_inner_condition(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """ifelse(c, ifelse(c, x, y), z) -> ifelse(c, x, z), and likewise for the other side"""
    sides = _sides(node)
    former = [variable for side in sides for variable in side]
    simpler = [
        _if_known(variable, node.inputs[0], number)
        for number, side in enumerate(sides)
        for variable in side
    ]
    if all(map(is_, simpler, former)):
        return None
    return node.op(node.inputs[0], *simpler, return_list=True)


def _if_known(variable: Variable, condition: Variable, side: int) -> Variable:
    """Return the chosen branch if the condition is known, and other variables as they are."""
    node = variable.owner
    while node is not None and isinstance(node.op, IfElse) and node.inputs[0] is condition:
        assert variable.index is not None
        variable = _sides(node)[side][variable.index]
        node = variable.owner
    return variable


@node_rewriter([IfElse], examples=["phintys.ifelse(x.any(), x, x)"])
def same_sides(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """ifelse(c, x, x) -> x"""
    pairs = zip(*_sides(node), strict=True)
    found = [then if then is otherwise else None for then, otherwise in pairs]
    return found if any(one is not None for one in found) else None


@node_rewriter([IfElse], examples=["phintys.ifelse(x.any(), [x, x + 1], [y, y * 2])[0]"])
def unused_outputs(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """ifelse(c, [x, y], [z, w])[0] -> ifelse(c, x, z), where the other output has no readers"""
    used = [bool(fgraph.clients.get(output)) for output in node.outputs]
    if all(used):
        return None
    then, otherwise = (
        [variable for variable, keep in zip(side, used, strict=True) if keep]
        for side in _sides(node)
    )
    op: Any = node.op
    kept = iter(IfElse(len(then), op.name)(node.inputs[0], *then, *otherwise, return_list=True))
    return [next(kept) if keep else None for keep in used]


CANONICAL_CHOICES = late_rules(
    known_condition, known_inner_condition, same_sides, unused_outputs, needs=[IfElse]
)
"""In the order in which they are tried."""


class CombineChoices(GraphRewriter):
    """ifelse(c, x, y), ifelse(c, z, w) -> ifelse(c, [x, z], [y, w])

    What the sides have in common is then computed in one branch, once. Choices are combined only if

    - neither depends on the other;
    - they are needed under the same conditions: nothing is computed that was not before;
    - both choose between tensors, or both between other objects, which native code leaves to
      Python.

    Each choice gets a number that is larger than those of the choices that it depends on. Those
    with equal numbers can be combined, all at once, without making the graph depend on itself.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.graph import FunctionGraph
    >>> from phintys.passes.choices import combine_choices
    >>> x = pt.dvector("x")
    >>> c = x.any()
    >>> fgraph = FunctionGraph([x], [phintys.ifelse(c, x, -x), phintys.ifelse(c, x * 2, x)])
    >>> combine_choices.apply(fgraph)
    >>> sum(isinstance(node.op, phintys.control.IfElse) for node in fgraph.apply_nodes)
    1
    """

    def __init__(self) -> None:
        super().__init__(name="combine_choices")

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Combine the choices of a graph."""
        selectors = [node.inputs[0] for node in fgraph.apply_nodes if isinstance(node.op, IfElse)]
        if len(selectors) == len(set(selectors)):
            return
        for nodes in _groups(fgraph):
            self._combine(fgraph, nodes, trace)

    def _combine(
        self, fgraph: FunctionGraph, nodes: Sequence[Apply], trace: RewriteTrace | None
    ) -> None:
        start = perf_counter()
        pairs = _combined(nodes)
        refused = ""
        try:
            fgraph.replace_all_validate(pairs, reason=self.name)
        except InconsistencyError as error:
            refused = str(error)
        if trace is not None:
            seconds = perf_counter() - start
            for node in nodes:
                made = [pair for pair in pairs if pair[0].owner is node]
                trace.record(self.name, node, tuple(made), seconds / len(nodes), refused)


def _combined(nodes: Sequence[Apply]) -> list[tuple[Variable, Variable]]:
    """Return the outputs of choices by the same condition, with those of a single choice."""
    sides: tuple[list[Variable], list[Variable]] = ([], [])
    for node in nodes:
        op: Any = node.op
        for values, positions in zip(sides, op.sides(node), strict=True):
            values += [node.inputs[position] for position in positions]
    old = [output for node in nodes for output in node.outputs]
    names = list(dict.fromkeys(getattr(node.op, "name", None) for node in nodes))
    name = " and ".join(filter(None, names)) or None
    with inherit_origin(nodes[0].origin):
        choice = IfElse(len(old), name)
        new = choice(nodes[0].inputs[0], *sides[0], *sides[1], return_list=True)
        return [(one, one.type.filter_variable(other)) for one, other in zip(old, new, strict=True)]


def _groups(fgraph: FunctionGraph) -> list[list[Apply]]:
    """Return the choices that can be combined with each other, in topological order."""
    order = fgraph.toposort()
    keys = _keys(fgraph, order)
    numbers: dict[Apply, int] = {}
    below: dict[Variable, int] = {}  # the numbers of the choices behind a variable are below this
    taken: dict[Hashable, list[int]] = {}
    last = 0
    for node in reversed(order):
        most = min([below[output] for output in node.outputs if output in below], default=1)
        if node in keys:
            known = taken.setdefault(keys[node], [])
            fitting = [number for number in known if number < most]
            if not fitting:
                last -= 1
                fitting.append(last)
                known.append(last)
            numbers[node] = most = fitting[0]
        for variable in node.inputs:
            below[variable] = min(below.get(variable, most), most)
    found: dict[Hashable, list[Apply]] = {}
    for node in order:
        if node in keys:
            found.setdefault((keys[node], numbers[node]), []).append(node)
    return [nodes for nodes in found.values() if len(nodes) > 1]


def _keys(fgraph: FunctionGraph, order: Sequence[Apply]) -> dict[Apply, Hashable]:
    """Return, for choices, what those that are combined have in common."""
    steps = ((node, range(len(node.inputs))) for node in reversed(order))
    loose: set[Variable] = set()
    guards = find_guards(steps, fgraph.outputs, loose)
    return {
        node: (
            node.inputs[0],
            frozenset(guards[node.outputs[0]]),
            all(isinstance(output.type, TensorType) for output in node.outputs),
        )
        for node in order
        if isinstance(node.op, IfElse) and loose.isdisjoint(node.outputs)
    }


combine_choices = late_rewriter(CombineChoices(), needs=[IfElse])
