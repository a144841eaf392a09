"""Fusion: from single statements to kernels.

Each statement of a lowered graph writes an array of its own, so nothing is computed twice. Fusion
decides which arrays never reach memory. Statements are taken in order; one may join

- a *nest* with the same loops, if what it reads of arrays written there it reads at the very
  indices at which they are written: the value is then still in a register;
- a *kernel*, as a new nest under shared outer loops, if what it reads of arrays written there was
  written in the same iteration of the outer loops: it is then still in cache. This is how a
  softmax becomes one pass over the rows: maximum, then exponentials and their sum, then quotient.

The cost rule: computing an element again never pays, because storing it costs less than any
transcendental function, and because an element that is read at the indices where it was written
is not stored at all. A kernel is closed when it holds :data:`MOST_STATEMENTS`, for beyond that
registers run out and compile time grows; statements that share neither data nor a dependency with
a kernel stay apart, unless they have no loops.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from phintys.backends.native.program import (
    Array,
    Branch,
    Call,
    Callback,
    Cast,
    Check,
    Expression,
    Index,
    IndexCheck,
    Kernel,
    Load,
    Loop,
    LoopVariable,
    Nest,
    Operation,
    Place,
    Position,
    Statement,
    Step,
)
from phintys.backends.native.sizes import Arithmetic, Element, Extent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from phintys.backends.native.sizes import Size, Sizes

__all__ = ["MOST_STATEMENTS", "fuse", "is_loop", "loads_of", "same_index"]

MOST_STATEMENTS = 64
MOST_NESTS = 6
_LOOK_BACK = 6


def loads_of(expression: Expression) -> list[Load]:
    """Return the loads in an expression, those inside of indices included."""
    found: list[Load] = []
    stack = [expression]
    while stack:
        current = stack.pop()
        if isinstance(current, Load):
            found.append(current)
            stack.extend(index.dynamic for index in current.indices if index.dynamic is not None)
        elif isinstance(current, Operation):
            stack.extend(current.arguments)
        elif isinstance(current, Cast | IndexCheck):
            stack.append(current.argument)
        elif isinstance(current, Position) and current.index.dynamic is not None:
            stack.append(current.index.dynamic)
    return found


def reads_of(statement: Statement) -> list[Load]:
    """Return all loads of a statement, those in its target's indices included."""
    loads = loads_of(statement.value)
    for index in statement.indices:
        if index.dynamic is not None:
            loads += loads_of(index.dynamic)
    return loads


def arrays_in_size(size: Size) -> Iterable[Array]:
    """Return the arrays whose elements decide a size."""
    stack = [size]
    while stack:
        current = stack.pop()
        if isinstance(current, Element):
            yield current.array
        elif isinstance(current, Arithmetic):
            stack.extend(current.arguments)


# ---- replacing loops ---------------------------------------------------------------------------


def _renamed_index(index: Index, names: Mapping[LoopVariable, LoopVariable]) -> Index:
    terms = tuple((names.get(loop, loop), step) for loop, step in index.terms)
    dynamic = None if index.dynamic is None else _renamed(index.dynamic, names)
    return Index(terms, index.offset, dynamic)


def _renamed(expression: Expression, names: Mapping[LoopVariable, LoopVariable]) -> Expression:
    if isinstance(expression, Load):
        return Load(expression.array, tuple(_renamed_index(i, names) for i in expression.indices))
    if isinstance(expression, Operation):
        arguments = tuple(_renamed(argument, names) for argument in expression.arguments)
        return Operation(expression.op, arguments, expression.dtype)
    if isinstance(expression, Cast | IndexCheck):
        return replace(expression, argument=_renamed(expression.argument, names))
    if isinstance(expression, Position):
        return Position(_renamed_index(expression.index, names))
    return expression


