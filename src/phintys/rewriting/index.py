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
from phintys.rewriting.rewriter import Operand

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from phintys.rewriting.rewriter import NodeRewriter, Tracked

__all__ = ["RuleIndex", "RulePlan"]

_ALWAYS = 1  # the bit of no condition


class _Entry(NamedTuple):
    """A rule that tracks an Op.

    Attributes
    ----------
    bits, within
        The bits of its conditions; ``_ALWAYS`` if it has none.
    part
        The bit of the late part of the list that the rule belongs to, or 0.
    rule
        The rule.
    """

    bits: int
    within: int
    part: int
    rule: NodeRewriter


class RulePlan:
    """The rules that track one Op, in order, each with the bits of its conditions.

    Attributes
    ----------
    rules
        All of them.
    relevant
        The bits of all their conditions.
    chosen
        Cache: bits that are met -> the rules to try.
    """

    __slots__ = ("_entries", "chosen", "relevant", "rules")

    def __init__(self, entries: Iterable[_Entry]) -> None:
        self._entries = list(entries)
        self.rules = tuple(entry.rule for entry in self._entries)
        self.relevant = 0
        for entry in self._entries:
            self.relevant |= (entry.bits | entry.within) & ~_ALWAYS
        self.chosen: dict[int, tuple[NodeRewriter, ...]] = {}

    def depth(self, needed: int) -> int:
        """Return the maximum depth of the rules that are not late, or in parts that are needed."""
        return max(
            (one.rule.depth for one in self._entries if not one.part or one.part & needed),
            default=0,
        )

    def choose(self, met: int) -> tuple[NodeRewriter, ...]:
        """Return the rules whose conditions are met, or that have none."""
        now = met | _ALWAYS
        found = self.chosen[met] = tuple(
            one.rule for one in self._entries if one.bits & now and one.within & now
        )
        return found


class RuleIndex:
    """An ordered list of rules, indexed by the Ops that they track and their conditions.

    Parameters
    ----------
    rules
        The rules, each with its place in the order in which they are tried on a node.
    part
        The bit of the late part of a list that they are, or 0.
    base
        An index whose rules this one has as well.
    """

    def __init__(
        self,
        rules: Iterable[tuple[int, NodeRewriter]],
        *,
        part: int = 0,
        base: RuleIndex | None = None,
    ) -> None:
        # Place of a rule -> the rule, and the bit of its late part.
        self._rules: dict[int, tuple[NodeRewriter, int]] = {} if base is None else {**base._rules}
        # Op, class of Ops, or None for all -> (place of a rule, bit of its condition).
        self._tracked: dict[Tracked | None, tuple[tuple[int, int], ...]] = (
            {} if base is None else {**base._tracked}
        )
        # Op or class of Ops that computes an operand -> bits of the conditions that it meets.
        self._makers: dict[Tracked, int] = {} if base is None else {**base._makers}
        # Op or class of Ops -> bits of the rules that wait for one in the graph; place -> its bit.
        self._awaited: dict[Tracked, int] = {} if base is None else {**base._awaited}
        self._within: dict[int, int] = {} if base is None else {**base._within}
        self.constant = 0 if base is None else base.constant
        self.repeated = 0 if base is None else base.repeated
        self._last = _ALWAYS if base is None else base._last
        for place, rule in rules:
            self._enter(place, rule, part)
        # One entry for each class and each Op named by a rule: no other Op is kept alive.
        self._plans: dict[object, RulePlan] = {}
        self._classes_met: dict[type[Op], int] = {}
        self._classes_there: dict[type[Op], int] = {}

    def _enter(self, place: int, rule: NodeRewriter, part: int) -> None:
        self._rules[place] = (rule, part)
        if rule.within is not None:
            self._within[place] = bit = self._next_bit()
            for maker in rule.within:
                self._awaited[maker] = self._awaited.get(maker, 0) | bit
        found: dict[Tracked | None, list[tuple[int, int]]] = {}
        for tracked, operands in rule.cases():
            entries = found.setdefault(tracked, [])
            if operands is None:
                entries.append((place, _ALWAYS))
                continue
            bit = self._next_bit()
            entries.append((place, bit))
            for operand in operands:
                self._add(bit, tracked, operand)
        for tracked, entries in found.items():
            self._tracked[tracked] = (*self._tracked.get(tracked, ()), *entries)

    def _next_bit(self) -> int:
        self._last <<= 1
        return self._last

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

    def plan(self, op: Op) -> RulePlan:
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
            plan = self._plans[key] = RulePlan(
                _Entry(bits[place], self._within.get(place, _ALWAYS), part, rule)
                for place in sorted(bits)
                for rule, part in (self._rules[place],)
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
    for place, bit in entries:
        bits[place] = bits.get(place, 0) | bit
