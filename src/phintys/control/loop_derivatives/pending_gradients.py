"""The gradients of the states of a loop, while they wait for the terms of earlier steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.gradient.arithmetic import sum_of, zero_like
from phintys.tensor.creation import zeros
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.indexing import inc_subtensor
from phintys.tensor.joining import stack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.control.loop_derivatives.derived_loops import DerivedLoop
    from phintys.control.loop_derivatives.step_gradients import StateGradients
    from phintys.graph.variable import Variable

__all__ = ["Pending", "pending_gradients"]

_MOST_REGISTERS = 4


def pending_gradients(state: StateGradients, loop: DerivedLoop) -> Pending:
    """Add the pending gradients of a state to a backward loop."""
    return (_Registers if state.depth <= _MOST_REGISTERS else _Traces)(state, loop)


class Pending:
    """The gradients of rows of a state, until all steps that read them have added their terms.

    Attributes
    ----------
    terms
        Variables of the backward step whose sum is the gradient of the row that it starts from.
    """

    terms: list[Variable]

    def pass_on(self, received: Sequence[Variable | None]) -> None:
        """Pass on the terms of a step, one for each tap."""
        raise NotImplementedError

    def gradient(self, results: Any) -> Any:
        """Return the gradient of the first rows, or of the first value."""
        raise NotImplementedError


class _Registers(Pending):
    """One value for each of the rows that steps further back still read."""

    def __init__(self, state: StateGradients, loop: DerivedLoop) -> None:
        self._state = state
        self._loop = loop
        row: Any = state.first[0] if state.is_carried else state.first
        zero = zero_like(row)
        first = [zero if state.given.last is None else state.given.last]
        first += [zero] * (state.depth - 1)
        self._numbers, self._values = zip(
            *(loop.untraced(state.seed.type, value) for value in first), strict=True
        )
        self.terms = [self._values[0]]

    def pass_on(self, received: Sequence[Variable | None]) -> None:
        """After a step, the gradients pending for the row before become those of the row itself."""
        gives = {-tap: gradient for tap, gradient in zip(self._state.taps, received, strict=True)}
        for back, number in enumerate(self._numbers, start=1):
            terms = [] if back == len(self._numbers) else [self._values[back]]
            given = gives.get(back)
            terms += [] if given is None else [given]
            value = sum_of(terms) if terms else zero_like(self._values[0])
            self._loop.set_value(number, value)

    def gradient(self, results: Any) -> Any:
        """Return the gradients that are pending after all steps."""
        values = [results.untraced[number] for number in reversed(self._numbers)]
        if not self._state.is_carried:
            return values[0]
        return expand_dims(values[0], 0) if len(values) == 1 else stack(values)


class _Traces(Pending):
    """For each tap a trace of its terms, which the step reads that many steps later."""

    def __init__(self, state: StateGradients, loop: DerivedLoop) -> None:
        self._state = state
        self._loop = loop
        self._numbers: list[int] = []
        self.terms = []
        row: Any = zero_like(state.first[0])
        for tap in state.taps:
            shape = [row.shape[i] if n is None else n for i, n in enumerate(row.type.shape)]
            first = zeros((-tap, *shape), row.dtype)
            number, (term,) = loop.carried(state.seed.type, (tap,), first)
            self._numbers.append(number)
            self.terms.append(term)
        self._last: int | None = None
        if state.given.last is not None:  # in the first step of the backward loop only
            self._last, term = loop.untraced(state.seed.type, state.given.last)
            loop.set_value(self._last, zero_like(term))
            self.terms.append(term)

    def pass_on(self, received: Sequence[Variable | None]) -> None:
        """Keep the terms of a step."""
        for number, term, gradient in zip(self._numbers, self.terms, received, strict=False):
            self._loop.set_row(number, zero_like(term) if gradient is None else gradient)

    def gradient(self, results: Any) -> Any:
        """Return the sum of the last terms of the taps, which no step has read."""
        state = self._state
        total: Any = zero_like(state.first)
        for number, tap in zip(self._numbers, state.taps, strict=True):
            last = results.carried[number][tap:][::-1]
            total = inc_subtensor(total[state.depth + tap :], last)
        if self._last is not None:  # the last row is a first one if there are no steps
            total = inc_subtensor(total[-1], results.untraced[self._last])
        return total
