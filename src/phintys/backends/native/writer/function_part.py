"""One function of the main function: its frame slots, sizes and memory."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from itertools import groupby
from typing import TYPE_CHECKING

from phintys._base.errors import IntegrityError
from phintys._base.records import record
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import leaving, loop, when
from phintys.backends.native.assembler.types import (
    BOOL,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    PTR,
    VOID,
    type_of,
)
from phintys.backends.native.assembler.values import Complex, Value
from phintys.backends.native.dependence import arrays_in_size
from phintys.backends.native.frame import (
    CONSTANTS,
    EXCEPTION,
    NO_BUFFER,
    NO_RESULT,
    OUT_OF_MEMORY,
    STATE,
    STATUS,
    TOO_LARGE,
)
from phintys.backends.native.limits import (
    COMPARED_BUFFERS,
    LONG_RUN,
    SMALL_BLOCK,
    STACK_BYTES,
    WORK_SHIFT,
)
from phintys.backends.native.memory import ALIGNMENT
from phintys.backends.native.sizes import (
    MOST,
    Arithmetic,
    Counter,
    Element,
    Extent,
    Size,
    Sizes,
)
from phintys.backends.native.values import Array, LoopVariable, Place

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Sequence

    from phintys.backends.native.assembler.module import Block, ModuleFunction
    from phintys.backends.native.polynomials import Atom, Polynomial, Polynomials
    from phintys.backends.native.steps.kernel import Kernel
    from phintys.backends.native.writer.main_function import MainFunction


MOST_BYTES = 2**55
"""More bytes than any machine has; below it, the sum over all buffers fits into an int64."""


_MOST_BITS = 63
"""Bits of an int64 without its sign."""


@record(eq=False)
class OpenLoop:
    """A loop of steps whose body is being written.

    Attributes
    ----------
    entry
        The block before the first pass: what is the same in all passes is computed there.
    counter
        The number of the pass.
    written
        The memory that is written in the body.
    invariants
        Single numbers that were read before the first pass.
    """

    entry: Block
    counter: LoopVariable
    written: set[Array]
    invariants: dict[Array, Value | Complex] = field(default_factory=dict)


class Part:
    """Emits code into one function of the main function.

    Parameters
    ----------
    main
        The main function as a whole.
    function
        This one: ``i32 function(ptr frame)``, maybe with further parameters.
    """

    def __init__(self, main: MainFunction, function: ModuleFunction) -> None:
        self.main = main
        self.b = Builder(function)
        self.frame = self.b.arguments[0]
        self._fail = self.b.new_block("fail")
        self._known: dict[Atom, Value] = {}
        self._polynomials: dict[Polynomial, Value] = {}
        self._checked: set[Polynomial] = set()
        self._pointers: dict[int, Value] = {}
        self._constants: Value | None = None
        self._stack: Value | None = None
        self.open_loops: list[OpenLoop] = []

    @property
    def is_repeated(self) -> bool:
        """Whether a loop of steps repeats the code."""
        return bool(self.open_loops)

    def end(self) -> None:
        """End the function."""
        b = self.b
        b.ret(b.constant(INT32, 0))
        b.begin(self._fail)
        b.ret(b.constant(INT32, 1))

    # ---- frame -------------------------------------------------------------------------------

    def slot(self, number: int) -> Value:
        """Return the address of a slot of the frame."""
        return self.b.offset(self.frame, number, INT64)

    def state(self) -> Value:
        """Return the state passed to the runtime's functions."""
        return self.b.load(PTR, self.slot(STATE))

    def status(self) -> Value:
        """Return the address of the status."""
        return self.slot(STATUS)

    @contextmanager
    def failing(self, condition: Value) -> Generator[None]:
        """Emit code that runs before the call fails on a condition."""
        with leaving(self.b, condition, self._fail):
            yield

    def set_status(self, *numbers: Value | int) -> None:
        """Store the reason why the call fails."""
        for at, number in enumerate(numbers):
            self.b.store(self.b.value(INT64, number), self.slot(STATUS + at))

    def fail_if_null(self, pointer: Value, *status: Value | int) -> None:
        """Make the call fail if an address is null."""
        with self.failing(self.b.write(BOOL, f"icmp eq ptr {pointer.text}, null")):
            self.set_status(*status)

    def fail_if_interrupted(self, status: Value) -> None:
        """Make the call fail if a function of the runtime says that it must end."""
        with self.failing(self.b.ne(status, 0)):
            self.set_status(EXCEPTION)

    @contextmanager
    def room(self, bytes_: Value | int, kernel: Kernel) -> Generator[Value]:
        """Allocate temporary memory for a kernel: on the stack, if it is small. One at a time."""
        b = self.b
        if self._stack is None:
            self._stack = b.slot(INT64, STACK_BYTES // 8)
        if isinstance(bytes_, int) and bytes_ <= STACK_BYTES:
            yield self._stack
            return
        bytes_ = b.value(INT64, bytes_)
        is_small, before = b.le(bytes_, STACK_BYTES), b.block
        heap, ready = b.new_block("heap"), b.new_block("ready")
        b.branch(is_small, ready, heap)
        b.begin(heap)
        taken = b.call("phintys_malloc", PTR, [bytes_])
        self.fail_if_null(taken, OUT_OF_MEMORY, bytes_, self.main.workspace(kernel))
        last = b.block
        b.jump(ready)
        b.begin(ready)
        memory = b.phi(PTR)
        memory.add(self._stack, before)
        memory.add(taken, last)
        yield memory.value
        with when(b, ~is_small):
            b.call("phintys_free", VOID, [memory.value])

    @contextmanager
    def aside(self) -> Generator[None]:
        """Emit code that may not run: sizes computed in it are not known afterwards."""
        before = (dict(self._known), dict(self._polynomials), dict(self._pointers))
        kept, constants = set(self.main.kept_atoms), self._constants
        yield
        self._known, self._polynomials, self._pointers = before
        self.main.kept_atoms, self._constants = kept, constants

    def forget_sizes(self, changed: Collection[Array]) -> None:
        """Forget sizes that depend on arrays which are rewritten."""
        if not changed:
            return

        def stays(atom: Atom) -> bool:
            if not isinstance(atom, Size):
                return True
            return not any(array in changed for array in arrays_in_size(atom))

        atoms = self.main.ring.atoms
        self._known = {atom: value for atom, value in self._known.items() if stays(atom)}
        self.main.kept_atoms = {atom for atom in self.main.kept_atoms if stays(atom)}
        self._polynomials = {
            polynomial: value
            for polynomial, value in self._polynomials.items()
            if all(stays(atoms[at]) for term, _ in polynomial.terms for at in term)
        }

    # ---- what does not change in loops -------------------------------------------------------

    def _changes(self, atom: Atom, at: int) -> bool:
        """Return whether a size changes between passes of an open loop."""
        loop = self.open_loops[at]
        if isinstance(atom, LoopVariable):
            return any(one.counter is atom for one in self.open_loops[at:])
        for leaf in atom.leaves:
            if isinstance(leaf, Counter):
                if any(one.counter is leaf.loop for one in self.open_loops[at:]):
                    return True
            elif isinstance(leaf, Element | Extent) and leaf.array.memory in loop.written:
                return True
        return False

    def home(self, atoms: Iterable[Atom] = (), memory: Array | None = None) -> OpenLoop | None:
        """Return the outermost open loop in which sizes, and an address, do not change."""
        atoms = list(atoms)
        for at, one in enumerate(self.open_loops):
            is_moved = memory is not None and memory.place == Place.CALLBACK
            if is_moved and memory in one.written:
                continue
            if not any(self._changes(atom, at) for atom in atoms):
                return one
        return None

    @contextmanager
    def before(self, loop: OpenLoop | None) -> Generator[None]:
        """Write before the first pass of an open loop; in place if there is none."""
        if loop is None:
            yield
            return
        with self.b.inside(loop.entry):
            yield

    def atoms_of(self, polynomial: Polynomial, ring: Polynomials | None = None) -> list[Atom]:
        """Return the sizes in a polynomial."""
        atoms = (self.main.ring if ring is None else ring).atoms
        return [atoms[at] for term, _ in polynomial.terms for at in term]

    # ---- sizes -------------------------------------------------------------------------------

    def size(self, size: Size) -> Value:
        """Return the value of a size."""
        return self.polynomial(self.main.ring.of(size))

    def size_as_given(self, size: Size) -> Value:
        """Return a size as it was before checks merged it with another."""
        ring = self.main.as_given
        return self.polynomial(ring.of(size), ring)

    def polynomial(self, polynomial: Polynomial, ring: Polynomials | None = None) -> Value:
        """Return the value of a polynomial (of the program's, if no other ring is given)."""
        b = self.b
        ring = self.main.ring if ring is None else ring
        if polynomial.known is not None:
            return b.constant(INT64, polynomial.known)
        found = self._polynomials.get(polynomial)
        if found is not None:
            return found
        values = {
            atom: self._atom(ring.atoms[atom], ring.sizes)
            for term, _ in polynomial.terms
            for atom in term
        }
        total: Value | None = None
        home = self.home(self.atoms_of(polynomial, ring)) if self.open_loops else None
        with self.before(home):
            for atoms, factor in polynomial.terms:
                term: Value | None = None
                for atom in atoms:
                    term = values[atom] if term is None else term * values[atom]
                if term is None:
                    term = b.constant(INT64, factor)
                elif factor != 1:
                    term = term * factor
                total = term if total is None else total + term
        assert total is not None
        if ring is self.main.ring:  # other rings have atoms of their own
            self._polynomials[polynomial] = total
        return total

    def estimate(self, polynomial: Polynomial) -> Value:
        """Return an amount of work: the value of a polynomial, or the largest int64 if it is above.

        That of 2^61 passes is, and must not be taken for a little.
        """
        ring = self.main.ring
        if polynomial.known is not None:
            return self.b.constant(INT64, min(polynomial.known, MOST))
        if _bits(polynomial, ring) <= _MOST_BITS:
            return self.polynomial(polynomial)
        atoms = {at for term, _ in polynomial.terms for at in term}
        values = {at: self._atom(ring.atoms[at], ring.sizes) for at in atoms}
        sums: dict[bool, Value] = {}
        with self.before(self.home(self.atoms_of(polynomial)) if self.open_loops else None):
            for term, factor in polynomial.terms:
                value = self.b.constant(INT64, min(abs(factor), MOST))
                for at in term:
                    value = self.saturating("mul", value, values[at])
                before = sums.get(factor > 0)
                sums[factor > 0] = (
                    value if before is None else self.saturating("add", before, value)
                )
            added, taken = (sums.get(sign, self.b.constant(INT64, 0)) for sign in (True, False))
            if False not in sums:
                return added
            return self.b.select(self.b.eq(added, MOST), added, added - taken)

    def nanoseconds(self, work: Polynomial) -> Value:
        """Return an amount of work in nanoseconds."""
        return self.estimate(work) >> WORK_SHIFT

    def saturating(self, operation: str, left: Value, right: Value) -> Value:
        """Return a sum or product of lengths, or the largest int64 if it is out of range."""
        return saturating(self.b, operation, left, right)

    def _atom(self, atom: Atom, sizes: Sizes) -> Value:
        stack: list[Atom] = [atom]
        while stack:
            current = stack[-1]
            if current in self._known:
                stack.pop()
                continue
            if not isinstance(current, Arithmetic) or current in self.main.kept_atoms:
                with self.before(self.home([current]) if self.open_loops else None):
                    self._known[current] = self._from_frame(current)
                continue
            canonical = [sizes.canonical(size) for size in current.arguments]
            missing = [s for s in canonical if s.known is None and s not in self._known]
            if missing:
                stack.extend(missing)
                continue
            left, right = (
                self._known[s] if s.known is None else self.b.constant(INT64, s.known)
                for s in canonical
            )
            if not self.open_loops:
                self.keep(current, size_arithmetic(self.b, current.operation, left, right))
                continue
            with self.before(self.home([current])):
                self._known[current] = size_arithmetic(self.b, current.operation, left, right)
        return self._known[atom]

    def _from_frame(self, atom: Atom) -> Value:
        if isinstance(atom, Extent):
            slot = self.main.record(atom.array) + 1 + atom.axis
        elif isinstance(atom, Counter):
            slot = self.main.atom_slot(atom.loop)
        else:
            slot = self.main.atom_slot(atom)
        return self.b.load(INT64, self.slot(slot))

    def keep(self, atom: Atom, value: Value) -> None:
        """Store a size in the frame, for later parts of the main function."""
        self._known[atom] = value
        self.main.kept_atoms.add(atom)
        self.b.store(value, self.slot(self.main.atom_slot(atom)))

    def keep_element(self, element: Element) -> None:
        """Read a size from an array that has just been written."""
        self.keep(element, self.element(element))

    def element(self, element: Element) -> Value:
        """Return an element of an array of integers."""
        base = self.pointer(element.array)
        return self.b.load(INT64, self.b.offset(base, element.index, INT64))

    def hold(self, atom: Atom, value: Value) -> None:
        """Record a size that is known in the body of a loop."""
        self._known[atom] = value

    # ---- memory ------------------------------------------------------------------------------

    def pointer(self, array: Array) -> Value:
        """Return the address of an array."""
        b = self.b
        memory = array.memory
        home = self.home(memory=memory) if self.open_loops else None
        if memory.place == Place.CONSTANT:
            with self.before(home):
                if self._constants is None:
                    self._constants = b.load(PTR, self.slot(CONSTANTS))
                return b.load(PTR, b.offset(self._constants, self.main.constant(memory), INT64))
        slot = self.main.pointer_slot(memory)
        found = self._pointers.get(slot)
        if found is None:
            with self.before(home):
                found = self._pointers[slot] = b.load(PTR, self.slot(slot))
        return found

    def address(self, array: Array, offset: Polynomial) -> Value:
        """Return the address of an element of an array."""
        base = self.pointer(array)
        if not offset.terms:
            return base
        number = self.polynomial(offset)
        with self.before(self.home_of_address(array, offset)):
            return self.b.offset(base, number, type_of(array.dtype))

    @contextmanager
    def where_fixed(self, *sizes: Size) -> Generator[None]:
        """Write before the first pass of the outermost loop in which sizes do not change."""
        atoms = (atom for size in sizes for atom in self.atoms_of(self.main.ring.of(size)))
        with self.before(self.home(atoms) if self.open_loops else None):
            yield

    def home_of_address(self, array: Array, offset: Polynomial) -> OpenLoop | None:
        """Return the outermost open loop in which an address does not change."""
        if not self.open_loops:
            return None
        return self.home(self.atoms_of(offset), array.memory)

    def set_pointer(self, slot: int, value: Value) -> None:
        """Store an address."""
        self._pointers[slot] = value
        self.b.store(value, self.slot(slot), align=8)

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

    def take_group(self, group: int) -> None:
        """Allocate a block of the arena or of the frame, and store the addresses of its slots."""
        b = self.b
        end = b.constant(INT64, 0)
        runs: list[tuple[list[int], Value, Value]] = []
        for slots, sizes in self._runs(group):
            step = b.constant(INT64, 0)
            for number, (bytes_, array) in enumerate(sizes):
                self._check_room(self.main.buffer_at(slots[0]), array, bytes_)
                one = self.aligned(self.polynomial(bytes_))
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
            first = self.slot(slots[0])
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
        b = self.b
        small, large, after = b.block, b.new_block("large"), b.new_block("after")
        b.branch(b.le(bytes_, room), after, large)
        b.begin(large)
        in_arena = self._in_arena(group, bytes_, runs)
        large = b.block
        b.jump(after)
        b.begin(after)
        phi = b.phi(PTR)
        phi.add(in_frame, small)
        phi.add(in_arena, large)
        return phi.value

    def _in_frame(self, bytes_: int) -> Value:
        """Return the address of new room in the frame, aligned as the arena is."""
        b = self.b
        first = self.slot(self.main.layout.room((bytes_ + ALIGNMENT) // 8 - 1))
        last = b.write(INT64, f"ptrtoint {first.typed} to i64") + (ALIGNMENT - 1)
        return b.write(PTR, f"inttoptr i64 {(last & -ALIGNMENT).text} to ptr")

    def _in_arena(
        self, group: int, bytes_: Value, runs: Sequence[tuple[list[int], Value, Value]]
    ) -> Value:
        """Return the address of a new block of the arena; fail if there is no memory."""
        b = self.b
        base = b.call("phintys_arena", PTR, [self.state(), b.constant(INT64, group), bytes_])
        with self.failing(b.write(BOOL, f"icmp eq ptr {base.text}, null")):
            largest = [b.constant(INT64, 0)] * 2
            for slots, _, step in runs[:COMPARED_BUFFERS]:
                number = b.constant(INT64, self.main.buffer_at(slots[0]))
                is_larger = step > largest[0]
                largest = [
                    b.select(is_larger, one, other)
                    for one, other in zip((step, number), largest, strict=True)
                ]
            self.set_status(NO_BUFFER, *largest)
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
            product = product * b.convert(self.polynomial(ring.of(length)), FLOAT64)
        with self.failing(b.compare("uge", product, b.constant(FLOAT64, MOST_BYTES))):
            self.set_status(TOO_LARGE, 0, slot)

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
            arguments = [self.state(), b.constant(INT64, number), self.slot(record + 1)]
            data = b.call("phintys_new_array", PTR, arguments)
            self.fail_if_null(data, NO_RESULT, number)
            self.set_pointer(record, data)

    def record_sizes(self, array: Array) -> None:
        """Store the lengths of an array in its record."""
        record = self.main.record(array)
        for axis, size in enumerate(array.sizes):
            self.b.store(self.size(size), self.slot(record + 1 + axis))

    def fill_record(self, array: Array) -> None:
        """Store the address and the lengths of an array in its record."""
        self.record_sizes(array)
        self.b.store(self.pointer(array), self.slot(self.main.record(array)), align=8)


def saturating(b: Builder, operation: str, left: Value, right: Value) -> Value:
    """Return a sum or product of lengths, or the largest int64 if it is out of range."""
    result, overflows = b.checked(operation, left, right)
    return b.select(overflows, b.constant(INT64, MOST), result)


def size_arithmetic(b: Builder, operation: str, left: Value, right: Value) -> Value:
    """Return the value of an :class:`~phintys.backends.native.sizes.Arithmetic`."""
    if operation in {"add", "sub", "mul"}:
        return b.binary(operation, left, right)
    if operation == "max":
        return b.maximum_number(left, right)
    if operation == "min":
        return b.minimum_number(left, right)
    if operation == "lt":
        return b.write(INT64, f"zext i1 {(left < right).text} to i64")
    if operation in {"volume", "total"}:
        if operation == "volume":
            one = b.constant(INT64, 1)
            left, right = b.maximum_number(left, one), b.maximum_number(right, one)
        return saturating(b, "mul" if operation == "volume" else "add", left, right)
    if operation not in {"floordiv", "mod"}:
        msg = f"There is no operation {operation!r} on sizes."
        raise IntegrityError(msg)
    # Quotients by 0 are not used, but computing one would trap.
    divisor = b.select(b.eq(right, 0), b.constant(INT64, 1), right)
    quotient = b.binary("sdiv", left, divisor)
    rest = left - quotient * divisor
    below = b.ne(rest, 0) & ((rest ^ divisor) < 0)
    if operation == "mod":
        return b.select(below, rest + divisor, rest)
    return b.select(below, quotient - 1, quotient)


def _bits(polynomial: Polynomial, ring: Polynomials) -> int:
    """Return how many bits hold the sum of all terms of a polynomial in lengths."""
    terms = [
        abs(factor).bit_length() + sum(_bits_of(ring.atoms[at]) for at in term)
        for term, factor in polynomial.terms
    ]
    return max(terms, default=0) + len(terms).bit_length()


def _bits_of(atom: Atom) -> int:
    return (atom.extent if isinstance(atom, LoopVariable) else atom).bits
