"""The rules that lower Ops, and the modules that define them.

Each module is imported when one of its Ops is first met.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from phintys._base.late import LateModule
from phintys.backends.rules import OpRules

if TYPE_CHECKING:
    from phintys.backends.native.lower.lowering import Lowering
    from phintys.graph.apply import Apply

__all__ = ["LOWERINGS", "lowers"]

_counting = LateModule("phintys.backends.native.lower.counting")
_creation = LateModule("phintys.backends.native.lower.creation")
_dot = LateModule("phintys.backends.native.lower.dot")
_elemwise = LateModule("phintys.backends.native.lower.elemwise")
_from_graph = LateModule("phintys.backends.native.lower.from_graph")
_indexing = LateModule("phintys.backends.native.lower.indexing")
_join = LateModule("phintys.backends.native.lower.join")
_observing = LateModule("phintys.backends.native.lower.observing")
_ranges = LateModule("phintys.backends.native.lower.ranges")
_reduce = LateModule("phintys.backends.native.lower.reduce")
_row_loop = LateModule("phintys.backends.native.lower.row_loop")
_running = LateModule("phintys.backends.native.lower.running")
_shape = LateModule("phintys.backends.native.lower.shape")

LOWERINGS: OpRules[Callable[[Any, Apply, Lowering], None]] = OpRules(
    "native",
    late={
        "ARange": _ranges,
        "AdvancedIncSubtensor": _indexing,
        "AdvancedSubtensor": _indexing,
        "Alloc": _creation,
        "AllocDiag": _creation,
        "AllocEmpty": _creation,
        "ArgExtremeAlong": _reduce,
        "Argmax": _reduce,
        "Argmin": _reduce,
        "BatchedDot": _dot,
        "CheckAndRaise": _observing,
        "CumOp": _running,
        "DimShuffle": _elemwise,
        "Dot": _dot,
        "Elemwise": _elemwise,
        "ExtractDiag": _creation,
        "Gemm": _dot,
        "GradientMark": _shape,
        "IncSubtensor": _indexing,
        "Join": _join,
        "LinearRecurrence": _running,
        "LogSoftmax": _reduce,
        "LogSumExp": _reduce,
        "MakeVector": _shape,
        "Nonzero": _counting,
        "OpFromGraph": _from_graph,
        "Reduce": _reduce,
        "RepeatIndex": _counting,
        "Reshape": _shape,
        "RowLoop": _row_loop,
        "Shape": _shape,
        "ShapeI": _shape,
        "SizeCheck": _shape,
        "Softmax": _reduce,
        "SpecifyShape": _shape,
        "Split": _join,
        "Subtensor": _indexing,
    },
)
"""A rule ``(op, node, lowering)`` adds the steps for one node.

It calls :meth:`~.lowering.Lowering.bind` or :meth:`~.lowering.Lowering.compute` for each output. It
may raise :class:`~.lowering.NotLowered` before it adds any step; the node then becomes a callback.
"""

lowers = LOWERINGS.register
"""Decorator of rules: ``@lowers(Dot)``."""
