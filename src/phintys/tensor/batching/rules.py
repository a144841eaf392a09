"""The rules of batching, by Op, and the modules that define them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.late import LateModule
from phintys.graph.rules import OpRules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

    Rule = Callable[[Apply, Any], Sequence[Variable] | None]

__all__ = ["BATCHING", "batches"]

_blockwise = LateModule("phintys.tensor.batching.blockwise")
_elementwise = LateModule("phintys.tensor.batching.elementwise")
_fourier = LateModule("phintys.tensor.batching.fourier")
_images = LateModule("phintys.tensor.batching.images")
_indexing = LateModule("phintys.tensor.batching.indexing")
_products = LateModule("phintys.tensor.batching.products")
_shapes = LateModule("phintys.tensor.batching.shapes")

BATCHING: OpRules[Rule] = OpRules(
    "batching",
    late={
        _blockwise: "Op",
        _elementwise: (
            "ArgExtremeAlong ArgSortOp Argmax Argmin CumOp DimShuffle Elemwise LinearRecurrence "
            "LogSoftmax LogSumExp Reduce RunningArgExtreme RunningExtreme ScalarFromTensor "
            "ScalarOp Softmax SortOp TensorFromScalar"
        ),
        _fourier: "FFT IRFFT RFFT",
        _images: "Conv ConvByFilters ConvByImages MaxPool",
        _indexing: "AdvancedIncSubtensor AdvancedSubtensor IncSubtensor Subtensor",
        _products: "BatchedDot Dot MatrixOp",
        _shapes: (
            "Alloc AllocDiag Assume Breakpoint CheckAndRaise ExtractDiag Join MakeVector Print "
            "Reshape Shape ShapeI SpecifyShape Split"
        ),
    },
)
"""A rule ``(node, batch)`` returns a variable for each output of the node, for a batch of inputs.

A result has the axes of the batch before those of the output, or none of them if it is the same for
all items. A rule may return ``None``; the node is then computed item by item.
"""

batches = BATCHING.register
"""Decorator of rules: ``@batches(Dot)``."""
