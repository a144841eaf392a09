"""Lowering of Ops that create arrays: filled arrays, diagonals, copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.expressions import Literal
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.lower.view import View
from phintys.backends.native.values import Place
from phintys.graph.apply import Apply
from phintys.tensor.creation import Alloc, AllocEmpty
from phintys.tensor.diagonals import AllocDiag, ExtractDiag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size

__all__ = ["lower_copy", "number"]


def number(value: Any, dtype: Any, lowering: Lowering) -> View:
    """Return a 0-d constant."""
    data = np.array(value, dtype)
    array = lowering.array(data.dtype, (), Place.CONSTANT, data=data)
    return View.of(array, lowering.sizes)


def _checked_sizes(node: Apply, inputs: Sequence[Any], lowering: Lowering) -> list[Size]:
    """Return sizes that have been checked to be non-negative."""
    found = [lowering.size_of(variable) for variable in inputs]
    for dim, size in enumerate(found):
        lowering.require_length(size, Failure(node, "negative", f"the size of dimension {dim}"))
    return found


@lowers(Alloc)
def lower_alloc(op: Alloc, node: Apply, lowering: Lowering) -> None:
    """``out[i, j] = value[0, j]``: no memory, just a view of the value."""
    sizes = lowering.sizes
    value: Any = node.inputs[0]
    view = lowering.view(value)
    lengths = _checked_sizes(node, node.inputs[1:], lowering)
    missing = len(lengths) - view.ndim
    for axis, static in enumerate(value.type.shape):
        if static != 1:
            failure = Failure(node, "broadcast", f"dimension {axis}: {{0}} and {{1}}")
            lowering.require_equal(lengths[missing + axis], view.sizes[axis], failure)
    whole = view.rearranged([*[None] * missing, *range(view.ndim)], sizes)
    lengths = [sizes.canonical(size) for size in lengths]
    whole = whole.broadcast(lengths, sizes)
    # For the graph this is new memory; without any repetition, it must not be passed through.
    lowering.bind(node.outputs[0], lowering.copied(whole) if whole.is_whole(sizes) else whole)


@lowers(AllocEmpty)
def lower_alloc_empty(op: AllocEmpty, node: Apply, lowering: Lowering) -> None:
    """The content is undefined: zeros, which take no memory."""
    lengths = _checked_sizes(node, node.inputs, lowering)
    view = View(number(0, op.dtype, lowering).array, (), tuple(lengths))
    lowering.bind(node.outputs[0], view if lengths else lowering.copied(view))


# ---- diagonals ---------------------------------------------------------------------------------


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
    lengths = [*x.sizes[:-1], *_checked_sizes(node, node.inputs[1:], lowering)]
    target, loops = lowering.compute(node.outputs[0], lengths)
    dtype = target.array.dtype
    lowering.store(target, Literal(dtype.type(0), dtype), loops, nodes=(node,))
    diagonal = _diagonal(target, op.offset, lowering)
    failure = Failure(node, "diagonal", "{0} elements, not {1}")
    lowering.require_equal(diagonal.sizes[-1], x.sizes[-1], failure)
    loops = lowering.loops(x.sizes)
    lowering.store(diagonal, lowering.load(x, loops), loops, nodes=(node,))


# ---- copies ------------------------------------------------------------------------------------


def lower_copy(node: Apply, lowering: Lowering) -> None:
    """``out = x``, in new memory."""
    if not node.inputs[0].type.holds_arrays:
        msg = f"a value of type {node.inputs[0].type}"
        raise NotLowered(msg)
    view = lowering.view(node.inputs[0])
    lowering.bind(node.outputs[0], lowering.copied(view, node))
