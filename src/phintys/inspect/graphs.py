"""Pictures of graphs: nodes of Ops, inner graphs, and the lines that made them."""

from __future__ import annotations

from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import graph_inputs, io_toposort
from phintys.graph.variable import Constant, Variable
from phintys.inspect.drawings import BLOCK, Drawing, DrawnEdge, short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.compile.profile.measured import NodeCost
    from phintys.graph.apply import Apply
    from phintys.rewriting.trace import RewriteTrace


def draw_graph(
    what: Any,
    title: str = "graph",
    *,
    costs: Mapping[Apply, NodeCost] | None = None,
    trace: RewriteTrace | None = None,
) -> Drawing:
    """Return a picture of a graph.

    Parameters
    ----------
    what
        A variable, a sequence of variables, a FunctionGraph or a compiled function.
    title
        Its title.
    costs
        What nodes cost, if they were measured.
    trace
        The rewrites that led to the graph: nodes tell which rule made them.

    Returns
    -------
    Drawing
        Inner graphs are parts, and so are nodes that follow each other and were made by one line of
        the user's program. Many inputs stand beside the first node that reads them, and many
        outputs beside the one that makes them.

    Raises
    ------
    ArgumentError
        ``what`` is something else.
    """
    inputs, outputs = _ends(what)
    drawing = Drawing(title)
    _Painter(drawing, costs or {}, _rules_by_node(trace)).graph(inputs, outputs, None)
    return drawing


def _ends(what: Any) -> tuple[Sequence[Variable], Sequence[Variable]]:
    """Return the inputs and outputs of a graph, in any of the forms that a user has it."""
    maker = getattr(what, "maker", None)
    graph = getattr(maker, "fgraph", what)
    if isinstance(graph, FunctionGraph):
        return graph.inputs, graph.outputs
    outputs = [what] if isinstance(what, Variable) else what
    if not isinstance(outputs, list | tuple) or not all(isinstance(x, Variable) for x in outputs):
        msg = (
            "A picture shows variables, a FunctionGraph or a compiled function, got "
            f"{type(what).__name__}: {short(str(what))}."
        )
        raise ArgumentError(msg)
    leaves = dict.fromkeys(graph_inputs(outputs))
    return [x for x in leaves if not isinstance(x, Constant)], outputs


