"""From a status to the error that the user sees."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from phintys._base.errors import IndexingError, IntegrityError, PhintysError, ShapeError, add_note
from phintys._base.late import LateModule
from phintys.backends.native.frame import (
    NO_BUFFER,
    NO_RESULT,
    OUT_OF_MEMORY,
    STATUS,
    TOO_LARGE,
)
from phintys.backends.native.runtime.protocol import CALL
from phintys.backends.native.sizes import evaluated
from phintys.backends.native.values import Array, Size
from phintys.graph.alias_map import AliasMap
from phintys.graph.aliasing import execution_order
from phintys.graph.inner import HasInnerGraph
from phintys.graph.variable import Constant, Variable
from phintys.tensor.shapes import Shape, ShapeI

if TYPE_CHECKING:
    from phintys.backends.native.failures import Failure
    from phintys.backends.native.layout import Layout
    from phintys.backends.native.steps.callback import Callback
    from phintys.backends.reference import diagnosis, ownership, thunks
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import ComputeMap, StorageMap
    from phintys.tensor import shape_rules
    from phintys.tensor.shape_rules import ShapedOp

    Words = ctypes.Array[ctypes.c_int64]
else:
    diagnosis = LateModule("phintys.backends.reference.diagnosis")
    ownership = LateModule("phintys.backends.reference.ownership")
    shape_rules = LateModule("phintys.tensor.shape_rules")
    thunks = LateModule("phintys.backends.reference.thunks")


class Failures:
    """Raises what a program reports.

    A shape that does not fit or an index out of range is found in the middle of native code, which
    knows the place and the numbers but few words. The reference backend has all of them: it runs
    the nodes that the failing one depends on, with the same inputs, and what it raises is the
    error. Inputs that the program may overwrite are not the same any more; where more than their
    shapes matters, the sizes in the frame, or native code's own words, have to do.

    Nodes that were carried out by Python code may have effects, so none is carried out again: their
    results are taken from the call. Where what fails depends on others, such as those of a loop,
    the Op's rule of shapes has its own words, for the sizes that are in the frame.

    Parameters
    ----------
    fgraph
        The graph.
    layout
        What the numbers in a frame stand for.
    """

    def __init__(self, fgraph: FunctionGraph, layout: Layout) -> None:
        self.fgraph = fgraph
        self.layout = layout

    def raise_for(self, call: int, *inputs: Any) -> NoReturn:
        """Raise the error of a call.

        Parameters
        ----------
        call
            The address of its record; the status in its frame says what happened.
        inputs
            The values that the program was called with.

        Raises
        ------
        MemoryError
            There was no memory for a result or for intermediate results.
        IntegrityError
            The reference backend finds nothing wrong: a bug in Phintys.
        """
        words = self._words(call)
        status, first, second = words[STATUS : STATUS + 3]
        known = self._known(call, words, inputs)
        carried_out = {step.node for step in self._done(call)}
        overwritten = self._overwritten()
        if status == TOO_LARGE and not overwritten and not self._has_loops():
            self._replay(known, None, carried_out)  # which has NumPy's words for it
        self._check_memory(status, words)
        if not 1 <= status <= len(self.layout.failures):
            msg = f"Native code failed with status {status} and no error: a bug in Phintys."
            raise IntegrityError(msg)
        failure = self.layout.failures[status - 1]
        if failure.is_limit:
            reason = 'It is a limit of native code: mode="reference" has none.'
            self._raise_own(failure, words, reason)
        if failure.is_own:
            self._raise_own(failure, words)
        if overwritten:
            reason = "The function may overwrite some of its arguments, and may have begun to."
            if self._is_replayable(failure, known, overwritten):
                copies = {x: value.copy() for x, value in known.items() if x in overwritten}
                self._replay({**known, **copies}, failure.node, carried_out, reason)
            self._raise_own(failure, words, reason)
        self._replay(known, failure.node, carried_out)
        self._replay(known, None, carried_out)
        if carried_out:
            self._raise_own(failure, words, "Its inputs depend on Ops in Python.")
        if failure.is_rounded:
            reason = "It is so close to the limit that the reference backend computes it."
            self._raise_own(failure, words, reason)
        msg = (
            f"Native code reports that {failure.node} failed ({failure.exception(first, second)}), "
            "but the reference backend computes it: a bug in Phintys, unless another thread wrote "
            f"to an argument during the call. The node was made at\n  {failure.node.origin}"
        )
        raise IntegrityError(msg)

    def _check_memory(self, status: int, words: Words) -> None:
        """Raise if the status says that there was no memory for something."""
        first, second = words[STATUS + 1 : STATUS + 3]
        if status in {NO_BUFFER, TOO_LARGE}:
            raise self._out_of_memory(first, self.layout.buffers[second])
        if status == OUT_OF_MEMORY:
            raise self._no_workspace(first, self.layout.workspaces[second])
        if status == NO_RESULT:
            self._raise_for_result(first, words)

    def _raise_own(self, failure: Failure, words: Words, reason: str = "") -> NoReturn:
        """Raise the error without a replay: in words of the Op, if its rule has any for the sizes.

        Otherwise in native code's own. The reason says why nothing more is known.
        """
        first, second = words[STATUS + 1 : STATUS + 3]
        error = self._error_of_rule(failure, words) or failure.exception(first, second)
        if all(node is not failure.node for node, _ in self.layout.loops_around.get(failure, [])):
            add_note(error, f"While computing {failure.node}\nmade at\n  {failure.node.origin}")
        self._explain_loops(failure, words, error)
        if reason:
            add_note(error, reason)
        raise error

    def _error_of_rule(self, failure: Failure, words: Words) -> Exception | None:
        """Return the error that the shape rule of an Op raises for the sizes in the frame."""
        given = failure.given
        if given is None or failure not in self.layout.loops_around:
            return None
        node, op = failure.node, cast("ShapedOp", failure.node.op)
        shapes = [self._evaluated(sizes, words) for sizes in given.shapes]
        if None in shapes:
            return None
        values: dict[int, Any] = {}
        for position, value in given.values.items():
            found = self._evaluated([value] if isinstance(value, Size) else value, words)
            if found is not None:
                values[position] = found[0] if isinstance(value, Size) else found
        exact = shape_rules.ExactShapes(op, node.inputs, cast("Any", shapes), values, node)
        try:
            op.output_shapes(exact)
        except PhintysError as error:
            return error
        except KeyError:
            pass  # the value of an input is not known
        return None

    def _evaluated(self, sizes: Sequence[Size], words: Words) -> tuple[int, ...] | None:
        """Return the values of sizes; ``None`` if the frame has no slot for what they depend on."""
        leaves = {leaf: self.layout.slot_of(leaf) for size in sizes for leaf in size.leaves}
        if None in leaves.values():
            return None
        known = {leaf: words[slot] for leaf, slot in leaves.items() if slot is not None}
        return tuple(evaluated(size, known) for size in sizes)

    def explain_callback(self, call: int, number: int, error: Exception) -> None:
        """Add notes to an error of Python code: in which steps of which loops it was raised."""
        self._explain_loops(self.layout.callbacks[number], self._words(call), error)

    def _explain_loops(self, what: Callback | Failure, words: Words, error: Exception) -> None:
        for node, slot in reversed(self.layout.loops_around.get(what, [])):
            op: Any = node.op
            add_note(error, op.note_of_step(words[slot]))
            add_note(error, f"While computing {node}\nmade at\n  {node.origin}")

    def _words(self, call: int) -> Words:
        """Return the frame of a call."""
        return (ctypes.c_int64 * self.layout.slots).from_address(CALL.read(call, "frame"))

    # ---- the words of the reference backend ----------------------------------------------------

    def _known(self, call: int, words: Words, inputs: Sequence[Any]) -> dict[Variable, Any]:
        """Return the values at hand: inputs, and results of Python code in this call."""
        known: dict[Variable, Any] = {
            variable: np.asarray(x, cast("Any", variable.type).numpy_dtype)
            if isinstance(x, int | float | np.generic) and variable.type.holds_arrays
            else x
            for variable, x in zip(self.fgraph.inputs, inputs, strict=True)
        }
        aliases = AliasMap.of_graph(self.fgraph)
        for step in self._done(call):
            for variable, value in zip(step.node.outputs, step.outputs, strict=True):
                if isinstance(value, Array) and not aliases.is_overwritten(variable):
                    known[variable] = self._value(value, words)
        return known

    def _done(self, call: int) -> list[Callback]:
        """Return the callbacks that have been carried out in this call."""
        shared = CALL.read(call, "shared")
        if not shared:
            return []
        machine = ctypes.cast(shared, ctypes.py_object).value
        return [self.layout.callbacks[number] for number in machine.done]

    def _value(self, array: Array, words: Words) -> np.ndarray[Any, Any]:
        """Return a copy of what Python code has made; it lives as long as the call."""
        record = self.layout.records[array]
        value = np.empty(tuple(words[record + 1 : record + 1 + array.ndim]), array.dtype)
        if value.nbytes:
            ctypes.memmove(value.ctypes.data, words[record], value.nbytes)
        return value

    def _replay(
        self,
        known: Mapping[Variable, Any],
        last: Apply | None,
        carried_out: set[Apply],
        reason: str = "",
    ) -> None:
        """Run a node, and what it depends on, in the reference backend.

        Python code of Ops that are callbacks is never carried out again, nor is what depends on
        results of theirs that are not known.

        Parameters
        ----------
        known
            Values that need not be computed.
        last
            The node; all nodes if not given.
        carried_out
            The nodes whose Python code has been carried out, also those of loops; those that are
            carried out now are added.
        reason
            A note for the error.
        """
        nodes = execution_order(self.fgraph)
        callbacks = {step.node for step in self.layout.callbacks}
        inside = callbacks.difference(nodes)
        if last is not None:
            nodes = _needed(nodes, last, known)
        cells: StorageMap = {variable: [value] for variable, value in known.items()}
        states: ComputeMap = {variable: [1] for variable in known}
        for node in nodes:
            for one in node.inputs:
                if isinstance(one, Constant):
                    cells[one], states[one] = [one.data], [1]
            python = callbacks & {node}
            if isinstance(node.op, HasInnerGraph):
                python |= inside
            if not python.isdisjoint(carried_out) or any(x not in cells for x in node.inputs):
                continue
            for one in node.outputs:
                cells[one], states[one] = [None], [0]
            try:
                thunk = thunks.make_thunk(node, cells, states, list(node.outputs), debug=False)
                with np.errstate(all="ignore"):
                    ownership.owning_thunk(thunk, node, cells)()
            except Exception as error:
                diagnosis.explain_failure(error, node, cells)
                if reason:
                    add_note(error, reason)
                raise
            carried_out |= python

    def _is_replayable(
        self, failure: Failure, known: Mapping[Variable, Any], overwritten: set[Variable]
    ) -> bool:
        """Return whether a node fails whatever numbers are in the arguments that are overwritten.

        It does if these are neither its indices nor what those are computed from.
        """
        nodes, node = execution_order(self.fgraph), failure.node
        if node not in nodes or not issubclass(failure.error, ShapeError | IndexingError):
            return False
        changed = set(overwritten)
        for before in _needed(nodes, node, known):
            is_of_sizes = isinstance(before.op, Shape | ShapeI)
            if before is not node and not is_of_sizes and not changed.isdisjoint(before.inputs):
                changed.update(before.outputs)
        places = itertools.chain(*node.op.destroy_map.values(), *node.op.view_map.values())
        written = {node.inputs[place] for place in places}
        read: list[Any] = [x.type for x in node.inputs if x in changed - written]
        return all(type_.holds_arrays and type_.numpy_dtype.kind in "fc" for type_ in read)

    def _out_of_memory(self, size: int, node: Apply | None) -> MemoryError:
        """Return the error for a buffer that cannot be allocated, with the node that it is for."""
        needed = f"{size:,} bytes" if size else "more bytes than there are addresses"
        error = MemoryError(
            "There is not enough memory for the intermediate results of this call, of which the "
            f"largest takes {needed}."
        )
        if node is not None:
            types = ", ".join(str(out.type) for out in node.outputs)
            note = f"While making room for the result of {node}, of type {types},"
            add_note(error, f"{note}\nmade at\n  {node.origin}")
        return error

    def _no_workspace(self, size: int, node: Apply | None) -> MemoryError:
        """Return the error for the memory that a thread needs to compute something."""
        error = MemoryError(
            f"There is not enough memory for the {size:,} bytes that a thread of this call needs "
            "for rows or totals of its own."
        )
        if node is not None:
            add_note(error, f"While computing the result of {node}\nmade at\n  {node.origin}")
        return error

    def _raise_for_result(self, number: int, words: Words) -> NoReturn:
        """Raise NumPy's error for an array that cannot be made, and say which one it is."""
        array = self.layout.new_arrays[number]
        record = self.layout.records[array]
        shape = tuple(words[record + 1 : record + 1 + array.ndim])
        what = f"an array of dtype {array.dtype} and shape {shape}"
        try:
            np.empty(shape, array.dtype)
            msg = f"There is not enough memory for {what}."
            raise MemoryError(msg)
        except (MemoryError, ValueError) as error:
            node = None if array.variable is None else array.variable.owner
            if node is not None:
                add_note(
                    error, f"While making {what} for the result of {node}\nmade at\n  {node.origin}"
                )
            raise

    def _has_loops(self) -> bool:
        """Return whether the graph has loops, which may take the reference backend very long."""
        return any(isinstance(node.op, HasInnerGraph) for node in self.fgraph.apply_nodes)

    def _overwritten(self) -> set[Variable]:
        """Return the arguments that nodes of the graph write into."""
        return AliasMap.of_graph(self.fgraph).overwritten.intersection(self.fgraph.inputs)


def _needed(nodes: Sequence[Apply], last: Apply, known: Mapping[Variable, Any]) -> list[Apply]:
    """Return a node and those before it that it depends on, but for what is known."""
    wanted = set(last.inputs)
    needed = {last}
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.outputs) and known.keys().isdisjoint(node.outputs):
            needed.add(node)
            wanted.update(node.inputs)
    return [node for node in nodes if node in needed]
