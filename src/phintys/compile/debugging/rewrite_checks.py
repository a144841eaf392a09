"""Checks of replacements on values: a rule may change how a value is computed, not the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from phintys._base.errors import BadRewrite
from phintys.backends.reference.diagnosis import describe_value
from phintys.compile.debugging.rounding import (
    nodes_between,
    overflows_midway,
    rounding_explains,
    spread,
)
from phintys.compile.debugging.values import agree, describe_difference
from phintys.graph.traversal import ancestors, graph_inputs
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from phintys.compile.debugging.replacements import Replacement
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

    Values = Mapping[Variable, Any]

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
