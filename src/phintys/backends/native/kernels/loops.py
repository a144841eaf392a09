"""The loops of a kernel: levels, vectors and remainders, and the places inside them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import computed_if, lane_mask, leaving, loop, when
from phintys.backends.native.assembler.types import INT32, INT64, PTR
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.dependence import may_fail
from phintys.backends.native.frame import EXCEPTION
from phintys.backends.native.kernels.accumulators import State as Carried
from phintys.backends.native.kernels.arguments import Prelude, Scope, Slot, State, Status
from phintys.backends.native.kernels.evaluation import Evaluator
from phintys.backends.native.kernels.plans import (
    KernelPlan,
    Level,
    NestPlan,
    Previous,
    previous_elements,
)
from phintys.backends.native.limits import (
    LONG_NEST,
    POLLED_ELEMENTS,
    POLLED_ITERATIONS,
    STRIDED_TILE,
)

if TYPE_CHECKING:
    from phintys.backends.native.failures import Failure
    from phintys.backends.native.polynomials import Polynomial


Bounds = tuple[Value, Value]
"""Where a loop begins and ends."""

Nests = Sequence[Sequence["Polynomial"]]
"""For each of some nests the lengths of loops."""

Places = Sequence[tuple[Value, Value | None]]
"""Counters of a loop, of the first lane each, and masks of the active lanes."""


class LoopWriter(ABC):
    """Writes the loops of one function of a kernel.

    What is reduced is written by subclasses.

    Parameters
    ----------
    b
        The builder of the function, at its beginning.
    plan
        How the kernel is carried out.
    slots
        The function's arguments so far; new ones are added.
    failures
        What can go wrong so far; new ones are added.
    """

    def __init__(
        self, b: Builder, plan: KernelPlan, slots: dict[Slot, int], failures: list[Failure]
    ) -> None:
        self.b = b
        self.plan = plan
        self.prelude = Prelude(b, slots)
        self.leave = b.new_block("leave")
        self.ev = Evaluator(b, self.prelude, plan, failures, self.leave)
        self._tile: tuple[Level, Value, Value] | None = None

    # ---- nests -------------------------------------------------------------------------------

    def outer(self, number: int, scope: Scope) -> None:
        """Write the outer levels from one on, and all nests in them."""
        if number == len(self.plan.outer):
            for nest in self.plan.nests:
                self._nest(nest, scope)
            return
        level = self.plan.outer[number]
        nests = self.plan.nests

        def inside(places: Places) -> None:
            for index, mask in places:
                inner = scope.inside()
                inner.index[level.loops[-1]] = index
                if level.is_vector:
                    inner.lanes, inner.mask = nests[0].lanes, mask
                self.ev.enter(level, nests, inner)
                self.outer(number + 1, inner)

        if level.is_vector:
            self.vectors(nests[0], self.bounds(level), 1, inside)
            return
        with loop(self.b, *self.bounds(level)) as single:
            inside([(single.index, None)])
            self._poll_outside(level, single.index)

    def _nest(self, nest: NestPlan, scope: Scope) -> None:
        self.ev.nest = nest
        self.ev.spread(nest, scope)
        self.ev.hoist(nest, scope, -1, len(self.plan.outer) - 1)
        if not nest.is_tiled:
            self._kept(nest, 0, [scope])
            return
        level = nest.kept[-1]
        extent = self.prelude.number(level.extent)
        around = [one.extent for one in nest.kept[:-1]]
        bounds = self.unless_empty([around], self.b.constant(INT64, 0), extent)
        with loop(self.b, *bounds, STRIDED_TILE) as block:
            end = self.b.minimum_number(block.index + STRIDED_TILE, extent)
            self._tile = (level, block.index, end)
            self._kept(nest, 0, [scope])
            self._poll_often(extent, block.index, STRIDED_TILE, POLLED_ITERATIONS * STRIDED_TILE)
        self._tile = None

    def _kept(self, nest: NestPlan, number: int, scopes: list[Scope]) -> None:
        """Write the kept levels from one on, and what is inside of them."""
        if number == len(nest.kept):
            if nest.reductions:
                self.reduction(nest, scopes)
                return
            for scope in scopes:
                self.body(nest, scope, None)
            return
        level = nest.kept[number]
        (scope,) = scopes

        def inside(places: Places) -> None:
            self._kept(nest, number + 1, self.entered_all(nest, number, [scope], places))

        if not level.is_vector:
            previous = self._previous(nest, number)
            if previous:
                self._passing_on(nest, number, scope, previous)
                return
            with loop(self.b, *self.bounds(level)) as single:
                inside([(single.index, None)])
                self._poll_outside(level, single.index)
        elif nest.has_columns and nest.reductions:
            self.columns(nest, number, scope)
        else:
            unroll = nest.unroll if nest.reductions else 1
            if level is self.plan.parallel or (self._tile is not None and level is self._tile[0]):
                self.vectors(nest, self.bounds(level), unroll, inside)
                return
            self._long_rows(nest, level, unroll, inside)

    def _previous(self, nest: NestPlan, number: int) -> list[Previous]:
        """Return the values that iterations of the innermost level pass on."""
        if nest.reductions or number + 1 != len(nest.kept):
            return []
        return previous_elements(nest, nest.kept[number], self.plan.addressing.polynomials)

    def _passing_on(
        self, nest: NestPlan, number: int, scope: Scope, previous: Sequence[Previous]
    ) -> None:
        """Write an innermost loop whose iterations read what the one before has written."""
        b, level = self.b, nest.kept[number]
        start, stop = self.bounds(level)
        with when(b, start < stop):
            (first,) = self.entered_all(nest, number, [scope], [(start, None)])
            given = [self.ev.read(one.access, first) for one in previous]
            with loop(b, start, stop, carried=given, runs=True) as single:
                (inner,) = self.entered_all(nest, number, [scope], [(single.index, None)])
                for one, value in zip(previous, single.carried, strict=True):
                    inner.loaded[one.access, inner.lanes] = value
                self._kept(nest, number + 1, [inner])
                written = [inner.arrays[one.statement.target, inner.lanes] for one in previous]
                single.next(*(value for value in written if isinstance(value, Value)))
                self._poll_outside(level, single.index)

    def _long_rows(
        self, nest: NestPlan, level: Level, unroll: int, body: Callable[[Places], None]
    ) -> None:
        """Write a loop over vectors inside of others, in pieces between which signals are seen."""
        b = self.b
        start, stop = self.bounds(level)
        known = number_of(stop)
        if known is not None and known <= POLLED_ELEMENTS:
            self.vectors(nest, (start, stop), unroll, body)
            return
        with loop(b, start, stop, POLLED_ELEMENTS) as piece:
            end = b.minimum_number(piece.index + POLLED_ELEMENTS, stop)
            self.vectors(nest, (piece.index, end), unroll, body)
            with when(b, end < stop):
                self.poll()

    @abstractmethod
    def reduction(self, nest: NestPlan, scopes: list[Scope]) -> None:
        """Write the reduced levels of a nest at each place."""

    @abstractmethod
    def columns(self, nest: NestPlan, number: int, scope: Scope) -> None:
        """Write the last kept level of a nest and the reduced one, in blocks of rows."""

    @abstractmethod
    def body(self, nest: NestPlan, scope: Scope, states: list[Carried] | None) -> list[Carried]:
        """Write the statements of a nest; return the states of its reductions."""
        ...

    # ---- signals -----------------------------------------------------------------------------

    def poll(self) -> None:
        """Check for signals, and leave the kernel if one has ended the call."""
        b = self.b
        status = b.call("phintys_poll", INT32, [self.prelude.slot(State(), PTR)])
        with leaving(b, b.ne(status, 0), self.leave):
            b.store(b.constant(INT64, EXCEPTION), self.prelude.slot(Status(), PTR))

    def poll_passes(self, bounds: tuple[Value, Value], index: Value) -> None:
        """Check for signals at the end of every 1024th pass of a loop around others."""
        first, last = map(number_of, bounds)
        if first is not None and last is not None and last - first < POLLED_ITERATIONS:
            return
        is_due = self.b.eq(index & (POLLED_ITERATIONS - 1), POLLED_ITERATIONS - 1)
        with when(self.b, is_due):
            self.poll()

    def _poll_often(self, extent: Value, index: Value, step: int, often: int) -> None:
        """Check for signals in a loop with larger steps, once for ``often`` elements."""
        last = number_of(extent)
        if last is not None and last < often:
            return
        with when(self.b, self.b.eq((index + step) & (often - 1), 0)):
            self.poll()

    def _poll_outside(self, level: Level, index: Value) -> None:
        # Ranges of the parallel level are short enough, and signals are checked between them.
        if level is not self.plan.parallel:
            self.poll_passes(self.bounds(level), index)

    # ---- levels ------------------------------------------------------------------------------

    def bounds(self, level: Level) -> tuple[Value, Value]:
        """Return where a level begins and ends: the range that was asked for, or all of it."""
        if self._tile is not None and level is self._tile[0]:
            return self._tile[1:]
        if level is self.plan.parallel:
            start, stop = self.b.arguments[1], self.b.arguments[2]
        else:
            start, stop = self.b.constant(INT64, 0), self.prelude.number(level.extent)
        return self.unless_empty(self.lengths_inside(level), start, stop)

    def unless_empty(self, nests: Nests, start: Value, stop: Value) -> Bounds:
        """Return bounds of a loop: those of an empty one if each of some nests has a length of 0.

        An array without elements may have axes of any length, such as 2^60. All passes of a loop
        along one of them would do nothing, and take forever.
        """
        b = self.b
        # A short loop takes no longer than the check.
        length = number_of(stop)
        if length is not None and length < POLLED_ITERATIONS:
            return start, stop
        is_empty: Value | None = None
        for lengths in nests:
            unknown = [one for one in dict.fromkeys(lengths) if one.known is None]
            if any(one.known == 0 for one in lengths):
                continue
            if not unknown:
                return start, stop
            zeros = [b.eq(self.prelude.number(one), 0) for one in unknown]
            mine = reduce(or_, zeros)
            is_empty = mine if is_empty is None else is_empty & mine
        return start, start if is_empty is None else b.select(is_empty, start, stop)

    def lengths_inside(self, level: Level) -> Nests:
        """Return for each nest that is carried out in a level the lengths of its loops inside."""
        outer = self.plan.outer
        if level in outer:
            around = [one.extent for one in outer[outer.index(level) + 1 :]]
            nests = [nest for nest in self.plan.nests if self._reaches_memory(nest)]
            return [[*around, *(one.extent for one in nest.kept)] for nest in nests] or [[]]
        for nest in self.plan.nests:
            for levels in (nest.kept, nest.reduced):
                if level in levels:
                    return [[one.extent for one in levels[levels.index(level) + 1 :]]]
        return [[]]

    def _reaches_memory(self, nest: NestPlan) -> bool:
        """Return whether a nest does more than write what other nests of an iteration read.

        One that checks indices does, whether they are used or not.
        """
        return any(
            may_fail(statement)
            or (id(statement) in nest.stores and statement.target not in self.plan.scratch)
            for statement in nest.statements
        )

    def entered_all(
        self, nest: NestPlan, number: int, scopes: Sequence[Scope], places: Places
    ) -> list[Scope]:
        """Return the places inside an iteration of a level of a nest, with addresses computed.

        ``number`` counts kept and reduced levels.
        """
        return [self._entered(nest, number, scope, at) for scope in scopes for at in places]

    def _entered(
        self, nest: NestPlan, number: int, scope: Scope, place: tuple[Value, Value | None]
    ) -> Scope:
        levels = [*nest.kept, *nest.reduced]
        level = levels[number]
        inner = scope.inside()
        inner.index[level.loops[-1]], mask = place
        if level.is_vector:
            inner.lanes, inner.mask = nest.lanes, mask
        self.ev.enter(level, [nest], inner)
        if level is not levels[-1]:
            depth = len(self.plan.outer) + number
            self.ev.hoist(nest, inner, depth, depth)
        return inner

    # ---- vectors -----------------------------------------------------------------------------

    def vectors(
        self,
        nest: NestPlan,
        bounds: tuple[Value, Value],
        unroll: int,
        body: Callable[[Places], None],
    ) -> None:
        """Write a loop over vectors, and the masked rest; ``body`` takes places and masks."""

        def carried(places: Places, state: Carried) -> Carried:
            body(places)
            return state

        self.carrying(nest, bounds, unroll, carried, [])

    def carrying(
        self,
        nest: NestPlan,
        bounds: tuple[Value, Value],
        unroll: int,
        body: Callable[[Places, Carried], Carried],
        state: Carried,
    ) -> Carried:
        """Write the same with values that are carried from pass to pass."""
        b, lanes = self.b, nest.lanes
        start, stop = bounds
        if lanes == 1:
            with loop(b, start, stop, carried=state) as single:
                single.next(*body([(single.index, None)], single.carried))
            return single.results
        if unroll == 1 and self._is_masked(nest):
            with loop(b, start, stop, lanes, carried=state) as main:
                mask = lane_mask(b, stop - main.index, lanes)
                main.next(*body([(main.index, mask)], main.carried))
            return main.results
        whole = self._whole(start, stop, unroll * lanes)
        with loop(b, start, whole, unroll * lanes, carried=state) as main:
            places = [
                (main.index if not at else main.index + at * lanes, None) for at in range(unroll)
            ]
            main.next(*body(places, main.carried))
        if number_of(stop) is not None and number_of(stop) == number_of(whole):
            return main.results
        if unroll == 1:
            return self._rest((whole, stop), lanes, body, main.results)
        with loop(b, whole, stop, lanes, carried=main.results) as rest:
            mask = lane_mask(b, stop - rest.index, lanes)
            rest.next(*body([(rest.index, mask)], rest.carried))
        return rest.results

    def _rest(
        self,
        bounds: tuple[Value, Value],
        lanes: int,
        body: Callable[[Places, Carried], Carried],
        state: Carried,
    ) -> Carried:
        """Write one masked pass, if there is a rest: no loop, which LLVM would spend time on."""
        b = self.b
        whole, stop = bounds

        def rest() -> Carried:
            return body([(whole, lane_mask(b, stop - whole, lanes))], state)

        return computed_if(b, whole < stop, rest, state)

    def _is_masked(self, nest: NestPlan) -> bool:
        """Return whether all passes are masked, which pays off where masks cost nothing.

        Under a mask, lanes that are apart in memory are read by a slow instruction, and written one
        after the other.
        """
        is_long = self.plan.is_across or len(nest.statements) >= LONG_NEST
        return is_long and self.b.target.has_avx512 and not _is_apart(nest)

    def _whole(self, start: Value, stop: Value, wide: int) -> Value:
        """Return where whole vectors end."""
        first, last = number_of(start), number_of(stop)
        if first is not None and last is not None:
            return self.b.constant(INT64, first + (last - first) // wide * wide)
        if first == 0:
            return stop & -wide
        return start + ((stop - start) & -wide)


def _is_apart(nest: NestPlan) -> bool:
    """Return whether the lanes of a nest access memory at computed places, or in strides."""
    return any(
        access.dynamic or (nest.vector in access.steps and access.steps[nest.vector].known != 1)
        for access in nest.accesses
    )


def number_of(value: Value) -> int | None:
    """Return the number that a value of an integer type is, if it is a constant."""
    text = value.text
    return int(text) if text.lstrip("-").isdigit() else None
