"""The rules that lower Ops, and the modules that define them.

Each module is imported when one of its Ops is first met.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from phintys._base.late import LateModule
from phintys.graph.rules import OpRules

if TYPE_CHECKING:
    from phintys.backends.native.lower.lowering import Lowering
    from phintys.graph.apply import Apply

__all__ = ["LOWERINGS", "lowers"]

_banded = LateModule("phintys.backends.native.lower.banded")
_solving_by_factors = LateModule("phintys.backends.native.lower.solving_by_factors")
_convolution = LateModule("phintys.backends.native.lower.convolution")
_counting = LateModule("phintys.backends.native.lower.counting")
_creation = LateModule("phintys.backends.native.lower.creation")
_cumulative = LateModule("phintys.backends.native.lower.cumulative")
_decompositions = LateModule("phintys.backends.native.lower.decompositions")
_diagonals = LateModule("phintys.backends.native.lower.diagonals")
_elemwise = LateModule("phintys.backends.native.lower.elemwise")
_extremes = LateModule("phintys.backends.native.lower.extremes")
_fence = LateModule("phintys.backends.native.lower.fence")
_from_graph = LateModule("phintys.backends.native.lower.from_graph")
_general_eigen = LateModule("phintys.backends.native.lower.general_eigen")
_if_else = LateModule("phintys.backends.native.lower.if_else")
_images = LateModule("phintys.backends.native.lower.images")
_indexing = LateModule("phintys.backends.native.lower.indexing")
_joining = LateModule("phintys.backends.native.lower.joining")
_linear_algebra = LateModule("phintys.backends.native.lower.linear_algebra")
_matrix_functions = LateModule("phintys.backends.native.lower.matrix_functions")
_numpy_draws = LateModule("phintys.backends.native.lower.numpy_draws")
_observing = LateModule("phintys.backends.native.lower.observing")
_products = LateModule("phintys.backends.native.lower.products")
_random = LateModule("phintys.backends.native.lower.random")
_ranges = LateModule("phintys.backends.native.lower.ranges")
_reduce = LateModule("phintys.backends.native.lower.reduce")
_row_loop = LateModule("phintys.backends.native.lower.row_loop")
_scan = LateModule("phintys.backends.native.lower.scan")
_searching = LateModule("phintys.backends.native.lower.searching")
_schur_forms = LateModule("phintys.backends.native.lower.schur_forms")
_segments = LateModule("phintys.backends.native.lower.segments")
_shapes = LateModule("phintys.backends.native.lower.shapes")
_softmaxes = LateModule("phintys.backends.native.lower.softmaxes")

LOWERINGS: OpRules[Callable[[Any, Apply, Lowering], None]] = OpRules(
    "native code",
    late={
        _banded: "SolveBanded SolveTridiagonalLU TridiagonalLU",
        _solving_by_factors: "Det Inv Lstsq Pinv SlogDet Solve Sylvester",
        _convolution: "Convolve",
        _counting: "Nonzero RepeatIndex",
        _creation: "Alloc AllocEmpty",
        _cumulative: "CumOp LinearRecurrence RunningArgExtreme RunningExtreme",
        _decompositions: "PackedQR PivotedQR QR SVD",
        _diagonals: "AllocDiag ExtractDiag",
        _elemwise: "DimShuffle Elemwise",
        _extremes: "ArgExtremeAlong Argmax Argmin",
        _fence: "Fence",
        _from_graph: "OpFromGraph",
        _general_eigen: "Eig Eigvals",
        _if_else: "IfElse",
        _images: "Conv ConvByFilters ConvByImages MaxPool",
        _indexing: "AdvancedIncSubtensor AdvancedSubtensor IncSubtensor Subtensor",
        _joining: "Join Split",
        _linear_algebra: (
            "Cholesky CholeskyAdjoint CholeskyInverse CholeskyUpdate Eigh LUFactor PermuteRows "
            "SolveTriangular"
        ),
        _matrix_functions: "Expm ExpmDerivative Logm Sqrtm",
        _numpy_draws: "NumpyDraw NumpyIntegers",
        _observing: "Assume CheckAndRaise",
        _products: "BatchedDot Dot Gemm",
        _random: "Advance FoldIn Jump Positions RandomBits SplitState StateOfWords StateWords",
        _ranges: "ARange",
        _reduce: "Reduce",
        _row_loop: "RowLoop",
        _scan: "Scan StepCount",
        _searching: "SearchSorted",
        _schur_forms: "QZ QuasiTriangularSylvester Schur",
        _segments: "SegmentReduce",
        _shapes: "GradientMark MakeVector Reshape Shape ShapeI SizeCheck SpecifyShape",
        _softmaxes: "LogSoftmax LogSumExp Softmax SoftmaxOrZero",
    },
)
"""A rule ``(op, node, lowering)`` adds the steps for one node.

It calls :meth:`~.lowering.Lowering.bind` or :meth:`~.lowering.Lowering.compute` for each output. It
may raise :class:`~.lowering.NotLowered` before it adds any step; the node then becomes a callback.
"""

lowers = LOWERINGS.register
"""Decorator of rules: ``@lowers(Dot)``."""
