"""Rewriting of the inner graphs of Ops, by the pipeline of the outer graph, and inlining."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from phintys._base.errors import InconsistencyError, OpContractError, add_note
from phintys.graph.aliasing import DestroyHandler
from phintys.graph.cloning import Inlinable
from phintys.graph.equality import equal_computations
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph, require_calls
from phintys.rewriting import GraphRewriter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from phintys.graph.apply import Apply
    from phintys.rewriting import RewriteTrace


class InnerGraphs(GraphRewriter):
    """op[graph](*xs) -> op[graph rewritten by the same pipeline](*xs)

    Each inner graph is rewritten once, by all passes of the pipeline that this one is part of; as
    this one is among them, so are the inner graphs of Ops inside it. The pass follows those that
    remove nodes and merge equal ones, so that no time is spent on graphs that are not run.

    Parameters
    ----------
    name
        Name in traces and errors.
    ops
        The class of the Ops whose graphs are rewritten.
    known
        Ops, compared by identity, whose graphs need not be rewritten again.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.gradient import jacobian
    >>> from phintys.passes import rewrite_graph
    >>> x = pt.dvector("x")
    >>> loop = jacobian(pt.log(1 + x) * x[0], x, vectorize=False)
    >>> sizes = [len(one.owner.op.fgraph.apply_nodes) for one in (loop, rewrite_graph(loop))]
    >>> sizes[0] > sizes[1]
    True
    """

    def __init__(
        self, name: str = "inner_graphs", ops: type = HasInnerGraph, known: Collection[Any] = ()
    ) -> None:
        super().__init__(name=name)
        self.ops = ops
        self.known = {id(op): op for op in known}

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Do nothing: on its own, the pass is the whole pipeline."""

    def rewrite_within(
        self,
        fgraph: FunctionGraph,
        trace: RewriteTrace | None,
        pipeline: Callable[[FunctionGraph], None],
    ) -> None:
        """Rewrite the inner graphs of all Ops of a graph.

        Parameters
        ----------
        fgraph
            The graph, modified in place.
        trace
            The trace in which to record the rewrites.
        pipeline
            Runs the whole pipeline over another graph.
        """
        done: dict[Any, HasInnerGraph] = {}
        for node in fgraph.toposort():
            op = node.op
            if not isinstance(op, HasInnerGraph) or not isinstance(op, self.ops):
                continue
            if not op.rewrites_inner or id(op) in self.known:
                continue
            start = perf_counter()
            if op not in done:
                done[op] = _rewritten(op, fgraph, trace, pipeline)
            if done[op] is not op:
                self._replace(fgraph, node, done[op], trace, start)

    def _replace(
        self,
        fgraph: FunctionGraph,
        node: Apply,
        op: Any,
        trace: RewriteTrace | None,
        start: float,
    ) -> None:
        twin = node.clone()
        twin.op = op
        used = zip(node.outputs, twin.outputs, strict=True)
        pairs = [(old, new) for old, new in used if fgraph.clients.get(old)]
        fgraph.replace_all_validate(pairs, reason=self.name)
        if trace is not None:
            trace.record(self.name, node, tuple(pairs), perf_counter() - start)


def _rewritten(
    op: Any,
    outer: FunctionGraph,
    trace: RewriteTrace | None,
    pipeline: Callable[[FunctionGraph], None],
) -> HasInnerGraph:
    """Return an Op with a rewritten inner graph; the Op itself if nothing changed."""
    require_calls(op)
    fgraph = FunctionGraph(op.inner_inputs, op.inner_outputs)
    fgraph.attach_feature(DestroyHandler(fgraph.inputs[position] for position in op.mutable_inner))
    for feature in outer.features:
        for_inner = getattr(feature, "for_inner_graph", None)
        if for_inner is not None:
            fgraph.attach_feature(for_inner())
    try:
        fgraph.validate()
        passes = 0 if trace is None else len(trace.passes)
        pipeline(fgraph)
        if trace is not None:
            del trace.passes[passes:]  # their time is part of this pass's
    except Exception as error:
        add_note(error, f"In the inner graph of {op}.")
        raise
    for feature in fgraph.features:
        if not getattr(feature, "outlives_rewriting", False):
            fgraph.remove_feature(feature)
    # Merged nodes compute the same as separate ones, but fewer of them.
    if len(fgraph.apply_nodes) == len(op.fgraph.apply_nodes) and equal_computations(
        fgraph.outputs, op.inner_outputs, fgraph.inputs, op.inner_inputs
    ):
        return op
    twin = op.with_inner(fgraph)
    if not isinstance(twin, HasInnerGraph):
        msg = f"{op}.with_inner must return an Op with an inner graph, got {twin!r}."
        raise OpContractError(msg)
    return twin


inner_graphs = InnerGraphs()


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
    >>> from phintys.passes.inner_graphs import inline_graphs
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
