"""Code for the steps of a program in its main function."""

from __future__ import annotations

from contextlib import contextmanager
from functools import singledispatch
from typing import TYPE_CHECKING

from phintys._base.errors import IntegrityError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import when
from phintys.backends.native.assembler.module import Block, ModuleFunction, Phi, signature
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Complex, Value, components, joined
from phintys.backends.native.dependence import arrays_written, touches
from phintys.backends.native.kernels.inlining import carried_numbers, numbers_in_registers
from phintys.backends.native.limits import NOTED_NANOSECONDS, POLLED_WORK, WORK_SHIFT
from phintys.backends.native.program import Step
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.values import Array, LoopVariable, Place
from phintys.backends.native.writer.address_code import AddressCode
from phintys.backends.native.writer.function_code import FunctionCode, OpenLoop
from phintys.backends.native.writer.inline_kernels import InlineKernel
from phintys.backends.native.writer.kernel_call_code import KernelCallCode
from phintys.backends.native.writer.register_code import RegisterCode, Registers
from phintys.backends.native.writer.size_code import SizeCode

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.sizes import Element
    from phintys.backends.native.writer.main_function import MainFunction


class Passes:
    """The passes of a loop whose body is being written.

    Attributes
    ----------
    counter
        The number of the pass.
    until
        Whether this pass is the last one, if there is such a condition; set in the body.
    """

    def __init__(self, counter: Phi) -> None:
        self.counter = counter
        self.until: Value | None = None


def _phis(b: Builder, value: Value | Complex) -> list[Phi]:
    return [b.phi(part.type) for part in components(value)]


def _joined(phis: Sequence[Phi]) -> Value | Complex:
    return joined([phi.value for phi in phis])


def _add(phis: Sequence[Phi], value: Value | Complex, block: Block) -> None:
    for phi, part in zip(phis, components(value), strict=True):
        phi.add(part, block)


