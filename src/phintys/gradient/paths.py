"""The nodes through which variables influence others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.records import record
from phintys.graph import contract

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

    Pattern = list[list[bool]]

__all__ = ["Step", "influence"]


@record()
class Step:
    """A node through which an influence passes."""

    node: Apply
    positions: list[int]
    """Inputs under the influence."""
    pattern: Pattern | None
    """``[input][output] -> bool``; ``None`` where every input reaches every output."""


def influence(
    order: Sequence[Apply], sources: Iterable[Variable], blocked: Collection[Variable] = ()
) -> tuple[list[Step], set[Variable]]:
    """Return the nodes, of those in ``order``, that ``sources`` reach, and all variables reached.

    An Op's ``connection_pattern`` decides which of its outputs an input reaches. ``blocked``
    variables are not reached, unless they are sources themselves.
    """
    reached = set(sources)
    steps: list[Step] = []
    for node in order:
        positions = [i for i, variable in enumerate(node.inputs) if variable in reached]
        if not positions:
            continue
        if getattr(node.op, "connection_pattern", None) is None:
            steps.append(Step(node, positions, None))
            reached.update(
                [v for v in node.outputs if v not in blocked] if blocked else node.outputs
            )
            continue
        pattern = contract.connection_pattern(node)
        steps.append(Step(node, positions, pattern))
        reached.update(
            variable
            for o, variable in enumerate(node.outputs)
            if variable not in blocked and any(pattern[i][o] for i in positions)
        )
    return steps, reached
