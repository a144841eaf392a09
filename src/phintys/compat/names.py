"""The table of old names: the modules of the old packages, and what each name is in Phintys.

The entry of a module is a list of sources. A source is either a module of Phintys, all of whose
public names the old module has, or a dict from an old name to its new location:
``"module:attribute"``, or just ``"module"``. Earlier sources take precedence.
"""

from __future__ import annotations

from phintys.compat.class_names import LINEAR_ALGEBRA, MODULES, NAMES
from phintys.compat.elementwise import FLOATING
from phintys.compat.exceptions import NAMES as EXCEPTIONS
from phintys.compat.scalars import SCALARS

__all__ = ["CALLED", "MISSING", "MISSING_NAMES", "PACKAGES", "Source"]

Source = str | dict[str, str]

_OLD = "phintys.compat.adapters"
_ELEMENTWISE = "phintys.compat.elementwise"
_SCALARS = "phintys.compat.scalars"
_DEBUGGING = "phintys.compat.debugging"
_TENSORS = "phintys.compat.tensors"
_CONFIG = "phintys.compat.configuration"
_CALLS = "phintys.compat.functions"
_PLURALS = "phintys.compat.several_variables"
_MODES = "phintys.compat.modes"
_REWRITERS = "phintys.compat.rewriters"
_LOOPS = "phintys.compat.control"
_AS_OP = "phintys.compat.from_graph"
_MATRICES = "phintys.compat.linear_algebra"
_STREAMS = "phintys.compat.random_streams"
_REDUCTIONS = "phintys.compat.op_families"
_IMAGES = "phintys.compat.images"
_HELPERS = "phintys.compat.utilities"
_ORDERS = "phintys.compat.argument_orders"
_NEURAL = "phintys.compat.neural"
_NORMALIZATION = "phintys.compat.normalization"


def _here(module: str, names: str) -> dict[str, str]:
    """Return entries for names that are unchanged in ``module``."""
    return {name: f"{module}:{name}" for name in names.split()}


_BATCHES: dict[str, str] = {
    **_here("phintys.compat.control", "Blockwise _vectorize_node vectorize_graph"),
    "graph_replace": "phintys.graph:graph_replace",
}

_ANYTHING: dict[str, str] = {
    "Generic": "phintys.graph.type:Generic",
    "generic": "phintys.graph:generic",
}
"""The type of all objects."""

_GRAPH: dict[str, str] = {
    "as_string": "phintys.compat.texts:as_string",
    **_here("phintys.graph", "Apply Constant FunctionGraph Op SharedVariable Type Variable"),
    **_ANYTHING,
    "HasInnerGraph": f"{_OLD}:HasInnerGraph",
    "PureType": "phintys.graph:Type",
    "PureOp": "phintys.graph:Op",
}

_ERRORS: dict[str, str] = {
    "CycleError": "phintys._base.errors:CycleError",
    "DisconnectedInputError": "phintys._base.errors:DisconnectedInputError",
    "InconsistencyError": "phintys._base.errors:InconsistencyError",
    "MethodNotDefined": "phintys._base.errors:MethodNotDefinedError",
    "MissingInputError": "phintys._base.errors:MissingInputError",
    "NullTypeGradError": "phintys._base.errors:NullGradientError",
    "UnusedInputError": "phintys._base.errors:UnusedInputError",
}

_RANDOM: list[Source] = [
    _here(
        "phintys.compat.draws",
        "bernoulli beta betabinom binomial categorical cauchy chisquare dirichlet exponential f "
        "gamma gengamma geometric gumbel halfcauchy halfnormal hypergeometric integers invgamma "
        "laplace logistic lognormal multinomial multivariate_normal nbinom normal pareto "
        "permutation poisson power randint rayleigh standard_normal t triangular truncexpon "
        "uniform vonmises wald weibull zipf",
    ),
    _here(_STREAMS, "RandomStream RandomVariable custom_rng_deepcopy"),
    "phintys.random",
]

_DRAW_SHAPES = _here(
    "phintys.compat.draws",
    "broadcast_params compute_batch_shape explicit_expand_dims normalize_size_param "
    "params_broadcast_shapes supp_shape_from_ref_param_shape",
)

_DECOMPOSITIONS: dict[str, str] = {
    **_here(
        _MATRICES,
        "cho_solve cholesky eig eigh lu lu_factor lu_solve qr solve "
        "solve_lower_triangular solve_triangular solve_upper_triangular svd",
    ),
    **_here(
        "phintys.compat.op_families",
        "Cholesky Det Eig Eigh Eigvalsh Expm Kron MatrixInverse MatrixPinv QRFull QRIncomplete "
        "SVD Solve SolveTriangular lstsq",
    ),
    **_here(_TENSORS, "AllocDiag ExtractDiag"),
    "pinv": f"{_ORDERS}:pinv",
    **_here(
        "phintys.tensor.linalg",
        "block_diag det eigvals eigvalsh expm inv kron matrix_power norm ordqz "
        "pivot_to_permutation qz schur slogdet solve_continuous_lyapunov solve_discrete_are "
        "solve_discrete_lyapunov solve_sylvester sqrtm tensorinv tensorsolve trace "
        "tridiagonal_lu_factor tridiagonal_lu_solve",
    ),
    "alloc_diag": "phintys.tensor:diag",
    "diag": "phintys.tensor:diag",
    "extract_diag": "phintys.tensor:diagonal",
    "matrix_dot": f"{_OLD}:matrix_dot",
    "matrix_inverse": "phintys.tensor.linalg:inv",
}

