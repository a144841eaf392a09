"""The functions of the interface, as code; docs/export.md describes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.assembler.atomics import null
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import ending_if, when
from phintys.backends.native.assembler.records import byte_offset
from phintys.backends.native.assembler.types import (
    INT8,
    INT32,
    INT64,
    PTR,
    VOID,
    MachineType,
    type_of,
)
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.export.interface import (
    CODES,
    MISALIGNED,
    MOST_LENGTH,
    NO_MEMORY,
    NULL_POINTER,
    OTHER_SHAPE,
    TOO_SMALL,
    WRONG_LENGTH,
    Interface,
    PointerParameter,
    StateValue,
    length_of,
)
from phintys.backends.native.export.runtime import CALL, aligned_pointer, copy_bytes
from phintys.backends.native.export.sizes import SizeWriter
from phintys.backends.native.frame import CONSTANTS, STATE, STATUS
from phintys.backends.native.limits import C_FRAME_BYTES, STACK_BYTES
from phintys.backends.native.memory import ALIGNMENT
from phintys.backends.native.sizes import MOST
from phintys.backends.native.values import Array, Place
from phintys.backends.native.writer.size_code import saturating

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.plan import Plan
    from phintys.backends.native.writer.programs import EmittedProgram

_PARAMETERS = (
    *("args", "dims", "results", "capacities", "shapes", "numbers"),
    *("state", "work", "work_bytes"),
)

_OTHER_MESSAGE = "There is no such code."


class EntryWriter:
    """Writes the functions that C calls.

    Parameters
    ----------
    module
        Where they are written.
    plan
        The plan of the program.
    emitted
        Its code.
    interface
        Its interface.
    allocates
        Whether ``malloc`` may be called.
    """

    def __init__(
        self,
        module: Module,
        plan: Plan,
        emitted: EmittedProgram,
        interface: Interface,
        *,
        allocates: bool,
    ) -> None:
        self.module = module
        self.plan = plan
        self.program = plan.program
        self.emitted = emitted
        self.layout = emitted.layout
        self.interface = interface
        self.allocates = allocates
        self.on_stack = self._arrays_on_stack()
        """New arrays that are on the stack if the caller has no memory for them, with their words.

        A call of a function that has no others needs no memory, nor code for it.
        """

    def _arrays_on_stack(self) -> dict[Array, int]:
        found: dict[Array, int] = {}
        left = STACK_BYTES // 8
        for array in self.layout.new_arrays:
            lengths = [length_of(self.program, one, self.interface.known) for one in array.sizes]
            known = [length for length in lengths if isinstance(length, int)]
            if len(known) == len(lengths):
                words = max(1, -(-math.prod(known) * array.dtype.itemsize // 8))
                if words <= left:
                    found[array] = words
                    left -= words
        return found

    def write(self) -> list[str]:
        """Write them; return their names."""
        self._message()
        self._work_bytes()
        self._shapes()
        self._state()
        _CallWriter(self).write()
        name = self.interface.name
        others = ("message", "work_bytes", "shapes")
        state = ("state_bytes", "state_init", "state_get", "state_set")
        return [name, *(f"{name}_{one}" for one in (*others, *state))]

    def _begin(self, suffix: str, returns: MachineType, parameters: list[MachineType]) -> Builder:
        name = f"{self.interface.name}_{suffix}"
        return Builder(self.module.function(name, returns, parameters))

    def sizes(self, b: Builder, dims: Value) -> SizeWriter:
        """Return a writer of sizes, given the address of the lengths."""
        lengths = {
            one: b.load(INT64, b.offset(dims, number, INT64))
            for number, one in enumerate(self.interface.dimensions)
        }
        return SizeWriter(b, self.program, self.interface, lengths)

    # ---- small functions

    def _message(self) -> None:
        """``const char *name_message(int32_t code)``."""
        texts = [CODES[code] for code in sorted(CODES)] + self.interface.failures + [_OTHER_MESSAGE]
        packed: dict[bytes, int] = {}  # each message once, with its place
        for one in texts:
            packed.setdefault(one.encode() + b"\0", sum(map(len, packed)))
        starts = [packed[one.encode() + b"\0"] for one in texts]
        text = self.module.data(b"".join(packed))
        table = self.module.table(", ".join(f"i32 {n}" for n in starts), len(texts), "i32")
        b = self._begin("message", PTR, [INT32])
        number = b.convert(b.arguments[0], INT64) - min(CODES)
        last = len(texts) - 1
        number = b.select((number < 0) | (number > last), b.constant(INT64, last), number)
        start = b.load(INT32, b.offset(Value(b, PTR, table), number, INT32))
        b.ret(b.offset(Value(b, PTR, text), b.convert(start, INT64), INT8))

    def _work_bytes(self) -> None:
        """``int64_t name_work_bytes(const int64_t *dims)``: -1 if it depends on data."""
        b = self._begin("work_bytes", INT64, [PTR])
        sizes = self.sizes(b, b.arguments[0])
        total = self.work(sizes)
        b.ret(b.constant(INT64, -1) if total is None else total)

    def work(self, sizes: SizeWriter) -> Value | None:
        """Return the bytes of work memory that suffice; ``None`` if they depend on data."""
        parts = []
        if "phintys_arena" in self.emitted.module.declared:
            arena = sizes.arena(self.emitted.memory, self.plan.ring)
            if arena is None:
                return None
            parts += [arena, sizes.b.constant(INT64, ALIGNMENT * self.layout.groups)]
        arrays = [one for one in self.layout.new_arrays if one not in self.on_stack]
        updates = [one.update for one in self.interface.state]
        arrays += [one for one in updates if one not in arrays and one not in self.on_stack]
        for array in arrays:
            if not all(map(sizes.is_known, array.sizes)):
                return None
            parts.append(sizes.bytes_of(array))
        if self.frame_bytes > C_FRAME_BYTES:
            parts.append(sizes.aligned(sizes.b.constant(INT64, self.frame_bytes)))
        parts.append(sizes.b.constant(INT64, ALIGNMENT))
        return sizes.total(parts)

    @property
    def frame_bytes(self) -> int:
        """Bytes of the frame."""
        return 8 * (self.layout.slots + 1)

    def _shapes(self) -> None:
        """``void name_shapes(const int64_t *dims, int64_t *shapes)``: -1 if it depends on data."""
        b = self._begin("shapes", VOID, [PTR, PTR])
        dims, shapes = b.arguments
        sizes = self.sizes(b, dims)
        at = 0
        for result in self.interface.results:
            for size in result.value.sizes:
                known = sizes.is_known(size)
                length = sizes.size(size) if known else b.constant(INT64, -1)
                b.store(length, b.offset(shapes, at, INT64))
                at += 1
        b.ret()

    # ---- the state

    def _state(self) -> None:
        state = self.interface.state
        b = self._begin("state_bytes", INT64, [])
        b.ret(b.constant(INT64, self.interface.state_bytes))
        b = self._begin("state_init", VOID, [PTR])
        for one in state:
            self._copy_state(b, one, self.initial(b, one), b.arguments[0], one.offset, 0)
        b.ret()
        for suffix in ("state_get", "state_set"):
            b = self._begin(suffix, INT32, [PTR, INT32, PTR])
            memory, number, values = b.arguments
            for position, one in enumerate(state):
                this, other = b.new_block("this"), b.new_block("other")
                b.branch(b.eq(number, position), this, other)
                b.begin(this)
                if suffix == "state_get":
                    self._copy_state(b, one, memory, values, 0, one.offset)
                else:
                    self._copy_state(b, one, values, memory, one.offset, 0)
                b.ret(b.constant(INT32, 0))
                b.begin(other)
            b.ret(b.constant(INT32, WRONG_LENGTH))

    def _copy_state(
        self, b: Builder, one: StateValue, source: Value, target: Value, to: int, begin: int
    ) -> None:
        target, source = byte_offset(b, target, to), byte_offset(b, source, begin)
        copy_bytes(b, target, source, b.constant(INT64, one.initial.nbytes))

    def initial(self, b: Builder, one: StateValue) -> Value:
        """Return the address of the first value of a state."""
        return self.constant(b, one.initial.astype(one.argument.dtype))

    def constant(self, b: Builder, value: np.ndarray[Any, Any]) -> Value:
        """Return the address of a value."""
        return Value(b, PTR, self.module.data(np.ascontiguousarray(value).tobytes() or b"\0"))


class _CallWriter:
    """Writes the function itself.

    ``int32_t name(args, dims, results, capacities, shapes, numbers, state, work, work_bytes)``
    """

    def __init__(self, entry: EntryWriter) -> None:
        self.entry = entry
        self.interface = entry.interface
        self.layout = entry.layout
        function = entry.module.function(self.interface.name, INT32, [*[PTR] * 8, INT64])
        self.b = Builder(function)
        self.given = dict(zip(_PARAMETERS, self.b.arguments, strict=True))
        self.sizes: SizeWriter
        updates = {one.update: one for one in self.interface.state}
        self.in_place: dict[Array, StateValue] = {
            claim.target: updates[claim.target]
            for claim in self.layout.claims
            if claim.target in updates and updates[claim.target].argument is claim.source
        }
        """Results that are written to the memory of the state itself, by the commit."""
        self.direct: dict[Array, int] = {}
        """Results that are written to the memory of the caller."""
        for number, result in enumerate(self.interface.results):
            value = result.value
            if value in self.layout.new_arrays and value not in self.in_place:
                self.direct.setdefault(value, number)

    def write(self) -> None:
        """Write it."""
        self._check_pointers()
        self._check_lengths()
        self._read_pointers()
        self.call = self._record()
        self.frame = self._room()
        self._fill_frame()
        self._place_results()
        self._place_claims()
        self._run("run")
        copied = self._copies_before_commit()
        if self.layout.has_commit:
            self._run("commit")
        self._copies(copied)
        self._finish(self.b.constant(INT32, 0))

    # ---- checks

    def _refuse_if(self, condition: Value, code: int) -> None:
        with ending_if(self.b, condition):
            self.b.ret(self.b.constant(INT32, code))

    def _is_null(self, pointer: Value) -> Value:
        return self.b.compare("eq", pointer, null(self.b))

    def _beyond_alignment(self, pointer: Value, dtype: Any) -> Value:
        """Return how many bytes an address is after the last one that is aligned."""
        alignment = type_of(dtype).part.itemsize
        return self.b.write(INT64, f"ptrtoint ptr {pointer.text} to i64") & (alignment - 1)

    def _check_pointers(self) -> None:
        needed: dict[str, list[Any]] = {
            "args": [*self.interface.arguments],
            "dims": [*self.interface.dimensions],
            "state": [*self.interface.state],
        }
        for name, wanted in needed.items():
            if wanted:
                self._refuse_if(self._is_null(self.given[name]), NULL_POINTER)

    def _check_lengths(self) -> None:
        b = self.b
        self.sizes = self.entry.sizes(b, self.given["dims"])
        wrong = b.constant(INT64, 0) > 0
        for number in range(len(self.interface.dimensions)):
            length = b.load(INT64, b.offset(self.given["dims"], number, INT64))
            wrong = wrong | (length < 0) | (length > MOST_LENGTH)
        if self.interface.dimensions:
            self._refuse_if(wrong, WRONG_LENGTH)

    def _read_pointers(self) -> None:
        """Read the addresses of arguments and results, and the capacities, and check them.

        All alignments are one check, since a call of a short function takes a few nanoseconds.
        """
        arguments, results = self.interface.arguments, self.interface.results
        self.arguments = [self._argument(*one) for one in enumerate(arguments)]
        self.pointers = [self._wanted(number) for number in range(len(results))]
        self.capacities = [self._capacity(number) for number in range(len(results))]
        beyond = self.b.constant(INT64, 0)
        given = zip([*arguments, *results], [*self.arguments, *self.pointers], strict=True)
        for parameter, pointer in given:
            beyond = beyond | self._beyond_alignment(pointer, parameter.value.dtype)
        if self.interface.state:
            beyond = beyond | self._beyond_alignment(self.given["state"], "int64")
        self._refuse_if(self.b.ne(beyond, 0), MISALIGNED)

    def _argument(self, number: int, parameter: PointerParameter) -> Value:
        """Return the address of an argument."""
        pointer = self.b.load(PTR, self.b.offset(self.given["args"], number, PTR))
        is_missing = self._is_null(pointer)
        if parameter.value.sizes:
            is_missing = is_missing & self.b.ne(self.sizes.count(parameter.value.sizes), 0)
        self._refuse_if(is_missing, NULL_POINTER)
        return pointer

    # ---- before the program runs

    def _record(self) -> Value:
        """Return the record of the call."""
        b = self.b
        call = b.slot(INT64, CALL.size // 8)
        work, left = self.given["work"], self.given["work_bytes"]
        begin = aligned_pointer(b, work)
        skipped = b.write(INT64, f"ptrtoint ptr {begin.text} to i64")
        skipped = skipped - b.write(INT64, f"ptrtoint ptr {work.text} to i64")
        left = b.select(self._is_null(work), b.constant(INT64, 0), left - skipped)
        fields: dict[str, Value | int] = {
            "work": begin,
            "left": b.maximum_number(left, 0),
            "blocks": null(b),
            "problem": 0,
            "results": b.slot(INT64, max(1, len(self.layout.new_arrays))),
            "capacities": b.slot(INT64, max(1, len(self.layout.new_arrays))),
            "claims": b.slot(INT64, max(1, len(self.layout.claims))),
            "sources": b.slot(INT64, max(1, len(self.layout.claims))),
        }
        for name, value in fields.items():
            CALL.store(b, call, name, value)
        return call

    def _memory(self, bytes_: Value) -> Value:
        """Return memory of the arena; the call ends if there is none."""
        b = self.b
        found = b.call("phintys_arena", PTR, [self.call, b.constant(INT64, 0), bytes_])
        none, got = b.new_block("none"), b.new_block("got")
        b.branch(self._is_null(found), none, got)
        b.begin(none)
        self._finish(b.constant(INT32, NO_MEMORY))
        b.begin(got)
        return found

    def _room(self) -> Value:
        """Return memory for the frame, with zeros."""
        b, bytes_ = self.b, self.entry.frame_bytes
        if bytes_ <= C_FRAME_BYTES:
            frame = b.slot(INT64, bytes_ // 8)
        else:
            frame = self._memory(b.constant(INT64, bytes_))
        if self.entry.module.target.pointer_bytes < 8:
            # Addresses are read as words of 8 bytes.
            name = "llvm.memset.p0.i64"
            b.module.declare(name, f"void @{name}(ptr, i8, i64, i1)")
            b.write_void(f"call void @{name}({frame.typed}, i8 0, i64 {bytes_}, i1 false)")
        return frame

    def _slot(self, number: int) -> Value:
        return self.b.offset(self.frame, number, INT64)

    def _fill_frame(self) -> None:
        b = self.b
        b.store(self.call, self._slot(STATE))
        b.store(b.constant(INT64, 0), self._slot(STATUS))
        table = b.slot(INT64, max(1, len(self.layout.constants)))
        for number, array in enumerate(self.layout.constants):
            assert array.data is not None
            b.store(self.entry.constant(b, array.data), b.offset(table, number, INT64))
        b.store(table, self._slot(CONSTANTS))
        for parameter, pointer in zip(self.interface.arguments, self.arguments, strict=True):
            self._fill(parameter.value, pointer)
        for array, value in self.interface.constants:
            self._fill(array, self.entry.constant(b, value.astype(array.dtype)))
        for one in self.interface.state:
            self._fill(one.argument, byte_offset(b, self.given["state"], one.offset))

    def _fill(self, array: Array, pointer: Value) -> None:
        record = self.layout.records[array]
        self.b.store(pointer, self._slot(record))
        for axis, size in enumerate(array.sizes):
            self.b.store(self.sizes.size(size), self._slot(record + 1 + axis))

    def _wanted(self, number: int) -> Value:
        """Return the address of the caller's memory for a result; null if it is not wanted."""
        b = self.b
        start, some, after = b.block, b.new_block("some"), b.new_block("after")
        b.branch(self._is_null(self.given["results"]), after, some)
        b.begin(some)
        pointer = b.load(PTR, b.offset(self.given["results"], number, PTR))
        b.jump(after)
        b.begin(after)
        phi = b.phi(PTR)
        phi.add(null(b), start)
        phi.add(pointer, some)
        return phi.value

    def _capacity(self, number: int) -> Value:
        """Return how many elements a result may have; any number if no capacities are given."""
        b = self.b
        if not self.interface.results[number].value.sizes:
            return b.constant(INT64, 1)
        start, some, after = b.block, b.new_block("some"), b.new_block("after")
        b.branch(self._is_null(self.given["capacities"]), after, some)
        b.begin(some)
        capacity = b.load(INT64, b.offset(self.given["capacities"], number, INT64))
        b.jump(after)
        b.begin(after)
        phi = b.phi(INT64)
        phi.add(b.constant(INT64, MOST), start)
        phi.add(capacity, some)
        return phi.value

    def _place_results(self) -> None:
        """Note where the results are written."""
        b = self.b
        places, capacities = (CALL.load(b, self.call, n) for n in ("results", "capacities"))
        for number, array in enumerate(self.layout.new_arrays):
            at = self.direct.get(array)
            pointer = null(b) if at is None else self.pointers[at]
            capacity = b.constant(INT64, 0) if at is None else self.capacities[at]
            if array in self.entry.on_stack:
                is_own = self._is_null(pointer)
                own = b.slot(INT64, self.entry.on_stack[array])
                pointer = b.select(is_own, own, pointer)
                capacity = b.select(is_own, b.constant(INT64, MOST), capacity)
            b.store(pointer, b.offset(places, number, INT64))
            b.store(capacity, b.offset(capacities, number, INT64))

    def _place_claims(self) -> None:
        """Note where the values begin that the program overwrites; nothing fails later."""
        b = self.b
        for number, claim in enumerate(self.layout.claims):
            source = b.load(PTR, self._slot(self.layout.records[claim.source]))
            if claim.target in self.in_place:
                target = source
            else:
                target = self._copy_of(claim.target, claim.source)
            for name, pointer in (("claims", target), ("sources", source)):
                b.store(pointer, b.offset(CALL.load(b, self.call, name), number, INT64))

    def _copy_of(self, target: Array, source: Array) -> Value:
        """Return the memory of a copy: that of the result if it is wanted."""
        b = self.b
        at = self.direct.get(target)
        if at is None:
            return self._memory(self.sizes.bytes_of(source))
        self._check_capacity(at, self.sizes.count(source.sizes))
        own, given, after = (b.new_block(name) for name in ("own", "given", "after"))
        b.branch(self._is_null(self.pointers[at]), own, given)
        b.begin(own)
        memory = self._memory(self.sizes.bytes_of(source))
        own = b.block
        b.jump(after)
        b.begin(given)
        b.jump(after)
        b.begin(after)
        phi = b.phi(PTR)
        phi.add(memory, own)
        phi.add(self.pointers[at], given)
        return phi.value

    # ---- the program

    def _run(self, symbol: str) -> None:
        b = self.b
        status = b.call(symbol, INT32, [self.frame])
        failed, after = b.new_block("failed"), b.new_block("after")
        b.branch(b.eq(status, 0), after, failed)
        b.begin(failed)
        self._finish(self._code())
        b.begin(after)

    def _code(self) -> Value:
        """Return the code of a failure, whose numbers are stored for the caller."""
        b = self.b
        status = b.load(INT64, self._slot(STATUS))
        with when(b, b.compare("ne", self.given["numbers"], null(b))):
            for number in range(2):
                value = b.load(INT64, self._slot(STATUS + 1 + number))
                b.store(value, b.offset(self.given["numbers"], number, INT64))
        problem = CALL.load(b, self.call, "problem")
        own = b.select(b.eq(problem, 0), b.constant(INT64, NO_MEMORY), problem)
        return b.convert(b.select(status > 0, status, own), INT32)

    def _end_if(self, condition: Value, code: int) -> None:
        with ending_if(self.b, condition):
            self._finish(self.b.constant(INT32, code))

    def _finish(self, code: Value) -> None:
        """Free what the call has taken, and return the code."""
        if self.entry.allocates:
            blocks = CALL.load(self.b, self.call, "blocks")
            with when(self.b, self.b.compare("ne", blocks, null(self.b))):
                self.b.call("phintys_release", VOID, [self.call])
        self.b.ret(code)

    # ---- after the program has run

    def _count(self, array: Array) -> Value:
        """Return how many elements a value has, by its record."""
        b = self.b
        record = self.layout.records[array]
        total = b.constant(INT64, 1)
        for axis in range(array.ndim):
            length = b.load(INT64, self._slot(record + 1 + axis))
            total = saturating(b, "mul", total, length)
        return total

    def _check_capacity(self, number: int, count: Value) -> None:
        is_small = count > self.capacities[number]
        is_wanted = self.b.compare("ne", self.pointers[number], null(self.b))
        self._end_if(is_small & is_wanted, TOO_SMALL)

    def _copies_before_commit(self) -> list[tuple[StateValue, Value]]:
        """Copy what the commit may overwrite, and make all checks; return copies of updates."""
        copied: list[tuple[StateValue, Value]] = []
        early = {Place.ARGUMENT, Place.CONSTANT}
        for number, result in enumerate(self.interface.results):
            if self.direct.get(result.value) == number:
                continue
            # The records of targets of claims are filled by the commit.
            count = self._count_before_commit(result.value)
            self._check_capacity(number, count)
            if result.value.memory.place in early:
                self._copy_result(number, result.value)
        for one in self.interface.state:
            if one.update in self.in_place:
                continue
            wrong = self.b.constant(INT64, 0) > 0
            record = self.layout.records[one.update]
            for axis, length in enumerate(one.initial.shape):
                found = self.b.load(INT64, self._slot(record + 1 + axis))
                wrong = wrong | self.b.ne(found, length)
            if one.update.sizes and not self._is_claimed(one.update):
                self._end_if(wrong, OTHER_SHAPE)
            if one.update.memory.place in early:
                bytes_ = self.b.constant(INT64, one.initial.nbytes)
                copy = self._memory(bytes_)
                copy_bytes(self.b, copy, self.b.load(PTR, self._slot(record)), bytes_)
                copied.append((one, copy))
        return copied

    def _is_claimed(self, array: Array) -> bool:
        return any(claim.target is array.memory for claim in self.layout.claims)

    def _count_before_commit(self, array: Array) -> Value:
        """Return how many elements a value has, before the commit."""
        if all(map(self.sizes.is_known, array.sizes)):
            return self.sizes.count(array.sizes)
        return self._count(array)

    def _copy_result(self, number: int, value: Array) -> None:
        b = self.b
        pointer = self.pointers[number]
        with when(b, b.compare("ne", pointer, null(b))):
            source = b.load(PTR, self._slot(self.layout.records[value]))
            copy_bytes(b, pointer, source, self._count(value) * value.dtype.itemsize)

    def _copies(self, copied: list[tuple[StateValue, Value]]) -> None:
        """Copy results and updates that are not in their place yet, and store the shapes."""
        b = self.b
        early = {Place.ARGUMENT, Place.CONSTANT}
        for number, result in enumerate(self.interface.results):
            is_direct = self.direct.get(result.value) == number
            if not is_direct and result.value.memory.place not in early:
                self._copy_result(number, result.value)
        done = {id(one) for one, _ in copied}
        for one in self.interface.state:
            if one.update not in self.in_place and id(one) not in done:
                source = b.load(PTR, self._slot(self.layout.records[one.update]))
                copied.append((one, source))
        for one, source in copied:
            target = byte_offset(b, self.given["state"], one.offset)
            copy_bytes(b, target, source, b.constant(INT64, one.initial.nbytes))
        with when(b, b.compare("ne", self.given["shapes"], null(b))):
            at = 0
            for result in self.interface.results:
                record = self.layout.records[result.value]
                for axis in range(result.value.ndim):
                    length = b.load(INT64, self._slot(record + 1 + axis))
                    b.store(length, b.offset(self.given["shapes"], at, INT64))
                    at += 1
