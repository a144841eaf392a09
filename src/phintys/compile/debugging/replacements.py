"""A record of the replacements made by rewriting, whose values are compared afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from phintys.graph.features import Feature

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import RewriteTrace

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
