"""The table of old names, second part: classes of Ops, and names for other versions of Python.

Each entry is for all packages that have the module; :mod:`~phintys.compat.names` has the rest.
"""

from __future__ import annotations

__all__ = ["LINEAR_ALGEBRA", "MODULES", "NAMES"]

_CLASSES = "phintys.compat.op_classes"
_UTILITIES = "phintys.compat.utilities"
_PYTHON = "phintys.compat.python_names"
_GPUS = "phintys.compat.gpus"


def _at(module: str, names: str) -> dict[str, str]:
    """Return entries for names that are unchanged in ``module``."""
    return {name: f"{module}:{name}" for name in names.split()}


_SCALARS = _at(
    "phintys.compat.old_classes",
    "AND Abs Add ArcCos ArcCosh ArcSin ArcSinh ArcTan ArcTan2 ArcTanh BetaInc BetaIncInv Ceil Clip "
    "Complex Conj Cos Cosh Deg2Rad EQ Erf Erfc Erfcinv Erfcx Erfinv Exp Exp2 Expm1 Floor GE GT "
    "Gamma GammaInc GammaIncC GammaIncCInv GammaIncInv GammaLn Hyp2F1 I0 I1 Identity Imag IntDiv "
    "Inv Invert IsInf IsNan Ive J0 J1 Jv Kve LE LT Log Log10 Log1mexp Log1p Log2 Maximum Minimum "
    "Mod Mul NEQ NdtriExp Neg OR Owens_t PolyGamma Pow Psi Rad2Deg Real Reciprocal "
    "RoundHalfAwayFromZero RoundHalfToEven ScalarMaximum ScalarMinimum Second Sgn Sigmoid Sign Sin "
    "Sinh Softplus Sqr Sqrt Sub Switch Tan Tanh TriGamma TrueDiv Trunc XOR",
) | {
    "scalar_maximum": "phintys.scalar:maximum",
    "scalar_minimum": "phintys.scalar:minimum",
    "square": "phintys.scalar:sqr",
}

_DRAWS = _at(
    "phintys.compat.draws",
    "BernoulliRV BetaBinomialRV BetaRV BinomialRV CategoricalRV CauchyRV ChiSquareRV DirichletRV "
    "ExponentialRV FRV GammaRV GenGammaRV GeometricRV GumbelRV HalfCauchyRV HalfNormalRV "
    "HyperGeometricRV IntegersRV InvGammaRV LaplaceRV LogNormalRV LogisticRV MultinomialRV "
    "MvNormalRV NegBinomialRV NormalRV ParetoRV PermutationRV PoissonRV PowerRV RandIntRV "
    "RayleighRV StandardNormalRV StudentTRV TriangularRV TruncExponentialRV UniformRV VonMisesRV "
    "WaldRV WeibullRV ZipfRV",
)

_CONVOLUTIONS = {"abstract_conv2d": "phintys.compat.images:conv2d"} | _at(
    _CLASSES,
    "AbstractConv AbstractConv2d AbstractConv2d_gradInputs AbstractConv2d_gradWeights "
    "AbstractConv3d AbstractConv3d_gradInputs AbstractConv3d_gradWeights AbstractConv_gradInputs "
    "AbstractConv_gradWeights",
)

_POOL = _at(_CLASSES, "Pool")

_SOFTMAXES = _at(_CLASSES, "LogSoftmax Softmax SoftmaxWithBias softmax_op") | {
    "logsoftmax_op": f"{_CLASSES}:log_softmax_op",
    "prepend_0_to_each_row": "phintys.compat.neural:prepend_0_to_each_row",
    "prepend_1_to_each_row": "phintys.compat.neural:prepend_1_to_each_row",
    "prepend_scalar_to_each_row": "phintys.compat.neural:prepend_scalar_to_each_row",
}

_PRODUCTS = _at("phintys.compat.neural", "sparse_block_dot") | {
    "ctc": "phintys.compat.neural:ctc",
    "images2neibs": "phintys.compat.patches:images2neibs",
}

