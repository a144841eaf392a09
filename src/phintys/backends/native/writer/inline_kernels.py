"""Kernels that are written where they run: in the body of a loop of steps.

They have no loops, or compute short vectors. A call of a function, with its block of arguments,
would take longer than what they compute. Numbers and vectors that steps of the loop pass on are not
in memory, but in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from phintys import scalar as ps
from phintys.backends.native.assembler.casting import cast
from phintys.backends.native.assembler.types import INT64, MachineType, type_of
from phintys.backends.native.assembler.values import Complex, Value
from phintys.backends.native.expressions import Expression, Load, Operation, Statement
from phintys.backends.native.kernels.arguments import (
    Number,
    Pointer,
    Prelude,
    Scope,
    Slot,
    State,
    Status,
    splat,
)
from phintys.backends.native.kernels.evaluation import Evaluator
from phintys.backends.native.kernels.loops import Bounds, Places
from phintys.backends.native.kernels.reductions import ReductionWriter, Totals
from phintys.backends.native.writer.register_code import RegisterCode, lanes_of

if TYPE_CHECKING:
    from phintys.backends.native.failures import Failure
    from phintys.backends.native.kernels.access import Access
    from phintys.backends.native.kernels.accumulators import Accumulator
    from phintys.backends.native.kernels.accumulators import State as Carried
    from phintys.backends.native.kernels.plans import KernelPlan, Level, NestPlan

_FUSED = {"float32", "float64"}


class _InlinePrelude(Prelude):
    """The arguments of a kernel that is written where it runs: computed there, or before loops."""

    def __init__(self, registers: RegisterCode) -> None:
        self.b = registers.b
        self.slots = {}
        self._registers = registers
        self._values = {}

    @contextmanager
    def writing(self) -> Generator[None]:
        """Continue at the same place."""
        yield

    def slot(self, slot: Slot, type: MachineType = INT64) -> Value:
        """Return an argument."""
        found = self._values.get(slot)
        if found is None:
            found = self._values[slot] = self._argument(slot)
        return found

    def _argument(self, slot: Slot) -> Value:
        registers = self._registers
        if isinstance(slot, Pointer):
            return registers.addresses.address(slot.array, slot.offset)
        if isinstance(slot, Number):
            return registers.sizes.polynomial(slot.value)
        if isinstance(slot, Status):
            return registers.code.status()
        assert isinstance(slot, State)
        return registers.code.state()


class _InlineEvaluator(Evaluator):
    """Emits the computation of single numbers, which may stay in registers."""

    registers: RegisterCode

    def _read(self, access: Access, scope: Scope) -> Value | Complex:
        memory = access.array.memory
        if scope.lanes > 1:
            row = self.registers.latest.get((access.array, access.offset))
            if row is not None:
                return row
        found = self.registers.register(memory)
        if found is None and not access.dynamic:
            found = self.registers.invariant(memory)
        if found is None:
            return super()._read(access, scope)
        return splat(self.b, found, scope.lanes) if lanes_of(found) < scope.lanes else found

    def _evaluate(self, expression: Expression, scope: Scope) -> Value | Complex:
        """Return the value of an expression; a state times a number, plus another, in one step.

        The latency of a chain of such states is all that the time of a loop depends on. Differences
        are never fused: they may have to be exactly 0, such as those of two equal products.
        """
        factors = self._fused(expression)
        if factors is None:
            return super()._evaluate(expression, scope)
        type = type_of(expression.dtype, scope.lanes)
        values = [cast(self.b, self.evaluate(one, scope), type) for one in factors]
        x, y, z = (one for one in values if isinstance(one, Value))
        return self.b.fma(x, y, z)

    def _fused(self, expression: Expression) -> tuple[Expression, Expression, Expression] | None:
        if (
            not isinstance(expression, Operation)
            or expression.op is not ps.add
            or expression.dtype.name not in _FUSED
            or len(expression.arguments) != 2
            or not self.b.target.has_fma
        ):
            return None
        first, second = expression.arguments
        for one, other in ((first, second), (second, first)):
            product, rest = self._computed(one), self._computed(other)
            if (
                isinstance(product, Operation)
                and product.op is ps.mul
                and len(product.arguments) == 2
                and not (isinstance(rest, Operation) and rest.op in {ps.mul, ps.neg})
                and product.dtype == expression.dtype
                and all(one.dtype.kind != "c" for one in (*product.arguments, other))
                and any(map(self._is_state, product.arguments))
            ):
                return *product.arguments, other
        return None

    def _computed(self, expression: Expression) -> Expression:
        """Return the expression for a number that the kernel does not read from memory."""
        if not isinstance(expression, Load) or id(expression) in self.nest.loads:
            return expression
        written = (one for one in self.nest.statements if one.target is expression.array)
        return next((one.value for one in written), expression)

    def _is_state(self, expression: Expression) -> bool:
        return isinstance(expression, Load) and self.registers.is_in_register(
            expression.array.memory
        )

    def write(self, statement: Statement, value: Value | Complex, scope: Scope) -> None:
        """Store the value of a statement, in a register if it stays there."""
        memory = statement.target.memory
        access = self.nest.stores.get(id(statement))
        if access is None or not self.registers.is_in_register(memory):
            super().write(statement, value, scope)
            if access is not None and scope.lanes > 1:
                self.registers.row_written(access, scope.arrays[statement.target, scope.lanes])
            return
        target = type_of(statement.target.dtype, scope.lanes)
        if value.type is not target:
            value = cast(self.b, value, target)
        scope.arrays[statement.target, scope.lanes] = value
        self.registers.set_register(memory, value)

    @contextmanager
    def _failing(self, condition: Value) -> Generator[None]:
        with self.registers.code.failing(condition):
            yield

    def _set_status(self, failure: Failure, numbers: Iterable[Value | int]) -> None:
        self.registers.code.set_status(self.registers.code.main.failure(failure), *numbers)


class InlineKernel(ReductionWriter):
    """Writes a kernel where it runs: one without loops, or one that computes a short vector.

    Parameters
    ----------
    registers
        What is in registers.
    plan
        How the kernel is carried out.
    mask
        The lanes of short vectors that are there; ``None`` for all.
    """

    def __init__(
        self, registers: RegisterCode, plan: KernelPlan, mask: Value | None = None
    ) -> None:
        self.b = registers.b
        self.plan = plan
        self.prelude = _InlinePrelude(registers)
        self.leave = registers.b.new_block("leave")
        self.ev = _InlineEvaluator(self.b, self.prelude, plan, [], self.leave)
        self.ev.registers = registers
        self._tile = None
        self._mask = mask

    def write(self) -> None:
        """Write the kernel."""
        self.outer(0, Scope())

    def bounds(self, level: Level) -> Bounds:
        """Return where a level begins and ends."""
        return self.b.constant(INT64, 0), self.prelude.number(level.extent)

    def carrying(
        self,
        nest: NestPlan,
        bounds: Bounds,
        unroll: int,
        body: Callable[[Places, Carried], Carried],
        state: Carried,
    ) -> Carried:
        """Write the only pass over a vector, whose lanes are all elements."""
        return body([(self.b.constant(INT64, 0), self._mask)], state)

    def _long_rows(
        self, nest: NestPlan, level: Level, unroll: int, body: Callable[[Places], None]
    ) -> None:
        self.vectors(nest, self.bounds(level), unroll, body)

    def _blocks(
        self,
        nest: NestPlan,
        scopes: list[Scope],
        accs: list[Accumulator],
        totals: Totals,
        bounds: Bounds,
    ) -> Totals:
        return self._folded(accs, totals, self._innermost(nest, scopes, accs, bounds))
