"""The trace of rewrites: the rules applied, with their nodes, passes, order and times."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from phintys._base.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


@record(frozen=True)
class RewriteEvent:
    """One application of a rule.

    Attributes
    ----------
    number : int
        Position in the trace, counted from 0.
    pass_name, rule : str
        The pass that ran, and the rule that it applied.
    node : Apply or None
        The node that was rewritten; ``None`` for a change that is not about a single node.
    replacements : tuple of (Variable, Variable)
        Pairs of a replaced variable and its replacement.
    seconds : float
        Time taken by the rule and the replacement.
    refused : str
        Why the graph rejected the change; empty if it was accepted.
    """

    number: int
    pass_name: str
    rule: str
    node: Apply | None
    replacements: tuple[tuple[Variable, Variable], ...]
    seconds: float
    refused: str = ""

    def __str__(self) -> str:
        changes = ", ".join(f"{shown(old)} -> {shown(new)}" for old, new in self.replacements)
        refused = f"  (refused: {self.refused})" if self.refused else ""
        place = "" if self.node is None else f"\n    {self.node.origin}"
        where = f"{self.pass_name}/" if self.pass_name else ""
        return f"{self.number}: {where}{self.rule}: {changes}{refused}{place}"


def shown(variable: Variable) -> str:
    """Return the text of a variable in a trace: that of the node that computes it."""
    return str(variable) if variable.owner is None else str(variable.owner)


@record()
class RewriteTrace:
    """A record of the passes that ran over a graph and of every rule that they applied.

    Pass one to :meth:`Pipeline.apply <phintys.rewriting.Pipeline.apply>` and read it afterwards. It
    keeps the replaced nodes alive, so discard it after use.

    Attributes
    ----------
    events : list of RewriteEvent
        The events, in chronological order.
    passes : list of (str, float)
        Name and seconds of each pass, in execution order.

    Examples
    --------
    >>> from phintys.rewriting import RewriteTrace
    >>> trace = RewriteTrace()
    >>> trace.record("fuse", None, ())
    >>> trace.counts()
    Counter({'fuse': 1})
    """

    events: list[RewriteEvent] = field(default_factory=list["RewriteEvent"])
    passes: list[tuple[str, float]] = field(default_factory=list["tuple[str, float]"])
    current_pass: str = ""

    def record(
        self,
        rule: str,
        node: Apply | None,
        replacements: tuple[tuple[Variable, Variable], ...],
        seconds: float = 0.0,
        refused: str = "",
    ) -> None:
        """Add an event."""
        self.events.append(
            RewriteEvent(
                len(self.events),
                self.current_pass,
                rule,
                node,
                replacements,
                seconds,
                refused,
            )
        )

    def applied(self, rule: str) -> list[RewriteEvent]:
        """Return the events of one rule, without those that the graph rejected."""
        return [event for event in self.events if event.rule == rule and not event.refused]

    def counts(self) -> Counter[str]:
        """Return how many times each rule was applied."""
        return Counter(event.rule for event in self.events if not event.refused)

    def seconds(self) -> dict[str, float]:
        """Return the total time of each rule, slowest first."""
        total: dict[str, float] = {}
        for event in self.events:
            total[event.rule] = total.get(event.rule, 0.0) + event.seconds
        return dict(sorted(total.items(), key=lambda entry: -entry[1]))

    def summary(self) -> str:
        """Return a table of passes and rules with their counts and times."""
        lines = [f"{seconds * 1e3:9.2f} ms  {name}" for name, seconds in self.passes]
        counts = self.counts()
        for rule, seconds in self.seconds().items():
            lines.append(f"{seconds * 1e3:9.2f} ms  {counts[rule]:6d} x {rule}")
        return "\n".join(lines)

    def __iter__(self) -> Iterator[RewriteEvent]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __str__(self) -> str:
        return "\n".join(map(str, self.events)) or "(nothing was rewritten)"
