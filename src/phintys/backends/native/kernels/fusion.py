"""Fusion: grouping of statements into kernels.

Each statement of a lowered graph writes its own array, so nothing is computed twice. Fusion decides
which arrays never reach memory. Statements are processed in order; one may join

- a *nest* with the same loops, if it reads arrays written there only at the indices at which they
  are written: the value is then still in a register;
- a *kernel*, as a new nest under shared outer loops, if the elements it reads of arrays written
  there were written in the same iteration of the outer loops: they are then still in cache. This
  is how a softmax becomes one pass over the rows: maximum, then exponentials and their sum, then
  quotient.

A statement that reads arrays written by several kernels joins the last of them, and the other
kernels are merged into that one if no step in between depends on what they write.

The cost rule: recomputing an element never pays, because storing it costs less than any
transcendental function, and because an element that is read at the indices where it was written is
not stored at all. A kernel is closed when it holds ``MOST_STATEMENTS``, because beyond that
registers run out and compile time grows, or ``MOST_NUMBERS`` if it has no loops, so that numbers
pass from one to the next without memory of the program; statements that share neither data nor a
dependency with a kernel stay separate, unless they have no loops.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from phintys.backends.native.dependence import (
    Occurrences,
    are_apart,
    arrays_in_size,
    arrays_read,
    arrays_written,
    has_order,
    is_loop,
    may_overwrite,
    meeting,
    needs_of,
    reads_of,
    renamed,
    same_indices,
)
from phintys.backends.native.expressions import Load, Statement
from phintys.backends.native.kernels.statements import starts_first
from phintys.backends.native.limits import MOST_NESTS, MOST_NUMBERS, MOST_STATEMENTS
from phintys.backends.native.program import Step
from phintys.backends.native.sizes import Arithmetic, Element, Extent, Size, Sizes
from phintys.backends.native.steps.check import Check
from phintys.backends.native.steps.kernel import Kernel, Nest
from phintys.backends.native.values import Array, LoopVariable, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class _Member:
    """A statement to be placed in a kernel, with its loads and dependencies."""

    __slots__ = ("before", "loads", "memory", "statement")

    def __init__(self, statement: Statement, loads: list[Load], before: frozenset[Array]) -> None:
        self.statement = statement
        self.loads = loads
        self.before = before
        """Memory that must be complete before the loops begin, because sizes depend on it."""
        self.memory = statement.target.memory

    def renamed(self, loops: Sequence[LoopVariable]) -> _Member:
        """Return the member with its loops replaced."""
        statement = renamed(self.statement, loops)
        if statement is self.statement:
            return self
        return _Member(statement, reads_of(statement), self.before)


class _Ref:
    """A reference to a step that stays valid when the step is merged into another one."""

    __slots__ = ("step",)

    def __init__(self, step: _Placed) -> None:
        self.step = step


class _Placed:
    """A step with a position in the program.

    Attributes
    ----------
    at
        The position.
    refs
        The references to it.
    followers
        Steps that must come later: they read or overwrite memory that it writes, or overwrite
        memory that it reads. Some that are implied by others are missing. It is the order of
        :class:`~phintys.backends.native.dependence.Accesses`, found as steps are added.
    """

    __slots__ = ("at", "followers", "refs")

    def __init__(self, at: int) -> None:
        self.at = at
        self.refs = [_Ref(self)]
        self.followers: set[_Ref] = set()


class _Group(_Placed):
    """A kernel under construction.

    Attributes
    ----------
    outer
        Number of outer loops; 0 while there is one nest.
    nests
        The members of each nest.
    members
        All members, in the order in which they were added.
    writers
        For each array written here, the numbers of the nests and the members that write it. There
        is one; several if they write single elements that are not read here. Other writers of the
        same memory stay in separate kernels, in order.
    reads
        For each array that is read, its loads.
    before
        Memory that must be complete before the kernel begins.
    """

    __slots__ = ("before", "members", "nests", "outer", "reads", "writers")

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.outer = 0
        self.nests: list[list[_Member]] = []
        self.members: list[_Member] = []
        self.writers: dict[Array, list[tuple[int, _Member]]] = {}
        self.reads: dict[Array, list[Load]] = {}
        self.before: set[Array] = set()

    def cut(self, count: int, outer: int) -> None:
        """Drop all but the first ``count`` members, which had ``outer`` outer loops."""
        for member in reversed(self.members[count:]):
            nest, _ = self.writers[member.memory].pop()
            if not self.writers[member.memory]:
                del self.writers[member.memory]
            self.nests[nest].pop()
        del self.members[count:]
        self.nests = [nest for nest in self.nests if nest]
        self.outer = outer
        self.reads = {}
        for member in self.members:
            self._add_loads(member)

    def take(self, other: _Group) -> None:
        """Take over the references of a group merged into this one, at the later position."""
        for ref in other.refs:
            ref.step = self
        self.refs += other.refs
        self.followers |= other.followers
        self.at = max(self.at, other.at)

    def add(self, nest: int, member: _Member) -> None:
        """Append a member, whose loops are the nest's, to a nest."""
        if nest == len(self.nests):
            self.nests.append([])
        self.nests[nest].append(member)
        self.members.append(member)
        self.writers.setdefault(member.memory, []).append((nest, member))
        self.before |= member.before
        self._add_loads(member)

    def _add_loads(self, member: _Member) -> None:
        for load in member.loads:
            self.reads.setdefault(load.array.memory, []).append(load)

    def put_before(self, members: Sequence[_Member]) -> None:
        """Prepend members, whose loops are those of the only nest, to it."""
        self.members = [*members, *self.members]
        self.nests[0] = list(self.members)
        for member in members:
            self.writers.setdefault(member.memory, []).append((0, member))
            self.before |= member.before
            self._add_loads(member)

    def loops(self, nest: int) -> tuple[LoopVariable, ...]:
        """Return the loops of a nest, including the outer ones."""
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


