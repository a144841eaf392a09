"""What the steps of a Program read and write, and how statements depend on each other."""

from __future__ import annotations

from collections import Counter as Counts
from collections import defaultdict
from dataclasses import replace
from enum import Enum
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys._base.records import record
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    IndexCheck,
    Load,
    Operation,
    Position,
    SizeValue,
    Statement,
    parts_of,
)
from phintys.backends.native.program import Step, walk_steps
from phintys.backends.native.sizes import Arithmetic, Counter, Element, Extent, Size, Sizes
from phintys.backends.native.values import Array, LoopVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence


# ---- what is read ------------------------------------------------------------------------------


@record()
class Needs:
    """What a statement reads.

    Attributes
    ----------
    loads
        The elements that it reads, including those used as indices.
    sizes
        The sizes that must be known before its loops begin: extents, steps, offsets, values, and
        the sizes of the memory that it writes.
    """

    loads: list[Load]
    sizes: list[Size]


def needs_of(statement: Statement) -> Needs:
    """Return the loads and sizes that a statement depends on."""
    if statement.needs is not None:
        return statement.needs
    needs = statement.needs = Needs([], [loop.extent for loop in statement.loops])
    needs.sizes.extend(statement.target.memory.sizes)  # where there is only room for a piece
    stack: list[Expression] = [statement.value]
    for index in statement.indices:
        _look_into(index, needs, stack)
    _look_at(stack, needs)
    return needs


def loads_of(expression: Expression) -> list[Load]:
    """Return the loads in an expression, including those in indices."""
    needs = Needs([], [])
    _look_at([expression], needs)
    return needs.loads


def reads_of(statement: Statement) -> list[Load]:
    """Return all loads of a statement, including those in its target's indices."""
    return needs_of(statement).loads


def _look_into(index: Index, needs: Needs, stack: list[Expression]) -> None:
    for _, step in index.terms:
        needs.sizes.append(step)
    if index.offset is not None:
        needs.sizes.append(index.offset)
    if index.dynamic is not None:
        stack.append(index.dynamic)


def _look_at(stack: list[Expression], needs: Needs) -> None:
    while stack:
        current = stack.pop()
        if isinstance(current, Load):
            needs.loads.append(current)
            if current.array.alias is not None:
                needs.sizes.extend(current.array.sizes)
            for index in current.indices:
                _look_into(index, needs, stack)
        elif isinstance(current, Operation):
            stack.extend(current.arguments)
        elif isinstance(current, Conversion):
            stack.append(current.argument)
        elif isinstance(current, IndexCheck):
            needs.sizes.append(current.size)
            stack.append(current.argument)
        elif isinstance(current, Position):
            _look_into(current.index, needs, stack)
        elif isinstance(current, SizeValue):
            needs.sizes.append(current.size)


def has_order(statement: Statement) -> bool:
    """Return whether the iterations of a statement must run in the order of its loops."""
    return bool(
        statement.sequential
        or statement.accumulate
        or any(index.dynamic is not None for index in statement.indices)
    )


def arrays_in_size(size: Size) -> Iterator[Array]:
    """Yield the arrays that must be written before a size is known.

    These are arrays with an element that is part of the size, and external arrays whose length is
    part of it.
    """
    for leaf in size.leaves:
        if isinstance(leaf, Element | Extent):
            yield leaf.array.memory


def varies(size: Size | LoopVariable, written: Collection[Array]) -> bool:
    """Return whether a size can differ between passes of a loop of steps.

    Parameters
    ----------
    size
        The size, or a counter.
    written
        The memory that is written in the loop.
    """
    if isinstance(size, LoopVariable):
        return True
    return any(
        isinstance(leaf, Counter)
        or (isinstance(leaf, Element | Extent) and leaf.array.memory in written)
        for leaf in size.leaves
    )


def arrays_read(step: Step | Statement) -> Iterator[Array]:
    """Yield the memory that a step reads, including that of its sizes."""
    if isinstance(step, Statement):
        needs = needs_of(step)
        yield from (load.array.memory for load in needs.loads)
        for size in needs.sizes:
            yield from arrays_in_size(size)
        return
    for one in walk_steps([step]):
        yield from (array.memory for array in one.reads())
        for size in one.sizes():
            yield from arrays_in_size(size)