_FAULTS: dict[str, str] = {
    **_here(
        "phintys._base.errors",
        "BadDestroyMap BadPreallocatedOutput BadThunkOutput BadViewMap DebugModeError "
        "InvalidValueError StochasticOrder",
    ),
    "BadOptimization": "phintys._base.errors:BadRewrite",
}

_OBSERVING: dict[str, str] = _here("phintys.tensor.observing", "Assert CheckAndRaise assert_op")

_NAN_GUARD: list[Source] = [
    _here(_MODES, "NanGuardMode"),
    _here("phintys._base.errors", "NanGuardError"),
]

_OPTDB: dict[str, str] = _here("phintys.compat.registered", "optdb")

_BREAKPOINT: dict[str, str] = {"PdbBreakpoint": "phintys.tensor.observing:Breakpoint"}

_GRADIENT: list[Source] = [
    _ERRORS,
    {"R_op": f"{_CALLS}:Rop"},
    _here(_OLD, "consider_constant_ disconnected_grad_ zero_grad_"),
    _here(_CALLS, "Lop Rop grad hessian jacobian subgraph_grad verify_grad"),
    _here(_CALLS, "pullback pushforward"),
    "phintys.gradient",
]

_FOLDS: dict[str, str] = _here(f"{_LOOPS}", "foldl foldr map reduce")

_UNTIL: dict[str, str] = {"until": "phintys.control:until"}

_SCAN: dict[str, str] = {"scan": f"{_LOOPS}:scan"}

_CHECKPOINTS: dict[str, str] = {"scan_checkpoints": f"{_LOOPS}:scan_checkpoints"}

_SCAN_OP: dict[str, str] = {"Scan": "phintys.control:Scan"}

_FROM_GRAPH: dict[str, str] = {"OpFromGraph": "phintys.compat.from_graph:OpFromGraph"}

_CHOICES: dict[str, str] = {
    "IfElse": "phintys.control:IfElse",
    "ifelse": "phintys.compat.control:ifelse",
}

_WRAP: dict[str, str] = {"wrap_py": "phintys.graph.from_function:wrap_py"}

_COMPILE: list[Source] = [
    {
        **_FROM_GRAPH,
        **_OPTDB,
        **_here(_CALLS, "Param function pfunc"),
        **_here(_CALLS, "rebuild_collect_shared"),
        **_here(_DEBUGGING, "ProfileStats function_dump"),
        **_here(_MODES, "DebugMode MonitorMode NanGuardMode"),
        **_here(_MODES, "FAST_COMPILE FAST_RUN Mode get_default_mode get_mode predefined_modes"),
        **_here(_AS_OP, "FromFunctionOp as_op"),
        **_WRAP,
        **_here("phintys.tensor", "Shape shape shape_i specify_shape"),
        "SpecifyShape": "phintys.compat.op_classes:SpecifyShape",
        "DeepCopyOp": "phintys.compile.ownership:DeepCopy",
        **_here("phintys.compat.from_graph", "ViewOp view_op"),
        "Rebroadcast": f"{_OLD}:Rebroadcast",
        "Shape_i": "phintys.tensor:ShapeI",
        "deep_copy_op": "phintys.compile.ownership:deep_copy",
        "generic": "phintys.graph:generic",
        "shared_constructor": "phintys.graph.sharing:shared_constructor",
        "UnusedInputError": "phintys._base.errors:UnusedInputError",
    },
    "phintys.compile",
]

_PROFILING: list[Source] = [
    {
        "ProfileStats": f"{_DEBUGGING}:ProfileStats",
        "print_global_stats": "phintys.compile:print_profiles",
    }
]

_TEST_VALUES: dict[str, str] = _here(
    "phintys.compat.test_values", "TestValueError get_debug_values get_test_value"
)

_REWRITING: list[Source] = [
    _REWRITERS,
    {
        "node_rewriter": f"{_REWRITERS}:node_rewriter",
        "graph_rewriter": "phintys.rewriting:graph_rewriter",
    },
    "phintys.rewriting",
]

_NEWER_REWRITING: list[Source] = [
    {
        "EquilibriumGraphRewriter": f"{_REWRITERS}:EquilibriumOptimizer",
        "GraphRewriter": f"{_REWRITERS}:Optimizer",
        "NodeProcessingGraphRewriter": f"{_REWRITERS}:NavigatorOptimizer",
        "NodeRewriter": f"{_REWRITERS}:LocalOptimizer",
        "OpKeyGraphRewriter": f"{_REWRITERS}:OpKeyOptimizer",
        "PatternNodeRewriter": f"{_REWRITERS}:PatternSub",
        "RemovalNodeRewriter": f"{_REWRITERS}:OpRemove",
        "SequentialGraphRewriter": f"{_REWRITERS}:SeqOptimizer",
        "SequentialNodeRewriter": f"{_REWRITERS}:LocalOptGroup",
        "SubstitutionNodeRewriter": f"{_REWRITERS}:OpSub",
        "WalkingGraphRewriter": f"{_REWRITERS}:TopoOptimizer",
    },
    *_REWRITING,
]

