"""Lowering of convolutions of vectors."""

from __future__ import annotations

from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.backends.native.routines.convolution import CONVOLVE
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.convolution import Convolve


@lowers(Convolve)
def lower_convolve(op: Convolve, node: Apply, lowering: Lowering) -> None:
    """A call, with both vectors in memory order."""
    views = [lowering.view(variable) for variable in node.inputs]
    dtype = views[0].array.dtype
    if dtype.kind in "bc" or dtype.name == "float16":
        msg = f"no native convolution of {dtype}"
        raise NotLowered(msg)
    sizes = lowering.sizes
    zero = sizes.fixed(0)
    n, m = (sizes.canonical(view.sizes[0]) for view in views)
    for size in (n, m):
        is_filled = sizes.arithmetic("lt", zero, size)
        lowering.require(is_filled, Failure(node, "empty", "a vector without elements"))
    inputs = tuple(lowering.contiguous(view, node).array for view in views)
    (lengths,) = op.output_shapes(NativeShapes(node, lowering))
    target, _ = lowering.compute(node.outputs[0], lengths)
    call = LibraryCall(CONVOLVE, inputs, (target.array,), {"n": n, "m": m}, node)
    lowering.steps.append(call)
