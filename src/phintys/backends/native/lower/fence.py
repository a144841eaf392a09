"""Lowering of Fence: the same memory, after a step that other steps do not cross."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.lower.families import lowers
from phintys.backends.native.steps.check import FenceStep
from phintys.control.fences import Fence

if TYPE_CHECKING:
    from phintys.backends.native.lower.lowering import Lowering
    from phintys.graph.apply import Apply


@lowers(Fence)
def lower_fence(op: Fence, node: Apply, lowering: Lowering) -> None:
    """``fence; out = value``."""
    tensors = [variable for variable in node.inputs if variable.type.holds_arrays]
    arrays = [lowering.view(variable).array for variable in tensors]
    lowering.steps.append(FenceStep(tuple(dict.fromkeys(arrays))))
    for variable, output in zip(node.inputs, node.outputs, strict=False):
        lowering.bind_same(output, variable)