_PRINTING: list[Source] = [
    {
        "Print": "phintys.tensor.observing:Print",
        "debugprint": f"{_DEBUGGING}:debugprint",
        "pp": "phintys.compat.printed:pprint",
        "pprint": "phintys.compat.printed:pprint",
        "pydotprint": "phintys.compat.debugging:pydotprint",
        "get_node_by_id": f"{_DEBUGGING}:get_node_by_id",
        "PPrinter": "phintys.compat.printed:OldPrettyPrinter",
        **_here(
            "phintys.compat.printers",
            "ConstantPrinter DefaultPrinter FunctionPrinter IgnorePrinter LeafPrinter "
            "OperatorPrinter PatternPrinter Printer PrinterState VALID_ASSOC char_from_number "
            "constant_printer default_printer greek hex_digest leaf_printer "
            "min_informative_str position_independent_str set_precedence special use_ascii "
            "var_descriptor",
        ),
    }
]

_PICTURES: list[Source] = [{"d3viz": "phintys.compat.debugging:d3viz"}]

_FLOATING: dict[str, str] = {
    **{name: f"{_ELEMENTWISE}:{name}" for name in FLOATING},
    "expit": f"{_ELEMENTWISE}:sigmoid",
    "inv": f"{_ELEMENTWISE}:reciprocal",
    "tri_gamma": f"{_ELEMENTWISE}:trigamma",
}
"""Elementwise functions whose result dtype for integers differs from NumPy's."""

_SCALAR: list[Source] = [
    {
        "Cast": "phintys.compat.op_classes:Cast",
        "Scalar": "phintys.scalar:ScalarType",
        "as_scalar": "phintys.scalar:as_scalar",
        "abs_": "phintys.scalar:abs",
        "bool": "phintys.scalar:bool_",
        **dict.fromkeys(("floor_div", "floor_divide"), "phintys.scalar:int_div"),
        **{name: f"{_SCALARS}:{name}" for name in SCALARS},
        "inv": f"{_SCALARS}:reciprocal",
        "neq": "phintys.scalar:ne",
        "psi": f"{_SCALARS}:digamma",
        "round_half_away_from_zero": f"{_SCALARS}:round_half_away",
        "round_half_to_even": f"{_SCALARS}:rint",
        **_here(_OLD, "complex_dtypes continuous_dtypes discrete_dtypes float_dtypes"),
        **_here(_OLD, "all_dtypes int_dtypes integer_dtypes uint_dtypes"),
        "sgn": "phintys.scalar:sign",
        "tri_gamma": f"{_SCALARS}:trigamma",
        "true_divide": "phintys.scalar:true_div",
        **_GRAPH,
    },
    "phintys.scalar",
]

_TENSOR: list[Source] = [
    {
        **_FLOATING,
        **_here(_OLD, "dot flatten horizontal_stack stack std var vertical_stack"),
        "TensorType": f"{_OLD}:TensorType",
        "tensor": f"{_OLD}:tensor",
        "CAReduce": "phintys.tensor:Reduce",
        "SpecifyShape": "phintys.compat.op_classes:SpecifyShape",
        "DimShuffle": f"{_OLD}:DimShuffle",
        "Join": f"{_OLD}:Join",
        "Split": f"{_OLD}:Split",
        "Rebroadcast": f"{_OLD}:Rebroadcast",
        "abs_": "phintys.tensor:abs",
        "addbroadcast": f"{_OLD}:addbroadcast",
        "NotScalarConstantError": "phintys._base.errors:OpContractError",
        **_here(_REDUCTIONS, "All CAReduceDtype Max Min Prod ProdWithoutZeros Sum"),
        "Any": f"{_REDUCTIONS}:Any_",
        **_here(_OLD, "col matrix row scalar vector tensor3 tensor4 tensor5 tensor6 tensor7"),
        **_here(_OLD, "all_dtypes complex_dtypes continuous_dtypes discrete_dtypes"),
        **_here(_OLD, "float_dtypes int_dtypes integer_dtypes uint_dtypes"),
        **_here(_HELPERS, "largest smallest"),
        **_here(_OLD, "matrix_dot"),
        "as_tensor": f"{_TENSORS}:as_tensor_variable",
        "bool_": "phintys.scalar:bool_",
        "copy": "phintys.tensor:tensor_copy",
        "fill": "phintys.tensor:second",
        **_here(_TENSORS, "AllocDiag ExtractDiag as_tensor_variable broadcast_shape"),
        **_here(
            _TENSORS,
            "constant get_scalar_constant_value get_vector_length logaddexp prod take to_one_hot",
        ),
        **_here(_TENSORS, "AdvancedSubtensor1 advanced_subtensor1"),
        **_here(
            "phintys.compat.op_families",
            "AdvancedIncSubtensor AdvancedSubtensor IncSubtensor Subtensor",
        ),
        **_here(_TENSORS, "Unique ravel_multi_index unravel_index"),
        "iround": f"{_OLD}:iround",
        "join": "phintys.tensor:join",
        "norm": "phintys.tensor.linalg:norm",
        **_here(_ORDERS, "clip concatenate geomspace linspace logspace matvec nan_to_num reshape"),
        **_here(_ORDERS, "round vecdot vecmat"),
        "patternbroadcast": f"{_OLD}:patternbroadcast",
        "round_half_away_from_zero": f"{_ELEMENTWISE}:round_half_away",
        "round_half_to_even": f"{_ELEMENTWISE}:rint",
        "sgn": "phintys.tensor:sign",
        "shared": "phintys.graph.sharing:shared",
        **_here("phintys.graph.transfer", "register_transfer transfer"),
        "unbroadcast": f"{_OLD}:unbroadcast",
        **_here("phintys.graph", "Apply Constant Op Variable"),
        **_here(_CALLS, "Lop Rop grad hessian jacobian verify_grad"),
        **_here("phintys.gradient", "numeric_grad"),
    },
    _PLURALS,
    "phintys.tensor",
]

