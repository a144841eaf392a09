"""Lowering of elements of the inverse of a sparse matrix."""

from __future__ import annotations

from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering
from phintys.backends.native.routines.selected_inverse import SELECTED_INVERSE
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.sparse.determinants import SelectedInverse


@lowers(SelectedInverse)
def lower_selected_inverse(op: SelectedInverse, node: Apply, lowering: Lowering) -> None:
    """A call. The factor is that of the pattern, by the Ops that make both."""
    sizes = lowering.sizes
    views = [lowering.contiguous(lowering.view(variable), node) for variable in node.inputs]
    filled, n, nnz = (sizes.canonical(views[at].sizes[0]) for at in (0, 3, 5))
    target, _ = lowering.compute(node.outputs[0], [nnz])
    dtype = target.array.dtype
    workspace = tuple(lowering.array(dtype, (size,)) for size in (filled, n, n))
    options = {"n": n, "filled": filled, "nnz": nnz}
    inputs = tuple(view.array for view in views)
    call = LibraryCall(SELECTED_INVERSE, inputs, (target.array,), options, node, workspace)
    lowering.steps.append(call)
