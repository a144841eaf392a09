"""Lowering of searches: in sorted vectors, and of the positions of extremes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.expressions import Expression, Literal
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.integers import when
from phintys.backends.native.lower.lowering import Lowering, NotLowered, lowers
from phintys.backends.native.lower.reduce import reduce_into, require_elements
from phintys.backends.native.lower.shapes import alias
from phintys.backends.native.lower.view import View
from phintys.backends.native.routines.searching import SEARCH_SORTED
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.extremes import ArgExtremeAlong, Argmax, Argmin
from phintys.tensor.searching import SearchSorted

if TYPE_CHECKING:
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


# ---- positions of extremes -----------------------------------------------------------------------


@lowers(Argmax, Argmin)
def lower_argmax(op: Argmax | Argmin, node: Apply, lowering: Lowering) -> None:
    """``out[i] = argmax(j) x[i, j]``."""
    view = lowering.view(node.inputs[0])
    _expect_order(view)
    axes = op.axes(view.ndim)
    require_elements(view, axes, node, lowering)
    loops = lowering.loops(view.sizes)
    kept = [axis for axis in range(view.ndim) if axis not in axes]
    target, _ = lowering.compute(node.outputs[0], [view.sizes[axis] for axis in kept])
    if all(loops[axis] is None for axis in axes):
        value: Expression = Literal(np.int64(0), np.dtype("int64"))
    else:
        value = lowering.load(view, loops)
    reduce_into(target, value, loops, axes, f"arg{op.which}", node, lowering)


def _expect_order(view: View) -> None:
    if view.array.dtype.kind == "c":
        msg = "no native order of complex numbers"
        raise NotLowered(msg)


@lowers(ArgExtremeAlong)
def lower_arg_extreme_along(op: ArgExtremeAlong, node: Apply, lowering: Lowering) -> None:
    """``out[i, k] = argmax(j) x[i, j, k]``, with x as an array of three axes.

    Their lengths depend on the axis; the memory is the same for each axis.
    """
    sizes = lowering.sizes
    x = lowering.view(node.inputs[0])
    _expect_order(x)
    ndim = x.ndim
    axis = lowering.size_of(node.inputs[1])
    if axis.known is not None and not -ndim <= axis.known < ndim:
        msg = f"there is no axis {axis}"
        raise NotLowered(msg)
    zero, one = sizes.fixed(0), sizes.fixed(1)
    is_there = sizes.mul(
        sizes.arithmetic("lt", sizes.fixed(-ndim - 1), axis),
        sizes.arithmetic("lt", axis, sizes.fixed(ndim)),
    )
    lowering.require(is_there, Failure(node, "axis", "the axis"))
    axis = when(sizes, sizes.arithmetic("lt", axis, zero), sizes.add(axis, sizes.fixed(ndim)), axis)
    is_after = [sizes.arithmetic("lt", axis, sizes.fixed(dim)) for dim in range(ndim)]
    is_before = [sizes.arithmetic("lt", sizes.fixed(dim), axis) for dim in range(ndim)]
    before, after = (
        sizes.product(
            [when(sizes, flag, size, one) for flag, size in zip(flags, x.sizes, strict=True)]
        )
        for flags in (is_before, is_after)
    )
    lowering.require_lengths([before, after], node)
    length = zero
    for first, last, size in zip(is_before, is_after, x.sizes, strict=True):
        is_it = sizes.sub(one, sizes.add(first, last))
        length = sizes.add(length, sizes.mul(is_it, size))
    there_is = sizes.arithmetic("lt", zero, length)
    lowering.require(there_is, Failure(node, "empty", "the axis"))
    shown = alias(lowering.contiguous(x, node).array, [before, length, after], lowering)
    source = View.of(shown, sizes)
    found = View.of(lowering.array("int64", [before, after]), sizes)
    loops = lowering.loops(source.sizes)
    value: Expression = lowering.load(source, loops)
    if loops[1] is None:
        value = Literal(np.int64(0), np.dtype("int64"))
    reduce_into(found, value, loops, (1,), f"arg{op.which}", node, lowering)
    kept = [
        when(sizes, is_after[dim + 1], x.sizes[dim + 1], x.sizes[dim]) for dim in range(ndim - 1)
    ]
    lowering.bind(node.outputs[0], View.of(alias(found.array, kept, lowering), sizes))
