"""Why Phintys does not offer a name: reasons for whole kinds of names, and what to write instead.

:data:`~phintys.compat.names.MISSING` and ``MISSING_NAMES`` have the reasons for single modules and
names; these are for what is named by a rule.
"""

from __future__ import annotations

import re

__all__ = ["reason_by_kind"]

_C = "C code of Ops: write perform, or build the Op of those that there are"
_RULES = (
    "single rewrites of the old packages: add a rule of your own by get_mode().adding(rule), and "
    "leave passes out by mode.excluding(name)"
)
_OPS = "an Op of its own: use the function, which returns an expression of other Ops"
_OF_BATCHES = "rules for batches by Op: tensor.vectorize and graph.vectorize_graph batch every Op"
_OF_INDEXING = "helpers of the Ops of indexing: index variables, and use set_subtensor"
_OF_SCAN = "the inside of scan: a Scan has fgraph, its inner graph, and graph.clone_replace copies"
_PRINTERS = "printers of single Ops: phintys.pprint.assign(op, printer) adds one to pprint"
_DTYPES = "this rule for dtypes: scalar.upgrade_to_float, upcast_out and same_out are there"
_FACTS = "facts about matrices by a registry: state them, as in tensor.assume(x, 'symmetric')"
_MEMORY = "the inside of function: an input or output says borrow=, mutable= or update="
_FILES = "directories of compiled code: phintys.config.cache_dir names the one that there is"
_TYPES = "base classes of types and variables: derive from graph.Type, Variable or Op"
_GPUS = "code for GPUs under old names: leave that part out, and the CPU is used"
_MISC = "this part of misc, lib and sandbox: experiments, or what Python and NumPy have"
_SHARED = "classes of shared values by kind: shared(value) makes every one"
_MATRICES = "this part of linear algebra under its old name: see tensor.linalg"
_SOLVERS = "solvers under these names: phintys.control has root, minimize and root_scalar"
_OF_DRAWS = "helpers of Ops of draws: a draw is an expression, with its density in random.logp"
_INPLACE = "Ops that work in place: memory is reused where nothing reads it later"
_OF_GRADIENTS = "Ops of gradients: grad builds a gradient as an expression of other Ops"
_FEATURES = "this feature of graphs: derive one from graph.features.Feature"
_INCOMPLETE_GAMMAS = (
    "incomplete gamma functions that are not regularized: write gammainc(k, x) * gamma(k) and "
    "gammaincc(k, x) * gamma(k); chi2sf(x, k) is gammaincc(k / 2, x / 2)"
)
_SHAPES = "this helper for shapes and axes: specify_shape states and checks a shape"
_TOOLS = "tools of the package itself"

_BY_MODULE: tuple[tuple[str, str], ...] = (
    ("assumptions", _FACTS),
    ("compile.aliasing compile.inner_function compile.rebuild", _MEMORY),
    ("compile.compiledir compile.compilelock gof.cmodule gof.compilelock gof.lazylinker_c", _FILES),
    ("gof.unify graph.rewriting.reachability graph.rewriting.unify", _RULES),
    ("gpuarray sandbox.cuda sandbox.gpuarray", _GPUS),
    ("lib misc sandbox", _MISC),
    ("printing", _PRINTERS),
    ("scalar.loop tensor.symbolic", _TYPES),
    ("scalar.sharedvar tensor.sharedvar", _SHARED),
    ("scan scan_module", _OF_SCAN),
    ("tensor.blas.blas_c tensor.blas.c_code", _C),
    ("tensor.linalg", _MATRICES),
    ("tensor.optimize", _SOLVERS),
    ("tensor.random", _OF_DRAWS),
    ("tensor.rewriting", _RULES),
    ("tensor.subtensor", _OF_INDEXING),
    ("tensor.type_other", "slices and None as variables: write slices in an index"),
)
"""Modules, and why names in them that are not in the table are not offered."""