def renamed(statement: Statement, loops: Sequence[LoopVariable]) -> Statement:
    """Return the statement with its loops replaced, one by one, by others of equal extents."""
    names = {old: new for old, new in zip(statement.loops, loops, strict=True) if old is not new}
    if not names:
        return statement
    return replace(
        statement,
        indices=tuple(_renamed_index(index, names) for index in statement.indices),
        value=_renamed(statement.value, names),
        loops=tuple(loops),
        reduction=tuple(names.get(loop, loop) for loop in statement.reduction),
    )


# ---- comparing indices -------------------------------------------------------------------------


def same_index(left: Index, right: Index, sizes: Sizes) -> bool:
    """Tell whether two indices are the same position in every iteration."""
    if left.dynamic is not right.dynamic or len(left.terms) != len(right.terms):
        return False
    if (left.offset is None) != (right.offset is None):
        return False
    if left.offset is not None and right.offset is not None:
        if not sizes.same(left.offset, right.offset):
            return False
    steps = dict(right.terms)
    return all(loop in steps and sizes.same(step, steps[loop]) for loop, step in left.terms)


def is_loop(index: Index, loop: LoopVariable) -> bool:
    """Tell whether an index is just a loop's counter."""
    return (
        index.offset is None
        and index.dynamic is None
        and len(index.terms) == 1
        and index.terms[0][0] is loop
        and index.terms[0][1].known == 1
    )


def _reduces_otherwise(nest: Sequence[Statement], statement: Statement) -> bool:
    """Tell whether a nest has reductions, and this is one over other loops."""
    reduced = set(statement.reduction)
    return bool(reduced) and any(
        member.reduction and set(member.reduction) != reduced for member in nest
    )


# ---- groups ------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Group:
    """A kernel that is being put together."""

    outer: int | None
    """How many of the loops are outer ones; ``None`` while there is one nest."""

    nests: list[list[Statement]]
    writers: dict[Array, tuple[int, Statement]] = field(default_factory=dict)
    reads: set[Array] = field(default_factory=set)
    count: int = 0

    def add(self, nest: int, statement: Statement) -> None:
        if nest == len(self.nests):
            self.nests.append([])
        self.nests[nest].append(statement)
        self.writers[statement.target] = (nest, statement)
        self.reads.update(load.array.memory for load in reads_of(statement))
        self.count += 1


