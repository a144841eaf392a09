"""Checks of a single node on values: the contract of its Op about storage and results.

DebugMode makes them with every call, and :mod:`phintys.testing` on examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import (
    BadDestroyMap,
    BadPreallocatedOutput,
    BadStorage,
    BadThunkOutput,
    BadViewMap,
    DebugModeError,
    InvalidValueError,
    UnreproducibleOutput,
)
from phintys.backends.reference.diagnosis import describe_value
from phintys.compile.debugging.rounding import rounding_explains, spread
from phintys.compile.debugging.running import (
    Offer,
    longest_axes,
    native_form,
    offered_storage,
    protected,
    python_forms,
    run_node,
)
from phintys.compile.debugging.shapes import check_shapes
from phintys.compile.debugging.values import (
    agree,
    describe_difference,
    duplicate,
    is_unchanged,
    share_memory,
)
from phintys.graph.alias_map import destroyed_inputs, shared_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from phintys.backends.inner import InnerPrograms
    from phintys.compile.debugging.options import DebugOptions
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

__all__ = [
    "NodeRun",
    "check_again",
    "check_inputs",
    "check_memory",
    "check_node",
    "check_offer",
    "fault",
    "run_checked",
]


@dataclass(frozen=True)
class NodeRun:
    """A node that was run.

    Attributes
    ----------
    node : Apply
        The node.
    values : list
        One for each input; they are not modified.
    results : list
        One for each output.
    used : collection of Variable
        Variables that are used. An output that is not used, such as an Op's private buffer, can
        have any value, and share memory with another output.
    """

    node: Apply
    values: Sequence[Any]
    results: Sequence[Any]
    used: Collection[Variable]

    def is_used(self, index: int) -> bool:
        """Return whether an output is used."""
        return self.node.outputs[index] in self.used

    def execute(self, values: Sequence[Any], storage: Sequence[Any] | None = None) -> list[Any]:
        """Run the node on values, with given contents of its storage cells."""
        return run_node(self.node, values, storage)

    def agrees(self, index: int, other: Any) -> bool:
        """Return whether an output that was computed in another way is the same, up to rounding."""
        type_ = self.node.outputs[index].type
        return agree(type_, self.results[index], other) or _is_rounding(self, index, other)


def fault(kind: type[DebugModeError], node: Apply, problem: str, advice: str = "") -> Exception:
    """Return an error about a node: the problem, where the node was made, and how to fix it."""
    parts = [f"{node.op}: {problem}", f"Node: {node}, made at\n  {node.origin}"]
    if advice:
        parts.append(advice)
    return kind("\n".join(parts))


def run_checked(
    node: Apply,
    values: Sequence[Any],
    used: Collection[Variable],
    programs: InnerPrograms | None = None,
) -> NodeRun:
    """Run a node, and check that it modifies inputs and shares memory only as declared.

    Parameters
    ----------
    node, values, used
        As for :class:`NodeRun`.
    programs
        Runs the inner graphs of Ops; by default, the reference backend does.

    Raises
    ------
    DebugModeError
        The Op broke a promise.
    """
    given = protected(node, values)
    before = [duplicate(value) for value in given]
    run = NodeRun(node, values, run_node(node, given, programs=programs), used)
    check_inputs(node, given, before)
    check_memory(run, given)
    return run


def check_inputs(node: Apply, values: Sequence[Any], before: Sequence[Any], when: str = "") -> None:
    """Check that a node changed only the inputs that its ``destroy_map`` names.

    Parameters
    ----------
    node
        The node, which was run.
    values
        The inputs that it was given.
    before
        Copies of them.
    when
        How it was run, for the message.

    Raises
    ------
    BadDestroyMap
        Another input was changed.
    """
    destroyed = destroyed_inputs(node)
    gone = [values[position] for position in destroyed]
    for position, (value, old) in enumerate(zip(values, before, strict=True)):
        if position in destroyed or any(value is other for other in gone):
            continue
        if not is_unchanged(value, old, node.inputs[position].type):
            raise fault(
                BadDestroyMap,
                node,
                f"it changed its input {position} ({node.inputs[position]}){when}, which its "
                f"destroy_map {dict(node.op.destroy_map)} does not name.\n"
                + describe_difference(old, value, "before", "after"),
                f"Work on a copy, or declare destroy_map = {{output: [{position}]}}.",
            )


def check_memory(run: NodeRun, values: Sequence[Any]) -> None:
    """Check that outputs share memory with inputs and with each other only as declared.

    Parameters
    ----------
    run
        The node and its results.
    values
        The inputs that it was given.

    Raises
    ------
    BadViewMap
        Memory is shared otherwise.
    """
    node, results = run.node, run.results
    op = node.op
    declared = {index: {*shared_inputs(op, index)} for index in range(len(results))}
    for (index, result), (position, value) in product(enumerate(results), enumerate(values)):
        if position not in declared[index] and share_memory(
            result, value, node.outputs[index].type
        ):
            if _shares_any(node, values, {position}, declared[index]):
                continue  # a view of one input that itself shares memory with another
            raise fault(
                BadViewMap,
                node,
                f"its output {index} shares memory with its input {position} "
                f"({node.inputs[position]}), which neither its view_map {dict(op.view_map)} nor "
                f"its destroy_map {dict(op.destroy_map)} says.",
                f"Return a copy, or declare view_map = {{{index}: [{position}]}}.",
            )
    for (one, first), (other, second) in combinations(enumerate(results), 2):
        if declared[one] & declared[other] or _shares_any(
            node, values, declared[one], declared[other]
        ):
            continue
        if not (run.is_used(one) and run.is_used(other)):
            continue
        if share_memory(first, second, node.outputs[one].type):
            raise fault(
                BadViewMap,
                node,
                f"its outputs {one} and {other} share memory, though they are not views of the "
                "same input.",
                "Return a copy for one of them.",
            )


def _shares_any(
    node: Apply, values: Sequence[Any], some: Iterable[int], others: Iterable[int]
) -> bool:
    """Return whether any of some inputs shares memory with any of some others."""
    return any(
        share_memory(values[one], values[other], node.inputs[one].type)
        for one, other in product(some, others)
    )


def check_node(run: NodeRun, options: DebugOptions, computed: Mapping[Variable, Any]) -> None:
    """Run a node again in every way that should make no difference.

    Parameters
    ----------
    run
        The node, and its results from the first run.
    options
        The checks to make.
    computed
        Values of other variables of the graph.

    Raises
    ------
    DebugModeError
        The Op broke a promise.
    """
    node = run.node
    if options.check_isfinite:
        _check_finite(run)
    if options.check_infer_shape:
        check_shapes(node, run.values, run.results, computed)
    if getattr(node.op, "debug_perform", None) is not None:
        return  # debug_perform is defined to avoid the checks below
    if options.check_py:
        check_again(run)
        for _form in python_forms(node):
            found = run_node(node, protected(node, run.values), perform=True)
            _compare(run, found, ("its thunk", "perform"))
    if options.check_strides:
        _check_strides(run)
    for offer in offered_storage(node, run.results, options.check_preallocated_output):
        check_offer(run, offer)
    if options.check_native:
        _check_native(run, options)


def _check_finite(run: NodeRun) -> None:
    if not all(map(_is_finite, run.values)):
        return
    for index, result in enumerate(run.results):
        if not _is_finite(result):
            raise fault(
                InvalidValueError,
                run.node,
                f"its output {index} has a NaN or an infinity, though its inputs are finite: "
                f"{describe_value(result)}.",
                "DebugMode(check_isfinite=False) accepts such values.",
            )


def _is_finite(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return True
    return bool(np.isfinite(value).all())


def check_again(run: NodeRun) -> None:
    """Check that a node gives the same results again, in other memory.

    Raises
    ------
    BadStorage
        Both results are in the same memory.
    UnreproducibleOutput
        They differ.
    """
    node = run.node
    aliased = {*node.op.view_map, *node.op.destroy_map}
    again = run.execute(protected(node, run.values))
    for index, (first, second) in enumerate(zip(run.results, again, strict=True)):
        variable = node.outputs[index]
        if variable not in run.used:
            continue
        if index not in aliased and share_memory(first, second, variable.type):
            raise fault(
                BadStorage,
                node,
                f"computed twice with empty storage cells, its output {index} is in the same "
                "memory both times, so that the second result overwrites the first.",
                "Make new memory whenever output_storage[i][0] is None.",
            )
        if not agree(variable.type, first, second):
            raise fault(
                UnreproducibleOutput,
                node,
                f"computed twice from the same inputs, its output {index} differs.\n"
                + describe_difference(first, second, "first", "second"),
                "A result may depend on the inputs only: take the state of a random generator as "
                "an input, for example.",
            )


def _is_rounding(run: NodeRun, index: int, other: Any) -> bool:
    """Return whether a result differs from that of the node by no more than rounding."""
    known = dict(zip(run.node.inputs, run.values, strict=True))
    variable = run.node.outputs[index]
    known[variable] = result = run.results[index]
    if not isinstance(result, np.ndarray):
        return False
    return rounding_explains(result, other, spread([run.node], variable, known))


def _compare(
    run: NodeRun,
    others: Sequence[Any],
    names: tuple[str, str],
    kind: type[DebugModeError] = BadThunkOutput,
    advice: str = "",
) -> None:
    node = run.node
    for index, (result, other) in enumerate(zip(run.results, others, strict=True)):
        variable = node.outputs[index]
        if variable not in run.used or run.agrees(index, other):
            continue
        inputs = [f"  input {i}: {describe_value(value)}" for i, value in enumerate(run.values)]
        raise fault(
            kind,
            node,
            f"its output {index} of type {variable.type} depends on how it is computed.\n"
            + "\n".join([describe_difference(result, other, *names), *inputs]),
            advice,
        )


def _check_strides(run: NodeRun) -> None:
    """Check that the memory layout of the inputs does not affect the results."""
    node, values = run.node, run.values
    for name, change in _LAYOUTS.items():
        changed = [
            change(value) if isinstance(value, np.ndarray) and not value.dtype.hasobject else value
            for value in values
        ]
        if all(one is other for one, other in zip(changed, values, strict=True)):
            continue
        given = [
            value if other is old else other
            for old, other, value in zip(values, changed, protected(node, values), strict=True)
        ]
        before = [duplicate(value) for value in given]
        others = run.execute(given)
        check_inputs(node, given, before, f" when it was {name}")
        _compare(
            run,
            others,
            ("as it was", name),
            advice=f"The result differs with {name} inputs: do not rely on strides, or copy "
            "with numpy.ascontiguousarray.",
        )


def _fortran(value: Any) -> Any:
    return np.asfortranarray(value).copy(order="F") if value.ndim > 1 else value


def _strided(value: Any) -> Any:
    if not value.ndim:
        return value
    steps = [1 + (axis in longest_axes(value.shape)) for axis in range(value.ndim)]
    buffer = np.empty(
        [step * size for step, size in zip(steps, value.shape, strict=True)], value.dtype
    )
    view = buffer[tuple(slice(None, None, step) for step in steps)]
    view[...] = value
    return view


def _reversed(value: Any) -> Any:
    if not value.ndim:
        return value
    flipped = (slice(None, None, -1),) * value.ndim
    return np.ascontiguousarray(value[flipped]).copy()[flipped]


_LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "Fortran-ordered": _fortran,
    "strided": _strided,
    "negatively strided": _reversed,
}


def check_offer(run: NodeRun, offer: Offer) -> None:
    """Check that the contents of the storage cells make no difference.

    Raises
    ------
    BadPreallocatedOutput
        They do, or the node wrote outside the memory that it was offered.
    """
    node = run.node
    given = protected(node, run.values)
    before = [duplicate(value) for value in given]
    offered = [None if array is None else describe_value(array) for array in offer.arrays]
    found = run.execute(given, offer.arrays)
    check_inputs(node, given, before, f" with {offer.kind} storage")
    advice = (
        "A storage cell may hold memory of the right dtype and rank with any shape, strides and "
        "contents. Write all of it when it fits (out[...] = result), else store a new array."
    )
    if offer.overrun():
        raise fault(
            BadPreallocatedOutput,
            node,
            f"it wrote outside the memory that its storage cells offered ({offer.kind}): {offered}",
            advice,
        )
    names = ("empty cells", f"{offer.kind} cells")
    _compare(run, found, names, BadPreallocatedOutput, advice)


def _check_native(run: NodeRun, options: DebugOptions) -> None:
    node = run.node
    native = native_form(node)
    if native is None:
        return
    found = native([duplicate(value) for value in run.values])
    _compare(run, found, ("Python", "native"))
    if not options.require_matching_strides:
        return
    for index, (result, other) in enumerate(zip(run.results, found, strict=True)):
        if isinstance(result, np.ndarray) and result.strides != other.strides:
            raise fault(
                BadThunkOutput,
                node,
                f"its output {index} has strides {result.strides} in Python and {other.strides} "
                "in native code.",
                "DebugMode(require_matching_strides=False) accepts that.",
            )
