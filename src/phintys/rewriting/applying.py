"""Application of one rule to one node, with all checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import InconsistencyError, RewriteError, add_note
from phintys._base.origin import inherit_origin
from phintys._base.records import record
from phintys.graph.variable import Variable
from phintys.rewriting.trace import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.rewriting.rewriter import NodeRewriter
    from phintys.rewriting.trace import RewriteTrace

    Pairs = list[tuple[Variable, Variable]]


@record()
class Proposal:
    """The replacements that a rule proposes for a graph.

    Attributes
    ----------
    rule, node
        The rule, and the node to which it was applied.
    pairs
        Variables of the graph, and their replacements.
    start
        The time at which the rule was tried, if tracing.
    """

    rule: NodeRewriter
    node: Apply
    pairs: Pairs
    start: float = 0.0

    def __str__(self) -> str:
        changes = ", ".join(f"{shown(old)} -> {shown(new)}" for old, new in self.pairs)
        return f"{self.rule.name}: {changes}"

    def carry_out(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> bool:
        """Make the replacements; return whether the features of the graph accepted them."""
        refused = ""
        try:
            fgraph.replace_all_validate(self.pairs, reason=self.rule.name)
        except InconsistencyError as error:
            refused = str(error)
        if trace is not None:
            seconds = perf_counter() - self.start
            trace.record(self.rule.name, self.node, tuple(self.pairs), seconds, refused)
        return not refused


def propose(
    fgraph: FunctionGraph,
    node: Apply,
    rules: Iterator[NodeRewriter],
    trace: RewriteTrace | None = None,
) -> Proposal | None:
    """Try rules on a node until one proposes a change; the untried ones are left in ``rules``.

    New nodes built by the rules inherit the origin of the node.

    Raises
    ------
    RewriteError
        A rule returned an invalid replacement.
    """
    start = 0.0
    with inherit_origin(node.origin):
        for rule in rules:
            if trace is not None:
                start = perf_counter()
            try:
                result = rule.transform(fgraph, node)
            except Exception as error:
                add_note(error, f"In the rule {rule.name}, for {node}, made at\n  {node.origin}")
                raise
            if result is None or result is False:
                continue
            pairs = _pairs(fgraph, node, rule, result)
            if pairs:
                return Proposal(rule, node, pairs, start)
    return None


def apply_rule(
    fgraph: FunctionGraph, node: Apply, rule: NodeRewriter, trace: RewriteTrace | None = None
) -> bool:
    """Try a rule on a node; return whether it changed the graph.

    New nodes built by the rule inherit the origin of the node.

    Raises
    ------
    RewriteError
        The rule returned an invalid replacement.
    """
    proposal = propose(fgraph, node, iter((rule,)), trace)
    return proposal is not None and proposal.carry_out(fgraph, trace)


def _pairs(fgraph: FunctionGraph, node: Apply, rule: NodeRewriter, result: Any) -> Pairs:
    """Return the pairs (old, new) of a rule's result, validated."""
    pairs: Pairs = []
    for old, new in _proposed(node, rule, result):
        if not isinstance(new, Variable):
            if new is None:
                continue
            msg = (
                f"{_where(rule, node)} returned {new!r} of type {type(new).__name__} in place of "
                f"{old}: expected a Variable, or None for an output that stays."
            )
            raise RewriteError(msg)
        if new is old or not fgraph.clients.get(old):
            continue
        pairs.append((old, _fitting(old, new, rule, node)))
    return pairs


def _proposed(node: Apply, rule: NodeRewriter, result: Any) -> list[tuple[Variable, Any]]:
    if isinstance(result, Mapping):
        return list(cast("Mapping[Variable, Any]", result).items())
    if isinstance(result, list | tuple):
        results = cast("Sequence[Any]", result)
        if len(results) == len(node.outputs):
            return list(zip(node.outputs, results, strict=True))
        msg = (
            f"{_where(rule, node)} returned {len(results)} replacements for {len(node.outputs)} "
            "outputs: it must return one for each, None for one that stays."
        )
        raise RewriteError(msg)
    hint = " Write [variable] for a single output." if isinstance(result, Variable) else ""
    msg = (
        f"{_where(rule, node)} returned {result!r}: expected None or False, a list with a "
        f"variable for each output, or a dict from variables to variables.{hint}"
    )
    raise RewriteError(msg)


def _fitting(old: Variable, new: Variable, rule: NodeRewriter, node: Apply) -> Variable:
    """Return ``new``, converted if necessary, as a valid replacement of ``old``."""
    if new.type == old.type or old.type.is_super(new.type):
        return new
    # A Type may be able to restore static information that was lost, such as a size.
    converted = old.type.convert_variable(new) if old.type.in_same_class(new.type) else None
    if converted is not None and old.type.is_super(converted.type):
        return converted
    msg = (
        f"{_where(rule, node)} replaced {old} of type {old.type} by {new} of type {new.type}. "
        "A replacement must have the same type (or a special case of it): cast it, or return "
        "None where the types differ."
    )
    raise RewriteError(msg)


def _where(rule: NodeRewriter, node: Apply) -> str:
    equation = f" ({rule.equation})" if rule.equation else ""
    return f"The rule {rule.name}{equation}, for {node}, made at\n  {node.origin}\n"
