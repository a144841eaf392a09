"""Kernels as functions.

A kernel becomes ``void kernel(ptr arguments, i64 begin, i64 end)``. The arguments are a block of
8-byte slots, pointers and numbers that the caller computes (:class:`KernelCode.slots` says which);
``begin`` and ``end`` are a range of the outermost level that is not reduced, so that threads can
share the work; a kernel without such a level ignores them. Failures are written to the status that a slot points to.

A reduction of everything has two functions. The first takes ranges of parts, and leaves their
totals in memory; the second merges them, in order: ``end`` is the number of parts.

Kernels that differ in nothing but their arguments have the same text, and share one function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phintys.backends.native.emit.accumulators import (
    Accumulator,
    State,
    accumulator,
    reduce_total,
)
from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.control import lane_mask, loop, when
from phintys.backends.native.emit.evaluation import Evaluator
from phintys.backends.native.emit.layout import OUT_OF_MEMORY
from phintys.backends.native.emit.memory import load, store
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.planning import (
    SHORT_ROW,
    KernelPlan,
    Level,
    NestPlan,
    plan_across,
    plan_kernel,
)
from phintys.backends.native.emit.scope import (
    Chunk,
    Partials,
    Prelude,
    Scope,
    ScratchBytes,
    ScratchOffset,
    Slot,
    Status,
)
from phintys.backends.native.emit.types import BOOL, INT8, INT64, PTR, VOID, Type
from phintys.backends.native.emit.values import Value
from phintys.backends.native.program import Failure

if TYPE_CHECKING:
    from phintys.backends.native.polynomials import Polynomial, Polynomials
    from phintys.backends.native.program import Kernel

__all__ = ["KernelCode", "KernelWriter", "ShortRows"]

BLOCK = 1024
"""Elements of a row that are summed before the sum is folded into the total."""

COLUMN_BLOCK = 128
"""The same for columns, each of which has a lane of its own, where a vector or two hold all."""

ROW_BLOCK = 16
"""The same where there are many columns: more rows at once are too many places in memory."""

STACK_SCRATCH = 8192
"""Bytes of a kernel's own memory that are taken from the stack."""

_LONG = 12
"""Statements from which on a masked loop, half as much code, is better than a loop and its rest."""


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
    for_short_rows
        The function for short rows, if it is another one, and when it is taken.
    slots
        The arguments, in order.
    failures
        What can go wrong, in the order of their numbers, which begin with 1.
    partials
        8-byte cells that each part of a reduction needs.
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
        target = self.module.target
        plan = plan_kernel(kernel, self.polynomials, target)
        slots: dict[Slot, int] = {}
        failures: list[Failure] = []
        rows = plan_across(kernel, plan, self.polynomials, target)
        most = 0
        if rows is not None:
            most = SHORT_ROW * rows[0].nests[0].lanes
            if rows[1].known is not None:
                plan = rows[0] if rows[1].known <= most else plan
                rows = None
        first = self._function(plan, slots, failures)
        code = KernelCode(plan, first.symbol, None, [], failures, first.cells)
        if plan.is_chunked:
            code.combiner = self._function(plan, slots, failures, is_combiner=True).symbol
        if rows is not None:
            symbol = self._function(rows[0], slots, failures).symbol
            code.for_short_rows = ShortRows(rows[0], symbol, rows[1], most)
        code.slots = list(slots)
        return code

    def _function(
        self,
        plan: KernelPlan,
        slots: dict[Slot, int],
        failures: list[Failure],
        *,
        is_combiner: bool = False,
    ) -> _Emission:
        """Write a function; if there is one with the same text, forget it and take that."""
        emission = _Emission(self.module, plan, slots, failures)
        if is_combiner:
            emission.write_combiner()
        else:
            emission.write_kernel()
        function = emission.b.function
        text = str(function)
        symbol = self._symbols.get(text)
        if symbol is None:
            symbol = self._symbols[text] = function.name = f"kernel{len(self._symbols)}"
        else:
            self.module.functions.remove(function)
        emission.symbol = symbol
        return emission


