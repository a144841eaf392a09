"""Integers and slices as views: their first positions, and their numbers of elements.

The rules are those of Python's ``slice.indices``, in arithmetic on sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from phintys._base.errors import IndexingError
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.integers import when
from phintys.backends.native.sizes import Size, Sizes
from phintys.tensor.indexing.template import ARRAY, SCALAR, Mask, Slice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from phintys.backends.native.lower.lowering import Lowering
    from phintys.backends.native.lower.view import View
    from phintys.graph.apply import Apply


class Part(NamedTuple):
    """The elements of an axis that a slice or an integer selects.

    Attributes
    ----------
    first, step
        The position of the first one, and the distance to the next.
    length
        The number of elements; ``None`` for an integer, which drops the axis.
    """

    first: Size
    step: Size
    length: Size | None


_FAR = 2**62
"""A step larger than any array, to which a size can still be added."""


def entries_with_sizes(
    template: Sequence[Any], inputs: Sequence[Any], lowering: Lowering
) -> list[Any]:
    """Return the entries of a template with sizes for its integers, and variables for its arrays.

    A slice is given as a :class:`Slice`, a tuple of three.
    """
    following = iter(inputs)

    def bound(value: Any) -> Size | None:
        if value is None:
            return None
        if value is SCALAR:
            return lowering.size_of(next(following))
        return lowering.sizes.fixed(value)

    return list(_filled(template, following, bound))


def _filled(template: Sequence[Any], following: Iterator[Any], bound: Any) -> Iterator[Any]:
    for entry in template:
        if isinstance(entry, Slice):
            yield Slice(*[bound(value) for value in entry])
        elif isinstance(entry, int) or entry is SCALAR:
            yield bound(entry)
        elif entry is ARRAY or isinstance(entry, Mask):
            yield next(following)
        else:
            yield entry


def out_of_range(node: Apply, which: str) -> Failure:
    """Return the failure of an index."""
    return Failure(node, "index", which, IndexingError, "{op}: {detail} is out of range.")


def position_in(size: Size, index: Size, axis: int, node: Apply, lowering: Lowering) -> Size:
    """Return the position of an index that may be negative; the call fails if out of range."""
    sizes = lowering.sizes
    if index.known is not None:
        negative = index.known < 0
        least = sizes.fixed(-index.known - 1 if negative else index.known)
        failure = out_of_range(node, f"index {index} of axis {axis}")
        lowering.require(sizes.arithmetic("lt", least, size), failure)
        return sizes.add(size, index) if negative else index
    is_negative = sizes.arithmetic("lt", index, sizes.fixed(0))
    position = sizes.add(index, sizes.mul(is_negative, size))
    failure = out_of_range(node, f"an index of axis {axis}")
    lowering.require(sizes.arithmetic("lt", sizes.fixed(-1), position), failure)
    lowering.require(sizes.arithmetic("lt", position, size), failure)
    return position


def position_part(size: Size, index: Size, axis: int, node: Apply, lowering: Lowering) -> Part:
    """Return the position of an index as a part of an axis."""
    return Part(position_in(size, index, axis, node, lowering), lowering.sizes.fixed(0), None)


def slice_of(size: Size, bounds: Slice, node: Apply, lowering: Lowering) -> Part | None:
    """Return the part of an axis that a slice selects; ``None`` for all of it."""
    if bounds == Slice():
        return None
    sizes = lowering.sizes
    one: Any = sizes.fixed(1)
    start, stop, step = bounds
    step = one if step is None else step
    assert isinstance(step, Size)
    if not step.known:
        return _either_way(size, bounds, step, node, lowering)
    if step.known > 0:
        first, length = _forward(size, start, stop, lowering)
    else:
        first, length = _backward(size, start, stop, lowering)
    width = sizes.fixed(min(abs(step.known), _FAR))
    length = sizes.arithmetic("floordiv", sizes.add(length, sizes.sub(width, one)), width)
    return Part(first, step, length)


def _either_way(size: Size, bounds: Any, step: Size, node: Apply, lowering: Lowering) -> Part:
    """Return the same for a step of unknown sign."""
    sizes = lowering.sizes
    zero, one = sizes.fixed(0), sizes.fixed(1)
    is_back = sizes.arithmetic("lt", step, zero)
    is_zero = sizes.sub(sizes.sub(one, is_back), sizes.arithmetic("lt", zero, step))
    lowering.require_equal(is_zero, zero, Failure(node, "slice", "a step of 0"))
    begin, end = sizes.sub(zero, is_back), sizes.sub(size, is_back)  # the least and the greatest

    def place(bound: Any, otherwise: Size) -> Size:
        return otherwise if bound is None else _place(size, bound, begin, lowering)

    first = place(bounds.start, when(sizes, is_back, end, zero))
    last = place(bounds.stop, when(sizes, is_back, begin, end))
    distance = when(sizes, is_back, sizes.sub(first, last), sizes.sub(last, first))
    limited = sizes.arithmetic("max", step, sizes.fixed(-_FAR))
    limited = sizes.arithmetic("min", limited, sizes.fixed(_FAR))
    width = sizes.arithmetic("max", when(sizes, is_back, sizes.sub(zero, limited), limited), one)
    rounded = sizes.add(sizes.at_least_zero(distance), sizes.sub(width, one))
    return Part(first, step, sizes.arithmetic("floordiv", rounded, width))


def _forward(size: Size, start: Any, stop: Any, lowering: Lowering) -> tuple[Size, Size]:
    """Return the first position, and the distance to the end.

    If the distance is 0 or less the first position does not matter, so it need not be clipped.
    """
    sizes = lowering.sizes
    zero = sizes.fixed(0)
    if start is None or start.known == 0:
        return zero, size if stop is None else _place(size, stop, zero, lowering)
    if start.known is not None and start.known > 0:
        first = start
        end = size if stop is None else _place(size, stop, zero, lowering)
    else:
        first = _place(size, start, zero, lowering)
        end = size if stop is None else _place(size, stop, zero, lowering)
    return first, sizes.at_least_zero(sizes.sub(end, first))


def _place(size: Size, bound: Size, least: Size, lowering: Lowering) -> Size:
    """Return the position of a bound, between ``least`` and ``least + size``."""
    sizes = lowering.sizes
    most = sizes.add(size, least)
    if bound.known is not None:
        if bound.known < 0:
            return sizes.arithmetic("max", sizes.add(size, bound), least)
        return sizes.arithmetic("min", bound, most)
    from_end = when(
        sizes,
        sizes.arithmetic("lt", bound, sizes.fixed(0)),
        sizes.add(bound, size),
        bound,
    )
    return sizes.arithmetic("min", sizes.arithmetic("max", from_end, least), most)


def _backward(size: Size, start: Any, stop: Any, lowering: Lowering) -> tuple[Size, Size]:
    sizes = lowering.sizes
    before = sizes.fixed(-1)
    first = (
        sizes.sub(size, sizes.fixed(1))
        if start is None
        else (_place(size, start, before, lowering))
    )
    last = before if stop is None else _place(size, stop, before, lowering)
    return first, sizes.at_least_zero(sizes.sub(first, last))


def part_of(view: View, parts: Sequence[Part | None], sizes: Sizes) -> View:
    """Return a part of a view: one of each of the first axes, ``None`` for a whole axis."""
    dropped: list[int] = []
    for axis, part in enumerate(parts):
        if part is None:
            continue
        if part.length is None:
            dropped.append(axis)
        length = sizes.fixed(1) if part.length is None else part.length
        view = view.sliced(axis, part.first, part.step, length, sizes)
    return view.rearranged([axis for axis in range(view.ndim) if axis not in dropped], sizes)


def basic_parts(
    view: View, entries: Sequence[Any], node: Apply, lowering: Lowering
) -> list[Part | None]:
    """Return the parts of the first axes that integers and slices select, one for each."""
    return [
        slice_of(size, entry, node, lowering)
        if isinstance(entry, Slice)
        else position_part(size, entry, axis, node, lowering)
        for axis, (entry, size) in enumerate(zip(entries, view.sizes, strict=False))
    ]
