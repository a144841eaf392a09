"""Loops of steps on short vectors: each fits into a register, and its states stay there.

A step on a vector of a few elements takes as long as its call, and as the way of its state through
memory. If the vectors in the body of a loop have the same length, that of a register of the CPU or
less, their kernels are written in place, on one vector with a mask. If the length is not known,
there are two versions of the loop, and the length decides when it begins. Products of small
matrices, and a few kernels of more than a vector, are the same calls in both.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.backends.native.dependence import arrays_written, has_order, varies
from phintys.backends.native.kernels.inlining import is_straight
from phintys.backends.native.kernels.planning import plan_kernel
from phintys.backends.native.program import Step, walk_steps
from phintys.backends.native.sizes import Counter as StepNumber
from phintys.backends.native.sizes import Size
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.steps.check import Check
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.values import Array, LoopVariable, Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.kernels.access import Access
    from phintys.backends.native.kernels.plans import KernelPlan, Level, NestPlan
    from phintys.backends.native.polynomials import Atom, Polynomial, Polynomials
    from phintys.backends.native.routines import products
else:
    products = LateModule("phintys.backends.native.routines.products")


@record(frozen=True)
class Latest:
    """A row that a pass of a loop reads, and that the pass before has written.

    Memory that has just been written in part, under a mask, is slow to read.

    Attributes
    ----------
    array
        The memory.
    read, written
        Where the row begins, in the pass that reads it and in the one that writes it.
    first
        Where the row begins that the first pass reads.
    """

    array: Array
    read: Polynomial
    written: Polynomial
    first: Polynomial


@record(eq=False)
class ShortVectors:
    """How a loop is carried out if its vectors are short.

    Attributes
    ----------
    lengths
        The numbers of elements, which have to be equal: checks that show it may be in the loop.
    lanes
        The most elements for which it can be carried out like this.
    plans
        The plans of its kernels, but of those without loops.
    arrays
        Vectors that are in registers while it runs.
    latest
        For the loop and those in it, the rows that stay in registers for one pass.
    """

    lengths: tuple[Polynomial, ...]
    lanes: int
    plans: dict[Kernel, KernelPlan]
    arrays: set[Array]
    latest: Mapping[Step, list[Latest]]

    @property
    def is_certain(self) -> bool:
        """Whether the length is known to be short."""
        return len(self.lengths) == 1 and self.lengths[0].known is not None


def short_vectors_of(
    steps: Sequence[Step], polynomials: Polynomials, target: Target
) -> dict[Step, ShortVectors]:
    """Return the loops of a program that can be carried out on short vectors, the outermost ones.

    Parameters
    ----------
    steps
        The steps of the program.
    polynomials, target
        Those of the program.
    """
    found: dict[Step, ShortVectors] = {}
    for step in steps:
        if isinstance(step, Loop):
            short = _short_vectors(step, polynomials, target)
            if short is not None:
                found[step] = short
                continue
        for body in step.bodies():
            found |= short_vectors_of(body, polynomials, target)
    return found


def _short_vectors(loop: Loop, ring: Polynomials, target: Target) -> ShortVectors | None:
    inside = [step for body in loop.bodies() for step in walk_steps(body)]
    if not all(map(_is_simple, inside)):
        return None
    if any(map(_is_product, inside)) and any(map(_is_shared, inside)):
        return None
    plans = _plans_of_vectors(inside, ring, target)
    levels = [level for plan in plans.values() for level in _levels(plan)]
    if not levels:  # no such kernels, or the program has found after them that the length is 1
        return None
    lengths = tuple(dict.fromkeys(level.extent for level in levels))
    lanes = min(nest.lanes for plan in plans.values() for nest in plan.nests if _inside(plan, nest))
    if lanes == 1 or not _are_checked(lengths, inside, ring):
        return None
    if any(length.known is not None and length.known > lanes for length in lengths):
        return None
    written = set(arrays_written(loop))
    atoms = [atom for length in lengths for atoms, _ in length.terms for atom in atoms]
    if any(varies(ring.atoms[atom], written) for atom in atoms):
        return None
    _set_lanes(plans, lanes)
    arrays = _vectors(plans)
    scratch = {array for plan in plans.values() for array in plan.scratch}
    if not scratch <= arrays:
        return None
    apart = [step for step in inside if step not in plans]
    written_apart: set[Array] = set()
    for step in apart:
        if not step.bodies():
            written_apart.update(arrays_written(step))
    arrays -= written_apart | {array.memory for step in apart for array in step.reads()}
    latest: dict[Step, list[Latest]] = {
        one: list(_latest(one, plans, arrays | written_apart, ring)) for one in _loops([loop])
    }
    return ShortVectors(lengths, lanes, plans, arrays, latest)


def _plans_of_vectors(
    steps: Sequence[Step], ring: Polynomials, target: Target
) -> dict[Kernel, KernelPlan]:
    """Return the plans of kernels that compute vectors; none if too many compute something else."""
    kernels = [step for step in steps if isinstance(step, Kernel) and not is_straight(step)]
    planned = {kernel: plan_kernel(kernel, ring, target) for kernel in kernels}
    plans = {kernel: plan for kernel, plan in planned.items() if _is_one_vector(plan)}
    others = [plan for kernel, plan in planned.items() if kernel not in plans]
    return plans if len(others) < len(plans) and all(map(_is_of_matrices, others)) else {}


def _set_lanes(plans: dict[Kernel, KernelPlan], lanes: int) -> None:
    """Plan each nest as one vector of so many lanes."""
    for plan in plans.values():
        plan.rooms.clear()  # what is private to a kernel is in registers
        for nest in plan.nests:
            if _inside(plan, nest):
                nest.lanes, nest.unroll = lanes, 1


def _loops(steps: list[Step]) -> list[Loop]:
    return [step for step in walk_steps(steps) if isinstance(step, Loop)]


def _is_simple(step: Step) -> bool:
    """Return whether a step may be in such a loop: other calls than products take long anyway."""
    is_inside = bool(step.bodies()) or step.only_checks
    return is_inside or isinstance(step, Kernel) or _is_product(step)


def _is_product(step: Step) -> bool:
    return isinstance(step, LibraryCall) and isinstance(step.routine, products.Product)


def _is_shared(step: Step) -> bool:
    """Return whether threads may share a loop in the loop, which they do in long steps only."""
    return isinstance(step, Loop) and step.own_rows is not None


def _levels(plan: KernelPlan) -> Iterator[Level]:
    yield from plan.outer
    for nest in plan.nests:
        yield from nest.kept
        yield from nest.reduced


def _inside(plan: KernelPlan, nest: NestPlan) -> list[Level]:
    """Return the levels around the statements of a nest."""
    return [*plan.outer, *nest.kept, *nest.reduced]


def _is_one_vector(plan: KernelPlan) -> bool:
    """Return whether each nest of a kernel computes one vector, or a single number."""
    for nest in plan.nests:
        levels = _inside(plan, nest)
        if len(levels) > 1 or not all(level.is_vector for level in levels):
            return False
        if any(one.accumulate or has_order(one) for one in nest.statements):
            return False
        if not levels:
            continue
        for statement in nest.statements:
            access = nest.stores.get(id(statement))
            # The last of several values that are written to the same place, one after the other.
            if access is not None and not statement.reduction and nest.vector not in access.steps:
                return False
            if statement.reduction and (plan.outer or statement.reducer in {"argmax", "argmin"}):
                return False
    return True


def _is_of_matrices(plan: KernelPlan) -> bool:
    """Return whether a kernel computes arrays of more than one axis, and little else."""
    return any(len(_inside(plan, nest)) > 1 for nest in plan.nests)


def _are_checked(lengths: Sequence[Polynomial], inside: Sequence[Step], ring: Polynomials) -> bool:
    """Return whether steps of the loop check that all lengths are equal."""
    checks = [step for step in inside if isinstance(step, Check)]
    pairs = [{ring.of(check.left), ring.of(check.right)} for check in checks]
    equal = {lengths[0]}
    for _ in pairs:
        equal.update(*(pair for pair in pairs if not equal.isdisjoint(pair)))
    return equal.issuperset(lengths)


def _vectors(plans: dict[Kernel, KernelPlan]) -> set[Array]:
    """Return the arrays that kernels write, and that are accessed as a whole vector only."""
    written: set[Array] = set()
    others: set[Array] = set()
    for plan in plans.values():
        for nest in plan.nests:
            written |= {access.array for access in nest.stores.values()}
            others |= {
                one.array.memory
                for one in nest.accesses
                if one.offset.terms or not _is_whole(one, nest)
            }
    return {
        array
        for array in written
        if array.memory is array
        and array not in others
        and array.place in {Place.BUFFER, Place.RESULT}
    }


def _is_whole(access: Access, nest: NestPlan) -> bool:
    """Return whether an access reads or writes neighbouring elements, one for each lane."""
    step = access.steps.get(nest.vector) if nest.vector is not None else None
    return (
        step is not None
        and step.known == 1
        and len(access.steps) == 1
        and not access.dynamic
        and not access.is_spread
    )


# ---- rows that the pass before has written -------------------------------------------------------


def _latest(
    loop: Loop, plans: dict[Kernel, KernelPlan], others: set[Array], ring: Polynomials
) -> Iterator[Latest]:
    """Yield the rows that a pass reads, and that only the pass before has written.

    Arrays in ``others`` are also written elsewhere, or are in registers in any case.
    """
    accesses = [
        (access, nest) for plan in plans.values() for nest in plan.nests for access in nest.accesses
    ]
    stores = Counter(
        access.array
        for plan in plans.values()
        for nest in plan.nests
        for access in nest.stores.values()
    )
    direct = [plans[step] for step in loop.body if isinstance(step, Kernel) and step in plans]
    for plan in direct:
        for nest in plan.nests:
            for access in nest.stores.values():
                array = access.array
                if array.memory in others or stores[array] > 1 or not _is_whole(access, nest):
                    continue
                parts = _parts(access.offset, loop.counter, ring)
                if parts is None:
                    continue
                first, step = parts
                read = ring.sub(access.offset, step)
                readers = [(a, n) for a, n in accesses if a.array is array and a.offset is read]
                if readers and all(_is_whole(a, n) for a, n in readers):
                    yield Latest(array, read, access.offset, ring.sub(first, step))


def _parts(
    offset: Polynomial, counter: LoopVariable, ring: Polynomials
) -> tuple[Polynomial, Polynomial] | None:
    """Return the address in the first pass, and the step; ``None`` if it has no constant step."""
    first = step = ring.zero
    for atoms, factor in offset.terms:
        term, moves = ring.constant(factor), False
        for number in atoms:
            atom = ring.atoms[number]
            if atom is counter and not moves:
                moves = True
                continue
            if atom is counter or _depends(atom, counter):
                return None
            term = ring.mul(term, ring.of(atom))
        if moves:
            step = ring.add(step, term)
        else:
            first = ring.add(first, term)
    return (first, step) if step.terms else None


def _depends(atom: Atom, counter: LoopVariable) -> bool:
    if not isinstance(atom, Size):
        return False
    return any(isinstance(leaf, StepNumber) and leaf.loop is counter for leaf in atom.leaves)
