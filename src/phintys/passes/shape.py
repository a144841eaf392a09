"""Canonical forms of reshapes, broadcasts and shapes that are stated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.variable import Constant
from phintys.passes._facts import as_result, is_size_of, operands, sizes_covered
from phintys.rewriting import node_rewriter
from phintys.tensor.creation import Alloc
from phintys.tensor.known import known_sizes
from phintys.tensor.make_vector import MakeVector
from phintys.tensor.reshape import Reshape
from phintys.tensor.shape import Shape, SpecifyShape, shape_tuple
from phintys.tensor.sizes import fold

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import NodeRewriter

__all__ = ["CANONICAL_SHAPE"]


@node_rewriter([Alloc])
def drop_useless_alloc(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """alloc(x, *shape(x)) -> x"""
    value, *sizes = operands(node)
    if value.ndim != len(sizes) or not sizes_covered(node.outputs[0], [value]):
        return None
    return as_result(fgraph, node, value)


@node_rewriter([SpecifyShape])
def drop_useless_specify_shape(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """specify_shape(x, sizes) -> x, where x is known to have them"""
    assert isinstance(node.op, SpecifyShape)
    x, *stated = operands(node)
    dims = [dim for dim, checked in enumerate(node.op.checked) if checked]
    if not all(_is_size(size, x, dim) for dim, size in zip(dims, stated, strict=True)):
        return None
    return as_result(fgraph, node, x)


@node_rewriter([Reshape])
def drop_useless_reshape(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """reshape(x, shape(x)) -> x, where one size may be -1"""
    x, wanted = operands(node)
    sizes = _entries(wanted)
    if sizes is None or len(sizes) != x.ndim:
        return None
    unlike = [dim for dim, size in enumerate(sizes) if not _is_size(size, x, dim)]
    if unlike:
        if len(unlike) > 1 or fold(sizes[unlike[0]]) != -1:
            return None
        # Beside a size of 0 nothing tells what -1 is, and the reshape raises.
        if not all(size for dim, size in enumerate(x.type.shape) if dim != unlike[0]):
            return None
    return as_result(fgraph, node, x)


@node_rewriter([Reshape])
def merge_reshapes(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """reshape(reshape(x, first), second) -> reshape(x, second), where the first cannot fail"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Reshape):
        return None
    x, first = operands(inner)
    # Where all of x's sizes are known, the first reshape was checked when it was written.
    checked = None not in x.type.shape and None not in (known_sizes(first) or (None,))
    if known_sizes(first) != (-1,) and not checked:
        return None
    assert isinstance(node.op, Reshape)
    return as_result(fgraph, node, node.op(x, node.inputs[1]))


def _is_size(size: Any, x: Any, dim: int) -> bool:
    known = fold(size)
    return known == x.type.shape[dim] if isinstance(known, int) else is_size_of(known, x, dim)


def _entries(vector: Any) -> list[Any] | None:
    """Return the elements of a vector of sizes, each on its own, if they can be told apart."""
    node = vector.owner
    if node is None:
        return list(vector.data) if isinstance(vector, Constant) else None
    if isinstance(node.op, MakeVector):
        return list(node.inputs)
    if isinstance(node.op, Shape):
        return list(shape_tuple(node.inputs[0]))
    return None


CANONICAL_SHAPE: tuple[NodeRewriter, ...] = (
    drop_useless_alloc,
    drop_useless_specify_shape,
    drop_useless_reshape,
    merge_reshapes,
)
"""In the order in which they are tried."""
