"""Checkpoint: an Op made of a graph, which is computed again for the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.control.fences import fence
from phintys.control.graph_ops.from_graph import OpFromGraph
from phintys.graph.null_type import DisconnectedType, NullType

if TYPE_CHECKING:
    from collections.abc import Sequence

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
