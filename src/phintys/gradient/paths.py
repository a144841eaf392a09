"""Which nodes lie between some variables and some outputs, without recursion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from phintys.graph import contract

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

    Pattern = list[list[bool]]

__all__ = ["Step", "influence", "nodes_below"]


def nodes_below(outputs: Iterable[Variable], blocked: Collection[Variable] = ()) -> list[Apply]:
    """Return the nodes that compute ``outputs``, each after those whose outputs it reads.

    Parameters
    ----------
    outputs
        Where to start.
    blocked
        Variables that are not followed to the nodes that compute them.
    """
    order: list[Apply] = []
    done: set[Apply] = set()
    stack: list[tuple[Apply, bool]] = [
        (variable.owner, False)
        for variable in reversed(list(outputs))
        if variable.owner is not None and variable not in blocked
    ]
    while stack:
        node, inputs_done = stack.pop()
        if inputs_done:
            order.append(node)
            continue
        if node in done:
            continue
        done.add(node)
        stack.append((node, True))
        for variable in node.inputs:
            below = variable.owner
            if below is not None and below not in done and variable not in blocked:
                stack.append((below, False))
    return order


@dataclass(slots=True)
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

    An Op's ``connection_pattern`` decides which of its outputs an input reaches. What is
    ``blocked`` is not reached, unless it is a source itself.
    """
    reached = set(sources)
    steps: list[Step] = []
    for node in order:
        positions = [i for i, variable in enumerate(node.inputs) if variable in reached]
        if not positions:
            continue
        if getattr(node.op, "connection_pattern", None) is None:
            steps.append(Step(node, positions, None))
            reached.update(v for v in node.outputs if v not in blocked)
            continue
        pattern = contract.connection_pattern(node)
        steps.append(Step(node, positions, pattern))
        reached.update(
            variable
            for o, variable in enumerate(node.outputs)
            if variable not in blocked and any(pattern[i][o] for i in positions)
        )
    return steps, reached
