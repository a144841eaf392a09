"""Addresses of arrays in one function of the main function, and the memory that it allocates."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING

from phintys.backends.native.assembler.control import computed_if, loop
from phintys.backends.native.assembler.types import BOOL, FLOAT64, INT8, INT64, PTR, type_of
from phintys.backends.native.frame import CONSTANTS, NO_BUFFER, NO_RESULT, TOO_LARGE
from phintys.backends.native.limits import COMPARED_BUFFERS, LONG_RUN, SMALL_BLOCK
from phintys.backends.native.memory import ALIGNMENT
from phintys.backends.native.values import Array, Place

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.writer.function_code import FunctionCode, OpenLoop
    from phintys.backends.native.writer.size_code import SizeCode

MOST_BYTES = 2**55
"""More bytes than any machine has; below it, the sum over all buffers fits into an int64."""


class AddressCode:
    """Emits addresses, and the allocation of the memory behind them.

    Parameters
    ----------
    code
        The function.
    sizes
        The sizes in it.
    """

    def __init__(self, code: FunctionCode, sizes: SizeCode) -> None:
        self.code = code
        self.main = code.main
        self.b = code.b
        self.sizes = sizes
        self._checked: set[Polynomial] = set()
        self._pointers: dict[int, Value] = {}
        self._constants: Value | None = None

    @contextmanager
    def aside(self) -> Generator[None]:
        """Emit code that may not run: addresses read in it are not known afterwards."""
        before = dict(self._pointers), self._constants
        yield
        self._pointers, self._constants = before

    def pointer(self, array: Array) -> Value:
        """Return the address of an array."""
        b = self.b
        memory = array.memory
        home = self.code.home(memory=memory) if self.code.open_loops else None
        if memory.place == Place.CONSTANT:
            with self.code.before(home):
                if self._constants is None:
                    self._constants = b.load(PTR, self.code.slot(CONSTANTS))
                return b.load(PTR, b.offset(self._constants, self.main.constant(memory), INT64))
        slot = self.main.pointer_slot(memory)
        found = self._pointers.get(slot)
        if found is None:
            with self.code.before(home):
                found = self._pointers[slot] = b.load(PTR, self.code.slot(slot))
        return found

    def address(self, array: Array, offset: Polynomial) -> Value:
        """Return the address of an element of an array."""
        base = self.pointer(array)
        if not offset.terms:
            return base
        number = self.sizes.polynomial(offset)
        with self.code.before(self.home_of_address(array, offset)):
            return self.b.offset(base, number, type_of(array.dtype))

    def home_of_address(self, array: Array, offset: Polynomial) -> OpenLoop | None:
        """Return the outermost open loop in which an address does not change."""
        if not self.code.open_loops:
            return None
        return self.code.home(self.code.atoms_of(offset), array.memory)

    def set_pointer(self, slot: int, value: Value) -> None:
        """Store an address."""
        self._pointers[slot] = value
        self.b.store(value, self.code.slot(slot), align=8)

    def forget_pointer(self, slot: int) -> None:
        """Forget an address that the runtime has changed."""
        self._pointers.pop(slot, None)

    def aligned(self, bytes_: Value) -> Value:
        """Return a number of bytes rounded up to the alignment."""
        if bytes_.text.isdigit():
            whole = (int(bytes_.text) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
            return self.b.constant(INT64, whole)
        return (bytes_ + (ALIGNMENT - 1)) & -ALIGNMENT

    def sum(self, left: Value, right: Value) -> Value:
        """Return a sum of numbers of bytes."""
        if left.text.isdigit() and right.text.isdigit():
            return self.b.constant(INT64, int(left.text) + int(right.text))
        return right if left.text == "0" else left + right

    # ---- memory ------------------------------------------------------------------------------

    def take_group(self, group: int) -> None:
        """Allocate a block of the arena or of the frame, and store the addresses of its slots."""
        b = self.b
        end = b.constant(INT64, 0)
        runs: list[tuple[list[int], Value, Value]] = []
        for slots, sizes in self._runs(group):
            step = b.constant(INT64, 0)
            for number, (bytes_, array) in enumerate(sizes):
                self._check_room(self.main.buffer_at(slots[0]), array, bytes_)
                one = self.aligned(self.sizes.polynomial(bytes_))
                step = b.select(one > step, one, step) if number else one
            for some in [slots] if len(slots) >= LONG_RUN else [[slot] for slot in slots]:
                runs.append((some, end, step))
                end = self.sum(end, self._times(step, len(some)))
        base = self._block_of_arena(group, end, runs)
        for slots, offset, step in runs:
            start = base if offset.text == "0" else b.offset(base, offset, INT8)
            if len(slots) == 1:
                self.set_pointer(slots[0], start)
                continue
            # They are many, so each is read from the frame when needed.
            first = self.code.slot(slots[0])
            with loop(b, 0, len(slots), runs=True) as each:
                address = b.offset(start, each.index * step, INT8)
                b.store(address, b.offset(first, each.index, INT64), align=8)

    def _block_of_arena(
        self, group: int, bytes_: Value, runs: Sequence[tuple[list[int], Value, Value]]
    ) -> Value:
        """Return the address of a block: in the frame if it is small, which a call may decide."""
        known = int(bytes_.text) if bytes_.text.isdigit() else None
        room = SMALL_BLOCK if known is None else known
        if not self.main.has_room_in_frame(room):
            return self._in_arena(group, bytes_, runs)
        in_frame = self._in_frame(room)
        if known is not None:
            return in_frame
        is_large = self.b.lt(room, bytes_)
        (block,) = computed_if(
            self.b, is_large, lambda: [self._in_arena(group, bytes_, runs)], [in_frame]
        )
        return block

    def _in_frame(self, bytes_: int) -> Value:
        """Return the address of new room in the frame, aligned as the arena is."""
        b = self.b
        first = self.code.slot(self.main.layout.room((bytes_ + ALIGNMENT) // 8 - 1))
        last = b.write(INT64, f"ptrtoint {first.typed} to i64") + (ALIGNMENT - 1)
        return b.write(PTR, f"inttoptr i64 {(last & -ALIGNMENT).text} to ptr")

    def _in_arena(
        self, group: int, bytes_: Value, runs: Sequence[tuple[list[int], Value, Value]]
    ) -> Value:
        """Return the address of a new block of the arena; fail if there is no memory."""
        b = self.b
        base = b.call("phintys_arena", PTR, [self.code.state(), b.constant(INT64, group), bytes_])
        with self.code.failing(b.write(BOOL, f"icmp eq ptr {base.text}, null")):
            largest = [b.constant(INT64, 0)] * 2
            for slots, _, step in runs[:COMPARED_BUFFERS]:
                number = b.constant(INT64, self.main.buffer_at(slots[0]))
                is_larger = step > largest[0]
                largest = [
                    b.select(is_larger, one, other)
                    for one, other in zip((step, number), largest, strict=True)
                ]
            self.code.set_status(NO_BUFFER, *largest)
        return base

    def _check_room(self, slot: int, array: Array, bytes_: Polynomial) -> None:
        """Make the call fail if the bytes of a buffer, or of all together, may wrap around."""
        b, ring = self.b, self.main.ring
        if bytes_.known is not None and bytes_.known < MOST_BYTES:
            return
        if bytes_ in self._checked or self.main.is_bounded(array):
            return
        self._checked.add(bytes_)
        product = b.constant(FLOAT64, array.dtype.itemsize)  # a float, which does not overflow
        for length in array.sizes:
            product = product * b.convert(self.sizes.polynomial(ring.of(length)), FLOAT64)
        # The check of a length that is negative comes later, and has the words for it.
        product = b.intrinsic("fabs", product)
        with self.code.failing(b.compare("uge", product, b.constant(FLOAT64, MOST_BYTES))):
            self.code.set_status(TOO_LARGE, 0, slot)

    def _runs(self, group: int) -> Iterator[tuple[list[int], list[tuple[Polynomial, Array]]]]:
        """Yield adjacent slots of a block that have the same sizes."""
        pairs = self.main.slots_of_group(group)
        for _, run in groupby(
            enumerate(pairs),
            key=lambda item: (item[1][0] - item[0], [id(bytes_) for bytes_, _ in item[1][1]]),
        ):
            found = [pair for _, pair in run]
            yield [slot for slot, _ in found], found[0][1]

    def _times(self, value: Value, count: int) -> Value:
        """Return a multiple of a number of bytes."""
        if count == 1:
            return value
        if value.text.isdigit():
            return self.b.constant(INT64, int(value.text) * count)
        return value * count

    def take_results(self, step: int) -> None:
        """Allocate the results that a step writes first."""
        b = self.b
        for number, array in self.main.results_of(step):
            self.record_sizes(array)
            record = self.main.record(array)
            arguments = [self.code.state(), b.constant(INT64, number), self.code.slot(record + 1)]
            data = b.call("phintys_new_array", PTR, arguments)
            self.code.fail_if_null(data, NO_RESULT, number)
            self.set_pointer(record, data)

    def record_sizes(self, array: Array) -> None:
        """Store the lengths of an array in its record."""
        record = self.main.record(array)
        for axis, size in enumerate(array.sizes):
            self.b.store(self.sizes.size(size), self.code.slot(record + 1 + axis))

    def fill_record(self, array: Array) -> None:
        """Store the address and the lengths of an array in its record."""
        self.record_sizes(array)
        self.b.store(self.pointer(array), self.code.slot(self.main.record(array)), align=8)