def _most_members(nests: Iterable[Sequence[_Member]]) -> int:
    """Return how many statements a kernel of these nests may hold."""
    return MOST_STATEMENTS if any(nest[0].statement.loops for nest in nests) else MOST_NUMBERS


# ---- may a statement join a kernel? --------------------------------------------------------------


class _Joining:
    """Decides where in a kernel a statement can be placed."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def join(self, group: _Group, member: _Member) -> bool:
        """Add a statement to a kernel if possible, and return whether it was."""
        if len(group.members) >= _most_members([*group.nests, [member]]):
            return False
        if not member.before.isdisjoint(group.writers):
            return False
        if member.memory in group.writers and not self._writes_elsewhere(group, member):
            return False
        if member.memory in group.reads:
            return self._overwrite(group, member)
        inside: list[tuple[Load, int, _Member]] = []
        for load in member.loads:
            written = group.writers.get(load.array.memory)
            if written is not None:
                if len(written) > 1 or written[0][1].statement.target is not load.array:
                    return False  # the same memory at other indices
                inside.append((load, *written[0]))
        return self._join_nest(group, member, inside) or self._open_nest(group, member, inside)

    def _writes_elsewhere(self, group: _Group, member: _Member) -> bool:
        """Return whether a statement only writes an element that a kernel does not touch.

        The kernel writes other elements of the array, and reads none, such as those of a vector
        that is made of numbers.
        """
        statement = member.statement
        touched = (*group.reads, *(load.array.memory for load in member.loads))
        if statement.loops or statement.accumulate or member.memory in touched:
            return False
        others = [other.statement for _, other in group.writers[member.memory]]
        return all(
            not other.loops
            and other.target is statement.target
            and are_apart(other.indices, statement.indices, (), self.sizes)
            for other in others
        )

    def _overwrite(self, group: _Group, member: _Member) -> bool:
        """Add a statement to the nest that reads what it overwrites: the same elements, or others.

        Others are in other rows: those of a trace, which are read in a step and written in it.
        """
        number = len(group.nests) - 1
        loops = group.loops(number)
        if not self._same_loops(loops, member.statement.loops):
            return False
        candidate = member.renamed(loops)
        statement = candidate.statement
        nests = [[one.statement for one in nest] for nest in group.nests]
        nests[number].append(statement)
        kernel = Occurrences(nests)
        if not may_overwrite(
            kernel, statement, member.memory, lambda load: meeting(load, statement, self.sizes)
        ):
            return False
        if _changes_order(group.nests[number], statement):
            return False
        if not self._reads_fit(group, number, candidate, group.outer):
            return False
        group.add(number, candidate)
        return True

    def merge(self, first: _Group, second: _Group) -> _Group | None:
        """Merge two kernels if possible, changing one of them, and return the result."""
        if self._put_before(first, second):
            second.take(first)
            return second
        count, outer = len(first.members), first.outer
        if all(self.join(first, member) for member in second.members):
            first.take(second)
            return first
        first.cut(count, outer)
        return None

    def _put_before(self, first: _Group, second: _Group) -> bool:
        """Put one nest before another if they can be merged, at the cost of the first."""
        if len(first.nests) != 1 or len(second.nests) != 1:
            return False
        loops = second.loops(0)
        if not self._same_loops(loops, first.loops(0)):
            return False
        if any(memory in second.writers for memory in (*first.writers, *first.reads)):
            return False
        members = [member.renamed(loops) for member in first.members]
        for member in members:
            statement = member.statement
            loads = second.reads.get(member.memory, ())
            if loads and (statement.reduction or statement.accumulate):
                return False
            if member.memory in second.before or not all(
                load.array is statement.target
                and same_indices(statement.indices, load.indices, self.sizes)
                for load in loads
            ):
                return False
            if statement.reduction and _reduces_otherwise(second.nests[0], statement.reduction):
                return False
            if _changes_order(second.nests[0], statement):
                return False
        second.put_before(members)
        return True

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
            if _changes_order(group.nests[nest], candidate.statement):
                continue
            others = [*group.nests[:nest], *group.nests[nest + 1 :]]
            if _makes_reductions_serial(others, candidate.statement):
                continue
            if self._reads_fit(group, nest, candidate, group.outer):
                group.add(nest, candidate)
                return True
        return False

    def _open_nest(
        self, group: _Group, member: _Member, inside: Sequence[tuple[Load, int, _Member]]
    ) -> bool:
        """Add a separate nest for a statement that reads what other nests write."""
        if not inside or len(group.nests) >= MOST_NESTS:
            return False
        if _makes_reductions_serial(group.nests, member.statement):
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
        """Return how many leading loops a kernel and a statement share; reductions do not count."""
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
        """Return whether everything that a statement reads of a kernel has been written by then."""
        loops = [
            loop
            for loop in member.statement.loops[:outer]
            if self.sizes.canonical(loop.extent).known != 1
        ]
        for load in member.loads:
            written = group.writers.get(load.array.memory)
            if written is None:
                continue
            if len(written) > 1:
                return False
            ((writer_nest, writer),) = written
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


def _changes_order(nest: Sequence[_Member], statement: Statement) -> bool:
    """Return whether reductions would change a required order: reduced loops become inner ones.

    All have the same loops, and there is one set of reduced loops.
    """
    if statement.reduction:
        if not any(has_order(member.statement) for member in nest):
            return False
        reduced = set(statement.reduction)
    elif has_order(statement):
        reduced = {loop for member in nest for loop in member.statement.reduction}
    else:
        return False
    return reduced != set(statement.loops[len(statement.loops) - len(reduced) :])


def _reduces_otherwise(nest: Sequence[_Member], reduction: Sequence[LoopVariable]) -> bool:
    """Return whether a nest has reductions over loops other than these."""
    reduced = set(reduction)
    return any(
        member.statement.reduction and set(member.statement.reduction) != reduced for member in nest
    )


def _makes_reductions_serial(nests: Sequence[Sequence[_Member]], statement: Statement) -> bool:
    """Return whether rows would be reduced one after the other, because of what is accumulated.

    The elements of a statement that accumulates are added in order. In a kernel of their own,
    several rows are reduced at once, by all threads; what it stores is a number for each of them.
    ``nests`` are those of the kernel that the statement would not be part of.
    """
    others = [member.statement for nest in nests for member in nest]
    if statement.accumulate:
        return any(other.reduction for other in others)
    return bool(statement.reduction) and any(other.accumulate for other in others)


# ---- fusion --------------------------------------------------------------------------------------


class _Touches:
    """For each array, the steps that access it."""

    def __init__(self) -> None:
        self._all: dict[Array, dict[_Ref, None]] = {}
        self._last: dict[Array, _Ref] = {}

    def add(self, memory: Array, ref: _Ref) -> None:
        """Record a step."""
        found = self._all.get(memory)
        if found is None:
            self._all[memory] = {ref: None}
            self._last[memory] = ref
            return
        found[ref] = None
        if ref.step.at > self._last[memory].step.at:
            self._last[memory] = ref

    def moved(self, memories: Iterable[Array], ref: _Ref) -> None:
        """Record that a step that accesses these arrays has moved down."""
        at = ref.step.at
        for memory in memories:
            if self._last[memory].step.at < at:
                self._last[memory] = ref

    def last(self, memory: Array) -> int:
        """Return the last position, -1 if there is none."""
        ref = self._last.get(memory)
        return -1 if ref is None else ref.step.at

    def last_ref(self, memory: Array) -> _Ref | None:
        """Return the last step."""
        return self._last.get(memory)

    def is_only(self, memory: Array, position: int) -> bool:
        """Return whether the given position is the only one."""
        return all(ref.step.at == position for ref in self._all.get(memory, ()))


class _Fusion:
    """Groups the statements of one program."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.joining = _Joining(sizes)
        self.prologue: list[Step] = []
        """Checks that depend on inputs only: these run first."""
        self.places: list[_Group | Step | None] = []
        """Kernels and other steps, in the order in which they run; ``None`` where one has moved."""
        self.checks: dict[int, list[Check]] = defaultdict(list)
        """For each position, the checks that run directly after it."""
        self.floor = 0
        """Statements move up no further than this: a check that they rely on precedes it."""
        self.writers = _Touches()
        self.readers = _Touches()
        self.waiting = _Touches()
        """Of those that need a memory complete before they begin: sizes depend on it."""
        self._unwritten: dict[Array, list[_Ref]] = {}
        """The steps that have read memory since it was last written."""
        self._tried: set[tuple[int, int]] = set()
        self._sources: dict[Size, tuple[Array, ...]] = {}

    # ---- statements

    def place(self, statement: Statement) -> None:
        """Place a statement in the best position."""
        needs = needs_of(statement)
        before = {array for size in set(needs.sizes) for array in self._arrays_in(size)}
        member = _Member(statement, needs.loads, frozenset(before))
        position = self._join_some(member)
        if position is None:
            position = len(self.places)
            group = _Group(position)
            group.add(0, member)
            self.places.append(group)
        placed = self.places[position]
        assert isinstance(placed, _Group)
        reads = [load.array.memory for load in member.loads]
        self._note(placed, reads, [member.memory], member.before)
        for memory in reads:
            # Earlier writers stay where they are: the last one follows them.
            other = self.writers.last(memory)
            if 0 <= other < position:
                self._move(other, position)

    def _join_some(self, member: _Member) -> int | None:
        """Add a statement to a kernel that it is related to, and return the kernel's position."""
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
        """Return the first position at which a statement can be placed."""
        memory = member.memory
        return max(
            self.floor,
            self.writers.last(memory),
            self.readers.last(memory),
            self.waiting.last(memory),
            *[self.writers.last(load.array.memory) for load in member.loads],
            *[self.writers.last(array) + 1 for array in member.before],
        )

    def _note(
        self,
        step: _Placed,
        reads: Iterable[Array],
        writes: Iterable[Array],
        before: Iterable[Array] = (),
    ) -> None:
        """Record what a step reads, writes and needs complete; it follows earlier steps."""
        ref = step.refs[0]
        for array in before:
            self._follow(ref, self.writers.last_ref(array))
            self.waiting.add(array, ref)
            self._unwritten.setdefault(array, []).append(ref)
        for array in reads:
            self._follow(ref, self.writers.last_ref(array))
            self.readers.add(array, ref)
            self._unwritten.setdefault(array, []).append(ref)
        for array in writes:
            self._follow(ref, self.writers.last_ref(array))
            for other in self._unwritten.pop(array, ()):
                self._follow(ref, other)
            self.writers.add(array, ref)

    def _follow(self, ref: _Ref, other: _Ref | None) -> None:
        if other is not None and other.step is not ref.step:
            other.step.followers.add(ref)

    def _arrays_in(self, size: Size) -> tuple[Array, ...]:
        """Return the memory needed for a size, or for one that it is equal to."""
        sources = self._sources
        stack = [size]
        while stack:
            current = stack[-1]
            if current in sources:
                stack.pop()
                continue
            best = self.sizes.canonical(current)
            parts = [] if best is current else [best]
            parts += current.arguments if isinstance(current, Arithmetic) else ()
            missing = [part for part in parts if part not in sources]
            if missing:
                stack += missing
                continue
            arrays = dict.fromkeys(array for part in parts for array in sources[part])
            if isinstance(current, Element | Extent):
                memory = current.array.memory
                if memory.place not in {Place.ARGUMENT, Place.CONSTANT}:
                    arrays[memory] = None
            sources[current] = tuple(arrays)
        return sources[size]

    # ---- moving kernels

    def _move(self, source: int, target: int) -> None:
        """Merge a kernel into a later one, if that preserves the results."""
        first, second = self.places[source], self.places[target]
        if not isinstance(first, _Group) or not isinstance(second, _Group):
            return
        if (source, target) in self._tried:
            return
        self._tried.add((source, target))
        most = _most_members([*first.nests, *second.nests])
        if len(first.members) + len(second.members) > most:
            return
        if source in self.checks or not self._may_move(first, second):
            return
        merged = self.joining.merge(first, second)
        if merged is None:
            return
        self.places[source] = None
        self.places[target] = merged
        if any(self.places[source + 1 : target]):
            ref = merged.refs[0]
            self.writers.moved(merged.writers, ref)
            self.readers.moved(merged.reads, ref)
            self.waiting.moved(merged.before, ref)

    def _may_move(self, group: _Group, target: _Group) -> bool:
        """Return whether no step between a kernel and a later one depends on the former.

        Whether the later one itself depends on it in a way that forbids merging is checked later.
        """
        first, last = group.at, target.at
        return not any(
            first < ref.step.at <= last and ref.step is not target for ref in group.followers
        )

    # ---- other steps

    def barrier(self, step: Step) -> None:
        """Add a step that is not a statement."""
        if isinstance(step, Check):
            self._check(step)
            return
        position = len(self.places)
        self.places.append(step)
        if step.is_floor:
            self.floor = position
        self._note(_Placed(position), arrays_read(step), arrays_written(step))

    def _check(self, check: Check) -> None:
        """Add a check as soon as its sizes are known: later steps may rely on it."""
        needed = {array for size in (check.left, check.right) for array in arrays_in_size(size)}
        position = max([self.writers.last(array) for array in needed], default=-1)
        if position < 0:
            self.prologue.append(check)
            return
        self.checks[position].append(check)
        self.floor = max(self.floor, position + 1)
        self._note(_Placed(position + 1), (), (), needed)

    # ---- the result

    def steps(self, kept: set[Array]) -> list[Step]:
        """Return the kernels and other steps; arrays in ``kept`` are stored by their kernels."""
        made: list[Step] = list(self.prologue)
        for position, group in enumerate(self.places):
            if isinstance(group, _Group):
                local = {
                    member.statement.target
                    for memory, ((_, member), *others) in group.writers.items()
                    if not others
                    and memory.place == Place.BUFFER
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
    """Return the steps of a program with its statements grouped in kernels.

    Parameters
    ----------
    steps
        The steps and statements made by lowering, in order.
    sizes
        The sizes of the program.
    kept
        Arrays that are read after the program has run: its results.
    """
    fusion = _Fusion(sizes)
    for step in starts_first(steps):
        if isinstance(step, Statement):
            fusion.place(step)
        else:
            fusion.barrier(step)
    return fusion.steps({array.memory for array in kept})
