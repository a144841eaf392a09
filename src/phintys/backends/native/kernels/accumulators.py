"""Reductions: the state kept per element, and how it becomes one number.

A *state* is carried between passes of the innermost loop, in registers: for each lane, the result
for the elements seen so far. At the end of each block of elements the state is folded into a
*total*, and the totals of lanes, and of parts of the loop, are merged at the end. Where each block
begins depends on the lengths of the loops alone, so the result does not depend on threads.

Sums of floats add the blocks with compensation (Neumaier's, "Rundungsfehleranalyse einiger
Verfahren zur Summation endlicher Summen", 1974): the rounding error of each addition is kept and
added at the end. The error is that of one block, however many there are.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from phintys._base.errors import MethodNotDefinedError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.casting import cast
from phintys.backends.native.assembler.math.exact import two_sum
from phintys.backends.native.assembler.operations import emit
from phintys.backends.native.assembler.types import FLOAT32, INT64, UINT8, MachineType, type_of
from phintys.backends.native.assembler.values import Complex, Value, components, joined

State = list[Value]


class Accumulator(Protocol):
    """One reduction. States and totals are lists of values, all of the same lanes."""

    @property
    def is_blocked(self) -> bool:
        """Whether states must be folded after a limited number of elements."""
        ...

    @property
    def cells(self) -> int:
        """Number of values in a total."""
        ...

    def start(self, b: Builder, lanes: int) -> State:
        """Return the state of no elements."""
        ...

    def step(
        self, b: Builder, state: State, x: Value | Complex, mask: Value | None, at: Value | None
    ) -> State:
        """Return the state after one more element in each lane, where the mask is set.

        ``at`` is the element's position, for reducers that return positions.
        """
        ...

    def merge(self, b: Builder, first: State, second: State) -> State:
        """Return the state of the elements of two states."""
        ...

    def start_total(self, b: Builder, lanes: int) -> State:
        """Return the total of no elements."""
        ...

    def fold(self, b: Builder, total: State, state: State) -> State:
        """Return the total with the elements of a state."""
        ...

    def merge_totals(self, b: Builder, first: State, second: State) -> State:
        """Return the total of the elements of two totals."""
        ...

    def result(self, b: Builder, total: State) -> Value | Complex:
        """Return the result of a total, in the dtype that is reduced (positions: int64)."""
        ...


def reduce_total(acc: Accumulator, b: Builder, total: State) -> State:
    """Merge the lanes of a total, pairwise, in a fixed order."""
    lanes = total[0].type.lanes
    while lanes > 1:
        lanes //= 2
        low = [b.part(value, 0, lanes) for value in total]
        high = [b.part(value, lanes, lanes) for value in total]
        total = acc.merge_totals(b, low, high)
    return total


def masked(b: Builder, mask: Value | None, value: Value, otherwise: Value) -> Value:
    """Return the value where the mask is set."""
    return value if mask is None else b.select(mask, value, otherwise)


class _Plain:
    """A reduction whose totals have the form of its states."""

    is_blocked = False

    def start(self, b: Builder, lanes: int) -> State:
        raise NotImplementedError

    def merge(self, b: Builder, first: State, second: State) -> State:
        raise NotImplementedError

    def start_total(self, b: Builder, lanes: int) -> State:
        return self.start(b, lanes)

    def fold(self, b: Builder, total: State, state: State) -> State:
        return self.merge(b, total, state)

    def merge_totals(self, b: Builder, first: State, second: State) -> State:
        return self.merge(b, first, second)


class FloatSum:
    """The sum of floats or complex numbers, blocked and compensated."""

    is_blocked = True

    def __init__(self, type: MachineType) -> None:
        self.type = type
        self.count = 2 if type.kind == "c" else 1
        self.cells = 2 * self.count

    def start(self, b: Builder, lanes: int) -> State:
        return [b.constant(self.type.part.of(lanes), 0.0)] * self.count

    def step(
        self, b: Builder, state: State, x: Value | Complex, mask: Value | None, at: Value | None
    ) -> State:
        return [
            before + masked(b, mask, part, b.constant(part.type, 0.0))
            for before, part in zip(state, components(x), strict=True)
        ]

    def merge(self, b: Builder, first: State, second: State) -> State:
        return [x + y for x, y in zip(first, second, strict=True)]

    def start_total(self, b: Builder, lanes: int) -> State:
        return [b.constant(self.type.part.of(lanes), 0.0)] * (2 * self.count)

    def fold(self, b: Builder, total: State, state: State) -> State:
        following: State = []
        for number, part in enumerate(state):
            sum_, error = two_sum(b, total[2 * number], part)
            following += [sum_, total[2 * number + 1] + error]
        return following

    def merge_totals(self, b: Builder, first: State, second: State) -> State:
        following: State = []
        for at in range(0, len(first), 2):
            sum_, error = two_sum(b, first[at], second[at])
            following += [sum_, first[at + 1] + second[at + 1] + error]
        return following

    def result(self, b: Builder, total: State) -> Value | Complex:
        sums = [
            # The error of an infinite sum is not a number.
            b.select(b.isnan(error), sum_, sum_ + error)
            for sum_, error in zip(total[::2], total[1::2], strict=True)
        ]
        return joined(sums)


class Folded(_Plain):
    """A reduction by an op with an identity: products, sums of integers, and, or, xor."""

    def __init__(self, name: str, type: MachineType, identity: float) -> None:
        self.name = name
        self.type = type
        self.identity = identity
        self.cells = 2 if type.kind == "c" else 1

    def start(self, b: Builder, lanes: int) -> State:
        parts = [b.constant(self.type.part.of(lanes), self.identity)]
        if self.type.kind == "c":
            parts.append(b.constant(self.type.part.of(lanes), 0.0))
        return parts

    def step(
        self, b: Builder, state: State, x: Value | Complex, mask: Value | None, at: Value | None
    ) -> State:
        neutral = self.start(b, state[0].type.lanes)
        parts = [masked(b, mask, p, n) for p, n in zip(components(x), neutral, strict=True)]
        return self.merge(b, state, parts)

    def merge(self, b: Builder, first: State, second: State) -> State:
        operands = [self.result(b, first), self.result(b, second)]
        return components(emit(b, self.name, operands, self.type.name))

    def result(self, b: Builder, total: State) -> Value | Complex:
        return joined(total)


class Extreme(_Plain):
    """The largest or smallest number; NaN if there is one."""

    def __init__(self, name: str, type: MachineType) -> None:
        self.is_maximum = name == "maximum"
        self.type = type
        self.cells = 2 if type.kind == "f" else 1
        self.identity = extreme_of(type, largest=not self.is_maximum)

    def start(self, b: Builder, lanes: int) -> State:
        type = self.type.of(lanes)
        state = [b.constant(type, self.identity)]
        if type.kind == "f":
            state.append(b.constant(type, 0.0))  # a NaN, once there is one
        return state

    def step(
        self, b: Builder, state: State, x: Value | Complex, mask: Value | None, at: Value | None
    ) -> State:
        assert isinstance(x, Value)
        x = masked(b, mask, x, b.constant(x.type, self.identity))
        if self.type.kind != "f":
            return self.merge(b, state, [x])
        best, nan = state
        return [self._better(b, x, best), b.select(b.isnan(x), x, nan)]

    def _better(self, b: Builder, x: Value, y: Value) -> Value:
        return b.maximum_number(x, y) if self.is_maximum else b.minimum_number(x, y)

    def merge(self, b: Builder, first: State, second: State) -> State:
        best = self._better(b, second[0], first[0])
        if self.type.kind != "f":
            return [best]
        return [best, b.select(b.isnan(first[1]), first[1], second[1])]

    def result(self, b: Builder, total: State) -> Value | Complex:
        if self.type.kind != "f":
            return total[0]
        best, nan = total
        return b.select(b.isnan(nan), nan, best)


class ArgExtreme(_Plain):
    """The first position of the largest or smallest number, or of NaN if there is one.

    Parameters
    ----------
    name, type
        ``"argmax"`` or ``"argmin"``, and what is compared.
    in_order
        Whether each lane meets positions in ascending order: then it is enough to look for better
        numbers, of which the first is kept.
    """

    nowhere = (1 << 63) - 1

    def __init__(self, name: str, type: MachineType, *, in_order: bool) -> None:
        self.is_maximum = name == "argmax"
        self.type = type
        self.in_order = in_order
        self.identity = extreme_of(type, largest=not self.is_maximum)
        self.cells = 3 if type.kind == "f" else 2

    def start(self, b: Builder, lanes: int) -> State:
        nowhere = b.constant(INT64.of(lanes), self.nowhere)
        state = [b.constant(self.type.of(lanes), self.identity), nowhere]
        return [*state, nowhere] if self.type.kind == "f" else state

    def step(
        self, b: Builder, state: State, x: Value | Complex, mask: Value | None, at: Value | None
    ) -> State:
        assert isinstance(x, Value)
        assert at is not None
        if mask is not None:
            at = b.select(mask, at, self.nowhere)
            x = b.select(mask, x, self.identity)
        following = self._following(b, state, x, at)
        if self.type.kind == "f":
            # One instruction where there are masks; NaN is rare, and never better.
            sooner = b.minimum_number(at, state[2])
            following.append(b.select(b.isnan(x), sooner, state[2]))
        return following

    def _following(self, b: Builder, state: State, x: Value, at: Value) -> State:
        if not self.in_order:
            return self.merge(b, state[:2], [x, at])
        better = self._is_better(x, state[0])
        return [b.select(better, x, state[0]), b.select(better, at, state[1])]

    def _is_better(self, x: Value, y: Value) -> Value:
        return x > y if self.is_maximum else x < y

    def merge(self, b: Builder, first: State, second: State) -> State:
        (x, x_at), (y, y_at) = first[:2], second[:2]
        better = self._is_better(y, x) | (b.eq(x, y) & (y_at < x_at))
        following = [b.select(better, y, x), b.select(better, y_at, x_at)]
        if len(first) > 2:
            following.append(b.minimum_number(second[2], first[2]))
        return following

    def result(self, b: Builder, total: State) -> Value | Complex:
        # If nothing was better than the identity, all elements equal it, or there are none.
        at = b.select(b.eq(total[1], self.nowhere), 0, total[1])
        if self.type.kind != "f":
            return at
        return b.select(b.eq(total[2], self.nowhere), at, total[2])


def extreme_of(type: MachineType, *, largest: bool) -> float:
    """Return the largest or smallest number of a real type."""
    if type.kind == "f":
        return math.inf if largest else -math.inf
    if type.kind == "b":
        return int(largest)
    limits = np.iinfo(type.name)
    return int(limits.max if largest else limits.min)


class Widened:
    """A reduction of one dtype carried out in another: float16 in float32, bool in uint8."""

    def __init__(self, inner: Accumulator, type: MachineType, wide: MachineType) -> None:
        self.inner = inner
        self.type = INT64 if isinstance(inner, ArgExtreme) else type
        self.wide = wide
        self.is_blocked = inner.is_blocked
        self.cells = inner.cells
        self.start = inner.start
        self.merge = inner.merge
        self.start_total = inner.start_total
        self.fold = inner.fold
        self.merge_totals = inner.merge_totals

    def step(
        self, b: Builder, state: State, x: Value | Complex, mask: Value | None, at: Value | None
    ) -> State:
        wide = cast(b, x, self.wide.of(state[0].type.lanes))
        return self.inner.step(b, state, wide, mask, at)

    def result(self, b: Builder, total: State) -> Value | Complex:
        return cast(b, self.inner.result(b, total), self.type.of(total[0].type.lanes))


_IDENTITIES = {"add": 0, "mul": 1, "and_": -1, "or_": 0, "xor": 0}
_BITWISE = {"and_", "or_", "xor"}


def can_reduce(reducer: str, dtype: np.dtype[Any] | str) -> bool:
    """Return whether there is native code for a reduction of a dtype."""
    kind = np.dtype(dtype).kind
    if reducer in _BITWISE:
        return kind in "biu"
    if reducer in {"add", "mul"}:
        return kind in "biufc"
    return reducer in {"maximum", "minimum", "argmax", "argmin"} and kind in "biuf"


def accumulator(reducer: str, dtype: np.dtype[Any] | str, *, in_order: bool = False) -> Accumulator:
    """Return the reduction of values of a dtype.

    Parameters
    ----------
    reducer
        ``add mul maximum minimum and_ or_ xor argmax argmin``.
    dtype
        Dtype of the values, and of the result; but positions are int64.
    in_order
        Whether each lane meets positions in ascending order.

    Raises
    ------
    MethodNotDefinedError
        If there is none.
    """
    type = type_of(dtype)
    if not can_reduce(reducer, type.name):
        msg = f"There is no native reduction of {type.name} by {reducer}."
        raise MethodNotDefinedError(msg)
    if type.kind == "h":
        wide = accumulator(reducer, "float32", in_order=in_order)
        return Widened(wide, type, FLOAT32)
    if reducer in {"argmax", "argmin"}:
        if type.kind == "b":
            return Widened(ArgExtreme(reducer, UINT8, in_order=in_order), type, UINT8)
        return ArgExtreme(reducer, type, in_order=in_order)
    if reducer in {"maximum", "minimum"}:
        if type.kind == "b":
            reducer = "or_" if reducer == "maximum" else "and_"
            return Folded(reducer, type, _IDENTITIES[reducer])
        return Extreme(reducer, type)
    if reducer == "add" and type.kind in "fc":
        return FloatSum(type)
    return Folded(reducer, type, _IDENTITIES[reducer])
