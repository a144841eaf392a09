"""From a status to the error that the user sees."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from phintys._base.errors import IndexingError, IntegrityError, ShapeError
from phintys._base.late import LateModule
from phintys.backends.native.emit.layout import (
    NO_BUFFER,
    NO_RESULT,
    OUT_OF_MEMORY,
    STATUS,
    TOO_LARGE,
)
from phintys.graph.aliasing import destroyers, view_roots
from phintys.tensor.observing import CheckAndRaise

if TYPE_CHECKING:
    from phintys.backends.native.emit.layout import Layout
    from phintys.backends.native.program import Failure
    from phintys.backends.reference import vm
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
else:
    vm = LateModule("phintys.backends.reference.vm")

__all__ = ["Failures", "error_of"]


def error_of(failure: Failure, first: int, second: int) -> Exception:
    """Return the error for a failure, in the words that native code has for it.

    Parameters
    ----------
    failure
        What failed.
    first, second
        The two numbers that did not fit.
    """
    detail = failure.detail.format(first, second)
    op = failure.node.op
    if isinstance(op, CheckAndRaise):
        return op.exc_type(op.msg)
    if failure.kind == "index" and detail.startswith("axis"):
        return IndexingError(f"{op}: index {first} is out of range for {detail} of size {second}.")
    if failure.kind == "index":
        return IndexingError(f"{op}: {detail} is out of range.")
    return ShapeError(f"{op}: {failure.kind}: {detail}.")


class Failures:
    """Raises what a program reports.

    A shape that does not fit or an index out of range is found in the middle of native code, which
    knows the place and the numbers but few words. The reference backend has all of them: it runs
    the same graph on the same inputs, and what it raises is the error. Inputs that the program may
    overwrite are not the same any more; then native code's own words have to do.

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

    def raise_for(self, frame: int, *inputs: Any) -> NoReturn:
        """Raise the error of a call.

        Parameters
        ----------
        frame
            The address of its frame; the status there says what happened.
        inputs
            The values that the program was called with.

        Raises
        ------
        MemoryError
            There was no memory for a result or for intermediate results.
        IntegrityError
            The reference backend finds nothing wrong: a bug in Phintys.
        """
        words = (ctypes.c_int64 * self.layout.slots).from_address(frame)
        status, first, second = words[STATUS : STATUS + 3]
        if status == TOO_LARGE and not self._overwrites_inputs():
            vm.VM(self.fgraph)(inputs)  # which has NumPy's words for it
        if status in {NO_BUFFER, TOO_LARGE}:
            raise self._out_of_memory(first, self.layout.buffers[second])
        if status == OUT_OF_MEMORY:
            msg = "There is not enough memory for the work of a kernel."
            raise MemoryError(msg)
        if status == NO_RESULT:
            self._raise_for_result(first, words)
        if not 1 <= status <= len(self.layout.failures):
            msg = f"Native code failed with status {status} and no error: a bug in Phintys."
            raise IntegrityError(msg)
        failure = self.layout.failures[status - 1]
        if self._overwrites_inputs():
            error = error_of(failure, first, second)
            error.add_note(
                f"While computing {failure.node}\nmade at\n  {failure.node.origin}\n"
                "The function may overwrite some of its arguments, and may have begun to."
            )
            raise error
        vm.VM(self.fgraph)(inputs)
        msg = (
            f"Native code reports that {failure.node} failed ({error_of(failure, first, second)}), "
            "but the reference backend computes it: a bug in Phintys, unless another thread wrote "
            f"to an argument during the call. The node was made at\n  {failure.node.origin}"
        )
        raise IntegrityError(msg)

    def _out_of_memory(self, size: int, node: Apply | None) -> MemoryError:
        """Return the error for a buffer that cannot be had, with the node that it is for."""
        needed = f"{size:,} bytes" if size else "more bytes than there are addresses"
        error = MemoryError(
            "There is not enough memory for the intermediate results of this call, of which the "
            f"largest takes {needed}."
        )
        if node is not None:
            error.add_note(f"While making room for the result of {node}\nmade at\n  {node.origin}")
        return error

    def _raise_for_result(self, number: int, words: ctypes.Array[ctypes.c_int64]) -> NoReturn:
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
                error.add_note(
                    f"While making {what} for the result of {node}\nmade at\n  {node.origin}"
                )
            raise

    def _overwrites_inputs(self) -> bool:
        """Tell whether a node of the graph writes into an argument."""
        roots = view_roots(self.fgraph)
        overwritten = {root for variable in destroyers(self.fgraph) for root in roots[variable]}
        return not overwritten.isdisjoint(self.fgraph.inputs)