_SCALAR_SIGMOIDS = _at("phintys.compat.old_classes", "ScalarSigmoid ScalarSoftplus") | {
    "scalar_sigmoid": "phintys.scalar:sigmoid",
    "scalar_softplus": "phintys.scalar:softplus",
}

_TENSORS = {
    **_at("phintys.compat.old_classes", "NoneConst make_slice none_type_t slicetype"),
    **_at(
        _CLASSES,
        "AdvancedIncSubtensor1 Bartlett BroadcastTo Choose CpuContiguous CumprodOp CumsumOp DiffOp "
        "Eye FillDiagonal FillDiagonalOffset MatMul MaxAndArgmax Mean PermuteRowElements "
        "RavelMultiIndex Repeat SearchsortedOp Tri UnravelIndex cpu_contiguous",
    ),
    **_at(
        _UTILITIES,
        "as_index_variable check_and_normalize_axes complex_types extract_constant float_types "
        "int_types ubscalar uiscalar ulscalar uwscalar values_eq_approx "
        "values_eq_approx_always_true values_eq_approx_remove_inf "
        "values_eq_approx_remove_inf_nan values_eq_approx_remove_nan",
    ),
    **_at(
        "phintys.compat.tensors",
        "advanced_inc_subtensor advanced_inc_subtensor1 advanced_set_subtensor "
        "advanced_set_subtensor1 advanced_subtensor",
    ),
    **{
        f"advanced_boolean_{what}subtensor": f"phintys.compat.tensors:advanced_{what}subtensor"
        for what in ("", "inc_", "set_")
    },
    **{
        f"{name}_": f"phintys.tensor:{name}"
        for name in ("bartlett", "fill_diagonal", "fill_diagonal_offset", "join")
    },
    "alloc_diag": "phintys.tensor:diag",
    "dense_dot": "phintys.tensor:dot",
    "extract_diag": "phintys.tensor:diagonal",
    "variadic_add": "phintys.tensor:add",
    "variadic_mul": "phintys.tensor:mul",
    "RepeatOp": f"{_CLASSES}:Repeat",
    "ShapeError": "phintys._base.errors:ShapeError",
    "SharedVariable": "phintys.graph:SharedVariable",
    "Tensor": "phintys.compat.adapters:TensorType",
    "TensorLike": "typing:Any",
    "log1pexp": "phintys.compat.elementwise:softplus",
    "square": "phintys.tensor:sqr",
    "ScalarSharedVariable": "phintys.tensor:TensorSharedVariable",
}

_MATRICES = _at(_CLASSES, "CholeskySolve LU Lstsq SLogDet Schur TensorInv TensorSolve")

_DATABASES = _at(
    "phintys.compat.databases",
    "EquilibriumDB LocalGroupDB ProxyDB RewriteDatabase RewriteDatabaseQuery SequenceDB TopoDB",
) | {
    "DB": "phintys.compat.databases:RewriteDatabase",
    "OptimizationDatabase": "phintys.compat.databases:RewriteDatabase",
    "OptimizationQuery": "phintys.compat.databases:RewriteDatabaseQuery",
    "Query": "phintys.compat.databases:RewriteDatabaseQuery",
}

_WALKERS = _at("phintys.compat.rewriters", "dfs_rewriter walking_rewriter")

_PASSES = {
    **_at("phintys.compat.rewriters", "in2out out2in"),
    **_at(
        "phintys.compat.registered",
        "register_canonicalize register_infer_shape register_specialize "
        "register_specialize_device register_stabilize register_uncanonicalize register_useless",
    ),
    **_at("phintys.compat.rewriters", "copy_stack_trace"),
    **_at("phintys.rewriting", "graph_rewriter"),
    **_at("phintys.compat.rewriters", "node_rewriter"),
}

_LISTS = _at(
    _UTILITIES,
    "MetaObject MetaType Scratchpad ValidatingScratchpad add_tag_trace flatten remove "
    "simple_extract_stack uniq",
) | {"toposort": "phintys.graph:toposort"}

_NODES = _at(_UTILITIES, "Node is_in_ancestors op_as_string variables_and_orphans") | {
    "io_connection_pattern": "phintys.graph.contract:connection_pattern",
    "view_roots": "phintys.graph.alias_map:view_roots",
}