_ROWS = {
    "logsoftmax": f"{_NEURAL}:log_softmax_of_rows",
    "softmax": f"{_NEURAL}:softmax_of_rows",
    "softmax_graph": f"{_NEURAL}:softmax_of_rows",
}
"""Theano's functions, where a vector is a row. Aesara's take the last axis, PyTensor's all axes."""

_BATCHNORM: list[Source] = [
    _here(
        _NORMALIZATION,
        "batch_normalization batch_normalization_test batch_normalization_train",
    ),
]

_ABSTRACT_CONVOLUTIONS: dict[str, str] = _here(
    _IMAGES,
    "bilinear_kernel_1D bilinear_kernel_2D bilinear_upsampling causal_conv1d conv2d "
    "frac_bilinear_upsampling "
    "conv2d_grad_wrt_inputs conv2d_grad_wrt_weights conv2d_transpose conv3d conv3d_grad_wrt_inputs "
    "conv3d_grad_wrt_weights get_conv_output_shape get_conv_shape_1axis separable_conv2d "
    "separable_conv3d",
)

_POOLS: dict[str, str] = _here(_IMAGES, "max_pool_2d_same_size pool_2d pool_3d")

_CONVOLUTIONS: dict[str, list[Source]] = {
    "tensor.nnet.abstract_conv": [_ABSTRACT_CONVOLUTIONS],
    "tensor.nnet.conv": [{"conv2d": f"{_IMAGES}:old_conv2d"}],
    "tensor.signal": [],
    "tensor.signal.conv": [{"conv2d": f"{_IMAGES}:conv2d_of_images"}],
    "tensor.signal.downsample": [_here(_IMAGES, "max_pool_2d max_pool_3d"), _POOLS],
    "tensor.signal.pool": [_here(_IMAGES, "max_pool_2d max_pool_3d"), _POOLS],
}
"""The modules of Theano and Aesara; PyTensor has other functions in ``tensor.signal``."""

_NNET: list[Source] = [
    {
        name: place
        for name, place in _ABSTRACT_CONVOLUTIONS.items()
        if not name.startswith(("bilinear_k", "get_"))
    },
    _here(
        _NEURAL,
        "binary_crossentropy categorical_crossentropy confusion_matrix "
        "crossentropy_categorical_1hot crossentropy_softmax_1hot "
        "crossentropy_softmax_1hot_with_bias crossentropy_softmax_argmax_1hot_with_bias "
        "crossentropy_softmax_max_and_argmax_1hot "
        "crossentropy_softmax_max_and_argmax_1hot_with_bias elu h_softmax hard_sigmoid relu selu "
        "sigmoid_binary_crossentropy softmax_with_bias softsign",
    ),
    *_BATCHNORM,
    {
        "logsoftmax": "phintys.tensor:log_softmax",
        "sigmoid": f"{_ELEMENTWISE}:sigmoid",
        "softmax": "phintys.tensor:softmax",
        "softplus": f"{_ELEMENTWISE}:softplus",
        "ultra_fast_sigmoid": f"{_NEURAL}:ultra_fast_sigmoid",
    },
]

_BLAS: list[Source] = [
    {
        **_here("phintys.tensor", "BatchedDot batched_dot"),
        **dict.fromkeys(("Gemm", "Gemv", "Dot22Scalar"), "phintys.tensor.blas:Gemm"),
        **dict.fromkeys(("gemm", "gemm_inplace", "gemm_no_inplace"), f"{_MATRICES}:gemm"),
        **dict.fromkeys(("gemv", "gemv_inplace", "gemv_no_inplace"), f"{_MATRICES}:gemv"),
        **dict.fromkeys(("ger", "ger_destructive"), f"{_MATRICES}:ger"),
        "Dot22": "phintys.tensor:Dot",
        "_dot22": "phintys.tensor:dot",
        "_dot22scalar": f"{_MATRICES}:dot22scalar",
    }
]

