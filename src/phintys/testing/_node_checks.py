"""Checks of an Op's contract: of each node, of compiled functions in several modes, of batches."""

from __future__ import annotations

import copy
import pickle
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys.compile import In, function
from phintys.compile.debugging import node_checks, shapes
from phintys.compile.debugging.running import offered_storage, protected
from phintys.compile.debugging.values import duplicate
from phintys.graph import contract
from phintys.graph.alias_map import destroyed_inputs
from phintys.graph.apply import Apply
from phintys.graph.equality import equal_computations
from phintys.graph.identity import is_among
from phintys.graph.op import Op
from phintys.scalar.type import ScalarType
from phintys.tensor.batching import vectorize_graph
from phintys.tensor.type import TensorType
from phintys.testing._trial import (
    ExactRun,
    Trial,
    compare,
    difference,
    evaluate,
    run_node,
    value_of,
)
from phintys.testing.records import ROUNDED


def check_make_node(trial: Trial, run: ExactRun) -> None:
    """``op.make_node(*node.inputs)`` makes an equivalent node."""
    node = run.node
    again = node.op.make_node(*node.inputs)
    if again.op != node.op:
        problem = f"make_node(*node.inputs) made a node of another Op: {again.op}"
        _fail(trial, run, "make_node", problem)
    if len(again.inputs) != len(node.inputs) or any(
        a is not b for a, b in zip(again.inputs, node.inputs, strict=True)
    ):
        _fail(
            trial,
            run,
            "make_node",
            f"make_node(*node.inputs) has other inputs: {again.inputs}. make_node must leave "
            "variables that fit as they are, and take them in the order of node.inputs",
        )
    if [v.type for v in again.outputs] != [v.type for v in node.outputs]:
        types = [v.type for v in again.outputs]
        _fail(
            trial, run, "make_node", f"make_node(*node.inputs) has outputs of other types: {types}"
        )


def check_values(trial: Trial, run: ExactRun) -> None:
    """Each value belongs to the Type of its variable."""
    for position, (variable, value) in enumerate(zip(run.node.outputs, run.results, strict=True)):
        if not variable.type.is_valid_value(value):
            came = (
                f"an array of dtype {value.dtype} and shape {value.shape}"
                if isinstance(value, np.ndarray)
                else f"{value!r} ({type(value).__name__})"
            )
            problem = f"output {position} is not a {variable.type}: perform gave {came}"
            _fail(trial, run, "values", problem)


def check_equality(trial: Trial, run: ExactRun) -> None:
    """The Op equals itself and nothing else, and has a hash."""
    op = run.node.op
    if op != op or not op == op:  # noqa: PLR0124, SIM201 - both operators are tested
        _fail(trial, run, "equality", "the Op does not equal itself")
    if hash(op) != hash(op):
        _fail(trial, run, "equality", "the Op's hash changes")
    if op == object() or op == None:  # noqa: E711 - __eq__ is what is tested
        _fail(trial, run, "equality", "the Op equals objects that are not Ops")


def check_inputs_unchanged(trial: Trial, run: ExactRun) -> None:
    """Inputs are changed only where ``destroy_map`` says so."""
    given = protected(run.node, run.values)
    before = [duplicate(value) for value in given]
    run.execute(given)
    node_checks.check_inputs(run.node, given, before)


def check_storage(trial: Trial, run: ExactRun) -> None:
    """What is left in the storage cells makes no difference."""
    for offer in offered_storage(run.node, run.results, _OFFERS):
        node_checks.check_offer(run, offer)


_OFFERS = ("previous", "negative", "wrong_size")
"""Kinds of memory that are offered; the mode "debug" offers all."""


def check_memory(trial: Trial, run: ExactRun) -> None:
    """Outputs share memory with inputs only where ``view_map`` or ``destroy_map`` say so."""
    given = protected(run.node, run.values)
    again = ExactRun(run.node, run.values, run.execute(given), run.used)
    node_checks.check_memory(again, given)


def check_repetition(trial: Trial, run: ExactRun) -> None:
    """The same inputs give the same results, in other memory."""
    node_checks.check_again(run)


def check_shapes(trial: Trial, run: ExactRun) -> None:
    """``infer_shape`` says the shapes that the values have."""
    shapes.check_shapes(run.node, run.values, run.results, trial.known)


def check_connection_pattern(trial: Trial, run: ExactRun) -> None:
    """``connection_pattern`` has a row for each input."""
    contract.connection_pattern(run.node)


def check_pickling(trial: Trial, run: ExactRun) -> None:
    """Op and node survive copying and pickling, and compute the same afterwards."""
    op = run.node.op
    copies: list[tuple[str, Op, Apply]] = [("copied", copy.copy(op), copy.copy(run.node))]
    if importable(op):
        pickled = pickle.loads(pickle.dumps(run.node))  # noqa: S301 - our own pickle
        copies.append(("pickled", pickled.op, pickled))
    for how, twin, node in copies:
        if _has_equality(op) and (twin != op or hash(twin) != hash(op)):
            _fail(
                trial,
                run,
                "pickling",
                f"the {how} Op does not equal the Op, or has another hash. List what tells "
                "instances apart in __props__",
            )
        pairs = zip(node.outputs, run.node.outputs, strict=True)
        if any(_has_equality(old.type) and new.type != old.type for new, old in pairs):
            _fail(trial, run, "pickling", f"the {how} node has outputs of other types")
        values = run_node(node, protected(node, run.values))
        for position, (value, expected) in enumerate(zip(values, run.results, strict=True)):
            problem = difference(run.node.outputs[position], value, expected)
            if problem:
                text = f"the {how} node computes another output {position}: {problem}"
                _fail(trial, run, "pickling", text)


def _has_equality(thing: Any) -> bool:
    """Return whether an object equals others than itself."""
    return type(thing).__eq__ is not object.__eq__


def importable(op: Op) -> bool:
    """Return whether pickle can find the Op's class by its name."""
    cls = type(op)
    found: Any = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is cls and not op.__dict__.keys() & {"make_node", "perform", "make_thunk"}


NODE_CHECKS = {
    "values": check_values,
    "equality": check_equality,
    "make_node": check_make_node,
    "inputs unchanged": check_inputs_unchanged,
    "storage reuse": check_storage,
    "memory": check_memory,
    "repetition": check_repetition,
    "infer_shape": check_shapes,
    "connection_pattern": check_connection_pattern,
    "pickling": check_pickling,
}
"""Checks of one node, by name."""


def check_same_graph(trial: Trial) -> None:
    """Applying the function twice makes equal graphs, which can be merged."""
    again = trial.build(trial.inputs)
    if not equal_computations(trial.outputs, again):
        trial.fail(
            "equality",
            "applying it twice to the same inputs makes two graphs that are not equal, so they "
            "cannot be merged. List what tells instances of the Op apart in __props__, or define "
            "__eq__ and __hash__.",
        )


def _fail(trial: Trial, run: ExactRun, check: str, problem: str) -> None:
    trial.fail(check, f"{run.node.op}: {problem}.", run.node)


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
