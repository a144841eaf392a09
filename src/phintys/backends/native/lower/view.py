"""View: an array seen through a change of axes, without a copy.

``x.T``, ``x[::2]``, ``x[:, None]`` and ``broadcast_to(x, ...)`` are not steps of a Program. They
are described by an affine map: for each axis of the memory, which axes of the view move along it,
by what step, and from which offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import IntegrityError
from phintys._base.records import record
from phintys.backends.native.expressions import Index, Load
from phintys.backends.native.values import Array, LoopVariable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size, Sizes


@record()
class AxisMap:
    """A position along one axis of an array: ``offset + sum(step * position in a view's axis)``."""

    terms: tuple[tuple[int, Size], ...] = ()
    offset: Size | None = None


@record()
class View:
    """An array seen through its own axes.

    Attributes
    ----------
    array
        The memory.
    maps
        One for each axis of the array.
    sizes
        Lengths of the view's own axes.
    """

    array: Array
    maps: tuple[AxisMap, ...]
    sizes: tuple[Size, ...]

    @classmethod
    def of(cls, array: Array, sizes: Sizes) -> View:
        """Return a view of a whole array."""
        one = sizes.fixed(1)
        maps = tuple(
            AxisMap() if size is one else AxisMap(((axis, one),))
            for axis, size in enumerate(array.sizes)
        )
        return cls(array, maps, array.sizes)

    @property
    def ndim(self) -> int:
        """Number of the view's axes."""
        return len(self.sizes)

    def is_whole(self, sizes: Sizes) -> bool:
        """Return whether the view is its whole array in memory order."""
        if len(self.sizes) != self.array.ndim:
            return False
        for axis, (map_, size) in enumerate(zip(self.maps, self.sizes, strict=True)):
            size = sizes.canonical(size)
            if map_.offset is not None or size is not sizes.canonical(self.array.sizes[axis]):
                return False
            if size.known == 1:
                continue
            if len(map_.terms) != 1 or map_.terms[0][0] != axis or map_.terms[0][1].known != 1:
                return False
        return True

    def load(self, loops: Sequence[LoopVariable | None]) -> Load:
        """Return the element at the given loops, one for each axis; ``None`` is position 0."""
        return Load(self.array, self.indices(loops))

    def indices(self, loops: Sequence[LoopVariable | None]) -> tuple[Index, ...]:
        """Return the indices into the array of the element at the given loops."""
        made: list[Index] = []
        for map_ in self.maps:
            terms = [(loop, step) for axis, step in map_.terms if (loop := loops[axis]) is not None]
            made.append(Index(tuple(terms), map_.offset))
        return tuple(made)

    def at(self, positions: Sequence[Index], sizes: Sizes) -> Load:
        """Return the element at any positions, which may themselves come from memory."""
        indices: list[Index] = []
        for map_ in self.maps:
            result = Index((), map_.offset)
            for axis, step in map_.terms:
                result = add_scaled(result, positions[axis], step, sizes)
            indices.append(result)
        return Load(self.array, tuple(indices))

    def rearranged(self, order: Sequence[int | None], sizes: Sizes) -> View:
        """Return the axes in another order; ``None`` is a new one of size 1."""
        place = {axis: position for position, axis in enumerate(order) if axis is not None}
        maps = tuple(
            AxisMap(
                tuple((place[axis], step) for axis, step in map_.terms if axis in place),
                map_.offset,
            )
            for map_ in self.maps
        )
        one = sizes.fixed(1)
        return View(
            self.array, maps, tuple(one if axis is None else self.sizes[axis] for axis in order)
        )

    def sliced(self, axis: int, start: Size, step: Size, length: Size, sizes: Sizes) -> View:
        """Return every ``step``-th element along an axis."""
        maps = tuple(_sliced(map_, axis, start, step, sizes) for map_ in self.maps)
        lengths = (*self.sizes[:axis], length, *self.sizes[axis + 1 :])
        return View(self.array, maps, lengths)

    def picked(self, axis: int, position: Size, sizes: Sizes) -> View:
        """Return the view at one position of an axis, which disappears."""
        at = self.sliced(axis, position, sizes.fixed(0), sizes.fixed(1), sizes)
        return at.rearranged([other for other in range(self.ndim) if other != axis], sizes)

    def diagonal(self, sizes: Sizes) -> View:
        """Return the elements at equal positions of the last two axes, which become one."""
        last = self.ndim - 1
        maps: list[AxisMap] = []
        for map_ in self.maps:
            terms: dict[int, Size] = {}
            for axis, step in map_.terms:
                axis = min(axis, last - 1)
                terms[axis] = sizes.add(terms[axis], step) if axis in terms else step
            maps.append(AxisMap(tuple(terms.items()), map_.offset))
        return View(self.array, tuple(maps), self.sizes[:last])

    def broadcast(self, lengths: Sequence[Size], sizes: Sizes) -> View:
        """Return the view with axes of size 1 repeated to other lengths."""
        maps = self.maps
        for axis, (mine, wanted) in enumerate(zip(self.sizes, lengths, strict=True)):
            if mine.known == 1 and wanted.known != 1:
                maps = tuple(_without(map_, axis) for map_ in maps)
        return View(self.array, maps, tuple(lengths))


def _sliced(map_: AxisMap, axis: int, start: Size, step: Size, sizes: Sizes) -> AxisMap:
    terms: list[tuple[int, Size]] = []
    offset = map_.offset
    for other, scale in map_.terms:
        if other != axis:
            terms.append((other, scale))
            continue
        moved = sizes.mul(scale, start)
        if moved.known != 0:
            offset = moved if offset is None else sizes.add(offset, moved)
        scaled = sizes.mul(scale, step)
        if scaled.known != 0:
            terms.append((axis, scaled))
    return AxisMap(tuple(terms), offset)


def _without(map_: AxisMap, axis: int) -> AxisMap:
    return AxisMap(tuple(term for term in map_.terms if term[0] != axis), map_.offset)


def add_scaled(index: Index, other: Index, step: Size, sizes: Sizes) -> Index:
    """Return ``index + step * other``, where at most one of them comes from memory, unscaled."""
    terms = index.terms + tuple((loop, sizes.mul(scale, step)) for loop, scale in other.terms)
    offset = index.offset
    if other.offset is not None:
        moved = sizes.mul(other.offset, step)
        offset = moved if offset is None else sizes.add(offset, moved)
    dynamic = index.dynamic
    if other.dynamic is not None:
        if dynamic is not None or step.known != 1:
            msg = (
                "An index from memory was scaled, or added to another: materialise the view first."
            )
            raise IntegrityError(msg)
        dynamic = other.dynamic
    return Index(terms, offset, dynamic)


# ---- views for BLAS ------------------------------------------------------------------------------


@record()
class Strided:
    """A view by its strides, in elements: ``offset + sum(stride * position)``."""

    array: Array
    offset: Size
    strides: list[Size | None]
    """One for each axis; ``None`` for an axis that does not move."""

    @classmethod
    def of(cls, view: View, sizes: Sizes) -> Strided | None:
        """Return the strides of a view; ``None`` if they are negative, or if axes share memory."""
        strides: list[Size | None] = [None] * view.ndim
        offset = sizes.fixed(0)
        width = sizes.fixed(1)
        for map_, length in zip(reversed(view.maps), reversed(view.array.sizes), strict=True):
            if map_.offset is not None:
                offset = sizes.add(offset, sizes.mul(map_.offset, width))
            if len(map_.terms) > 1:
                return None
            for axis, step in map_.terms:
                if strides[axis] is not None or (step.known or 0) < 1:
                    return None
                strides[axis] = sizes.mul(step, width)
            width = sizes.mul(width, length)
        return cls(view.array, offset, strides)


@record()
class MatrixView:
    """A matrix that BLAS can take: along one axis its elements are neighbours."""

    strided: Strided
    stride: Size
    is_transposed: bool

    @classmethod
    def of(cls, view: View, sizes: Sizes) -> MatrixView | None:
        """Return a view, maybe of a stack, as matrices; ``None`` if no axis has neighbours."""
        strided = Strided.of(view, sizes)
        if strided is None:
            return None
        down, along = strided.strides[-2:]
        rows, columns = (size.known == 1 for size in view.sizes[-2:])
        if (down is None and not rows) or (along is None and not columns):
            return None
        if along is None or along.known == 1:
            return cls(strided, view.sizes[-1] if down is None else down, is_transposed=False)
        if down is None or down.known == 1:
            return cls(strided, along, is_transposed=True)
        return None

    def options(self, letter: str) -> dict[str, Any]:
        """Return the options of a call that say what the matrix is like."""
        return {
            f"{letter}_offset": self.strided.offset,
            f"{letter}_stride": self.stride,
            f"{letter}_transposed": self.is_transposed,
        }
