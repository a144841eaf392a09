"""The tensor language: symbolic arrays and the operations on them.

Examples
--------
>>> import phintys, phintys.tensor as pt
>>> x = pt.vector("x")
>>> f = phintys.function([x], pt.log_softmax(x))
>>> f([0.0, 0.0]).round(3)
array([-0.693, -0.693])
"""

import sys
from typing import TYPE_CHECKING

from phintys._base.late import late_names
from phintys.tensor import bindings, constructors, functions  # noqa: F401 - bindings makes `x + y` work
from phintys.tensor._operators import operators
from phintys.tensor.constructors import *  # 180 systematic names; its __all__ lists them
from phintys.tensor.convert import (
    as_tensor_variable,
    constant,
    register_conversion,
)
from phintys.tensor.elemwise import (
    Elemwise,
)
from phintys.tensor.functions import *  # one for each row; its __all__ lists them
from phintys.tensor.math import (
    angle,
    cast,
    ceil_intdiv,
    clip,
    divmod,
    isclose,
    logaddexp,
    round,
)
from phintys.tensor.shared_variable import (
    TensorSharedVariable,
    shared,
)
from phintys.tensor.type import (
    TensorType,
)
from phintys.tensor.variable import (
    TensorConstant,
    TensorVariable,
)

if TYPE_CHECKING:
    from phintys.tensor import fft, inplace, linalg, signal, special
    from phintys.tensor.activations import (
        log_softmax,
        relu,
        softmax,
    )
    from phintys.tensor.applying import *
    from phintys.tensor.batching import Blockwise, vectorize, vectorize_graph
    from phintys.tensor.bits import *
    from phintys.tensor.broadcasting import (
        broadcast_arrays,
        broadcast_shape,
        broadcast_shapes,
        broadcast_sizes,
        broadcast_to,
    )
    from phintys.tensor.combinations import *
    from phintys.tensor.contractions.einsum import (
        einsum,
    )
    from phintys.tensor.convolution import *
    from phintys.tensor.creation import (
        Alloc,
        AllocEmpty,
        alloc,
        empty,
        empty_like,
        full,
        full_like,
        ones,
        ones_like,
        zeros,
        zeros_like,
    )
    from phintys.tensor.cumulative import (
        CumOp,
        LinearRecurrence,
        cumprod,
        cumsum,
        diff,
    )
    from phintys.tensor.diagonals import (
        AllocDiag,
        ExtractDiag,
        diag,
        diagonal,
        eye,
        identity,
        identity_like,
        trace,
        tri,
        tril,
        triu,
    )
    from phintys.tensor.differences import *
    from phintys.tensor.dim_shuffle import (
        DimShuffle,
        dimshuffle,
        expand_dims,
        matrix_transpose,
        moveaxis,
        shape_padaxis,
        shape_padleft,
        shape_padright,
        squeeze,
        swapaxes,
        transpose,
    )
    from phintys.tensor.dtype_names import *
    from phintys.tensor.dtypes import *
    from phintys.tensor.extremes import (
        ArgExtremeAlong,
        Argmax,
        Argmin,
        argmax,
        argmin,
        max_and_argmax,
    )
    from phintys.tensor.indexing import (
        AdvancedIncSubtensor,
        AdvancedSubtensor,
        IncSubtensor,
        Subtensor,
        inc_subtensor,
        set_subtensor,
        take,
    )
    from phintys.tensor.indexing.choosing import *
    from phintys.tensor.indexing.grids import *
    from phintys.tensor.indexing.setting import *
    from phintys.tensor.introspection import *
    from phintys.tensor.joining import (
        Join,
        Split,
        array_split,
        concatenate,
        hstack,
        join,
        split,
        stack,
        stacklists,
        vstack,
    )
    from phintys.tensor.linear_algebra.assumptions import (
        assume,
    )
    from phintys.tensor.linear_algebra.vectors import (
        cross,
        matvec,
        vecdot,
        vecmat,
    )
    from phintys.tensor.manipulation.dimensions import *
    from phintys.tensor.manipulation.editing import *
    from phintys.tensor.manipulation.flipping import *
    from phintys.tensor.manipulation.padding import *
    from phintys.tensor.manipulation.stacking import *
    from phintys.tensor.nonzeros import (
        Nonzero,
        flatnonzero,
        nonzero,
        nonzero_values,
        where,
    )
    from phintys.tensor.observing import (
        Assert,
        Breakpoint,
        CheckAndRaise,
        Print,
        assert_op,
    )
    from phintys.tensor.ordering import *
    from phintys.tensor.permutations import *
    from phintys.tensor.polynomials import *
    from phintys.tensor.products import (
        BatchedDot,
        Dot,
        batched_dot,
        batched_tensordot,
        dot,
        inner,
        kron,
        matmul,
        outer,
        tensordot,
        vdot,
    )
    from phintys.tensor.ranges import (
        ARange,
        arange,
        linspace,
    )
    from phintys.tensor.reduce import (
        Reduce,
        all,
        allclose,
        amax,
        amin,
        any,
        max,
        min,
        prod,
        ptp,
        sum,
    )
    from phintys.tensor.reshaping import (
        Reshape,
        flatten,
        reshape,
    )
    from phintys.tensor.running_extremes import *
    from phintys.tensor.scalar_bridge import (
        MakeVector,
        ScalarFromTensor,
        TensorFromScalar,
        make_vector,
        scalar_from_tensor,
        tensor_from_scalar,
    )
    from phintys.tensor.searching import *
    from phintys.tensor.segments import *
    from phintys.tensor.sequences import *
    from phintys.tensor.sets import *
    from phintys.tensor.shapes import (
        Shape,
        ShapeI,
        SpecifyShape,
        shape,
        shape_i,
        shape_tuple,
        size,
        specify_broadcastable,
        specify_shape,
    )
    from phintys.tensor.sharding import with_sharding
    from phintys.tensor.size_check import (
        SizeCheck,
    )
    from phintys.tensor.softmaxes import (
        LogSoftmax,
        LogSumExp,
        Softmax,
        logsumexp,
    )
    from phintys.tensor.sorting import (
        ArgSortOp,
        SortOp,
        argsort,
        sort,
    )
    from phintys.tensor.standard import *
    from phintys.tensor.statistics.counting import *
    from phintys.tensor.statistics.covariances import *
    from phintys.tensor.statistics.histograms import *
    from phintys.tensor.statistics.moments import (
        average,
        mean,
        std,
        var,
    )
    from phintys.tensor.statistics.nans import *
    from phintys.tensor.statistics.quantiles import *
    from phintys.tensor.tiling import (
        RepeatIndex,
        repeat,
        roll,
        tile,
    )

