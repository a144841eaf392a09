"""Routines that are called for each matrix of a stack.

The stack is divided into ranges, which threads of the pool share. Small matrices of a range are
computed side by side, one in each lane of vector registers, if the routine has code for that;
others are passed to a library, one after the other.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.control import leaving, loop, when
from phintys.backends.native.assembler.types import INT64, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import (
    LANE_ROWS,
    SMALL_SYSTEM_ROWS,
    STACKED_MATRIX_NANOSECONDS,
    UNROLLED_AT_RUN_TIME,
    UNROLLED_ROWS,
)
from phintys.backends.native.routines.blas_threads import one_thread
from phintys.backends.native.routines.lanes import LaneMatrix, Lanes, Length
from phintys.backends.native.routines.lapack import Arguments
from phintys.backends.native.routines.ranges import OneIteration, RangeFunction
from phintys.backends.native.steps.call import CallExplainer, CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array

_NO_FAILURE = 2**63 - 1
_STATUS_BITS = 31
"""A failure is a position and a status in one number, so that the first one is the least."""


class MatrixCall(Arguments):
    """The code of a call for each matrix of a range.

    Parameters
    ----------
    call
        The call; its option ``count`` is the number of matrices.
    ranges
        The function of a range; the code around it, if there is one matrix.
    failures
        Where its first failure is stored.
    """

    def __init__(
        self, call: LibraryCall[Any], ranges: RangeFunction | OneIteration, failures: Value
    ) -> None:
        super().__init__(call, ranges)
        self.b = ranges.b
        self.call = call
        self.type: MachineType = type_of(call.outputs[0].dtype)
        self.ranges = ranges
        self._failures = failures
        self._assumed: dict[Size, int] = {}

    @contextmanager
    def assuming(self, lengths: Mapping[Size, int]) -> Generator[None]:
        """Write code for given values of lengths that are not known."""
        self._assumed = dict(lengths)
        yield
        self._assumed = {}

    def size(self, size: Size) -> Value:
        """Return the value of a size."""
        return self.ranges.size(size)

    def number(self, value: float) -> Value:
        """Return the address of a number."""
        return self._scalars.number(value)

    def item(
        self, array: Array, move: Size, offset: Size | None = None
    ) -> Callable[[Value], Value]:
        """Return a function from the number of an item to its address in an array."""
        b, type_ = self.b, type_of(array.dtype)
        start = self.array(array)
        if offset is not None and offset.known != 0:
            start = b.offset(start, self.size(offset), type_)
        step = self.size(move)

        def address(index: Value) -> Value:
            return b.offset(start, index * step, type_) if step.text != "0" else start

        return address

    # ---- code

    def lapack(self, name: str, arguments: Sequence[Value]) -> Value:
        """Write a call of LAPACK, and return its status, an int64."""
        return self.b.convert(super().lapack(name, arguments), INT64)

    def blas(self, name: str, arguments: Sequence[Value]) -> None:
        """Write a call of BLAS."""
        self._scalars.call(name, *arguments)

    def first_zero(self, pointer: Value, step: Value, count: Value) -> Value:
        """Return the number, from 1, of the first element that is 0; 0 if there is none."""
        b = self.b
        part = self.type.part if self.type.kind == "c" else self.type
        with loop(b, 0, count, carried=[b.constant(INT64, 0)]) as single:
            (found,) = single.carried
            place = b.offset(pointer, single.index * step, self.type)
            is_zero = b.eq(b.load(part, place), 0.0)
            if self.type.kind == "c":
                is_zero = is_zero & b.eq(b.load(part, b.offset(place, 1, part)), 0.0)
            is_first = is_zero & b.eq(found, 0)
            single.next(b.select(is_first, single.index + 1, found))
        return single.results[0]

    def fill_with_nan(self, pointer: Value, count: Value, type: MachineType | None = None) -> None:
        """Write NaN to neighbouring elements, of the call's dtype if no other is given."""
        b = self.b
        type = self.type if type is None else type
        part = type.part if type.kind == "c" else type
        twice = 2 if type.kind == "c" else 1
        with loop(b, 0, count * twice) as single:
            b.store(b.constant(part, float("nan")), b.offset(pointer, single.index, part))

    def fill_with_identity(self, pointer: Value, n: Value) -> None:
        """Write an identity matrix of n rows."""
        b = self.b
        part = self.type.part if self.type.kind == "c" else self.type
        twice = 2 if self.type.kind == "c" else 1
        with loop(b, 0, n * n * twice) as single:
            b.store(b.constant(part, 0), b.offset(pointer, single.index, part))
        with loop(b, 0, n) as single:
            place = b.offset(pointer, single.index * (n + 1) * twice, part)
            b.store(b.constant(part, 1), place)

    def are_finite(self, place: Value, count: Value) -> Value:
        """Return whether neighbouring elements are finite: their products with 0 are not NaN."""
        b = self.b
        part = self.type.part if self.type.kind == "c" else self.type
        twice = 2 if self.type.kind == "c" else 1
        with loop(b, 0, count * twice, carried=[b.constant(part, 0.0)]) as each:
            (total,) = each.carried
            each.next(total + b.load(part, b.offset(place, each.index, part)) * 0.0)
        return b.eq(each.results[0], 0.0)

    def report(self, status: Value, position: Value) -> None:
        """Write code that keeps a status that is not 0, if it is that of the first matrix."""
        b = self.b
        with when(b, b.ne(status, 0)):
            failure = (position << _STATUS_BITS) | status
            place = self.ranges.passed(self._failures)
            b.write_void(f"atomicrmw min {place.typed}, {failure.typed} monotonic")

    def small(self, *names: str) -> list[Length]:
        """Return lengths of small matrices: numbers, if the code has no loops."""
        sizes = [self.call.options[name] for name in names]
        found = [self._assumed.get(size, size.known) for size in sizes]
        known = [number for number in found if number is not None]
        if len(known) == len(sizes) and max(known) <= UNROLLED_ROWS:
            return list(known)
        return [self.size(size) for size in sizes]

    def reader(self) -> Callable[[Lanes, LaneMatrix], None]:
        """Return a function that loads the matrices a of the call into lanes."""
        options, b = self.call.options, self.b
        address = self.item(self.call.inputs[0], options["a_move"], options["a_offset"])
        steps = [self.size(options["a_stride"]), b.constant(INT64, 1)]
        if options["a_transposed"]:
            steps.reverse()

        def read(lanes: Lanes, matrix: LaneMatrix) -> None:
            places = [address(position) for position in lanes.positions]
            if options["a_stride"] is options["n"]:
                matrix.read(places)
            else:
                matrix.read_apart(places, *steps)

        return read

    def all(self, compare: Callable[[Value, int], Value], numbers: Mapping[Size, int]) -> Value:
        """Return whether each of some lengths compares with a number."""
        first, *rest = (compare(self.size(size), number) for size, number in numbers.items())
        for one in rest:
            first = first & one
        return first

    def one_by_one(self, item: Callable[[Value], Value | None]) -> None:
        """Write a call for each matrix."""
        b = self.b
        with one_thread(b), self.ranges.each() as index:
            status = item(index)
            if status is not None:
                self.report(status, index)

    def side_by_side(self, group: Callable[[Lanes], Value | None]) -> None:
        """Write code for as many matrices at once as a register has lanes."""
        b, ranges = self.b, self.ranges
        lanes = Lanes(b, self.type)
        with loop(b, ranges.begin, ranges.end, lanes.count) as each:
            lanes.take(each.index, ranges.end - 1)
            statuses = group(lanes)
            if statuses is not None:
                with when(b, b.any(b.ne(statuses, 0))):
                    for lane, position in enumerate(lanes.positions):
                        self.report(b.extract(statuses, lane), position)