_NANS = _at(_UTILITIES, "contains_inf contains_nan flatten")

_IO = {"SymbolicInput": "phintys.compile:In", "SymbolicOutput": "phintys.compile:Out"}

_MODES = _at(
    "phintys.compat.modes",
    "JAX MLX NUMBA PYTORCH CVM VM OPT_FAST_COMPILE OPT_FAST_RUN OPT_FAST_RUN_STABLE OPT_MERGE "
    "OPT_MINIMUM OPT_NONE OPT_O2 OPT_O3 OPT_STABILIZE OPT_UNSAFE C predefined_optimizers "
    "register_optimizer",
)

_TOP = {
    **_at(_UTILITIES, "sparse_grad"),
    "get_scalar_constant_value": "phintys.compat.tensors:get_scalar_constant_value",
}

NAMES: dict[str, dict[str, str]] = {
    "": _TOP,
    "compile": _IO,
    "compile.debugmode": {"debugprint": "phintys.compat.debugging:debugprint"},
    "compile.io": _IO,
    "compile.mode": _MODES | _DATABASES,
    "compile.nanguardmode": _NANS,
    "compile.debug.nanguardmode": _NANS,
    "gof": _NODES | _LISTS | _DATABASES,
    "gof.graph": _NODES,
    "gof.utils": _LISTS,
    "gof.optdb": _DATABASES,
    "graph": _NODES
    | {
        "RewriteDatabaseQuery": _DATABASES["RewriteDatabaseQuery"],
        "graph_rewriter": "phintys.rewriting:graph_rewriter",
        "node_rewriter": "phintys.compat.rewriters:node_rewriter",
    },
    "graph.basic": _NODES,
    "graph.op": {
        "compute_test_value": "phintys.compat.test_values:compute_test_value",
        "io_connection_pattern": "phintys.graph.contract:connection_pattern",
    },
    "gof.op": {"compute_test_value": "phintys.compat.test_values:compute_test_value"},
    "graph.rewriting.db": _DATABASES,
    "graph.opt": _DATABASES,
    "graph.optdb": _DATABASES,
    "graph.rewriting.basic": _WALKERS,
    "graph.utils": _LISTS | {"TestValueError": "phintys.compat.test_values:TestValueError"},
    "misc.pkl_utils": {"StripPickler": "pickle:Pickler", "CompatUnpickler": "pickle:Unpickler"},
    "sandbox.rng_mrg": {
        "MRG_RandomStream": "phintys.compat.random_streams:MRG_RandomStreams",
        "MRG_RandomStreams": "phintys.compat.random_streams:MRG_RandomStreams",
    },
    "scalar": _SCALARS,
    "scalar.basic": _SCALARS,
    "scalar.basic_scipy": _SCALARS,
    "scalar.math": _SCALARS,
    "tensor": _TENSORS,
    "tensor.basic": _TENSORS,
    "tensor.elemwise": _TENSORS,
    "tensor.exceptions": _TENSORS,
    "tensor.extra_ops": _TENSORS,
    "tensor.fft": _at(_CLASSES, "IRFFTOp RFFTOp")
    | {"irfft_op": f"{_CLASSES}:inverse_transform", "rfft_op": f"{_CLASSES}:transform"},
    "tensor.linalg": _MATRICES,
    "tensor.math": _TENSORS,
    "tensor.nlinalg": _MATRICES,
    "tensor.nnet": {**_PRODUCTS, **_SOFTMAXES, **_CONVOLUTIONS, **_SCALAR_SIGMOIDS},
    "tensor.nnet.abstract_conv": _CONVOLUTIONS,
    "tensor.nnet.basic": {**_SOFTMAXES, **_SCALAR_SIGMOIDS},
    "tensor.nnet.nnet": {**_SOFTMAXES, **_SCALAR_SIGMOIDS},
    "tensor.nnet.sigm": _SCALAR_SIGMOIDS,
    "tensor.opt": {
        **_PASSES,
        "ShapeFeature": "phintys.compat.shape_feature:ShapeFeature",
        "get_scalar_constant_value": _TOP["get_scalar_constant_value"],
    },
    "tensor.random": _DRAWS,
    "tensor.random.basic": _DRAWS,
    "tensor.shape": _TENSORS,
    "tensor.shared_randomstreams": {
        "RandomStateSharedVariable": "phintys.random:GeneratorVariable"
    },
    "tensor.sharedvar": _TENSORS,
    "tensor.signal.downsample": _POOL | {"DownsampleFactorMax": f"{_CLASSES}:Pool"},
    "tensor.signal.pool": _POOL,
    "tensor.slinalg": _MATRICES,
    "tensor.special": _SOFTMAXES,
    "tensor.subtensor": _TENSORS,
    "tensor.type": _TENSORS,
    "tensor.utils": _at(_UTILITIES, "hash_from_ndarray shape_of_variables"),
    "utils": _at(
        _UTILITIES,
        "Singleton apply_across_args call_subprocess_Popen difference flatten from_return_values "
        "get_unbound_function hash_from_code output_subprocess_Popen subprocess_Popen "
        "to_return_values uniq",
    ),
}
"""Names that modules of the first part have besides."""

