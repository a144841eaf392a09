"""Drivers, which apply rules to a graph in time nearly linear in the number of changes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from phintys._base.errors import RewriteError
from phintys._base.records import record
from phintys.graph.features import Feature
from phintys.rewriting.applying import propose
from phintys.rewriting.late import LateRules, RuleList
from phintys.rewriting.lookup import Lookup
from phintys.rewriting.rewriter import GraphRewriter, NodeRewriter

if TYPE_CHECKING:
    from typing import Self

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting.applying import Proposal
    from phintys.rewriting.trace import RewriteTrace

_LATEST = 24  # changes remembered for error messages; shows cycles of up to half this length


class RuleDriver(GraphRewriter):
    """Base class of drivers: an ordered list of rules, indexed by the Ops that they track.

    Parameters
    ----------
    rules
        The rules, in the order in which they are tried on a node. Some can be
        :class:`~phintys.rewriting.LateRules`.
    name, tags
        As for :class:`~phintys.rewriting.GraphRewriter`.

    Attributes
    ----------
    rules
        The same, as a :class:`~phintys.rewriting.RuleList`: a sequence of all rules.
    """

    def __init__(
        self,
        rules: Iterable[NodeRewriter | LateRules | RuleList],
        *,
        name: str | None = None,
        tags: Iterable[str] = (),
    ) -> None:
        parts = (rules,) if isinstance(rules, RuleList) else tuple(rules)
        for rule in parts:
            if not isinstance(cast(object, rule), NodeRewriter | LateRules | RuleList):
                msg = (
                    f"{type(self).__name__} takes rules, got {rule!r}. Decorate a function "
                    "(fgraph, node) with @node_rewriter([op]), or an equation with @pattern."
                )
                raise RewriteError(msg)
        self.rules = RuleList(*parts)
        requires = dict.fromkeys(
            required
            for rule in self.rules.parts
            if isinstance(rule, NodeRewriter)
            for required in rule.requires
        )
        super().__init__(name=name, tags=tags, requires=requires)

    def names(self) -> frozenset[str]:
        """Return all names that ``excluding`` accepts for this driver."""
        own = super().names()
        return own.union(*(rule.tags | {rule.name} for rule in self.rules))

    def excluding(self, names: frozenset[str]) -> Self:
        """Return the driver without the rules with these names or tags."""
        kept = [rule for rule in self.rules if not rule.matches_name(names)]
        return self if len(kept) == len(self.rules) else self.with_rules(kept)

    def with_rules(self, rules: Sequence[NodeRewriter]) -> Self:
        """Return a driver like this one with other rules."""
        return type(self)(rules, name=self.name, tags=self.tags)

    def __iter__(self) -> Iterator[NodeRewriter]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)


class _Walk(RuleDriver):
    """A single walk over the nodes of a graph."""

    backwards: ClassVar[bool]

    def __init__(
        self,
        rules: Iterable[NodeRewriter],
        *,
        new_nodes: bool = False,
        name: str | None = None,
        tags: Iterable[str] = (),
    ) -> None:
        super().__init__(rules, name=name, tags=tags)
        self.new_nodes = new_nodes

    def with_rules(self, rules: Sequence[NodeRewriter]) -> Self:
        return type(self)(rules, new_nodes=self.new_nodes, name=self.name, tags=self.tags)

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        if self.new_nodes:
            self._visit_all(fgraph, trace)
            return
        nodes = fgraph.toposort()
        lookup = Lookup(self.rules, nodes)
        for node in reversed(nodes) if self.backwards else nodes:
            rules = iter(lookup.rules_for(node))
            while node in fgraph.apply_nodes:
                proposal = propose(fgraph, node, rules, trace)
                if proposal is None:
                    break
                proposal.carry_out(fgraph, trace)

    def _visit_all(self, fgraph: FunctionGraph, trace: RewriteTrace | None) -> None:
        changes = _Changes()
        fgraph.attach_feature(changes)
        try:
            nodes = fgraph.toposort()
            lookup = Lookup(self.rules, nodes)
            most = 100 * (len(nodes) + 100)
            budget = _Budget(self.name, most, most, deque(maxlen=_LATEST))
            queue = deque(nodes)
            take = queue.pop if self.backwards else queue.popleft
            while queue:
                node = take()
                if node not in fgraph.apply_nodes:
                    continue
                changes.clear()
                proposal = propose(fgraph, node, iter(lookup.rules_for(node)), trace)
                if proposal is not None and proposal.carry_out(fgraph, trace):
                    budget.spend(proposal, 0)
                    queue.extend(changes.imported)
        finally:
            fgraph.remove_feature(changes)


class WalkInOrder(_Walk):
    """Try the rules once on each node, in topological order.

    Parameters
    ----------
    rules
        The rules, in the order in which they are tried on a node.
    new_nodes
        Whether nodes that the rules build are visited too: after all others.
    name, tags
        As for :class:`~phintys.rewriting.GraphRewriter`.

    Examples
    --------
    >>> from phintys.rewriting import WalkInOrder
    >>> WalkInOrder([], name="specialize")
    <WalkInOrder specialize>
    """

    backwards = False


class WalkOutOrder(_Walk):
    """Try the rules once on each node, in reverse topological order.

    Parameters
    ----------
    rules
        The rules, in the order in which they are tried on a node.
    new_nodes
        Whether nodes that the rules build are visited too: right after they were built.
    name, tags
        As for :class:`~phintys.rewriting.GraphRewriter`.
    """

    backwards = True


class _Changes(Feature):
    """Records the changes that a replacement makes to the graph, for the driver."""

    def __init__(self) -> None:
        self.imported: list[Apply] = []
        self.changed: list[Apply] = []
        self.pruned: list[Apply] = []

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self.imported.append(node)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self.pruned.append(node)

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object,
    ) -> None:
        if not isinstance(node, str):
            self.changed.append(node)

    def clear(self) -> None:
        self.imported.clear()
        self.changed.clear()
        self.pruned.clear()


@record()
class _Budget:
    """Guards against endless rewriting, by rules that undo or feed each other."""

    driver: str
    most: int
    total: int
    latest: deque[Proposal]

    def spend(self, proposal: Proposal, generation: int) -> None:
        """Count a change, and raise if there are too many."""
        self.latest.append(proposal)
        self.total -= 1
        if generation <= self.most and self.total >= 0:
            return
        node = proposal.node
        counts = Counter(one.rule.name for one in self.latest)
        rules = ", ".join(f"{name} ({count}x)" for name, count in counts.items())
        steps, heading = _cycle([str(one) for one in self.latest])
        shown = "\n  ".join(steps)
        msg = (
            f"{self.driver} does not terminate: rules undo or feed each other. The last "
            f"{len(self.latest)} applications were of {rules}, now at {node}, made at\n"
            f"  {node.origin}\n"
            f"{heading}\n  {shown}\n"
            f"A value may be rewritten {self.most} times. Make one of the rules return None where "
            "another would undo it, or exclude it from the pipeline."
        )
        raise RewriteError(msg)


def _cycle(steps: Sequence[str]) -> tuple[Sequence[str], str]:
    """Return the steps of a cycle and a heading; the last steps if there is no cycle."""
    for period in range(1, len(steps) // 2 + 1):
        if steps[-period:] == steps[-2 * period : -period]:
            return steps[-period:], "This goes round in a circle:"
    return steps[-6:], "The last steps were:"


class Worklist(RuleDriver):
    """Apply rules until none applies any more.

    Nodes are kept in a queue, initially in topological order. When a rule has changed the graph,
    the new nodes, those whose inputs changed, those whose rules look deep enough to see the change
    (``rule.depth``) and those that lost a client are queued again; the whole graph is not walked
    again. Of the rules for a node, only those whose conditions its operands can meet
    (``rule.cases``) are tried.

    Parameters
    ----------
    rules
        The rules, in the order in which they are tried on a node.
    order
        Start from the inputs (``"in"``) or from the outputs (``"out"``).
    max_uses
        How many times one value can be rewritten before the driver raises an error about rules that
        undo each other.
    name, tags
        As for :class:`~phintys.rewriting.GraphRewriter`.

    Examples
    --------
    >>> from phintys.rewriting import Worklist
    >>> Worklist([], name="canonicalize")
    <Worklist canonicalize>
    """

    def __init__(
        self,
        rules: Iterable[NodeRewriter | LateRules | RuleList],
        *,
        order: Literal["in", "out"] = "in",
        max_uses: int = 1000,
        name: str | None = None,
        tags: Iterable[str] = (),
    ) -> None:
        super().__init__(rules, name=name, tags=tags)
        self.order: Literal["in", "out"] = order
        self.max_uses = max_uses

    def with_rules(self, rules: Sequence[NodeRewriter]) -> Self:
        return type(self)(
            rules, order=self.order, max_uses=self.max_uses, name=self.name, tags=self.tags
        )

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        if not self.rules:
            return
        changes = _Changes()
        fgraph.attach_feature(changes)
        try:
            self._run(fgraph, changes, trace)
        finally:
            fgraph.remove_feature(changes)

    def _run(self, fgraph: FunctionGraph, changes: _Changes, trace: RewriteTrace | None) -> None:
        nodes = fgraph.toposort()
        queue = deque(nodes if self.order == "in" else reversed(nodes))
        waiting = set(queue)
        generations: dict[Apply, int] = {}
        budget = _Budget(self.name, self.max_uses, 100 * (len(nodes) + 100), deque(maxlen=_LATEST))
        changes.clear()  # attaching reports every node
        lookup = Lookup(self.rules, nodes)
        alive = fgraph.apply_nodes
        while queue:
            node = queue.popleft()
            waiting.discard(node)
            found = lookup.rules_for(node)
            if not found:
                continue
            rules = iter(found)
            while node in alive:
                proposal = propose(fgraph, node, rules, trace)
                if proposal is None:
                    break
                if not proposal.carry_out(fgraph, trace):
                    changes.clear()  # the replacement was undone
                    continue
                generation = generations.get(node, 0) + 1
                budget.spend(proposal, generation)
                generations.update(dict.fromkeys((node, *changes.imported), generation))
                for gone in changes.pruned:
                    generations.pop(gone, None)
                first, later = self._to_look_at(fgraph, changes, node, lookup)
                changes.clear()
                first = [one for one in first if one not in waiting]
                queue.extendleft(reversed(first))
                waiting.update(first)
                later = [one for one in later if one not in waiting]
                queue.extend(later)
                waiting.update(later)

    def _to_look_at(
        self, fgraph: FunctionGraph, changes: _Changes, node: Apply, lookup: Lookup
    ) -> tuple[list[Apply], list[Apply]]:
        """Return the nodes to visit next, and those to visit later."""
        alive = fgraph.apply_nodes
        first = dict.fromkeys(one for one in changes.imported if one in alive)
        later = dict.fromkeys(one for one in changes.changed if one in alive and one not in first)
        met = {*first, *later}
        level = list(later)
        # A node whose Op has not been seen yet is still in the queue.
        for depth in range(2, lookup.deepest + 1):
            above = dict.fromkeys(client for one in level for client in _clients(fgraph, one))
            level = [one for one in above if one not in met]
            met.update(level)
            later.update((one, None) for one in level if lookup.depth_of(one.op) >= depth)
        for gone in changes.pruned:
            owners = (variable.owner for variable in gone.inputs)
            found = (one for one in owners if one is not None and one in alive)
            later.update((one, None) for one in found if one not in first)
        if node in alive:
            later[node] = None
        return list(first), list(later)


def _clients(fgraph: FunctionGraph, node: Apply) -> Iterator[Apply]:
    for variable in node.outputs:
        for client, _ in fgraph.clients.get(variable, ()):
            if not isinstance(client, str):
                yield client
