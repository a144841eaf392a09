"""Ops made of graphs with gradients of their own: CustomOp, and Checkpoint, computed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.control.fences import fence
from phintys.control.graph_ops.from_graph import OpFromGraph
from phintys.gradient.arithmetic import sum_of
from phintys.graph.null_type import DisconnectedType, NullType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.gradient.custom_rules import Rules
    from phintys.graph.variable import Variable


class Checkpoint(OpFromGraph):
    """An OpFromGraph whose gradient keeps its inputs and no intermediate results.

    Use :func:`~phintys.gradient.checkpoint` to make one.

    The gradient contains the inner graph again, applied to inputs that have passed a
    :class:`~phintys.control.fences.Fence` behind the gradients for the outputs: so it is not merged
    with the first computation, and starts only when these are known. A second fence holds back each
    of its results until all of them are there. Otherwise some could be left for later, with what
    they need kept until then.

    Parameters
    ----------
    inputs, outputs
        As for OpFromGraph.
    name
        A name, for printing and profiles.
    """

    __props__ = OpFromGraph.__props__

    def __init__(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], name: str | None = None
    ) -> None:
        super().__init__(inputs, outputs, name=name)

    def like(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], name: str
    ) -> OpFromGraph:
        """Return a checkpoint of other expressions."""
        return Checkpoint(inputs, outputs, name)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Pull the gradients back through the inner graph, computed again."""
        known = [g for g in output_grads if not isinstance(g.type, DisconnectedType)]
        found = super().L_op(fence(inputs, known), outputs, output_grads)
        made = [
            g
            for g in found
            if g.owner is not None
            and isinstance(g.owner.op, Checkpoint)
            and not isinstance(g.type, NullType)
        ]
        passed = dict(zip(made, fence(made), strict=True))
        return [passed.get(g, g) for g in found]


class CustomOp(OpFromGraph):
    """An OpFromGraph of a function with rules for its derivatives.

    Use :func:`~phintys.gradient.custom_gradient` to make one.

    Parameters
    ----------
    inputs
        The arguments, and what the function captures.
    outputs
        What it returns.
    rules
        The derivatives for the arguments.
    name
        A name, for printing and profiles.
    """

    __props__ = (*OpFromGraph.__props__, "rules")

    def __init__(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], rules: Rules, name: str
    ) -> None:
        super().__init__(inputs, outputs, name=name)
        self.rules = rules

    @property
    def has_own_derivatives(self) -> bool:
        """Whether derivatives are given: always."""
        return True

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Return ``[input][output] -> bool``: arguments affect all outputs."""
        rows = [list(row) for row in self._connections]
        rows[: self.rules.count] = [[True] * len(node.outputs)] * self.rules.count
        return rows

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients of the rules; those of the inner graph for what is captured."""
        count = self.rules.count
        found = self.rules.pull_back(inputs, outputs, output_grads)
        captured = range(count, len(inputs))
        return found + (self._pulled(inputs, output_grads, captured) if captured else [])

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the tangents of the rules; without any, they follow from ``L_op``."""
        found: list[Any] = [None] * len(self.fgraph.outputs)
        if not self.rules.goes_forward:
            return found
        count = self.rules.count
        points, captured = eval_points[:count], eval_points[count:]
        if any(point is not None for point in points):
            found = self.rules.push_forward(inputs, points)
        if any(point is not None for point in captured):
            pushed = self._pushed(inputs, [None] * count + list(captured), range(len(found)))
            found = [_sum(one, other) for one, other in zip(found, pushed, strict=True)]
        return found


def _sum(one: Any, other: Any) -> Any:
    """Return the sum of two tangents, ``None`` for zeros."""
    for tangent in (one, other):
        if tangent is not None and isinstance(tangent.type, NullType):
            return tangent
    known = [v for v in (one, other) if v is not None and not isinstance(v.type, DisconnectedType)]
    return sum_of(known) if known else None
