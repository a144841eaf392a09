"""Reductions of a kernel: rows, columns, and everything in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.backends.native.assembler.control import computed_if, divide_up, either, loop, when
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.types import INT64, PTR, MachineType
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.expressions import Statement
from phintys.backends.native.failures import Failure
from phintys.backends.native.kernels.accumulators import Accumulator, State, reduce_total
from phintys.backends.native.kernels.arguments import Chunk, Partials, Scope, Width
from phintys.backends.native.kernels.loops import Bounds, LoopWriter, Places, number_of
from phintys.backends.native.limits import (
    POLLED_ELEMENTS,
    POLLED_ITERATIONS,
    SUMMED_IN_COLUMN,
    SUMMED_IN_ROW,
    SUMMED_IN_WIDE_COLUMNS,
)

if TYPE_CHECKING:
    from phintys.backends.native.kernels.plans import NestPlan


Totals = list[list[State]]
"""For each place, for each reduction: its state or total."""

_Cell = tuple[MachineType, Value, Value | None]


@record(eq=False)
class _Piece:
    """A block of some columns and some of their rows.

    Attributes
    ----------
    columns, rows
        The columns and rows of the block.
    totals
        The address of rows of numbers, where the totals of the columns are between blocks.
    is_whole
        Whether these are all rows, if that is known only at run time.
    """

    columns: Bounds
    rows: Bounds
    totals: Value
    is_whole: Value | None = None


class ReductionWriter(LoopWriter):
    """Emits the loops of a kernel, and the computations in them."""

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
        """Emit code that runs if an operation has no result."""
        self.ev.fail_where(mask, Failure(statement.nodes[0], "value", message, ValueError), scope)

    # ---- rows --------------------------------------------------------------------------------

    def reduction(self, nest: NestPlan, scopes: list[Scope]) -> None:
        """Emit the reduced levels of a nest at each place, and store their results."""
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
            following = self._level(nest, number + 1, inner, accs, carried, None)
            self.poll_passes(bounds, single.index)
            single.next(*_flat(following))
        return _like(totals, single.results)

    def _blocks(
        self,
        nest: NestPlan,
        scopes: list[Scope],
        accs: list[Accumulator],
        totals: Totals,
        bounds: Bounds,
    ) -> Totals:
        """Write the innermost level, in blocks: short ones if a sum must be compensated."""
        b = self.b
        start, stop = bounds
        size = SUMMED_IN_ROW if nest.reduced[-1].is_vector else SUMMED_IN_COLUMN
        if not any(acc.is_blocked for acc in accs):
            size = POLLED_ELEMENTS
        first, last = number_of(start), number_of(stop)
        if first is not None and last is not None and last - first <= size:
            return self._folded(accs, totals, self._innermost(nest, scopes, accs, bounds))
        with loop(b, start, stop, size, carried=_flat(totals)) as block:
            end = b.minimum_number(block.index + size, stop)
            states = self._innermost(nest, scopes, accs, (block.index, end))
            folded = self._folded(accs, _like(totals, block.carried), states)
            # After each POLLED_ELEMENTS elements, or each longer block; never in a short row.
            is_due = b.le(POLLED_ELEMENTS - size, block.index & (POLLED_ELEMENTS - 1))
            with when(b, is_due if size < POLLED_ELEMENTS else end < stop):
                self.poll()
            block.next(*_flat(folded))
        return _like(totals, block.results)

    def _innermost(
        self, nest: NestPlan, scopes: list[Scope], accs: list[Accumulator], bounds: Bounds
    ) -> Totals:
        """Emit the loop over elements; return the states at each place."""
        b = self.b
        is_vector = nest.reduced[-1].is_vector
        number = len(nest.kept) + len(nest.reduced) - 1
        unroll = nest.unroll if is_vector else 1
        # Each of several vectors in a pass has its own states.
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
        """Reduce columns, some rows of all columns at a time, so that memory is read in order."""
        rows = self.unless_empty([[nest.kept[number].extent]], *self.bounds(nest.reduced[0]))
        piece = _Piece(self.bounds(nest.kept[number]), rows, self.ev.rooms[nest])
        self._columns(nest, number, scope, piece)

    def _columns(self, nest: NestPlan, number: int, scope: Scope, piece: _Piece) -> None:
        """Reduce some rows of columns, in blocks of rows.

        Between the blocks the totals are in memory, and there they stay if there are more rows. How
        many rows are in a block depends on the lengths of the loops alone.
        """
        b = self.b
        accs = nest.accumulators()
        start, stop = piece.rows
        width = self.prelude.number(nest.kept[number].extent)
        is_narrow = width <= nest.unroll * nest.lanes
        size = b.select(is_narrow, b.constant(INT64, SUMMED_IN_COLUMN), SUMMED_IN_WIDE_COLUMNS)
        with loop(b, start, b.maximum_number(stop, start + 1), size, runs=True) as block:
            end = b.minimum_number(block.index + size, stop)
            is_later, is_last = b.ne(block.index, start), stop <= end
            if piece.is_whole is not None:
                is_last = is_last & piece.is_whole

            def inside(places: Places) -> None:
                scopes = self.entered_all(nest, number, [scope], places)
                cells = [self._cells(nest, accs, piece.totals, at) for at in places]
                totals = self._read_totals(accs, scopes, cells, is_later)
                states = self._innermost(nest, scopes, accs, (block.index, end))
                totals = self._folded(accs, totals, states)
                self._finish_or_keep(nest, accs, scopes, cells, totals, is_last)

            self.vectors(nest, piece.columns, nest.unroll, inside)
            is_due = b.le(POLLED_ITERATIONS - size, block.index & (POLLED_ITERATIONS - 1))
            with when(b, is_due | (width > POLLED_ITERATIONS)):
                self.poll()

    def _cells(
        self,
        nest: NestPlan,
        accs: list[Accumulator],
        memory: Value,
        place: tuple[Value, Value | None],
    ) -> list[_Cell]:
        """Return where the totals of a vector of columns are: types, addresses and masks."""
        b = self.b
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
        is_later: Value,
    ) -> Totals:
        """Return the totals of the blocks before: from memory, if there are any."""
        b = self.b
        fresh = [[acc.start_total(b, scope.lanes) for acc in accs] for scope in scopes]
        cells_of_all = [cell for some in cells for cell in some]

        def read() -> list[Any]:
            return [load(b, type, address, mask) for type, address, mask in cells_of_all]

        return _like(fresh, computed_if(b, is_later, read, _flat(fresh)))

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
        with either(b, is_last) as (if_last, otherwise):
            with if_last:
                for scope, total in zip(scopes, totals, strict=True):
                    self._store(nest, accs, scope, total)
            with otherwise:
                places = [place for some in cells for place in some]
                for value, (_, address, mask) in zip(_flat(totals), places, strict=True):
                    store(b, value, address, mask)

    # ---- in parts ----------------------------------------------------------------------------

    def parts(self, scope: Scope) -> int:
        """Write the totals of parts of a reduction to memory.

        Returns
        -------
        int
            Number of values in the totals of a part, or in those of each of its columns.
        """
        (nest,) = self.plan.nests
        self.ev.nest = nest
        self.ev.hoist(nest, scope, -1, -1)
        if nest.has_columns:
            self._parts_of_columns(nest, scope)
        else:
            self._parts_of_everything(nest, scope)
        return sum(acc.cells for acc in nest.accumulators())

    def merged_parts(self) -> None:
        """Merge the totals of parts, in order, and store the results."""
        (nest,) = self.plan.nests
        self.ev.nest = nest
        if nest.has_columns:
            self._merged_columns(nest)
            return
        accs = nest.accumulators()
        partials = self.prelude.slot(Partials(), PTR)
        cells = sum(acc.cells for acc in accs)

        def cells_of(part: Value) -> list[_Cell]:
            room = self.b.offset(partials, part * cells, INT64)
            types = [value.type for acc in accs for value in acc.start_total(self.b, 1)]
            return [(t, self.b.offset(room, at, INT64), None) for at, t in enumerate(types)]

        self._store(nest, accs, Scope(), self._merged(accs, 1, cells_of))

    def _parts_of_everything(self, nest: NestPlan, scope: Scope) -> None:
        b = self.b
        accs = nest.accumulators()
        extent = self.prelude.number(nest.reduced[0].extent)
        chunk = self.prelude.slot(Chunk())
        partials = self.prelude.slot(Partials(), PTR)
        inside = self.lengths_inside(nest.reduced[0])
        with loop(b, b.arguments[1], b.arguments[2]) as part:
            start = part.index * chunk
            stop = b.minimum_number(start + chunk, extent)
            bounds = self.unless_empty(inside, start, stop)
            (totals,) = self._totals(nest, [scope.inside()], accs, bounds)
            merged = _flat([[reduce_total(a, b, t) for a, t in zip(accs, totals, strict=True)]])
            room = b.offset(partials, part.index * len(merged), INT64)
            for at, value in enumerate(merged):
                store(b, value, b.offset(room, at, INT64))

    def _parts_of_columns(self, nest: NestPlan, scope: Scope) -> None:
        """Reduce ranges of rows, and if there are many columns ranges of these.

        If columns are not split, this gives the results, otherwise the totals of each range of
        rows.
        """
        b = self.b
        columns = self.prelude.number(nest.kept[0].extent)
        rows = self.prelude.number(nest.reduced[0].extent)
        chunk, width = self.prelude.slot(Chunk()), self.prelude.slot(Width())
        partials = self.prelude.slot(Partials(), PTR)
        room = columns * sum(acc.cells for acc in nest.accumulators())
        across = divide_up(b, columns, width)
        with loop(b, b.arguments[1], b.arguments[2]) as part:
            down = b.binary("sdiv", part.index, across)
            top, left = down * chunk, (part.index - down * across) * width
            piece = _Piece(
                (left, b.minimum_number(left + width, columns)),
                (top, b.minimum_number(top + chunk, rows)),
                b.offset(partials, down * room, INT64),
                is_whole=rows <= chunk,
            )
            self._columns(nest, 0, scope.inside(), piece)

    def _merged_columns(self, nest: NestPlan) -> None:
        b = self.b
        accs = nest.accumulators()
        columns = self.prelude.number(nest.kept[0].extent)
        partials = self.prelude.slot(Partials(), PTR)
        room = columns * sum(acc.cells for acc in accs)

        def inside(places: Places) -> None:
            (place,) = places
            (scope,) = self.entered_all(nest, 0, [Scope()], places)

            def cells_of(part: Value) -> list[_Cell]:
                return self._cells(nest, accs, b.offset(partials, part * room, INT64), place)

            self._store(nest, accs, scope, self._merged(accs, nest.lanes, cells_of))

        self.vectors(nest, (b.constant(INT64, 0), columns), 1, inside)

    def _merged(
        self, accs: list[Accumulator], lanes: int, cells_of: Callable[[Value], list[_Cell]]
    ) -> list[State]:
        """Write the loop over the totals of parts; return the merged totals."""
        b = self.b
        totals = [[acc.start_total(b, lanes) for acc in accs]]
        with loop(b, 0, b.arguments[2], carried=_flat(totals)) as part:
            read: State = []
            for type, address, mask in cells_of(part.index):
                value = load(b, type, address, mask)
                assert isinstance(value, Value)
                read.append(value)
            (before,), (more,) = _like(totals, part.carried), _like(totals, read)
            merged = [
                acc.merge_totals(b, x, y) for acc, x, y in zip(accs, before, more, strict=True)
            ]
            part.next(*_flat([merged]))
        return _like(totals, part.results)[0]


def _flat(states: Sequence[Sequence[State]]) -> State:
    """Return all values of states in a row."""
    return [value for some in states for state in some for value in state]


def _like(states: Sequence[Sequence[State]], flat: Sequence[Value]) -> Totals:
    """Return values in a row as states again."""
    values = iter(flat)
    return [[[next(values) for _ in state] for state in some] for some in states]
