"""Checks of replacements on values: a rule may change how a value is computed, not the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from phintys._base.errors import BadRewrite
from phintys.backends.reference.diagnosis import describe_value
from phintys.compile.debugging.rounding import (
    nodes_between,
    overflows_midway,
    rounding_explains,
    spread,
)
from phintys.compile.debugging.values import agree, describe_difference
from phintys.graph.features import Feature
from phintys.graph.traversal import ancestors, graph_inputs
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter, RewriteTrace

    Values = Mapping[Variable, Any]


_LEVELS_SHOWN = 6
_MOST_LINES = 30


@dataclass(frozen=True, eq=False)
class Replacement:
    """The replacement of one variable by another.

    Attributes
    ----------
    old, new : Variable
        The two, which must have the same value.
    rule, pass_name : str
        The rule and the pass that made it; empty if unknown.
    before, after : str
        The graphs of the two as text, at the time: later rewrites change nodes in place.
    """

    old: Variable
    new: Variable
    rule: str
    pass_name: str
    before: str
    after: str

    def step(self) -> tuple[str, str, str, str]:
        """Return the part that must be the same when rewriting is repeated."""
        return (self.pass_name, self.rule, _head(self.old), _head(self.new))

    def __str__(self) -> str:
        place = f" in the pass {self.pass_name!r}" if self.pass_name else ""
        return f"{self.rule or 'a rewrite'}{place}: {_head(self.old)} -> {_head(self.new)}"


def _head(variable: Variable) -> str:
    return str(variable.type) if variable.owner is None else f"{variable.owner.op}"


def _shown(variable: Variable) -> str:
    """Return the graph of a variable as an indented tree, cut to a readable size."""
    lines: list[str] = []
    stack = [(variable, 0)]
    while stack:
        if len(lines) == _MOST_LINES:
            return "\n".join([*lines, "..."])
        here, level = stack.pop()
        node = here.owner
        name = str(here) if node is None else str(node.op)
        if node is not None and len(node.outputs) > 1:
            name += f"[{here.index}]"
        lines.append(f"{'  ' * level}{name} <{here.type}>")
        if node is not None and level < _LEVELS_SHOWN:
            stack.extend((given, level + 1) for given in reversed(node.inputs[:_MOST_LINES]))
    return "\n".join(lines)


class Replacements(Feature):
    """Records each variable of a graph that was replaced, and its replacement.

    Replacements that were undone, because a feature rejected the change, are dropped.

    Parameters
    ----------
    trace
        Tells which pass is running.
    """

    outlives_rewriting = True

    def __init__(self, trace: RewriteTrace | None = None) -> None:
        self._trace = trace
        self._changes: list[tuple[Apply | Literal["output"], int, Variable, Variable]] = []
        self._noted: dict[tuple[Variable, Variable], Replacement] = {}

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object,
    ) -> None:
        if reason == "revert" and self._changes and self._changes[-1] == (node, i, new, old):
            self._changes.pop()
            return
        self._changes.append((node, i, old, new))
        if (old, new) not in self._noted:
            pass_name = self._trace.current_pass if self._trace is not None else ""
            rule = str(reason) if reason is not None else ""
            self._noted[old, new] = Replacement(old, new, rule, pass_name, _shown(old), _shown(new))

    def for_inner_graph(self) -> Replacements:
        """Return the feature that records the rewriting of an inner graph of this graph."""
        return Replacements(self._trace)

    def found(self) -> list[Replacement]:
        """Return the replacements that were not undone, each once, in the order they were made."""
        stayed = dict.fromkeys((old, new) for _, _, old, new in self._changes)
        return [self._noted[pair] for pair in stayed]

    def __getstate__(self) -> dict[str, object]:
        return Replacements().__dict__  # a copy of the graph starts with an empty record


_STABLE = "stabilize"
"""The name of the pass, and the tag of rules, that may give a value where there was NaN or inf."""

_MOST_LEAVES = 10


class RewriteChecks:
    """Compares replaced variables with their replacements.

    Parameters
    ----------
    replacements
        The recorded replacements.
    rules
        Rules by name, to show their equations in messages.
    order
        Variable -> its position in the execution order.
    """

    def __init__(
        self,
        replacements: Sequence[Replacement],
        rules: Mapping[str, NodeRewriter],
        order: Mapping[Variable, int],
    ) -> None:
        self.rules = rules

        # Effects of a replacement are computed after it, so the first difference is the cause.
        def place(one: Replacement) -> int:
            return max(order.get(one.old, -1), order.get(one.new, -1))

        self.replacements = sorted(replacements, key=place)

    def check(self, known: Values, failed: Mapping[Variable, Exception]) -> None:
        """Raise if a replaced variable and its replacement have different values.

        Parameters
        ----------
        known
            Values of variables.
        failed
            Variables that could not be computed, with the reason.

        Raises
        ------
        BadRewrite
            A rule changed a value, or its result cannot be computed.
        """
        for one in self.replacements:
            if one.old not in known and not isinstance(one.old, Constant):
                continue  # rewriting removed its error, which is allowed
            old = _value(one.old, known)
            if one.new in failed:
                error = failed[one.new]
                problem = f"The new graph raises {type(error).__name__}: {error}\n  old value: "
                raise self._fault(one, problem + describe_value(old), known) from error
            if one.new not in known and not isinstance(one.new, Constant):
                continue
            new = _value(one.new, known)
            if not agree(one.old.type, old, new) and not self._excused(one, old, new, known):
                raise self._fault(one, describe_difference(old, new, "old", "new"), known)

    def _excused(self, one: Replacement, old: Any, new: Any, known: Values) -> bool:
        """Return whether rounding or intermediate overflow explains the difference."""
        try:
            common = {*ancestors([one.old])} & {*ancestors([one.new])}
            olds, news = nodes_between(one.old, common), nodes_between(one.new, common)
            moved = spread(olds, one.old, known) + spread(news, one.new, known)
        except Exception:  # noqa: BLE001 - an Op that cannot be run again excuses nothing
            return False
        if rounding_explains(old, new, moved):
            return True
        return overflows_midway(olds, known, poles=self._is_stable(one))

    def _is_stable(self, one: Replacement) -> bool:
        rule = self.rules.get(one.rule)
        return one.pass_name == _STABLE or (rule is not None and _STABLE in rule.tags)

    def _fault(self, one: Replacement, problem: str, known: Values) -> BadRewrite:
        rule = self.rules.get(one.rule)
        equation = f" ({rule.equation})" if rule is not None and rule.equation else ""
        place = f" of the pass {one.pass_name!r}" if one.pass_name else ""
        lines = [
            f"The rule {one.rule or '(unnamed)'}{equation}{place} changed a value.",
            problem,
            f"The variable {one.old} of type {one.old.type}, made at\n  {one.old.origin}",
            "was\n" + _indented(one.before),
            "and became\n" + _indented(one.after),
        ]
        leaves = [leaf for leaf in graph_inputs([one.old, one.new]) if leaf in known]
        if leaves:
            lines.append("for")
            lines.extend(
                f"  {leaf}: {describe_value(known[leaf])}" for leaf in leaves[:_MOST_LEAVES]
            )
        name = one.rule or one.pass_name
        lines.append(f"Fix the rule, or exclude it: mode.excluding({name!r}).")
        return BadRewrite("\n".join(lines))


def _value(variable: Variable, known: Values) -> Any:
    return variable.data if isinstance(variable, Constant) else known[variable]


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def steps_differ(first: Sequence[Replacement], second: Sequence[Replacement]) -> str:
    """Return a description of the first difference between two runs; empty if there is none."""
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        if one.step() != other.step():
            return f"Step {number} was\n  {one}\nthe first time, and then\n  {other}"
    if len(first) != len(second):
        longer, more = (first, "first") if len(first) > len(second) else (second, "second")
        extra = longer[min(len(first), len(second))]
        return f"The {more} time there was an additional step:\n  {extra}"
    return ""
