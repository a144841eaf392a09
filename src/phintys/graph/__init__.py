"""The intermediate representation: types, variables, operations and the graphs they form."""

from phintys.graph.apply import Apply
from phintys.graph.null_type import DisconnectedType, NullType
from phintys.graph.op import Op
from phintys.graph.shared import SharedVariable, shared
from phintys.graph.type import Type, generic
from phintys.graph.variable import Constant, Variable

__all__ = [
    "Apply",
    "Constant",
    "DisconnectedType",
    "NullType",
    "Op",
    "SharedVariable",
    "Type",
    "Variable",
    "generic",
    "shared",
]
