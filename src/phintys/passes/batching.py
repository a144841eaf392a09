"""Batches that are computed item by item, as loops, and stacks of one matrix.

What is known of matrices, and the rules on gradients through their factors, then hold for densities
that are written for stacks of points, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.control.loop_forms.builder import LoopBuilder
from phintys.control.loops.arguments import StepOutputs
from phintys.passes._facts import all_results, operands
from phintys.passes._matrix_facts import only_item
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.batching.blockwise import Blockwise
from phintys.tensor.creation import alloc
from phintys.tensor.dim_shuffle import dimshuffle, expand_dims
from phintys.tensor.linear_algebra.matrix_op import MatrixOp
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import multiply_sizes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


@node_rewriter(
    [MatrixOp],
    tags=["extremes"],
    examples=[
        "pt.linalg.cholesky((X3 @ X3.T + 9 * pt.eye(3))[None])",
        "pt.linalg.solve(X3 + 20 * pt.eye(3), Y3[None])",
        "pt.linalg.slogdet((X3 - 20 * pt.eye(3))[None, None])[1]",
    ],
)
def stack_of_one(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """op(A[None]) -> op(A)[None], so that what is known of matrices holds for a stack of one"""
    op: Any = node.op
    given: list[Any] = operands(node)
    stacked = given[0].ndim - len(op.dims()[0][0])
    count = 0
    while count < stacked and all(x.type.shape[count] == 1 for x in given):
        count += 1
    if not count:
        return None
    results = op(*(only_item(x, count) for x in given), return_list=True)
    return all_results(node, [expand_dims(one, tuple(range(count))) for one in results])


CANONICAL_STACKS = late_rules(stack_of_one, needs=[MatrixOp])


@node_rewriter(
    [Blockwise],
    examples=[
        "pt.Blockwise(pt.Dot(), '(m,n),(n)->(m)')(pt.stack([X3, 2 * X3]), x3)",
        "pt.Blockwise(pt.Dot(), '(m,n),(n)->(m)')(X3, x3)",
        "pt.Blockwise(pt.CumOp(0), '(n)->(n)')(pt.stack([[x, 2 * x], [y, x + y]]))",
    ],
)
def blockwise_to_loop(fgraph: Any, node: Any) -> list[Any]:
    """Blockwise(op)(xs, ...) -> a loop of op(xs[i], ...) over the items of the batch"""
    op = node.op
    ndim = op.batch_ndim(node)
    if not ndim:
        return _as_before(op.core_op.make_node(*node.inputs).outputs, node)
    # The sizes are those that the Op infers, with the checks that batches fit together.
    sizes = op.infer_shape(None, node, [_sizes(x) for x in node.inputs])[0][:ndim]
    core = op.core(node.inputs)
    builder = LoopBuilder()
    items: list[Any] = []
    for x, item in zip(node.inputs, core.inputs, strict=True):
        if not isinstance(x.type, TensorType):
            items.append(x)
        elif all(size == 1 for size in x.type.shape[:ndim]):
            items.append(dimshuffle(x, *range(ndim, x.ndim)))
        else:
            items.append(builder.add_sequence(_flat(x, ndim, sizes), item.name))
    made = op.core_op.make_node(*items).outputs
    results = builder.build(multiply_sizes(sizes), StepOutputs([], [], made), str(op.core_op))
    stacked = results.stacked
    if ndim > 1:
        stacked = [reshape(x, [*sizes, *sizes_of(x)[1:]]) for x in stacked]
    return _as_before(stacked, node)


def _sizes(x: Any) -> Any:
    return sizes_of(x) if isinstance(x.type, TensorType) else None


def _flat(x: Any, ndim: int, sizes: Sequence[Any]) -> Any:
    """Return the items of a batch along one axis."""
    if ndim == 1:
        return x
    rest = sizes_of(x)[ndim:]
    if any(known == 1 for known in x.type.shape[:ndim]):
        x = alloc(x, *sizes, *rest)
    return reshape(x, [multiply_sizes(sizes), *rest])


def _as_before(found: Sequence[Any], node: Any) -> list[Any]:
    return [old.type.filter_variable(new) for new, old in zip(found, node.outputs, strict=True)]


CANONICAL_BATCHING = late_rules(blockwise_to_loop, needs=[Blockwise])
"""The rules for batches, as parts of ``CANONICAL``."""