class _Painter:
    """Adds graphs to a picture.

    Parameters
    ----------
    drawing
        The picture.
    costs
        What nodes cost, if they were measured.
    rules
        The rule that made a node, if it is known.
    """

    def __init__(
        self, drawing: Drawing, costs: Mapping[Apply, NodeCost], rules: Mapping[Apply, str]
    ) -> None:
        self.drawing = drawing
        self.costs = costs
        self.rules = rules

    def graph(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], part: int | None
    ) -> None:
        """Add a graph, and those inside of its nodes."""
        pending = [(inputs, outputs, part, False)]
        while pending:
            inputs, outputs, part, is_inner = pending.pop()
            nodes = io_toposort(inputs, outputs)
            is_flat = is_inner and len(nodes) <= 2 * BLOCK
            own = [part] * len(nodes) if is_flat else self._parts_of(nodes, part)
            beside = dict(zip(nodes, own, strict=True))
            homes = _first_readers(nodes) if len(inputs) > BLOCK else {}
            numbers = {x: self._leaf(x, beside[homes[x]] if x in homes else part) for x in inputs}
            for node, inside in beside.items():
                pending += self._node(node, numbers, inside)
            for number, out in enumerate(outputs):
                label = "output" if len(outputs) == 1 else f"output {number}"
                home = beside[out.owner] if len(outputs) > BLOCK and out.owner in beside else part
                at = self.drawing.node(out.name or label, "output", part=home)
                self._edge(numbers, out, at, home)

    def _leaf(self, x: Variable, part: int | None) -> int:
        kind = "shared" if isinstance(x, SharedVariable) else "input"
        label, facts = str(x), [str(x.type)]
        if isinstance(x, Constant):
            value = _value_text(x)
            kind, label, facts = "constant", x.name or value, [*facts, value]
        return self.drawing.node(short(label), kind, part=part, facts=facts)

    def _node(self, node: Apply, numbers: dict[Variable, int], part: int | None) -> list[Any]:
        """Add a node, and return the graphs inside of it."""
        around = part
        inner = node.op if isinstance(node.op, HasInnerGraph) else None
        facts = [f"{x.name or f'result {i}'}: {x.type}" for i, x in enumerate(node.outputs)]
        facts += [repr(node.op), str(node.origin)]
        if node in self.rules:
            facts.append(f"by the rule {self.rules[node]}")
        label = short(repr(node.op))
        family = _family(node.op)
        if inner is not None:
            part = self.drawing.part(label, "inner graph", part)
        cost = self.costs.get(node)
        seconds, size = (None, None) if cost is None else (cost.seconds, cost.size)
        at = self.drawing.node(label, "op", family, part, facts, seconds, size)
        for x in node.inputs:
            self._edge(numbers, x, at, around)
        numbers.update((out, at) for out in node.outputs)
        return [] if inner is None else [(inner.fgraph.inputs, inner.fgraph.outputs, part, True)]

    def _edge(
        self, numbers: dict[Variable, int], x: Variable, target: int, part: int | None
    ) -> None:
        if x not in numbers:  # a constant, which stands beside each of its readers
            self.drawing.edges.append(DrawnEdge(self._leaf(x, part), target, _type_text(x)))
            return
        self.drawing.edges.append(DrawnEdge(numbers[x], target, _type_text(x)))

    def _parts_of(self, nodes: Sequence[Apply], part: int | None) -> list[int | None]:
        """Return the part of each node: those that follow each other and were made by one line.

        A stretch of the order of execution has no path that leaves it and comes back, so that what
        is folded has no circles.
        """
        runs = [list(run) for _, run in groupby(nodes, _place_of)]

        def label(first: int, end: int) -> str:
            return _block_text(runs[first][0], runs[end - 1][0])

        found: list[int | None] = []
        for run, block in zip(runs, self.drawing.blocks(len(runs), label, part), strict=True):
            found += [block] if len(run) == 1 else self._parts_of_line(run, block)
        return found

    def _parts_of_line(self, run: Sequence[Apply], block: int | None) -> list[int | None]:
        """Return the parts of nodes that one line made."""
        line = self.drawing.part(_line_text(run[0]), "line", block)
        return self.drawing.blocks(len(run), lambda first, end: f"{first + 1} to {end}", line)


def _first_readers(nodes: Sequence[Apply]) -> dict[Variable, Apply]:
    """Return the first node that reads each variable."""
    return {x: node for node in reversed(nodes) for x in node.inputs}


def _rules_by_node(trace: RewriteTrace | None) -> dict[Apply, str]:
    """Return the rule that made each node which replaced another."""
    return {
        new.owner: f"{event.pass_name}/{event.rule}"
        for event in (() if trace is None else trace.events)
        if not event.refused
        for _, new in event.replacements
        if new.owner is not None
    }


def _place_of(node: Apply) -> tuple[str, int]:
    return node.origin.filename, node.origin.lineno


def _line_text(node: Apply) -> str:
    file, line = _place_of(node)
    source = short(node.origin.source.strip())
    return f"{PurePath(file).name}:{line}  {source}".rstrip()


def _block_text(first: Apply, last: Apply) -> str:
    (file, line), (last_file, last_line) = _place_of(first), _place_of(last)
    end = last_line if last_file == file else f"{PurePath(last_file).name}:{last_line}"
    return f"{PurePath(file).name}:{line} ... {end}"


def _family(op: Any) -> str:
    """Return the module of an Op's class, as a word: ``tensor.elemwise`` of Phintys's own."""
    module = type(op).__module__
    own, _, rest = module.partition(".")
    return rest if own == "phintys" else "user"


def _type_text(x: Variable) -> str:
    """Return the dtype and shape of a tensor, shorter than its Type is printed."""
    type_: Any = x.type
    shape = getattr(type_, "shape", None)
    if shape is None or not hasattr(type_, "dtype"):
        return str(type_)
    return f"{type_.dtype}[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _value_text(x: Constant) -> str:
    data: Any = x.data
    if isinstance(data, np.ndarray) and data.size > 8:
        return f"{data.size} elements"
    return short(str(data))
