"""The addresses that a kernel accesses, as sums of steps of loops.

Arrays are C-contiguous, so the element ``x[i, j]`` of an n by m array is ``m * i + j`` elements
from its start; for a view the factors differ and there is an offset. An index from memory adds a
part that is known only once it has been read.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from phintys._base.records import record
from phintys.backends.native.expressions import Expression, Index
from phintys.backends.native.values import Array, LoopVariable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.polynomials import Polynomial, Polynomials


@record(eq=False)
class Affine:
    """``offset + sum(step * loop) + sum(stride * expression)``.

    Attributes
    ----------
    steps
        By loop; loops that it does not depend on are missing.
    offset
        The constant part.
    dynamic
        Pairs of an int64 expression and its stride.
    """

    steps: dict[LoopVariable, Polynomial]
    offset: Polynomial
    dynamic: tuple[tuple[Expression, Polynomial], ...] = ()

    def step(self, loop: LoopVariable, zero: Polynomial) -> Polynomial:
        """Return the step of a loop."""
        return self.steps.get(loop, zero)


@record(eq=False)
class Access(Affine):
    """The elements of an array that are read or written, counted from its start.

    Attributes
    ----------
    array
        The memory.
    depth
        The innermost level of the nest on which the address depends; -1 for none. Set by the plan.
    hoisted
        For each dynamic part the level at whose beginning it is added to the address, or ``None``
        if it is added where the element is read. Set by the plan.
    is_spread
        Whether the lanes are contiguous in scratch, although they are iterations of an outer loop,
        which are strided in other arrays.
    """

    array: Array = field(kw_only=True)
    depth: int = -1
    hoisted: tuple[int | None, ...] = ()
    is_spread: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for accesses of the same elements."""
        return (
            self.array,
            self.offset,
            frozenset(self.steps.items()),
            *((id(expression), stride) for expression, stride in self.dynamic),
        )


@record()
class Addressing:
    """The addresses of the elements of a kernel's arrays.

    Attributes
    ----------
    polynomials
        Those of the program.
    strides
        Strides of arrays whose layout differs from their sizes: scratch for one iteration of outer
        loops.
    running
        Loops of the kernel. Others have one iteration, or run around it: their counters are atoms.
    fixed
        Loops of the kernel that have one iteration.
    """

    polynomials: Polynomials
    running: set[LoopVariable]
    fixed: set[LoopVariable]
    strides: dict[Array, tuple[Polynomial, ...]] = field(default_factory=dict)

    def access(self, array: Array, indices: Sequence[Index]) -> Access:
        """Return the address of an element: the same one for all names of its memory."""
        strides = self.strides.get(array)
        if strides is None:
            strides = self.polynomials.strides(array)
        found = self.combine(indices, strides)
        return Access(found.steps, found.offset, found.dynamic, array=array.memory)

    def combine(self, indices: Sequence[Index], strides: Sequence[Polynomial]) -> Affine:
        """Return ``sum(stride * index)``."""
        ring = self.polynomials
        steps: dict[LoopVariable, Polynomial] = {}
        offset = ring.zero
        dynamic: list[tuple[Expression, Polynomial]] = []
        for index, stride in zip(indices, strides, strict=True):
            if not stride.terms:
                continue
            for loop, step in index.terms:
                if loop in self.fixed:
                    continue
                scaled = ring.mul(ring.of(step), stride)
                if loop not in self.running:
                    offset = ring.add(offset, ring.mul(ring.of(loop), scaled))
                    continue
                before = steps.get(loop)
                steps[loop] = scaled if before is None else ring.add(before, scaled)
            if index.offset is not None:
                offset = ring.add(offset, ring.mul(ring.of(index.offset), stride))
            if index.dynamic is not None:
                dynamic.append((index.dynamic, stride))
        steps = {loop: step for loop, step in steps.items() if step.terms}
        return Affine(steps, offset, tuple(dynamic))
