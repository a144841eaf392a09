"""Lowering of elements of the inverse of a sparse matrix."""

from __future__ import annotations

from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.routines.selected_inverse import SELECTED_INVERSE
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.sparse.determinants import SelectedInverse, is_of_its_factors


@lowers(SelectedInverse)
def lower_selected_inverse(op: SelectedInverse, node: Apply, lowering: Lowering) -> None:
    """A call, if the factor is that of the pattern: it reads both without a check."""
    if not is_of_its_factors(node):
        msg = "the pattern is not known to be that of the factors"
        raise NotLowered(msg)
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
