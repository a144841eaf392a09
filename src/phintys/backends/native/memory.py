"""Memory planning: where the arrays of a program are placed, and which of them share a slot.

An array that is not local to a kernel is live from the first step that writes it to the last that
reads it. Arrays whose lifetimes do not overlap share a slot of the arena if they have the same
number of bytes, which can be known even if the number is not; an array of known size may also take
a larger slot. Matrices of unknown sizes that have all lengths but one in common share a slot of the
larger size: the layers of a network, whose widths are known only when it is called. A statement
overwrites an operand at the end of its life, if the kernel reads it only at the elements written:
:func:`~phintys.backends.native.dependence.may_overwrite` says when.

Slots whose sizes follow from the arguments form one block, allocated when the call begins. Sizes
that are known only after some step (an Op's Python code made an array, or a size was computed from
data) have separate blocks, allocated after that step.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field
from typing import TYPE_CHECKING

from phintys._base.records import record
from phintys.backends.native.dependence import Meeting, Occurrences, may_overwrite
from phintys.backends.native.program import Program, Step, walk_steps
from phintys.backends.native.sizes import Arithmetic, Element, Extent, Size
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.values import Array, Place, Value
from phintys.graph.alias_map import AliasMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from phintys.backends.native.expressions import Load, Statement
    from phintys.backends.native.kernels.code_sharing import PlannedKernel
    from phintys.backends.native.kernels.plans import KernelPlan, NestPlan
    from phintys.backends.native.polynomials import Atom, Polynomial, Polynomials

ALIGNMENT = 64
"""Alignment, in bytes, of arrays in the arena."""


@record(eq=False)
class ArenaSlot:
    """A piece of the arena.

    Attributes
    ----------
    group
        The number of its block.
    bytes
        Its size.
    arrays
        The arrays placed there, one after the other.
    others
        Further sizes, each with an array that has it: the slot is as large as the largest.
    """

    group: int
    bytes: Polynomial
    arrays: list[Array] = field(default_factory=list)
    others: dict[Polynomial, Array] = field(default_factory=dict)

    def sizes(self) -> list[tuple[Polynomial, Array]]:
        """Return all sizes, each with an array that has it."""
        return [(self.bytes, self.arrays[0]), *self.others.items()]


@record(eq=False)
class MemoryPlan:
    """The placement of arrays.

    Attributes
    ----------
    slots
        The slots of the arena.
    places
        For each array in the arena, the number of its slot.
    groups
        For each block of the arena, the step after which its size is known; -1 for the beginning.
    first_writes
        For each array that is written, the first step that writes it.
    last_writes
        The last step that writes it.
    taken_over
        For each array that overwrites an operand at the end of its life, the operand.
    ready
        For each atom of sizes, the step after which it is known.
    """

    slots: list[ArenaSlot] = field(default_factory=list)
    places: dict[Array, int] = field(default_factory=dict)
    groups: list[int] = field(default_factory=list)
    first_writes: dict[Array, int] = field(default_factory=dict)
    last_writes: dict[Array, int] = field(default_factory=dict)
    taken_over: dict[Array, Array] = field(default_factory=dict)
    ready: dict[Atom, int] = field(default_factory=dict)
    known_after: Callable[[Polynomial], int] = field(default=lambda polynomial: -1)
    """Returns the step after which a polynomial is known."""


# ---- what steps touch --------------------------------------------------------------------------


def reads_and_writes(step: Step) -> tuple[dict[Array, None], dict[Array, None]]:
    """Return the memory that a step reads, and the memory that it writes, including its bodies.

    Sizes are read where they become known. Both are ordered sets: the code of a program must be
    identical in every process.
    """
    steps = list(walk_steps([step]))
    return (
        {array.memory: None for one in steps for array in one.reads()},
        {array.memory: None for one in steps for array in one.writes()},
    )


def _sources(atom: Atom) -> Iterable[Size]:
    """Return the sizes that an atom is computed from."""
    return atom.arguments if isinstance(atom, Arithmetic) else ()


# ---- the plan ----------------------------------------------------------------------------------


class _Planner:
    def __init__(
        self,
        program: Program,
        polynomials: Polynomials,
        kernels: Mapping[Kernel, PlannedKernel],
    ) -> None:
        self.program = program
        self.ring = polynomials
        self.kernels = kernels
        self.plan = MemoryPlan(known_after=self.known_after)
        self.touched = [reads_and_writes(step) for step in program.steps]
        self.last_use: dict[Array, int] = {}
        self._viewed: set[Array] = set()  # by what Ops return, which kernels know by other names
        self._taking_over: dict[tuple[KernelPlan, Array, Array], bool] = {}
        self._takers: dict[KernelPlan, TakingOver] = {}
        self._free: dict[Polynomial, list[int]] = defaultdict(list)

    def lives(self) -> None:
        """Find the first and the last step that accesses each array."""
        for number, (reads, writes) in enumerate(self.touched):
            for array in writes:
                self.plan.first_writes.setdefault(array, number)
                self.plan.last_writes[array] = number
            for array in [*reads, *writes]:
                self.last_use[array] = number
        for value in self.program.results:
            if isinstance(value, Array):
                self.last_use[value.memory] = len(self.touched)
        self._keep_viewed()

    def _keep_viewed(self) -> None:
        """Extend the life of memory to that of what Ops in Python return as views of it."""
        aliases: AliasMap[Value] = AliasMap()
        for step in self.program.steps:
            if isinstance(step, Callback):
                given = [one.memory if isinstance(one, Array) else one for one in step.inputs]
                aliases.add(step.node.op, given, step.outputs)
        for view in aliases:
            until = self.last_use.get(view, -1) if isinstance(view, Array) else len(self.touched)
            for memory in aliases.memory(view):
                if isinstance(memory, Array):
                    self.last_use[memory] = max(self.last_use.get(memory, -1), until)
                    self._viewed.add(memory)

    def _atom_known_after(self, atom: Atom) -> int:
        """Return the step after which an atom is known; -1 if at the beginning."""
        ready = self.plan.ready
        stack: list[Atom] = [atom]
        while stack:
            current = stack[-1]
            if current in ready:
                stack.pop()
                continue
            if isinstance(current, Extent | Element):
                array = current.array.memory
                is_outside = array.place in {Place.ARGUMENT, Place.CONSTANT}
                ready[current] = -1 if is_outside else self.plan.last_writes.get(array, -1)
                continue
            sources = [self.program.sizes.canonical(size) for size in _sources(current)]
            missing = [size for size in sources if size not in ready]
            if missing:
                stack.extend(missing)
                continue
            ready[current] = max((ready[size] for size in sources), default=-1)
        return ready[atom]

    def known_after(self, polynomial: Polynomial) -> int:
        """Return the step after which a polynomial is known."""
        numbers = {number for atoms, _ in polynomial.terms for number in atoms}
        return max((self._atom_known_after(self.ring.atoms[n]) for n in numbers), default=-1)

    def run(self) -> MemoryPlan:
        """Place each array."""
        self.lives()
        dying: dict[int, list[Array]] = defaultdict(list)
        for array, step in self.last_use.items():
            if array.place == Place.BUFFER:
                dying[step].append(array)
        for number, (step, (_, writes)) in enumerate(
            zip(self.program.steps, self.touched, strict=True)
        ):
            born = [
                array
                for array in writes
                if array.place == Place.BUFFER and self.plan.first_writes[array] == number
            ]
            # Only kernels take over memory; a loop of many steps writes and ends many arrays.
            ending = self._by_bytes(dying[number]) if isinstance(step, Kernel) else {}
            for array in born:
                self._place(array, step, ending.get(self.ring.bytes(array), {}))
            for array in dying[number]:
                slot = self.plan.places.get(array)
                if slot is not None and self.plan.slots[slot].arrays[-1] is array:
                    self._free[self.plan.slots[slot].bytes].append(slot)
        return self.plan

    def _by_bytes(self, dying: Iterable[Array]) -> dict[Polynomial, dict[Array, None]]:
        """Return the arrays that may be overwritten at the end of their lives, by their bytes."""
        plan = self.plan
        found: dict[Polynomial, dict[Array, None]] = {}
        for array in dying:
            if array in self._viewed or array not in plan.places:
                continue
            slot, size = plan.slots[plan.places[array]], self.ring.bytes(array)
            if slot.arrays[-1] is array and (slot.bytes is size or size in slot.others):
                found.setdefault(size, {})[array] = None
        return found

    def _place(self, array: Array, step: Step, dying: dict[Array, None]) -> None:
        plan = self.plan
        size = self.ring.bytes(array)
        for operand in dying:
            if isinstance(step, Kernel) and self._can_take_over(step, array, operand):
                del dying[operand]
                plan.taken_over[array] = operand
                self._put(array, plan.places[operand])
                return
        found = self._free_slot(size)
        if found is None and size.known is None:
            found = self._similar_slot(size)
            if found is not None:
                plan.slots[found].others.setdefault(size, array)
        if found is None:
            ready = self.known_after(size)
            if ready not in plan.groups:
                plan.groups.append(ready)
            found = len(plan.slots)
            plan.slots.append(ArenaSlot(plan.groups.index(ready), size))
        self._put(array, found)

    def _can_take_over(self, kernel: Kernel, target: Array, operand: Array) -> bool:
        planned = self.kernels[kernel]
        key = planned.plan, planned.in_plan(target), planned.in_plan(operand)
        found = self._taking_over.get(key)
        if found is None:
            if planned.plan not in self._takers:
                self._takers[planned.plan] = TakingOver(planned.plan)
            found = self._takers[planned.plan].can_take_over(*key[1:])
            self._taking_over[key] = found
        return found

    def _put(self, array: Array, slot: int) -> None:
        self.plan.places[array] = slot
        self.plan.slots[slot].arrays.append(array)

    def _free_slot(self, size: Polynomial) -> int | None:
        free = self._free.get(size)
        if free:
            return free.pop()
        if size.known is None:
            return None
        fitting = [
            other
            for other, slots in self._free.items()
            if slots and other.known is not None and size.known <= other.known <= 2 * size.known
        ]
        if not fitting:
            return None
        return self._free[min(fitting, key=lambda other: other.known or 0)].pop()

    def _similar_slot(self, size: Polynomial) -> int | None:
        """Return a free slot for arrays whose lengths are the same but for one, if there is any."""
        plan, ready = self.plan, self.known_after(size)
        for other, slots in self._free.items():
            if slots and _differ_in_one(size, other):
                slot = plan.slots[slots[-1]]
                if plan.groups[slot.group] == ready:
                    return slots.pop()
        return None


def _differ_in_one(size: Polynomial, other: Polynomial) -> bool:
    """Return whether two products of lengths have all but one in common."""
    if len(size.terms) != 1 or len(other.terms) != 1:
        return False
    (mine, factor), (theirs, other_factor) = size.terms[0], other.terms[0]
    if factor != other_factor or len(mine) != len(theirs) or len(mine) < 2:
        return False
    left = list(theirs)
    for atom in mine:
        if atom in left:
            left.remove(atom)
    return len(left) == 1


class TakingOver:
    """Says which operands, at the end of their lives, a kernel may overwrite with what arrays.

    Parameters
    ----------
    plan
        The plan of the kernel.
    """

    def __init__(self, plan: KernelPlan) -> None:
        self._kernel = Occurrences(nest.statements for nest in plan.nests)
        self._loads = {
            number: access for nest in plan.nests for number, access in nest.loads.items()
        }
        self._writers: defaultdict[Array, list[tuple[NestPlan, Statement]]] = defaultdict(list)
        for nest in plan.nests:
            for statement in nest.statements:
                self._writers[statement.target.memory].append((nest, statement))

    def can_take_over(self, target: Array, operand: Array) -> bool:
        """Return whether the kernel may overwrite an operand with an array."""
        writers = self._writers.get(target, ())
        if len(writers) != 1:
            return False
        ((nest, writer),) = writers
        store = nest.stores.get(id(writer))

        def meet(load: Load) -> Meeting:
            access = self._loads.get(id(load))
            is_same = (
                store is not None
                and access is not None
                and not access.dynamic
                and access.offset is store.offset
                and access.steps == store.steps
            )
            return Meeting.SAME if is_same else Meeting.UNKNOWN

        return may_overwrite(self._kernel, writer, operand, meet)


def plan_memory(
    program: Program, polynomials: Polynomials, kernels: Mapping[Kernel, PlannedKernel]
) -> MemoryPlan:
    """Return the placement of the arrays of a program.

    Parameters
    ----------
    program
        The program.
    polynomials
        The polynomials of the program.
    kernels
        The plan of each kernel.
    """
    return _Planner(program, polynomials, kernels).run()
