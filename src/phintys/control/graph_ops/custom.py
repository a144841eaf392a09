"""CustomOp: the Op of a function that has a gradient of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.control.graph_ops.from_graph import OpFromGraph
from phintys.gradient.arithmetic import sum_of
from phintys.graph.null_type import DisconnectedType, NullType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.gradient.custom_rules import Rules
    from phintys.graph.variable import Variable


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
