"""The main function of a program: ``i32 run(ptr frame)``.

It computes sizes, carries out checks, asks for memory, fills the argument blocks of kernels, and
calls kernels, routines of libraries and callbacks, in order. It returns 0, or 1 if the call failed;
the status says why.

The frame is a block of 8-byte slots, made by the runtime for each call:

==============================  ==================================================================
slot                            what
==============================  ==================================================================
``STATE``                       what the runtime passes to its own functions below
``STATUS`` and two more         0; or the number of a failure (an index into ``layout.failures``,
                                plus 1) and the two numbers that its message wants; or
                                ``OUT_OF_MEMORY``, or ``EXCEPTION`` when a function of the runtime
                                has set a Python exception
``CONSTANTS``                   address of a table of the addresses of ``layout.constants``
``layout.records[value]``       for each argument, result, and value that a callback takes or gives:
                                its address, then the lengths of its axes. For a
                                :class:`~phintys.backends.native.program.Handle` the address is that
                                of the Python object.
the rest                        room for sizes and addresses that the program computes
==============================  ==================================================================

Before the call the runtime fills ``STATE``, ``CONSTANTS`` and the records of the arguments (numbers
must be C-contiguous and aligned to their size), and sets ``STATUS`` to 0. Functions of the runtime:

``ptr phintys_arena(ptr state, i64 group, i64 bytes)``
    Memory for buffers, aligned to 64 bytes and valid until the call ends; once for each group of
    ``layout.groups``. Null sets the status to ``OUT_OF_MEMORY``.
``ptr phintys_new_array(ptr state, i64 number, ptr sizes)``
    A new NumPy array for ``layout.new_arrays[number]``; returns where its data is. Null means
    ``EXCEPTION``.
``i32 phintys_callback(ptr state, i64 number)``
    Carry out ``layout.callbacks[number]``: its inputs' records are filled, it fills its outputs'.
    Not 0 means ``EXCEPTION``. Inputs may be reused as soon as it returns, unless the Op's view map
    says that outputs show them.
``void phintys_work(ptr state, i64 nanoseconds)``
    So long, roughly, will the steps take whose sizes are known by now: the runtime decides on
    threads, and on the lock of the interpreter. Called if it is :data:`NOTED_NANOSECONDS` or more.
``void phintys_parallel_for(ptr state, ptr kernel, ptr arguments, i64 n, i64 grain)``
    Call ``kernel(arguments, begin, end)`` for ranges that make up ``0 ... n``, in any order and at
    the same time; ranges shorter than ``grain`` are not worth it.
``void phintys_work(ptr state, i64 nanoseconds)``
    Announces work that no threads share, which may be long: another Python thread may run.
``ptr phintys_malloc(i64 bytes)``, ``void phintys_free(ptr)``
    Memory for a kernel, from any thread.

A kernel is handed to ``phintys_parallel_for`` if it will take longer than
:data:`PARALLEL_NANOSECONDS`, by a rough estimate; a range should take :data:`GRAIN_NANOSECONDS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from phintys._base.errors import IntegrityError
from phintys.backends.native.emit.blas import blas_call, sizes_of_call
from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.control import when
from phintys.backends.native.emit.kernels import OUT_OF_MEMORY, KernelCode, KernelWriter
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.planning import (
    CHUNKS,
    SMALLEST_CHUNK,
    KernelPlan,
)
from phintys.backends.native.emit.scope import (
    Chunk,
    FailureBase,
    Number,
    Partials,
    Pointer,
    ScratchBytes,
    ScratchOffset,
    Slot,
    Status,
)
from phintys.backends.native.emit.types import BOOL, INT32, INT64, PTR, VOID, type_of
from phintys.backends.native.emit.values import Value
from phintys.backends.native.memory import ALIGNMENT, MemoryPlan, plan_memory
from phintys.backends.native.polynomials import Polynomial, Polynomials
from phintys.backends.native.program import (
    Array,
    Branch,
    Call,
    Callback,
    Check,
    Failure,
    Handle,
    Kernel,
    Loop,
    Place,
    Program,
    Step,
)
from phintys.backends.native.sizes import Arithmetic, Element, Extent, Size, Sizes

if TYPE_CHECKING:
    from collections.abc import Generator

    from phintys.backends.native.emit.module import Block
    from phintys.backends.native.emit.target import Target
    from phintys.backends.native.polynomials import Atom
    from phintys.backends.native.program import Value as ProgramValue

__all__ = [
    "CONSTANTS",
    "EXCEPTION",
    "FIRST_RECORD",
    "OUT_OF_MEMORY",
    "STATE",
    "STATUS",
    "EmittedProgram",
    "Layout",
    "emit_program",
]

STATE, STATUS, CONSTANTS, FIRST_RECORD = 0, 1, 4, 5

EXCEPTION = -2
"""What the status says when a function of the runtime has set a Python exception."""

PARALLEL_NANOSECONDS = 30_000
GRAIN_NANOSECONDS = 10_000
NOTED_NANOSECONDS = 20_000

_FLOPS = 16
"""Multiplications and additions of a matrix product in a nanosecond."""

_UNIT = 64
"""Costs are counted in parts of a nanosecond."""

_STEPS_IN_A_PART = 32
"""Steps in one function: LLVM takes more than twice as long for one of twice the length."""


@dataclass(eq=False, slots=True)
class Layout:
    """What the runtime must know of a program; see the head of this module.

    Attributes
    ----------
    slots
        Length of the frame.
    records
        Where the record of a value begins.
    constants
        Arrays of which the table holds the addresses.
    new_arrays
        Results that the runtime allocates.
    callbacks
        Ops carried out by their Python code.
    failures
        What can go wrong.
    groups
        How many blocks the arena has.
    """

    slots: int = FIRST_RECORD
    records: dict[ProgramValue, int] = field(default_factory=dict)
    constants: list[Array] = field(default_factory=list)
    new_arrays: list[Array] = field(default_factory=list)
    callbacks: list[Callback] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    groups: int = 0


@dataclass(eq=False, slots=True)
class EmittedProgram:
    """A program as code.

    Attributes
    ----------
    module
        The code; ``run`` is its main function.
    layout
        What the runtime must know.
    kernels
        The functions of each kernel.
    memory
        Where arrays lie.
    """

    module: Module
    layout: Layout
    kernels: dict[Kernel, KernelCode]
    memory: MemoryPlan


def emit_program(program: Program, target: Target) -> EmittedProgram:
    """Return the code of a program.

    Parameters
    ----------
    program
        The program.
    target
        The CPU.
    """
    module = Module(target)
    polynomials = Polynomials(program.sizes)
    writer = KernelWriter(module, polynomials)
    kernels = {step: writer.write(step) for step in program.steps if isinstance(step, Kernel)}
    plans: dict[Kernel, KernelPlan] = {kernel: code.plan for kernel, code in kernels.items()}
    memory = plan_memory(program, polynomials, plans)
    main = _Main(program, module, polynomials, kernels, memory)
    main.write()
    return EmittedProgram(module, main.layout, kernels, memory)


class _Main:
    """Writes the main function."""

    def __init__(
        self,
        program: Program,
        module: Module,
        polynomials: Polynomials,
        kernels: dict[Kernel, KernelCode],
        memory: MemoryPlan,
    ) -> None:
        self.program = program
        self.module = module
        self.ring = polynomials
        self.kernels = kernels
        self.memory = memory
        self.layout = Layout(groups=len(memory.groups))
        self._make_records()
        self._constants: dict[Array, int] = {}
        self._failures: dict[Failure, int] = {}
        self._pointer_slots = self._room(len(memory.slots))
        self._atom_slots: dict[Atom, int] = {}
        self._elements: dict[int, list[Element]] = {}
        self._results = {array: number for number, array in enumerate(self.layout.new_arrays)}
        self.kept_atoms: set[Atom] = set()
        self._work = self._work_after()
        self.as_given = Polynomials(_AsGiven())

    # ---- layout ------------------------------------------------------------------------------

    def _room(self, count: int) -> int:
        first = self.layout.slots
        self.layout.slots += count
        return first

    def _make_records(self) -> None:
        values: list[ProgramValue] = [*self.program.arguments, *self.program.results]
        for step in self.program.steps:
            if isinstance(step, Callback):
                self.layout.callbacks.append(step)
                values += [*step.inputs, *step.outputs]
        values += [array for array in self.memory.first_writes if array.place == Place.RESULT]
        for value in values:
            if value in self.layout.records:
                continue
            ndim = value.ndim if isinstance(value, Array) else 0
            self.layout.records[value] = self._room(1 + ndim)
            is_new = isinstance(value, Array) and value.place == Place.RESULT
            if is_new and value.memory is value:
                self.layout.new_arrays.append(value)

    # ---- functions ---------------------------------------------------------------------------

    def write(self) -> None:
        """Write the main function, in parts if it is long."""
        for atom, step in self._needed_elements():
            self._elements.setdefault(step, []).append(atom)
        steps = list(enumerate(self.program.steps))
        parts = [
            steps[at : at + _STEPS_IN_A_PART]
            for at in range(0, max(1, len(steps)), _STEPS_IN_A_PART)
        ]
        names = [f"part{number}" for number in range(len(parts))]
        if len(parts) == 1:
            _Part(self, "run", "").write(parts[0], is_first=True, is_last=True)
            return
        for number, (name, part) in enumerate(zip(names, parts, strict=True)):
            is_last = number == len(parts) - 1
            _Part(self, name, "internal").write(part, is_first=number == 0, is_last=is_last)
        b = Builder(self.module.function("run", INT32, [PTR]))
        for name in names:
            failed, after = b.new_block("failed"), b.new_block("fine")
            status = b.call(name, INT32, [b.arguments[0]])
            b.branch(b.eq(status, 0), after, failed)
            b.begin(failed)
            b.ret(b.constant(INT32, 1))
            b.begin(after)
        b.ret(b.constant(INT32, 0))

    def _needed_elements(self) -> list[tuple[Element, int]]:
        """Return the elements of arrays that sizes depend on, and when they are known."""
        found: dict[Element, int] = {}
        seen: set[Size] = set()
        stack = [size for size in self._roots() if isinstance(size, Size)]
        while stack:
            size = stack.pop()
            if size in seen:
                continue
            seen.add(size)
            stack.append(self.program.sizes.canonical(size))
            if isinstance(size, Element):
                found[size] = self._written(size)
            elif isinstance(size, Arithmetic):
                stack.extend(size.arguments)
        return list(found.items())

    def _roots(self) -> list[Atom]:
        """Return the sizes that the main function computes."""
        roots = list(self.ring.atoms)
        for step in self.program.steps:
            if isinstance(step, Check):
                roots += [step.left, step.right]
            elif isinstance(step, Call):
                roots += sizes_of_call(step)
        for value in self.layout.records:
            if isinstance(value, Array):
                roots += value.sizes
        return roots

    def _work_after(self) -> dict[int, Polynomial]:
        """Return, by the step after which it is known, how much work there is."""
        ring = self.ring
        found: dict[int, Polynomial] = {}
        for step in self.program.steps:
            work = self._work_of(step)
            if work is not None:
                ready = self.memory.known_after(work)
                found[ready] = ring.add(found.get(ready, ring.zero), work)
        return found

    def _work_of(self, step: Step) -> Polynomial | None:
        ring = self.ring
        if isinstance(step, Kernel):
            plan = self.kernels[step].plan
            work = work_inside(plan, ring)
            if plan.parallel is not None:
                work = ring.mul(work, plan.parallel.extent)
            return ring.scale(work, max(1, int(plan.cost * _UNIT)))
        if isinstance(step, Call):
            options = step.options
            factors = [options[name] for name in "mnk" if name in options]
            factors += [entry[0] for entry in options.get("batch", ())]
            return ring.scale(ring.product(factors), max(1, int(_UNIT / _FLOPS)))
        return None

    def work_after(self, step: int) -> Polynomial | None:
        """Return how much work is known after a step, if it may be worth noting."""
        work = self._work.get(step)
        if work is None or (work.known is not None and work.known < NOTED_NANOSECONDS * _UNIT):
            return None
        return work

    def _written(self, element: Element) -> int:
        array = element.array.memory
        if array.place in {Place.ARGUMENT, Place.CONSTANT}:
            return -1
        return self.memory.last_writes.get(array, -1)

    def failure(self, failure: Failure) -> int:
        """Return the number of a failure."""
        number = self._failures.get(failure)
        if number is None:
            self.layout.failures.append(failure)
            number = self._failures[failure] = len(self.layout.failures)
        return number

    def failures(self, failures: Sequence[Failure]) -> int:
        """Return what comes before the number of the first of several failures."""
        first = len(self.layout.failures)
        self.layout.failures.extend(failures)
        return first

    def constant(self, array: Array) -> int:
        """Return the position of a constant in the table."""
        number = self._constants.get(array)
        if number is None:
            number = self._constants[array] = len(self.layout.constants)
            self.layout.constants.append(array)
        return number

    def atom_slot(self, atom: Atom) -> int:
        """Return where a size is kept."""
        slot = self._atom_slots.get(atom)
        if slot is None:
            slot = self._atom_slots[atom] = self._room(1)
        return slot

    def elements_after(self, step: int) -> list[Element]:
        """Return the elements that are known after a step."""
        return self._elements.get(step, [])

    def pointer_slot(self, array: Array) -> int:
        """Return where the address of an array is kept."""
        memory = array.memory
        if memory in self.memory.places:
            return self._pointer_slots + self.memory.places[memory]
        if memory in self.layout.records:
            return self.layout.records[memory]
        msg = f"{array!r} has no memory."
        raise IntegrityError(msg)

    def new_array(self, array: Array) -> int:
        """Return the number of a result that the runtime allocates."""
        return self._results[array]

    def results_of(self, step: int) -> list[Array]:
        """Return the results that a step writes first."""
        return [a for a in self.layout.new_arrays if self.memory.first_writes.get(a) == step]

    def slots_of_group(self, group: int) -> list[int]:
        """Return the slots of the arena that are in a block."""
        return [
            number for number, slot in enumerate(self.memory.slots) if slot.group == group
        ]

    def pointer_slot_of(self, slot: int) -> int:
        """Return where the address of a slot of the arena is kept."""
        return self._pointer_slots + slot


def work_inside(plan: KernelPlan, ring: Polynomials) -> Polynomial:
    """Return the innermost iterations of all nests in one iteration of the parallel level."""
    total = ring.zero
    for nest in plan.nests:
        inside = ring.one
        for level in (*plan.outer, *nest.kept, *nest.reduced):
            if level is not plan.parallel:
                inside = ring.mul(inside, level.extent)
        total = ring.add(total, inside)
    return total


class _AsGiven(Sizes):
    """Sizes of which none are known to be equal: checks compare them as they were."""

    def canonical(self, size: Size) -> Size:
        """Return the size itself."""
        return size


class _Part:
    """Writes one function of the main function."""

    def __init__(self, main: _Main, name: str, linkage: str) -> None:
        self.main = main
        self.b = Builder(main.module.function(name, INT32, [PTR], linkage=linkage))
        (self.frame,) = self.b.arguments
        self.fail = self.b.new_block("fail")
        self._known: dict[Atom, Value] = {}
        self._polynomials: dict[Polynomial, Value] = {}
        self._pointers: dict[int, Value] = {}
        self._constants: Value | None = None

    def write(self, steps: Sequence[tuple[int, Step]], *, is_first: bool, is_last: bool) -> None:
        """Write some steps."""
        b = self.b
        if is_first:
            self._after(-1)
        for number, step in steps:
            self._step(number, step)
            self._after(number)
        if is_last:
            self._finish()
        b.ret(b.constant(INT32, 0))
        b.begin(self.fail)
        b.ret(b.constant(INT32, 1))

    def _step(self, number: int, step: Step) -> None:
        ring = self.main.ring
        if isinstance(step, Kernel | Call):
            self._allocate_results(number)
        if isinstance(step, Check):
            self._check(step)
        elif isinstance(step, Kernel):
            self._kernel(self.main.kernels[step])
        elif isinstance(step, Call):
            blas_call(self.b, step, self.pointer, lambda size: self.polynomial(ring.of(size)))
        elif isinstance(step, Callback):
            self._callback(step)
        else:
            msg = f"There is no code for a step {type(step).__name__} yet."
            raise IntegrityError(msg)

    def _finish(self) -> None:
        """Fill the records of results that are not memory of their own."""
        for value in self.main.program.results:
            if isinstance(value, Array) and value not in self.main.program.arguments:
                record = self.main.layout.records[value]
                if value.memory is value and value.place in {Place.RESULT, Place.CALLBACK}:
                    continue
                self._record_sizes(value)
                self.b.store(self.pointer(value), self.slot(record), align=8)

    def _after(self, step: int) -> None:
        """Read sizes that are known now, and take memory whose size is known now."""
        for element in self.main.elements_after(step):
            self._keep(element, self._read_element(element))
        for group, after in enumerate(self.main.memory.groups):
            if after == step:
                self._take_group(group)
        work = self.main.work_after(step)
        if work is not None:
            self._note_work(work)

    def _note_work(self, work: Polynomial) -> None:
        nanoseconds = self.polynomial(work) >> (_UNIT.bit_length() - 1)
        with when(self.b, self.b.le(NOTED_NANOSECONDS, nanoseconds)):
            self.b.call("phintys_work", VOID, [self._state(), nanoseconds])

    # ---- frame -------------------------------------------------------------------------------

    def slot(self, number: int) -> Value:
        """Return the address of a slot of the frame."""
        return self.b.offset(self.frame, number, INT64)

    def _state(self) -> Value:
        return self.b.load(PTR, self.slot(STATE))

    @contextmanager
    def _failing(self, condition: Value) -> Generator[None]:
        """Write what happens before the call fails on a condition."""
        b = self.b
        failed, after = b.new_block("failed"), b.new_block("fine")
        b.branch(condition, failed, after)
        b.begin(failed)
        yield
        b.jump(self.fail)
        b.begin(after)

    def _set_status(self, *numbers: Value | int) -> None:
        for at, number in enumerate(numbers):
            self.b.store(self.b.value(INT64, number), self.slot(STATUS + at))

    def _is_null(self, pointer: Value) -> Value:
        return self.b.write(BOOL, f"icmp eq ptr {pointer.text}, null")

    # ---- sizes -------------------------------------------------------------------------------

    def polynomial(self, polynomial: Polynomial, ring: Polynomials | None = None) -> Value:
        """Return the value of a polynomial (of the program's, if no others are named)."""
        b = self.b
        ring = self.main.ring if ring is None else ring
        if polynomial.known is not None:
            return b.constant(INT64, polynomial.known)
        found = self._polynomials.get(polynomial)
        if found is not None:
            return found
        total: Value | None = None
        for atoms, factor in polynomial.terms:
            term: Value | None = None
            for atom in atoms:
                value = self.atom(ring.atoms[atom], ring.sizes)
                term = value if term is None else term * value
            if term is None:
                term = b.constant(INT64, factor)
            elif factor != 1:
                term = term * factor
            total = term if total is None else total + term
        assert total is not None
        self._polynomials[polynomial] = total
        return total

    def atom(self, atom: Atom, sizes: Sizes) -> Value:
        """Return the value of an atom of sizes."""
        stack: list[Atom] = [atom]
        while stack:
            current = stack[-1]
            if current in self._known:
                stack.pop()
                continue
            if isinstance(current, Arithmetic) and current not in self.main.kept_atoms:
                operands = [self._operand(sizes.canonical(size)) for size in current.arguments]
                missing = [one for one in operands if not isinstance(one, Value)]
                if missing:
                    stack.extend(missing)
                    continue
                value = self._arithmetic(current.operation, *operands)
                self._keep(current, value)
            else:
                self._known[current] = self._outside(current)
            stack.pop()
        return self._known[atom]

    def _operand(self, size: Size) -> Value | Size:
        """Return the value of a size, or the size if it must be computed first."""
        if size.known is not None:
            return self.b.constant(INT64, size.known)
        return self._known.get(size, size)

    def _outside(self, atom: Atom) -> Value:
        """Return a size that stands in the frame."""
        b = self.b
        if isinstance(atom, Extent):
            record = self.main.layout.records[atom.array]
            return b.load(INT64, self.slot(record + 1 + atom.axis))
        return b.load(INT64, self.slot(self.main.atom_slot(atom)))

    def _read_element(self, element: Element) -> Value:
        base = self.pointer(element.array)
        return self.b.load(INT64, self.b.offset(base, element.index, INT64))

    def _keep(self, atom: Atom, value: Value) -> None:
        """Note a size that was computed; parts of the function that come later find it."""
        self._known[atom] = value
        self.main.kept_atoms.add(atom)
        self.b.store(value, self.slot(self.main.atom_slot(atom)))

    def _arithmetic(self, operation: str, left: Value, right: Value) -> Value:
        b = self.b
        if operation in {"add", "sub", "mul"}:
            return b.binary(operation, left, right)
        if operation == "max":
            return b.maximum_number(left, right)
        if operation == "min":
            return b.minimum_number(left, right)
        if operation == "lt":
            return b.write(INT64, f"zext i1 {(left < right).text} to i64")
        if operation not in {"floordiv", "mod"}:
            msg = f"There is no operation {operation!r} on sizes."
            raise IntegrityError(msg)
        # Nothing relies on a quotient by 0, but the machine stops at one.
        divisor = b.select(b.eq(right, 0), 1, right)
        quotient = b.binary("sdiv", left, divisor)
        rest = left - quotient * divisor
        below = b.ne(rest, 0) & ((rest ^ divisor) < 0)
        if operation == "mod":
            return b.select(below, rest + divisor, rest)
        return b.select(below, quotient - 1, quotient)

    # ---- memory ------------------------------------------------------------------------------

    def pointer(self, array: Array) -> Value:
        """Return the address of an array."""
        b = self.b
        memory = array.memory
        if memory.place == Place.CONSTANT:
            if self._constants is None:
                self._constants = b.load(PTR, self.slot(CONSTANTS))
            return b.load(PTR, b.offset(self._constants, self.main.constant(memory), INT64))
        slot = self.main.pointer_slot(memory)
        found = self._pointers.get(slot)
        if found is None:
            found = self._pointers[slot] = b.load(PTR, self.slot(slot))
        return found

    def _set_pointer(self, slot: int, value: Value) -> None:
        self._pointers[slot] = value
        self.b.store(value, self.slot(slot), align=8)

    def _aligned(self, bytes_: Value) -> Value:
        number = bytes_.text
        if number.isdigit():
            return self.b.constant(INT64, (int(number) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT)
        return (bytes_ + (ALIGNMENT - 1)) & -ALIGNMENT

    def _take_group(self, group: int) -> None:
        """Ask for a block of the arena, and note where its slots are."""
        b, main = self.b, self.main
        offset = b.constant(INT64, 0)
        offsets: list[tuple[int, Value]] = []
        for number in main.slots_of_group(group):
            offsets.append((number, offset))
            offset = offset + self._aligned(self.polynomial(main.memory.slots[number].bytes))
        arguments = [self._state(), b.constant(INT64, group), offset]
        base = b.call("phintys_arena", PTR, arguments)
        with self._failing(self._is_null(base)):
            self._set_status(OUT_OF_MEMORY)
        for number, at in offsets:
            address = b.write(PTR, f"getelementptr i8, {base.typed}, {at.typed}")
            self._set_pointer(main.pointer_slot_of(number), address)

    def _allocate_results(self, step: int) -> None:
        """Ask for the results that a step writes first."""
        for array in self.main.results_of(step):
            self._record_sizes(array)
            record = self.main.layout.records[array]
            number = self.b.constant(INT64, self.main.new_array(array))
            arguments = [self._state(), number, self.slot(record + 1)]
            data = self.b.call("phintys_new_array", PTR, arguments)
            with self._failing(self._is_null(data)):
                self._set_status(EXCEPTION)
            self._set_pointer(record, data)

    def _record_sizes(self, array: Array) -> None:
        record = self.main.layout.records[array]
        for axis, size in enumerate(array.sizes):
            value = self.polynomial(self.main.ring.of(size))
            self.b.store(value, self.slot(record + 1 + axis))

    # ---- steps -------------------------------------------------------------------------------

    def _check(self, step: Check) -> None:
        left = self._size(step.left)
        right = self._size(step.right)
        with self._failing(self.b.ne(left, right)):
            self._set_status(self.main.failure(step.failure), left, right)

    def _size(self, size: Size) -> Value:
        """Return a size as it was before checks made it equal to another."""
        return self.polynomial(self.main.as_given.of(size), self.main.as_given)

    def _callback(self, step: Callback) -> None:
        b = self.b
        for value in step.inputs:
            record = self.main.layout.records[value]
            if isinstance(value, Array) and value not in self.main.program.arguments:
                self._record_sizes(value)
                b.store(self.pointer(value), self.slot(record), align=8)
        number = self.main.layout.callbacks.index(step)
        status = b.call("phintys_callback", INT32, [self._state(), b.constant(INT64, number)])
        with self._failing(b.ne(status, 0)):
            self._set_status(EXCEPTION)
        for value in step.outputs:
            self._pointers.pop(self.main.layout.records[value], None)

    # ---- kernels -----------------------------------------------------------------------------

    def _kernel(self, code: KernelCode) -> None:
        b, plan = self.b, code.plan
        values = self._arguments(code)
        block = b.slot(INT64, max(1, len(values)))
        for at, value in enumerate(values):
            b.store(value, b.offset(block, at, INT64), align=8)
        if plan.is_chunked:
            self._chunked(code, block)
        else:
            level = plan.parallel
            n = b.constant(INT64, 1) if level is None else self.polynomial(level.extent)
            self._dispatch(code.symbol, plan, block, n, work_inside(plan, self.main.ring))
        if code.failures or plan.rooms:
            status = b.load(INT64, self.slot(STATUS))
            with self._failing(b.ne(status, 0)):
                pass

    def _dispatch(
        self, symbol: str, plan: KernelPlan, block: Value, n: Value, inside: Polynomial
    ) -> None:
        """Call a kernel: directly, or by several threads if there is enough to do."""
        b = self.b
        nanoseconds = max(plan.cost, 0.05)
        least = int(PARALLEL_NANOSECONDS / nanoseconds)
        number = int(n.text) if n.text.isdigit() else None
        is_small = number is not None and inside.known is not None and number * inside.known < least
        if plan.parallel is None or plan.is_serial or is_small or number == 1:
            if not is_small and inside.known is None:
                amount = n * self.polynomial(inside) * max(1, round(nanoseconds))
                b.call("phintys_work", VOID, [self._state(), amount])
            b.call(symbol, VOID, [block, b.constant(INT64, 0), n])
            return
        work = self.polynomial(inside)
        direct, parallel, after = b.new_block("direct"), b.new_block("parallel"), b.new_block()
        b.branch(n * work < least, direct, parallel)
        b.begin(direct)
        b.call(symbol, VOID, [block, b.constant(INT64, 0), n])
        b.jump(after)
        b.begin(parallel)
        elements = b.constant(INT64, int(GRAIN_NANOSECONDS / nanoseconds))
        grain = b.binary("sdiv", elements, b.maximum_number(work, 1))
        grain = b.maximum_number(grain, 1)
        function = Value(b, PTR, f"@{symbol}")
        b.call("phintys_parallel_for", VOID, [self._state(), function, block, n, grain])
        b.jump(after)
        b.begin(after)

    def _chunked(self, code: KernelCode, block: Value) -> None:
        b, plan = self.b, code.plan
        assert code.combiner is not None
        level = plan.nests[0].reduced[0]
        extent = self.polynomial(level.extent)
        chunk = self._chunk(plan)
        parts = b.binary("sdiv", extent + (chunk - 1), chunk)
        inside = self.main.ring.one
        for other in plan.nests[0].reduced[1:]:
            inside = self.main.ring.mul(inside, other.extent)
        self._dispatch_parts(code, block, parts)
        b.call(code.combiner, VOID, [block, b.constant(INT64, 0), parts])

    def _dispatch_parts(self, code: KernelCode, block: Value, parts: Value) -> None:
        b = self.b
        direct, parallel, after = b.new_block("direct"), b.new_block("parallel"), b.new_block()
        b.branch(parts < 2, direct, parallel)
        b.begin(direct)
        b.call(code.symbol, VOID, [block, b.constant(INT64, 0), parts])
        b.jump(after)
        b.begin(parallel)
        function = Value(b, PTR, f"@{code.symbol}")
        arguments = [self._state(), function, block, parts, b.constant(INT64, 1)]
        b.call("phintys_parallel_for", VOID, arguments)
        b.jump(after)
        b.begin(after)

    def _chunk(self, plan: KernelPlan) -> Value:
        """Return the iterations of the outermost loop in one part: by the lengths alone."""
        b = self.b
        first, *others = plan.nests[0].reduced
        extent = self.polynomial(first.extent)
        if not others:
            step = SMALLEST_CHUNK
            share = b.binary("sdiv", extent + (CHUNKS * step - 1), b.constant(INT64, CHUNKS * step))
            return b.maximum_number(share, 1) * step
        inside = self.main.ring.one
        for level in others:
            inside = self.main.ring.mul(inside, level.extent)
        inner = b.maximum_number(self.polynomial(inside), 1)
        least = b.binary("sdiv", b.constant(INT64, SMALLEST_CHUNK), inner) + 1
        share = b.binary("sdiv", extent + (CHUNKS - 1), b.constant(INT64, CHUNKS))
        return b.maximum_number(share, least)

    def _arguments(self, code: KernelCode) -> list[Value]:
        """Return the values of a kernel's arguments."""
        b = self.b
        scratch = self._scratch(code.plan)
        return [self._argument(code, slot, scratch) for slot in code.slots] or [
            b.constant(INT64, 0)
        ]

    def _argument(self, code: KernelCode, slot: Slot, scratch: dict[object, Value]) -> Value:
        b = self.b
        if isinstance(slot, Pointer):
            base = self.pointer(slot.array)
            if not slot.offset.terms:
                return base
            return b.offset(base, self.polynomial(slot.offset), type_of(slot.array.dtype))
        if isinstance(slot, Number):
            return self.polynomial(slot.value)
        if isinstance(slot, Status):
            return self.slot(STATUS)
        if isinstance(slot, FailureBase):
            return b.constant(INT64, self.main.failures(code.failures))
        if isinstance(slot, ScratchBytes):
            return scratch[None]
        if isinstance(slot, ScratchOffset):
            return scratch[slot.room]
        if isinstance(slot, Chunk):
            return self._chunk(code.plan)
        assert isinstance(slot, Partials)
        return self._partials_room(code.partials * CHUNKS)

    def _scratch(self, plan: KernelPlan) -> dict[object, Value]:
        """Return where the rooms in a kernel's own memory begin, and (``None``) where it ends."""
        offset = self.b.constant(INT64, 0)
        found: dict[object, Value] = {}
        for room, bytes_ in plan.rooms.items():
            found[room] = offset
            offset = offset + self._aligned(self.polynomial(bytes_))
        found[None] = offset
        return found

    def _partials_room(self, cells: int) -> Value:
        return self.b.slot(INT64, cells)
