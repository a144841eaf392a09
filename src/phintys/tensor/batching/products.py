"""Batches of products, and of Ops on matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.tensor.batching.rules import batches
from phintys.tensor.dim_shuffle import dimshuffle, matrix_transpose
from phintys.tensor.linear_algebra.matrix_op import MatrixOp
from phintys.tensor.products import BatchedDot, Dot, matmul
from phintys.tensor.reduce import sum

if TYPE_CHECKING:
    from phintys.tensor.batching.engine import Batch

__all__: list[str] = []

_SUMMED_AS_THEY_ARE = {"float32", "float64", "complex64", "complex128", "int64", "uint64"}
"""Dtypes that a sum keeps and accumulates in."""


@batches(BatchedDot, MatrixOp)
def batch_stacks(node: Any, batch: Batch) -> list[Any]:
    """The Ops take stacks of matrices, so that axes of a batch are further axes of the stack."""
    return node.op(*(batch.padded(at) for at in range(len(batch.inputs))), return_list=True)


@batches(Dot)
def batch_dot(node: Any, batch: Batch) -> list[Any]:
    """One large product if one operand is the same for all items, else a stack of products."""
    x, y = batch.inputs
    ranks = tuple(operand.ndim for operand in node.inputs)
    if not batch.ranks[1]:
        return [matmul(x, y) if ranks[0] == 2 or x.ndim > 1 else Dot()(x, y)]
    if not batch.ranks[0] and ranks[1] == 1:
        # The items of y are rows: x @ y[i] is row i of y @ x.T.
        return [matmul(y, x if ranks[0] == 1 else matrix_transpose(x))]
    if ranks == (1, 1) and node.outputs[0].dtype in _SUMMED_AS_THEY_ARE:
        return [sum(x * y, axis=-1)]
    first = batch.ndim
    left = batch.padded(0, 2)
    right = batch.padded(1) if ranks[1] == 2 else _columns(batch.padded(1))
    product = BatchedDot()(left, right)
    kept = [*range(first), *([first] if ranks[0] == 2 else [])]
    kept += [first + 1] if ranks[1] == 2 else []
    return [product if len(kept) == product.ndim else dimshuffle(product, *kept)]


def _columns(x: Any) -> Any:
    return dimshuffle(x, *range(x.ndim), "x")
