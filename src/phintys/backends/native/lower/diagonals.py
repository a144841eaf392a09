"""Lowering of diagonals of matrices, and of matrices with a given diagonal."""

from __future__ import annotations

from phintys.backends.native.expressions import Literal
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.creation import checked_sizes
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering
from phintys.backends.native.lower.view import View
from phintys.graph.apply import Apply
from phintys.tensor.diagonals import AllocDiag, ExtractDiag


def _diagonal(view: View, offset: int, lowering: Lowering) -> View:
    """Return the diagonal of the last two axes."""
    sizes = lowering.sizes
    down, right = max(-offset, 0), max(offset, 0)
    *_, rows, columns = view.sizes
    length = sizes.arithmetic(
        "min", sizes.sub(rows, sizes.fixed(down)), sizes.sub(columns, sizes.fixed(right))
    )
    length = sizes.at_least_zero(length)
    one = sizes.fixed(1)
    cut = view.sliced(view.ndim - 2, sizes.fixed(down), one, length, sizes)
    cut = cut.sliced(view.ndim - 1, sizes.fixed(right), one, length, sizes)
    return cut.diagonal(sizes)


@lowers(ExtractDiag)
def lower_extract_diag(op: ExtractDiag, node: Apply, lowering: Lowering) -> None:
    """``out[i, k] = x[i, k, k]``: a view of the same memory."""
    view = lowering.view(node.inputs[0])
    lowering.bind(node.outputs[0], _diagonal(view, op.offset, lowering), is_part=True)


@lowers(AllocDiag)
def lower_alloc_diag(op: AllocDiag, node: Apply, lowering: Lowering) -> None:
    """``out = 0``; then ``out[i, k, k] = x[i, k]``."""
    x = lowering.view(node.inputs[0])
    lengths = [*x.sizes[:-1], *checked_sizes(node, node.inputs[1:], lowering)]
    target, loops = lowering.compute(node.outputs[0], lengths)
    dtype = target.array.dtype
    lowering.store(target, Literal(dtype.type(0), dtype), loops, nodes=(node,))
    diagonal = _diagonal(target, op.offset, lowering)
    failure = Failure(node, "diagonal", "{0} elements, not {1}")
    lowering.require_equal(diagonal.sizes[-1], x.sizes[-1], failure)
    loops = lowering.loops(x.sizes)
    lowering.store(diagonal, lowering.load(x, loops), loops, nodes=(node,))
