"""Phintys: a symbolic tensor compiler.

Describe a computation on symbolic variables; Phintys checks it, rewrites it, differentiates it and
compiles it.

Examples
--------
>>> import phintys
>>> import phintys.tensor as pt
>>> x = pt.vector("x")
>>> cost = (x**2).sum()
>>> f = phintys.function([x], [cost, phintys.grad(cost, x)])
>>> value, slope = f([1.0, 2.0])
>>> float(value), slope.tolist()
(5.0, [2.0, 4.0])
"""

from phintys import compile, gradient, graph, passes, rewriting, scalar, tensor, testing
from phintys._base.config import config
from phintys._base.errors import PhintysError
from phintys.compile import (
    DebugMode,
    Function,
    In,
    Mode,
    MonitorMode,
    NanGuardMode,
    Out,
    Profile,
    SharedVariable,
    function,
    get_mode,
    print_profiles,
    shared,
)
from phintys.gradient import (
    Lop,
    Rop,
    grad,
    hessian,
    jacobian,
    subgraph_grad,
)
from phintys.graph import (
    Apply,
    Constant,
    FunctionGraph,
    Op,
    Type,
    Variable,
    clone_replace,
    graph_replace,
)
from phintys.graph.pretty import pprint
from phintys.graph.printing import debugprint
from phintys.passes import rewrite_graph

__version__ = "0.1.0"

dprint = debugprint

__all__ = [
    "Apply",
    "Constant",
    "DebugMode",
    "Function",
    "FunctionGraph",
    "In",
    "Lop",
    "Mode",
    "MonitorMode",
    "NanGuardMode",
    "Op",
    "Out",
    "PhintysError",
    "Profile",
    "Rop",
    "SharedVariable",
    "Type",
    "Variable",
    "clone_replace",
    "compile",
    "config",
    "debugprint",
    "dprint",
    "function",
    "get_mode",
    "grad",
    "gradient",
    "graph",
    "graph_replace",
    "hessian",
    "jacobian",
    "passes",
    "pprint",
    "print_profiles",
    "rewrite_graph",
    "rewriting",
    "scalar",
    "shared",
    "subgraph_grad",
    "tensor",
    "testing",
]
