"""Code for the expressions of a nest: loads, stores, index checks and scalar ops."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phintys._base.errors import IntegrityError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.casting import cast
from phintys.backends.native.assembler.control import leaving, loop
from phintys.backends.native.assembler.elements import gather, load, scatter, store
from phintys.backends.native.assembler.operations import emit
from phintys.backends.native.assembler.scalar_ops import (
    emit_literal,
    emit_scalar_op,
    is_folded,
)
from phintys.backends.native.assembler.types import INT64, PTR, UINT64, MachineType, type_of
from phintys.backends.native.assembler.values import Complex, Value, components, joined
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    IndexCheck,
    Literal,
    Load,
    Operation,
    Position,
    SizeValue,
    Statement,
)
from phintys.backends.native.failures import Failure
from phintys.backends.native.kernels.access import Access, Affine
from phintys.backends.native.kernels.arguments import (
    FailureBase,
    KernelNumbers,
    Prelude,
    Scope,
    Status,
    splat,
)
from phintys.backends.native.kernels.plans import KernelPlan, Level, NestPlan, is_number

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Block
    from phintys.backends.native.polynomials import Polynomial

Number = Value | Complex


class Evaluator:
    """Emits the computation of one element, or of a vector of elements.

    Parameters
    ----------
    b, prelude
        The builder and the function's first block.
    plan
        The kernel.
    failures
        The possible failures in the kernel; new ones are added.
    leave
        The block that ends the function.

    Attributes
    ----------
    nest
        The nest that is being emitted.
    rooms
        Addresses of memory private to this call of the kernel: that of arrays, and of nests that
        reduce many columns.
    cells
        Maps the ``id`` of an expression to its place in the table of numbers that is an argument.
    """

    def __init__(
        self, b: Builder, prelude: Prelude, plan: KernelPlan, failures: list[Failure], leave: Block
    ) -> None:
        self.b = b
        self.prelude = prelude
        self.plan = plan
        self.failures = failures
        self.leave = leave
        self.nest: NestPlan = plan.nests[0]
        self.rooms: dict[object, Value] = {}
        self.cells: dict[int, int] = {}

    # ---- addresses ---------------------------------------------------------------------------

    def _base(self, access: Access) -> Value:
        memory = self.rooms.get(access.array)
        if memory is None:
            return self.prelude.pointer(access.array, access.offset)
        if not access.offset.terms:
            return memory
        offset = self.prelude.number(access.offset)
        return self.b.offset(memory, offset, type_of(access.array.dtype))

    def _pointer(self, access: Access, scope: Scope) -> Value:
        """Return the address of an access at this place, of lane 0."""
        found = scope.find("pointers", access)
        return self._base(access) if found is None else found

    def _move(self, access: Access, scope: Scope, count: Value, step: Polynomial) -> None:
        """Add ``count * step`` elements to the address of an access at this place."""
        pointer = self._pointer(access, scope)
        if step.known != 1:
            count = count * self.prelude.number(step)
        scope.pointers[access] = self.b.offset(pointer, count, type_of(access.array.dtype))

    def enter(self, level: Level, nests: list[NestPlan], scope: Scope) -> None:
        """Compute addresses at the beginning of an iteration of a level."""
        last = level.loops[-1]
        index = scope.index[last]
        for nest in nests:
            for access in nest.accesses:
                step = access.steps.get(last)
                if step is not None and not (level.is_vector and access.is_spread):
                    self._move(access, scope, index, step)

    def hoist(self, nest: NestPlan, scope: Scope, first: int, last: int) -> None:
        """Read values that do not change further inside: those of depths ``first ... last``."""
        reads = {id(access) for access in nest.loads.values()}
        for access in nest.accesses:
            for depth, (expression, stride) in zip(access.hoisted, access.dynamic, strict=True):
                if depth is not None and first <= depth <= last:
                    self._move(access, scope, self._integer(expression, scope), stride)
            if first <= access.depth <= last and id(access) in reads:
                value = self._read(access, scope)
                scope.loaded[access, scope.lanes] = value
                if nest.lanes > scope.lanes:
                    scope.loaded[access, nest.lanes] = splat(self.b, value, nest.lanes)

    def spread(self, nest: NestPlan, scope: Scope) -> None:
        """Broadcast values left in registers by earlier nests to all lanes, before the loops."""
        if nest.lanes == 1:
            return
        for array in nest.forwarded:
            if scope.find("arrays", (array, nest.lanes)) is None:
                value = scope.find("arrays", (array, 1))
                if value is not None:
                    scope.arrays[array, nest.lanes] = splat(self.b, value, nest.lanes)

    def _integer(self, expression: Expression, scope: Scope) -> Value:
        value = self.evaluate(expression, scope)
        if not isinstance(value, Value) or value.type.name != "int64":
            msg = f"An index from memory must be an int64, got {value}."
            raise IntegrityError(msg)
        return value

    def _lane_offsets(self, access: Access, scope: Scope) -> Value | None:
        """Return the element offsets of the lanes from lane 0; ``None`` if they are contiguous.

        At a scalar place, the offset of the element from the address.
        """
        total: Value | None = None
        step = self._lane_step(access) if scope.lanes > 1 else None
        for depth, (expression, stride) in zip(access.hoisted, access.dynamic, strict=True):
            if depth is None:
                index = self._integer(expression, scope)
                if stride.known != 1:
                    index = index * self.prelude.spread(stride, scope.lanes)
                total = index if total is None else total + index
        if step is None or (total is None and step.known == 1):
            return total
        steps = self.prelude.lane_steps(step, scope.lanes)
        return steps if total is None else total + steps

    def _lane_step(self, affine: Affine) -> Polynomial | None:
        """Return the step from lane to lane."""
        vector = self.nest.vector
        return None if vector is None else affine.steps.get(vector)

    # ---- reading and writing -----------------------------------------------------------------

    def read(self, access: Access, scope: Scope) -> Value:
        """Return an element of real numbers at this place."""
        value = self._read(access, scope)
        assert isinstance(value, Value)
        return value

    def _read(self, access: Access, scope: Scope) -> Number:
        type, lanes = type_of(access.array.dtype), scope.lanes
        found = scope.find("loaded", (access, lanes))
        if found is not None:
            return found
        pointer = self._pointer(access, scope)
        offsets = self._lane_offsets(access, scope)
        if offsets is not None:
            addresses = self.b.offset(pointer, offsets, type)
            return gather(self.b, type.of(lanes), addresses, scope.mask)
        if lanes > 1 and self.nest.vector not in access.steps:
            return splat(self.b, load(self.b, type, pointer), lanes)
        return load(self.b, type.of(lanes), pointer, scope.mask)

    def write(self, statement: Statement, value: Number, scope: Scope) -> None:
        """Store the value of a statement, and remember it for statements that read it."""
        target = type_of(statement.target.dtype, scope.lanes)
        if value.type is not target:
            value = cast(self.b, value, target)
        access = self.nest.stores.get(id(statement))
        if statement.accumulate is not None:
            assert access is not None
            self._accumulate(statement, access, value, scope)
            return
        scope.arrays[statement.target, scope.lanes] = value
        if access is None:
            return
        pointer = self._pointer(access, scope)
        offsets = self._lane_offsets(access, scope)
        if offsets is not None:
            addresses = self.b.offset(pointer, offsets, target)
            scatter(self.b, value, addresses, scope.mask)
        elif scope.lanes > 1 and self.nest.vector not in access.steps:
            self._store_last(value, pointer, scope)
        else:
            store(self.b, value, pointer, scope.mask)

    def _store_last(self, value: Number, pointer: Value, scope: Scope) -> None:
        """Store the value of the last iteration, if all iterations write the same element."""
        lane: Value | int = scope.lanes - 1
        if scope.mask is not None:
            lane = self._count(scope) - 1
        parts = [self.b.extract(p, lane) for p in components(value)]
        store(self.b, joined(parts), pointer)

    def _count(self, scope: Scope) -> Value:
        """Return the number of active lanes; they are the first ones."""
        assert scope.mask is not None
        return self._of_bits("ctpop", scope.mask)

    def _accumulate(
        self, statement: Statement, access: Access, value: Number, scope: Scope
    ) -> None:
        """Combine values with elements one after the other, as they may be the same element."""
        b = self.b
        type = type_of(statement.target.dtype)
        pointer = self._pointer(access, scope)
        offsets = self._lane_offsets(access, scope)
        op = statement.accumulate or ""

        def add(address: Value, lanes: int, x: Number, mask: Value | None) -> None:
            before = load(b, type.of(lanes), address, mask)
            store(b, emit(b, op, [before, x], type.name), address, mask)

        if offsets is None and (scope.lanes == 1 or self.nest.vector in access.steps):
            add(pointer, scope.lanes, value, scope.mask)
            return
        if scope.lanes == 1:
            assert offsets is not None
            add(b.offset(pointer, offsets, type), 1, value, None)
            return
        if offsets is None:
            offsets = b.constant(INT64.of(scope.lanes), 0)
        if scope.mask is None:
            if statement.is_grouped:
                value = self._sums_of_groups(op, offsets, value, type.name)
            places = [
                b.offset(pointer, b.extract(offsets, lane), type) for lane in range(scope.lanes)
            ]
            before = [load(b, type, place) for place in places] if statement.is_grouped else []
            for lane, place in enumerate(places):
                x = joined([b.extract(part, lane) for part in components(value)])
                if before:
                    store(b, emit(b, op, [before[lane], x], type.name), place)
                else:
                    add(place, 1, x, None)
            return
        addresses = b.slot(INT64.of(scope.lanes))
        b.store(offsets, addresses, align=8)
        slots = [b.slot(_stored(part)) for part in components(value)]
        for part, slot in zip(components(value), slots, strict=True):
            store(b, part, slot)
        with loop(b, 0, self._count(scope), runs=True) as lane:
            offset = b.load(INT64, b.offset(addresses, lane.index, INT64))
            parts: list[Value] = []
            for part, slot in zip(components(value), slots, strict=True):
                element = load(b, part.type.of(1), b.offset(slot, lane.index, part.type))
                assert isinstance(element, Value)
                parts.append(element)
            add(b.offset(pointer, offset, type), 1, joined(parts), None)

    def _sums_of_groups(self, op: str, offsets: Value, value: Number, dtype: str) -> Number:
        """Return for each lane the sum of the lanes up to it that go to the same element.

        Such lanes are contiguous. So the last of them has the whole sum, and no lane needs to wait
        for the write of the previous one.
        """
        b, lanes = self.b, offsets.type.lanes
        step = 1
        while step < lanes:
            order = [max(lane - step, 0) for lane in range(lanes)]
            is_there = b.lane_numbers(offsets.type) >= step
            same = b.eq(b.shuffle(offsets, offsets, order), offsets) & is_there
            moved = joined([b.shuffle(part, part, order) for part in components(value)])
            both = emit(b, op, [moved, value], dtype)
            pairs = zip(components(both), components(value), strict=True)
            value = joined([b.select(same, one, other) for one, other in pairs])
            step *= 2
        return value

    # ---- expressions -------------------------------------------------------------------------

    def evaluate(self, expression: Expression, scope: Scope) -> Number:
        """Return the value of an expression at this place."""
        found = scope.values.get(id(expression))
        if found is None:
            found = scope.values[id(expression)] = self._evaluate(expression, scope)
        return found

    def _evaluate(self, expression: Expression, scope: Scope) -> Number:
        b, lanes = self.b, scope.lanes
        type = type_of(expression.dtype, lanes)
        if isinstance(expression, Load):
            return self._load(expression, scope)
        if isinstance(expression, Operation):
            return self._operation(expression, scope)
        if isinstance(expression, Conversion):
            return cast(b, self.evaluate(expression.argument, scope), type)
        if isinstance(expression, Literal):
            return self._number(expression, expression.value, type)
        if isinstance(expression, SizeValue):
            return self.prelude.spread(self.plan.addressing.polynomials.of(expression.size), lanes)
        if isinstance(expression, Position):
            return self.position(self.nest.positions[id(expression)], scope)
        if isinstance(expression, IndexCheck):
            return self._check_index(expression, scope)
        msg = f"There is no code for {expression!r}."
        raise IntegrityError(msg)

    def _operation(self, operation: Operation, scope: Scope) -> Number:
        op, dtype = operation.op, operation.dtype
        if len(operation.arguments) < 3 or not is_folded(op):
            values = [self.evaluate(argument, scope) for argument in operation.arguments]
            return emit_scalar_op(self.b, op, values, dtype)
        # Each operand is added as soon as it is there: in the sum of a recursion, all of them would
        # be in registers until the last one is, and all additions would wait for that.
        first, *others = operation.arguments
        total = self.evaluate(first, scope)
        for argument in others:
            total = emit_scalar_op(self.b, op, [total, self.evaluate(argument, scope)], dtype)
        return total

    def _load(self, expression: Load, scope: Scope) -> Number:
        array = expression.array
        if is_number(array):
            assert array.data is not None
            type = type_of(array.dtype, scope.lanes)
            return self._number(expression, array.data.reshape(-1)[0], type)
        access = self.nest.loads.get(id(expression))
        if access is None:
            found = scope.find("arrays", (array, scope.lanes))
            if found is None:
                scalar = scope.find("arrays", (array, 1))
                if scalar is None:
                    msg = f"{array.label} is read before it is computed."
                    raise IntegrityError(msg)
                found = splat(self.b, scalar, scope.lanes)
            return found
        value = scope.find("loaded", (access, scope.lanes))
        if value is None:
            value = scope.loaded[access, scope.lanes] = self._read(access, scope)
        return value

    def _number(self, expression: Expression, value: Any, type: MachineType) -> Number:
        """Return a number of the program: a constant, or read from the kernel's table."""
        cell = self.cells.get(id(expression))
        if cell is None:
            return emit_literal(self.b, value, type)
        address = self.b.offset(self.prelude.slot(KernelNumbers(), PTR), cell, INT64)
        return splat(self.b, load(self.b, type.of(1), address), type.lanes)

    def position(self, affine: Affine, scope: Scope) -> Value:
        """Return a sum of steps of loops."""
        total = self.prelude.number(affine.offset)
        for loop_, step in affine.steps.items():
            counter = scope.find("index", loop_)
            if counter is None:
                continue  # merged with a loop further inside
            total = total + (counter if step.known == 1 else counter * self.prelude.number(step))
        if scope.lanes == 1:
            lanes = total
        else:
            lanes = self.b.splat(total, scope.lanes)
            step = self._lane_step(affine)
            if step is not None:
                lanes = lanes + self.prelude.lane_steps(step, scope.lanes)
                if step.known == 1 and not affine.dynamic:
                    self.b.ramps[lanes.text] = total
        for expression, stride in affine.dynamic:
            index = self._integer(expression, scope)
            lanes = lanes + index * self.prelude.spread(stride, scope.lanes)
        return lanes

    def _check_index(self, check: IndexCheck, scope: Scope) -> Value:
        given = cast(self.b, self.evaluate(check.argument, scope), INT64.of(scope.lanes))
        assert isinstance(given, Value)
        size = self.prelude.spread(self.plan.addressing.polynomials.of(check.size), scope.lanes)
        index = self.b.select(given < 0, given + size, given)
        unsigned = UINT64.of(scope.lanes)
        outside = self.b.bitcast(size, unsigned) <= self.b.bitcast(index, unsigned)
        self.fail_where(outside, check.failure, scope, given, size)
        return index

    # ---- failures ----------------------------------------------------------------------------

    def fail_where(
        self,
        where: Value,
        failure: Failure,
        scope: Scope,
        first: Value | None = None,
        second: Value | None = None,
    ) -> None:
        """End the function if a mask is set, with the two numbers of the first such lane."""
        b = self.b
        if scope.mask is not None:
            where = where & scope.mask
        with self._failing(b.any(where)):
            self._set_status(failure, self._in_first(where, first, second))

    def _in_first(self, where: Value, *values: Value | None) -> Iterator[Value | int]:
        """Yield the values in the first lane of a mask, 0 for ``None``."""
        lane = self._first(where)
        yield from (0 if x is None else self.b.extract(x, lane) for x in values)

    @contextmanager
    def _failing(self, condition: Value) -> Generator[None]:
        """Write code that runs before the function ends on a condition."""
        with leaving(self.b, condition, self.leave):
            yield

    def _set_status(self, failure: Failure, numbers: Iterable[Value | int]) -> None:
        """Store why the call fails."""
        b = self.b
        if failure not in self.failures:
            self.failures.append(failure)
        number = self.prelude.slot(FailureBase()) + (self.failures.index(failure) + 1)
        status = self.prelude.slot(Status(), PTR)
        for at, one in enumerate([number, *numbers]):
            b.store(b.value(INT64, one), b.offset(status, at, INT64))

    def _first(self, where: Value) -> Value | int:
        return 0 if where.type.lanes == 1 else self._of_bits("cttz", where, "i1 true")

    def _of_bits(self, name: str, mask: Value, *options: str) -> Value:
        """Return a function of LLVM of the bits of a mask, as an int64."""
        b, bits = self.b, f"i{mask.type.lanes}"
        symbol = f"llvm.{name}.{bits}"
        b.module.declare(symbol, f"{bits} @{symbol}({', '.join([bits, *('i1' for _ in options)])})")
        whole = b.write(type_of("void"), f"bitcast {mask.typed} to {bits}")
        given = ", ".join([f"{bits} {whole.text}", *options])
        found = b.write(type_of("void"), f"call {bits} @{symbol}({given})")
        widened = (
            f"add i64 {found.text}, 0" if bits == "i64" else f"zext {bits} {found.text} to i64"
        )
        return b.write(INT64, widened)


def _stored(x: Value) -> MachineType:
    """Return the type of a value in memory: a bool takes a byte."""
    return x.type.like("uint8") if x.type.kind == "b" else x.type
