"""What was rewritten: which rule changed which node, in which pass, in what order, how long."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from phintys._base.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

__all__ = ["RewriteEvent", "RewriteTrace", "shown"]


@record(frozen=True)
class RewriteEvent:
    """One rule, applied once.

    Attributes
    ----------
    number : int
        Position in the trace, counted from 0.
    pass_name, rule : str
        The pass that ran, and the rule that it applied.
    node : Apply or None
        The node that was rewritten; ``None`` for a change that belongs to no one node.
    replacements : tuple of (Variable, Variable)
        What was replaced, and by what.
    seconds : float
        Time that the rule and the replacement took.
    refused : str
        Why the graph refused the change; empty for one that was made.
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
    """Return how a variable appears in a trace: as the node that computes it."""
    return str(variable) if variable.owner is None else str(variable.owner)


@record()
class RewriteTrace:
    """A record of the passes that ran over a graph and of every rule that they applied.

    Hand one to :meth:`Pipeline.apply <phintys.rewriting.Pipeline.apply>` and read it afterwards.
    It keeps the replaced nodes alive, so drop it when it has been read.

    Attributes
    ----------
    events : list of RewriteEvent
        In the order in which they happened.
    passes : list of (str, float)
        Name and seconds of each pass, in the order in which they ran.

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
        """Return the events of one rule, without those that the graph refused."""
        return [event for event in self.events if event.rule == rule and not event.refused]

    def counts(self) -> Counter[str]:
        """Return how often each rule was applied."""
        return Counter(event.rule for event in self.events if not event.refused)

    def seconds(self) -> dict[str, float]:
        """Return the time that applying each rule took, the slowest rule first."""
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
