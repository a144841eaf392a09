"""Kernels as functions.

A kernel becomes ``void kernel(ptr arguments, i64 begin, i64 end)``. The arguments are a block of
8-byte slots, pointers and numbers that the caller computes (:class:`KernelCode.slots` says which);
``begin`` and ``end`` are a range of the outermost level that is not reduced, so that threads can
share the work; a kernel without such a level ignores them. Failures are written to the status that
a slot points to.

A reduction of everything has two functions. The first takes ranges of parts, and leaves their
totals in memory; the second merges them, in order: ``end`` is the number of parts.

Kernels that differ in nothing but their arguments have the same text, and share one function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.control import when
from phintys.backends.native.emit.layout import OUT_OF_MEMORY
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.planning import SHORT_ROW, plan_across, plan_kernel
from phintys.backends.native.emit.plans import KernelPlan
from phintys.backends.native.emit.reductions import ReductionWriter
from phintys.backends.native.emit.scope import Scope, ScratchBytes, ScratchOffset, Slot, Status
from phintys.backends.native.emit.types import BOOL, INT8, INT64, PTR, VOID

if TYPE_CHECKING:
    from phintys.backends.native.polynomials import Polynomial, Polynomials
    from phintys.backends.native.program import Failure, Kernel

__all__ = ["KernelCode", "KernelWriter", "ShortRows"]

STACK_SCRATCH = 8192
"""Bytes of a kernel's own memory that are taken from the stack."""


@dataclass(eq=False, slots=True)
class ShortRows:
    """A function that computes several rows at once, each in a lane.

    Attributes
    ----------
    plan
        How it does that.
    symbol
        The function.
    length
        The number of elements in a row.
    most
        The length up to which the function is taken.
    """

    plan: KernelPlan
    symbol: str
    length: Polynomial
    most: int


@dataclass(eq=False, slots=True)
class KernelCode:
    """A kernel's functions, and what calling them takes.

    Attributes
    ----------
    plan
        How the kernel is carried out.
    symbol
        The function.
    combiner
        The function that merges parts of a reduction, if any.
    slots
        The arguments, in order.
    failures
        What can go wrong, in the order of their numbers, which begin with 1.
    partials
        8-byte cells that each part of a reduction needs.
    for_short_rows
        The function for short rows, if it is another one, and when it is taken.
    """

    plan: KernelPlan
    symbol: str
    combiner: str | None
    slots: list[Slot]
    failures: list[Failure]
    partials: int = 0
    for_short_rows: ShortRows | None = None


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

    def write(self, kernel: Kernel) -> KernelCode:
        """Write a kernel, or find an equal one."""
        plan = plan_kernel(kernel, self.polynomials, self.module.target)
        rows = plan_across(kernel, plan, self.polynomials, self.module.target)
        most = 0 if rows is None else SHORT_ROW * rows[0].nests[0].lanes
        if rows is not None and rows[1].known is not None:
            plan = rows[0] if rows[1].known <= most else plan
            rows = None
        slots: dict[Slot, int] = {}
        failures: list[Failure] = []
        symbol, cells = self._function(plan, slots, failures)
        code = KernelCode(plan, symbol, None, [], failures, cells)
        if plan.is_chunked:
            code.combiner, _ = self._function(plan, slots, failures, is_combiner=True)
        if rows is not None:
            across, length = rows
            symbol, _ = self._function(across, slots, failures)
            code.for_short_rows = ShortRows(across, symbol, length, most)
        code.slots = list(slots)
        return code

    def _function(
        self,
        plan: KernelPlan,
        slots: dict[Slot, int],
        failures: list[Failure],
        *,
        is_combiner: bool = False,
    ) -> tuple[str, int]:
        """Write a function; if there is one with the same text, forget it and take that.

        Returns
        -------
        tuple
            The symbol, and the cells that each part of a reduction needs.
        """
        function = self.module.function("kernel", VOID, [PTR, INT64, INT64])
        writer = _FunctionWriter(Builder(function), plan, slots, failures)
        cells = 0
        if is_combiner:
            writer.write_combiner()
        else:
            cells = writer.write_kernel()
        text = str(function)
        symbol = self._symbols.get(text)
        if symbol is None:
            symbol = self._symbols[text] = function.name = f"kernel{len(self._symbols)}"
        else:
            self.module.functions.remove(function)
        return symbol, cells


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
        """Get memory that only this call sees; return what gives it back."""
        b, plan = self.b, self.plan
        if not plan.rooms:
            return lambda: None
        bytes_ = self.prelude.slot(ScratchBytes(plan.is_across))
        slot = b.slot(INT64, STACK_SCRATCH // 8)
        heap, ready = b.new_block("heap"), b.new_block("ready")
        is_small = bytes_ <= STACK_SCRATCH
        before = b.block
        b.branch(is_small, ready, heap)
        b.begin(heap)
        taken = b.call("phintys_malloc", PTR, [bytes_])
        failed, fine = b.new_block("failed"), b.new_block("fine")
        b.branch(b.write(BOOL, f"icmp eq ptr {taken.text}, null"), failed, fine)
        b.begin(failed)
        b.store(b.constant(INT64, OUT_OF_MEMORY), self.prelude.slot(Status(), PTR))
        b.ret()
        b.begin(fine)
        b.jump(ready)
        b.begin(ready)
        memory = b.phi(PTR)
        memory.add(slot, before)
        memory.add(taken, fine)
        for room in plan.rooms:
            offset = self.prelude.slot(ScratchOffset(room, plan.is_across))
            self.ev.rooms[room] = b.offset(memory.value, offset, INT8)

        def free() -> None:
            with when(b, ~is_small):
                b.call("phintys_free", VOID, [memory.value])

        return free
