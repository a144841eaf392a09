"""An index of the rules that can apply to a node, given its Op and the Ops of its operands.

Most rules do not apply to most nodes that they track, and rewriting would spend most of its time on
trying them. Therefore a rule can declare what it needs to find among the operands, and is skipped
for nodes without such an operand, or what it needs to find anywhere below the node, and is skipped
while the graph has nothing of the kind. Each such condition is a bit. Each Op has the bits of the
conditions that it meets when it computes an operand, and the union over all operands selects the
rules to try.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from phintys.graph.op import Op
from phintys.graph.variable import Constant
from phintys.rewriting.rewriter import Operand

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.rewriting.rewriter import NodeRewriter, Tracked

__all__ = ["Lookup", "RuleIndex"]

_ALWAYS = 1  # the bit of no condition


class _Plan:
    """The rules that track one Op, in order, each with the bits of its conditions.

    Attributes
    ----------
    rules
        All of them.
    relevant
        The bits of all their conditions.
    depth
        The maximum depth of the rules; 0 without rules.
    chosen
        Cache: bits that are met -> the rules to try.
    """

    __slots__ = ("_entries", "chosen", "depth", "relevant", "rules")

    def __init__(self, entries: Iterable[tuple[int, int, NodeRewriter]]) -> None:
        self._entries = list(entries)
        self.rules = tuple(rule for _, _, rule in self._entries)
        self.depth = max((rule.depth for rule in self.rules), default=0)
        self.relevant = 0
        for bits, within, _ in self._entries:
            self.relevant |= (bits | within) & ~_ALWAYS
        self.chosen: dict[int, tuple[NodeRewriter, ...]] = {}

    def choose(self, met: int) -> tuple[NodeRewriter, ...]:
        """Return the rules whose conditions are met, or that have none."""
        now = met | _ALWAYS
        found = self.chosen[met] = tuple(
            rule for bits, within, rule in self._entries if bits & now and within & now
        )
        return found


class RuleIndex:
    """An ordered list of rules, indexed by the Ops that they track and their conditions.

    Parameters
    ----------
    rules
        The rules, in the order in which they are tried on a node.
    """

    def __init__(self, rules: Sequence[NodeRewriter]) -> None:
        self._rules = rules
        # Op, class of Ops, or None for all -> (index of a rule, bit of its condition).
        self._tracked: dict[Tracked | None, list[tuple[int, int]]] = {}
        # Op or class of Ops that computes an operand -> bits of the conditions that it meets.
        self._makers: dict[Tracked, int] = {}
        # Op or class of Ops -> bits of the rules that wait for one in the graph; rule -> its bit.
        self._awaited: dict[Tracked, int] = {}
        self._within: dict[int, int] = {}
        self.constant = 0
        self.repeated = 0
        bit = _ALWAYS
        for number, rule in enumerate(rules):
            if rule.within is not None:
                bit <<= 1
                self._within[number] = bit
                for maker in rule.within:
                    self._awaited[maker] = self._awaited.get(maker, 0) | bit
            for tracked, operands in rule.cases():
                entries = self._tracked.setdefault(tracked, [])
                if operands is None:
                    entries.append((number, _ALWAYS))
                    continue
                bit <<= 1
                entries.append((number, bit))
                for operand in operands:
                    self._add(bit, tracked, operand)
        # One entry for each class and each Op named by a rule: no other Op is kept alive.
        self._plans: dict[object, _Plan] = {}
        self._classes_met: dict[type[Op], int] = {}
        self._classes_there: dict[type[Op], int] = {}

    def _add(self, bit: int, tracked: Tracked | None, operand: Tracked | Operand) -> None:
        if operand is Operand.CONSTANT:
            self.constant |= bit
        elif operand is Operand.REPEATED:
            self.repeated |= bit
        else:
            maker = tracked if operand is Operand.ALIKE else operand
            assert maker is not None
            assert not isinstance(maker, Operand)
            self._makers[maker] = self._makers.get(maker, 0) | bit

    def plan(self, op: Op) -> _Plan:
        """Return the rules that track an Op."""
        cls = type(op)
        special = self._tracked.get(op)
        key = cls if special is None else (cls, op)
        plan = self._plans.get(key)
        if plan is None:
            bits: dict[int, int] = {}
            for tracked, entries in self._tracked.items():
                if tracked is None or (isinstance(tracked, type) and issubclass(cls, tracked)):
                    _join(bits, entries)
            _join(bits, special or ())
            plan = self._plans[key] = _Plan(
                (bits[number], self._within.get(number, _ALWAYS), self._rules[number])
                for number in sorted(bits)
            )
        return plan

    def met_by(self, op: Op) -> int:
        """Return the bits of the conditions that an operand computed by an Op meets."""
        return _bits_for(op, self._makers, self._classes_met)

    def met_within(self, op: Op) -> int:
        """Return the bits of the rules that can apply once the graph has such an Op."""
        return _bits_for(op, self._awaited, self._classes_there)


def _bits_for(op: Op, bits_of: Mapping[Tracked, int], known: dict[type[Op], int]) -> int:
    """Return the bits of an Op and of its classes; ``known`` caches the latter."""
    cls = type(op)
    met = known.get(cls)
    if met is None:
        met = 0
        for maker, bits in bits_of.items():
            if isinstance(maker, type) and issubclass(cls, maker):
                met |= bits
        known[cls] = met
    return met | bits_of.get(op, 0)


def _join(bits: dict[int, int], entries: Iterable[tuple[int, int]]) -> None:
    for number, bit in entries:
        bits[number] = bits.get(number, 0) | bit


class _Known(NamedTuple):
    """Cached information about an Op, which is kept alive so that its id is not reused."""

    op: Op
    plan: _Plan
    met: int


class Lookup:
    """Finds the rules to try on the nodes of a graph.

    Parameters
    ----------
    index
        The rules.
    nodes
        The nodes of the graph at the start; Ops of new nodes are added when they are visited.

    Attributes
    ----------
    deepest
        The maximum depth of the rules for the Ops seen so far.
    """

    def __init__(self, index: RuleIndex, nodes: Iterable[Apply] = ()) -> None:
        self._index = index
        self._known: dict[int, _Known] = {}
        self._there = 0  # the bits met by the Ops in the graph
        self.deepest = 0
        known = self._known
        for node in nodes:
            if id(node.op) not in known:
                self._meet(node.op)

    def rules_for(self, node: Apply) -> tuple[NodeRewriter, ...]:
        """Return the rules to try on a node, in order."""
        known = self._known
        op = node.op
        plan = (known.get(id(op)) or self._meet(op)).plan
        relevant = plan.relevant
        if not relevant:
            return plan.rules
        index = self._index
        inputs = node.inputs
        met = self._there
        for variable in inputs:
            maker = variable.owner
            if maker is not None:
                op = maker.op
                met |= (known.get(id(op)) or self._meet(op)).met
            elif isinstance(variable, Constant):
                met |= index.constant
        if relevant & index.repeated and len(set(inputs)) < len(inputs):
            met |= index.repeated
        met &= relevant
        found = plan.chosen.get(met)
        return plan.choose(met) if found is None else found

    def depth_of(self, op: Op) -> int:
        """Return the maximum depth of the rules for an Op; 0 if there are none."""
        return (self._known.get(id(op)) or self._meet(op)).plan.depth

    def _meet(self, op: Op) -> _Known:
        index = self._index
        found = self._known[id(op)] = _Known(op, index.plan(op), index.met_by(op))
        self.deepest = max(self.deepest, found.plan.depth)
        self._there |= index.met_within(op)
        return found
