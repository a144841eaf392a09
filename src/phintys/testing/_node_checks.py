"""Checks of what each node of a graph promises: its Op's contract."""

from __future__ import annotations

import copy
import pickle
import sys
from typing import Any

import numpy as np

from phintys.compile.debugging import node_checks, shapes
from phintys.compile.debugging.running import offered_storage, protected
from phintys.compile.debugging.values import duplicate
from phintys.graph import contract
from phintys.graph.apply import Apply
from phintys.graph.equality import equal_computations
from phintys.graph.op import Op
from phintys.testing._trial import ExactRun, Trial, difference, run_node


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
