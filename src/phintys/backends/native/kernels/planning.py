"""Planning of kernels: the order of loops, which of them are merged, which is vectorized.

The statements of a nest may be computed in any order of its loops (a scatter in the order given).
The kept loops come first and the reduced ones inside them, so that what is reduced stays in
registers. The loop along which most accesses are contiguous becomes the vector loop: the innermost
of the reduced loops (each lane reduces a part of a row, and the lanes are combined at its end), or
the innermost of the kept loops (each lane reduces a column of its own).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from phintys._base.errors import IntegrityError
from phintys._base.records import record
from phintys.backends.native.assembler.types import type_of
from phintys.backends.native.dependence import has_order, is_loop, same_index
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    IndexCheck,
    Load,
    Operation,
    Position,
    Statement,
    parts_of,
)
from phintys.backends.native.kernels.access import Access, Addressing, Affine
from phintys.backends.native.kernels.kernel_code import ShortRows
from phintys.backends.native.kernels.plans import KernelPlan, Level, NestPlan, is_number
from phintys.backends.native.limits import (
    ATTEMPTS_COST,
    BOOL_LANES,
    FEW_DRAWS,
    LIGHT_COST,
    MEDIUM_COST,
    SHORT_COLUMN,
    SHORT_COPY,
    SHORT_ROW,
    SHORTEST_CHUNK,
    SMALLEST_CHUNK,
)
from phintys.backends.native.values import Array, LoopVariable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.polynomials import Polynomial, Polynomials
    from phintys.backends.native.sizes import Sizes
    from phintys.backends.native.steps.kernel import Kernel, Nest


# ---- arrays ------------------------------------------------------------------------------------


@record()
class _Uses:
    """The writers and readers of the arrays that a kernel writes.

    Attributes
    ----------
    writers
        For each array the number of a nest and the statement.
    by_memory
        Arrays that a later nest reads from memory.
    parts
        By the ``id`` of a statement: the expressions that it is made of.
    """

    writers: dict[Array, tuple[int, Statement]]
    by_memory: set[Array]
    parts: dict[int, list[Expression]]


def _uses(kernel: Kernel, sizes: Sizes) -> _Uses:
    writers = {
        statement.target: (number, statement)
        for number, nest in enumerate(kernel.nests)
        for statement in nest.statements
    }
    parts = {
        id(statement): list(_parts(statement))
        for nest in kernel.nests
        for statement in nest.statements
    }
    by_memory: set[Array] = set()
    for number, nest in enumerate(kernel.nests):
        for load in [p for s in nest.statements for p in parts[id(s)] if isinstance(p, Load)]:
            written = writers.get(load.array)
            if written is None or written[0] >= number:
                continue
            if not _is_in_register(load, written, kernel, sizes):
                by_memory.add(load.array)
    return _Uses(writers, by_memory, parts)


def _is_in_register(
    load: Load, written: tuple[int, Statement], kernel: Kernel, sizes: Sizes
) -> bool:
    """Return whether an earlier nest's result is one number for each outer iteration."""
    number, statement = written
    inner = kernel.nests[number].loops
    return all(loop in statement.reduction for loop in inner) and all(
        same_index(mine, theirs, sizes)
        for mine, theirs in zip(statement.indices, load.indices, strict=True)
    )


def _parts(statement: Statement) -> Iterable[Expression]:
    yield from parts_of(statement.value)
    for index in statement.indices:
        if index.dynamic is not None:
            yield from parts_of(index.dynamic)


def _cost_of(statement: Statement, uses: _Uses) -> float:
    """Return the cost of a statement's operations; an addition costs 1."""
    return sum(p.op.cost for p in uses.parts[id(statement)] if isinstance(p, Operation))


