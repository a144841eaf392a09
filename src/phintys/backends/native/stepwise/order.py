"""In which order the iterations of a kernel read and write memory that several arrays share.

Statements say what is computed, and not in which order: the iterations of a kernel are shared by
threads, cut into tiles, and computed several at once in the lanes of vectors. So what one iteration
reads, another may overwrite only if it certainly comes later:

- in the same iteration of the outer loops, what an earlier nest reads a later one may overwrite;
- in a nest, an iteration may overwrite what it has read itself, in the same or an earlier
  statement, or what it reads again in the same way: that element is then still in a register;
- a reduction is written after all that is read for its element;
- in a kernel whose iterations run in order, what an earlier iteration reads a later one may
  overwrite.

What is read from a register follows from the plan of the kernel, and from nothing that memory
planning knows. The same is asked of an array that a kernel reads and modifies: its own elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import IntegrityError
from phintys._base.records import record
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.dependence import reads_of
from phintys.backends.native.kernels.planning import plans_of
from phintys.backends.native.polynomials import Polynomials

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.expressions import Index, Load, Statement
    from phintys.backends.native.kernels.plans import KernelPlan
    from phintys.backends.native.program import Program
    from phintys.backends.native.steps.kernel import Kernel
    from phintys.backends.native.stepwise.grid import Grid
    from phintys.backends.native.stepwise.storage import Memory, Storage
    from phintys.backends.native.values import Array

    Numbers = np.ndarray[Any, Any]
    Places = Callable[[Array, Sequence[Index], Grid], Numbers]


@record(eq=False)
class _Use:
    """What a statement reads and writes in memory.

    Attributes
    ----------
    statement
        The statement.
    loads
        Its loads from memory, each with the number of the statement of the nest that first reads
        the element, by whatever load: later ones have it in a register.
    is_stored
        Whether it writes memory that others see.
    """

    statement: Statement
    loads: list[tuple[Load, int]]
    is_stored: bool

    @property
    def has_order(self) -> bool:
        """Whether it may write what it reads itself, in the order of its loops."""
        statement = self.statement
        is_dynamic = any(index.dynamic is not None for index in statement.indices)
        return bool(statement.sequential or statement.accumulate or is_dynamic)


@record(eq=False)
class _Uses:
    """What a kernel reads and writes: for each nest, and each statement."""

    is_serial: bool
    nests: list[list[_Use]]
    accesses: list[dict[int, int]]
    """For each nest, by the ``id`` of a load, a number that loads of the same element share."""


class Orders:
    """What is known of the kernels of a program before it runs.

    Parameters
    ----------
    program
        The program.
    target
        The CPU that code is written for.
    """

    def __init__(self, program: Program, target: Target | None = None) -> None:
        self._ring = Polynomials(program.sizes)
        self._target = target or Target.configured()
        self._uses: dict[Kernel, _Uses] = {}

    def of(self, kernel: Kernel) -> _Uses:
        """Return the memory that a kernel reads and writes."""
        found = self._uses.get(kernel)
        if found is None:
            plan, rows = plans_of(kernel, self._ring, self._target)
            plans = [plan] if rows is None else [plan, rows.plan]
            nests = [
                [_use(kernel, statement, number, plans) for statement in nest.statements]
                for number, nest in enumerate(kernel.nests)
            ]
            accesses = [{load: id(one) for load, one in nest.loads.items()} for nest in plan.nests]
            found = self._uses[kernel] = _Uses(plan.is_serial, nests, accesses)
        return found


def _use(kernel: Kernel, statement: Statement, nest: int, plans: Sequence[KernelPlan]) -> _Use:
    loads: list[tuple[Load, int]] = []
    for load in dict.fromkeys(reads_of(statement)):
        first = max(_first_read(load, statement, plan, nest) for plan in plans)
        if first >= 0 and load.array.memory not in kernel.local:
            loads.append((load, first))
    return _Use(statement, loads, statement.target.memory not in kernel.local)


def _first_read(load: Load, statement: Statement, plan: KernelPlan, nest: int) -> int:
    """Return which statement of a nest first reads an element; -1 if memory is not read."""
    accesses = plan.nests[nest].loads
    access = accesses.get(id(load))
    if access is None:
        return -1
    for number, earlier in enumerate(plan.nests[nest].statements):
        if any(accesses.get(id(other)) is access for other in reads_of(earlier)):
            return number
    msg = f"{load!r} is not among the loads of {statement!r}."
    raise IntegrityError(msg)


@record(eq=False)
class _Accesses:
    """The bytes that one load, or one statement, accesses in all iterations.

    Attributes
    ----------
    array, memory
        The array.
    nest, at, first
        The numbers of the nest, the statement, and the one that reads the element first.
    use
        The statement.
    starts
        The first byte of each element.
    outer, inner, kept
        The numbers of the iterations: of the outer loops, of the nest, and of those of its loops
        that are not reduced; ``-1`` for the iteration of the nest where a reduction is written.
    """

    array: Array
    memory: Memory
    nest: int
    at: int
    first: int
    use: _Use
    starts: Numbers
    outer: Numbers
    inner: Numbers
    kept: Numbers

    def joined(self, others: Sequence[_Accesses]) -> _Accesses:
        """Return these and others of the same load or statement."""
        every = [self, *others]
        return _Accesses(
            *(self.array, self.memory, self.nest, self.at, self.first, self.use),
            np.concatenate([one.starts for one in every]),
            np.concatenate([one.outer for one in every]),
            np.concatenate([one.inner for one in every]),
            np.concatenate([one.kept for one in every]),
        )

    @property
    def bytes(self) -> Numbers:
        """The bytes of each element, in rows."""
        return self.starts[:, None] + np.arange(self.memory.data.dtype.itemsize)


class KernelOrder:
    """What one run of a kernel reads and writes in memory that is shared.

    Parameters
    ----------
    kernel
        The kernel.
    uses
        What it reads and writes.
    places
        The memory of the arrays that are looked at.
    """

    def __init__(self, kernel: Kernel, uses: _Uses, places: dict[Array, Memory]) -> None:
        self._kernel = kernel
        self._uses = uses
        self._places = places
        self._reads: dict[tuple[int, int, Load], list[_Accesses]] = {}
        self._writes: dict[tuple[int, int], list[_Accesses]] = {}
        self._registers: dict[int, tuple[Grid, Numbers]] = {}

    @classmethod
    def of(
        cls, kernel: Kernel, orders: Orders, memory_of: Callable[[Array], Memory]
    ) -> KernelOrder | None:
        """Return a new one; ``None`` if the kernel writes no memory that it also reads."""
        uses = orders.of(kernel)
        every = [use for nest in uses.nests for use in nest]
        written = {use.statement.target.memory for use in every if use.is_stored}
        read = {load.array.memory for use in every for load, _ in use.loads}
        places = {array: memory_of(array) for array in dict.fromkeys([*written, *read])}
        there: dict[Storage, list[Array]] = {}
        for array, memory in places.items():
            there.setdefault(memory.storage, []).append(array)
        shared: dict[Array, Memory] = {}
        for arrays in there.values():
            if any(one in written and (len(arrays) > 1 or one in read) for one in arrays):
                shared |= {one: places[one] for one in arrays}
        return cls(kernel, uses, shared) if shared else None

    def register(self, load: Load, grid: Grid) -> Numbers | None:
        """Return elements that an earlier statement of the nest has read, if it has."""
        found = self._registers.get(id(load))
        if found is None:
            return None
        whole, values = found
        at = [
            slice(None) if mine == all_ else slice(counter := int(grid.counters[loop]), counter + 1)
            for loop, mine, all_ in zip(grid.loops, grid.shape, whole.shape, strict=True)
        ]
        return values[tuple(at)]

    def begin(self) -> None:
        """Forget what is in registers, before a nest."""
        self._registers = {}

    def _keep(self, load: Load, nest: int, grid: Grid, memory: Memory, at: Numbers) -> None:
        written = {use.statement.target.memory for use in self._uses.nests[nest]}
        if load.array.memory in written or not memory.holds(at).all():
            return
        accesses = self._uses.accesses[nest]
        kept = grid, memory.data[at]
        same = [one for one, access in accesses.items() if access == accesses.get(id(load))]
        self._registers |= dict.fromkeys(same, kept)

    def note(
        self,
        outer: int,
        nest: int,
        at: int,
        lengths: Sequence[int],
        grid: Grid,
        places: Places,
    ) -> None:
        """Note what a statement is about to read and write, in all iterations of a nest."""
        use = self._uses.nests[nest][at]
        statement = use.statement
        nests = self._uses.nests[nest]
        reduced = {loop for one in nests for loop in one.statement.reduction}
        loops = self._kernel.nests[nest].loops
        kept = [pair for pair in zip(loops, lengths, strict=True) if pair[0] not in reduced]
        numbers = [
            np.full(grid.count, outer),
            grid.ranks(loops, lengths),
            grid.ranks([loop for loop, _ in kept], [length for _, length in kept]),
        ]
        for load, first in use.loads:
            memory = self._places.get(load.array.memory)
            if memory is not None:
                elements = places(load.array, load.indices, grid)
                if first == at:
                    self._keep(load, nest, grid, memory, elements)
                starts = memory.first_bytes(elements.reshape(-1))
                made = _Accesses(load.array.memory, memory, nest, at, first, use, starts, *numbers)
                self._reads.setdefault((nest, at, load), []).append(made)
        memory = self._places.get(statement.target.memory)
        if memory is None:
            return
        if statement.reduction:
            grid = grid.without([grid.loops.index(loop) for loop in statement.reduction])
            ranks = grid.ranks([loop for loop, _ in kept], [length for _, length in kept])
            numbers = [np.full(grid.count, outer), np.full(grid.count, -1), ranks]
        starts = memory.first_bytes(places(statement.target, statement.indices, grid).reshape(-1))
        made = _Accesses(statement.target.memory, memory, nest, at, at, use, starts, *numbers)
        self._writes.setdefault((nest, at), []).append(made)

    def check(self) -> None:
        """Check that nothing is read after it may have been overwritten.

        Raises
        ------
        IntegrityError
            Something is.
        """
        reads = [first.joined(others) for first, *others in self._reads.values()]
        writes = [first.joined(others) for first, *others in self._writes.values()]
        for number, write in enumerate(writes):
            storage = write.memory.storage
            writer = np.full(storage.bytes.size, -1)
            places = write.bytes
            writer[places] = np.arange(len(places))[:, None]
            often = np.bincount(places.reshape(-1), minlength=storage.bytes.size) > 1
            for read in reads:
                if read.memory.storage is storage:
                    self._compare(read, write, writer, often)
            for other in writes[:number]:
                if other.memory.storage is storage and other.array is not write.array:
                    hit = writer[other.bytes] >= 0
                    if hit.any():
                        self._complain(other, write, "writes")

    def _compare(self, read: _Accesses, write: _Accesses, writer: Numbers, often: Numbers) -> None:
        is_own = read.array is write.array
        if is_own and (self._uses.is_serial or write.use.has_order):
            return
        places = read.bytes
        hit = writer[places] >= 0
        if not hit.any():
            return
        rows, _ = np.nonzero(hit)
        ok = self._is_in_order(read, write, rows, writer[places][hit])
        if read.nest == write.nest:
            ok &= ~often[places][hit]
        if not ok.all():
            self._complain(read, write, "reads")

    def _is_in_order(
        self, read: _Accesses, write: _Accesses, reader: Numbers, writer: Numbers
    ) -> Numbers:
        """Return for pairs of iterations whether the first certainly reads before the other writes.

        If both access the same array, the one may also read what the other has written.
        """
        is_own = read.array is write.array
        together = read.outer[reader] == write.outer[writer]
        earlier = read.outer[reader] < write.outer[writer]
        if read.nest != write.nest:
            found = together & (is_own or read.nest < write.nest)
            return found | earlier if self._uses.is_serial else found
        if write.use.statement.reduction:
            same = read.kept[reader] == write.kept[writer]
            before = read.kept[reader] < write.kept[writer]
            is_right = not is_own or read.at <= write.at
        else:
            same = read.inner[reader] == write.inner[writer]
            before = read.inner[reader] < write.inner[writer]
            is_right = read.first <= write.at
            if is_own:
                is_right = read.at <= write.at or read.first > write.at
        found = together & same & is_right
        if self._uses.is_serial:
            is_plain = not any(use.statement.reduction for use in self._uses.nests[read.nest])
            found |= earlier | (together & before & (is_plain and read.at <= write.at))
        return found

    def _complain(self, one: _Accesses, write: _Accesses, does: str) -> None:
        msg = (
            f"{self._kernel.title} {does} {one.array!r} in statement {one.at} of nest {one.nest}, "
            f"and writes {write.array!r} to the same memory in statement {write.at} of nest "
            f"{write.nest}, maybe before. Memory must be overwritten only after it has been read "
            "for the last time. This is a bug in Phintys: please report it."
        )
        raise IntegrityError(msg)
