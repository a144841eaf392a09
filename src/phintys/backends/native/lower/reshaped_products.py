"""Results that are reshaped products: BLAS writes them to the memory that is returned.

A product of stacks with a matrix is one large product, which is then reshaped. Its memory would be
that of the arena, with the wrong sizes for a result, and be copied. But a routine that is passed an
address and strides does not depend on the sizes of its output.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from phintys.backends.native.dependence import arrays_read, arrays_written
from phintys.backends.native.sizes import Extent
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.values import Array, Place

if TYPE_CHECKING:
    from phintys.backends.native.lower.lowering import Lowering
    from phintys.graph.fgraph import FunctionGraph

__all__ = ["make_reshaped_products_results"]


def make_reshaped_products_results(fgraph: FunctionGraph, lowering: Lowering) -> None:
    """Let library calls write outputs that are reshaped, where nothing else uses their memory."""
    shown: defaultdict[Array, set[Array]] = defaultdict(set)
    for variable in fgraph.outputs:
        if variable.type.holds_arrays:
            view = lowering.view(variable)
            if view.array.memory.place == Place.BUFFER:
                is_one = view.array.alias is not None and view.is_whole(lowering.sizes)
                shown[view.array.memory].add(view.array if is_one else view.array.memory)
    # The key itself is among the values if it is an output as it is, or in part.
    found = {
        base: views.pop()
        for base, views in shown.items()
        if len(views) == 1 and base not in views and base not in lowering.bases.claimed
    }
    if not found:
        return
    writers: defaultdict[Array, list[Any]] = defaultdict(list)
    for step in lowering.steps:
        for memory in arrays_read(step):
            found.pop(memory, None)
        for memory in arrays_written(step):
            if memory in found:
                writers[memory].append(step)
    for base, array in found.items():
        steps = writers[base]
        if len(steps) == 1 and _is_movable(steps[0], base) and _are_known_early(array):
            (call,) = steps
            call.outputs = (array,)
            array.alias, array.place = None, Place.BUFFER


def _is_movable(step: Any, base: Array) -> bool:
    """Return whether a step is a call whose output can have other sizes."""
    return (
        isinstance(step, LibraryCall)
        and step.routine.ignores_sizes_of_output
        and step.outputs == (base,)
    )


def _are_known_early(array: Array) -> bool:
    """Return whether sizes are known when a call begins."""
    return all(
        size.known is not None
        or all(
            isinstance(leaf, Extent) and leaf.array.place == Place.ARGUMENT for leaf in size.leaves
        )
        for size in array.sizes
    )