class _Fusion:
    """Groups the statements of one program."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.prologue: list[Step] = []
        """Checks that need only the arguments: done before anything else."""
        self.groups: list[_Group | Step] = []
        self.checks: dict[int, list[Check]] = defaultdict(list)
        """For each group, the checks that are done right after it."""
        self.floor = 0
        """Statements go no further up than this: a check that they rely on stands before it."""
        self.ready: dict[Array, int] = {}
        """For each array, the last group that writes it."""
        self.used: dict[Array, int] = {}
        """For each array, the last group that reads it."""

    # ---- placing

    def place(self, statement: Statement) -> None:
        """Put a statement where it fits best."""
        loads = reads_of(statement)
        earliest = self._earliest(statement, loads)
        newest = len(self.groups) - 1
        for position in range(newest, max(earliest, newest - _LOOK_BACK + 1, 0) - 1, -1):
            group = self.groups[position]
            if not isinstance(group, _Group) or group.count >= MOST_STATEMENTS:
                continue
            if self._joins(group, statement, loads):
                self._note(position, statement, loads)
                return
        group = _Group(None, [])
        group.add(0, statement)
        self.groups.append(group)
        self._note(len(self.groups) - 1, statement, loads)

    def _note(self, position: int, statement: Statement, loads: Sequence[Load]) -> None:
        self.ready[statement.target] = max(position, self.ready.get(statement.target, 0))
        for load in loads:
            memory = load.array.memory
            self.used[memory] = max(position, self.used.get(memory, 0))

    def _earliest(self, statement: Statement, loads: Sequence[Load]) -> int:
        """Return the first group that may hold a statement."""
        needed = [self.floor, *(self.ready.get(load.array.memory, 0) for load in loads)]
        target = statement.target
        needed += [self.ready.get(target, 0), self.used.get(target, 0)]
        for loop in statement.loops:
            # Loop bounds are read before a kernel starts.
            needed += [self.ready.get(a, -1) + 1 for a in arrays_in_size(loop.extent)]
        for index in [*statement.indices, *(index for load in loads for index in load.indices)]:
            parts = [step for _, step in index.terms]
            parts += [] if index.offset is None else [index.offset]
            needed += [self.ready.get(a, -1) + 1 for size in parts for a in arrays_in_size(size)]
        return max(needed, default=0)

    # ---- joining

    def _joins(self, group: _Group, statement: Statement, loads: Sequence[Load]) -> bool:
        inside = [load for load in loads if load.array.memory in group.writers]
        if any(load.array.alias is not None for load in inside):
            return False  # the same memory at other indices
        related = bool(inside) or any(load.array.memory in group.reads for load in loads)
        if not related and statement.loops:
            return False
        if statement.target in group.writers:
            return False  # two writers of one array stay in order, in kernels of their own
        return self._joins_nest(group, statement, inside) or (
            bool(statement.loops)
            and len(group.nests) < MOST_NESTS
            and self._opens_nest(group, statement, inside)
        )

    def _joins_nest(self, group: _Group, statement: Statement, inside: Sequence[Load]) -> bool:
        first = max((group.writers[load.array][0] for load in inside), default=0)
        for nest in range(len(group.nests) - 1, first - 1, -1):
            loops = group.nests[nest][0].loops
            if not self._same_loops(loops, statement.loops):
                continue
            candidate = renamed(statement, loops)
            if any(loop in candidate.reduction for loop in loops[: group.outer or 0]):
                continue
            if _reduces_otherwise(group.nests[nest], candidate):
                continue
            if self._reads_fit(group, nest, candidate, group.outer or 0):
                group.add(nest, candidate)
                return True
        return False

    def _opens_nest(self, group: _Group, statement: Statement, inside: Sequence[Load]) -> bool:
        if not inside:
            return False
        first = group.nests[0][0].loops
        if group.outer is not None:
            choices: Iterable[int] = (group.outer,)
        else:
            shared = self._shared_prefix(group, statement)
            choices = range(shared, 0, -1)
        for outer in choices:
            if outer == 0 or len(statement.loops) < outer:
                continue
            loops = (*first[:outer], *statement.loops[outer:])
            if not self._same_loops(first[:outer], statement.loops[:outer]):
                continue
            candidate = renamed(statement, loops)
            if any(loop in candidate.reduction for loop in first[:outer]):
                continue
            if self._reads_fit(group, len(group.nests), candidate, outer):
                group.outer = outer
                group.add(len(group.nests), candidate)
                return True
        return False

    def _shared_prefix(self, group: _Group, statement: Statement) -> int:
        """Return how many first loops a group and a statement share, none of them reductions."""
        first = group.nests[0][0].loops
        reduced = {loop for member in group.nests[0] for loop in member.reduction}
        length = 0
        for mine, theirs in zip(first, statement.loops, strict=False):
            if not self.sizes.same(mine.extent, theirs.extent):
                break
            if mine in reduced or theirs in statement.reduction:
                break
            length += 1
        return length

    def _same_loops(self, left: Sequence[LoopVariable], right: Sequence[LoopVariable]) -> bool:
        return len(left) == len(right) and all(
            mine is theirs or self.sizes.same(mine.extent, theirs.extent)
            for mine, theirs in zip(left, right, strict=True)
        )

    def _reads_fit(self, group: _Group, nest: int, statement: Statement, outer: int) -> bool:
        """Tell whether all that a statement reads of a group is there when it is reached."""
        loops = statement.loops[:outer]
        for load in reads_of(statement):
            written = group.writers.get(load.array)
            if written is None:
                continue
            writer_nest, writer = written
            if writer_nest == nest:
                if (
                    writer.reduction
                    or writer.accumulate
                    or len(writer.indices) != len(load.indices)
                ):
                    return False
                if not all(
                    same_index(mine, theirs, self.sizes)
                    for mine, theirs in zip(writer.indices, load.indices, strict=True)
                ):
                    return False
            elif not all(
                any(
                    is_loop(mine, loop) and is_loop(theirs, loop)
                    for mine, theirs in zip(writer.indices, load.indices, strict=True)
                )
                for loop in loops
            ):
                return False
        return True

    # ---- the rest

    def barrier(self, step: Step) -> None:
        """Add a step that is no statement."""
        if isinstance(step, Check) and _needs_only_arguments(step):
            self.prologue.append(step)
            return
        if isinstance(step, Check):
            # At once when the sizes are known: whatever comes later may rely on it.
            position = max(self.ready.get(array, 0) for array in _arrays_of_check(step))
            self.checks[position].append(step)
            self.floor = max(self.floor, position + 1)
            return
        position = len(self.groups)
        self.groups.append(step)
        if isinstance(step, Call):
            self.ready[step.output.memory] = position
            for array in step.inputs:
                self.used[array.memory] = position
        elif isinstance(step, Callback):
            for value in step.outputs:
                if isinstance(value, Array):
                    self.ready[value.memory] = position
            for value in step.inputs:
                if isinstance(value, Array):
                    self.used[value.memory] = position

    def steps(self, kept: set[Array]) -> list[Step]:
        """Return the kernels and other steps; arrays in ``kept`` leave their kernels."""
        readers: dict[Array, set[int]] = defaultdict(set)
        for position, group in enumerate(self.groups):
            for array in _arrays_read(group):
                readers[array.memory].add(position)
        for checks in self.checks.values():
            for check in checks:
                for array in _arrays_of_check(check):
                    readers[array].add(-1)  # outside of any kernel
        made: list[Step] = list(self.prologue)
        for position, group in enumerate(self.groups):
            if not isinstance(group, _Group):
                made += [group, *self.checks[position]]
                continue
            local = {
                array
                for array in group.writers
                if array.place == Place.BUFFER
                and array not in kept
                and readers[array] <= {position}
            }
            outer = group.outer or 0
            made.append(
                Kernel(
                    group.nests[0][0].loops[:outer],
                    [Nest(nest[0].loops[outer:], nest) for nest in group.nests],
                    local,
                )
            )
            made += self.checks[position]
        return made


def _arrays_of_check(check: Check) -> Iterable[Array]:
    """Return the arrays that a check waits for."""
    stack: list[Size] = [check.left, check.right]
    while stack:
        size = stack.pop()
        if isinstance(size, Element | Extent):
            yield size.array.memory
        elif isinstance(size, Arithmetic):
            stack.extend(size.arguments)


def _needs_only_arguments(check: Check) -> bool:
    outside = {Place.ARGUMENT, Place.CONSTANT}
    return all(array.place in outside for array in _arrays_of_check(check))


def _arrays_read(group: _Group | Step) -> Iterable[Array]:
    if isinstance(group, _Group):
        yield from group.reads
        for nest in group.nests:
            for statement in nest:
                for loop in statement.loops:
                    yield from arrays_in_size(loop.extent)
                loads = reads_of(statement)
                for index in [*statement.indices, *(i for load in loads for i in load.indices)]:
                    for _, step in index.terms:
                        yield from arrays_in_size(step)
                    if index.offset is not None:
                        yield from arrays_in_size(index.offset)
    elif isinstance(group, Check):
        yield from arrays_in_size(group.left)
        yield from arrays_in_size(group.right)
    elif isinstance(group, Call):
        yield from group.inputs
        for option in group.options.values():
            if hasattr(option, "known"):
                yield from arrays_in_size(option)
    elif isinstance(group, Callback):
        yield from (value for value in group.inputs if isinstance(value, Array))
    elif isinstance(group, Branch):
        yield group.condition
    elif isinstance(group, Loop):
        yield from arrays_in_size(group.count)


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
    return fusion.steps(set(kept))