_SHARED_BY_BOTH: dict[str, list[Source]] = {
    "compile": _COMPILE,
    "breakpoint": [_BREAKPOINT],
    "compile.builders": [_FROM_GRAPH],
    "compile.debugmode": [{"DebugMode": f"{_MODES}:DebugMode", **_FAULTS}],
    "compile.function": _COMPILE,
    "compile.function_module": _COMPILE,
    "compile.io": _COMPILE,
    "compile.mode": _COMPILE,
    "compile.monitormode": [_here(_MODES, "MonitorMode detect_nan")],
    "compile.nanguardmode": _NAN_GUARD,
    "compile.ops": _COMPILE,
    "compile.pfunc": _COMPILE,
    "compile.profiling": _PROFILING,
    "compile.sharedvalue": _COMPILE,
    "configparser": [_here(_CONFIG, "change_flags config")],
    "d3viz": _PICTURES,
    "d3viz.d3viz": _PICTURES,
    "gradient": _GRADIENT,
    "ifelse": [_CHOICES],
    "printing": _PRINTING,
    "raise_op": [_OBSERVING],
    "scalar": _SCALAR,
    "scalar.basic": _SCALAR,
    "scalar.basic_scipy": _SCALAR,
    "tensor": _TENSOR,
    "tensor.basic": _TENSOR,
    "tensor.blas": _BLAS,
    "tensor.elemwise": _TENSOR,
    "tensor.extra_ops": _TENSOR,
    "tensor.fft": [_here(_MATRICES, "irfft rfft")],
    "tensor.inplace": [
        {
            "abs__inplace": "phintys.tensor.inplace:abs_inplace",
            "floor_divide_inplace": "phintys.tensor.inplace:int_div_inplace",
            "inv_inplace": "phintys.tensor.inplace:reciprocal_inplace",
            "psi_inplace": "phintys.tensor.inplace:digamma_inplace",
            "round_half_away_from_zero_inplace": "phintys.tensor.inplace:round_half_away_inplace",
            "round_half_to_even_inplace": "phintys.tensor.inplace:rint_inplace",
            "sgn_inplace": "phintys.tensor.inplace:sign_inplace",
            "tri_gamma_inplace": "phintys.tensor.inplace:trigamma_inplace",
            "true_divide_inplace": "phintys.tensor.inplace:true_div_inplace",
        },
        "phintys.tensor.inplace",
    ],
    "tensor.linalg": [_DECOMPOSITIONS, "phintys.tensor.linalg"],
    "tensor.nlinalg": [_DECOMPOSITIONS],
    "tensor.sharedvar": _TENSOR,
    "tensor.slinalg": [_DECOMPOSITIONS],
    "tensor.sort": [
        {"TopKOp": f"{_TENSORS}:TopKOp"},
        _here("phintys.tensor", "ArgSortOp SortOp argsort argtopk sort topk topk_and_argtopk"),
    ],
    "tensor.subtensor": _TENSOR,
    "tensor.type": _TENSOR,
    "tensor.var": _TENSOR,
    "tensor.xlogx": [{"xlogx": "phintys.tensor:xlogx", "xlogy0": "phintys.tensor:xlogy"}],
    "misc": [],
    "misc.may_share_memory": [_here(_HELPERS, "may_share_memory")],
    "tests": [],
    "tests.breakpoint": [_BREAKPOINT],
    "tests.unittest_tools": ["phintys.compat.testing", "phintys.testing"],
    "updates": [{"OrderedUpdates": f"{_OLD}:OrderedUpdates"}],
    "version": [{"version": "phintys:__version__"}],
}

_TOP: list[Source] = [
    {
        **_GRAPH,
        **_here(_CALLS, "Lop Param Rop clone function grad subgraph_grad"),
        **_here("phintys.compile", "Function In Out shared"),
        **_here(_MODES, "Mode NanGuardMode get_mode"),
        **_FROM_GRAPH,
        **_FOLDS,
        "as_op": f"{_AS_OP}:as_op",
        **_WRAP,
        "function_dump": f"{_DEBUGGING}:function_dump",
        "OrderedUpdates": f"{_OLD}:OrderedUpdates",
        "_asarray": f"{_OLD}:asarray",
        "as_symbolic": f"{_HELPERS}:as_symbolic",
        "change_flags": f"{_CONFIG}:change_flags",
        "clone_replace": "phintys.graph:clone_replace",
        "config": f"{_CONFIG}:config",
        "debugprint": f"{_DEBUGGING}:debugprint",
        "dot": f"{_OLD}:dot",
        "dprint": f"{_DEBUGGING}:debugprint",
        "pp": "phintys.compat.printed:pprint",
        "pprint": "phintys.compat.printed:pprint",
        "rewrite_graph": "phintys.compat.registered:rewrite_graph",
        "shared": "phintys.graph.sharing:shared",
        "__version__": "phintys:__version__",
    }
]

_NODES = _here(_HELPERS, "apply_depends_on list_of_nodes")

_WALKS = _NODES | _here(
    "phintys.compat.walks", "ancestors applys_between graph_inputs io_toposort vars_between"
)
"""The old order of the variables differed, and programs build argument lists from it."""

_WALKS_FROM_LAST: dict[str, str] = {
    name: f"phintys.compat.walks:{name}_from_last"
    for name in (
        *("ancestors", "applys_between", "graph_inputs", "io_toposort", "toposort"),
        "vars_between",
    )
}
"""Those of PyTensor."""


