"""Lowering of elementwise ops and DimShuffle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys.backends.native.assembler.scalar_ops import can_emit
from phintys.backends.native.expressions import Conversion, Expression, Literal, Load, Operation
from phintys.backends.native.lower.integers import apply_to_sizes
from phintys.backends.native.lower.lowering import Lowering, NotLowered, lowers
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.backends.native.lower.view import View
from phintys.graph.apply import Apply
from phintys.scalar.composite import Composite
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size
    from phintys.scalar.op import ScalarOp


@lowers(Elemwise)
def lower_elemwise(op: Elemwise, node: Apply, lowering: Lowering) -> None:
    """``out[i, j] = op(x[i, j], y[0, j])``: one statement for each scalar op."""
    shapes = NativeShapes(node, lowering)
    views = shapes.views
    check_scalar_op(op.scalar_op, [view.array.dtype for view in views])
    if not views[0].sizes and _lower_size(op, node, views, lowering):
        return
    lengths = op.output_shapes(shapes)[0]
    views = [view.broadcast(lengths, lowering.sizes) for view in views]
    loops = lowering.loops(lengths)
    operands = [lowering.load(view, loops) for view in views]
    if not isinstance(op.scalar_op, Composite):
        (variable,) = node.outputs
        target, _ = lowering.compute(variable, lengths)
        value = Operation(op.scalar_op, tuple(operands), target.array.dtype)
        lowering.store(target, value, loops, nodes=(node,))
        return
    for variable, value in zip(
        node.outputs,
        composite_expressions(op.scalar_op, operands, lengths, node, lowering),
        strict=True,
    ):
        target, _ = lowering.compute(variable, lengths)
        lowering.store(target, value, loops, nodes=(node,))


def _lower_size(op: Elemwise, node: Apply, views: Sequence[View], lowering: Lowering) -> bool:
    """Compute a 0-d integer as a size, if its operands are sizes."""
    output = node.outputs[0]
    dtypes = {view.array.dtype.name for view in views}
    dtype = output.type.numpy_dtype  # pyright: ignore[reportAttributeAccessIssue]
    if dtype.name not in _SIZE_DTYPES or not dtypes <= _SIZE_DTYPES or len(node.outputs) != 1:
        return False
    if dtypes == {"bool"} and op.scalar_op.name not in _OF_BOOLS:
        return False
    operands = [lowering.known_element(view, ()) for view in views]
    known = [operand for operand in operands if operand is not None]
    if len(known) != len(operands):
        return False
    size = apply_to_sizes(op.scalar_op, known, lowering.sizes)
    if size is None:
        return False
    target, _ = lowering.compute(output, ())
    lowering.remember(target.array, 0, size)
    value = lowering.load(target, ())
    if isinstance(value, Load):  # too long a formula
        value = Operation(
            op.scalar_op, tuple([lowering.load(view, ()) for view in views]), target.array.dtype
        )
    lowering.store(target, value, (), nodes=(node,))
    return True


_SIZE_DTYPES = {"bool", "int64"}
_OF_BOOLS = {"cast_int64", "cast_bool", "eq", "ne", "switch", "second", "identity", "logical_not"}


def composite_expressions(
    op: Composite,
    operands: Sequence[Expression],
    lengths: Sequence[Size],
    node: Apply,
    lowering: Lowering,
) -> list[Expression]:
    """Store each step of a Composite in its own array, which fusion will keep in registers."""
    known: dict[Any, Expression] = {
        variable: _in_dtype(operand, cast("Any", variable.type).numpy_dtype)
        for variable, operand in zip(op.fgraph.inputs, operands, strict=True)
    }
    loops = lowering.loops(lengths)

    def expression_of(variable: Any) -> Expression:
        if variable not in known:  # a constant
            known[variable] = Literal(variable.data, variable.type.numpy_dtype)
        return known[variable]

    for inner in op.fgraph.toposort():
        (variable,) = inner.outputs
        dtype = cast("Any", variable.type).numpy_dtype
        target = View.of(lowering.array(dtype, lengths), lowering.sizes)
        arguments = tuple(expression_of(x) for x in inner.inputs)
        value = Operation(cast("Any", inner.op), arguments, dtype)
        lowering.store(target, value, loops, nodes=(node,))
        known[variable] = target.load(loops)
    return [expression_of(variable) for variable in op.fgraph.outputs]


def _in_dtype(operand: Expression, dtype: np.dtype[Any]) -> Expression:
    return operand if operand.dtype == dtype else Conversion(operand, dtype)


def check_scalar_op(op: ScalarOp, dtypes: Sequence[np.dtype[Any]]) -> None:
    """Raise :class:`NotLowered` for a scalar op that cannot be emitted."""
    if isinstance(op, Composite):
        for inner in op.fgraph.toposort():
            dtypes = [cast("Any", variable.type).numpy_dtype for variable in inner.inputs]
            check_scalar_op(cast("Any", inner.op), dtypes)
        return
    if op.nout != 1:
        msg = f"the scalar op {op} has {op.nout} outputs"
        raise NotLowered(msg)
    if not can_emit(op, dtypes):
        names = ", ".join(np.dtype(dtype).name for dtype in dtypes)
        msg = f"the scalar op {op} has no native code for {names}"
        raise NotLowered(msg)


@lowers(DimShuffle)
def lower_dimshuffle(op: DimShuffle, node: Apply, lowering: Lowering) -> None:
    """``out[j, 0, i] = x[i, j]``: a view of the same memory."""
    shapes = NativeShapes(node, lowering)
    op.output_shapes(shapes)
    order = [None if entry == "x" else int(entry) for entry in op.new_order]
    lowering.bind(node.outputs[0], shapes.views[0].rearranged(order, lowering.sizes), is_part=True)
