"""Inlining: replacement of Ops by their inner graphs."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from phintys._base.errors import InconsistencyError
from phintys.graph.cloning import Inlinable
from phintys.rewriting import GraphRewriter

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.rewriting import RewriteTrace


class InlineGraphs(GraphRewriter):
    """op[graph](*xs) -> graph(*xs)

    Nodes of :class:`~phintys.control.OpFromGraph` are replaced, unless they were made with
    ``inline=False``, and so are those in their inner graphs. All other passes then see through
    them: equal computations are merged, and elementwise ones fused, across their borders.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.control import OpFromGraph
    >>> from phintys.graph import FunctionGraph
    >>> from phintys.passes.inline import inline_graphs
    >>> x = pt.dvector("x")
    >>> op = OpFromGraph([x], [x + 1])
    >>> fgraph = FunctionGraph([x], [op(op(x))], copy_inputs=False)
    >>> inline_graphs.apply(fgraph)
    >>> phintys.pprint(fgraph.outputs)
    'x + 1.0 + 1.0'
    """

    def __init__(self) -> None:
        super().__init__(name="inline_graphs")

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Replace all nodes that are to be inlined."""
        kept: set[Apply] = set()
        while any(_is_inlined(node.op) and node not in kept for node in fgraph.apply_nodes):
            for node in fgraph.toposort():
                if _is_inlined(node.op) and node not in kept and node in fgraph.apply_nodes:
                    self._replace(fgraph, node, trace, kept)

    def _replace(
        self, fgraph: FunctionGraph, node: Apply, trace: RewriteTrace | None, kept: set[Apply]
    ) -> None:
        start = perf_counter()
        op: Any = node.op
        pairs = [
            (old, old.type.filter_variable(new))
            for old, new in zip(node.outputs, op.inlined(node.inputs), strict=True)
            if fgraph.clients.get(old)
        ]
        try:
            fgraph.replace_all_validate(pairs, reason=self.name)
        except InconsistencyError:
            # Another node overwrites an output, which is new memory only while the Op is there.
            kept.add(node)
            return
        if trace is not None:
            trace.record(self.name, node, tuple(pairs), perf_counter() - start)


def _is_inlined(op: object) -> bool:
    return isinstance(op, Inlinable) and op.inline is not False


inline_graphs = InlineGraphs()
