"""Lowering of functions of matrices that are no expression in other Ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.linear_algebra import count_of, square
from phintys.backends.native.lower.lowering import Lowering
from phintys.backends.native.routines.exponentials import EXPM, ROOMS
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.linear_algebra.powers import Expm

if TYPE_CHECKING:
    import numpy as np

__all__: list[str] = []


@lowers(Expm)
def lower_expm(op: Expm, node: Apply, lowering: Lowering) -> None:
    """A copy, which becomes the exponential."""
    sizes = lowering.sizes
    a = lowering.view(node.inputs[0])
    n = square(a, node, lowering)
    dtype: np.dtype = a.array.dtype
    target, loops = lowering.compute(node.outputs[0], a.sizes)
    lowering.store(target, lowering.load(a, loops), loops, nodes=(node,))
    whole = sizes.mul(n, n)
    workspace = (
        lowering.array(dtype, (sizes.mul(sizes.fixed(ROOMS), whole),)),
        lowering.array(dtype.type(0).real.dtype, (sizes.mul(sizes.fixed(2), n),)),
        lowering.array("int32", (n,)),
    )
    options = {"n": n, "count": count_of(a.sizes[:-2], lowering), "move": whole}
    lowering.steps.append(LibraryCall(EXPM, (), (target.array,), options, node, workspace))