class StackRoutine(Routine):
    """A routine that is called for each matrix of a stack.

    The option ``count`` is the number of matrices, ``n`` their size, and ``k`` that of right sides;
    with ``nan``, a failure is not a status but makes all of the output NaN.
    """

    shares_work: ClassVar[bool] = True

    nanoseconds: ClassVar[float] = 0.05
    """A rough estimate of the time for each of the n**3 steps of a matrix."""

    def __init__(self, name: str) -> None:
        self.name = name

    def divides(self, call: LibraryCall[Any]) -> bool:
        """Return whether there are several matrices, and no workspace, of which there is one."""
        return call.options["count"].known != 1 and not call.workspace

    def narrow(self, call: LibraryCall[Any]) -> Mapping[str, Size]:
        """Return the lengths and the stride of a matrix."""
        names = {"n": "n", "k": "k", "a_stride": "the stride of a"}
        return {text: call.lengths[name] for name, text in names.items() if name in call.lengths}

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        n, count = call.options["n"], call.options["count"]
        factors = [count, n, n, call.options.get("k", n)]
        steps = costs.scaled(costs.ring.product(factors), self.nanoseconds)
        return costs.ring.add(steps, costs.scaled(costs.ring.of(count), STACKED_MATRIX_NANOSECONDS))

    def line(self, call: LibraryCall[Any], explainer: CallExplainer) -> str:
        """Return whether small matrices are computed in lanes, as well."""
        line = super().line(call, explainer)
        lengths = _small_lengths(call)
        if not lengths or not self.has_lanes(type_of(call.outputs[0].dtype)):
            return line
        is_known = all(size.known is not None for size in lengths)
        return f"{line}, in lanes" + f" up to {LANE_ROWS} rows" * (not is_known)

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> tuple[Value, Value] | None:
        """Write the calls, and return the status and the position of the first failure."""
        b = writer.b
        failures = b.slot(INT64)
        b.store(b.constant(INT64, _NO_FAILURE), failures)
        if call.options["count"].known == 1:
            self._write(MatrixCall(call, OneIteration(writer), failures))
        else:
            ranges = RangeFunction(writer)
            self._write(MatrixCall(call, ranges, failures))
            nanoseconds = writer.nanoseconds(self.work(call, writer.costs))
            # There is one workspace, not one for each thread.
            is_serial = bool(call.workspace)
            ranges.call(writer.size(call.options["count"]), nanoseconds, is_serial=is_serial)
        if call.failure is None:
            return None
        first = b.load(INT64, failures)
        status = b.select(b.eq(first, _NO_FAILURE), 0, first & ((1 << _STATUS_BITS) - 1))
        return status, first >> _STATUS_BITS

    def _write(self, code: MatrixCall) -> None:
        """Write the code for a range: side by side if the matrices are small, or one by one."""
        b = code.b
        lengths = _small_lengths(code.call)
        if not lengths or not self.has_lanes(code.type):
            self._write_alone(code)
            return
        unknown = [size for size in lengths if size.known is None]
        if not unknown:
            code.side_by_side(self.group(code))
            return
        after = b.new_block("after")
        for assumed in _usual(lengths):
            with leaving(b, code.all(b.eq, assumed), after), code.assuming(assumed):
                code.side_by_side(self.group(code))
        with leaving(b, code.all(b.le, dict.fromkeys(unknown, LANE_ROWS)), after):
            code.side_by_side(self.group(code))
        code.one_by_one(self.item(code))
        b.jump(after)
        b.begin(after)

    def _write_alone(self, code: MatrixCall) -> None:
        """Write calls one by one; that of a small matrix is of an outlined function in a loop."""
        b = code.b
        small = self.repeated(code) if _is_repeated_alone(code) else None
        if small is None:
            code.one_by_one(self.item(code))
            return
        after = b.new_block("after")
        sizes = dict.fromkeys(_lengths(code.call), SMALL_SYSTEM_ROWS)
        with leaving(b, code.all(b.le, sizes), after):
            zero = b.constant(INT64, 0)
            status = small(zero)
            if status is not None:
                code.report(status, zero)
        code.one_by_one(self.item(code))
        b.jump(after)
        b.begin(after)

    def repeated(self, code: MatrixCall) -> Callable[[Value], Value | None] | None:
        """Return code as :meth:`item` does, for a small matrix of floats, without a library.

        ``None`` if there is no such code.
        """
        return None

    def has_lanes(self, type: MachineType) -> bool:
        """Return whether :meth:`group` has code for small matrices of a type."""
        return False

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Write what is common to all matrices, and return what writes the call for one.

        That returns its status, unless the routine cannot fail.
        """
        raise NotImplementedError

    def group(self, code: MatrixCall) -> Callable[[Lanes], Value | None]:
        """Return a function that writes code for matrices in lanes and returns their statuses."""
        raise NotImplementedError


def _usual(lengths: Sequence[Size]) -> Iterator[dict[Size, int]]:
    """Yield usual values of small lengths, of which one at least is not known."""
    n, k = lengths[0], lengths[-1]
    for rows in UNROLLED_AT_RUN_TIME if n.known is None else (n.known,):
        columns = (rows,) if k is n else (1, rows) if k.known is None else (k.known,)
        for column in columns:
            if max(rows, column) <= UNROLLED_ROWS:
                yield {n: rows, k: column}


def _lengths(call: LibraryCall[Any]) -> list[Size]:
    """Return the lengths of a matrix and its right sides."""
    return [call.options[name] for name in ("n", "k") if name in call.options]


def _is_repeated_alone(code: MatrixCall) -> bool:
    """Return whether there is one matrix of floats, maybe a small one, in a loop of steps."""
    known = [size.known for size in _lengths(code.call)]
    return (
        code.ranges.is_repeated
        and code.type.kind == "f"
        and code.call.options["count"].known == 1
        and all(length is None or length <= SMALL_SYSTEM_ROWS for length in known)
    )


def _small_lengths(call: LibraryCall[Any]) -> list[Size]:
    """Return the lengths of the matrices of a call, unless one is large or there is one matrix."""
    lengths = _lengths(call)
    is_large = any((size.known or 0) > LANE_ROWS for size in lengths)
    return [] if is_large or call.options["count"].known == 1 else lengths
