"""Shape rules of Ops, in sizes of native programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.late import LateModule
from phintys.backends.native.failures import Failure, Given, MisfitFailure
from phintys.backends.native.lower.integers import when
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.sizes import is_length
from phintys.backends.native.values import Size
from phintys.tensor.indexing.template import Slice
from phintys.tensor.shape_rules import Misfit, Shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.lower import counting, slices
    from phintys.backends.native.lower.slices import Part
    from phintys.graph.apply import Apply
else:
    counting = LateModule("phintys.backends.native.lower.counting")
    slices = LateModule("phintys.backends.native.lower.slices")


class NativeShapes(Shapes[Size]):
    """Sizes of a program that is being lowered; checks are steps of it.

    Parameters
    ----------
    node
        The node.
    lowering
        The state of lowering.

    Attributes
    ----------
    views : list of View
        The inputs.
    parts : list of Part or None
        What the rule has selected of the first axes, in order, by integers and slices.
    """

    def __init__(self, node: Apply, lowering: Lowering) -> None:
        self.inputs: Sequence[Any] = node.inputs
        self.node: Apply = node
        self.views = [lowering.view(variable) for variable in node.inputs]
        self.shapes = [view.sizes for view in self.views]
        self.parts: list[Part | None] = []
        self._lowering = lowering
        self._given = Given(self.shapes)
        lowering.begin_rule(node, self._given)

    def number(self, value: int) -> Size:
        return self._lowering.sizes.fixed(value)

    def value(self, position: int) -> Size:
        value = self._given.values[position] = self._lowering.element(self.views[position], ())
        return value

    def entries(self, position: int, count: int) -> list[Size]:
        vector = self.views[position]
        entries = [self._lowering.element(vector, (at,)) for at in range(count)]
        self._given.values[position] = entries
        return entries

    def equal(self, a: Size, b: Size, misfit: Misfit) -> Size:
        failure = MisfitFailure(self.node, misfit.kind, misfit.detail, misfit=misfit)
        self._lowering.require_equal(a, b, failure)
        return self._lowering.sizes.canonical(a)

    def agreed(self, sizes: Sequence[Size], misfit: Misfit) -> Size:
        for other in sizes[1:]:
            failure = Failure(self.node, misfit.kind, misfit.detail)
            self._lowering.require_equal(sizes[0], other, failure)
        return self._lowering.sizes.canonical(sizes[0])

    def at_least(self, size: Size, least: int, misfit: Misfit) -> Size:
        failure = Failure(self.node, misfit.kind, misfit.detail)
        if least == 0:
            self._lowering.require_length(size, failure)
        else:
            is_enough = self._lowering.sizes.arithmetic("lt", self.number(least - 1), size)
            self._lowering.require(is_enough, failure)
        return self._lowering.sizes.canonical(size)

    def index(self, position: int) -> Size:
        return self.value(position)

    def check_index(self, index: Size | int, size: Size, misfit: Misfit) -> None:
        at = self._size(index)
        self.parts.append(slices.position_part(size, at, misfit.dim, self.node, self._lowering))

    def sliced(self, size: Size, start: Any, stop: Any, step: Any) -> Size:
        bounds: list[Any] = [
            None if one is None else self._size(one) for one in (start, stop, step)
        ]
        part = slices.slice_of(size, Slice(*bounds), self.node, self._lowering)
        self.parts.append(part)
        return size if part is None or part.length is None else part.length

    def count(self, position: int) -> Size:
        return counting.nonzero_views(self.views[position], self.node, self._lowering)[0].sizes[0]

    def reshaped(
        self, wanted: Sequence[Size], before: Sequence[Size], misfit: Misfit
    ) -> Sequence[Size]:
        found = _with_inferred(wanted, before, self.node, self._lowering)
        sizes = self._lowering.sizes
        failure = Failure(self.node, "reshape", "{0} and {1} elements")
        self._lowering.require_equal(sizes.product(found), sizes.product(list(before)), failure)
        return found

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


# ---- sizes of which one is inferred --------------------------------------------------------------


def _with_inferred(
    given: Sequence[Size], before: Sequence[Size], node: Apply, lowering: Lowering
) -> list[Size]:
    """Return the sizes that a Reshape is given, with -1 replaced."""
    sizes = lowering.sizes
    known: Sequence[int | None] = node.outputs[0].type.shape  # pyright: ignore[reportAttributeAccessIssue]
    wanted: list[Size] = []
    for size, length in zip(given, known, strict=True):
        if length is not None:
            _check_size(size, length, node, lowering)
        wanted.append(size if length is None else sizes.fixed(length))
    missing = [position for position, size in enumerate(wanted) if (size.known or 0) < 0]
    if len(missing) > 1:
        msg = "a shape with several sizes of -1"
        raise NotLowered(msg)
    unsure = [
        position
        for position, size in enumerate(wanted)
        if size.known is None and not is_length(size)
    ]
    if missing:
        for position in unsure:
            lowering.require_length(wanted[position], Failure(node, "reshape", "a size below 0"))
    places = missing or unsure
    if places:
        _infer(wanted, places, before, node, lowering)
    return wanted


def _check_size(given: Size, length: int, node: Apply, lowering: Lowering) -> None:
    """Check that a size is -1, or the one that the type infers from the other sizes."""
    sizes = lowering.sizes
    if given.known == -1:
        return
    if not is_length(given):
        is_open = sizes.arithmetic("lt", given, sizes.fixed(0))
        given = when(sizes, is_open, sizes.fixed(length), given)
    failure = Failure(node, "reshape", "a size of {0}, where {1} are left")
    lowering.require_equal(given, sizes.fixed(length), failure)


def _infer(
    wanted: list[Size],
    places: Sequence[int],
    before: Sequence[Size],
    node: Apply,
    lowering: Lowering,
) -> None:
    """Replace the size that is -1, at most one of those at some places, by what remains for it."""
    sizes = lowering.sizes
    zero, one = sizes.fixed(0), sizes.fixed(1)
    is_open = {at: sizes.arithmetic("lt", wanted[at], zero) for at in places}
    # max(size, 1 if it is -1 else 0) is the size, or 1 in place of -1.
    rest = sizes.product(
        [
            sizes.arithmetic("max", size, is_open[at]) if at in is_open else size
            for at, size in enumerate(wanted)
        ]
    )
    count = zero
    for flag in is_open.values():
        count = sizes.add(count, flag)
    if len(places) > 1:
        failure = Failure(node, "reshape", "several sizes of -1")
        lowering.require(sizes.arithmetic("lt", count, sizes.fixed(2)), failure)
    is_wrong = sizes.mul(count, sizes.arithmetic("lt", rest, one))
    if is_wrong.known:
        msg = "a size of -1 beside a size of 0"
        raise NotLowered(msg)
    lowering.require_equal(is_wrong, zero, Failure(node, "reshape", "a size of -1 beside one of 0"))
    divisor = sizes.arithmetic("max", rest, one)
    remains = sizes.arithmetic("floordiv", sizes.product(list(before)), divisor)
    for at, flag in is_open.items():
        wanted[at] = (
            when(sizes, flag, remains, wanted[at])
            if flag.known is not None
            else sizes.arithmetic("max", wanted[at], sizes.mul(flag, remains))
        )
