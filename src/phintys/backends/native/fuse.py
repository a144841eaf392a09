"""Fusion: from single statements to kernels.

Each statement of a lowered graph writes an array of its own, so nothing is computed twice. Fusion
decides which arrays never reach memory. Statements are taken in order; one may join

- a *nest* with the same loops, if what it reads of arrays written there it reads at the very
  indices at which they are written: the value is then still in a register;
- a *kernel*, as a new nest under shared outer loops, if what it reads of arrays written there was
  written in the same iteration of the outer loops: it is then still in cache. This is how a
  softmax becomes one pass over the rows: maximum, then exponentials and their sum, then quotient.

A statement that reads what several kernels write joins the last of them, and the others are then
moved there too, if nobody in between waits for what they write.

The cost rule: computing an element again never pays, because storing it costs less than any
transcendental function, and because an element that is read at the indices where it was written
is not stored at all. A kernel is closed when it holds :data:`MOST_STATEMENTS`, for beyond that
registers run out and compile time grows; statements that share neither data nor a dependency with
a kernel stay apart, unless they have no loops.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from phintys.backends.native.dependence import (
    arrays_in_size,
    arrays_read,
    is_loop,
    needs_of,
    reads_of,
    renamed,
    same_index,
    same_indices,
)
from phintys.backends.native.program import (
    Array,
    Branch,
    Call,
    Callback,
    Check,
    Kernel,
    Load,
    Loop,
    LoopVariable,
    Nest,
    Place,
    Statement,
    Step,
)
from phintys.backends.native.sizes import Arithmetic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.backends.native.sizes import Size, Sizes

__all__ = ["MOST_NESTS", "MOST_STATEMENTS", "fuse", "is_loop", "reads_of", "same_index"]

MOST_STATEMENTS = 64
"""A kernel has no more statements."""

MOST_NESTS = 6
"""A kernel has no more nests."""


class _Member:
    """A statement on its way into a kernel, and what is known of it."""

    __slots__ = ("before", "loads", "memory", "statement")

    def __init__(self, statement: Statement, loads: list[Load], before: frozenset[Array]) -> None:
        self.statement = statement
        self.loads = loads
        self.before = before
        """Memory that must be complete before the loops begin, for sizes depend on it."""
        self.memory = statement.target.memory

    def renamed(self, loops: Sequence[LoopVariable]) -> _Member:
        """Return the member with other loops."""
        statement = renamed(self.statement, loops)
        if statement is self.statement:
            return self
        return _Member(statement, reads_of(statement), self.before)


class _Group:
    """A kernel that is being put together.

    Attributes
    ----------
    outer
        How many of the loops are outer ones; 0 while there is one nest.
    nests
        The members of each nest.
    members
        All members, in the order in which they came.
    writers
        For each memory that is written here, the number of the nest and the member. There is one:
        two writers of one memory stay in kernels of their own, in order.
    reads
        The memory that is read.
    """

    __slots__ = ("members", "nests", "outer", "reads", "writers")

    def __init__(self) -> None:
        self.outer = 0
        self.nests: list[list[_Member]] = []
        self.members: list[_Member] = []
        self.writers: dict[Array, tuple[int, _Member]] = {}
        self.reads: set[Array] = set()

    def copy(self) -> _Group:
        """Return a group that can be added to without changing this one."""
        group = _Group()
        group.outer = self.outer
        group.nests = [list(nest) for nest in self.nests]
        group.members = list(self.members)
        group.writers = dict(self.writers)
        group.reads = set(self.reads)
        return group

    def add(self, nest: int, member: _Member) -> None:
        """Put a member, whose loops are the nest's, at the end of a nest."""
        if nest == len(self.nests):
            self.nests.append([])
        self.nests[nest].append(member)
        self.members.append(member)
        self.writers[member.memory] = (nest, member)
        self.reads.update([load.array.memory for load in member.loads])

    def loops(self, nest: int) -> tuple[LoopVariable, ...]:
        """Return the loops of a nest, the outer ones included."""
        return self.nests[nest][0].statement.loops

    def kernel(self, local: set[Array]) -> Kernel:
        """Return the kernel."""
        outer = self.outer
        return Kernel(
            self.loops(0)[:outer],
            [
                Nest(nest[0].statement.loops[outer:], [member.statement for member in nest])
                for nest in self.nests
            ],
            local,
        )