def _scratch_strides(
    array: Array, statement: Statement, outer: Sequence[LoopVariable], ring: Polynomials
) -> tuple[Polynomial, ...]:
    """Return strides without the axes along which the outer loops run."""
    step = ring.one
    backwards: list[Polynomial] = []
    for size, index in zip(reversed(array.sizes), reversed(statement.indices), strict=True):
        if any(is_loop(index, loop) for loop in outer):
            backwards.append(ring.zero)
            continue
        backwards.append(step)
        step = ring.mul(step, ring.of(size))
    return tuple(reversed(backwards))


def _rooms(
    scratch: Sequence[Array], nests: Sequence[NestPlan], addressing: Addressing, lanes: int
) -> dict[Array | NestPlan, Polynomial]:
    """Return the private memory that a kernel needs."""
    ring = addressing.polynomials
    rooms: dict[Array | NestPlan, Polynomial] = {}
    for array in scratch:
        strides = addressing.strides[array]
        sizes = [size for size, stride in zip(array.sizes, strides, strict=True) if stride.terms]
        rooms[array] = ring.scale(ring.product(sizes), array.dtype.itemsize * lanes)
    for nest in nests:
        if nest.has_columns:
            cells = sum(acc.cells for acc in nest.accumulators())
            rooms[nest] = ring.scale(nest.kept[-1].extent, 8 * cells)
    return rooms


# ---- nests -------------------------------------------------------------------------------------


