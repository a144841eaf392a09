"""Check of ``infer_shape`` against the shapes of values."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.errors import BadInferShape, add_note
from phintys.compile.debugging.running import protected, run_node
from phintys.graph.contract import defines, infer_shape
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

__all__ = ["check_shapes", "symbolic_shape"]

_SIZE = TensorType("int64", ())


def check_shapes(
    node: Apply, values: Sequence[Any], results: Sequence[Any], computed: Mapping[Variable, Any]
) -> None:
    """Check that ``infer_shape`` gives the shapes of the results.

    Parameters
    ----------
    node
        The node.
    values, results
        Values of its inputs and outputs.
    computed
        Values of other variables of the graph, on which a shape can depend.

    Raises
    ------
    BadInferShape
        A shape differs.
    """
    if not defines(node.op, "infer_shape"):
        return
    known = ChainMap(dict(zip(node.inputs, values, strict=True)), cast("Any", computed))
    shapes = [
        symbolic_shape(variable, value, known)
        for variable, value in zip(node.inputs, values, strict=True)
    ]
    try:
        inferred = infer_shape(None, node, shapes)
    except Exception as error:
        add_note(error, f"While its shapes were inferred for the node made at\n  {node.origin}")
        raise
    for index, shape in enumerate(inferred):
        if shape is None:
            continue
        sizes = [as_tensor_variable(size) for size in shape]
        _check_sizes(node, index, sizes)
        _evaluate(sizes, known)
        found = tuple(
            int(size.data if isinstance(size, Constant) else known[size]) for size in sizes
        )
        if found != np.shape(results[index]):
            msg = (
                f"{node.op}.infer_shape says that output {index} has the shape {found}; its value "
                f"has the shape {np.shape(results[index])}, for inputs of shapes "
                f"{[np.shape(value) for value in values]}.\n"
                f"Node: {node}, made at\n  {node.origin}"
            )
            raise BadInferShape(msg)


def _check_sizes(node: Apply, index: int, sizes: Sequence[Any]) -> None:
    for size in sizes:
        if size.ndim or size.type.numpy_dtype.kind not in "iu":
            msg = (
                f"{node.op}.infer_shape must return integers of rank 0 as sizes, but gave {size} "
                f"of type {size.type} for output {index}.\nNode: {node}, made at\n  {node.origin}"
            )
            raise BadInferShape(msg)


def symbolic_shape(variable: Variable, value: Any, known: MutableMapping[Variable, Any]) -> Any:
    """Return the sizes of an input: constants where its type is static, as in a real graph.

    The others are new variables, whose values are added to ``known``.
    """
    if not isinstance(variable.type, TensorType):
        return None
    sizes: list[Variable] = []
    for static, size in zip(variable.type.shape, value.shape, strict=True):
        if static is None:
            sizes.append(_SIZE.make_variable("size"))
            known[sizes[-1]] = np.array(size)
        else:
            sizes.append(_SIZE.make_constant(np.array(static)))
    return tuple(sizes)


def _evaluate(wanted: Sequence[Variable], known: MutableMapping[Variable, Any]) -> None:
    for node in toposort(wanted, blockers=known):
        values = [x.data if isinstance(x, Constant) else known[x] for x in node.inputs]
        known.update(zip(node.outputs, run_node(node, protected(node, values)), strict=True))
