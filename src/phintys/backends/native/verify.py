"""The verifier of programs, which checks the invariants that code generation relies on.

Passes of the native backend produce programs that it accepts. Tests run it on each program, users
can enable it with ``config.verify_graphs``.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from phintys._base.errors import IntegrityError
from phintys.backends.native.assembler.scalar_ops import can_emit
from phintys.backends.native.dependence import (
    Occurrences,
    arrays_written,
    has_order,
    may_overwrite,
    meeting,
    reads_of,
    varies,
)
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    IndexCheck,
    Literal,
    Load,
    Operation,
    Position,
    Statement,
    parts_of,
)
from phintys.backends.native.kernels.accumulators import can_reduce
from phintys.backends.native.program import Program, Step
from phintys.backends.native.sizes import Arithmetic, Counter, Element, Extent, Size
from phintys.backends.native.steps.branch import Branch
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.check import Check
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.steps.kernel import Kernel, Nest
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.values import Array, Handle, LoopVariable, Place, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_GIVEN = {Place.ARGUMENT, Place.CONSTANT}
_POSITIONS = {"argmax", "argmin"}
_KEEP_SIGN = {"add", "mul", "max", "min"}
_INT64 = np.dtype("int64")


def verify_program(program: Program) -> None:
    """Check that a program is valid.

    Parameters
    ----------
    program
        The program.

    Raises
    ------
    IntegrityError
        If it is not; the message names the step and what is wrong with it.
    """
    verifier = Verifier(program)
    verifier.steps(program.steps)
    verifier.commit(program.steps[program.commit_start :])
    for value in program.results:
        verifier.expect_written(value, "is returned")
        if isinstance(value, Array) and value.memory.place == Place.BUFFER:
            verifier.wrong(f"{value!r} is returned, but its memory is used again")


class Verifier:
    """Checks a program step by step, by the rules of :func:`verify_step`."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.written: set[Array | Handle] = set(program.arguments)
        self.outer: list[LoopVariable] = []
        self.local: set[Array] = set()
        self.least: dict[Size, int] = {}  # size -> least number, if its sum with it was checked
        self.seen: set[Value] = set()
        self.kept: set[Value] = set()
        self.where = "the program"

    def wrong(self, what: str) -> None:
        """Raise an error."""
        msg = f"A program of the native backend is invalid: in {self.where}, {what}."
        raise IntegrityError(msg)

    def expect(self, condition: bool, what: str) -> None:
        """Raise an error unless a condition holds."""
        if not condition:
            self.wrong(what)

    def expect_written(self, value: Value, how: str) -> None:
        """Raise an error unless the memory of a value has been written."""
        if value.place in _GIVEN or value in self.written:
            return
        memory = value.memory if isinstance(value, Array) else value
        if isinstance(memory, Array) and any(size.known == 0 for size in memory.sizes):
            return
        self.expect(memory in self.written or memory.place in _GIVEN, f"{value!r} {how} unwritten")
        self.expect(value not in self.local, f"{value!r} {how} outside of its kernel")

    # ---- sizes -------------------------------------------------------------------------------

    def size(self, size: Size) -> None:
        """Check that a size is known at this point."""
        for current in size.leaves:
            if isinstance(current, Counter):
                is_inside = current.loop in self.outer
                self.expect(is_inside, f"{current} is counted outside its loop")
            elif isinstance(current, Extent):
                self.expect_written(current.array, "has a length that is used")
                is_outside = current.array.place in {Place.ARGUMENT, Place.CALLBACK}
                self.expect(is_outside, f"{current} is not a length of an external value")
            elif isinstance(current, Element):
                self.expect_written(current.array, "is read for a size")
                is_int64 = current.array.dtype == _INT64
                self.expect(is_int64, f"{current} is a size of dtype {current.array.dtype}")

    # ---- steps -------------------------------------------------------------------------------

    def steps(self, steps: Sequence[Step]) -> None:
        """Check steps in order."""
        for step in steps:
            self.where = step.title
            self.room(step)
            for array in arrays_written(step):
                self.expect(array not in self.kept, f"{array!r} is written, which an Op keeps")
            verify_step(step, self)

    def room(self, step: Step) -> None:
        """Check that memory that a step writes has no length that may be negative."""
        for array in arrays_written(step):
            if array.place in {Place.BUFFER, Place.RESULT}:
                for size in array.sizes:
                    is_checked = self.is_length(size)
                    self.expect(
                        is_checked, f"{array!r} has a length, {size!r}, that is not checked"
                    )

    def is_length(self, size: Size) -> bool:
        """Return whether a size is never negative, or has been checked not to be."""
        size = self.program.sizes.canonical(size)
        rest, number = self.apart(size)
        if size.is_length or self.least.get(rest, number + 1) <= number:
            return True
        if not isinstance(size, Arithmetic):
            return False
        if size.operation == "floordiv":
            dividend, divisor = size.arguments
            return (divisor.known or 0) > 0 and self.is_length(dividend)
        return size.operation in _KEEP_SIGN and all(map(self.is_length, size.arguments))

    def checked(self, left: Size, right: Size) -> None:
        """Note what is known after a check: ``-1 < size``, or ``max(size, 0) == size``."""
        if not isinstance(left, Arithmetic):
            return
        first, second = map(self.program.sizes.canonical, left.arguments)
        if left.operation == "lt" and first.known == -1 and right.known == 1:
            self.note_length(second)
        elif left.operation == "max" and second.known == 0:
            self.note_length(first)

    def note_length(self, size: Size) -> None:
        """Note that a size is not negative, nor is a greater one: ``n - 2`` after ``n - 3``."""
        rest, number = self.apart(size)
        self.least[rest] = min(number, self.least.get(rest, number))

    def apart(self, size: Size) -> tuple[Size, int]:
        """Return a size without the number that is added to it, and the number."""
        if isinstance(size, Arithmetic) and size.operation == "add":
            first, second = map(self.program.sizes.canonical, size.arguments)
            if second.known is not None:
                return first, second.known
        return size, 0

    def commit(self, steps: Sequence[Step]) -> None:
        """Check the commit, in which shared values are overwritten: nothing in it can fail."""
        claims = [step for step in steps if isinstance(step, Claim)]
        for number, step in enumerate(steps):
            self.where = f"the commit, {step.title}"
            self.expect(not step.may_fail, "the call may fail")
            if number < len(claims):
                self.expect(isinstance(step, Claim), "something is written before all is claimed")
                continue
            for array in step.writes():
                is_own = array.memory.place in {Place.RESULT, Place.BUFFER}
                self.expect(is_own, f"{array!r} is written")
            for claim in claims:
                is_there = claim.may_overwrite([step], self.program.sizes)
                self.expect(is_there, f"{claim.source!r} is read after it was overwritten")

    def may_overwrite(
        self, nests: Sequence[Sequence[Statement]], writer: Statement, memory: Array
    ) -> bool:
        """Return whether a statement may overwrite memory that its kernel reads."""
        sizes = self.program.sizes
        kernel = Occurrences(nests)
        return may_overwrite(kernel, writer, memory, lambda load: meeting(load, writer, sizes))

    def truth(self, condition: Array) -> None:
        """Check the condition of a branch or loop."""
        self.expect_written(condition, "is read")
        is_one = condition.dtype == np.bool_ and condition.ndim == 0
        self.expect(is_one, f"{condition!r} is not a single bool")

    def room_inside(self, step: Step) -> None:
        """Check that memory for what is written inside a step can be allocated before it."""
        written = set(arrays_written(step))
        for array in written:
            if array.place in {Place.BUFFER, Place.RESULT}:
                is_early = not any(varies(size, written) for size in array.sizes)
                self.expect(is_early, f"{array!r} has a size that is not known before it")

    def handing_over(self, step: Callback) -> None:
        """Check that no Op in Python has what another one keeps, or what that has made of it."""
        for position, value in enumerate(step.inputs):
            if step.is_copied(position):
                continue
            memory = value.memory if isinstance(value, Array) else value
            self.expect(memory not in self.kept, f"{value!r} is read, which another Op keeps")
            if position in step.handed_over:
                is_own = memory.place == Place.RESULT and memory not in self.program.results
                self.expect(is_own and memory not in self.seen, f"{value!r} is kept without a copy")
                self.kept.add(memory)
            self.seen.add(memory)
        if step.handed_over:
            self.kept.update(step.outputs)

    # ---- kernels -----------------------------------------------------------------------------

    def kernel(self, kernel: Kernel) -> None:
        """Check the nests of a kernel."""
        for nest in kernel.nests:
            self.nest(nest, kernel)
        self.overwriting(kernel)
        for array in kernel.local:
            self.expect(array.place == Place.BUFFER, f"{array!r} is local")
        self.local |= kernel.local

    def nest(self, nest: Nest, kernel: Kernel) -> None:
        """Check the statements of a nest."""
        loops = (*kernel.outer, *nest.loops)
        self.expect(len(set(loops)) == len(loops), f"a loop occurs twice in {loops}")
        for loop in loops:
            self.size(loop.extent)
        reductions = {frozenset(s.reduction) for s in nest.statements if s.reduction}
        self.expect(len(reductions) <= 1, "a nest reduces over several sets of loops")
        if reductions and any(has_order(statement) for statement in nest.statements):
            (reduced,) = reductions
            is_inner = reduced == set(loops[len(loops) - len(reduced) :])
            self.expect(is_inner, f"{nest.loops} must run in order, and the outer ones are reduced")
        here: dict[Array, Statement] = {}
        for statement in nest.statements:
            self.statement(statement, loops, kernel, here)
            here[statement.target] = statement
            self.written.add(statement.target.memory)

    def statement(
        self,
        statement: Statement,
        loops: Sequence[LoopVariable],
        kernel: Kernel,
        here: dict[Array, Statement],
    ) -> None:
        """Check a statement; ``here`` holds those before it in its nest."""
        target = statement.target
        self.expect(statement.loops == loops, f"{target.label} has loops {statement.loops}")
        self.expect(target.place not in _GIVEN, f"{target!r} is written")
        reduction = set(statement.reduction)
        self.expect(reduction <= set(loops), f"{target.label} reduces loops that are not there")
        self.expect(not reduction & set(kernel.outer), f"{target.label} reduces an outer loop")
        self.expect(bool(reduction) == bool(statement.reducer), f"{target.label} has no reducer")
        self.recurrence(statement)
        if statement.reducer is not None:
            dtype = statement.value.dtype
            there_is = can_reduce(statement.reducer, dtype)
            self.expect(there_is, f"{dtype} is reduced by {statement.reducer}")
            if statement.reducer in _POSITIONS:
                self.expect(target.dtype == _INT64, f"positions are stored as {target.dtype}")
        else:
            is_right = statement.value.dtype == target.dtype
            self.expect(is_right, f"{target!r} is assigned a {statement.value.dtype}")
        kept = [loop for loop in loops if loop not in reduction]
        self.indices(target, statement.indices, kept)
        for index in statement.indices:
            if index.dynamic is not None:
                self.expression(index.dynamic, kept, here, loops)
        self.expression(statement.value, loops, here, loops)

    def recurrence(self, statement: Statement) -> None:
        """Check the loops that a statement declares because it reads what it writes."""
        order = set(statement.sequential)
        label = statement.target.label
        self.expect(order <= set(statement.loops), f"{label} has loops that are not there")

    def overwriting(self, kernel: Kernel) -> None:
        """Check that no iteration reads what another one overwrites, unless they run in order."""
        read: set[Array] = set()
        nests: list[list[Statement]] = []
        for nest in kernel.nests:
            before: list[Statement] = []
            nests.append(before)
            for statement in nest.statements:
                before.append(statement)
                read.update(load.array.memory for load in reads_of(statement))
                memory = statement.target.memory
                is_single = all(loop.extent.known == 1 for loop in statement.loops)
                if memory not in read or statement.sequential or is_single:
                    continue
                is_fine = self.may_overwrite(nests, statement, memory)
                label = statement.target.label
                self.expect(is_fine, f"{label} is read out of order where it is written")

    def indices(
        self, array: Array, indices: Sequence[Index], loops: Sequence[LoopVariable]
    ) -> None:
        """Check the indices at which an array is read or written."""
        fits = len(indices) == array.ndim
        self.expect(fits, f"{array!r} is indexed with {len(indices)} indices")
        for index in indices:
            for loop, step in index.terms:
                in_scope = loop in loops or loop in self.outer
                self.expect(
                    in_scope, f"{array.label} is indexed by loop {loop}, not one of {loops}"
                )
                self.size(step)
            if index.offset is not None:
                self.size(index.offset)

    # ---- expressions -------------------------------------------------------------------------

    def expression(
        self,
        expression: Expression,
        loops: Sequence[LoopVariable],
        here: dict[Array, Statement],
        all_loops: Sequence[LoopVariable],
    ) -> None:
        """Check an expression of a statement."""
        for part in parts_of(expression):
            if isinstance(part, Load):
                self.load(part, loops, here)
            elif isinstance(part, Operation):
                dtypes = [argument.dtype for argument in part.arguments]
                self.expect(can_emit(part.op, dtypes), f"{part.op} of {dtypes} has no code")
                wanted = part.op.resolve_dtypes(dtypes)[0]
                is_right = part.dtype == wanted
                self.expect(is_right, f"{part.op} gives a {wanted}, not a {part.dtype}")
            elif isinstance(part, Literal):
                is_right = np.dtype(type(part.value)) == part.dtype or part.dtype.kind == "b"
                self.expect(is_right, f"{part.value!r} is a literal of dtype {part.dtype}")
            elif isinstance(part, IndexCheck):
                self.expect(part.argument.dtype.kind in "iu", "an index is not an integer")
                self.size(part.size)
            elif isinstance(part, Position):
                self.position(part, loops)
            elif isinstance(part, Conversion):
                lost = part.argument.dtype.kind == "c" and part.dtype.kind not in "cb"
                self.expect(not lost, "a complex number is cast to a real one")

    def position(self, part: Position, loops: Sequence[LoopVariable]) -> None:
        """Check that the loops of a position are in scope."""
        for loop, step in part.index.terms:
            in_scope = loop in loops or loop in self.outer
            self.expect(in_scope, f"a position depends on loop {loop}, not one of {loops}")
            self.size(step)

    def load(self, load: Load, loops: Sequence[LoopVariable], here: dict[Array, Statement]) -> None:
        """Check a load."""
        array = load.array
        self.indices(array, load.indices, loops)
        for index in load.indices:
            if index.dynamic is not None:
                is_int64 = index.dynamic.dtype == _INT64
                self.expect(is_int64, f"{array.label} is indexed with {index.dynamic.dtype}")
        writer = here.get(array)
        if writer is None:
            self.expect_written(array, "is read")
            return
        self.expect(not writer.reduction, f"{array.label} is read where it is being reduced")
        self.expect(
            _same(load.indices, writer.indices), f"{array.label} is read where it is not written"
        )