class _NestPlanner:
    """Plans one nest."""

    def __init__(
        self,
        number: int,
        kernel: Kernel,
        addressing: Addressing,
        uses: _Uses,
        registers: set[Array],
    ) -> None:
        self.number = number
        self.nest = nest = kernel.nests[number]
        self.addressing = addressing
        self.ring = addressing.polynomials
        self.uses = uses
        self.registers = registers
        self.loops = [loop for loop in nest.loops if loop not in addressing.fixed]
        self.plan = NestPlan([], [], nest.statements)
        self.affines: list[Affine] = []
        self._accesses: dict[tuple[object, ...], Access] = {}
        self._written: set[Array] = set()

    def collect(self) -> None:
        """Find the memory accesses of the nest."""
        for statement in self.nest.statements:
            for part in self.uses.parts[id(statement)]:
                self._note(part)
            if statement.target not in self.registers:
                access = self.addressing.access(statement.target, statement.indices)
                self.plan.stores[id(statement)] = self._known(access)
            if statement.reducer in {"argmax", "argmin"}:
                self._add_position(statement, self._flat_position(statement))
            self._written.add(statement.target)
        self.plan.accesses = list(self._accesses.values())
        self.affines += self.plan.accesses

    def _note(self, part: Expression) -> None:
        if isinstance(part, Position):
            self._add_position(part, self.addressing.combine([part.index], [self.ring.one]))
        if not isinstance(part, Load) or id(part) in self.plan.loads:
            return
        array = part.array
        if is_number(array) or array in self._written:
            return
        writer = self.uses.writers.get(array)
        if writer is not None and writer[0] < self.number and array not in self.uses.by_memory:
            self.plan.forwarded[array] = None
            return
        self.plan.loads[id(part)] = self._known(self.addressing.access(array, part.indices))

    def _known(self, access: Access) -> Access:
        return self._accesses.setdefault(access.key, access)

    def _add_position(self, of: object, affine: Affine) -> None:
        self.plan.positions[id(of)] = affine
        self.affines.append(affine)

    def _flat_position(self, statement: Statement) -> Affine:
        """Count the elements of a reduction in the order of its loops."""
        one, step = self.ring.one, self.ring.one
        size_one = self.ring.sizes.fixed(1)
        indices: list[Index] = []
        steps: list[Polynomial] = []
        for loop in reversed(statement.reduction):
            indices.append(Index(((loop, size_one),)))
            steps.append(step)
            step = self.ring.mul(step, self.ring.of(loop.extent))
        return self.addressing.combine(indices, steps) if indices else Affine({}, one)

    def arrange(self, target: Target, *, in_order: bool, across: Level | None = None) -> None:
        """Choose the order of the loops, and the vector loop.

        ``across`` is an outer level whose iterations are the lanes; the level may also not be known
        yet, and be the nest's own: the innermost of the kept ones.
        """
        reduced = {loop for statement in self.nest.statements for loop in statement.reduction}
        kept = [loop for loop in self.loops if loop not in reduced]
        inside = [loop for loop in self.loops if loop in reduced]
        if across is not None:
            vector = across.loops[-1] if across.loops else kept[-1]
        else:
            vector = self._vector_loop([*kept, *inside], in_order=in_order)
        apart = {loop for statement in self.nest.statements for loop in statement.sequential}
        for group in (kept, inside):
            if vector in group and not in_order:
                group.remove(vector)
                group.append(vector)
        self.plan.kept = collapsed(kept, self.affines, self.ring, apart)
        self.plan.reduced = collapsed(inside, self.affines, self.ring, apart)
        for level in (*self.plan.kept, *self.plan.reduced):
            level.is_vector = vector in level.loops
        self.plan.vector = vector
        if vector is not None:
            together = self._vectors_together(target) if across is None and not in_order else 1
            self.plan.lanes = self._lanes(target, vector, together)
        cost = sum(_cost_of(statement, self.uses) for statement in self.nest.statements)
        if self.plan.lanes > 1 and self.plan.reduced:
            cost += 0.5 * len(self.plan.accesses)
            self.plan.unroll = 4 if cost <= LIGHT_COST else 2 if cost <= MEDIUM_COST else 1
        if across is not None:
            self.plan.unroll = 1
        elif self.plan.kept and self.plan.kept[-1].is_vector and len(self.plan.reduced) == 1:
            length = self.plan.reduced[0].extent.known
            self.plan.has_columns = length is None or length > SHORT_COLUMN
        if vector is not None and not in_order and len(self.plan.kept) > 1:
            self.plan.is_tiled = not self.plan.reduced and self._reads_across(vector)

    def _reads_across(self, vector: LoopVariable) -> bool:
        """Return whether neighbours along a loop other than the vector's are adjacent in memory."""
        last = [level.loops[-1] for level in self.plan.kept if not level.is_vector]
        return any(
            vector in access.steps
            and access.steps[vector].known != 1
            and any(access.steps.get(loop) is self.ring.one for loop in last)
            for access in self.plan.accesses
        )

    def _vector_loop(
        self, ordered: Sequence[LoopVariable], *, in_order: bool
    ) -> LoopVariable | None:
        if not ordered:
            return None
        if in_order:
            last = ordered[-1]
            return None if any(last in s.sequential for s in self.nest.statements) else last
        stores = set(map(id, self.plan.stores.values()))

        def badness(loop: LoopVariable) -> float:
            total = 0.0
            for access in self.plan.accesses:
                step = access.steps.get(loop)
                if step is not None and step.known != 1:
                    total += 5 if id(access) in stores else 3
            extent = self.ring.of(loop.extent).known
            return total + (0 if extent is None else max(0, 4 - extent))

        # Of equally good ones the last.
        return min(reversed(ordered), key=badness)

    def _vectors_together(self, target: Target) -> int:
        """Return how many vector registers of elements are computed side by side.

        The rounds of random bits wait for each other: several registers of them keep a processor
        busy, and so do those of what is computed from the bits, in exact steps.
        """
        parts = [part for s in self.nest.statements for part in self.uses.parts[id(s)]]
        ops = [part.op for part in parts if isinstance(part, Operation)]
        levels = (*self.plan.kept, *self.plan.reduced)
        known = [n for level in levels if (n := level.extent.known) is not None]
        is_short = len(known) == len(levels) and math.prod(known) <= FEW_DRAWS
        if is_short or not any(op.is_chain for op in ops):
            return 1
        return 4 if target.has_avx512 and all(op.cost < ATTEMPTS_COST for op in ops) else 2

    def _lanes(self, target: Target, vector: LoopVariable, together: int) -> int:
        """Return as many lanes as the widest numbers have in registers, or fewer if few do."""
        dtypes = {
            part.dtype for statement in self.nest.statements for part in _wide_parts(statement)
        }
        widest = [type_of("float32" if d == "float16" else d) for d in dtypes if d != "bool"]
        # More bools than a register holds are lost by LLVM's code generator for WebAssembly.
        bools = min(BOOL_LANES, target.vector_bytes)
        lanes = min((target.lanes(type) for type in widest), default=bools)
        lanes = max(lanes, min(together * lanes, target.vector_bytes))
        levels = (*self.plan.kept, *self.plan.reduced)
        extent = next((level.extent.known for level in levels if vector in level.loops), None)
        if extent is not None and extent < lanes:
            lanes = 1 << max(0, extent - 1).bit_length()
        return lanes

    def settle(self, outer: Sequence[Level]) -> None:
        """Determine the levels on which each address depends."""
        levels = [*outer, *self.plan.kept, *self.plan.reduced]
        innermost = len(levels) - 1
        depth_of = {loop: at for at, level in enumerate(levels) for loop in level.loops}
        for access in self.plan.accesses:
            if not access.dynamic:
                access.depth = max((depth_of[loop] for loop in access.steps), default=-1)
        limit = next((at for at, level in enumerate(levels) if level.is_vector), innermost)
        if limit < len(outer):
            limit = -1
        for access in self.plan.accesses:
            if access.dynamic:
                depths = [
                    self._depth(e, depth_of, len(outer) - 1, innermost) for e, _ in access.dynamic
                ]
                last = max(depths)
                access.hoisted = tuple(
                    depth
                    if depth < limit and _is_hoistable(e, levels[depth + 1 : last + 1])
                    else None
                    for depth, (e, _) in zip(depths, access.dynamic, strict=True)
                )
                access.depth = max(last, *(depth_of[loop] for loop in access.steps), -1)

    def _depth(
        self,
        expression: Expression,
        depth_of: dict[LoopVariable, int],
        around: int,
        innermost: int,
    ) -> int:
        """Return the innermost level on which an expression depends.

        What earlier nests left in registers is known in the level ``around`` the nest.
        """
        found = -1
        for part in parts_of(expression):
            if isinstance(part, Position):
                steps = self.plan.positions[id(part)].steps
                found = max([found, *(depth_of[loop] for loop in steps)])
            elif isinstance(part, Load) and not is_number(part.array):
                access = self.plan.loads.get(id(part))
                if access is not None:
                    found = max([found, *(depth_of[loop] for loop in access.steps)])
                elif part.array in self.plan.forwarded:
                    found = max(found, around)
                else:  # a register, which the nest itself fills
                    return innermost + 1
        return found


