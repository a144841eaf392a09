"""The driver of the rules for loops, which also simplifies the graphs of their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.late import LateModule, is_imported
from phintys.passes.inner_graphs import InnerGraphs
from phintys.passes.merging import merge
from phintys.rewriting import Worklist

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Self

    from phintys.control.loops import scan_op
    from phintys.graph.fgraph import FunctionGraph
    from phintys.passes import loop_arguments
    from phintys.passes.folding import ConstantFolding
    from phintys.rewriting import LateRules, NodeRewriter, RewriteTrace, RuleList
else:
    # They are imported with the first graph that has a loop.
    scan_op = LateModule("phintys.control.loops.scan_op")
    loop_arguments = LateModule("phintys.passes.loop_arguments")

__all__ = ["Loops"]

_MOST_ROUNDS = 3
"""How often constants that the rules made outside of loops are taken into them."""


class Loops(Worklist):
    """Apply rules for loops; do nothing to graphs without loops.

    The graphs of steps come first, those of loops in loops before all others. Constants are moved
    into them, they are merged, folded and brought into canonical form, so that the rules see what
    the steps compute, and so is the graph afterwards, for what has been moved out of the loops.
    What turns out to be constant there belongs to the steps again, and all is done once more.

    Parameters
    ----------
    rules
        The rules for loops.
    tidy
        The driver that brings graphs into canonical form. Excluding its name leaves it out.
    fold
        The pass that computes constants. Excluding its name leaves it out.
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
        rules: Iterable[NodeRewriter | LateRules | RuleList],
        *,
        tidy: Worklist | None = None,
        fold: ConstantFolding | None = None,
        name: str | None = None,
        tags: Iterable[str] = (),
    ) -> None:
        super().__init__(rules, name=name, tags=tags)
        self.tidy = tidy
        self.fold = fold

    def with_rules(self, rules: Sequence[NodeRewriter]) -> Self:
        return type(self)(rules, tidy=self.tidy, fold=self.fold, name=self.name, tags=self.tags)

    def excluding(self, names: frozenset[str]) -> Self:
        rules = super().excluding(names).rules
        tidy = None if self.tidy is None or self.tidy.name in names else self.tidy.excluding(names)
        fold = None if self.fold is None or self.fold.name in names else self.fold
        if (tidy, fold, tuple(rules)) == (self.tidy, self.fold, tuple(self.rules)):
            return self
        return type(self)(rules, tidy=tidy, fold=fold, name=self.name, tags=self.tags)

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        known: list[Any] = []
        for _ in range(_MOST_ROUNDS):
            if not _loops(fgraph):
                return
            self._apply_once(fgraph, trace, known)
            if not any(map(loop_arguments.has_constant_rows, fgraph.apply_nodes)):
                return
            known = _loops(fgraph)

    def _apply_once(
        self, fgraph: FunctionGraph, trace: RewriteTrace | None, known: Collection[Any]
    ) -> None:
        """Simplify the steps of all loops but those that are known, and apply the rules."""
        constants = [rule for rule in self.rules if rule in loop_arguments.CONSTANT_ARGUMENTS]
        Worklist(constants, name=self.name).apply(fgraph, trace)

        def rewrite_step(inner: FunctionGraph) -> None:
            if self.tidy is not None:
                merge.apply(inner, trace)
            self._tidy(inner, trace)
            self.apply(inner, trace)

        steps = InnerGraphs(name=self.name, ops=scan_op.Scan, known=known)
        steps.rewrite_within(fgraph, trace, rewrite_step)
        tidied = set(fgraph.apply_nodes) if known else set[Any]()
        super().apply(fgraph, trace)
        if any(not _is_loop(node.op) for node in fgraph.apply_nodes - tidied):
            self._tidy(fgraph, trace)

    def _tidy(self, fgraph: FunctionGraph, trace: RewriteTrace | None) -> None:
        if self.fold is not None:
            self.fold.apply(fgraph, trace)
        if self.tidy is not None:
            self.tidy.apply(fgraph, trace)


def _loops(fgraph: FunctionGraph) -> list[Any]:
    return [node.op for node in fgraph.apply_nodes if _is_loop(node.op)]


def _is_loop(op: object) -> bool:
    return is_imported(scan_op) and isinstance(op, scan_op.Scan)