_REWRITE_GRAPH = {"rewrite_graph": "phintys.compat.registered:rewrite_graph"}

_C_OPS: dict[str, str] = _here("phintys.graph.c_op", "COp ExternalCOp")
_PARAMS: dict[str, str] = _here("phintys.graph.params_type", "Params ParamsType")
_C_OPS_OF_GOF: dict[str, str] = {
    "CLinkerOp": "phintys.graph.c_op:COp",
    "COp": "phintys.graph.c_op:ExternalCOp",
}

_GOF_GRAPH: list[Source] = [
    {
        **_GRAPH,
        **_ERRORS,
        **_TEST_VALUES,
        "Env": "phintys.graph:FunctionGraph",
        "ancestors": "phintys.compat.walks:ancestor_list",
        "graph_inputs": "phintys.compat.walks:input_list",
        "inputs": "phintys.compat.walks:input_list",
        "io_toposort": "phintys.compat.walks:io_toposort",
        "io_connection_pattern": "phintys.graph.contract:connection_pattern",
        **_NODES,
        "is_same_graph": f"{_HELPERS}:is_same_graph",
        "ops": f"{_HELPERS}:list_of_nodes",
        "orphans": "phintys.graph:orphans_between",
        "variables": "phintys.compat.walks:variables",
        "view_roots": "phintys.graph.alias_map:view_roots",
    },
    "phintys.graph",
]

_FEATURES: list[Source] = [
    {"PreserveNames": "phintys.compat.features:PreserveVariableAttributes"},
    "phintys.graph.features",
    "phintys.compat.features",
]

_DESTROY: list[Source] = [
    {
        "DestroyHandler": "phintys.compat.features:DestroyHandler",
        "inplace_candidates": "phintys.graph.aliasing:fast_inplace_check",
    },
    "phintys.graph.aliasing",
    "phintys.graph.alias_map",
]

_THEANO: dict[str, list[Source]] = {
    "": [_SCAN, _CHECKPOINTS, *_TOP],
    **_SHARED_BY_BOTH,
    # The last versions of Theano called its package gof graph.
    "graph": [*_GOF_GRAPH, *_REWRITING, *_FEATURES, *_DESTROY],
    "graph.basic": _GOF_GRAPH,
    "graph.destroyhandler": _DESTROY,
    "graph.features": _FEATURES,
    "graph.fg": _GOF_GRAPH,
    "graph.null_type": ["phintys.graph.null_type"],
    "graph.op": _GOF_GRAPH,
    "graph.opt": _REWRITING,
    "graph.toolbox": _FEATURES,
    "graph.type": _GOF_GRAPH,
    "graph.utils": [_ERRORS],
    "configdefaults": [{"config": f"{_CONFIG}:config"}],
    "compat": [{"OrderedDict": "collections:OrderedDict"}],
    "compat.python2x": [{"OrderedDict": "collections:OrderedDict"}],
    "gof": [*_GOF_GRAPH, *_REWRITING, *_FEATURES, *_DESTROY, _C_OPS_OF_GOF, _PARAMS],
    "gof.destroyhandler": _DESTROY,
    "gof.fg": _GOF_GRAPH,
    "gof.graph": _GOF_GRAPH,
    "gof.null_type": ["phintys.graph.null_type"],
    "gof.op": [*_GOF_GRAPH, _C_OPS_OF_GOF],
    "gof.opt": _REWRITING,
    "gof.params_type": [_PARAMS],
    "gof.toolbox": _FEATURES,
    "gof.type": _GOF_GRAPH,
    "gof.utils": [_ERRORS],
    "misc.pkl_utils": [_here("pickle", "dump load")],
    "misc.safe_asarray": [{"_asarray": f"{_OLD}:asarray"}],
    "sandbox": [],
    "sandbox.linalg": [_DECOMPOSITIONS],
    "sandbox.linalg.kron": [_DECOMPOSITIONS],
    "sandbox.linalg.ops": [_DECOMPOSITIONS],
    "sandbox.rng_mrg": [_here(_STREAMS, "MRG_RandomStreams")],
    "scan_module": [_FOLDS, _UNTIL, _CHECKPOINTS],
    "scan_module.scan": [_SCAN, _UNTIL],
    "scan_module.scan_checkpoints": [_CHECKPOINTS],
    "scan_module.scan_op": [_SCAN_OP],
    "scan_module.scan_utils": [
        _UNTIL,
        _here(_CALLS, "clone"),
        _here("phintys.graph", "equal_computations"),
    ],
    "scan_module.scan_views": [_FOLDS],
    # The function of this name is called as the module: tensor.xlogx.xlogy0 is used as well.
    "tensor": [{"xlogx": "theano.tensor.xlogx"}, *_TENSOR],
    **_CONVOLUTIONS,
    "tensor.nnet": [_ROWS, *_NNET],
    "tensor.nnet.bn": _BATCHNORM,
    "tensor.nnet.nnet": [_ROWS, *_NNET],
    "tensor.nnet.sigm": _NNET,
    "tensor.shared_randomstreams": [_here(_STREAMS, "RandomStreams")],
    "tests.unittest_tools": [
        {"InferShapeTester": "phintys.compat.testing:InferShapeTestCase"},
        *_SHARED_BY_BOTH["tests.unittest_tools"],
    ],
    "tensor.opt": [
        _OBSERVING,
        {"MakeVector": "phintys.tensor:MakeVector"},
        *_REWRITING,
    ],
}