def _is_hoistable(expression: Expression, passed: Sequence[Level]) -> bool:
    """Return whether an index can be computed before the levels on which others depend.

    One that is checked cannot, if those levels may have no iterations.
    """
    is_checked = any(isinstance(part, IndexCheck) for part in parts_of(expression))
    return not is_checked or all(level.extent.known for level in passed)


def collapsed(
    loops: Sequence[LoopVariable],
    affines: Sequence[Affine],
    ring: Polynomials,
    apart: Collection[LoopVariable] = (),
) -> list[Level]:
    """Return loops as levels; loops along which all addresses move evenly are merged.

    Loops in ``apart`` are not merged.
    """
    levels: list[Level] = []
    for loop in loops:
        extent = ring.of(loop.extent)
        is_apart = loop in apart or (levels and levels[-1].loops[-1] in apart)
        if (
            levels
            and not is_apart
            and all(
                affine.step(levels[-1].loops[-1], ring.zero)
                is ring.mul(affine.step(loop, ring.zero), extent)
                for affine in affines
            )
        ):
            last = levels[-1]
            levels[-1] = Level((*last.loops, loop), ring.mul(last.extent, extent))
            continue
        levels.append(Level((loop,), extent))
    return levels


def plan_kernel(kernel: Kernel, polynomials: Polynomials, target: Target) -> KernelPlan:
    """Return the plan of a kernel.

    Parameters
    ----------
    kernel
        The kernel.
    polynomials
        The polynomials of the program.
    target
        The CPU.

    Raises
    ------
    IntegrityError
        If the kernel is invalid: its nests reduce outer loops, or several sets of loops.
    """
    return _plan(kernel, polynomials, target, across=False)


