"""Finding the rules to try on the nodes of a graph, while the graph changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from phintys.graph.op import Op
from phintys.graph.variable import Constant
from phintys.rewriting.index import RulePlan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.graph.apply import Apply
    from phintys.rewriting.late import RuleList
    from phintys.rewriting.rewriter import NodeRewriter

__all__ = ["Lookup"]


class _Known(NamedTuple):
    """Cached information about an Op, which is kept alive so that its id is not reused."""

    op: Op
    plan: RulePlan
    met: int
    depth: int


class Lookup:
    """Finds the rules to try on the nodes of a graph.

    Late parts of the list are imported when they are first needed. What it finds does not depend
    on parts that other graphs needed before.

    Parameters
    ----------
    rules
        The rules.
    nodes
        The nodes of the graph at the start; Ops of new nodes are added when they are visited.

    Attributes
    ----------
    deepest
        The maximum depth of the rules for the Ops seen so far.
    """

    def __init__(self, rules: RuleList, nodes: Iterable[Apply] = ()) -> None:
        self._rules = rules
        self._known: dict[int, _Known] = {}
        self._needed = 0  # the late parts that the Ops in the graph need
        self._there = 0  # the bits met by the Ops in the graph
        self.deepest = 0
        ops = {id(node.op): node.op for node in nodes}
        for op in ops.values():
            self._needed |= rules.needed_for(op)
        self._index = rules.indexed(self._needed)
        for op in ops.values():
            self._meet(op)

    def rules_for(self, node: Apply) -> tuple[NodeRewriter, ...]:
        """Return the rules to try on a node, in order."""
        known, index = self._known, self._index
        op = node.op
        plan = (known.get(id(op)) or self._meet(op)).plan
        relevant = plan.relevant
        if not relevant:
            return plan.rules if self._index is index else self.rules_for(node)
        inputs = node.inputs
        met = self._there
        for variable in inputs:
            maker = variable.owner
            if maker is not None:
                op = maker.op
                met |= (known.get(id(op)) or self._meet(op)).met
            elif isinstance(variable, Constant):
                met |= index.constant
        if self._index is not index:
            return self.rules_for(node)  # by the rules that have been imported for it
        if relevant & index.repeated and len(set(inputs)) < len(inputs):
            met |= index.repeated
        met &= relevant
        found = plan.chosen.get(met)
        return plan.choose(met) if found is None else found

    def depth_of(self, op: Op) -> int:
        """Return the maximum depth of the rules for an Op; 0 if there are none."""
        return (self._known.get(id(op)) or self._meet(op)).depth

    def _meet(self, op: Op) -> _Known:
        needed = self._needed | self._rules.needed_for(op)
        if needed != self._needed:
            self._take_in(needed)
        index = self._index
        plan = index.plan(op)
        found = self._known[id(op)] = _Known(op, plan, index.met_by(op), plan.depth(self._needed))
        self.deepest = max(self.deepest, found.depth)
        self._there |= index.met_within(op)
        return found

    def _take_in(self, needed: int) -> None:
        """Import late parts, whose rules concern the Ops met before as well."""
        self._needed = needed
        self._index = self._rules.indexed(needed)
        met, self._known = self._known, {}
        self._there = self.deepest = 0
        for known in met.values():
            self._meet(known.op)