# ---- may a statement join a kernel? --------------------------------------------------------------


class _Joining:
    """Tells where in a kernel a statement may go."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def join(self, group: _Group, member: _Member) -> bool:
        """Add a statement to a kernel if that is possible."""
        if len(group.members) >= MOST_STATEMENTS or member.memory in group.writers:
            return False
        if member.memory in group.reads or not member.before.isdisjoint(group.writers):
            return False
        inside: list[tuple[Load, int, _Member]] = []
        for load in member.loads:
            written = group.writers.get(load.array.memory)
            if written is not None:
                if written[1].statement.target is not load.array:
                    return False  # the same memory at other indices
                inside.append((load, *written))
        return self._join_nest(group, member, inside) or self._open_nest(group, member, inside)

    def _join_nest(
        self, group: _Group, member: _Member, inside: Sequence[tuple[Load, int, _Member]]
    ) -> bool:
        first = max([nest for _, nest, _ in inside], default=0)
        for nest in range(len(group.nests) - 1, first - 1, -1):
            loops = group.loops(nest)
            if not self._same_loops(loops, member.statement.loops):
                continue
            candidate = member.renamed(loops)
            reduction = candidate.statement.reduction
            if any(loop in reduction for loop in loops[: group.outer]):
                continue
            if reduction and _reduces_otherwise(group.nests[nest], reduction):
                continue
            if self._reads_fit(group, nest, candidate, group.outer):
                group.add(nest, candidate)
                return True
        return False

    def _open_nest(
        self, group: _Group, member: _Member, inside: Sequence[tuple[Load, int, _Member]]
    ) -> bool:
        """Add a nest of its own for a statement, which reads what others write."""
        if not inside or len(group.nests) >= MOST_NESTS:
            return False
        first = group.loops(0)
        if group.outer:
            choices: Iterable[int] = (group.outer,)
        else:
            choices = range(self._shared_prefix(group, member.statement), 0, -1)
        for outer in choices:
            own = member.statement.loops
            if not self._same_loops(first[:outer], own[:outer]):
                continue
            candidate = member.renamed((*first[:outer], *own[outer:]))
            if any(loop in candidate.statement.reduction for loop in first[:outer]):
                continue
            if self._reads_fit(group, len(group.nests), candidate, outer):
                group.outer = outer
                group.add(len(group.nests), candidate)
                return True
        return False

    def _shared_prefix(self, group: _Group, statement: Statement) -> int:
        """Return how many first loops a kernel and a statement share, none of them reductions."""
        reduced = {loop for member in group.nests[0] for loop in member.statement.reduction}
        length = 0
        for mine, theirs in zip(group.loops(0), statement.loops, strict=False):
            if not self.sizes.same(mine.extent, theirs.extent):
                break
            if mine in reduced or theirs in statement.reduction:
                break
            length += 1
        return length

    def _same_loops(self, left: Sequence[LoopVariable], right: Sequence[LoopVariable]) -> bool:
        if left is right:
            return True
        return len(left) == len(right) and all(
            mine is theirs or self.sizes.same(mine.extent, theirs.extent)
            for mine, theirs in zip(left, right, strict=True)
        )

    def _reads_fit(self, group: _Group, nest: int, member: _Member, outer: int) -> bool:
        """Tell whether all that a statement reads of a kernel is there when it is reached."""
        loops = [
            loop
            for loop in member.statement.loops[:outer]
            if self.sizes.canonical(loop.extent).known != 1
        ]
        for load in member.loads:
            written = group.writers.get(load.array.memory)
            if written is None:
                continue
            writer_nest, writer = written
            statement = writer.statement
            if writer_nest == nest:
                if statement.reduction or statement.accumulate:
                    return False
                if not same_indices(statement.indices, load.indices, self.sizes):
                    return False
                continue
            for loop in loops:
                if not any(
                    is_loop(mine, loop) and is_loop(theirs, loop)
                    for mine, theirs in zip(statement.indices, load.indices, strict=True)
                ):
                    return False
        return True


def _reduces_otherwise(nest: Sequence[_Member], reduction: Sequence[LoopVariable]) -> bool:
    """Tell whether a nest has reductions over other loops than these."""
    reduced = set(reduction)
    return any(
        member.statement.reduction and set(member.statement.reduction) != reduced for member in nest
    )


# ---- fusion --------------------------------------------------------------------------------------


class _Positions:
    """For each memory, the places that do something with it."""

    def __init__(self) -> None:
        self._all: dict[Array, set[int]] = {}
        self._last: dict[Array, int] = {}

    def add(self, memory: Array, position: int) -> None:
        """Note a place."""
        found = self._all.get(memory)
        if found is None:
            self._all[memory] = {position}
            self._last[memory] = position
            return
        found.add(position)
        self._last[memory] = max(self._last[memory], position)

    def move(self, memory: Array, source: int, target: int) -> None:
        """Note that a place became part of a later one."""
        self._all[memory].discard(source)
        self.add(memory, target)

    def all(self, memory: Array) -> Iterable[int]:
        """Return all places, in no order."""
        return self._all.get(memory, ())

    def last(self, memory: Array) -> int:
        """Return the last place, -1 if there is none."""
        return self._last.get(memory, -1)

    def is_only(self, memory: Array, position: int) -> bool:
        """Tell whether there is no place but the given one."""
        found = self._all.get(memory)
        return not found or found == {position}


class _Fusion:
    """Gathers the statements of one program."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.joining = _Joining(sizes)
        self.prologue: list[Step] = []
        """Checks that need only what comes from outside: done before anything else."""
        self.places: list[_Group | Step | None] = []
        """Kernels and other steps, in the order in which they run; ``None`` for one that moved."""
        self.checks: dict[int, list[Check]] = defaultdict(list)
        """For each place, the checks that are done right after it."""
        self.floor = 0
        """Statements go no further up than this: a check that they rely on stands before it."""
        self.writers = _Positions()
        self.readers = _Positions()
        self.waiting = _Positions()
        """Of those that need a memory complete before they begin: sizes depend on it."""
        self._tried: set[tuple[int, int]] = set()
        self._sources: dict[Size, tuple[Array, ...]] = {}

    # ---- statements

    def place(self, statement: Statement) -> None:
        """Put a statement where it fits best."""
        needs = needs_of(statement)
        before = {array for size in set(needs.sizes) for array in self._arrays_in(size)}
        member = _Member(statement, needs.loads, frozenset(before))
        position = self._join_some(member)
        if position is None:
            group = _Group()
            group.add(0, member)
            position = len(self.places)
            self.places.append(group)
        self._note(position, member)
        for load in member.loads:
            for other in tuple(self.writers.all(load.array.memory)):
                if other < position:
                    self._move(other, position)

    def _join_some(self, member: _Member) -> int | None:
        """Add a statement to a kernel that it has something to do with; return which one."""
        earliest = self._earliest(member)
        related: set[int] = set()
        for load in member.loads:
            memory = load.array.memory
            related.add(self.writers.last(memory))
            if any(index.terms or index.dynamic for index in load.indices):
                related.add(self.readers.last(memory))
        if not member.statement.loops and self.places:
            related.add(len(self.places) - 1)
        for position in sorted(related, reverse=True):
            if position < earliest:
                break
            group = self.places[position]
            if isinstance(group, _Group) and self.joining.join(group, member):
                return position
        return None

    def _earliest(self, member: _Member) -> int:
        """Return the first place that may hold a statement."""
        memory = member.memory
        return max(
            self.floor,
            self.writers.last(memory),
            self.readers.last(memory),
            self.waiting.last(memory),
            *[self.writers.last(load.array.memory) for load in member.loads],
            *[self.writers.last(array) + 1 for array in member.before],
        )

    def _note(self, position: int, member: _Member) -> None:
        self.writers.add(member.memory, position)
        for load in member.loads:
            self.readers.add(load.array.memory, position)
        for array in member.before:
            self.waiting.add(array, position)

    def _arrays_in(self, size: Size) -> tuple[Array, ...]:
        """Return the memory that is needed for a size, or for one that it is equal to."""
        found = self._sources.get(size)
        if found is None:
            stack, arrays = [size], dict.fromkeys(arrays_in_size(size))
            while stack:
                current = stack.pop()
                best = self.sizes.canonical(current)
                if best is not current:
                    arrays.update(dict.fromkeys(arrays_in_size(best)))
                for one in {current, best}:
                    if isinstance(one, Arithmetic):
                        stack.extend(one.arguments)
            outside = {Place.ARGUMENT, Place.CONSTANT}
            found = tuple(array for array in arrays if array.place not in outside)
            self._sources[size] = found
        return found

    # ---- moving kernels

    def _move(self, source: int, target: int) -> None:
        """Carry out a kernel as part of a later one, if that changes nothing."""
        first, second = self.places[source], self.places[target]
        if not isinstance(first, _Group) or not isinstance(second, _Group):
            return
        if (source, target) in self._tried:
            return
        self._tried.add((source, target))
        if len(first.members) + len(second.members) > MOST_STATEMENTS:
            return
        if source in self.checks or not self._may_move(first, source, target):
            return
        group = first.copy()
        if not all(self.joining.join(group, member) for member in second.members):
            return
        self.places[source] = None
        self.places[target] = group
        for member in first.members:
            self.writers.move(member.memory, source, target)
            for load in member.loads:
                self.readers.move(load.array.memory, source, target)
            for array in member.before:
                self.waiting.move(array, source, target)

    def _may_move(self, group: _Group, source: int, target: int) -> bool:
        """Tell whether nothing between two places depends on a kernel at the first one."""
        for array in group.writers:
            if any(source < at <= target for at in self.writers.all(array)):
                return False
            if any(source < at < target for at in self.readers.all(array)):
                return False
            if any(source < at <= target for at in self.waiting.all(array)):
                return False
        return not any(
            source < at <= target for array in group.reads for at in self.writers.all(array)
        )

    # ---- other steps

    def barrier(self, step: Step) -> None:
        """Add a step that is no statement."""
        if isinstance(step, Check):
            self._check(step)
            return
        position = len(self.places)
        self.places.append(step)
        for array in arrays_read(step):
            self.readers.add(array, position)
        if isinstance(step, Call):
            self.writers.add(step.output.memory, position)
        elif isinstance(step, Callback):
            for value in (*step.outputs, *step.destroyed):
                if isinstance(value, Array):
                    self.writers.add(value.memory, position)
        else:
            assert isinstance(step, Branch | Loop)
            self.floor = position

    def _check(self, check: Check) -> None:
        """Add a check as soon as its sizes are known: whatever comes later may rely on it."""
        needed = {array for size in (check.left, check.right) for array in arrays_in_size(size)}
        position = max([self.writers.last(array) for array in needed], default=-1)
        if position < 0:
            self.prologue.append(check)
            return
        self.checks[position].append(check)
        self.floor = max(self.floor, position + 1)
        for array in needed:
            self.waiting.add(array, position + 1)

    # ---- the result

    def steps(self, kept: set[Array]) -> list[Step]:
        """Return the kernels and other steps; arrays in ``kept`` leave their kernels."""
        made: list[Step] = list(self.prologue)
        for position, group in enumerate(self.places):
            if isinstance(group, _Group):
                local = {
                    member.statement.target
                    for memory, (_, member) in group.writers.items()
                    if memory.place == Place.BUFFER
                    and memory not in kept
                    and self.writers.is_only(memory, position)
                    and self.readers.is_only(memory, position)
                    and self.waiting.last(memory) < 0
                }
                made.append(group.kernel(local))
            elif group is not None:
                made.append(group)
            made += self.checks.get(position, ())
        return made


def fuse(steps: Sequence[Step | Statement], sizes: Sizes, kept: Iterable[Array]) -> list[Step]:
    """Return the steps of a program with its statements gathered in kernels.

    Parameters
    ----------
    steps
        What lowering made, in order.
    sizes
        The sizes of the program.
    kept
        Arrays that are read after the program has run: its results.
    """
    fusion = _Fusion(sizes)
    for step in steps:
        if isinstance(step, Statement):
            fusion.place(step)
        else:
            fusion.barrier(step)
    return fusion.steps({array.memory for array in kept})
