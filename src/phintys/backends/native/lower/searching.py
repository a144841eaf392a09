"""Lowering of searches in sorted vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.routines.searching import SEARCH_SORTED
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.searching import SearchSorted

if TYPE_CHECKING:
    from phintys.backends.native.lower.view import View
    from phintys.backends.native.values import Array

_COMPARED_AS = {"bool": "uint8", "float16": "float32"}
"""Dtypes that are cast to others, in which the order is the same."""


@lowers(SearchSorted)
def lower_search_sorted(op: SearchSorted, node: Apply, lowering: Lowering) -> None:
    """A call, with both operands in the dtype to which NumPy promotes them."""
    if len(node.inputs) > 2:
        msg = "a search by the order of another vector"
        raise NotLowered(msg)
    x, v = (lowering.view(variable) for variable in node.inputs)
    dtype = np.promote_types(x.array.dtype, v.array.dtype)
    if dtype.kind == "c":
        msg = "no native order of complex numbers"
        raise NotLowered(msg)
    dtype = np.dtype(_COMPARED_AS.get(dtype.name, dtype))
    inputs = tuple(_contiguous(view, dtype, node, lowering) for view in (x, v))
    target, _ = lowering.compute(node.outputs[0], v.sizes)
    sizes = lowering.sizes
    options = {
        "n": sizes.canonical(x.sizes[0]),
        "count": sizes.product(list(v.sizes)),
        "right": op.side == "right",
    }
    lowering.steps.append(LibraryCall(SEARCH_SORTED, inputs, (target.array,), options, node))


def _contiguous(view: View, dtype: np.dtype[Any], node: Apply, lowering: Lowering) -> Array:
    """Return the elements of a view in memory order, in a dtype."""
    if view.array.dtype != dtype:
        return lowering.copied(view, node, dtype).array
    return lowering.contiguous(view, node).array
