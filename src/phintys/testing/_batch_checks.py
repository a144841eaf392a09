"""The check that a graph for a batch computes what the graph for an item does for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from phintys.scalar.type import ScalarType
from phintys.tensor.batching import vectorize_graph
from phintys.tensor.type import TensorType
from phintys.testing._trial import Trial, compare, evaluate, value_of
from phintys.testing.records import ROUNDED


def check_batching(trial: Trial) -> None:
    """Each input in turn is replaced by a batch, and then all of them by batches of two axes."""
    count = len(trial.inputs)
    able = [at for at in range(count) if isinstance(trial.inputs[at].type, TensorType | ScalarType)]
    if not all(isinstance(v.type, TensorType | ScalarType) for v in trial.outputs):
        return
    others = {at: _other(trial, at) for at in able}
    for at in able:
        _check(trial, {at: _Lanes((2,), [trial.example.values[at], others[at]])})
    if len(able) > 1:
        first, *rest = able
        lanes = {at: _Lanes((2,), [trial.example.values[at], others[at]]) for at in rest}
        lanes[first] = _Lanes((2, 1), [trial.example.values[first], others[first]])
        if not _is_ragged(trial, lanes):
            _check(trial, lanes)


class _Lanes:
    """The values of an input for the items of a batch."""

    def __init__(self, shape: tuple[int, ...], values: Sequence[Any]) -> None:
        self.shape = shape
        self.values = list(values)

    def at(self, position: tuple[int, ...]) -> Any:
        """Return the value at a position of a batch that may have further axes."""
        own = position[len(position) - len(self.shape) :]
        kept = tuple(i if size > 1 else 0 for i, size in zip(own, self.shape, strict=True))
        return self.values[int(np.ravel_multi_index(kept, self.shape))]

    def stacked(self) -> Any:
        """Return the values as one array."""
        whole = np.stack([np.asarray(value) for value in self.values])
        return whole.reshape(*self.shape, *whole.shape[1:])


def _other(trial: Trial, at: int) -> Any:
    """Return another value of an input, with results of the same shapes; maybe the same value."""
    value = trial.example.values[at]
    array = np.asarray(value)
    moved = np.roll(array.ravel(), 1).reshape(array.shape)
    found = _computed(trial, {at: moved})
    if found is None or [np.shape(x) for x in found] != [np.shape(x) for x in trial.values]:
        return value
    return moved


def _computed(trial: Trial, changed: dict[int, Any]) -> list[Any] | None:
    """Return the outputs with some inputs changed, ``None`` if the values are not allowed."""
    known = dict(zip(trial.inputs, trial.example.values, strict=True))
    known.update((trial.inputs[at], value) for at, value in changed.items())
    try:
        evaluate(trial.outputs, known)
    except Exception:  # noqa: BLE001 - whatever the Op raises
        return None
    return [value_of(output, known) for output in trial.outputs]


def _is_ragged(trial: Trial, lanes: dict[int, _Lanes]) -> bool:
    shape = np.broadcast_shapes(*(one.shape for one in lanes.values()))
    wanted = [np.shape(x) for x in trial.values]
    for position in np.ndindex(shape):
        found = _computed(trial, {at: one.at(position) for at, one in lanes.items()})
        if found is None or [np.shape(x) for x in found] != wanted:
            return True
    return False


def _check(trial: Trial, lanes: dict[int, _Lanes]) -> None:
    """Compare the results for a batch with those for each item."""
    shape = np.broadcast_shapes(*(one.shape for one in lanes.values()))
    batches: dict[Any, Any] = {}
    known = dict(zip(trial.inputs, trial.example.values, strict=True))
    for at, one in lanes.items():
        old = trial.inputs[at]
        static = [1 if size == 1 else None for size in one.shape]
        new = TensorType(old.type.dtype, (*static, *getattr(old.type, "shape", ())))()
        batches[old] = new
        known[new] = one.stacked()
    batched = vectorize_graph(trial.outputs, batches)
    evaluate(batched, known)
    expected: list[Any] = []
    for position in np.ndindex(shape):
        found = _computed(trial, {at: one.at(position) for at, one in lanes.items()})
        assert found is not None
        expected.append(found)
    for number, output in enumerate(batched):
        wanted = np.stack([np.asarray(found[number]) for found in expected])
        wanted = wanted.reshape(*shape, *wanted.shape[1:])
        value = np.asarray(value_of(output, known))
        rank = value.ndim - (wanted.ndim - len(shape))
        if all(
            size in {1, own}
            for size, own in zip(value.shape[:rank], shape[len(shape) - rank :], strict=True)
        ):
            # It is the same for items along an axis that it does not depend on.
            value = np.broadcast_to(value, (*shape, *value.shape[rank:]))
        given = trial.record.tolerance
        # What NumPy computes depends on strides in the last digits.
        tolerance = replace(given, ulps=max(given.ulps, ROUNDED.ulps))
        problem = compare(value, wanted, tolerance, trial.example.values)
        if problem:
            names = ", ".join(str(trial.inputs[at]) for at in lanes)
            trial.fail(
                "batching",
                f"output {number} for a batch of {names} differs from those for each item: "
                f"{problem}.",
            )