__all__ = [
    "ARange",
    "AdvancedIncSubtensor",
    "AdvancedSubtensor",
    "Alloc",
    "AllocDiag",
    "AllocEmpty",
    "ArgExtremeAlong",
    "ArgSortOp",
    "Argmax",
    "Argmin",
    "Assert",
    "BatchedDot",
    "Blockwise",
    "Breakpoint",
    "CheckAndRaise",
    "CumOp",
    "DimShuffle",
    "Dot",
    "Elemwise",
    "ExtractDiag",
    "IncSubtensor",
    "Join",
    "LinearRecurrence",
    "LogSoftmax",
    "LogSumExp",
    "MakeVector",
    "Nonzero",
    "Print",
    "Reduce",
    "RepeatIndex",
    "Reshape",
    "ScalarFromTensor",
    "Shape",
    "ShapeI",
    "SizeCheck",
    "Softmax",
    "SortOp",
    "SpecifyShape",
    "Split",
    "Subtensor",
    "TensorConstant",
    "TensorFromScalar",
    "TensorSharedVariable",
    "TensorType",
    "TensorVariable",
    "all",
    "allclose",
    "alloc",
    "amax",
    "amin",
    "angle",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "array_split",
    "as_tensor_variable",
    "assert_op",
    "assume",
    "average",
    "batched_dot",
    "batched_tensordot",
    "broadcast_arrays",
    "broadcast_shape",
    "broadcast_shapes",
    "broadcast_sizes",
    "broadcast_to",
    "cast",
    "ceil_intdiv",
    "clip",
    "concatenate",
    "constant",
    "cross",
    "cumprod",
    "cumsum",
    "diag",
    "diagonal",
    "diff",
    "dimshuffle",
    "divmod",
    "dot",
    "einsum",
    "empty",
    "empty_like",
    "expand_dims",
    "eye",
    "fft",
    "flatnonzero",
    "flatten",
    "full",
    "full_like",
    "hstack",
    "identity",
    "identity_like",
    "inc_subtensor",
    "inner",
    "inplace",
    "isclose",
    "join",
    "kron",
    "linalg",
    "linspace",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "make_vector",
    "matmul",
    "matrix_transpose",
    "matvec",
    "max",
    "max_and_argmax",
    "mean",
    "min",
    "moveaxis",
    "nonzero",
    "nonzero_values",
    "ones",
    "ones_like",
    "outer",
    "prod",
    "ptp",
    "register_conversion",
    "relu",
    "repeat",
    "reshape",
    "roll",
    "round",
    "scalar_from_tensor",
    "set_subtensor",
    "shape",
    "shape_i",
    "shape_padaxis",
    "shape_padleft",
    "shape_padright",
    "shape_tuple",
    "shared",
    "signal",
    "size",
    "softmax",
    "sort",
    "special",
    "specify_broadcastable",
    "specify_shape",
    "split",
    "squeeze",
    "stack",
    "stacklists",
    "std",
    "sum",
    "swapaxes",
    "take",
    "tensor_from_scalar",
    "tensordot",
    "tile",
    "trace",
    "transpose",
    "tri",
    "tril",
    "triu",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    "vectorize",
    "vectorize_graph",
    "vstack",
    "where",
    "with_sharding",
    "zeros",
    "zeros_like",
]
__all__ += constructors.__all__
__all__ += functions.__all__

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, __all__)

# Where NumPy's functions find those that they stand for.
operators.namespace = sys.modules[__name__]
