"""The iterations of a nest, as arrays of the counters of its loops."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.records import record

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from phintys.backends.native.values import LoopVariable

    Numbers = np.ndarray[Any, Any]


@record(eq=False)
class Grid:
    """Some iterations of the loops of a nest, in one iteration of the kernel's outer ones.

    Attributes
    ----------
    loops
        The outer loops and those of the nest: the axes of the grid.
    shape
        The number of iterations along each.
    counters
        The counters, which broadcast to the shape.
    """

    loops: tuple[LoopVariable, ...]
    shape: tuple[int, ...]
    counters: dict[LoopVariable, Any]

    @property
    def count(self) -> int:
        """The number of iterations."""
        return int(np.prod(self.shape))

    @classmethod
    def of(
        cls,
        outer: Sequence[LoopVariable],
        iteration: Sequence[int],
        loops: Sequence[LoopVariable],
        lengths: Sequence[int],
    ) -> Grid:
        """Return all iterations of a nest in one iteration of the outer loops."""
        every = (*outer, *loops)
        counters: dict[LoopVariable, Any] = dict(zip(outer, iteration, strict=True))
        for axis, (loop, length) in enumerate(zip(loops, lengths, strict=True), len(outer)):
            shape = [1] * len(every)
            shape[axis] = length
            counters[loop] = np.arange(length).reshape(shape)
        return cls(every, (*[1] * len(outer), *lengths), counters)

    def in_order(self, loops: Collection[LoopVariable]) -> list[Grid]:
        """Return the iterations in parts, one for each of those of some loops, in order."""
        axes = [
            axis for axis, loop in enumerate(self.loops) if loop in loops and self.shape[axis] != 1
        ]
        if not axes:
            return [self]
        parts: list[Grid] = []
        for iteration in product(*[range(self.shape[axis]) for axis in axes]):
            shape = list(self.shape)
            counters = dict(self.counters)
            for axis, at in zip(axes, iteration, strict=True):
                shape[axis] = 1
                counters[self.loops[axis]] = at
            parts.append(Grid(self.loops, tuple(shape), counters))
        return parts

    def without(self, axes: Collection[int]) -> Grid:
        """Return the iterations of the loops other than those of some axes."""
        kept = [axis for axis in range(len(self.loops)) if axis not in axes]
        counters: dict[LoopVariable, Any] = {}
        for position, axis in enumerate(kept):
            counter = self.counters[self.loops[axis]]
            if np.ndim(counter):
                shape = [1] * len(kept)
                shape[position] = self.shape[axis]
                counter = counter.reshape(shape)
            counters[self.loops[axis]] = counter
        return Grid(
            tuple(self.loops[axis] for axis in kept),
            tuple(self.shape[axis] for axis in kept),
            counters,
        )

    def ranks(self, loops: Sequence[LoopVariable], lengths: Sequence[int]) -> Numbers:
        """Return the number of each iteration, counted along some loops only, one for each."""
        rank: Any = 0
        for loop, length in zip(loops, lengths, strict=True):
            rank = rank * length + self.counters[loop]
        return np.broadcast_to(rank, self.shape).reshape(-1)
