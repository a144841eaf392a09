"""The shapes of the variables of an inner graph, from those of its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import MethodNotDefinedError
from phintys.graph import contract
from phintys.graph.traversal import io_toposort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable


def shapes_of_outputs(
    inputs: Sequence[Variable], input_shapes: Sequence[Any], outputs: Sequence[Variable]
) -> list[Any]:
    """Return the shapes that the Ops of a graph infer for its outputs.

    Parameters
    ----------
    inputs
        The inputs of the graph.
    input_shapes
        Their shapes, each a tuple of sizes, or ``None`` if the Type has no shape.
    outputs
        The outputs.

    Returns
    -------
    list
        For each output a tuple of sizes, or ``None`` if its Type has no shape.
    """
    shapes: dict[Variable, Any] = dict(zip(inputs, input_shapes, strict=True))
    for node in io_toposort(inputs, outputs):
        given = [shapes[v] if v in shapes else sizes_of(v) for v in node.inputs]
        try:
            found = contract.infer_shape(None, node, given)
        except MethodNotDefinedError:
            found = [sizes_of(variable) for variable in node.outputs]
        shapes.update(zip(node.outputs, found, strict=True))
    return [shapes[output] if output in shapes else sizes_of(output) for output in outputs]


def sizes_of(variable: Any) -> Any:
    """Return the shape of a variable as sizes; ``None`` if its Type has no shape."""
    shape = getattr(variable.type, "shape", None)
    if shape is None:
        return None
    return tuple(variable.shape[i] if n is None else n for i, n in enumerate(shape))