_BY_NAME: tuple[tuple[tuple[str, ...], str], ...] = (
    (("local_.*", "apply_local_.*", "topo_.*", "inline_.*", "lift_.*", "cond_.*"), _RULES),
    ((r"\w*_inplace(_op)?",), _INPLACE),
    (("c_.*", "cgemv.*", "CG.*", "CSM.*", "ldflags", r"\w+_c_code", "load_back"), _C),
    (("[Vv]ectorize.*", "get_normalized_batch.*", r"\w+WithCoreShape"), _OF_BATCHES),
    ((r"\w*Printer", "PrinterState", "min_informative_str", r"\w+_formatter"), _PRINTERS),
    (("real_out", r"same_out\w*", r"upcast_out\w*", "autocast.*", "convert_to_.*"), _DTYPES),
    (("Supervisor", "OutputGuard", "DataDestroyed"), _MEMORY),
    (("alias_root", "view_tree_set", "insert_deepcopy", "infer_reuse_pattern"), _MEMORY),
    (
        ("construct_nominal_fgraph", "infer_shape", "AddDestroyHandler", "register_profiler.*"),
        _MEMORY,
    ),
    ((r"\w+Grad", r"\w+Rop", r"\w+_grad(_\w+)?", r"\w+D?_?dx", r"\w+Dx"), _OF_GRADIENTS),
    ((r"\w*(Tracker|Feature|Listener)", r"NoOutput\w+"), _FEATURES),
    (("HistoryEntry", "FullHistory", "Replacement.*", "PrintCurrentFunctionGraph"), _FEATURES),
    ((r"\w*(Optimizer|Rewriter|DB|Canonizer|Autocaster)", r"\w*_(rewriter|opt)"), _RULES),
    (("softmax_simplifier", "graph_merge.*", "crossentropy_to_.*", "get_clients.*"), _RULES),
    (("merge_dict", "register_.*", r"pre_\w+_merge", "rewrite_subgraph"), _RULES),
    (("infer_shape_db", "get_active_mode"), _RULES),
    ((r"\w*Meta(Type)?", "HasDataType", "HasShape", "AtomicVariable", r"Frozen\w+"), _TYPES),
    ((r"Abstract\w+", r"DenseTensor\w+", r"\w*SymbolicOp", "TypeCastingOp", "ScalarLoop"), _TYPES),
    (("ScanMethodsMixin", "RNGConsumerOp", "RandomStateType", "SingletonType"), _TYPES),
    (("ScalarSharedVariable", "scalar_constructor", "tensor_constructor"), _SHARED),
    (("gammal", "gammau", "chi2sf"), _INCOMPLETE_GAMMAS),
    (("wrap_jax",), "functions of JAX as Ops under this name: phintys.compile has as_op"),
    ((r"get_conv_\w+", r"\w*assert\w*shape", "check_conv.*", "border_mode_to_pad"), _SHAPES),
    (("is_flat", "infer_static_shape", "get_static_shape.*", r"broadcast_\w+"), _SHAPES),
    ((r"normalize_\w+_axis", "get_unique_constant_value", "mul_without_zeros"), _SHAPES),
    ((r"get_variable_trace\w+", "add_excepthook", "NoDuplicate.*", "unzip", "AssocList"), _TOOLS),
    (("Prepend_.*", "Default", "clone_node_and_cache", r"softmax_\w*legacy", "Output"), _OPS),
    ((r"\w*batched_tensordot", "interpolate1d", "pad_or_return", "scalar_elemwise"), _OPS),
    (("solvetriangular", "mean", "round_half_away_from_zero_"), _OPS),
    ((r"[A-Z]\w*(Op|Base)?", r"Base[A-Z]\w*"), _OPS),
)
"""Patterns of names, and why they are not offered."""

_OF_MODULES = [(name, reason) for names, reason in _BY_MODULE for name in names.split()]
_OF_NAMES = [(re.compile("|".join(patterns)), reason) for patterns, reason in _BY_NAME]


def reason_by_kind(path: str) -> str | None:
    """Return why a name is not offered, if it is of a kind that has a reason.

    Examples
    --------
    >>> from phintys.compat.refusals import reason_by_kind
    >>> reason_by_kind("tensor.opt.local_fill_sink")[:14]
    'single rewrite'
    """
    for module, reason in _OF_MODULES:
        if path == module or path.startswith(f"{module}."):
            return reason
    name = path.rpartition(".")[2]
    return next((reason for pattern, reason in _OF_NAMES if pattern.fullmatch(name)), None)
