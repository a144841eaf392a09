"""Reductions of a kernel: rows, columns, and everything in parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from phintys.backends.native.emit.accumulators import Accumulator, State, reduce_total
from phintys.backends.native.emit.control import loop
from phintys.backends.native.emit.loops import LoopWriter, Places, number_of
from phintys.backends.native.emit.memory import load, store
from phintys.backends.native.emit.scope import Chunk, Partials, Scope
from phintys.backends.native.emit.types import INT64, PTR, Type
from phintys.backends.native.emit.values import Value
from phintys.backends.native.program import Failure, Statement

if TYPE_CHECKING:
    from phintys.backends.native.emit.plans import NestPlan

__all__ = ["ReductionWriter"]

BLOCK = 1024
"""Elements of a row that are summed before the sum is folded into the total."""

COLUMN_BLOCK = 128
"""The same for columns, each of which has a lane of its own, where a vector or two hold all."""

ROW_BLOCK = 16
"""The same where there are many columns: more rows at once are too many places in memory."""

Bounds = tuple[Value, Value]
Totals = list[list[State]]
"""For each place, for each reduction: its state or total."""

_Cell = tuple[Type, Value, Value | None]


class ReductionWriter(LoopWriter):
    """Writes the loops of a kernel, and what is computed in them."""

    def body(self, nest: NestPlan, scope: Scope, states: list[State] | None) -> list[State]:
        """Write the statements of a nest; return the states of its reductions."""
        b, ev = self.b, self.ev
        before = iter(zip(nest.accumulators(), states, strict=True) if states else ())
        after: list[State] = []
        for statement in nest.statements:
            b.fail_where = partial(self._fail, statement, scope)
            value = ev.evaluate(statement.value, scope)
            if not statement.reduction:
                ev.write(statement, value, scope)
                continue
            acc, state = next(before)
            at = None
            if id(statement) in nest.positions:
                at = ev.position(nest.positions[id(statement)], scope)
            after.append(acc.step(b, state, value, scope.mask, at))
        return after

    def _fail(self, statement: Statement, scope: Scope, mask: Value, message: str) -> None:
        """Write what happens where an operation has no result."""
        self.ev.fail_where(mask, Failure(statement.nodes[0], "value", message), scope)

    # ---- rows --------------------------------------------------------------------------------

    def reduction(self, nest: NestPlan, scopes: list[Scope]) -> None:
        """Write the reduced levels of a nest at each place, and store what they amount to."""
        accs = nest.accumulators()
        totals = self._totals(nest, scopes, accs, None)
        for scope, total in zip(scopes, totals, strict=True):
            if scope.lanes == 1:
                total = [
                    reduce_total(acc, self.b, mine) for acc, mine in zip(accs, total, strict=True)
                ]
            self._store(nest, accs, scope, total)

    def _store(
        self, nest: NestPlan, accs: list[Accumulator], scope: Scope, total: list[State]
    ) -> None:
        for statement, acc, mine in zip(nest.reductions, accs, total, strict=True):
            self.ev.write(statement, acc.result(self.b, mine), scope)

    def _totals(
        self,
        nest: NestPlan,
        scopes: list[Scope],
        accs: list[Accumulator],
        bounds: Bounds | None,
    ) -> Totals:
        """Write the reduced levels, the first within bounds; return the totals at each place."""
        b, lanes = self.b, nest.lanes
        totals = [[acc.start_total(b, lanes) for acc in accs] for _ in scopes]
        if nest.reduced:
            return self._level(nest, 0, scopes, accs, totals, bounds)
        states = [self.body(nest, scope, [acc.start(b, lanes) for acc in accs]) for scope in scopes]
        return self._folded(accs, totals, states)

    def _level(
        self,
        nest: NestPlan,
        number: int,
        scopes: list[Scope],
        accs: list[Accumulator],
        totals: Totals,
        bounds: Bounds | None,
    ) -> Totals:
        bounds = self.bounds(nest.reduced[number]) if bounds is None else bounds
        if number == len(nest.reduced) - 1:
            return self._blocks(nest, scopes, accs, totals, bounds)
        with loop(self.b, *bounds, carried=_flat(totals)) as single:
            at = len(nest.kept) + number
            inner = self.entered_all(nest, at, scopes, [(single.index, None)])
            carried = _like(totals, single.carried)
            single.next(*_flat(self._level(nest, number + 1, inner, accs, carried, None)))
        return _like(totals, single.results)

    def _blocks(
        self,
        nest: NestPlan,
        scopes: list[Scope],
        accs: list[Accumulator],
        totals: Totals,
        bounds: Bounds,
    ) -> Totals:
        """Write the innermost level, in blocks if a sum must be compensated."""
        b = self.b
        start, stop = bounds
        size = BLOCK if nest.reduced[-1].is_vector else COLUMN_BLOCK
        first, last = number_of(start), number_of(stop)
        is_short = first is not None and last is not None and last - first <= size
        if is_short or not any(acc.is_blocked for acc in accs):
            return self._folded(accs, totals, self._innermost(nest, scopes, accs, bounds))
        with loop(b, start, stop, size, carried=_flat(totals)) as block:
            end = b.minimum_number(block.index + size, stop)
            states = self._innermost(nest, scopes, accs, (block.index, end))
            folded = self._folded(accs, _like(totals, block.carried), states)
            block.next(*_flat(folded))
        return _like(totals, block.results)

    def _innermost(
        self, nest: NestPlan, scopes: list[Scope], accs: list[Accumulator], bounds: Bounds
    ) -> Totals:
        """Write the loop over elements; return what they amount to at each place."""
        b = self.b
        is_vector = nest.reduced[-1].is_vector
        number = len(nest.kept) + len(nest.reduced) - 1
        unroll = nest.unroll if is_vector else 1
        # Each of several vectors in a pass has states of its own.
        states = [[acc.start(b, nest.lanes) for acc in accs] for _ in range(len(scopes) * unroll)]

        def body(places: Places, carried: State) -> State:
            before = _like(states, carried)
            inner = self.entered_all(nest, number, scopes, places)
            after = [self.body(nest, at, state) for at, state in zip(inner, before, strict=False)]
            return _flat([*after, *before[len(after) :]])

        if is_vector:
            flat = self.carrying(nest, bounds, unroll, body, _flat(states))
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

    def _folded(self, accs: list[Accumulator], totals: Totals, states: Totals) -> Totals:
        return [
            [acc.fold(self.b, t, s) for acc, t, s in zip(accs, total, state, strict=True)]
            for total, state in zip(totals, states, strict=True)
        ]

    # ---- columns -----------------------------------------------------------------------------

    def columns(self, nest: NestPlan, number: int, scope: Scope) -> None:
        """Reduce columns, some rows of all columns at a time, so that memory is read in order.

        Between the blocks of rows the totals are in memory. How many rows are in a block depends on
        the lengths of the loops alone.
        """
        b = self.b
        accs = nest.accumulators()
        level = nest.kept[number]
        width = self.prelude.number(level.extent)
        count = self.prelude.number(nest.reduced[0].extent)
        is_narrow = width <= nest.unroll * nest.lanes
        size = b.select(is_narrow, b.constant(INT64, COLUMN_BLOCK), ROW_BLOCK)
        with loop(b, 0, b.maximum_number(count, 1), size, runs=True) as block:
            end = b.minimum_number(block.index + size, count)
            is_first, is_last = b.eq(block.index, 0), count <= end

            def inside(places: Places) -> None:
                scopes = self.entered_all(nest, number, [scope], places)
                cells = [self._cells(nest, accs, at) for at in places]
                totals = self._read_totals(accs, scopes, cells, is_first)
                states = self._innermost(nest, scopes, accs, (block.index, end))
                totals = self._folded(accs, totals, states)
                self._finish_or_keep(nest, accs, scopes, cells, totals, is_last)

            self.vectors(nest, self.bounds(level), nest.unroll, inside)

    def _cells(
        self, nest: NestPlan, accs: list[Accumulator], place: tuple[Value, Value | None]
    ) -> list[_Cell]:
        """Return where the totals of a vector of columns are: types, addresses and masks."""
        b = self.b
        memory = self.ev.rooms[nest]
        width = self.prelude.number(nest.kept[-1].extent)
        found: list[_Cell] = []
        types = [value.type for acc in accs for value in acc.start_total(b, nest.lanes)]
        for at, type in enumerate(types):
            row = memory if not at else b.offset(memory, width * at, INT64)
            found.append((type, b.offset(row, place[0], type), place[1]))
        return found

    def _read_totals(
        self,
        accs: list[Accumulator],
        scopes: list[Scope],
        cells: list[list[_Cell]],
        is_first: Value,
    ) -> Totals:
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

    def _finish_or_keep(
        self,
        nest: NestPlan,
        accs: list[Accumulator],
        scopes: list[Scope],
        cells: list[list[_Cell]],
        totals: Totals,
        is_last: Value,
    ) -> None:
        """Write the results after the last block, the totals to memory after others."""
        b = self.b
        finish, keep, after = b.new_block("finish"), b.new_block("keep"), b.new_block("kept")
        b.branch(is_last, finish, keep)
        b.begin(finish)
        for scope, total in zip(scopes, totals, strict=True):
            self._store(nest, accs, scope, total)
        b.jump(after)
        b.begin(keep)
        places = [place for some in cells for place in some]
        for value, (_, address, mask) in zip(_flat(totals), places, strict=True):
            store(b, value, address, mask)
        b.jump(after)
        b.begin(after)

    # ---- everything, in parts ------------------------------------------------------------------

    def parts(self, scope: Scope) -> int:
        """Write the totals of parts of a reduction to memory; return how many values they are."""
        b = self.b
        (nest,) = self.plan.nests
        self.ev.nest = nest
        self.ev.hoist(nest, scope, -1, -1)
        accs = nest.accumulators()
        extent = self.prelude.number(nest.reduced[0].extent)
        chunk = self.prelude.slot(Chunk())
        partials = self.prelude.slot(Partials(), PTR)
        with loop(b, b.arguments[1], b.arguments[2]) as part:
            start = part.index * chunk
            stop = b.minimum_number(start + chunk, extent)
            (totals,) = self._totals(nest, [scope.inside()], accs, (start, stop))
            merged = _flat([[reduce_total(a, b, t) for a, t in zip(accs, totals, strict=True)]])
            room = b.offset(partials, part.index * len(merged), INT64)
            for at, value in enumerate(merged):
                store(b, value, b.offset(room, at, INT64))
        return len(merged)

    def merged_parts(self) -> None:
        """Merge the totals of parts, in order, and store what they amount to."""
        b = self.b
        (nest,) = self.plan.nests
        self.ev.nest = nest
        accs = nest.accumulators()
        totals = [[acc.start_total(b, 1) for acc in accs]]
        partials = self.prelude.slot(Partials(), PTR)
        with loop(b, 0, b.arguments[2], carried=_flat(totals)) as part:
            room = b.offset(partials, part.index * len(part.carried), INT64)
            read: State = []
            for at, value in enumerate(part.carried):
                cell = load(b, value.type, b.offset(room, at, INT64))
                assert isinstance(cell, Value)
                read.append(cell)
            (before,), (more,) = _like(totals, part.carried), _like(totals, read)
            merged = [
                acc.merge_totals(b, x, y) for acc, x, y in zip(accs, before, more, strict=True)
            ]
            part.next(*_flat([merged]))
        (final,) = _like(totals, part.results)
        self._store(nest, accs, Scope(), final)


def _flat(states: Sequence[Sequence[State]]) -> State:
    """Return all values of states in a row."""
    return [value for some in states for state in some for value in state]


def _like(states: Sequence[Sequence[State]], flat: Sequence[Value]) -> Totals:
    """Return values in a row as states again."""
    values = iter(flat)
    return [[[next(values) for _ in state] for state in some] for some in states]
