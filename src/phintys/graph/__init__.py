"""The intermediate representation: types, variables, Ops and the graphs they form."""

from typing import TYPE_CHECKING

from phintys._base.late import late_names
from phintys.graph import features
from phintys.graph.apply import Apply
from phintys.graph.cloning import clone, clone_get_equiv, clone_replace, graph_replace
from phintys.graph.equality import equal_computations
from phintys.graph.features import Feature
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph
from phintys.graph.null_type import DisconnectedType, NullType
from phintys.graph.op import Op
from phintys.graph.pretty import pprint
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.sharing import shared, shared_constructor
from phintys.graph.transfer import register_transfer
from phintys.graph.traversal import (
    ancestors,
    applys_between,
    explicit_graph_inputs,
    general_toposort,
    get_var_by_name,
    graph_inputs,
    io_toposort,
    orphans_between,
    toposort,
    truncated_graph_inputs,
    variable_depends_on,
    vars_between,
    walk,
)
from phintys.graph.type import Type, generic
from phintys.graph.variable import Constant, Variable
from phintys.graph.verify import verify_graph

if TYPE_CHECKING:
    from phintys.graph.printing import debugprint
else:
    __getattr__, __dir__ = late_names(__name__)

__all__ = [
    "Apply",
    "Constant",
    "DisconnectedType",
    "Feature",
    "FunctionGraph",
    "HasInnerGraph",
    "NullType",
    "Op",
    "SharedVariable",
    "Type",
    "Variable",
    "ancestors",
    "applys_between",
    "clone",
    "clone_get_equiv",
    "clone_replace",
    "debugprint",
    "equal_computations",
    "explicit_graph_inputs",
    "features",
    "general_toposort",
    "generic",
    "get_var_by_name",
    "graph_inputs",
    "graph_replace",
    "io_toposort",
    "orphans_between",
    "pprint",
    "register_transfer",
    "shared",
    "shared_constructor",
    "toposort",
    "truncated_graph_inputs",
    "variable_depends_on",
    "vars_between",
    "verify_graph",
    "walk",
]