def arrays_loaded(step: Step | Statement) -> Iterator[Array]:
    """Yield the memory whose elements a step reads, without that of its sizes.

    Sizes are read where they become known; from then on they are in the frame of the call.
    """
    if isinstance(step, Statement):
        yield from (load.array.memory for load in needs_of(step).loads)
        return
    for one in walk_steps([step]):
        yield from (array.memory for array in one.reads())


def arrays_written(step: Step | Statement) -> Iterator[Array]:
    """Yield the memory that a step writes or overwrites."""
    if isinstance(step, Statement):
        yield step.target.memory
        return
    for one in walk_steps([step]):
        yield from (array.memory for array in one.writes())
        yield from (array.memory for array in one.overwrites())


def touches(steps: Iterable[Step]) -> Counts[Array]:
    """Return how often steps access each array, including those inside of them."""
    found: Counts[Array] = Counts()
    for step in walk_steps(list(steps)):
        found.update(array.memory for array in step.reads())
        found.update(array.memory for array in step.writes())
        for size in step.sizes():
            found.update(arrays_in_size(size))
    return found


class Accesses:
    """The memory that some steps read and write, and with it the order that they must keep.

    This answers for whole steps: whether two of them may change places, and whether a value is
    still needed. Within a step, :func:`may_overwrite` answers, by elements and iterations.

    Parameters
    ----------
    steps
        The steps.

    Attributes
    ----------
    read, written : set
        The memory.
    """

    def __init__(self, *steps: Step | Statement) -> None:
        self.read: set[Array] = set()
        self.written: set[Array] = set()
        for step in steps:
            self.add(step)

    def add(self, step: Step | Statement) -> None:
        """Add a step."""
        self.read.update(arrays_read(step))
        self.written.update(arrays_written(step))

    def __contains__(self, memory: Array) -> bool:
        """Return whether a step accesses some memory."""
        return memory in self.read or memory in self.written

    def is_apart_from(self, other: Accesses) -> bool:
        """Return whether the steps and others can run in any order."""
        return (
            self.read.isdisjoint(other.written)
            and self.written.isdisjoint(other.written)
            and self.written.isdisjoint(other.read)
        )


def may_fail(statement: Statement) -> bool:
    """Return whether a call can fail in a statement because of the values that it reads.

    An index may be out of range, and there are no negative powers of integers.
    """
    parts = [statement.value, *(index.dynamic for index in statement.indices)]
    return any(_fails(part) for one in parts if one is not None for part in parts_of(one))


def _fails(part: Expression) -> bool:
    return isinstance(part, IndexCheck) or (isinstance(part, Operation) and has_no_result(part))


def has_no_result(operation: Operation) -> bool:
    """Return whether an operation has no result for some values."""
    return operation.op is ps.pow and operation.dtype.kind == "i"


# ---- replacing loops and arrays ----------------------------------------------------------------


def _renamed_index(index: Index, names: Mapping[Any, Any]) -> Index:
    if not index.terms and index.dynamic is None:
        return index
    terms = tuple([(names.get(loop, loop), step) for loop, step in index.terms])
    dynamic = None if index.dynamic is None else _renamed(index.dynamic, names)
    return Index(terms, index.offset, dynamic)


def _renamed(expression: Expression, names: Mapping[Any, Any]) -> Expression:
    if isinstance(expression, Load):
        indices = tuple([_renamed_index(index, names) for index in expression.indices])
        return Load(names.get(expression.array, expression.array), indices)
    if isinstance(expression, Operation):
        arguments = tuple([_renamed(argument, names) for argument in expression.arguments])
        return Operation(expression.op, arguments, expression.dtype)
    if isinstance(expression, Conversion | IndexCheck):
        return replace(expression, argument=_renamed(expression.argument, names))
    if isinstance(expression, Position):
        return Position(_renamed_index(expression.index, names))
    return expression