def _same(left: Iterable[Index], right: Iterable[Index]) -> bool:
    """Return whether indices move along the same loops."""
    return all(
        {loop for loop, _ in mine.terms} == {loop for loop, _ in theirs.terms}
        for mine, theirs in zip(left, right, strict=True)
    )


# ---- the checks of each kind of step -----------------------------------------------------------


@singledispatch
def verify_step(step: Step, verifier: Verifier) -> None:
    """Check that what a step needs is there, and record what it writes; then what its kind needs.

    This is the rule of kinds that have no other.
    """
    for size in step.sizes():
        verifier.size(size)
    for array in step.reads():
        verifier.expect_written(array, "is read")
    verifier.written.update(array.memory for array in step.writes())


@verify_step.register(Kernel)
def verify_kernel(step: Kernel, verifier: Verifier) -> None:
    """Check its nests."""
    verifier.kernel(step)


@verify_step.register(Callback)
def verify_callback(step: Callback, verifier: Verifier) -> None:
    """Check that its inputs are there, including Python objects."""
    for value in step.inputs:
        verifier.expect_written(value, "is read")
    verifier.handing_over(step)
    verifier.written.update(step.outputs)


@verify_step.register(Check)
def verify_check(step: Check, verifier: Verifier) -> None:
    """Note what is known from here on."""
    for size in step.sizes():
        verifier.size(size)
    verifier.checked(step.left, step.right)


