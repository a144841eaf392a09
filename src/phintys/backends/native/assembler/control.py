"""Loops and conditions, mostly written as ``with`` blocks.

with loop(b, 0, n, carried=[zero]) as row:
    (total,) = row.carried
    row.next(total + load(b, FLOAT64, b.offset(x, row.index, FLOAT64)))
(total,) = row.results
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager

from phintys._base.errors import DtypeError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.module import Block
from phintys.backends.native.assembler.types import INT8, INT32, INT64, MachineType
from phintys.backends.native.assembler.values import Operand, Value


class WrittenLoop:
    """A loop under construction: its index and the values carried from pass to pass."""

    def __init__(self, index: Value, carried: list[Value]) -> None:
        self.index = index
        self.carried = carried
        self.results: list[Value] = []
        self._following: list[Value] | None = None

    def next(self, *values: Value) -> None:
        """Set the carried values of the next pass; after the last pass they are the results."""
        if len(values) != len(self.carried):
            msg = f"The loop carries {len(self.carried)} values, got {len(values)} for its next."
            raise DtypeError(msg)
        self._following = list(values)

    @property
    def following(self) -> list[Value]:
        """The values given to :meth:`next`."""
        return list(self.carried) if self._following is None else self._following


@contextmanager
def loop(
    b: Builder,
    start: Operand,
    stop: Operand,
    step: Operand = 1,
    *,
    carried: Sequence[Value] = (),
    runs: bool = False,
) -> Generator[WrittenLoop]:
    """Write a loop over ``range(start, stop, step)``, with a positive step.

    Parameters
    ----------
    b
        The builder; after the block it continues after the loop.
    start, stop, step
        int64 values or numbers.
    carried
        Initial values of the carried variables: ``loop.carried`` inside, ``loop.results`` after.
    runs
        Promise that there is at least one pass, which saves a branch.
    """
    start, stop, step = (b.value(INT64, number) for number in (start, stop, step))
    body, after = b.new_block("loop"), b.new_block("after")
    before = b.block
    if runs:
        b.jump(body)
    else:
        b.branch(start < stop, body, after)
    b.begin(body)
    index = b.phi(INT64)
    phis = [b.phi(value.type) for value in carried]
    written = WrittenLoop(index.value, [phi.value for phi in phis])
    yield written
    following = [
        b.value(phi.value.type, value) for phi, value in zip(phis, written.following, strict=True)
    ]
    next_index = b.write(INT64, f"add nsw {index.value.typed}, {step.text}")
    b.branch(next_index < stop, body, after)
    index.add(start, before)
    index.add(next_index, b.block)
    last = b.block
    for phi, first, value in zip(phis, carried, following, strict=True):
        phi.add(first, before)
        phi.add(value, last)
    b.begin(after)
    if runs:
        written.results = following
        return
    for first, value in zip(carried, following, strict=True):
        result = b.phi(value.type)
        result.add(first, before)
        result.add(value, last)
        written.results.append(result.value)


def repeated(
    b: Builder,
    first: Sequence[Value],
    holds: Callable[..., Value],
    step: Callable[..., Sequence[Value]],
) -> list[Value]:
    """Write a loop that repeats a step while a condition holds; return what it carried last.

    Parameters
    ----------
    b
        The builder; after the call it continues after the loop.
    first
        The values of the first pass.
    holds
        ``holds(*values)`` returns a scalar bool.
    step
        ``step(*values)`` returns the values of the next pass.
    """
    head, body, after = (b.new_block(name) for name in ("while", "step", "after"))
    before = b.block
    b.jump(head)
    b.begin(head)
    phis = [b.phi(value.type) for value in first]
    carried = [phi.value for phi in phis]
    b.branch(holds(*carried), body, after)
    b.begin(body)
    following = step(*carried)
    for phi, start, value in zip(phis, first, following, strict=True):
        phi.add(start, before)
        phi.add(value, b.block)
    b.jump(head)
    b.begin(after)
    return carried


def frozen(b: Builder, x: Value) -> Value:
    """Return x as some fixed value: lanes beyond the end of an array hold anything."""
    return b.write(x.type, f"freeze {x.typed}")


def iterate(
    b: Builder,
    most: int,
    initial: Sequence[Value],
    step: Callable[..., tuple[Sequence[Value], Value]],
) -> list[Value]:
    """Write a loop of all lanes, which ends when none of them needs another pass.

    Parameters
    ----------
    b
        The builder; after the call it continues after the loop.
    most
        The largest number of passes.
    initial
        The values of the first pass. A branch depends on them: they must be :func:`frozen`.
    step
        ``step(*values)`` returns the values of the next pass, and the mask of lanes that need it.
        Lanes that do not need it have it too.

    Returns
    -------
    list of Value
        The values after the last pass.
    """
    start, body, after = b.block, b.new_block("pass"), b.new_block("converged")
    b.jump(body)
    b.begin(body)
    number, phis = b.phi(INT64), [b.phi(value.type) for value in initial]
    following, unfinished = step(*(phi.value for phi in phis))
    next_number = number.value + 1
    b.branch(b.any(unfinished) & (next_number < most), body, after)
    number.add(b.constant(INT64, 0), start)
    number.add(next_number, b.block)
    for phi, first, value in zip(phis, initial, following, strict=True):
        phi.add(first, start)
        phi.add(value, b.block)
    b.begin(after)
    return list(following)


@contextmanager
def when(b: Builder, condition: Value) -> Generator[None]:
    """Emit code that runs only if a scalar bool is true."""
    then, after = b.new_block("then"), b.new_block("after")
    b.branch(condition, then, after)
    b.begin(then)
    yield
    b.jump(after)
    b.begin(after)


@contextmanager
def either(
    b: Builder, condition: Value
) -> Generator[tuple[AbstractContextManager[None], AbstractContextManager[None]]]:
    """Emit code for a scalar bool that is true, and for one that is false.

    with either(b, x < y) as (then, otherwise):
        with then:
            b.store(x, place)
        with otherwise:
            b.store(y, place)
    """
    sides, after = (b.new_block("then"), b.new_block("else")), b.new_block("after")
    b.branch(condition, *sides)
    then, otherwise = (_side(b, block, after) for block in sides)
    yield then, otherwise
    b.begin(after)


@contextmanager
def _side(b: Builder, block: Block, after: Block) -> Generator[None]:
    b.begin(block)
    yield
    b.jump(after)


def computed_if(
    b: Builder,
    condition: Value,
    compute: Callable[[], Sequence[Value]],
    otherwise: Sequence[Operand],
) -> list[Value]:
    """Return values that are computed if a scalar bool is true, and otherwise those given."""
    before = b.block
    then, after = b.new_block("then"), b.new_block("after")
    b.branch(condition, then, after)
    b.begin(then)
    computed = compute()
    last = b.block
    b.jump(after)
    b.begin(after)
    results: list[Value] = []
    for given, value in zip(otherwise, computed, strict=True):
        result = b.phi(value.type)
        result.add(b.value(value.type, given), before)
        result.add(value, last)
        results.append(result.value)
    return results


@contextmanager
def ending_if(b: Builder, condition: Value) -> Generator[None]:
    """Emit code that runs if a scalar bool is true, and must end with a jump or a return."""
    failed, after = b.new_block("failed"), b.new_block("fine")
    b.branch(condition, failed, after)
    b.begin(failed)
    yield
    b.begin(after)


@contextmanager
def leaving(b: Builder, condition: Value, block: Block) -> Generator[None]:
    """Emit code that runs if a scalar bool is true, and then jumps to a block."""
    with ending_if(b, condition):
        yield
        b.jump(block)


def divide_up(b: Builder, x: Value, divisor: Value | int) -> Value:
    """Return a quotient of positive numbers, rounded up."""
    quotient = b.binary("sdiv", x, b.value(INT64, divisor))
    is_less = quotient * divisor < x  # x + divisor - 1 may be out of range
    return quotient + b.write(INT64, f"zext i1 {is_less.text} to i64")


def lane_mask(b: Builder, count: Value, lanes: int) -> Value:
    """Return the mask of the first ``count`` lanes; all of them for a larger count."""
    # Narrow numbers compare fewer registers; the count must fit them.
    type = INT64 if lanes <= 8 else INT32 if lanes <= 16 else INT8
    if type is not INT64:
        count = b.convert(b.minimum_number(count, lanes), type)
    return b.lane_numbers(type.of(lanes)) < b.splat(count, lanes)


def each_lane(
    b: Builder, type: MachineType, compute: Callable[..., Value], *vectors: Value
) -> Value:
    """Compute a scalar function of each lane, one after the other.

    Parameters
    ----------
    b
        The builder.
    type
        Type of the result.
    compute
        Takes a scalar of each vector and returns the result's element.
    vectors
        Values of equal lanes.
    """
    result = b.undefined(type)
    for lane in range(type.lanes):
        element = compute(*(b.extract(vector, lane) for vector in vectors))
        result = b.insert(result, element, lane)
    return result
