"""Shape rules of Ops, in sizes of native programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.failures import Failure
from phintys.backends.native.values import Size
from phintys.tensor.shape_rules import Misfit, Shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.lower.lowering import Lowering
    from phintys.graph.apply import Apply


class NativeShapes(Shapes[Size]):
    """Sizes of a program that is being lowered; checks are steps of it.

    Parameters
    ----------
    node
        The node.
    lowering
        The state of lowering.
    """

    def __init__(self, node: Apply, lowering: Lowering) -> None:
        self.inputs: Sequence[Any] = node.inputs
        self.views = [lowering.view(variable) for variable in node.inputs]
        self.shapes = [view.sizes for view in self.views]
        self._node = node
        self._lowering = lowering

    def number(self, value: int) -> Size:
        return self._lowering.sizes.fixed(value)

    def value(self, position: int) -> Size:
        return self._lowering.element(self.views[position], ())

    def entries(self, position: int, count: int) -> list[Size]:
        vector = self.views[position]
        return [self._lowering.element(vector, (at,)) for at in range(count)]

    def equal(self, a: Size, b: Size, misfit: Misfit) -> Size:
        self._lowering.require_equal(a, b, Failure(self._node, misfit.kind, misfit.detail))
        return self._lowering.sizes.canonical(a)

    def length(self, size: Size, misfit: Misfit) -> Size:
        self._lowering.require_length(size, Failure(self._node, misfit.kind, misfit.detail))
        return self._lowering.sizes.canonical(size)

    def total(self, lengths: Sequence[Size]) -> Size:
        self._lowering.require_total(lengths, self._node)
        sizes = self._lowering.sizes
        total = sizes.fixed(0)
        for length in lengths:
            total = sizes.add(total, length)
        return total