def renamed(statement: Statement, loops: Sequence[LoopVariable]) -> Statement:
    """Return the statement with each of its loops replaced by another of equal extent."""
    names = {old: new for old, new in zip(statement.loops, loops, strict=True) if old is not new}
    if not names:
        return statement
    return replace(
        statement,
        indices=tuple([_renamed_index(index, names) for index in statement.indices]),
        value=_renamed(statement.value, names),
        loops=tuple(loops),
        reduction=tuple([names.get(loop, loop) for loop in statement.reduction]),
        sequential=tuple([names.get(loop, loop) for loop in statement.sequential]),
    )


def reading(statement: Statement, arrays: Mapping[Array, Array]) -> Statement:
    """Return the statement with some arrays read in place of others, at the same indices."""
    return replace(statement, value=_renamed(statement.value, arrays))


def moved_into(
    statement: Statement, array: Array, target: Array, place: tuple[Index, ...]
) -> Statement:
    """Return the statement with another array, or a row of one, in place of an array."""

    def moved(expression: Expression) -> Expression:
        if isinstance(expression, Load):
            indices = tuple(map(moved_index, expression.indices))
            if expression.array is array:
                return Load(target, (*place, *indices))
            return Load(expression.array, indices)
        if isinstance(expression, Operation):
            arguments = tuple(map(moved, expression.arguments))
            return Operation(expression.op, arguments, expression.dtype)
        if isinstance(expression, Conversion | IndexCheck):
            return replace(expression, argument=moved(expression.argument))
        return expression

    def moved_index(index: Index) -> Index:
        return index if index.dynamic is None else replace(index, dynamic=moved(index.dynamic))

    indices = tuple(map(moved_index, statement.indices))
    if statement.target is not array:
        return replace(statement, indices=indices, value=moved(statement.value))
    indices = (*place, *indices)
    return replace(statement, target=target, indices=indices, value=moved(statement.value))


# ---- comparing indices -------------------------------------------------------------------------


def same_index(left: Index, right: Index, sizes: Sizes) -> bool:
    """Return whether two indices are the same position in every iteration."""
    if left is right:
        return True
    if left.dynamic is not right.dynamic or (left.offset is None) != (right.offset is None):
        return False
    if (
        left.offset is not None
        and right.offset is not None
        and not sizes.same(left.offset, right.offset)
    ):
        return False
    return _same_terms(left, right, sizes)


def _same_terms(left: Index, right: Index, sizes: Sizes) -> bool:
    steps = dict(right.terms)
    if not len(left.terms) == len(right.terms) == len(steps):
        return False
    return all(loop in steps and sizes.same(step, steps[loop]) for loop, step in left.terms)


def same_indices(left: Iterable[Index], right: Iterable[Index], sizes: Sizes) -> bool:
    """Return whether two tuples of indices name the same element in every iteration."""
    return all(same_index(mine, theirs, sizes) for mine, theirs in zip(left, right, strict=True))


def is_loop(index: Index, loop: LoopVariable) -> bool:
    """Return whether an index is exactly a loop's counter."""
    return (
        index.offset is None
        and index.dynamic is None
        and len(index.terms) == 1
        and index.terms[0][0] is loop
        and index.terms[0][1].known == 1
    )


def are_apart(
    left: Iterable[Index], right: Iterable[Index], loops: Collection[LoopVariable], sizes: Sizes
) -> bool:
    """Return whether two elements differ along an axis on which the loops of one do not move."""
    for one, other in zip(left, right, strict=True):
        if one.dynamic is not None or other.dynamic is not None:
            continue
        if any(loop in loops for loop, _ in one.terms) or not _same_terms(one, other, sizes):
            continue
        (base, number), (other_base, other_number) = (_split(i.offset, sizes) for i in (one, other))
        if base is other_base and number != other_number:
            return True
    return False


def _split(offset: Size | None, sizes: Sizes) -> tuple[Size | None, int]:
    """Return an offset as another one plus a number."""
    if offset is None:
        return None, 0
    offset = sizes.canonical(offset)
    if offset.known is not None:
        return None, offset.known
    if isinstance(offset, Arithmetic) and offset.operation == "add":
        first, second = map(sizes.canonical, offset.arguments)
        if second.known is not None:
            return first, second.known
    return offset, 0


