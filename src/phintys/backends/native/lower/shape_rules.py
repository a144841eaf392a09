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
        self.node: Apply = node
        self.views = [lowering.view(variable) for variable in node.inputs]
        self.shapes = [view.sizes for view in self.views]
        self._lowering = lowering

    def number(self, value: int) -> Size:
        return self._lowering.sizes.fixed(value)

    def value(self, position: int) -> Size:
        return self._lowering.element(self.views[position], ())

    def entries(self, position: int, count: int) -> list[Size]:
        vector = self.views[position]
        return [self._lowering.element(vector, (at,)) for at in range(count)]

    def equal(self, a: Size, b: Size, misfit: Misfit) -> Size:
        self._lowering.require_equal(a, b, Failure(self.node, misfit.kind, misfit.detail))
        return self._lowering.sizes.canonical(a)

    def agreed(self, sizes: Sequence[Size], misfit: Misfit) -> Size:
        for other in sizes[1:]:
            self.equal(sizes[0], other, misfit)
        return self._lowering.sizes.canonical(sizes[0])

    def at_least(self, size: Size, least: int, misfit: Misfit) -> Size:
        failure = Failure(self.node, misfit.kind, misfit.detail)
        if least == 0:
            self._lowering.require_length(size, failure)
        else:
            is_enough = self._lowering.sizes.arithmetic("lt", self.number(least - 1), size)
            self._lowering.require(is_enough, failure)
        return self._lowering.sizes.canonical(size)

    def total(self, lengths: Sequence[Size]) -> Size:
        self._lowering.require_total(lengths, self.node)
        sizes = self._lowering.sizes
        total = sizes.fixed(0)
        for length in lengths:
            total = sizes.add(total, length)
        return total

    def _size(self, one: Size | int) -> Size:
        return self.number(one) if isinstance(one, int) else one

    def add(self, a: Size | int, b: Size | int) -> Size:
        return self._lowering.sizes.add(self._size(a), self._size(b))

    def subtract(self, a: Size | int, b: Size | int) -> Size:
        return self._lowering.sizes.sub(self._size(a), self._size(b))

    def multiply(self, a: Size | int, b: Size | int) -> Size:
        return self._lowering.sizes.mul(self._size(a), self._size(b))

    def floor_div(self, a: Size | int, b: int) -> Size:
        return self._arithmetic("floordiv", a, b)

    def least(self, a: Size | int, b: Size | int) -> Size:
        return self._arithmetic("min", a, b)

    def greatest(self, a: Size | int, b: Size | int) -> Size:
        return self._arithmetic("max", a, b)

    def _arithmetic(self, operation: str, a: Size | int, b: Size | int) -> Size:
        return self._lowering.sizes.arithmetic(operation, self._size(a), self._size(b))
