"""Checks of values: each node's, and those of compiled functions in several modes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys.compile import In, function
from phintys.compile.debugging.values import duplicate
from phintys.graph.alias_map import destroyed_inputs
from phintys.graph.identity import is_among
from phintys.tensor.type import TensorType
from phintys.testing._trial import Trial, compare

__all__ = ["check_modes", "check_reference"]

# Rewriting may add in another order, and the vector math of a backend errs by up to 2 ULP.
_OTHER_MODES_ULPS = 4.0


def check_reference(trial: Trial) -> list[Any] | None:
    """The values are those of the reference, which are returned."""
    record, example = trial.record, trial.example
    if record.reference is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of means of nothing and the like
        results = record.reference(*example.values, **example.params)
    expected = list(results) if isinstance(results, list | tuple) else [results]
    if len(expected) != len(trial.outputs):
        trial.fail(
            "reference",
            f"it has {len(trial.outputs)} outputs, and the reference returned {len(expected)}",
        )
    for position, value in enumerate(expected):
        problem = _compare(trial, position, trial.values[position], value, 0.0)
        if problem:
            trial.fail("reference", f"output {position} is not what the reference says: {problem}")
    return expected


def _compare(trial: Trial, position: int, found: Any, expected: Any, more_ulps: float) -> str:
    """Return how a value differs from the expected one."""
    type_ = trial.outputs[position].type
    if isinstance(type_, TensorType):
        tolerance = trial.record.tolerance
        if more_ulps:
            tolerance = replace(
                tolerance,
                ulps=tolerance.ulps + more_ulps,
                per_dtype={name: ulps + more_ulps for name, ulps in tolerance.per_dtype.items()},
            )
        return compare(found, expected, tolerance, trial.example.values)
    if type_.values_eq_approx(found, expected):
        return ""
    return f"it is {found!r}, expected {expected!r}"


def check_modes(trial: Trial, modes: Sequence[Any], expected: Sequence[Any] | None) -> None:
    """Compiled functions compute the same in every mode, and shapes without the values."""
    wanted = trial.values if expected is None else expected
    for mode in modes:
        with trial.explaining(f"mode {mode}"):
            _check_mode(trial, mode, wanted)


def _check_mode(trial: Trial, mode: Any, expected: Sequence[Any]) -> None:
    tensors = [output for output in trial.outputs if isinstance(output.type, TensorType)]
    spoilt = _destroyed_inputs(trial)
    inputs = [In(x, mutable=True) if x in spoilt else x for x in trial.inputs]
    shapes = [pt.shape(output) for output in tensors]
    compiled = function(
        inputs,
        [*trial.outputs, *shapes],
        mode=mode,
        on_unused_input="ignore",
        accept_inplace=any(destroyed_inputs(run.node) for run in trial.runs),
    )
    given = [
        duplicate(value) if x in spoilt else value
        for x, value in zip(trial.inputs, trial.example.values, strict=True)
    ]
    before = [duplicate(value) for value in trial.example.values]
    results = compiled(*given)
    count = len(trial.outputs)
    check = f"mode {mode}"
    for position, value in enumerate(results[:count]):
        if not trial.outputs[position].type.is_valid_value(value):
            text = f"output {position} is {value!r}, no {trial.outputs[position].type}"
            trial.fail(check, f"in mode {mode}, {text}")
        problem = _compare(trial, position, value, expected[position], _OTHER_MODES_ULPS)
        if problem:
            trial.fail(check, f"in mode {mode}, output {position} is wrong: {problem}")
    for output, value, shape in zip(
        tensors, _values_of(trial, tensors), results[count:], strict=True
    ):
        if tuple(shape) != value.shape:
            text = f"the shape of {output} is said to be {tuple(shape)}; it is {value.shape}"
            trial.fail(check, f"in mode {mode}, {text}")
    _check_ownership(trial, check, compiled, results, given, before)


def _values_of(trial: Trial, tensors: Sequence[Any]) -> list[Any]:
    by_variable = dict(zip(trial.outputs, trial.values, strict=True))
    return [by_variable[output] for output in tensors]


def _destroyed_inputs(trial: Trial) -> set[Any]:
    """Return the inputs that some node overwrites: there is no other way to compute the graph."""
    return {
        run.node.inputs[position]
        for run in trial.runs
        for position in destroyed_inputs(run.node)
        if is_among(run.node.inputs[position], trial.inputs)
    }


def _check_ownership(
    trial: Trial,
    check: str,
    compiled: Any,
    results: Sequence[Any],
    given: Sequence[Any],
    before: Sequence[Any],
) -> None:
    """Results belong to the caller: another call does not change them, and no input is changed."""
    kept = [duplicate(value) for value in results]
    compiled(*(duplicate(value) for value in trial.example.values))
    for position, (value, old) in enumerate(zip(results, kept, strict=True)):
        if isinstance(value, np.ndarray) and value.tobytes() != old.tobytes():
            trial.fail(check, f"another call changed result {position} of the first")
        for place, array in enumerate(given):
            if (
                isinstance(value, np.ndarray)
                and isinstance(array, np.ndarray)
                and np.shares_memory(value, array)
            ):
                trial.fail(check, f"result {position} shares memory with argument {place}")
    for place, (value, old) in enumerate(zip(trial.example.values, before, strict=True)):
        if isinstance(value, np.ndarray) and value.tobytes() != old.tobytes():
            trial.fail(check, f"the call changed its argument {place}")
