"""The modules that lower the Ops: each is imported when one of its Ops is first met.

Each such module registers its functions with ``lower``, and has ``lower`` among its names.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from phintys._base.late import LateModule
from phintys.backends.native.lower import lowering as no_family
from phintys.graph.op import Op

if TYPE_CHECKING:
    from phintys.backends.native.lower.lowering import Lowering
    from phintys.graph.apply import Apply

__all__ = ["FAMILIES", "family_of", "lower_node"]

_counting = LateModule("phintys.backends.native.lower.counting")
_creation = LateModule("phintys.backends.native.lower.creation")
_dot = LateModule("phintys.backends.native.lower.dot")
_elemwise = LateModule("phintys.backends.native.lower.elemwise")
_indexing = LateModule("phintys.backends.native.lower.indexing")
_join = LateModule("phintys.backends.native.lower.join")
_observing = LateModule("phintys.backends.native.lower.observing")
_ranges = LateModule("phintys.backends.native.lower.ranges")
_reduce = LateModule("phintys.backends.native.lower.reduce")
_row_loop = LateModule("phintys.backends.native.lower.row_loop")
_running = LateModule("phintys.backends.native.lower.running")
_shape = LateModule("phintys.backends.native.lower.shape")

FAMILIES = {
    "phintys.gradient.marks": _shape,
    "phintys.gradient.row_loop": _row_loop,
    "phintys.tensor.blas": _dot,
    "phintys.tensor.creation": _creation,
    "phintys.tensor.cumulative": _running,
    "phintys.tensor.diagonals": _creation,
    "phintys.tensor.dimshuffle": _elemwise,
    "phintys.tensor.dot": _dot,
    "phintys.tensor.elemwise": _elemwise,
    "phintys.tensor.extremes": _reduce,
    "phintys.tensor.indexing.advanced": _indexing,
    "phintys.tensor.indexing.basic": _indexing,
    "phintys.tensor.indexing.update": _indexing,
    "phintys.tensor.join": _join,
    "phintys.tensor.make_vector": _shape,
    "phintys.tensor.nonzero": _counting,
    "phintys.tensor.observing": _observing,
    "phintys.tensor.ranges": _ranges,
    "phintys.tensor.reduce": _reduce,
    "phintys.tensor.reshape": _shape,
    "phintys.tensor.shape": _shape,
    "phintys.tensor.softmaxes": _reduce,
    "phintys.tensor.tiling": _counting,
}
"""The module that lowers the Ops of a module, by the latter's name."""


@lru_cache(maxsize=256)
def family_of(op_class: type[Op]) -> Any:
    """Return the module that registers a rule for a class of Ops, or for a base class of it."""
    families = (FAMILIES.get(base.__module__) for base in op_class.__mro__)
    return next((family for family in families if family is not None), no_family)


def lower_node(op: Op, node: Apply, lowering: Lowering) -> None:
    """Add the steps for one node, by the rule for its Op.

    Raises
    ------
    NotLowered
        If there is no rule, or it does not cover the node.
    """
    family_of(type(op)).lower(op, node, lowering)