class StepWriter:
    """Emits the steps of a program into one function of its main function.

    Parameters
    ----------
    main
        The main function as a whole.
    function
        This one: ``i32 function(ptr frame)``, maybe with further parameters.

    Attributes
    ----------
    b
        The builder of the function.
    code, sizes, addresses, registers, calls
        What writes its frame and its failures, the values of sizes, the addresses of arrays, the
        numbers in registers, and the calls of kernels.
    """

    def __init__(self, main: MainFunction, function: ModuleFunction) -> None:
        self.main = main
        self.code = FunctionCode(main, function)
        self.b = self.code.b
        self.sizes = SizeCode(self.code)
        self.addresses = AddressCode(self.code, self.sizes)
        self.registers = RegisterCode(self.code, self.sizes, self.addresses)
        self.calls = KernelCallCode(self.code, self.sizes, self.addresses)
        # What routines ask for, which see nothing else of the writer.
        self.size = self.sizes.size
        self.nanoseconds = self.sizes.nanoseconds
        self.where_fixed = self.sizes.where_fixed
        self.pointer = self.addresses.pointer
        self.poll = self.calls.poll
        self.in_order = self.calls.in_order
        self.parallel_for = self.calls.parallel_for

    @property
    def is_repeated(self) -> bool:
        """Whether a loop of steps repeats the code."""
        return bool(self.code.open_loops)

    def step(self, number: int, step: Step) -> None:
        """Emit a step at the top level, whose number is given."""
        self.addresses.take_results(number)
        write_step(step, self)

    def after(self, number: int) -> None:
        """Read sizes that are known after a step, and allocate memory whose size is now known."""
        for element in self.main.elements_after(number):
            self.keep_element(element)
        for group in self.main.groups_after(number):
            self.addresses.take_group(group)
        work = self.main.work_after(number)
        if work is not None:
            self._note_work(work)

    def finish(self) -> None:
        """Fill the records of results that have no memory of their own."""
        for value in self.main.program.results:
            if not isinstance(value, Array) or self.main.is_argument(value):
                continue
            if value.memory is not value or value.place not in {Place.RESULT, Place.CALLBACK}:
                self.addresses.fill_record(value)

    def keep_element(self, element: Element) -> None:
        """Read a size from an array that has just been written."""
        self.sizes.keep(element, self.registers.element(element))

    @contextmanager
    def aside(self) -> Generator[None]:
        """Emit code that may not run: what is computed in it is not known afterwards."""
        with self.sizes.aside(), self.addresses.aside():
            yield

    def _note_work(self, work: Polynomial) -> None:
        nanoseconds = self.nanoseconds(work)
        with when(self.b, self.b.le(NOTED_NANOSECONDS, nanoseconds)):
            self.b.call("phintys_work", VOID, [self.code.state(), nanoseconds])

    @property
    def costs(self) -> Costs:
        """What steps ask when they estimate their time."""
        return self.main.costs

    # ---- for kinds of steps ----------------------------------------------------------------

    def inside(self, steps: Sequence[Step]) -> None:
        """Emit steps of a branch or loop; sizes that they compute are known right after each."""
        for step in steps:
            write_limits(step, self)
            if self.code.open_loops and not step.bodies() and not self.is_inline(step):
                self.registers.save(array.memory for array in step.reads())
            write_step(step, self)
            elements = self.main.elements_of(step)
            self.sizes.forget({element.array.memory for element in elements})
            for element in elements:
                self.keep_element(element)

    # ---- loops -----------------------------------------------------------------------------

    def apart(self, function: ModuleFunction) -> StepWriter:
        """Return a writer of steps into another function of the main function."""
        return StepWriter(self.main, function)

    def is_inline(self, step: Step) -> bool:
        """Return whether a step is a kernel that is written in place."""
        if not isinstance(step, Kernel):
            return False
        is_short = self.registers.short is not None and step in self.registers.short.plans
        return is_short or not self.main.kernels[step].symbol

    def kernel(self, kernel: Kernel) -> None:
        """Write a kernel: in place if it has no function, otherwise a call."""
        code, short = self.main.kernels[kernel], self.registers.short
        if short is not None and kernel in short.plans:
            InlineKernel(self.registers, short.plans[kernel], self.registers.mask).write()
        elif code.symbol:
            self.calls.call(kernel)
        else:
            InlineKernel(self.registers, code.plan).write()

    def takes_long(self, work: Polynomial, nanoseconds: int) -> Value:
        """Return whether some work takes longer than a given time, by a rough estimate."""
        value = self.sizes.estimate(work)
        with self.code.before(
            self.code.home(self.code.atoms_of(work)) if self.code.open_loops else None
        ):
            return self.b.lt(nanoseconds, value >> WORK_SHIFT)

    @contextmanager
    def passes(
        self, loop: Step, counter: LoopVariable, begin: Value | int, end: Value
    ) -> Generator[Passes]:
        """Write the body of a loop for ``range(begin, end)``, and continue after it.

        Numbers that only code in the body computes stay in registers.
        """
        b = self.b
        begin = b.value(INT64, begin)
        is_outermost = not self.code.open_loops
        if is_outermost:
            self.registers.numbers = self._numbers_in(loop)
        carried = self._carried(loop)
        before = {memory: self.registers.number(memory) for memory in carried}
        rows = [] if self.registers.short is None else self.registers.short.latest.get(loop, [])
        places = [self.addresses.address(row.array, row.first) for row in rows]
        outer = b.block
        entry, body, after = b.new_block("entry"), b.new_block("body"), b.new_block("after")
        b.branch(begin < end, entry, after)
        b.begin(entry)
        b.begin(body)
        passes = Passes(b.phi(INT64))
        phis = {memory: _phis(b, value) for memory, value in before.items()}
        with b.inside(entry):
            given = [
                self.registers.row(row, place) for row, place in zip(rows, places, strict=True)
            ]
        read = [_phis(b, value) for value in given]
        outside = dict(self.registers.values), dict(self.registers.unsaved)
        self.code.open_loops.append(OpenLoop(entry, counter, set(arrays_written(loop))))
        with self.aside():
            self.registers.values |= {memory: _joined(some) for memory, some in phis.items()}
            self.registers.unsaved |= dict.fromkeys(phis)
            for row, some in zip(rows, read, strict=True):
                self.registers.latest[row.array, row.read] = _joined(some)
            yield passes
            last = {memory: self.registers.values[memory] for memory in carried}
        self.code.open_loops.pop()
        last_block = b.block
        following = passes.counter.value + 1
        again = following < end
        if passes.until is not None:
            again = again & ~passes.until
        b.branch(again, body, after)
        with b.inside(entry):
            b.jump(body)
        passes.counter.add(begin, entry)
        passes.counter.add(following, last_block)
        for memory, some in phis.items():
            _add(some, before[memory], entry)
            _add(some, last[memory], last_block)
        for row, some, value in zip(rows, read, given, strict=True):
            del self.registers.latest[row.array, row.read]
            _add(some, value, entry)
            _add(some, self.registers.rows[row.array, row.written], last_block)
        b.begin(after)
        self.registers.values, self.registers.unsaved = outside
        for memory in carried:
            results = _phis(b, before[memory])
            _add(results, before[memory], outer)
            _add(results, last[memory], last_block)
            self.registers.values[memory] = _joined(results)
        self.registers.unsaved |= dict.fromkeys(carried)
        if is_outermost:
            self.registers.save(carried)
            self.registers.values, self.registers.unsaved, self.registers.numbers = {}, {}, set()

    def _numbers_in(self, loop: Step) -> set[Array]:
        """Return the numbers that stay in registers while an outermost loop runs."""
        if self.registers.short is not None:
            inline = self.main.plan.inline | self.registers.short.plans.keys()
            return numbers_in_registers(loop, inline) | self.registers.short.arrays
        found = numbers_in_registers(loop, self.main.plan.inline)
        for other, shared in self.main.shared_loops.items():
            if other is not loop:  # its passes are a function of their own
                found.difference_update(shared.private, shared.sums)
        return found

    def _carried(self, loop: Step) -> list[Array]:
        """Return the numbers in registers that a pass needs from the last, or that are read later.

        The others are computed and read in the same pass.
        """
        inside = touches([loop])
        carried = carried_numbers(loop, self.registers.numbers)
        written = dict.fromkeys(a for a in arrays_written(loop) if a in self.registers.numbers)
        return [
            memory
            for memory in written
            if memory in carried
            or memory.place == Place.RESULT
            or inside[memory] != self.main.plan.touches[memory]
            or memory in self.main.read_as_sizes
        ]

    def either(
        self, condition: Value, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        """Write two cases; sizes computed in one of them are not known afterwards."""
        b = self.b
        starts, after = (b.new_block("then"), b.new_block("else")), b.new_block("after")
        b.branch(condition, *starts)
        ends: list[tuple[Block, Registers]] = []
        before = dict(self.registers.values), dict(self.registers.unsaved)
        unsaved: dict[Array, None] = {}
        for block, case in zip(starts, (then, otherwise), strict=True):
            b.begin(block)
            self.registers.values, self.registers.unsaved = dict(before[0]), dict(before[1])
            with self.aside():
                case()
            ends.append((b.block, self.registers.values))
            unsaved |= self.registers.unsaved
            b.jump(after)
        b.begin(after)
        self._merge(ends)
        self.registers.unsaved = {
            memory: None for memory in unsaved if memory in self.registers.values
        }

    def _merge(self, sides: Sequence[tuple[Block, Registers]]) -> None:
        """Continue after a branch, given how both sides end and what is in registers there."""
        (one_end, one), (other_end, other) = sides
        merged: Registers = {}
        for memory, value in one.items():
            if memory not in other:
                continue  # it is computed, and read, only inside
            if value is other[memory]:
                merged[memory] = value
                continue
            some = _phis(self.b, value)
            _add(some, value, one_end)
            _add(some, other[memory], other_end)
            merged[memory] = _joined(some)
        self.registers.values = merged

    def share(self, symbol: str, arguments: Sequence[Value]) -> None:
        """Emit the call of a function that shares its work, and can be interrupted."""
        b, poll = self.b, "phintys_poll"
        b.module.declare(poll, signature(poll, INT32, [PTR]))
        functions = [self.calls.parallel, Value(b, PTR, f"@{poll}")]
        self.code.fail_if_interrupted(
            b.call(symbol, INT32, [self.code.state(), *functions, *arguments])
        )

    def poll_after(self, step: Step) -> None:
        """Check for signals after a step that takes long, and does not do so itself."""
        work = step.work(self.costs)
        if work is None or (work.known is not None and work.known < POLLED_WORK << WORK_SHIFT):
            return
        with when(self.b, self.b.le(POLLED_WORK, self.nanoseconds(work))):
            self.poll()


@singledispatch
def write_step(step: Step, writer: StepWriter) -> None:
    """Write the code of a step, by the rule of its kind."""
    kind = type(step).__name__
    msg = f"Steps of the kind {kind} have no code: add a rule by @write_step.register({kind})."
    raise IntegrityError(msg)


@singledispatch
def write_limits(step: Step, writer: StepWriter) -> None:
    """Write the checks that must precede a step, and anything that overwrites shared values."""
