"""Batches that are computed item by item, as loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.control.loop_forms.builder import LoopBuilder
from phintys.control.loops.arguments import StepOutputs
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.batching.blockwise import Blockwise
from phintys.tensor.creation import alloc
from phintys.tensor.dim_shuffle import dimshuffle
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import multiply_sizes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CANONICAL_BATCHING"]


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
