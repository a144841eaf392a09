"""Lowering of Ops that copy an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.lower.lowering import Lowering, NotLowered

if TYPE_CHECKING:
    from phintys.graph.apply import Apply

__all__ = ["lower_copy"]


def lower_copy(node: Apply, lowering: Lowering) -> None:
    """``out = x``, in new memory."""
    if not node.inputs[0].type.holds_arrays:
        msg = f"a value of type {node.inputs[0].type}"
        raise NotLowered(msg)
    view = lowering.view(node.inputs[0])
    lowering.bind(node.outputs[0], lowering.copied(view, node))
