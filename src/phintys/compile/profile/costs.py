"""Operation counts and sizes of nodes, from the shapes of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import MethodNotDefinedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


def flops_of(node: Apply, shapes: Mapping[Variable, Any]) -> tuple[float | None, int | None]:
    """Return the floating-point operations of a node and the bytes of its outputs.

    Parameters
    ----------
    node
        The node.
    shapes
        Results of ``Type.get_shape_info`` for values.

    Returns
    -------
    flops : float or None
        ``None`` if the Op has no method ``flops``, or a shape is missing.
    size : int or None
        ``None`` if a shape is missing, or a Type has no ``get_size``.
    """
    outputs = [_shape(variable, shapes) for variable in node.outputs]
    if any(shape is None for shape in outputs):
        return None, None
    try:
        size = sum(
            variable.type.get_size(shape)
            for variable, shape in zip(node.outputs, outputs, strict=True)
        )
    except MethodNotDefinedError:
        size = None
    inputs = [_shape(variable, shapes) for variable in node.inputs]
    count = getattr(node.op, "flops", None)
    if count is None or any(shape is None for shape in inputs):
        return None, size
    return float(count(inputs, outputs)), size


def _shape(variable: Variable, shapes: Mapping[Variable, Any]) -> Any:
    found = shapes.get(variable)
    if found is not None or not hasattr(variable, "data"):
        return found
    try:
        return variable.type.get_shape_info(variable.data)  # pyright: ignore[reportAttributeAccessIssue]
    except MethodNotDefinedError:
        return None
