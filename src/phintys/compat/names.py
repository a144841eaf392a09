"""The one table of old names: which module had which, and what each is here.

A module's entry is a list of sources. A source is a module of Phintys, all of whose public names
the old module has too, or a dict from an old name to where it is now: ``"module:attribute"``, or a
``"module"`` itself. Earlier sources win.
"""

from __future__ import annotations

__all__ = ["MISSING", "PACKAGES", "Source"]

Source = str | dict[str, str]

_OLD = "phintys.compat.adapters"


def _here(module: str, names: str) -> dict[str, str]:
    """Return entries for names that are the same here."""
    return {name: f"{module}:{name}" for name in names.split()}


_GRAPH: dict[str, str] = {
    **_here("phintys.graph", "Apply Constant FunctionGraph Op SharedVariable Type Variable"),
    "Generic": "phintys.graph.type:Generic",
    "PureType": "phintys.graph:Type",
    "PureOp": "phintys.graph:Op",
    "generic": "phintys.graph:generic",
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

_FAULTS: dict[str, str] = {
    **_here(
        "phintys._base.errors",
        "BadDestroyMap BadThunkOutput BadViewMap DebugModeError InvalidValueError StochasticOrder",
    ),
    "BadOptimization": "phintys._base.errors:BadRewrite",
}

_OBSERVING: dict[str, str] = _here("phintys.tensor.observing", "Assert CheckAndRaise assert_op")

_GRADIENT: list[Source] = [
    _ERRORS,
    _here("phintys.gradient", "grad Lop Rop jacobian hessian verify_grad"),
    "phintys.gradient",
]

_COMPILE: list[Source] = [
    {
        "Param": "phintys.compile:In",
        "FAST_COMPILE": f"{_OLD}:FAST_COMPILE",
        "FAST_RUN": f"{_OLD}:FAST_RUN",
        "shared_constructor": "phintys.graph.shared:shared_constructor",
        "UnusedInputError": "phintys._base.errors:UnusedInputError",
    },
    "phintys.compile",
]

_REWRITING: list[Source] = [
    {
        "local_optimizer": f"{_OLD}:local_optimizer",
        "node_rewriter": "phintys.rewriting:node_rewriter",
        "graph_rewriter": "phintys.rewriting:graph_rewriter",
    },
    "phintys.rewriting",
]

_PRINTING: list[Source] = [
    {
        "Print": "phintys.tensor.observing:Print",
        "debugprint": "phintys.graph.printing:debugprint",
        "pp": "phintys.graph.pretty:pprint",
        "pprint": "phintys.graph.pretty:pprint",
    }
]

_SCALAR: list[Source] = [
    {
        "Scalar": "phintys.scalar:ScalarType",
        "as_scalar": "phintys.scalar:as_scalar",
        "bool": "phintys.scalar:bool_",
        "inv": "phintys.scalar:reciprocal",
        "neq": "phintys.scalar:ne",
        "psi": "phintys.scalar:digamma",
        "sgn": "phintys.scalar:sign",
        **_GRAPH,
    },
    "phintys.scalar",
]

_TENSOR: list[Source] = [
    {
        "TensorType": f"{_OLD}:TensorType",
        "tensor": f"{_OLD}:tensor",
        "CAReduce": "phintys.tensor:Reduce",
        "DimShuffle": f"{_OLD}:DimShuffle",
        "Rebroadcast": f"{_OLD}:Rebroadcast",
        "abs_": "phintys.tensor:abs",
        "addbroadcast": f"{_OLD}:addbroadcast",
        "as_tensor": "phintys.tensor:as_tensor_variable",
        "bool_": "phintys.scalar:bool_",
        "copy": "phintys.tensor:tensor_copy",
        "fill": "phintys.tensor:second",
        "get_scalar_constant_value": f"{_OLD}:get_scalar_constant_value",
        "get_vector_length": f"{_OLD}:get_vector_length",
        "horizontal_stack": "phintys.tensor:hstack",
        "inv": "phintys.tensor:reciprocal",
        "iround": f"{_OLD}:iround",
        "join": "phintys.tensor:join",
        "nonzero_values": f"{_OLD}:nonzero_values",
        "norm": "phintys.tensor.linalg:norm",
        "patternbroadcast": f"{_OLD}:patternbroadcast",
        "round_half_away_from_zero": "phintys.tensor:round_half_away",
        "round_half_to_even": "phintys.tensor:rint",
        "sgn": "phintys.tensor:sign",
        "shared": "phintys.graph.shared:shared",
        "transfer": "phintys.graph.transfer:transfer",
        "unbroadcast": f"{_OLD}:unbroadcast",
        "vertical_stack": "phintys.tensor:vstack",
        **_here("phintys.gradient", "grad Lop Rop hessian jacobian numeric_grad verify_grad"),
        **_here("phintys.tensor.special", "erf erfc erfinv gammaln psi"),
    },
    "phintys.tensor",
]

_NNET: list[Source] = [
    _here(
        _OLD,
        "binary_crossentropy categorical_crossentropy elu hard_sigmoid relu selu softsign",
    ),
    {
        "logsoftmax": "phintys.tensor:log_softmax",
        "sigmoid": "phintys.tensor:sigmoid",
        "softmax": "phintys.tensor:softmax",
        "softplus": "phintys.tensor:softplus",
        "ultra_fast_sigmoid": "phintys.tensor:sigmoid",
    },
]

_SHARED_BY_BOTH: dict[str, list[Source]] = {
    "compile": _COMPILE,
    "breakpoint": [{"PdbBreakpoint": "phintys.tensor.observing:Breakpoint"}],
    "compile.debugmode": [{"DebugMode": "phintys.compile:DebugMode", **_FAULTS}],
    "compile.function": _COMPILE,
    "compile.io": _COMPILE,
    "compile.mode": _COMPILE,
    "compile.monitormode": [{"MonitorMode": "phintys.compile:MonitorMode"}],
    "compile.nanguardmode": [{"NanGuardMode": "phintys.compile:NanGuardMode"}],
    "compile.sharedvalue": _COMPILE,
    "gradient": _GRADIENT,
    "printing": _PRINTING,
    "raise_op": [_OBSERVING],
    "scalar": _SCALAR,
    "scalar.basic": _SCALAR,
    "tensor": _TENSOR,
    "tensor.basic": _TENSOR,
    "tensor.elemwise": _TENSOR,
    "tensor.extra_ops": _TENSOR,
    "tensor.inplace": ["phintys.tensor.inplace"],
    "tensor.nnet": _NNET,
    "tensor.nnet.nnet": _NNET,
    "tensor.sharedvar": _TENSOR,
    "tensor.subtensor": [{"Subtensor": "phintys.tensor:Subtensor"}, "phintys.tensor"],
    "tensor.type": _TENSOR,
    "tests": [],
    "tests.unittest_tools": ["phintys.testing"],
}

_TOP: list[Source] = [
    {
        **_GRAPH,
        **_here("phintys.gradient", "grad Lop Rop subgraph_grad"),
        **_here("phintys.compile", "function In Out Mode Function NanGuardMode get_mode shared"),
        "OrderedUpdates": f"{_OLD}:OrderedUpdates",
        "Param": "phintys.compile:In",
        "clone": "phintys.graph:clone_replace",
        "clone_replace": "phintys.graph:clone_replace",
        "config": "phintys._base.config:config",
        "debugprint": "phintys.graph.printing:debugprint",
        "dot": "phintys.tensor:dot",
        "dprint": "phintys.graph.printing:debugprint",
        "pp": "phintys.graph.pretty:pprint",
        "pprint": "phintys.graph.pretty:pprint",
        "rewrite_graph": "phintys.passes:rewrite_graph",
        "shared": "phintys.graph.shared:shared",
        "__version__": "phintys:__version__",
    }
]

_GOF_GRAPH: list[Source] = [
    {**_GRAPH, **_ERRORS, "inputs": f"{_OLD}:graph_inputs"},
    "phintys.graph",
]

_THEANO: dict[str, list[Source]] = {
    "": _TOP,
    **_SHARED_BY_BOTH,
    "configdefaults": [{"config": "phintys._base.config:config"}],
    "gof": [*_GOF_GRAPH, *_REWRITING],
    "gof.destroyhandler": ["phintys.graph.aliasing"],
    "gof.fg": _GOF_GRAPH,
    "gof.graph": _GOF_GRAPH,
    "gof.null_type": ["phintys.graph.null_type"],
    "gof.op": _GOF_GRAPH,
    "gof.opt": _REWRITING,
    "gof.toolbox": ["phintys.graph.features"],
    "gof.type": _GOF_GRAPH,
    "gof.utils": [_ERRORS],
}

_AESARA: dict[str, list[Source]] = {
    "": _TOP,
    **_SHARED_BY_BOTH,
    "configdefaults": [{"config": "phintys._base.config:config"}],
    "graph": [_GRAPH, _ERRORS, "phintys.graph"],
    "graph.basic": [_GRAPH, "phintys.graph"],
    "graph.destroyhandler": ["phintys.graph.aliasing"],
    "graph.features": ["phintys.graph.features"],
    "graph.fg": [_GRAPH],
    "graph.null_type": ["phintys.graph.null_type"],
    "graph.op": [_GRAPH],
    "graph.rewriting": _REWRITING,
    "graph.rewriting.basic": _REWRITING,
    "graph.type": [_GRAPH],
    "graph.utils": [_ERRORS],
    "tensor.math": _TENSOR,
    "tensor.random": [],
    "tensor.shape": _TENSOR,
    "tensor.special": ["phintys.tensor.special"],
    "tensor.var": _TENSOR,
}

PACKAGES: dict[str, dict[str, list[Source]]] = {
    "theano": _THEANO,
    "aesara": _AESARA,
    "pytensor": _AESARA,
}
"""For each package, its modules (``""`` is the package itself) and their sources."""

MISSING: dict[str, str] = {
    "scan": "loops",
    "ifelse": "lazy conditionals",
    "sparse": "sparse matrices",
    "tensor.shared_randomstreams": "random streams",
    "sandbox": "the sandbox modules",
    "gpuarray": "code for GPUs",
}
"""Modules that the old packages had and that Phintys does not offer, with what they were for."""
