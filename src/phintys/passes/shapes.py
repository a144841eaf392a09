"""Canonical forms of dimshuffles, joins, reshapes, broadcasts and specified shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.variable import Constant
from phintys.passes._facts import (
    as_result,
    has_one_client,
    is_pure,
    is_size_of,
    operands,
    output_type,
    sizes_covered,
)
from phintys.rewriting import Operand, late_rules, node_rewriter
from phintys.tensor.creation import Alloc, alloc
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.joining import Join
from phintys.tensor.known import known_sizes
from phintys.tensor.reshaping import Reshape
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.shapes import Shape, SpecifyShape, shape_tuple
from phintys.tensor.sizes import fold

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


@node_rewriter([DimShuffle], examples=["pt.DimShuffle(2, (0, 1))(X)", "pt.DimShuffle(0, ())(s)"])
def drop_useless_dimshuffle(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dimshuffle(x, 0, 1, ...) -> x"""
    assert isinstance(node.op, DimShuffle)
    if node.op.new_order != tuple(range(node.op.input_ndim)):
        return None
    return as_result(fgraph, node, node.inputs[0])


@node_rewriter(
    [DimShuffle], examples=["pt.DimShuffle(2, ('x', 1))(r)", "pt.DimShuffle(2, ('x', 0))(c)"]
)
def keep_dropped_dimensions(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dimshuffle(x, "x", 1) -> dimshuffle(x, 0, 1), where what was left out has size 1"""
    op = node.op
    assert isinstance(op, DimShuffle)
    (x,) = operands(node)
    dropped = iter([dim for dim in op.drop if x.type.shape[dim] == 1])
    order = [next(dropped, "x") if entry == "x" else entry for entry in op.new_order]
    if not op.drop or tuple(order) == op.new_order:
        return None
    return as_result(fgraph, node, DimShuffle(op.input_ndim, order)(x))


def _order_after(first: DimShuffle, second: DimShuffle) -> tuple[int | str, ...]:
    order = first.new_order
    return tuple(order[entry] if isinstance(entry, int) else entry for entry in second.new_order)


@node_rewriter(
    [DimShuffle],
    operands=[Operand.ALIKE],
    examples=["X.T.T", "X.T.dimshuffle(0, 'x', 1)", "x[:, None].T"],
)
def merge_dimshuffles(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dimshuffle(dimshuffle(x, first), second) -> dimshuffle(x, first[second])"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, DimShuffle):
        return None
    assert isinstance(node.op, DimShuffle)
    order = _order_after(inner.op, node.op)
    return as_result(fgraph, node, DimShuffle(inner.op.input_ndim, order)(inner.inputs[0]))


@node_rewriter(
    [DimShuffle],
    operands=[Elemwise],
    depth=3,
    examples=["pt.exp(X.T).T", "(X.T * 2).T", "(X.T + Y.T).T"],
)
def dimshuffle_before_elemwise(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """exp(x.T).T -> exp(x), where each operand is a dimshuffle that is undone, or a constant"""
    whole = node.inputs[0]
    inner = whole.owner
    op = node.op
    assert isinstance(op, DimShuffle)
    if inner is None or not is_pure(inner) or len(inner.outputs) > 1 or op.drop:
        return None
    undone = 0
    operands_after: list[Any] = []
    for x in operands(inner):
        first = x.owner
        if first is not None and isinstance(first.op, DimShuffle):
            if _order_after(first.op, op) != tuple(range(first.op.input_ndim)):
                return None
            undone += 1
            operands_after.append(first.inputs[0])
        elif isinstance(x, Constant) and all(size == 1 for size in x.data.shape):
            operands_after.append(op(x))
        else:
            return None
    if not undone or not has_one_client(fgraph, whole):
        return None
    return as_result(fgraph, node, inner.op(*operands_after))


@node_rewriter(
    [DimShuffle],
    operands=[Alloc],
    examples=["pt.alloc(s, 2, n).T", "pt.alloc(s, n).dimshuffle(0, 'x')"],
)
def dimshuffle_of_alloc(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """dimshuffle(alloc(x, *sizes), order) -> alloc(x, *sizes[order]), for x without dimensions"""
    inner = node.inputs[0].owner
    op = node.op
    if inner is None or not isinstance(inner.op, Alloc) or inner.inputs[0].type.ndim:  # pyright: ignore[reportAttributeAccessIssue]
        return None
    assert isinstance(op, DimShuffle)
    value, *sizes = operands(inner)
    if op.drop:
        return None
    order = [sizes[entry] if isinstance(entry, int) else 1 for entry in op.new_order]
    return as_result(fgraph, node, alloc(value, *order))


CANONICAL_DIMSHUFFLE = late_rules(
    merge_dimshuffles,
    keep_dropped_dimensions,
    drop_useless_dimshuffle,
    dimshuffle_before_elemwise,
    dimshuffle_of_alloc,
    needs=[DimShuffle],
)
"""In the order in which they are tried."""


_MOST_PARTS = 256


@node_rewriter([Join], examples=["pt.Join(0)(x)", "pt.Join(1)(X)"])
def join_of_one(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """concatenate([x]) -> x"""
    return as_result(fgraph, node, node.inputs[0]) if len(node.inputs) == 1 else None


@node_rewriter(
    [Join], operands=[Operand.ALIKE], examples=["pt.concatenate([pt.concatenate([x, y]), z])"]
)
def merge_joins(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """concatenate([concatenate([x, y]), z]) -> concatenate([x, y, z])"""
    dtype = output_type(node).dtype
    parts: list[Any] = []
    for x in operands(node):
        inner = x.owner
        if (
            inner is not None
            and inner.op == node.op
            and x.dtype == dtype
            and has_one_client(fgraph, x)
            and len(inner.inputs) < _MOST_PARTS
        ):
            parts.extend(inner.inputs)
        else:
            parts.append(x)
    if len(parts) == len(node.inputs) or len(parts) > _MOST_PARTS:
        return None
    return as_result(fgraph, node, node.op(*parts))


@node_rewriter([Join], examples=["pt.concatenate([x, x3[:0]])", "pt.concatenate([x3[2:2], x, y])"])
def drop_empty_parts(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """concatenate([x, y]) -> x, where y is known to be empty, and to fit"""
    assert isinstance(node.op, Join)
    axis, wanted = node.op.axis, output_type(node)
    parts = [x for x in operands(node) if x.type.shape[axis] != 0]
    if not parts or len(parts) == len(node.inputs) or all(x.dtype != wanted.dtype for x in parts):
        return None
    if any(
        None in {size for dim, size in enumerate(x.type.shape) if dim != axis}
        for x in operands(node)
    ):
        return None
    return as_result(fgraph, node, node.op(*parts))


CANONICAL_JOIN = late_rules(join_of_one, merge_joins, drop_empty_parts, needs=[Join])
"""In the order in which they are tried."""


@node_rewriter([Alloc], examples=["pt.alloc(x, x.shape[0])", "pt.alloc(x3, 3)"])
def drop_useless_alloc(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """alloc(x, *shape(x)) -> x"""
    value, *sizes = operands(node)
    if value.ndim != len(sizes) or not sizes_covered(node.outputs[0], [value]):
        return None
    return as_result(fgraph, node, value)


@node_rewriter(
    [SpecifyShape],
    examples=["pt.specify_shape(x, (x.shape[0],))"],
)
def drop_useless_specify_shape(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """specify_shape(x, sizes) -> x, where x is known to have them"""
    assert isinstance(node.op, SpecifyShape)
    x, *stated = operands(node)
    dims = [dim for dim, checked in enumerate(node.op.checked) if checked]
    if not all(_is_size(size, x, dim) for dim, size in zip(dims, stated, strict=True)):
        return None
    return as_result(fgraph, node, x)


@node_rewriter([Reshape], examples=["X.reshape(X.shape)", "X3.reshape((3, -1))"])
def drop_useless_reshape(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """reshape(x, shape(x)) -> x, where one size may be -1"""
    x, wanted = operands(node)
    sizes = _entries(wanted)
    if sizes is None or len(sizes) != x.ndim:
        return None
    unlike = [dim for dim, size in enumerate(sizes) if not _is_size(size, x, dim)]
    if unlike:
        inferred = fold(sizes[unlike[0]])
        if len(unlike) > 1 or not isinstance(inferred, int) or inferred != -1:
            return None
        # If another size is 0, -1 is undetermined, and the reshape raises.
        if not all(size for dim, size in enumerate(x.type.shape) if dim != unlike[0]):
            return None
    return as_result(fgraph, node, x)


@node_rewriter(
    [Reshape],
    operands=[Operand.ALIKE],
    examples=["X.reshape((-1,)).reshape((n, -1))", "X3.reshape((9,)).reshape((1, 9))"],
)
def merge_reshapes(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """reshape(reshape(x, first), second) -> reshape(x, second), where the first cannot fail"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Reshape):
        return None
    x, first = operands(inner)
    # If all sizes of x are known, the first reshape was checked when it was built.
    checked = None not in x.type.shape and None not in (known_sizes(first) or (None,))
    if known_sizes(first) != (-1,) and not checked:
        return None
    assert isinstance(node.op, Reshape)
    return as_result(fgraph, node, node.op(x, node.inputs[1]))


@node_rewriter(
    [Reshape],
    operands=[DimShuffle],
    examples=["x[:, None].reshape((-1,))", "X[None].reshape((n, -1))"],
)
def reshape_of_dimshuffle(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """reshape(dimshuffle(x), sizes) -> reshape(x, sizes), where dimensions only come or go"""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, DimShuffle):
        return None
    kept = inner.op.shuffle
    (x,) = operands(inner)
    # A dropped dimension must be known to have size 1; otherwise the reshape could raise.
    if kept != sorted(kept) or any(x.type.shape[dim] != 1 for dim in inner.op.drop):
        return None
    return as_result(fgraph, node, node.op(x, node.inputs[1]))


@node_rewriter(
    [Reshape],
    examples=["x.reshape((-1, 1))", "x.reshape((1, x.shape[0]))", "r.reshape((r.shape[1],))"],
)
def reshape_to_dimshuffle(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """reshape(x, (n, 1)) -> dimshuffle(x, 0, "x"), where only sizes of 1 come or go"""
    x, wanted = operands(node)
    sizes = _entries(wanted)
    if sizes is None:
        return None
    own = [dim for dim, size in enumerate(x.type.shape) if size != 1]
    kept = iter(own)
    order: list[Any] = []
    inferred: list[int] = []
    for size in sizes:
        known = fold(size)
        stated = known if isinstance(known, int) else None
        if stated == 1:
            order.append("x")
            continue
        dim = next(kept, None)
        if dim is None:
            return None
        if stated == -1:
            inferred.append(dim)
        elif not _is_size(size, x, dim):
            return None
        order.append(dim)
    others = [size for dim, size in enumerate(x.type.shape) if dim not in inferred]
    # If another size is 0, -1 is undetermined, and the reshape raises.
    if next(kept, None) is not None or len(inferred) > 1 or (inferred and not all(others)):
        return None
    return as_result(fgraph, node, DimShuffle(x.ndim, order)(x))


@node_rewriter(
    [Alloc],
    operands=[Operand.ALIKE],
    examples=["pt.alloc(pt.alloc(s, n), 2, n)", "pt.alloc(pt.alloc(s, 3), 2, 3)"],
)
def merge_allocs(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """alloc(alloc(x, n), m, n) -> alloc(x, m, n)"""
    value, *sizes = operands(node)
    inner = value.owner
    if inner is None or not isinstance(inner.op, Alloc):
        return None
    source, *inner_sizes = operands(inner)
    missing = len(sizes) - value.ndim
    for size, outer, static in zip(inner_sizes, sizes[missing:], value.type.shape, strict=True):
        known = fold(outer)
        if static != 1 and size is not outer and not (isinstance(known, int) and known == static):
            return None
    return as_result(fgraph, node, alloc(source, *sizes))


def _is_size(size: Any, x: Any, dim: int) -> bool:
    known = fold(size)
    return known == x.type.shape[dim] if isinstance(known, int) else is_size_of(known, x, dim)


def _entries(vector: Any) -> list[Any] | None:
    """Return the elements of a vector of sizes as separate expressions, if possible."""
    node = vector.owner
    if node is None:
        return list(vector.data) if isinstance(vector, Constant) else None
    if isinstance(node.op, MakeVector):
        return list(node.inputs)
    if isinstance(node.op, Shape):
        return list(shape_tuple(node.inputs[0]))
    return None


CANONICAL_SHAPE = late_rules(
    drop_useless_alloc,
    drop_useless_specify_shape,
    merge_allocs,
    drop_useless_reshape,
    merge_reshapes,
    reshape_of_dimshuffle,
    reshape_to_dimshuffle,
    needs=[Alloc, Reshape, SpecifyShape],
)
"""In the order in which they are tried."""
