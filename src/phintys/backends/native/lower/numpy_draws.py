"""Lowering of draws by the methods of NumPy's generators.

The generator is copied in Python, by a callback of :class:`CopyGenerator`; NumPy's own C functions
draw from the copy, which has no other references. So they need neither the GIL nor the generator's
lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.expressions import Conversion
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.lower.view import View
from phintys.backends.native.routines.numpy_draws import (
    BOUNDED,
    DRAWS,
    NUMPY_BOUNDED,
    NUMPY_DRAW,
)
from phintys.backends.native.routines.numpy_functions import has_numpy_function
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.variable import Constant
from phintys.random.bits.states import RandomType
from phintys.random.generators.numpy_draws import NumpyDraw, NumpyIntegers
from phintys.random.generators.numpy_generators import CopyGenerator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array
    from phintys.graph.apply import Apply


@lowers(NumpyDraw)
def lower_numpy_draw(op: NumpyDraw, node: Apply, lowering: Lowering) -> None:
    """``draw[i] = random_normal(&bits, loc[i], scale[i])``."""
    function = DRAWS.get((op.name, op.dtype))
    if function is None:
        msg = f"{op.name} of {op.dtype} is not one function of NumPy"
        raise NotLowered(msg)
    draw = _Draw(node, function.symbol, lowering)
    parameters = [
        draw.parameter(view, dtype) for view, dtype in zip(draw.views, function.dtypes, strict=True)
    ]
    draw.call(NUMPY_DRAW, parameters, {"function": function})


@lowers(NumpyIntegers)
def lower_numpy_integers(op: NumpyIntegers, node: Apply, lowering: Lowering) -> None:
    """``draw = random_bounded_uint64_fill(&bits, low, high - 1 - low)``."""
    if op.dtype not in BOUNDED:
        msg = f"integers of {op.dtype} are drawn several at once"
        raise NotLowered(msg)
    draw = _Draw(node, BOUNDED[op.dtype], lowering)
    if any(view.array.dtype.kind not in "bi" for view in draw.views):
        msg = "an end of the integers is not of a signed dtype"
        raise NotLowered(msg)
    if not all(map(_is_single, draw.views)):
        msg = "several ends of the integers"
        raise NotLowered(msg)
    draw.call(NUMPY_BOUNDED, [draw.parameter(view, "int64") for view in draw.views], {})


class _Draw:
    """A draw that is being lowered.

    Parameters
    ----------
    node
        The node.
    symbol
        The C function.
    lowering
        Where it is added.
    """

    def __init__(self, node: Apply, symbol: str, lowering: Lowering) -> None:
        rng, size, *parameters = node.inputs
        if isinstance(rng.type, RandomType) or node.op.inplace:  # pyright: ignore[reportAttributeAccessIssue]
            msg = "the generator is not copied"
            raise NotLowered(msg)
        if not has_numpy_function(symbol):
            msg = f"the installed NumPy does not export {symbol}"
            raise NotLowered(msg)
        self._node, self._lowering = node, lowering
        self.views = [lowering.view(one) for one in parameters]
        if any(
            view.array.dtype.kind not in "bif" or view.array.dtype.itemsize > 8
            for view in self.views
        ):
            msg = "a parameter is not of a signed or floating dtype"
            raise NotLowered(msg)
        self._lengths = self._sizes(size)
        for view in self.views:
            for length, whole in zip(view.sizes, self._lengths, strict=True):
                if length.known != 1 and lowering.sizes.canonical(length) is not whole:
                    msg = "parameters may broadcast when the function runs"
                    raise NotLowered(msg)

    def _sizes(self, size: Any) -> list[Size]:
        """Return the lengths of the draw."""
        lowering, sizes = self._lowering, self._lowering.sizes
        if not isinstance(size, Constant) or size.data is not None:
            view = lowering.view(size)
            count = self._node.outputs[1].type.ndim  # pyright: ignore[reportAttributeAccessIssue]
            return [sizes.canonical(lowering.element(view, (at,))) for at in range(count)]
        axes = zip(*(view.sizes for view in self.views), strict=True)
        longest = [next((one for one in axis if one.known != 1), axis[0]) for axis in axes]
        return [sizes.canonical(one) for one in longest]

    def parameter(self, view: View, dtype: str) -> Array:
        """Return a parameter in memory: one element, or one for each number."""
        lowering, sizes = self._lowering, self._lowering.sizes
        lengths = () if _is_single(view) else tuple(self._lengths)
        target = lowering.array(np.dtype(dtype), lengths)
        loops = lowering.loops(lengths)
        own = [
            None if one.known == 1 else loop
            for one, loop in zip(view.sizes, loops or [None] * view.ndim, strict=True)
        ]
        value = lowering.load(view, own)
        if view.array.dtype != target.dtype:
            value = Conversion(value, target.dtype)
        lowering.store(View.of(target, sizes), value, loops, nodes=(self._node,))
        return target

    def call(self, routine: Any, parameters: Sequence[Array], options: dict[str, Any]) -> None:
        """Add the copy of the generator, and the call that draws from it."""
        node, lowering, sizes = self._node, self._lowering, self._lowering.sizes
        after, draw = node.outputs
        copy = CopyGenerator().make_node(node.inputs[0])
        copy.outputs[0].name = after.name
        for length in self._lengths:
            lowering.require_length(length, Failure(node, "size", "a negative length", ValueError))
        target, _ = lowering.compute(draw, self._lengths)
        lowering.callback(copy, "NumPy's generators are objects of Python")
        lowering.bind_same(after, copy.outputs[0])
        address = lowering.view(copy.outputs[1]).array
        options = {"count": sizes.product(list(self._lengths)), **options}
        refused = Failure(node, "parameters", "NumPy does not draw with them", ValueError)
        inputs = (address, *parameters)
        lowering.steps.append(
            LibraryCall(routine, inputs, (target.array,), options, node, failure=refused)
        )


def _is_single(view: View) -> bool:
    return all(length.known == 1 for length in view.sizes)