class _Emission:
    """Writes one function of one kernel."""

    def __init__(
        self, module: Module, plan: KernelPlan, slots: dict[Slot, int], failures: list[Failure]
    ) -> None:
        self.plan = plan
        self.b = Builder(module.function("kernel", VOID, [PTR, INT64, INT64]))
        self.prelude = Prelude(self.b, slots)
        self.leave = self.b.new_block("leave")
        self.ev = Evaluator(self.b, self.prelude, plan, failures, self.leave)
        self.rooms: dict[object, Value] = {}
        self.symbol = ""
        self.cells = 0

    # ---- functions ---------------------------------------------------------------------------

    def write_kernel(self) -> None:
        """Write the function that computes."""
        free = self._take_scratch()
        scope = Scope()
        if self.plan.is_chunked:
            self._parts(scope)
        else:
            self._outer(0, scope)
        self.b.jump(self.leave)
        self.b.begin(self.leave)
        free()
        self.b.ret()
        self.prelude.close()

    def _take_scratch(self) -> Callable[[], None]:
        """Get memory for arrays that only this call sees; return what gives it back."""
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
            self.rooms[room] = b.offset(memory.value, offset, INT8)
        self.ev.scratch = {array: self.rooms[array] for array in plan.scratch}

        def free() -> None:
            with when(b, ~is_small):
                b.call("phintys_free", VOID, [memory.value])

        return free

    # ---- loops -------------------------------------------------------------------------------

    def _bounds(self, level: Level) -> tuple[Value, Value]:
        """Return where a level begins and ends: the range that was asked for, or all of it."""
        if level is self.plan.parallel:
            return self.b.arguments[1], self.b.arguments[2]
        return self.b.constant(INT64, 0), self.prelude.number(level.extent)

    def _outer(self, number: int, scope: Scope) -> None:
        if number == len(self.plan.outer):
            for nest in self.plan.nests:
                self._nest(nest, scope)
            return
        level = self.plan.outer[number]
        nest = self.plan.nests[0]

        def inside(places: Sequence[tuple[Value, Value | None]]) -> None:
            for index, mask in places:
                inner = scope.inside()
                inner.index[level.loops[-1]] = index
                if level.is_vector:
                    inner.lanes, inner.mask = nest.lanes, mask
                self.ev.enter(level, self.plan.nests, inner)
                self._outer(number + 1, inner)

        if level.is_vector:
            self._vector_range(nest, *self._bounds(level), 1, inside)
            return
        with loop(self.b, *self._bounds(level)) as single:
            inside([(single.index, None)])

    def _nest(self, nest: NestPlan, scope: Scope) -> None:
        self.ev.nest = nest
        self.ev.spread(nest, scope)
        self.ev.hoist(nest, scope, -1, len(self.plan.outer) - 1)
        self._kept(nest, 0, [scope])

    def _kept(self, nest: NestPlan, number: int, scopes: list[Scope]) -> None:
        if number == len(nest.kept):
            if nest.reductions:
                self._reduction(nest, scopes)
            else:
                for scope in scopes:
                    self._body(nest, scope, None)
            return
        level = nest.kept[number]
        (scope,) = scopes

        def inside(places: Sequence[tuple[Value, Value | None]]) -> None:
            inner = [self._entered(nest, number, level, scope, at) for at in places]
            self._kept(nest, number + 1, inner)

        if not level.is_vector:
            with loop(self.b, *self._bounds(level)) as single:
                inside([(single.index, None)])
            return
        if nest.has_columns and nest.reductions:
            self._columns(nest, number, level, scope)
            return
        unroll = nest.unroll if nest.reductions else 1
        start, stop = self._bounds(level)
        self._vector_range(nest, start, stop, unroll, inside)

    def _entered(
        self,
        nest: NestPlan,
        number: int,
        level: Level,
        scope: Scope,
        place: tuple[Value, Value | None],
    ) -> Scope:
        """Return the place inside an iteration of a level, with addresses computed."""
        inner = scope.inside()
        inner.index[level.loops[-1]], mask = place
        if level.is_vector:
            inner.lanes, inner.mask = nest.lanes, mask
        self.ev.enter(level, [nest], inner)
        if level is not (nest.reduced or nest.kept)[-1]:
            depth = len(self.plan.outer) + number
            self.ev.hoist(nest, inner, depth, depth)
        return inner

    def _vector_range(
        self,
        nest: NestPlan,
        start: Value,
        stop: Value,
        unroll: int,
        body: Callable[[Sequence[tuple[Value, Value | None]]], None],
    ) -> None:
        """Write a loop over vectors, and the masked rest; ``body`` takes places and masks."""

        def carried(places: Sequence[tuple[Value, Value | None]], state: State) -> State:
            body(places)
            return state

        self._carried_range(nest, start, stop, unroll, carried, [])

    def _carried_range(
        self,
        nest: NestPlan,
        start: Value,
        stop: Value,
        unroll: int,
        body: Callable[[Sequence[tuple[Value, Value | None]], State], State],
        state: State,
    ) -> State:
        """The same with values that are carried from pass to pass."""
        b, lanes = self.b, nest.lanes
        wide = unroll * lanes
        if lanes == 1:
            with loop(b, start, stop, carried=state) as single:
                single.next(*body([(single.index, None)], single.carried))
            return single.results
        if unroll == 1 and self._is_long(nest):
            with loop(b, start, stop, lanes, carried=state) as main:
                mask = lane_mask(b, stop - main.index, lanes)
                main.next(*body([(main.index, mask)], main.carried))
            return main.results
        whole = self._whole(start, stop, wide)
        with loop(b, start, whole, wide, carried=state) as main:
            places = [
                (main.index if not u else main.index + u * lanes, None) for u in range(unroll)
            ]
            main.next(*body(places, main.carried))
        if _number(stop) is not None and _number(stop) == _number(whole):
            return main.results
        if unroll == 1:
            return self._rest(whole, stop, lanes, body, main.results)
        with loop(b, whole, stop, lanes, carried=main.results) as rest:
            mask = lane_mask(b, stop - rest.index, lanes)
            rest.next(*body([(rest.index, mask)], rest.carried))
        return rest.results

    def _rest(
        self,
        whole: Value,
        stop: Value,
        lanes: int,
        body: Callable[[Sequence[tuple[Value, Value | None]], State], State],
        state: State,
    ) -> State:
        """Write one masked pass, if there is a rest: no loop, which LLVM would spend time on."""
        b = self.b
        before = b.block
        rest, after = b.new_block("rest"), b.new_block("after")
        b.branch(whole < stop, rest, after)
        b.begin(rest)
        last = body([(whole, lane_mask(b, stop - whole, lanes))], state)
        end = b.block
        b.jump(after)
        b.begin(after)
        results: State = []
        for value, final in zip(state, last, strict=True):
            phi = b.phi(value.type)
            phi.add(value, before)
            phi.add(final, end)
            results.append(phi.value)
        return results

    def _is_long(self, nest: NestPlan) -> bool:
        is_long = self.plan.is_across or len(nest.statements) >= _LONG
        return is_long and self.b.target.has_avx512

    def _whole(self, start: Value, stop: Value, wide: int) -> Value:
        """Return where whole vectors end."""
        first, last = _number(start), _number(stop)
        if first is not None and last is not None:
            return self.b.constant(INT64, first + (last - first) // wide * wide)
        if first == 0:
            return stop & -wide
        return start + ((stop - start) & -wide)

    # ---- statements --------------------------------------------------------------------------

    def _body(self, nest: NestPlan, scope: Scope, reduced: list[State] | None) -> list[State]:
        """Write the statements for one element, or vector; return the states of reductions."""
        b, ev = self.b, self.ev
        states = iter(reduced or [])
        following: list[State] = []

        def fail(mask: Value, message: str) -> None:
            ev.fail_where(mask, Failure(statement.nodes[0], "value", message), scope)

        for statement in nest.statements:
            b.fail_where = fail
            value = ev.evaluate(statement.value, scope)
            if not statement.reduction:
                ev.write(statement, value, scope)
                continue
            acc = accumulator(statement.reducer or "", statement.value.dtype)
            at = None
            if id(statement) in nest.positions:
                at = ev.position(nest.positions[id(statement)], scope)
            following.append(acc.step(b, next(states), value, scope.mask, at))
        return following

    # ---- reductions --------------------------------------------------------------------------

    def _reduction(self, nest: NestPlan, scopes: list[Scope]) -> None:
        accs = _accumulators(nest)
        totals = self._totals(nest, scopes, accs, None)
        for scope, total in zip(scopes, totals, strict=True):
            for statement, acc, mine in zip(nest.reductions, accs, total, strict=True):
                if scope.lanes == 1:
                    mine = reduce_total(acc, self.b, mine)
                self.ev.write(statement, acc.result(self.b, mine), scope)

    # ---- columns -----------------------------------------------------------------------------

    def _columns(self, nest: NestPlan, number: int, level: Level, scope: Scope) -> None:
        """Reduce columns, some rows of all columns at a time, so that memory is read in order.

        Between the blocks of rows the totals are in memory. How many rows are in a block depends on
        the lengths of the loops alone.
        """
        b = self.b
        accs = _accumulators(nest)
        rows, width = nest.reduced[0], self.prelude.number(level.extent)
        count = self.prelude.number(rows.extent)
        narrow = width <= nest.unroll * nest.lanes
        size = b.select(narrow, b.constant(INT64, COLUMN_BLOCK), ROW_BLOCK)
        memory = self.rooms[nest]
        with loop(b, 0, b.maximum_number(count, 1), size, runs=True) as block:
            end = b.minimum_number(block.index + size, count)
            is_first, is_last = b.eq(block.index, 0), count <= end

            def inside(places: Sequence[tuple[Value, Value | None]]) -> None:
                scopes = [self._entered(nest, number, level, scope, at) for at in places]
                cells = [self._cells(memory, width, accs, at, nest.lanes) for at in places]
                totals = self._totals_before(accs, scopes, cells, is_first)
                states = self._innermost(nest, rows, scopes, accs, (block.index, end))
                totals = self._folded(accs, totals, states)
                self._totals_after(nest, accs, scopes, cells, totals, is_last)

            self._vector_range(nest, *self._bounds(level), nest.unroll, inside)

    def _cells(
        self,
        memory: Value,
        width: Value,
        accs: list[Accumulator],
        place: tuple[Value, Value | None],
        lanes: int,
    ) -> list[tuple[Type, Value, Value | None]]:
        """Return where the totals of a vector of columns are: types, addresses and masks."""
        b = self.b
        found: list[tuple[Type, Value, Value | None]] = []
        types = [value.type for acc in accs for value in acc.start_total(b, lanes)]
        for at, type in enumerate(types):
            row = memory if not at else b.offset(memory, width * at, INT64)
            found.append((type, b.offset(row, place[0], type), place[1]))
        return found

    def _totals_before(
        self,
        accs: list[Accumulator],
        scopes: list[Scope],
        cells: list[list[tuple[Type, Value, Value | None]]],
        is_first: Value,
    ) -> list[list[State]]:
        """Return the totals of the blocks before: from memory, if there are any."""
        b = self.b
        fresh = [[acc.start_total(b, scope.lanes) for acc in accs] for scope in scopes]
        before = b.block
        read, after = b.new_block("read"), b.new_block("totals")
        b.branch(is_first, after, read)
        b.begin(read)
        values = [load(b, type, address, mask) for some in cells for type, address, mask in some]
        end = b.block
        b.jump(after)
        b.begin(after)
        merged: State = []
        for new, old in zip(_flat(fresh), values, strict=True):
            assert isinstance(old, Value)
            phi = b.phi(new.type)
            phi.add(new, before)
            phi.add(old, end)
            merged.append(phi.value)
        return _like(fresh, merged)

    def _totals_after(
        self,
        nest: NestPlan,
        accs: list[Accumulator],
        scopes: list[Scope],
        cells: list[list[tuple[Type, Value, Value | None]]],
        totals: list[list[State]],
        is_last: Value,
    ) -> None:
        """Write the results after the last block, the totals to memory after others."""
        b = self.b
        finish, keep, after = b.new_block("finish"), b.new_block("keep"), b.new_block("kept")
        b.branch(is_last, finish, keep)
        b.begin(finish)
        for scope, total in zip(scopes, totals, strict=True):
            for statement, acc, mine in zip(nest.reductions, accs, total, strict=True):
                self.ev.write(statement, acc.result(b, mine), scope)
        b.jump(after)
        b.begin(keep)
        places = [place for some in cells for place in some]
        for value, (_, address, mask) in zip(_flat(totals), places, strict=True):
            store(b, value, address, mask)
        b.jump(after)
        b.begin(after)

    # ---- rows --------------------------------------------------------------------------------

    def _totals(
        self,
        nest: NestPlan,
        scopes: list[Scope],
        accs: list[Accumulator],
        bounds: tuple[Value, Value] | None,
    ) -> list[list[State]]:
        """Write the reduced levels; return the totals at each place."""
        lanes = nest.lanes
        totals = [[acc.start_total(self.b, lanes) for acc in accs] for _ in scopes]
        if not nest.reduced:
            states = [[acc.start(self.b, lanes) for acc in accs] for _ in scopes]
            states = [
                self._body(nest, scope, state) for scope, state in zip(scopes, states, strict=True)
            ]
            return self._folded(accs, totals, states)
        return self._level(nest, 0, scopes, accs, totals, bounds)

    def _level(
        self,
        nest: NestPlan,
        number: int,
        scopes: list[Scope],
        accs: list[Accumulator],
        totals: list[list[State]],
        bounds: tuple[Value, Value] | None,
    ) -> list[list[State]]:
        b = self.b
        level = nest.reduced[number]
        start, stop = self._bounds(level) if bounds is None else bounds
        if number == len(nest.reduced) - 1:
            return self._blocks(nest, level, scopes, accs, totals, (start, stop))
        with loop(b, start, stop, carried=_flat(totals)) as single:
            inner = [
                self._entered(nest, len(nest.kept) + number, level, scope, (single.index, None))
                for scope in scopes
            ]
            carried = _like(totals, single.carried)
            single.next(*_flat(self._level(nest, number + 1, inner, accs, carried, None)))
        return _like(totals, single.results)

    def _blocks(
        self,
        nest: NestPlan,
        level: Level,
        scopes: list[Scope],
        accs: list[Accumulator],
        totals: list[list[State]],
        bounds: tuple[Value, Value],
    ) -> list[list[State]]:
        """Write the innermost level, in blocks if a sum must be compensated."""
        b = self.b
        start, stop = bounds
        size = BLOCK if level.is_vector else COLUMN_BLOCK
        first, last = _number(start), _number(stop)
        is_short = first is not None and last is not None and last - first <= size
        if is_short or not any(acc.is_blocked for acc in accs):
            states = self._innermost(nest, level, scopes, accs, bounds)
            return self._folded(accs, totals, states)
        with loop(b, start, stop, size, carried=_flat(totals)) as block:
            end = b.minimum_number(block.index + size, stop)
            states = self._innermost(nest, level, scopes, accs, (block.index, end))
            folded = self._folded(accs, _like(totals, block.carried), states)
            block.next(*_flat(folded))
        return _like(totals, block.results)

    def _innermost(
        self,
        nest: NestPlan,
        level: Level,
        scopes: list[Scope],
        accs: list[Accumulator],
        bounds: tuple[Value, Value],
    ) -> list[list[State]]:
        """Write the loop over elements; return what they amount to at each place."""
        b = self.b
        number = len(nest.kept) + len(nest.reduced) - 1
        unroll = nest.unroll if level.is_vector else 1
        # Each of several vectors in a pass has states of its own.
        count = len(scopes) * unroll
        states = [[acc.start(b, nest.lanes) for acc in accs] for _ in range(count)]

        def body(places: Sequence[tuple[Value, Value | None]], carried: State) -> State:
            before = _like(states, carried)
            inner = [
                self._entered(nest, number, level, scope, place)
                for scope in scopes
                for place in places
            ]
            after = [self._body(nest, at, state) for at, state in zip(inner, before, strict=False)]
            return _flat([*after, *before[len(after) :]])

        if level.is_vector:
            flat = self._carried_range(nest, *bounds, unroll, body, _flat(states))
        else:
            with loop(b, *bounds, carried=_flat(states)) as single:
                single.next(*body([(single.index, None)], single.carried))
            flat = single.results
        states = _like(states, flat)
        while len(states) > len(scopes):
            half = len(states) // 2
            states = [
                [acc.merge(b, x, y) for acc, x, y in zip(accs, mine, theirs, strict=True)]
                for mine, theirs in zip(states[:half], states[half:], strict=True)
            ]
        return states

    def _folded(
        self,
        accs: list[Accumulator],
        totals: list[list[State]],
        states: list[list[State]],
    ) -> list[list[State]]:
        return [
            [acc.fold(self.b, t, s) for acc, t, s in zip(accs, total, state, strict=True)]
            for total, state in zip(totals, states, strict=True)
        ]

    # ---- reductions of everything --------------------------------------------------------------

    def _parts(self, scope: Scope) -> None:
        """Write the totals of parts to memory."""
        b = self.b
        (nest,) = self.plan.nests
        self.ev.nest = nest
        self.ev.hoist(nest, scope, -1, -1)
        accs = _accumulators(nest)
        extent = self.prelude.number(nest.reduced[0].extent)
        chunk = self.prelude.slot(Chunk())
        partials = self.prelude.slot(Partials(), PTR)
        with loop(b, b.arguments[1], b.arguments[2]) as part:
            start = part.index * chunk
            stop = b.minimum_number(start + chunk, extent)
            (totals,) = self._totals(nest, [scope.inside()], accs, (start, stop))
            merged = [
                value
                for acc, total in zip(accs, totals, strict=True)
                for value in reduce_total(acc, b, total)
            ]
            self.cells = len(merged)
            room = b.offset(partials, part.index * self.cells, INT64)
            for at, value in enumerate(merged):
                store(b, value, b.offset(room, at, INT64))

    def write_combiner(self) -> None:
        """Write the function that merges the totals of parts."""
        b = self.b
        (nest,) = self.plan.nests
        self.ev.nest = nest
        accs = _accumulators(nest)
        totals = [[acc.start_total(b, 1) for acc in accs]]
        partials = self.prelude.slot(Partials(), PTR)
        cells = len(_flat(totals))
        with loop(b, 0, b.arguments[2], carried=_flat(totals)) as part:
            room = b.offset(partials, part.index * cells, INT64)
            read = [
                load(b, value.type, b.offset(room, at, INT64))
                for at, value in enumerate(part.carried)
            ]
            (before,), (more,) = _like(totals, part.carried), _like(totals, read)
            merged = [
                acc.merge_totals(b, x, y) for acc, x, y in zip(accs, before, more, strict=True)
            ]
            part.next(*_flat([merged]))
        (final,) = _like(totals, part.results)
        for statement, acc, total in zip(nest.reductions, accs, final, strict=True):
            self.ev.write(statement, acc.result(b, total), Scope())
        self.b.jump(self.leave)
        self.b.begin(self.leave)
        self.b.ret()
        self.prelude.close()


def _accumulators(nest: NestPlan) -> list[Accumulator]:
    return [
        accumulator(statement.reducer or "", statement.value.dtype) for statement in nest.reductions
    ]


def _flat(states: Sequence[Sequence[State]]) -> State:
    """Return all values of states in a row."""
    return [value for some in states for state in some for value in state]


def _like(states: Sequence[Sequence[State]], flat: Sequence[Value]) -> list[list[State]]:
    """Return values in a row as states again."""
    values = iter(flat)
    return [[[next(values) for _ in state] for state in some] for some in states]


def _number(value: Value) -> int | None:
    """Return the number of an integer constant."""
    text = value.text
    return int(text) if text.lstrip("-").isdigit() else None
