"""Views by their strides, which is how BLAS and LAPACK take vectors and matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.backends.native.values import Array

if TYPE_CHECKING:
    from phintys.backends.native.lower.lowering import Lowering
    from phintys.backends.native.lower.view import View
    from phintys.backends.native.sizes import Size, Sizes

__all__ = ["MatrixView", "Strided"]


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
    def of(cls, view: View, lowering: Lowering) -> MatrixView:
        """Return a view, maybe of a stack, as matrices; copied if need be."""
        found = cls._try(view, lowering)
        if found is None:
            found = cls._try(lowering.copied(view), lowering)
        assert found is not None
        return found

    @classmethod
    def _try(cls, view: View, lowering: Lowering) -> MatrixView | None:
        strided = Strided.of(view, lowering.sizes)
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