_GPU = _at(
    _GPUS,
    "CudaNdarray CudaNdarrayConstant CudaNdarraySharedVariable CudaNdarrayType CudaNdarrayVariable "
    "GpuArrayConstant GpuArraySharedVariable GpuArrayType GpuArrayVariable GpuContiguous GpuConv "
    "GpuCorrMM GpuDnnConv GpuDnnConvDesc GpuDnnConvGradI GpuDnnConvGradW GpuDnnPool GpuDnnSoftmax "
    "GpuElemwise GpuFromHost GpuOp GpuSoftmax HostFromGpu as_cuda_array as_cuda_ndarray_variable "
    "as_gpuarray_variable cuda_available cuda_enabled dnn_available dnn_batch_normalization_test "
    "dnn_batch_normalization_train dnn_conv dnn_conv3d dnn_gradinput dnn_gradweight dnn_pool "
    "dnn_present float32_shared_constructor get_context gpu_alloc gpu_alloc_empty gpu_contiguous "
    "gpu_from_host gpuarray_shared_constructor host_from_gpu pygpu_activated reg_context "
    "shared_constructor unuse use",
)

_MOVES = _at(
    _PYTHON,
    "StringIO builtins cPickle cStringIO configparser copyreg filter filterfalse getcwd input "
    "intern map pickle queue range reduce urllib xrange zip zip_longest",
)

_COMPAT = _at(
    _PYTHON,
    "BytesIO Counter DefaultOrderedDict Iterable OrderedDict PY2 PY3 StringIO add_metaclass b "
    "binary_type callable class_types cmp decode decode_iter decode_with defaultdict deque "
    "exc_message get_unbound_function ifilter imap integer_types iteritems iterkeys itervalues "
    "izip next operator_div partial product python_all python_any reraise string_types text_type "
    "types u with_metaclass",
)

_PASSES_ONLY = {
    **_PASSES,
    "MakeVector": "phintys.tensor:MakeVector",
}

_SHAPES = _at("phintys.compat.shape_feature", "ShapeFeature")

_GPU_MODULES = [
    "gpuarray",
    "gpuarray.basic_ops",
    "gpuarray.blas",
    "gpuarray.dnn",
    "gpuarray.elemwise",
    "gpuarray.nnet",
    "gpuarray.type",
    "sandbox.gpuarray",
    "sandbox.gpuarray.basic_ops",
    "sandbox.gpuarray.dnn",
    "sandbox.gpuarray.type",
    "sandbox.cuda",
    "sandbox.cuda.basic_ops",
    "sandbox.cuda.blas",
    "sandbox.cuda.dnn",
    "sandbox.cuda.nnet",
    "sandbox.cuda.type",
    "sandbox.cuda.var",
]

_OF_REWRITES = [
    *("assumptions", "basic", "blas", "blas_c", "blockwise", "einsum", "elemwise", "extra_ops"),
    *("fused_elemwise", "jax", "linalg", "linalg.decomposition", "linalg.inverse"),
    *("linalg.products", "linalg.solvers", "linalg.summary", "linalg.utils", "math", "numba"),
    *("ofg", "optimize", "reshape", "shape", "special", "subtensor", "subtensor_lift"),
    "uncanonicalize",
]

