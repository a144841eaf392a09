"""The nodes through which variables influence others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.records import record
from phintys.graph import contract

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

    Pattern = list[list[bool]]

__all__ = ["PathStep", "connections", "influence"]


@record()
class PathStep:
    """A node through which an influence passes."""

    node: Apply
    positions: list[int]
    """Inputs under the influence."""
    pattern: Pattern | None
    """``[input][output] -> bool``; ``None`` where every input reaches every output."""


def influence(
    order: Sequence[Apply], sources: Iterable[Variable], blocked: Collection[Variable] = ()
) -> tuple[list[PathStep], set[Variable]]:
    """Return the nodes, of those in ``order``, that ``sources`` reach, and all variables reached.

    An Op's ``connection_pattern`` decides which of its outputs an input reaches. ``blocked``
    variables are not reached, unless they are sources themselves.
    """
    reached = set(sources)
    steps: list[PathStep] = []
    for node in order:
        positions = [i for i, variable in enumerate(node.inputs) if variable in reached]
        if not positions:
            continue
        if getattr(node.op, "connection_pattern", None) is None:
            steps.append(PathStep(node, positions, None))
            reached.update(
                [v for v in node.outputs if v not in blocked] if blocked else node.outputs
            )
            continue
        pattern = contract.connection_pattern(node)
        steps.append(PathStep(node, positions, pattern))
        reached.update(
            variable
            for o, variable in enumerate(node.outputs)
            if variable not in blocked and any(pattern[i][o] for i in positions)
        )
    return steps, reached


def connections(fgraph: FunctionGraph) -> Pattern:
    """Return ``[input][output] -> bool``, which inputs of a graph affect which outputs.

    An Op with an inner graph bases its ``connection_pattern`` on that of the graph.
    """
    reach: dict[Variable, int] = {v: 1 << i for i, v in enumerate(fgraph.inputs)}
    for node in fgraph.toposort():
        given = [reach.get(variable, 0) for variable in node.inputs]
        pattern = contract.connection_pattern(node)
        for o, output in enumerate(node.outputs):
            reach[output] = 0
            for bits, row in zip(given, pattern, strict=True):
                reach[output] |= bits if row[o] else 0
    return [
        [bool(reach.get(output, 0) >> i & 1) for output in fgraph.outputs]
        for i in range(len(fgraph.inputs))
    ]
