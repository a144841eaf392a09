"""Ops executed by their own Python code, with the storage rules of their contract.

The state shared by the thunks of one call is a :class:`CallbackState`; a call takes an idle one or
creates another, so that threads and recursive calls never share cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.copies import BLOCK, copied
from phintys._base.late import LateModule
from phintys.backends.inner import InnerPrograms, may_have_c_code
from phintys.backends.native.limits import IDLE_COPIES
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from phintys.backends.base import LinkedProgram
    from phintys.backends.native.c_code import thunks as c_thunks
    from phintys.backends.reference import diagnosis, ownership, thunks
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import ComputeMap, StorageMap

    Cell = list[Any]
else:
    c_thunks = LateModule("phintys.backends.native.c_code.thunks")
    diagnosis = LateModule("phintys.backends.reference.diagnosis")
    ownership = LateModule("phintys.backends.reference.ownership")
    thunks = LateModule("phintys.backends.reference.thunks")


def plain_array(value: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return an array as native code accepts it: ndarray, contiguous, aligned, of this dtype.

    The array itself is returned if it already has that form.
    """
    flags = value.flags
    if (
        value.__class__ is np.ndarray
        and value.dtype is dtype
        and flags.c_contiguous
        and flags.aligned
    ):
        return value
    if value.size > BLOCK and not (flags.c_contiguous and flags.aligned and value.dtype == dtype):
        return copied(value, dtype)
    plain = np.array(value, dtype=dtype, order="C", copy=None, subok=False)
    if not plain.flags.aligned or plain is value:
        plain = np.array(value, dtype=dtype, order="C", copy=True, subok=False)
    if plain.dtype is not dtype:  # equal but not identical, as from a pickle
        plain = plain.view(dtype)
    return plain


class _Step:
    """One node: its cells, and the thunk that operates on them."""

    __slots__ = (
        *("computed", "dtypes", "inputs", "made_anew", "node", "outputs", "storage_map", "thunk"),
    )

    def __init__(
        self,
        node: Apply,
        storage_map: StorageMap,
        compute_map: ComputeMap,
        programs: InnerPrograms,
    ) -> None:
        self.node = node
        self.storage_map = storage_map
        self.inputs: list[Cell] = [storage_map[variable] for variable in node.inputs]
        self.outputs: list[Cell] = [storage_map[variable] for variable in node.outputs]
        self.computed: list[Cell] = [compute_map[variable] for variable in node.outputs]
        self.dtypes = [
            cast("Any", variable.type).numpy_dtype if variable.type.holds_arrays else None
            for variable in node.outputs
        ]
        # Results are removed from the cells after each call, so all cells are empty then.
        thunk = thunks.make_thunk(
            node, storage_map, compute_map, list(node.outputs), debug=False, programs=programs
        )
        making = node.op.made_anew
        self.made_anew: Callable[..., tuple[Any, ...]] | None = making and making(node)
        if may_have_c_code(node):
            self.made_anew = c_thunks.function_if_used(node)
        # Native code does not warn of NaN and infinities. The decorator costs half of a `with`.
        self.thunk: Callable[[], Any] = np.errstate(all="ignore")(
            ownership.owning_thunk(thunk, node, storage_map)
        )

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Execute the node on values, and return the values of its outputs.

        If native code does not accept some of them, all follow once more in a form that it accepts.
        """
        if self.made_anew is not None:
            return self._made_anew(self.made_anew, values)
        for cell, value in zip(self.inputs, values, strict=True):
            cell[0] = value
        for cell in self.computed:
            cell[0] = 0
        try:
            self.thunk()
        except Exception as error:
            diagnosis.explain_failure(error, self.node, self.storage_map)
            raise
        results = [cell[0] for cell in self.outputs]
        for cell in self.inputs:
            cell[0] = None
        for cell in self.outputs:
            cell[0] = None
        plain = [
            value if dtype is None else plain_array(value, dtype)
            for value, dtype in zip(results, self.dtypes, strict=True)
        ]
        if all(map(is_, results, plain)):
            return tuple(results)
        return (*results, *plain)

    def _made_anew(
        self, make: Callable[..., tuple[Any, ...]], values: Sequence[Any]
    ) -> tuple[Any, ...]:
        try:
            return make(*values)
        except Exception as error:
            for cell, value in zip(self.inputs, values, strict=True):
                cell[0] = value
            diagnosis.explain_failure(error, self.node, self.storage_map)
            raise


class CallbackState:
    """The cells and thunks for one call at a time."""

    def __init__(self, nodes: Sequence[Apply], programs: InnerPrograms) -> None:
        storage_map: StorageMap = {}
        compute_map: ComputeMap = {}
        for node in nodes:
            for variable in (*node.inputs, *node.outputs):
                if variable not in storage_map:
                    data = variable.data if isinstance(variable, Constant) else None
                    storage_map[variable] = [data]
                    compute_map[variable] = [1]
        self.steps = [_Step(node, storage_map, compute_map, programs) for node in nodes]
        self.done: set[int] = set()
        self.call = 0


class Callbacks:
    """The callbacks of one program, called by the entry.

    Parameters
    ----------
    nodes
        The nodes, in the order of their numbers.
    link
        Returns the program of an inner graph.
    explain
        Called with the address of the call, the number of the node and its error, which gets notes.
    """

    def __init__(
        self,
        nodes: Sequence[Apply],
        link: Callable[[FunctionGraph], LinkedProgram],
        explain: Callable[[int, int, Exception], None] | None = None,
    ) -> None:
        self.nodes = list(nodes)
        self._explain = explain
        self.programs = InnerPrograms(lambda node, op: link(op.fgraph))
        # Created now, so that an Op whose make_thunk fails is reported when the function is
        # compiled.
        self._idle = [CallbackState(self.nodes, self.programs)] if self.nodes else []

    def start(self, call: int = 0) -> CallbackState:
        """Return a state for one call, given the address of its record."""
        # Taking from a list is atomic, so no lock is needed.
        try:
            state = self._idle.pop()
        except IndexError:
            state = CallbackState(self.nodes, self.programs)
        state.call = call
        return state

    def run(self, state: CallbackState, number: int, *values: Any) -> tuple[Any, ...]:
        """Execute one node."""
        try:
            results = state.steps[number].run(values)
        except Exception as error:
            if self._explain is not None:
                self._explain(state.call, number, error)
            raise
        state.done.add(number)
        return results

    def c_function(self, number: int) -> Callable[..., tuple[Any, ...]] | None:
        """Return a function that runs the C code of a node, if it has some that is used."""
        node = self.nodes[number]
        return c_thunks.function_if_used(node) if may_have_c_code(node) else None

    def explain(self, number: int, call: int, error: Exception, *values: Any) -> None:
        """Add notes to an error of C code that native code has called itself."""
        node = self.nodes[number]
        cells = {x: [value] for x, value in zip(node.inputs, values, strict=True)}
        diagnosis.explain_failure(error, node, cells)
        if self._explain is not None:
            self._explain(call, number, error)

    def finish(self, state: CallbackState) -> None:
        """Take back the state of a successful call; others are dropped."""
        state.done.clear()
        if len(self._idle) < IDLE_COPIES:
            self._idle.append(state)

    def free(self) -> None:
        """Release memory kept for the next call."""
        self._idle.clear()
        self.programs.free()
