"""Plans of kernels: the decisions of planning that code generation follows."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from phintys._base.records import record
from phintys.backends.native.kernels.access import Access, Addressing, Affine
from phintys.backends.native.kernels.accumulators import Accumulator, accumulator

if TYPE_CHECKING:
    from phintys.backends.native.expressions import Statement
    from phintys.backends.native.polynomials import Polynomial, Polynomials
    from phintys.backends.native.values import Array, LoopVariable


_PASSED_ON = "fiu"
"""Kinds of dtypes of elements that the next iteration can read from a register."""


@record(eq=False)
class Level:
    """Loops that are merged into one.

    Attributes
    ----------
    loops
        From the outermost; every address moves by the step of the last one.
    extent
        The number of iterations.
    is_vector
        Whether an iteration computes several elements at once.
    """

    loops: tuple[LoopVariable, ...]
    extent: Polynomial
    is_vector: bool = False


@record(eq=False)
class NestPlan:
    """One nest of a kernel.

    Attributes
    ----------
    kept, reduced
        Its levels inside of the kernel's outer ones.
    statements
        What is computed for each element.
    loads
        By the ``id`` of a :class:`Load`: the access, for those that read memory.
    stores
        By the ``id`` of a statement: the access, for those that write memory.
    positions
        By the ``id`` of a :class:`Position` (or of an ``argmax`` statement): its value.
    accesses
        Those of loads and stores, each once.
    forwarded
        Arrays of which earlier nests left a single number in a register; an ordered set.
    lanes
        Elements of a vector.
    unroll
        Vectors computed in one iteration of the vector level.
    vector
        The loop along which the lanes run: one of the kernel's outer ones, or of the nest's own.
    has_columns
        Whether each lane reduces its own column, along one loop that may be long.
    is_tiled
        Whether the vector loop is split into tiles, because some memory is read across its rows.
    """

    kept: list[Level]
    reduced: list[Level]
    statements: list[Statement]
    loads: dict[int, Access] = field(default_factory=dict)
    stores: dict[int, Access] = field(default_factory=dict)
    positions: dict[int, Affine] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)
    forwarded: dict[Array, None] = field(default_factory=dict)
    lanes: int = 1
    unroll: int = 1
    vector: LoopVariable | None = None
    has_columns: bool = False
    is_tiled: bool = False

    def accumulators(self) -> list[Accumulator]:
        """Return the accumulator of each reduction."""
        order = [loop for level in self.reduced for loop in level.loops]
        return [
            accumulator(
                statement.reducer or "",
                statement.value.dtype,
                in_order=order == [loop for loop in statement.reduction if loop in order],
            )
            for statement in self.reductions
        ]

    @property
    def reductions(self) -> list[Statement]:
        """Statements that reduce."""
        return [statement for statement in self.statements if statement.reduction]


@record(eq=False)
class KernelPlan:
    """The plan of a kernel.

    Attributes
    ----------
    outer
        Levels around all nests.
    nests
        The nests.
    registers
        Arrays that are never in memory.
    scratch
        Arrays of which one iteration of the outer loops is in memory.
    rooms
        Bytes of private memory that each call of the kernel needs, by purpose: an array of
        ``scratch``, or a nest that reduces many columns.
    addressing
        The addresses of elements of arrays.
    is_serial
        Whether iterations must run in order: elements can be written twice.
    is_across
        Whether the lanes are rows, each of which is computed element by element.
    is_chunked
        Whether it is a single reduction, to one number or of columns, in parts whose results
        another function combines.
    cost
        Rough nanoseconds for an iteration of the innermost loops of all nests.
    """

    outer: list[Level]
    nests: list[NestPlan]
    registers: set[Array]
    scratch: list[Array]
    rooms: dict[Array | NestPlan, Polynomial]
    addressing: Addressing
    is_serial: bool
    is_across: bool = False
    is_chunked: bool = False
    cost: float = 1.0

    @property
    def parallel(self) -> Level | None:
        """The level that is split into ranges for threads; ``None`` if there is none."""
        if self.is_chunked:
            return None
        if self.outer:
            return self.outer[0]
        return next((level for nest in self.nests for level in nest.kept), None)

    @property
    def is_divisible(self) -> bool:
        """Whether threads can share its iterations, or the parts of a reduction."""
        return self.is_chunked or (self.parallel is not None and not self.is_serial)

    def work(self) -> Polynomial:
        """Return the innermost iterations of all nests."""
        inside = self.work_inside()
        if self.parallel is None:
            return inside
        return self.addressing.polynomials.mul(inside, self.parallel.extent)

    def work_inside(self) -> Polynomial:
        """Return the innermost iterations of all nests in one iteration of the parallel level."""
        ring = self.addressing.polynomials
        total = ring.zero
        for nest in self.nests:
            inside = ring.one
            for level in (*self.outer, *nest.kept, *nest.reduced):
                if level is not self.parallel:
                    inside = ring.mul(inside, level.extent)
            total = ring.add(total, inside)
        return total


def is_number(array: Array) -> bool:
    """Return whether an array is a single number that is known."""
    return array.data is not None and array.data.size == 1


@record(eq=False)
class Previous:
    """An element that an iteration reads, and that only the one before has written.

    It stays in a register: through memory, the chain of additions of a running sum would be three
    times as long.

    Attributes
    ----------
    access
        The element, as it is read.
    statement
        What writes it.
    """

    access: Access
    statement: Statement


def previous_elements(nest: NestPlan, level: Level, ring: Polynomials) -> list[Previous]:
    """Return the elements that iterations of the innermost level of a nest pass on."""
    found: list[Previous] = []
    loop = level.loops[-1]
    for statement in nest.statements:
        store = nest.stores.get(id(statement))
        if store is None or loop not in statement.sequential or store.dynamic or store.is_spread:
            continue
        if store.array.dtype.kind not in _PASSED_ON or store.array.dtype.itemsize < 4:
            continue
        writers = sum(other.array is store.array for other in nest.stores.values())
        before = ring.sub(store.offset, store.step(loop, ring.zero))
        found += [
            Previous(access, statement)
            for access in nest.accesses
            if writers == 1
            and access.array is store.array
            and access.offset is before
            and access.steps == store.steps
            and not access.dynamic
        ]
    return found
