"""The driver of the rules for loops, which also simplifies the graphs of their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.control.loops.scan_op import Scan
from phintys.passes.inner_graphs import InnerGraphs
from phintys.passes.merging import merge
from phintys.rewriting import Worklist

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from phintys.graph.fgraph import FunctionGraph
    from phintys.rewriting import NodeRewriter, RewriteTrace

__all__ = ["Loops"]


class Loops(Worklist):
    """Apply rules for loops; do nothing to graphs without loops.

    The graphs of steps come first, those of loops in loops before all others. They are merged and
    brought into canonical form, so that the rules see what the steps compute, and so is the graph
    afterwards, for what has been moved out of the loops.

    Parameters
    ----------
    rules
        The rules for loops.
    tidy
        The driver that brings graphs into canonical form. Excluding its name leaves it out.
    name, tags
        As for :class:`~phintys.rewriting.GraphRewriter`.

    Examples
    --------
    >>> from phintys.passes.loops import Loops
    >>> Loops([], name="loops")
    <Loops loops>
    """

    def __init__(
        self,
        rules: Iterable[NodeRewriter],
        *,
        tidy: Worklist | None = None,
        name: str | None = None,
        tags: Iterable[str] = (),
    ) -> None:
        super().__init__(rules, name=name, tags=tags)
        self.tidy = tidy

    def with_rules(self, rules: Sequence[NodeRewriter]) -> Self:
        return type(self)(rules, tidy=self.tidy, name=self.name, tags=self.tags)

    def excluding(self, names: frozenset[str]) -> Self:
        found = super().excluding(names)
        tidy = self.tidy
        if tidy is not None:
            tidy = None if tidy.name in names else tidy.excluding(names)
        if tidy is self.tidy:
            return found
        return type(self)(found.rules, tidy=tidy, name=self.name, tags=self.tags)

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        if not any(isinstance(node.op, Scan) for node in fgraph.apply_nodes):
            return

        def rewrite_step(inner: FunctionGraph) -> None:
            if self.tidy is not None:
                merge.apply(inner, trace)
                self.tidy.apply(inner, trace)
            self.apply(inner, trace)

        steps = InnerGraphs(name=self.name, ops=Scan)
        steps.rewrite_within(fgraph, trace, rewrite_step)
        super().apply(fgraph, trace)
        if self.tidy is not None:
            self.tidy.apply(fgraph, trace)
