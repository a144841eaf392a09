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

import sys
from typing import TYPE_CHECKING, Any

from phintys import compile, control, graph, passes, rewriting, scalar, tensor
from phintys._base.config import config
from phintys._base.errors import PhintysError
from phintys._base.late import LateModule, late_names
from phintys._base.names import ModulesElsewhere
from phintys.compile import (
    Function,
    In,
    Mode,
    Out,
    SharedVariable,
    function,
    get_mode,
    shared,
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
from phintys.passes import rewrite_graph

if TYPE_CHECKING:
    from phintys import (
        contrib,
        gradient,
        inspect,
        native,
        optimize,
        parallel,
        random,
        sparse,
        testing,
        tree,
    )
    from phintys.backends import jax
    from phintys.backends.native.runtime.support import free_memory
    from phintys.compile.debug_mode import DebugMode
    from phintys.compile.monitor import MonitorMode, NanGuardMode
    from phintys.compile.profile import Profile, print_profiles
    from phintys.contrib.saving import load, save
    from phintys.control import OpFromGraph, ifelse, scan, until
    from phintys.gradient import (
        Lop,
        Rop,
        grad,
        hessian,
        jacobian,
        subgraph_grad,
        value_and_grad,
    )
    from phintys.graph.from_function import wrap_py
    from phintys.graph.printing import debugprint, dprint
    from phintys.inspect import magics as _magics
    from phintys.tensor.batching import vectorize_graph

    # The package shows them too, and is below them: for `make index`.
    tensor.__all__ += ["grad", "hessian", "jacobian", "random"]
else:
    __getattr__, __dir__ = late_names(__name__)
    _magics = LateModule("phintys.inspect.magics")

if ModulesElsewhere not in sys.meta_path:
    sys.meta_path.append(ModulesElsewhere)

__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """Add ``%%explain`` and ``%%profile`` to IPython: what ``%load_ext phintys`` calls.

    Parameters
    ----------
    shell
        The shell.
    """
    _magics.add_commands(shell)


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
    "OpFromGraph",
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
    "contrib",
    "control",
    "debugprint",
    "dprint",
    "free_memory",
    "function",
    "get_mode",
    "grad",
    "gradient",
    "graph",
    "graph_replace",
    "hessian",
    "ifelse",
    "inspect",
    "jacobian",
    "jax",
    "load",
    "native",
    "optimize",
    "parallel",
    "passes",
    "pprint",
    "print_profiles",
    "random",
    "rewrite_graph",
    "rewriting",
    "save",
    "scalar",
    "scan",
    "shared",
    "sparse",
    "subgraph_grad",
    "tensor",
    "testing",
    "tree",
    "until",
    "value_and_grad",
    "vectorize_graph",
    "wrap_py",
]