def plan_across(
    kernel: Kernel, plan: KernelPlan, polynomials: Polynomials, target: Target
) -> tuple[KernelPlan, list[Polynomial]] | None:
    """Return the plan of a kernel for short rows: several rows are computed at once.

    Parameters
    ----------
    kernel
        The kernel.
    plan
        Its normal plan.
    polynomials, target
        As for :func:`plan_kernel`.

    Returns
    -------
    tuple or None
        The plan, and the lengths of rows, one or several. ``None`` if there are no suitable rows.
    """
    nests = kernel.nests
    if plan.parallel is None or any(has_order(s) for nest in nests for s in nest.statements):
        return None
    if not plan.outer and not all(nest.kept for nest in plan.nests):
        return None
    vectors = [
        level
        for nest in plan.nests
        for level in (nest.reduced if not plan.outer else [*nest.kept, *nest.reduced])
        if level.is_vector
    ]
    if not vectors:
        return None
    other = _plan(kernel, polynomials, target, across=True)
    if other.parallel is None or other.parallel.extent is not plan.parallel.extent:
        return None
    if not other.is_across:
        return None
    return other, list(dict.fromkeys(level.extent for level in vectors))


def _plan(kernel: Kernel, polynomials: Polynomials, target: Target, *, across: bool) -> KernelPlan:
    # In order: polynomials number the sizes as they meet them, and the text must not vary.
    loops = dict.fromkeys([*kernel.outer, *(loop for nest in kernel.nests for loop in nest.loops)])
    fixed = {loop for loop in loops if polynomials.of(loop.extent).known == 1}
    addressing = Addressing(polynomials, set(loops), fixed)
    uses = _uses(kernel, polynomials.sizes)
    registers = {
        array for array in kernel.local if array in uses.writers and array not in uses.by_memory
    }
    scratch = [array for array in uses.writers if array in kernel.local and array not in registers]
    for array in scratch:
        statement = uses.writers[array][1]
        addressing.strides[array] = _scratch_strides(array, statement, kernel.outer, polynomials)
    planners = [
        _NestPlanner(number, kernel, addressing, uses, registers)
        for number in range(len(kernel.nests))
    ]
    for planner in planners:
        _check_reductions(kernel, planner.nest)
        planner.collect()
    affines = [affine for planner in planners for affine in planner.affines]
    running = [loop for loop in kernel.outer if loop not in fixed]
    statements = [statement for nest in kernel.nests for statement in nest.statements]
    apart = {loop for statement in statements for loop in statement.sequential}
    outer = collapsed(running, affines, polynomials, apart)
    in_order = any(map(has_order, statements))
    lanes_along: Level | None = None
    if across:
        lanes_along = outer[-1] if outer else Level((), polynomials.one)
        lanes_along.is_vector = bool(outer)
    for planner in planners:
        planner.arrange(target, in_order=in_order, across=lanes_along)
    nests = [planner.plan for planner in planners]
    if across and outer:
        lanes = min(nest.lanes for nest in nests)
        for nest in nests:
            nest.lanes, nest.unroll = lanes, 1
        across = _spread_scratch(planners, scratch, outer[-1], lanes)
    for planner in planners:
        planner.settle(outer)
    rooms = _rooms(scratch, nests, addressing, nests[0].lanes if across and outer else 1)
    plan = KernelPlan(outer, nests, registers, scratch, rooms, addressing, in_order, across)
    if in_order and not across:
        plan.is_serial = _is_serial(plan, statements, apart)
    plan.cost = sum(
        0.15 * sum(_cost_of(s, uses) for s in nest.statements) + 0.2 * len(nest.accesses)
        for nest in nests
    )
    plan.is_chunked = _is_chunked(plan)
    if plan.is_chunked:
        plan.rooms.clear()  # the totals are the parts'
    return plan