# ---- overwriting what is read ------------------------------------------------------------------


class Meeting(Enum):
    """How an element that is read and those that a statement writes to the same memory meet."""

    SAME = "it is the one that the same iteration writes"
    APART = "no iteration writes it"
    UNKNOWN = "another iteration may write it"


def meeting(load: Load, writer: Statement, sizes: Sizes) -> Meeting:
    """Return how an element that is read and those that are written meet, by their indices.

    Indices of arrays of equal sizes are those of one memory, whatever the arrays are called.
    """
    array, target = load.array, writer.target
    if array is not target and not (
        array.ndim == target.ndim
        and all(sizes.same(*pair) for pair in zip(array.sizes, target.sizes, strict=True))
    ):
        return Meeting.UNKNOWN
    if same_indices(load.indices, writer.indices, sizes):
        return Meeting.SAME
    is_apart = are_apart(load.indices, writer.indices, writer.loops, sizes)
    return Meeting.APART if is_apart else Meeting.UNKNOWN


class Occurrences:
    """Where the statements of a kernel read and write, by memory.

    Parameters
    ----------
    nests
        The statements, in order, by nest.
    """

    def __init__(self, nests: Iterable[Iterable[Statement]]) -> None:
        self._found: defaultdict[Array, list[tuple[int, int, Load | Statement]]]
        self._found = defaultdict(list)
        for number, nest in enumerate(nests):
            for place, statement in enumerate(nest):
                for load in reads_of(statement):
                    self._found[load.array.memory].append((number, 2 * place, load))
                self._found[statement.target.memory].append((number, 2 * place + 1, statement))

    def of(self, *memory: Array) -> Iterator[tuple[int, Load | Statement]]:
        """Yield what reads or writes some memory, in order: the number of its nest, and it."""
        found = [each for one in dict.fromkeys(memory) for each in self._found.get(one, ())]
        for number, _, one in sorted(found, key=itemgetter(0, 1)):
            yield number, one


def may_overwrite(
    kernel: Occurrences,
    writer: Statement,
    memory: Array,
    meet: Callable[[Load], Meeting],
) -> bool:
    """Return whether a statement may write to memory whose former elements its kernel reads.

    All who let a kernel write where it reads ask here: fusion, the plan of memory, updates of
    shared values, and the verifier. Nothing is assumed about the order of iterations: lanes, tiles
    and threads run several at once. So an iteration may only read, under whatever name,

    - the element that it writes itself. The nest reads it, once, before it is written; from then on
      it is in a register. A nest before may read it too: iterations of the loops around both read
      what they write;
    - elements that no iteration writes.

    Parameters
    ----------
    kernel
        What the statements of the kernel read and write, with the writer. Without those that read
        what it writes, if they read the memory by the name by which it is written.
    writer
        The statement.
    memory
        The memory.
    meet
        Returns how an element of the memory that is read, and those that are written, meet.
    """
    if writer.reduction or has_order(writer) or writer.target.dtype != memory.dtype:
        return False
    if not _writes_each_once(writer):
        return False
    target = writer.target.memory
    is_written = False
    in_register_of = -1  # the nest that has read the element
    for number, one in kernel.of(memory, target):
        if one is writer:
            is_written = True
        elif isinstance(one, Statement):
            return False
        elif one.array.memory is memory:
            met = meet(one)
            if met is Meeting.UNKNOWN or (
                met is Meeting.SAME and is_written and in_register_of != number
            ):
                return False
            if met is Meeting.SAME:
                in_register_of = number
    return True


def _writes_each_once(writer: Statement) -> bool:
    """Return whether each iteration of a statement writes another element.

    A loop along an axis of length 1, or a part of it, is in no index: it has one iteration at most.
    """
    moving = {loop for index in writer.indices for loop, _ in index.terms}
    others = [loop for loop in writer.loops if loop not in moving and loop.extent.known != 1]
    axes = zip(writer.target.sizes, writer.indices, strict=True)
    return len(others) <= sum(size.known == 1 and not index.terms for size, index in axes)
