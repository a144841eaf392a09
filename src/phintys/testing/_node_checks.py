"""Checks of what each node of a graph promises: its Op's contract."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from phintys.compile.debugging.running import longest_axes
from phintys.compile.debugging.shapes import symbolic_shape
from phintys.graph import contract
from phintys.graph.alias_map import shared_inputs
from phintys.graph.apply import Apply
from phintys.graph.equality import equal_computations
from phintys.graph.op import Op
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.type import TensorType
from phintys.testing._trial import (
    NodeRun,
    Trial,
    compare,
    destroyed,
    duplicate,
    evaluate,
    protected,
    run_node,
    value_of,
)
from phintys.testing.records import ROUNDED

__all__ = ["NODE_CHECKS"]


def check_make_node(trial: Trial, run: NodeRun) -> None:
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


def check_values(trial: Trial, run: NodeRun) -> None:
    """Each value belongs to the Type of its variable."""
    for position, (variable, value) in enumerate(zip(run.node.outputs, run.outputs, strict=True)):
        if not variable.type.is_valid_value(value):
            came = (
                f"an array of dtype {value.dtype} and shape {value.shape}"
                if isinstance(value, np.ndarray)
                else f"{value!r} ({type(value).__name__})"
            )
            problem = f"output {position} is not a {variable.type}: perform gave {came}"
            _fail(trial, run, "values", problem)


def check_equality(trial: Trial, run: NodeRun) -> None:
    """The Op equals itself and nothing else, and has a hash."""
    op = run.node.op
    if op != op or not op == op:  # noqa: PLR0124, SIM201 - both operators are tested
        _fail(trial, run, "equality", "the Op does not equal itself")
    if hash(op) != hash(op):
        _fail(trial, run, "equality", "the Op's hash changes")
    if op == object() or op == None:  # noqa: E711 - __eq__ is what is tested
        _fail(trial, run, "equality", "the Op equals objects that are not Ops")


def check_inputs_unchanged(trial: Trial, run: NodeRun) -> None:
    """Inputs are changed only where ``destroy_map`` says so."""
    _perform_again(trial, run, "inputs unchanged", None)


def check_storage(trial: Trial, run: NodeRun) -> None:
    """What is left in the storage cells makes no difference."""
    for former in _former_values(run):
        values = _perform_again(trial, run, "storage reuse", former)
        for position, (value, again) in enumerate(zip(run.outputs, values, strict=True)):
            problem = _differ(run.node.outputs[position], again, value)
            if problem:
                left = former[position]
                what = f"{left!r}"
                if isinstance(left, np.ndarray):
                    what = f"an array of shape {left.shape} and strides {left.strides}"
                _fail(
                    trial,
                    run,
                    "storage reuse",
                    f"output {position} depends on what is in its storage cell. With {what} in "
                    f"it, {problem}",
                )


def _former_values(run: NodeRun) -> Iterator[list[Any]]:
    """Yield lists of values that a former call may have left: the same and other shapes."""
    arrays = any(isinstance(value, np.ndarray) for value in run.outputs)
    for how in ("same shape", "other strides", "other shape") if arrays else ("same value",):
        former: list[Any] = []
        for variable, value in zip(run.node.outputs, run.outputs, strict=True):
            if isinstance(variable.type, TensorType):
                former.append(_former_value(variable.type, value, how))
            else:
                former.append(duplicate(value))
        yield former


def _former_value(type_: TensorType, value: Any, how: str) -> Any:
    shape = value.shape
    if how == "other shape":
        unknown = [axis for axis, known in enumerate(type_.shape) if known is None]
        larger = longest_axes(shape, unknown)
        shape = tuple(size + (axis in larger) for axis, size in enumerate(shape))
    garbage = np.nan if value.dtype.kind in "fc" else 1
    if how == "other strides":
        return np.flip(np.full(shape[::-1], garbage, value.dtype)).T
    return np.full(shape, garbage, value.dtype)


def _perform_again(trial: Trial, run: NodeRun, check: str, former: list[Any] | None) -> list[Any]:
    """Run the node again, and check that it does not change its inputs."""
    op = run.node.op
    inputs = protected(op, run.inputs)
    before = [duplicate(value) for value in inputs]
    values = run_node(run.node, inputs, former)
    spoilt = destroyed(op)
    for position, (value, old) in enumerate(zip(inputs, before, strict=True)):
        if position not in spoilt and not _identical(run.node.inputs[position], value, old):
            _fail(
                trial,
                run,
                check,
                f"perform changed its input {position}. Work on a copy, or declare "
                f"destroy_map = {{output: [{position}]}}",
            )
    return values


def _identical(variable: Variable, a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, np.generic):
        return a.tobytes() == np.asarray(b).tobytes()
    return bool(variable.type.values_eq(a, b))


def _differ(variable: Variable, found: Any, expected: Any) -> str:
    """Return how two values of a variable differ, as far as its Type cares."""
    if isinstance(expected, np.ndarray) and isinstance(found, np.ndarray):
        return compare(found, expected, ROUNDED, [])
    if variable.type.values_eq_approx(found, expected):
        return ""
    return f"it is {found!r}, expected {expected!r}"


def check_memory(trial: Trial, run: NodeRun) -> None:
    """Outputs share memory with inputs only where ``view_map`` or ``destroy_map`` say so."""
    op = run.node.op
    inputs = protected(op, run.inputs)
    values = run_node(run.node, inputs)
    for (out, value), (position, given) in product(enumerate(values), enumerate(inputs)):
        variable, declared = run.node.outputs[out], shared_inputs(op, out)
        # An input can be the same variable as one that the output may share memory with.
        is_declared = position in declared or any(
            _share(variable, given, inputs[i]) for i in declared
        )
        if not is_declared and _share(variable, value, given):
            _fail(
                trial,
                run,
                "memory",
                f"output {out} shares memory with input {position}. Return a copy, or declare "
                f"view_map = {{{out}: [{position}]}}",
            )
    again = run_node(run.node, protected(op, run.inputs))
    for out, (first, second) in enumerate(zip(values, again, strict=True)):
        if out not in op.view_map and _share(run.node.outputs[out], first, second):
            _fail(
                trial,
                run,
                "memory",
                f"two calls with empty storage cells returned the same memory for output {out}: "
                "the second result overwrites the first",
            )


def _share(variable: Variable, a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.shares_memory(a, b)
    if isinstance(variable.type, TensorType):
        return False
    # Numbers, strings and the like are shared by Python, and cannot be changed.
    return not _immutable(a) and bool(variable.type.may_share_memory(a, b))


def _immutable(value: Any) -> bool:
    return value is None or isinstance(
        value, bool | int | float | complex | str | bytes | tuple | frozenset | np.generic
    )


def check_shapes(trial: Trial, run: NodeRun) -> None:
    """``infer_shape`` says the shapes that the values have."""
    if not contract.defines(run.node.op, "infer_shape"):
        return
    known = dict(trial.known)
    pairs = zip(run.node.inputs, run.inputs, strict=True)
    shapes = [symbolic_shape(variable, value, known) for variable, value in pairs]
    inferred = contract.infer_shape(None, run.node, shapes)
    for position, (value, shape) in enumerate(zip(run.outputs, inferred, strict=True)):
        if shape is None:
            continue
        sizes = [as_tensor_variable(size) for size in shape]
        for variable in sizes:
            if variable.ndim or variable.type.numpy_dtype.kind not in "iu":
                text = f"infer_shape returned {variable} of type {variable.type} as a size"
                _fail(trial, run, "infer_shape", f"{text}; sizes are integers of rank 0")
        evaluate(sizes, known)
        found = tuple(int(value_of(size, known)) for size in sizes)
        if found != np.shape(value):
            _fail(
                trial,
                run,
                "infer_shape",
                f"infer_shape says {found} for output {position}, whose shape is {np.shape(value)}",
            )


def check_connection_pattern(trial: Trial, run: NodeRun) -> None:
    """``connection_pattern`` has a row for each input."""
    contract.connection_pattern(run.node)


def check_pickling(trial: Trial, run: NodeRun) -> None:
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
        values = run_node(node, protected(twin, run.inputs))
        for position, (value, expected) in enumerate(zip(values, run.outputs, strict=True)):
            problem = _differ(run.node.outputs[position], value, expected)
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


def _fail(trial: Trial, run: NodeRun, check: str, problem: str) -> None:
    trial.fail(check, f"{run.node.op}: {problem}.", run.node)