@verify_step.register(Claim)
def verify_claim(step: Claim, verifier: Verifier) -> None:
    """Check that the result is like the argument, and new."""
    source, target = step.source, step.target
    is_argument = source in verifier.program.arguments
    verifier.expect(is_argument, f"{source!r} is claimed, but is not an argument")
    verifier.expect(target.place == Place.RESULT, f"{target!r} is not a result")
    there, here = (
        [verifier.program.sizes.canonical(size) for size in array.sizes]
        for array in (source, target)
    )
    is_same = target.dtype == source.dtype and here == there
    verifier.expect(is_same, f"{target!r} is unlike {source!r}")
    is_new = target not in verifier.written
    verifier.expect(is_new, f"{target!r} is claimed after it was written")
    if step.is_kept:
        verifier.written.add(target)


@verify_step.register(Branch)
def verify_branch(step: Branch, verifier: Verifier) -> None:
    """Check both cases; afterwards is written what both write, and known what was known before."""
    verifier.truth(step.condition)
    before, known = set(verifier.written), dict(verifier.least)
    verifier.steps(step.then)
    after_then, verifier.written = verifier.written, before
    verifier.least = dict(known)
    verifier.steps(step.otherwise)
    verifier.written &= after_then
    verifier.least = known
    verifier.room_inside(step)


@verify_step.register(Loop)
def verify_loop(step: Loop, verifier: Verifier) -> None:
    """Check its body, whose checks show nothing where it does not run."""
    verifier.size(step.count)
    before, known = set(verifier.written), dict(verifier.least)
    verifier.outer.append(step.counter)
    verifier.steps(step.body)
    verifier.outer.pop()
    verifier.least = known
    if step.own_rows is not None:
        verifier.expect(step.until is None, "independent passes end by a condition")
        private = set(arrays_written(step)).difference(step.own_rows, step.sums)
        verifier.expect(private.isdisjoint(before), "a pass overwrites what is read elsewhere")
        verifier.written -= private
    if step.until is not None:
        verifier.truth(step.until)
    verifier.room_inside(step)