_REWRITING = ["tensor.rewriting", *(f"tensor.rewriting.{module}" for module in _OF_REWRITES)]

_LINALG = [
    "constructors",
    "decomposition",
    "decomposition.cholesky",
    "decomposition.eigen",
    "decomposition.lu",
    "decomposition.qr",
    "decomposition.schur",
    "decomposition.svd",
    "inverse",
    "products",
    "solvers",
    "solvers.core",
    "solvers.general",
    "solvers.linear_control",
    "solvers.lstsq",
    "solvers.psd",
    "solvers.triangular",
    "solvers.tridiagonal",
    "summary",
]

_OTHER_TYPES = {
    **_at("phintys.compat.old_classes", "NoneConst NoneTypeT SliceConstant SliceType none_type_t"),
    **_at("phintys.compat.old_classes", "as_symbolic_None make_slice slicetype"),
}

_PATCHES = "phintys.compat.patches"

_OF_IMAGES: dict[str, list[dict[str, str]]] = {
    "tensor.nnet.Conv3D": [_at(_PATCHES, "conv3D")],
    "tensor.nnet.blocksparse": [_at("phintys.compat.neural", "sparse_block_dot")],
    "tensor.nnet.conv3d2d": [{"conv3d": f"{_PATCHES}:volumes"}],
    "tensor.nnet.ctc": [_at("phintys.compat.neural", "ctc ctc_available")],
    "tensor.nnet.neighbours": [_at(_PATCHES, "images2neibs neibs2images")],
}
"""Modules of Theano and Aesara."""

_TYPED_LISTS = _at(
    "phintys.compat.typed_list",
    "Append Count Extend GetItem Index Insert Length MakeList Remove Reverse TypedListType "
    "TypedListVariable append count extend getitem index_ insert length make_list remove reverse",
)

_OF_LISTS: dict[str, list[dict[str, str]]] = {
    "typed_list": [_TYPED_LISTS],
    "typed_list.basic": [_TYPED_LISTS],
    "typed_list.type": [_TYPED_LISTS],
}
"""Modules of all three packages."""

MODULES: dict[str, dict[str, list[dict[str, str]]]] = {
    "theano": {
        **{module: [_GPU] for module in _GPU_MODULES},
        **_OF_IMAGES,
        **_OF_LISTS,
        "sandbox.neighbours": _OF_IMAGES["tensor.nnet.neighbours"],
        "gof.optdb": [],
        "graph.optdb": [],
        "assert_op": [{"Assert": "phintys.tensor.observing:Assert"}],
        "compat": [_COMPAT, {"six": "theano.compat.six"}],
        "compat.six": [_COMPAT, {"moves": "theano.compat.six.moves"}],
        "compat.six.moves": [_MOVES],
        "sandbox.softsign": [{"softsign": "phintys.compat.neural:softsign"}],
        "tensor.exceptions": [_TENSORS],
        "tensor.type_other": [_OTHER_TYPES],
        "tensor.utils": [],
    },
    "aesara": {
        "graph.opt": [_PASSES],
        "graph.optdb": [],
        **_OF_IMAGES,
        **_OF_LISTS,
        "tensor.sharedvar": [],
        "tensor.type_other": [_OTHER_TYPES],
        "tensor.utils": [],
        **{module: [_PASSES_ONLY] for module in _REWRITING},
        "tensor.rewriting.shape": [_PASSES_ONLY, _SHAPES],
    },
    "pytensor": {
        **_OF_LISTS,
        "tensor.interpolate": [{"interp": "phintys.tensor:interp"}],
        "tensor.type_other": [_OTHER_TYPES],
        "tensor.utils": [],
        **{module: [_PASSES_ONLY] for module in _REWRITING},
        "tensor.rewriting.shape": [_PASSES_ONLY, _SHAPES],
    },
}
"""Modules that are only in this part, of each package."""

LINEAR_ALGEBRA = tuple(f"tensor.linalg.{module}" for module in _LINALG)
"""Modules of PyTensor, each with all names of ``tensor.linalg``."""
