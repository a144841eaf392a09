"""Lowering of diagonals of matrices, and of matrices with a given diagonal."""

from __future__ import annotations

from phintys.backends.native.expressions import Literal
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.backends.native.lower.view import View
from phintys.backends.native.values import Size
from phintys.graph.apply import Apply
from phintys.tensor.diagonals import AllocDiag, ExtractDiag


def _diagonal(view: View, offset: int, length: Size, lowering: Lowering) -> View:
    """Return the diagonal of the last two axes."""
    sizes = lowering.sizes
    down, right = max(-offset, 0), max(offset, 0)
    one = sizes.fixed(1)
    cut = view.sliced(view.ndim - 2, sizes.fixed(down), one, length, sizes)
    cut = cut.sliced(view.ndim - 1, sizes.fixed(right), one, length, sizes)
    return cut.diagonal(sizes)


@lowers(ExtractDiag)
def lower_extract_diag(op: ExtractDiag, node: Apply, lowering: Lowering) -> None:
    """``out[i, k] = x[i, k, k]``: a view of the same memory."""
    shapes = NativeShapes(node, lowering)
    ((*_, length),) = op.output_shapes(shapes)
    diagonal = _diagonal(shapes.views[0], op.offset, length, lowering)
    lowering.bind(node.outputs[0], diagonal, is_part=True)


@lowers(AllocDiag)
def lower_alloc_diag(op: AllocDiag, node: Apply, lowering: Lowering) -> None:
    """``out = 0``; then ``out[i, k, k] = x[i, k]``."""
    shapes = NativeShapes(node, lowering)
    (lengths,) = op.output_shapes(shapes)
    x = shapes.views[0]
    target, loops = lowering.compute(node.outputs[0], lengths)
    dtype = target.array.dtype
    lowering.store(target, Literal(dtype.type(0), dtype), loops, nodes=(node,))
    diagonal = _diagonal(target, op.offset, x.sizes[-1], lowering)
    loops = lowering.loops(x.sizes)
    lowering.store(diagonal, lowering.load(x, loops), loops, nodes=(node,))