_NEWER: dict[str, list[Source]] = {
    "": _TOP,
    **_SHARED_BY_BOTH,
    "configdefaults": [{"config": f"{_CONFIG}:config"}],
    "graph": [_GRAPH, _ERRORS, _TEST_VALUES, _WALKS, _REWRITE_GRAPH, "phintys.graph"],
    "graph.basic": [_GRAPH, _WALKS, "phintys.graph"],
    "graph.destroyhandler": _DESTROY,
    "graph.features": _FEATURES,
    "graph.fg": [_GRAPH, _ERRORS],
    "graph.null_type": ["phintys.graph.null_type"],
    "graph.op": [_GRAPH, _TEST_VALUES],
    "graph.rewriting": _NEWER_REWRITING,
    "graph.rewriting.utils": [_REWRITE_GRAPH, _here(_HELPERS, "is_same_graph")],
    "graph.rewriting.basic": _NEWER_REWRITING,
    "graph.rewriting.db": [],
    "graph.type": [_GRAPH],
    "graph.utils": [_ERRORS, _TEST_VALUES],
    "link": [],
    "link.c": [],
    "link.c.op": [_C_OPS],
    "link.c.params_type": [_PARAMS],
    "link.c.type": [_ANYTHING, {"CType": "phintys.graph:Type"}],
    "tensor.math": _TENSOR,
    "compile.debug": [],
    "compile.debug.debugmode": [{"DebugMode": f"{_MODES}:DebugMode", **_FAULTS}],
    "compile.debug.dump": [_here(_DEBUGGING, "function_dump")],
    "compile.debug.profiling": _PROFILING,
    "compile.debug.monitormode": [_here(_MODES, "MonitorMode detect_nan")],
    "compile.debug.nanguardmode": _NAN_GUARD,
    "compile.executor": _COMPILE,
    "compile.function.pfunc": _COMPILE,
    "compile.function.types": _COMPILE,
    "compile.maker": _COMPILE,
    "graph.replace": [{"clone_replace": "phintys.graph:clone_replace"}, _BATCHES],
    "graph.traversal": [_GRAPH, _WALKS, "phintys.graph"],
    "misc.pkl_utils": [_here("pickle", "dump load")],
    "misc.safe_asarray": [{"_asarray": f"{_OLD}:asarray"}],
    "scalar.math": _SCALAR,
    "scan": [_SCAN, _FOLDS, _UNTIL, _CHECKPOINTS],
    "scan.basic": [_SCAN, _UNTIL],
    "scan.checkpoints": [_CHECKPOINTS],
    "scan.op": [_SCAN_OP],
    "scan.utils": [_UNTIL],
    "scan.views": [_FOLDS],
    "tensor.blockwise": [_BATCHES],
    "tensor.einsum": [_here("phintys.tensor", "einsum")],
    "tensor.exceptions": _TENSOR,
    "tensor.functional": [_here("phintys.tensor", "vectorize")],
    "tensor.random": _RANDOM,
    "tensor.random.basic": _RANDOM,
    "tensor.random.op": _RANDOM,
    "tensor.random.type": _RANDOM,
    "tensor.random.utils": [_DRAW_SHAPES, *_RANDOM],
    "tensor.random.var": _RANDOM,
    "tensor.random.variable": _RANDOM,
    "tensor.shape": _TENSOR,
    "tensor.variable": _TENSOR,
    "utils": [_here(_HELPERS, "LOCAL_BITWIDTH PYTHON_INT_BITWIDTH")],
}
"""The modules that Aesara and PyTensor have in common."""

_AESARA: dict[str, list[Source]] = {
    **_NEWER,
    "sandbox": [],
    "sandbox.rng_mrg": [{"MRG_RandomStream": f"{_STREAMS}:MRG_RandomStreams"}],
    **_CONVOLUTIONS,
    "tensor.nnet": _NNET,
    "tensor.nnet.basic": _NNET,
    "tensor.nnet.batchnorm": _BATCHNORM,
    "tensor.nnet.sigm": _NNET,
    "tensor.special": [
        _FLOATING,
        _here("phintys.tensor", "log_softmax softmax"),
        "phintys.tensor.special",
    ],
}

_CONVOLVE: dict[str, str] = _here("phintys.tensor.signal", "convolve1d convolve2d")

_FACTS: list[Source] = ["phintys.compat.facts"]

