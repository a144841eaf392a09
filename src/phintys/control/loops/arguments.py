"""What the inputs and outputs of a loop's graph stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from phintys._base.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from phintys.graph.op import Roles

T = TypeVar("T")


@record(frozen=True)
class LoopArguments:
    """Which kinds of arguments a :class:`~phintys.control.Scan` takes, and how many of each.

    =========  ==================  =============================  ============================
    Kind       Input of the loop   What a step reads              What the loop returns
    =========  ==================  =============================  ============================
    sequence   ``x`` of >= n rows  ``x[t]``
    carried    the first k rows    the rows ``t + tap``, for      the first k rows, followed
                                   negative taps                  by one for each step
    untraced   its first value     its value after the last step  its value after all steps
    stacked                                                       one row for each step
    captured   a value             that value
    =========  ==================  =============================  ============================

    A step computes a row for each carried and stacked argument, and a value for each untraced one.
    The earliest tap of a carried argument is ``-k``.

    Attributes
    ----------
    sequences
        Number of sequences.
    taps
        For each carried argument its taps, negative numbers in rising order.
    untraced
        Number of values of which only the last one is kept. They can be of any Type.
    stacked
        Number of results of the steps that later steps do not read.
    captured
        Number of values that are the same in all steps.
    has_until
        Whether a step also computes a condition, which ends the loop when it is true.
    """

    sequences: int = 0
    taps: tuple[tuple[int, ...], ...] = ()
    untraced: int = 0
    stacked: int = 0
    captured: int = 0
    has_until: bool = False

    @property
    def depths(self) -> tuple[int, ...]:
        """For each carried argument, how many first rows it needs."""
        return tuple(-taps[0] for taps in self.taps)

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many inputs a loop has, and how many inputs and outputs the graph of a step."""
        others = 1 + self.sequences + self.untraced + self.captured
        made = len(self.taps) + self.untraced + self.stacked + self.has_until
        return others + len(self.taps), others + sum(map(len, self.taps)), made

    @property
    def node_roles(self) -> Roles:
        """What each input and output of a loop is, in words."""
        made = [*self._named("carried"), *self._named("untraced"), *self._named("stacked")]
        inputs = [
            "number of steps",
            *self._named("sequence"),
            *(f"first of {one}" for one in self._named("carried")),
            *(f"first of {one}" for one in self._named("untraced")),
            *self._named("captured"),
        ]
        return inputs, [*made, "steps run"] if self.has_until else made

    @property
    def step_roles(self) -> Roles:
        """What each input and output of the graph of a step is, in words."""
        made = [*self._named("carried"), *self._named("untraced"), *self._named("stacked")]
        inputs = [
            "step",
            *self._named("sequence"),
            *(f"carried {n}, {-tap} before" for n, taps in enumerate(self.taps) for tap in taps),
            *self._named("untraced"),
            *self._named("captured"),
        ]
        return inputs, [*made, "until"] if self.has_until else made

    def _named(self, kind: str) -> list[str]:
        """Return the names of the arguments of a kind."""
        counts = {
            "sequence": self.sequences,
            "carried": len(self.taps),
            "untraced": self.untraced,
            "stacked": self.stacked,
            "captured": self.captured,
        }
        return [f"{kind} {n}" for n in range(counts[kind])]

    def node_inputs(self, values: Sequence[T]) -> Inputs[T]:
        """Return the inputs of a loop by their kinds."""
        n, *rest = values
        sizes = (self.sequences, len(self.taps), self.untraced, self.captured)
        sequences, carried, untraced, captured = _cut(rest, sizes)
        return Inputs(n, sequences, carried, untraced, captured)

    def step_inputs(self, values: Sequence[T]) -> StepInputs[T]:
        """Return the inputs of the graph of a step by their kinds."""
        index, *rest = values
        sizes = (self.sequences, *map(len, self.taps), self.untraced, self.captured)
        sequences, *carried, untraced, captured = _cut(rest, sizes)
        return StepInputs(index, sequences, carried, untraced, captured)

    def step_outputs(self, values: Sequence[T]) -> StepOutputs[T]:
        """Return the outputs of the graph of a step by their kinds."""
        sizes = (len(self.taps), self.untraced, self.stacked, int(self.has_until))
        carried, untraced, stacked, until = _cut(values, sizes)
        return StepOutputs(carried, untraced, stacked, until[0] if until else None)

    def node_outputs(self, values: Sequence[T]) -> Outputs[T]:
        """Return the outputs of a loop by their kinds."""
        sizes = (len(self.taps), self.untraced, self.stacked, int(self.has_until))
        carried, untraced, stacked, ran = _cut(values, sizes)
        return Outputs(carried, untraced, stacked, ran[0] if ran else None)


@record()
class Inputs(Generic[T]):
    """The inputs of a loop.

    Attributes
    ----------
    n
        The number of steps, or the most if there is a condition.
    sequences, carried, untraced, captured
        See :class:`LoopArguments`.
    """

    n: T
    sequences: list[T]
    carried: list[T]
    untraced: list[T]
    captured: list[T]

    def __iter__(self) -> Iterator[T]:
        yield self.n
        yield from (*self.sequences, *self.carried, *self.untraced, *self.captured)


@record()
class StepInputs(Generic[T]):
    """The inputs of the graph of a step.

    Attributes
    ----------
    index
        The number of the step, from 0.
    sequences, untraced, captured
        See :class:`LoopArguments`.
    carried
        For each carried argument, a row for each tap.
    """

    index: T
    sequences: list[T]
    carried: list[list[T]]
    untraced: list[T]
    captured: list[T]

    def __iter__(self) -> Iterator[T]:
        yield self.index
        yield from self.sequences
        for rows in self.carried:
            yield from rows
        yield from (*self.untraced, *self.captured)


@record()
class StepOutputs(Generic[T]):
    """The outputs of the graph of a step.

    Attributes
    ----------
    carried, untraced, stacked
        The new rows and values.
    until
        The condition, if there is one.
    """

    carried: list[T]
    untraced: list[T]
    stacked: list[T]
    until: T | None = None

    def __iter__(self) -> Iterator[T]:
        yield from (*self.carried, *self.untraced, *self.stacked)
        if self.until is not None:
            yield self.until


@record()
class Outputs(Generic[T]):
    """The outputs of a loop.

    Attributes
    ----------
    carried, untraced, stacked
        See :class:`LoopArguments`.
    ran
        The number of steps that were run, if there is a condition.
    """

    carried: list[T]
    untraced: list[T]
    stacked: list[T]
    ran: T | None = None

    def __iter__(self) -> Iterator[T]:
        yield from (*self.carried, *self.untraced, *self.stacked)
        if self.ran is not None:
            yield self.ran


def _cut(values: Sequence[Any], sizes: Sequence[int]) -> list[list[Any]]:
    """Return consecutive parts of given lengths."""
    found: list[list[Any]] = []
    start = 0
    for size in sizes:
        found.append(list(values[start : start + size]))
        start += size
    return found
