"""The shapes of what Python code returns, as far as its Op promises them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.errors import MethodNotDefinedError
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.view import View
from phintys.backends.native.values import Array
from phintys.control.graph_ops.inner_shapes import sizes_of
from phintys.graph import contract

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.lower.lowering import Lowering
    from phintys.backends.native.values import Value
    from phintys.graph.apply import Apply


def use_promised_shapes(node: Apply, outputs: Sequence[Value], lowering: Lowering) -> None:
    """Check that outputs of Python code have the lengths of inputs that its Op promises.

    Memory for what a loop computes from them can then be allocated before the loop.

    Parameters
    ----------
    node
        The node, which has just been carried out.
    outputs
        Its results.
    lowering
        The state of lowering.
    """
    shapes = [sizes_of(variable) for variable in node.inputs]
    try:
        promised = contract.infer_shape(None, node, shapes)
    except MethodNotDefinedError:
        return
    places = {
        id(size): (position, axis)
        for position, shape in enumerate(shapes)
        for axis, size in enumerate(shape or ())
        if not isinstance(size, int)
    }
    for variable, value, shape in zip(node.outputs, outputs, promised, strict=True):
        if not variable.type.holds_arrays or not isinstance(value, Array):
            continue
        sizes = list(value.sizes)
        for axis, size in enumerate(shape or ()):
            place = places.get(id(size))
            if place is None or sizes[axis].known is not None:
                continue
            sizes[axis] = lowering.view(node.inputs[place[0]]).sizes[place[1]]
            failure = Failure(node, "promised", f"dimension {axis}: {{0}} and {{1}}")
            lowering.require_equal(value.sizes[axis], sizes[axis], failure)
        whole = View.of(value, lowering.sizes)
        lowering.bind(variable, View(value, whole.maps, tuple(sizes)), is_part=True)