_PYTENSOR: dict[str, list[Source]] = {
    **_NEWER,
    "": [*_TOP, _here(_CALLS, "pullback pushforward")],
    **dict.fromkeys(LINEAR_ALGEBRA, _SHARED_BY_BOTH["tensor.linalg"]),
    **dict.fromkeys(("tensor.blas.batched", "tensor.blas.gemm"), _BLAS),
    "compile.rebuild": [
        _ERRORS,
        _here(_CALLS, "rebuild_collect_shared"),
    ],
    **dict.fromkeys(("assumptions", "assumptions.core", "assumptions.specify"), _FACTS),
    "conditional": [_CHOICES],
    "conditional.op": [_CHOICES],
    "tensor.signal": [_CONVOLVE],
    "tensor.signal.conv": [_CONVOLVE],
    "compile.builders": [
        _here("phintys.compat.from_graph", "OpFromGraph SymbolicOp"),
        *_NEWER["compile.builders"],
    ],
    "graph": [_BATCHES, _WALKS_FROM_LAST, *_NEWER["graph"]],
    "graph.basic": [_WALKS_FROM_LAST, *_NEWER["graph.basic"]],
    "graph.traversal": [_WALKS_FROM_LAST, *_NEWER["graph.traversal"]],
    "tensor.optimize": ["phintys.compat.solvers"],
    "tensor.special": [_FLOATING, "phintys.tensor.special"],
}

CALLED = {
    "aesara.scan": "scan",
    "pytensor.ifelse": "ifelse",
    "pytensor.tensor.einsum": "einsum",
    "pytensor.scan": "scan",
    "theano.scan_module.scan": "scan",
    "theano.scan_module.scan_checkpoints": "scan_checkpoints",
    "theano.tensor.xlogx": "xlogx",
}
"""Modules with a function of theirs that hides them in the package itself."""


_OF_SPARSE: list[Source] = ["phintys.compat.sparse", "phintys.sparse"]
_SPARSE = {f"sparse{module}": _OF_SPARSE for module in ("", ".basic", ".sharedvar", ".type")}
_SPARSE_OF_PYTENSOR = _SPARSE | {
    "sparse.linalg": [*_OF_SPARSE, "phintys.sparse.linalg"],
    "sparse.math": _OF_SPARSE,
    "sparse.variable": _OF_SPARSE,
}


def _completed(package: str, modules: dict[str, list[Source]]) -> dict[str, list[Source]]:
    """Return the modules of a package with those names that the second table has for them."""
    added = MODULES[package]
    names = [*modules, *(name for name in added if name not in modules)]
    return {
        name: [
            *modules.get(name, ()),
            *added.get(name, ()),
            *filter(None, (NAMES.get(name), EXCEPTIONS.get(name))),
        ]
        for name in names
    }


PACKAGES: dict[str, dict[str, list[Source]]] = {
    "theano": _completed("theano", _THEANO | _SPARSE),
    "aesara": _completed("aesara", _AESARA | _SPARSE),
    "pytensor": _completed("pytensor", _PYTENSOR | _SPARSE_OF_PYTENSOR),
}
"""For each package, its modules (``""`` is the package itself) and their sources."""

_C_CODE = "parts of Theano's compiler of C code: COp, ExternalCOp and ParamsType are there"
_LINKERS = "linkers: a Mode has a backend"

_PAGES = "parts of the old page: d3viz.d3viz writes a whole one, by phintys.inspect.graph_page"

MISSING: dict[str, str] = {
    "d3viz.formatting": _PAGES,
    "gof.cc": _C_CODE,
    "gof.cutils": _C_CODE,
    "gof.link": _LINKERS,
    "gof.vm": _LINKERS,
    "link": _LINKERS,
    "sparse.opt": "single rewrites of sparse matrices: add a rule by get_mode().adding(rule)",
    "sparse.rewriting": "single rewrites of sparse matrices: add a rule by get_mode().adding(rule)",
    "sparse.sandbox": "experiments with sparse matrices: see the functions of sparse itself",
    "tensor.fourier": "an Op of its own for Fourier transforms: use tensor.fft",
    "tensor.io": "Ops that read files: numpy.load, and function arguments",
    "tensor.nnet.corr": "Ops of single implementations: use nnet.conv2d",
    "tensor.raw_random": "draws by functions of a state: use tensor.shared_randomstreams",
}
"""Modules of the old packages that Phintys does not provide, with their purpose.

What is inside of them is not provided either, except for modules in :data:`PACKAGES`.
"""

MISSING_NAMES: dict[str, str] = {
    **dict.fromkeys(("CLinkerType", "OpenMPOp"), _C_CODE),
    **dict.fromkeys(
        (
            "CLinker",
            "DualLinker",
            "LocalLinker",
            "OpWiseCLinker",
            "PerformLinker",
            "VM_Linker",
            "predefined_linkers",
            "register_linker",
        ),
        _LINKERS,
    ),
    "LazyIfElse": "an Op of choices with inner graphs: use ifelse, which computes one side",
    "NominalVariable": "numbered inputs: inner graphs are compared by equal_computations",
    "RandomStreams": "random streams here: they are in tensor.shared_randomstreams",
    **dict.fromkeys(
        ("ConvOp", "CorrMM"),
        "an Op of its own: convolutions and pooling are functions, conv2d and pool_2d",
    ),
    **dict.fromkeys(("conv2d", "conv2d_transpose", "conv3d"), "convolutions here: see tensor.nnet"),
    **dict.fromkeys(("d3write", "replace_patterns", "safe_json"), _PAGES),
}
"""Names in other modules that Phintys does not provide, with their purpose."""
