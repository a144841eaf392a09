"""The main function as a whole: the layout of its frame, and its numbering."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from phintys._base.caches import kept_property
from phintys._base.errors import IntegrityError
from phintys.backends.native.dependence import arrays_written, needs_of
from phintys.backends.native.failures import Failure
from phintys.backends.native.layout import Layout, announce
from phintys.backends.native.limits import FRAME_BUFFER_BYTES, NOTED_NANOSECONDS, WORK_UNIT
from phintys.backends.native.polynomials import Atom, Polynomial, Polynomials
from phintys.backends.native.program import Step, walk_steps
from phintys.backends.native.sizes import Arithmetic, Element, Size, Sizes
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.values import Array, Place, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.kernels.kernel_code import KernelCode
    from phintys.backends.native.plan import Plan
    from phintys.backends.native.steps.callback import Callback
    from phintys.backends.native.steps.claim import Claim
    from phintys.backends.native.steps.loop import Loop
    from phintys.graph.apply import Apply

BEFORE_COMMIT = -2
"""The number under which memory for the commit is allocated in advance, as it must not fail."""


_BOUNDED_BITS = 58
_FACTOR_BITS = 10
"""Bits of the size in bytes of an array that needs no check, and by which it may exceed an array
in memory.

Hundreds of such arrays together are still within the range of an int64.
"""


class _AsGiven(Sizes):
    """Sizes that are not merged: checks compare them as they were given."""

    def canonical(self, size: Size) -> Size:
        """Return the size itself."""
        return size


class MainFunction:
    """What all parts of a program's main function share: the frame, and what is numbered.

    Parameters
    ----------
    plan
        The plan of the program.
    module
        The module for the function, which contains the kernels.
    kernels
        The functions of each kernel.

    Attributes
    ----------
    layout
        The frame's layout.
    end
        The number of the step from which nothing can fail.
    as_given
        Polynomials of sizes that are not known to be equal yet.
    kept_atoms
        Sizes that are in the frame at the point where code is being written.
    merged_atoms
        Sizes whose values there rely on checks that merged others, which may come later.
    loops
        The loops around that point, the outermost one first.
    has_copier
        Whether the function that copies slots of the frame has been written.
    """

    def __init__(self, plan: Plan, module: Module, kernels: dict[Kernel, KernelCode]) -> None:
        program, memory = plan.program, plan.memory
        self.plan = plan
        self.program = program
        self.module = module
        self.ring = plan.ring
        self.as_given = Polynomials(_AsGiven())
        self.kernels = kernels
        self.costs = plan.costs
        self.memory = memory
        self.short_vectors = plan.short_vectors
        self.shared_loops = plan.shared_loops
        self.layout = Layout(groups=len(memory.groups))
        self.kept_atoms: set[Atom] = set()
        self.merged_atoms: set[Atom] = set()
        self.loops: list[Loop] = []
        self._arguments = set(program.arguments)
        self.commit_start = program.commit_start
        self._make_records()
        self._first_slot = self.layout.room(len(memory.slots))
        self._note_buffers()
        self._atom_slots = self.layout.atoms
        self.has_copier = False
        self._reserved: dict[Kernel, int] = {}
        self._constants: dict[Array, int] = {}
        self._failures: dict[Failure, int] = {}
        self._callbacks = {step: at for at, step in enumerate(self.layout.callbacks)}
        self._new_arrays = {array: at for at, array in enumerate(self.layout.new_arrays)}
        self._claims = {step: at for at, step in enumerate(self.layout.claims)}
        self._elements = self._elements_by_step()
        self.read_as_sizes = {e.array.memory for some in self._elements.values() for e in some}
        for one in self.short_vectors.values():
            one.arrays -= self.read_as_sizes  # which are read from memory
        self._inner_elements: dict[Step, list[Element]] = defaultdict(list)
        self._carried: dict[Step, list[Element]] = {}
        self._find_inner_elements()
        self._work = self._work_by_step()
        self._results: dict[int, list[Array]] = defaultdict(list)
        claimed = {claim.target for claim in self.layout.claims}
        for array in self.layout.new_arrays:
            if array not in claimed:
                first = memory.first_writes.get(array, -1)
                self._results[first if first < self.commit_start else BEFORE_COMMIT].append(array)

    def _make_records(self) -> None:
        layout = self.layout
        layout.overwrites_arguments = any(
            memory.place == Place.ARGUMENT
            for step in self.program.steps
            for memory in arrays_written(step)
        )
        values: list[Value] = [*self.program.arguments, *self.program.results]
        for step in walk_steps(self.program.steps):
            values += announce(step, layout)
        values += [array for array in self.memory.first_writes if array.place == Place.RESULT]
        for value in values:
            if value in layout.records:
                continue
            ndim = value.ndim if isinstance(value, Array) else 0
            layout.records[value] = layout.room(1 + ndim)
            if isinstance(value, Array) and value.place == Place.RESULT and value.memory is value:
                layout.new_arrays.append(value)

    # ---- sizes -------------------------------------------------------------------------------

    def _elements_by_step(self) -> dict[int, list[Element]]:
        """Return the elements of arrays that sizes depend on, by the step that writes them last."""
        found: dict[int, list[Element]] = defaultdict(list)
        seen: set[Size] = set()
        stack = [size for size in self._sizes() if isinstance(size, Size)]
        while stack:
            size = stack.pop()
            if size in seen:
                continue
            seen.add(size)
            stack.append(self.program.sizes.canonical(size))
            if isinstance(size, Element):
                found[self._written(size)].append(size)
            elif isinstance(size, Arithmetic):
                stack.extend(size.arguments)
        return found

    def _find_inner_elements(self) -> None:
        """Find where in branches and loops the elements that sizes depend on become known.

        That is after the last step of a list that writes the array, and at the beginning of each
        pass of a loop whose array was written before, too.
        """
        if not any(step.bodies() for step in self.program.steps):
            return
        elements = [element for some in self._elements.values() for element in some]
        stack: list[tuple[Sequence[Step], set[Array]]] = [(self.program.steps, set())]
        while stack:
            steps, before = stack.pop()
            writers: dict[Array, Step] = {}
            for step in steps:
                written = set(arrays_written(step))
                if step.repeats:
                    again = before & written
                    self._carried[step] = [e for e in elements if e.array.memory in again]
                stack += [(body, set(before)) for body in step.bodies()]
                before |= written
                writers.update(dict.fromkeys(written, step))
            if steps is self.program.steps:
                continue
            for element in elements:
                writer = writers.get(element.array.memory)
                if writer is not None:
                    self._inner_elements[writer].append(element)

    def elements_of(self, step: Step) -> list[Element]:
        """Return the elements that are known after a step of a branch or loop."""
        return self._inner_elements.get(step, [])

    def carried_into(self, loop: Step) -> list[Element]:
        """Return the elements that are known when a pass of a loop begins, and change in it."""
        return self._carried.get(loop, [])

    def _sizes(self) -> list[Atom]:
        """Return the sizes that the main function computes."""
        found = list(self.ring.atoms)
        for step in walk_steps(self.program.steps):
            if not isinstance(step, Kernel):
                found += step.sizes()
            elif step in self.plan.inline:  # those of kernels that are functions are in the ring
                found += [size for one in step.statements for size in needs_of(one).sizes]
        for value in self.layout.records:
            if isinstance(value, Array):
                found += value.sizes
        return found

    def _written(self, element: Element) -> int:
        array = element.array.memory
        if array.place in {Place.ARGUMENT, Place.CONSTANT}:
            return -1
        return self.memory.last_writes.get(array, -1)

    def elements_after(self, step: int) -> list[Element]:
        """Return the elements that are known after a step."""
        return self._elements.get(step, [])

    def atom_slot(self, atom: Atom) -> int:
        """Return the frame slot of a size."""
        slot = self._atom_slots.get(atom)
        if slot is None:
            slot = self._atom_slots[atom] = self.layout.room(1)
        return slot

    # ---- work --------------------------------------------------------------------------------

    def _work_by_step(self) -> dict[int, Polynomial]:
        """Return the amount of work, by the step after which it is known."""
        found: dict[int, list[Polynomial]] = defaultdict(list)
        for step in self.program.steps:
            work = step.work(self.costs)
            if work is not None:
                found[self.memory.known_after(work)].append(work)
        return {ready: self.ring.total(work) for ready, work in found.items()}

    def work_after(self, step: int) -> Polynomial | None:
        """Return the work that is known after a step, if it is worth reporting."""
        work = self._work.get(step)
        if work is None or (work.known is not None and work.known < NOTED_NANOSECONDS * WORK_UNIT):
            return None
        return work

    # ---- numbering ---------------------------------------------------------------------------

    def failure(self, failure: Failure) -> int:
        """Return the number of a failure."""
        number = self._failures.get(failure)
        if number is None:
            number = self._failures[failure] = self.failures([failure]) + 1
        return number

    def failures(self, failures: Sequence[Failure]) -> int:
        """Return the offset of the numbers of several failures."""
        first = len(self.layout.failures)
        self.layout.failures.extend(failures)
        for failure in failures:
            self._note_loops(failure)
        return first

    def callback(self, step: Callback) -> int:
        """Return the number of a callback."""
        self._note_loops(step)
        return self._callbacks[step]

    def _note_loops(self, what: Callback | Failure) -> None:
        """Record the loops around the point where code is being written, for errors."""
        if self.shared_loops.keys().isdisjoint(self.loops):
            self.layout.loops_around[what] = [
                (loop.node, self.layout.counters[loop.counter])
                for loop in self.loops
                if loop.node is not None and loop.counter in self.layout.counters
            ]

    def new_array(self, array: Array) -> int:
        """Return the number of a result."""
        return self._new_arrays[array]

    def claim(self, step: Claim) -> int:
        """Return the number of a claim."""
        return self._claims[step]

    def constant(self, array: Array) -> int:
        """Return the position of a constant in the table."""
        number = self._constants.get(array)
        if number is None:
            number = self._constants[array] = len(self.layout.constants)
            self.layout.constants.append(array)
        return number

    # ---- memory ------------------------------------------------------------------------------

    def is_argument(self, value: Value) -> bool:
        """Return whether the runtime has filled a value's record before the call."""
        return value in self._arguments

    def record(self, value: Value) -> int:
        """Return the slot at which a value's record begins."""
        return self.layout.records[value]

    def pointer_slot(self, array: Array) -> int:
        """Return the frame slot of an array's address."""
        memory = array.memory
        slot = self.memory.places.get(memory)
        if slot is not None:
            return self._first_slot + slot
        if memory in self.layout.records:
            return self.layout.records[memory]
        msg = f"{array!r} has no memory."
        raise IntegrityError(msg)

    def groups_after(self, step: int) -> list[int]:
        """Return the blocks of the arena whose size is known after a step."""
        return [group for group, after in enumerate(self.memory.groups) if after == step]

    def has_room_in_frame(self, bytes_: int) -> bool:
        """Return whether a block of the arena can be in the frame, which is on the stack.

        Not if there are callbacks: their Ops may keep arrays that are views of it.
        """
        is_small = 8 * self.layout.slots + bytes_ <= FRAME_BUFFER_BYTES
        return is_small and not self.layout.callbacks

    def buffer_at(self, slot: int) -> int:
        """Return the number of a buffer, given the frame slot of its address."""
        return slot - self._first_slot

    def reserve(self, kernel: Kernel) -> int:
        """Return a new frame slot, for the address of memory that a kernel needs in the commit."""
        slot = self._reserved[kernel] = self.layout.room(1)
        return slot

    def reserved(self, kernel: Kernel) -> int | None:
        """Return the frame slot of the address of memory reserved for a kernel, if any is."""
        return self._reserved.get(kernel)

    def block_of(self, slot: int) -> int:
        """Return the number of the block whose address is in a slot for reserved memory."""
        return self.layout.groups + list(self._reserved.values()).index(slot)

    def workspace(self, step: Step) -> int:
        """Return the number of a step's node, for errors about memory for its own work."""
        self.layout.workspaces.append(next(reversed(step.nodes()), None))
        return len(self.layout.workspaces) - 1

    def _note_buffers(self) -> None:
        """Record for each slot of the arena the node that computes its content, for errors."""
        writers: dict[Array, Apply] = {}
        for step in walk_steps(self.program.steps) if self.memory.slots else ():
            for statement in step.statements if isinstance(step, Kernel) else ():
                for node in statement.nodes[-1:]:
                    writers.setdefault(statement.target.memory, node)
        for slot in self.memory.slots:
            array = slot.arrays[0]
            made = None if array.variable is None else array.variable.owner
            self.layout.buffers.append(writers.get(array, made))

    def is_bounded(self, array: Array) -> bool:
        """Return whether an array is at most slightly longer than one that is already in memory.

        A vector of what is in memory is no longer than the memory of a process, nor are several
        axes of an array, all together.
        """
        sizes = [self.program.sizes.canonical(size) for size in array.sizes]
        known = math.prod(size.known for size in sizes if size.known is not None)
        known = (known * array.dtype.itemsize).bit_length()
        unknown = [size for size in sizes if size.known is None]
        if known + sum(size.bits for size in unknown) <= _BOUNDED_BITS:
            return True
        return known <= _FACTOR_BITS and frozenset(Counter(unknown).items()) in self._outside

    @kept_property
    def _outside(self) -> set[frozenset[tuple[Size, int]]]:
        """The unknown lengths of each external array."""
        canonical = self.program.sizes.canonical
        return {
            frozenset(Counter(s for s in map(canonical, value.sizes) if s.known is None).items())
            for value in self.layout.records
            if isinstance(value, Array) and value.place in {Place.ARGUMENT, Place.CALLBACK}
        }

    def slots_of_group(self, group: int) -> list[tuple[int, list[tuple[Polynomial, Array]]]]:
        """Return the frame slots of the addresses of a block's slots, and their sizes in bytes."""
        return [
            (self._first_slot + number, slot.sizes())
            for number, slot in enumerate(self.memory.slots)
            if slot.group == group
        ]

    def results_of(self, step: int) -> list[tuple[int, Array]]:
        """Return the results that a step writes first, with their numbers."""
        return [(self._new_arrays[array], array) for array in self._results.get(step, [])]
