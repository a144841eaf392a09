"""Loops and conditions, written as ``with`` blocks.

with loop(b, 0, n, carried=[zero]) as row:
    (total,) = row.carried
    row.next(total + load(b, FLOAT64, b.offset(x, row.index, FLOAT64)))
(total,) = row.results
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from phintys._base.errors import DtypeError
from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.types import INT8, INT32, INT64, Type
from phintys.backends.native.emit.values import Operand, Value

__all__ = [
    "Loop",
    "divide_up",
    "each_lane",
    "lane_mask",
    "loop",
    "reduce_lanes",
    "vector_loop",
    "when",
]

Body = Callable[..., Sequence[Value] | None]


class Loop:
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
) -> Generator[Loop]:
    """Write a loop over ``range(start, stop, step)``, with a positive step.

    Parameters
    ----------
    b
        The builder; after the block it writes behind the loop.
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
    written = Loop(index.value, [phi.value for phi in phis])
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


@contextmanager
def when(b: Builder, condition: Value) -> Generator[None]:
    """Emit code that runs only if a scalar bool is true."""
    then, after = b.new_block("then"), b.new_block("after")
    b.branch(condition, then, after)
    b.begin(then)
    yield
    b.jump(after)
    b.begin(after)


def divide_up(b: Builder, x: Value, divisor: Value | int) -> Value:
    """Return a quotient of positive numbers, rounded up."""
    return b.binary("sdiv", x + (divisor - 1), b.value(INT64, divisor))


def lane_mask(b: Builder, count: Value, lanes: int) -> Value:
    """Return the mask of the first ``count`` lanes; all of them for a larger count."""
    # Narrow numbers compare fewer registers; the count must fit them.
    type = INT64 if lanes <= 8 else INT32 if lanes <= 16 else INT8
    if type is not INT64:
        count = b.convert(b.minimum_number(count, lanes), type)
    return b.lane_numbers(type.of(lanes)) < b.splat(count, lanes)


def vector_loop(
    b: Builder, count: Value, lanes: int, body: Body, carried: Sequence[Value] = ()
) -> list[Value]:
    """Write a loop over ``count`` elements: whole vectors, then one masked rest.

    Parameters
    ----------
    b
        The builder.
    count
        Number of elements, an int64.
    lanes
        Elements in a pass.
    body
        ``body(index, mask, *carried)`` writes one pass and returns the next carried values. The
        mask is ``None`` for whole vectors; ``memory.load`` and ``memory.store`` take it as it is.
        It is called twice.
    carried
        Initial values of the carried variables.

    Returns
    -------
    list of Value
        The carried values after the last pass.
    """
    if lanes == 1:
        with loop(b, 0, count, carried=carried) as single:
            single.next(*(body(single.index, None, *single.carried) or ()))
        return single.results
    whole = count & -lanes
    with loop(b, 0, whole, lanes, carried=carried) as main:
        main.next(*(body(main.index, None, *main.carried) or ()))
    before = b.block
    rest, after = b.new_block("rest"), b.new_block("after")
    b.branch(whole < count, rest, after)
    b.begin(rest)
    last = list(body(whole, lane_mask(b, count - whole, lanes), *main.results) or ())
    b.jump(after)
    end = b.block
    b.begin(after)
    results: list[Value] = []
    for value, final in zip(main.results, last, strict=True):
        phi = b.phi(value.type)
        phi.add(value, before)
        phi.add(final, end)
        results.append(phi.value)
    return results


def reduce_lanes(b: Builder, combine: Callable[[Value, Value], Value], x: Value) -> Value:
    """Combine the lanes of a vector pairwise, in a fixed order, to a scalar."""
    lanes = x.type.lanes
    while lanes > 1:
        lanes //= 2
        x = combine(b.part(x, 0, lanes), b.part(x, lanes, lanes))
    return x


def each_lane(b: Builder, type: Type, compute: Callable[..., Value], *vectors: Value) -> Value:
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