def _spread_scratch(
    planners: Sequence[_NestPlanner], scratch: Sequence[Array], level: Level, lanes: int
) -> bool:
    """Turn each element of scratch into a vector of lanes, which are iterations of an outer level.

    Returns
    -------
    bool
        Whether that is possible: not if lanes read different elements of their rows.
    """
    ring = planners[0].ring
    accesses = [
        access
        for planner in planners
        for access in planner.plan.accesses
        if access.array in scratch
    ]
    if any(loop in access.steps for access in accesses for loop in level.loops):
        return False
    for access in accesses:
        access.steps = {other: ring.scale(step, lanes) for other, step in access.steps.items()}
        access.offset = ring.scale(access.offset, lanes)
        access.dynamic = tuple(
            (expression, ring.scale(step, lanes)) for expression, step in access.dynamic
        )
        access.steps[level.loops[-1]] = ring.one
        access.is_spread = True
    return True


def _is_serial(
    plan: KernelPlan, statements: Sequence[Statement], apart: Collection[LoopVariable]
) -> bool:
    """Return whether ranges of the parallel level depend on each other.

    They do not if all loops that must run in order are inside.
    """
    if any(has_order(statement) and not statement.sequential for statement in statements):
        return True
    levels = [level for nest in plan.nests for level in nest.reduced]
    if plan.parallel is not None:
        levels.append(plan.parallel)
    return any(loop in apart for level in levels for loop in level.loops)


def _is_chunked(plan: KernelPlan) -> bool:
    if plan.outer or plan.is_serial or len(plan.nests) != 1:
        return False
    (nest,) = plan.nests
    if not nest.reduced or (nest.kept and not (nest.has_columns and len(nest.kept) == 1)):
        return False
    lengths = [level.extent.known for level in nest.reduced]
    known = math.prod(length for length in lengths if length is not None)
    is_long = None in lengths or known > (SHORTEST_CHUNK if nest.kept else SMALLEST_CHUNK)
    return is_long and known > 0


def _check_reductions(kernel: Kernel, nest: Nest) -> None:
    sets = {frozenset(s.reduction) for s in nest.statements if s.reduction}
    if len(sets) > 1 or any(loop in reduced for reduced in sets for loop in kernel.outer):
        msg = (
            f"A nest over {nest.loops} reduces {[sorted(map(str, s)) for s in sets]}: expected one "
            "set of loops, none of them an outer one."
        )
        raise IntegrityError(msg)


def _wide_parts(statement: Statement) -> tuple[Expression, ...]:
    """Return the parts of a statement whose widest dtype a vector holds.

    Positions are none of them: what reads them says how wide it is.
    """
    value = statement.value
    if isinstance(value, Conversion) and isinstance(value.argument, Position):
        return ()
    if not isinstance(value, Operation) or value.op.has_wide_inputs:
        return (value,)
    return (value, *value.arguments)


def plans_of(
    kernel: Kernel, polynomials: Polynomials, target: Target
) -> tuple[KernelPlan, ShortRows | None]:
    """Return the plan of a kernel, and the plan for short rows if it differs.

    Parameters
    ----------
    kernel, polynomials, target
        As for :func:`plan_kernel`.
    """
    plan = plan_kernel(kernel, polynomials, target)
    rows = plan_across(kernel, plan, polynomials, target)
    if rows is None:
        return plan, None
    across, lengths = rows
    is_reduced = any(nest.reductions for nest in across.nests)
    most = SHORT_ROW * across.nests[0].lanes if is_reduced else SHORT_COPY
    if any(length.known is not None and length.known > most for length in lengths):
        return plan, None
    unknown = [length for length in lengths if length.known is None]
    if not unknown:
        return across, None
    return plan, ShortRows(across, "", unknown, most)
