"""One example of an Op: the graph, and what each of its nodes computes, without a compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phintys._base.errors import DebugModeError, OpCheckError, OpContractError, add_note
from phintys.compile.debugging import node_checks
from phintys.compile.debugging.running import protected
from phintys.graph.apply import Apply
from phintys.graph.contract import defines
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable
from phintys.testing.records import ROUNDED, Example, OpRecord, Tolerance

__all__ = [
    "ExactRun",
    "Trial",
    "as_list",
    "compare",
    "difference",
    "evaluate",
    "run_node",
    "start",
    "value_of",
]


def as_list(outputs: Any) -> list[Any]:
    """Return one output, or several, as a list."""
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]


class ExactRun(node_checks.NodeRun):
    """A node that was run without a backend that mends what it stores.

    Results are compared to the last digits.
    """

    def execute(self, values: Sequence[Any], storage: Sequence[Any] | None = None) -> list[Any]:
        """Run the node on values, with given contents of its storage cells."""
        return run_node(self.node, values, storage)

    def agrees(self, index: int, other: Any) -> bool:
        """Return whether an output that was computed in another way is the same."""
        return not difference(self.node.outputs[index], other, self.results[index])


@dataclass(eq=False)
class Trial:
    """An example of a record, with the graph and its values."""

    record: OpRecord
    example: Example
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    runs: list[ExactRun] = field(default_factory=list)
    known: dict[Variable, Any] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)

    def build(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the outputs for some inputs."""
        outputs = as_list(self.record.build(*inputs, **self.example.params))
        for output in outputs:
            if not isinstance(output, Variable):
                self.fail("make_node", f"it returned {output!r}, which is not a Variable.")
        return outputs

    def fail(self, check: str, problem: str, node: Apply | None = None) -> None:
        """Raise: a check failed."""
        where = "" if node is None else f"\nNode: {node}, made at\n  {node.origin}"
        msg = f"{self.record.name}: {problem}{where}\n{self.context(check)}"
        raise OpCheckError(msg)

    def context(self, check: str) -> str:
        """Return a note of what was being checked."""
        return f"Check: {check}\nExample:\n{self.example!r}"

    @contextmanager
    def explaining(self, check: str) -> Iterator[None]:
        """Add to errors raised in a ``with`` block what was being checked."""
        try:
            yield
        except OpCheckError:
            raise
        except DebugModeError as error:
            msg = f"{self.record.name}: {error}\n{self.context(check)}"
            raise OpCheckError(msg) from error
        except Exception as error:
            add_note(error, f"{self.record.name}: raised while it was checked.")
            add_note(error, self.context(check))
            raise


def start(record: OpRecord, example: Example) -> Trial:
    """Return the trial of an example, with its graph built and computed."""
    trial = Trial(record, example)
    trial.inputs = [
        type_.make_variable(f"input_{position}") for position, type_ in enumerate(example.types)
    ]
    with trial.explaining("make_node"):
        trial.outputs = trial.build(trial.inputs)
    trial.known.update(zip(trial.inputs, example.values, strict=True))
    with trial.explaining("perform"):
        trial.runs = evaluate(trial.outputs, trial.known)
    trial.values = [value_of(output, trial.known) for output in trial.outputs]
    return trial


def value_of(variable: Variable, known: Mapping[Variable, Any]) -> Any:
    return variable.data if isinstance(variable, Constant) else known[variable]


def evaluate(outputs: Sequence[Variable], known: dict[Variable, Any]) -> list[ExactRun]:
    """Compute all nodes that ``outputs`` need; ``known`` has the inputs and gets the results.

    No node changes a value: one that destroys inputs is given copies.
    """
    runs: list[ExactRun] = []
    nodes = toposort(outputs, blockers=list(known))
    used = {*outputs, *(variable for node in nodes for variable in node.inputs)}
    for node in nodes:
        inputs = [value_of(variable, known) for variable in node.inputs]
        results = run_node(node, protected(node, inputs))
        known.update(zip(node.outputs, results, strict=True))
        runs.append(ExactRun(node, inputs, results, used))
    return runs


def run_node(node: Apply, inputs: Sequence[Any], former: Sequence[Any] | None = None) -> list[Any]:
    """Run a node through its ``perform``, or its thunk if it has none.

    Parameters
    ----------
    node
        The node.
    inputs
        Values.
    former
        What is in the storage cells before.
    """
    cells: list[list[Any]] = [[value] for value in former or [None] * len(node.outputs)]
    if defines(node.op, "perform"):
        node.op.perform(node, inputs, cells)
    else:
        storage: dict[Variable, list[Any]] = {}
        storage.update(zip(node.inputs, ([value] for value in inputs), strict=True))
        storage.update(zip(node.outputs, cells, strict=True))
        computed: dict[Variable, list[Any]] = {variable: [True] for variable in node.inputs}
        computed.update({variable: [False] for variable in node.outputs})
        node.op.make_thunk(node, storage, computed, [])()
    if any(len(cell) != 1 for cell in cells):
        msg = f"{node.op}.perform must not resize its storage cells; store with cell[0] = value."
        raise OpContractError(msg)
    return [cell[0] for cell in cells]


def difference(variable: Variable, found: Any, expected: Any) -> str:
    """Return how two values of a variable differ, as far as its Type cares; empty if equal."""
    if isinstance(expected, np.ndarray) and isinstance(found, np.ndarray):
        return compare(found, expected, ROUNDED, [])
    if variable.type.values_eq_approx(found, expected):
        return ""
    return f"it is {found!r}, expected {expected!r}"


def compare(found: Any, expected: Any, tolerance: Tolerance, inputs: Sequence[Any]) -> str:
    """Return what is wrong with an array, empty if nothing is."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype != expected.dtype:
        return f"its dtype is {found.dtype}, expected {expected.dtype}"
    if found.shape != expected.shape:
        return f"its shape is {found.shape}, expected {expected.shape}"
    allowed = tolerance.of(expected.dtype)
    wrong = _differ(found, expected, allowed, _scale(expected, inputs, tolerance))
    if not wrong.any():
        return ""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    count = f"{int(wrong.sum())} of {wrong.size} elements differ"
    return (
        f"element {list(index)} is {found[index]!r}, expected {expected[index]!r} ({count}; "
        f"relative tolerance {allowed:.2g}: {tolerance.reason})"
    )


def _scale(expected: Any, inputs: Sequence[Any], tolerance: Tolerance) -> Any:
    """Return what errors are relative to."""
    if not tolerance.normwise:
        return np.abs(expected)
    arrays = [np.asarray(value) for value in (expected, *inputs)]
    sizes = [np.abs(a[np.isfinite(a)]).max(initial=0) for a in arrays if a.dtype.kind in "biufc"]
    return max(1.0, *(float(size) for size in sizes))


def _differ(found: Any, expected: Any, allowed: float, scale: Any) -> Any:
    """Return where two arrays differ by more than allowed; NaN equals NaN, -0.0 differs from 0."""
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    if allowed:
        wide = "complex128" if found.dtype.kind == "c" else "float64"
        error = np.abs(found.astype(wide) - expected.astype(wide))
        smallest = float(np.finfo(found.dtype).smallest_subnormal)
        return ~(same | (error <= allowed * scale + smallest))
    if found.dtype.kind == "f":
        nan = np.isnan(found)
        same &= nan | (np.signbit(found) == np.signbit(expected))
    return ~same
