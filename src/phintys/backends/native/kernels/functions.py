"""Kernels as functions.

A kernel becomes ``void kernel(ptr arguments, i64 begin, i64 end)``. The arguments are a block of
8-byte slots, pointers and numbers that the caller computes (:class:`KernelCode.slots` says which);
``begin`` and ``end`` are a range of the outermost level that is not reduced, so that threads can
share the work; a kernel without such a level ignores them. Failures are written to the status that
a slot points to.

A reduction of everything, or of columns, has two functions. The first takes ranges of parts, and
leaves their totals in memory; the second merges them, in order: ``end`` is the number of parts.

Kernels that need the same code share one function
(:mod:`~phintys.backends.native.kernels.code_sharing`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import computed_if, ending_if, when
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.types import BOOL, INT8, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.frame import OUT_OF_MEMORY
from phintys.backends.native.kernels.arguments import (
    Number,
    Pointer,
    Scope,
    ScratchBytes,
    ScratchOffset,
    Slot,
    Status,
)
from phintys.backends.native.kernels.code_sharing import KernelForm, PlannedKernel
from phintys.backends.native.kernels.kernel_code import KernelCode, ShortRows
from phintys.backends.native.kernels.plans import KernelPlan
from phintys.backends.native.kernels.reductions import ReductionWriter
from phintys.backends.native.limits import STACK_BYTES

if TYPE_CHECKING:
    from phintys.backends.native.failures import Failure
    from phintys.backends.native.polynomials import Polynomials
    from phintys.backends.native.steps.kernel import Kernel


class KernelWriter:
    """Writes the kernels of a program into a module.

    Parameters
    ----------
    module
        Where the functions go.
    polynomials
        Those of the program.
    """

    def __init__(self, module: Module, polynomials: Polynomials) -> None:
        self.module = module
        self.polynomials = polynomials
        self._symbols: dict[str, str] = {}
        self._written: dict[tuple[Hashable, ...], tuple[KernelForm, KernelCode]] = {}

    def write(self, kernels: Mapping[Kernel, PlannedKernel]) -> dict[Kernel, KernelCode]:
        """Write the kernels of a program, one function for all that need the same code."""
        written: dict[Kernel, KernelCode] = {}
        for kernel, planned in kernels.items():
            form = planned.form
            if form is None:
                written[kernel] = KernelCode(planned.plan, "", None, [], [])
            elif planned.first is None:
                written[kernel] = self._kernel(planned, form)
            else:
                theirs = kernels[planned.first].form
                assert theirs is not None
                written[kernel] = _same_code(theirs, written[planned.first], form)
        return written

    def _kernel(self, planned: PlannedKernel, form: KernelForm) -> KernelCode:
        """Write a kernel, or return the code of one of the same form that has other sizes."""
        plan, rows = planned.plan, planned.for_short_rows
        written = self._written.get(form.key)
        if written is not None:
            code = self._code_for_other_sizes(*written, form, plan, rows)
            if code is not None:
                return code
        code = self._write(plan, rows, form)
        if form.is_complete:
            self._written[form.key] = (form, code)
        return code

    def _code_for_other_sizes(
        self,
        theirs: KernelForm,
        code: KernelCode,
        form: KernelForm,
        plan: KernelPlan,
        rows: ShortRows | None,
    ) -> KernelCode | None:
        """Return the code of a kernel by that of one of its form that has other sizes.

        ``None`` if their plans lead to different code.
        """
        if not _are_alike(plan, code.plan) or (rows is None) != (code.for_short_rows is None):
            return None
        atoms = dict(zip(theirs.atoms, form.atoms, strict=True))
        if not _atoms_of(code.slots) <= atoms.keys():
            return None
        memories = dict(zip(theirs.memories, form.memories, strict=True))
        rooms: dict[object, object] = dict(zip(code.plan.rooms, plan.rooms, strict=True))
        if rows is not None and code.for_short_rows is not None:
            their_rows = code.for_short_rows
            if rows.most != their_rows.most or not _are_alike(rows.plan, their_rows.plan):
                return None
            rooms |= zip(their_rows.plan.rooms, rows.plan.rooms, strict=True)
            rows = replace(rows, symbol=their_rows.symbol)
        renamed = self.polynomials.renamed
        slots: list[Slot] = []
        for slot in code.slots:
            if isinstance(slot, Pointer):
                slots.append(Pointer(memories[slot.array], renamed(slot.offset, atoms)))
            elif isinstance(slot, Number):
                slots.append(Number(renamed(slot.value, atoms)))
            elif isinstance(slot, ScratchOffset):
                slots.append(ScratchOffset(rooms[slot.room], slot.is_across))
            else:
                slots.append(slot)
        failures = dict(zip(theirs.failures, form.failures, strict=True))
        return replace(
            code,
            plan=plan,
            slots=slots,
            failures=[failures[failure] for failure in code.failures],
            for_short_rows=rows,
            numbers=form.table(),
        )

    def _write(self, plan: KernelPlan, across: ShortRows | None, form: KernelForm) -> KernelCode:
        slots: dict[Slot, int] = {}
        code = KernelCode(plan, "", None, [], [], numbers=form.table())
        code.symbol, code.partials = self._function(plan, slots, code.failures, form.cells)
        if plan.is_chunked:
            code.combiner, _ = self._function(
                plan, slots, code.failures, form.cells, is_combiner=True
            )
        if across is not None:
            symbol, _ = self._function(across.plan, slots, code.failures, form.cells)
            code.for_short_rows = replace(across, symbol=symbol)
        code.slots = list(slots)
        return code

    def _function(
        self,
        plan: KernelPlan,
        slots: dict[Slot, int],
        failures: list[Failure],
        cells: dict[int, int],
        *,
        is_combiner: bool = False,
    ) -> tuple[str, int]:
        """Write a function; if there is one with the same text, return that one instead.

        Returns
        -------
        tuple
            The symbol, and the cells that each part of a reduction needs.
        """
        function = self.module.function("kernel", VOID, [PTR, INT64, INT64])
        writer = _FunctionWriter(Builder(function), plan, slots, failures)
        writer.ev.cells = cells
        partials = 0
        if is_combiner:
            writer.write_combiner()
        else:
            partials = writer.write_kernel()
        text = str(function)
        symbol = self._symbols.get(text)
        if symbol is None:
            symbol = self._symbols[text] = function.name = f"kernel{len(self._symbols)}"
        else:
            self.module.functions.remove(function)
        return symbol, partials


def _are_alike(plan: KernelPlan, other: KernelPlan) -> bool:
    """Return whether two plans of one form lead to the same code."""
    return _outline(plan) == _outline(other)


def _outline(plan: KernelPlan) -> list[object]:
    found: list[object] = [len(plan.outer), plan.is_serial, plan.is_across, plan.is_chunked]
    found += [len(plan.registers), len(plan.scratch), len(plan.rooms), plan.cost]
    for nest in plan.nests:
        found += [len(nest.kept), len(nest.reduced), nest.lanes, nest.unroll]
        found += [nest.vector is None, nest.has_columns, nest.is_tiled]
    return found


def _atoms_of(slots: Sequence[Slot]) -> set[int]:
    polynomials = [slot.offset for slot in slots if isinstance(slot, Pointer)]
    polynomials += [slot.value for slot in slots if isinstance(slot, Number)]
    return {atom for one in polynomials for atoms, _ in one.terms for atom in atoms}


def _same_code(theirs: KernelForm, code: KernelCode, form: KernelForm) -> KernelCode:
    """Return the code of a kernel by that of another one of its form."""
    memories = dict(zip(theirs.memories, form.memories, strict=True))
    failures = dict(zip(theirs.failures, form.failures, strict=True))
    return replace(
        code,
        slots=[
            Pointer(memories[slot.array], slot.offset) if isinstance(slot, Pointer) else slot
            for slot in code.slots
        ],
        failures=[failures[failure] for failure in code.failures],
        numbers=form.table(),
        has_own_plan=False,
    )


class _FunctionWriter(ReductionWriter):
    """Writes one function of a kernel."""

    def write_kernel(self) -> int:
        """Write the function that computes; return the cells of a part of a reduction."""
        free = self._take_scratch()
        cells = 0
        if self.plan.is_chunked:
            cells = self.parts(Scope())
        else:
            self.outer(0, Scope())
        self._end(free)
        return cells

    def write_combiner(self) -> None:
        """Write the function that merges the totals of parts."""
        self.merged_parts()
        self._end(lambda: None)

    def _end(self, free: Callable[[], None]) -> None:
        b = self.b
        b.jump(self.leave)
        b.begin(self.leave)
        free()
        b.ret()
        self.prelude.close()

    def _take_scratch(self) -> Callable[[], None]:
        """Allocate memory that is private to this call; return what frees it."""
        b, plan = self.b, self.plan
        if not plan.rooms:
            return lambda: None
        bytes_ = self.prelude.slot(ScratchBytes(plan.is_across))
        slot = b.slot(INT64, STACK_BYTES // 8)
        is_large = bytes_ > STACK_BYTES

        def allocate() -> list[Value]:
            taken = b.call("phintys_malloc", PTR, [bytes_])
            with ending_if(b, b.write(BOOL, f"icmp eq ptr {taken.text}, null")):
                status = self.prelude.slot(Status(), PTR)
                b.store(b.constant(INT64, OUT_OF_MEMORY), status)
                b.store(bytes_, b.offset(status, 1, INT64))  # the caller adds the first's number
                b.ret()
            return [taken]

        (memory,) = computed_if(b, is_large, allocate, [slot])
        for room in plan.rooms:
            offset = self.prelude.slot(ScratchOffset(room, plan.is_across))
            self.ev.rooms[room] = b.offset(memory, offset, INT8)

        def free() -> None:
            with when(b, is_large):
                b.call("phintys_free", VOID, [memory])

        return free
