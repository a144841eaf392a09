"""Which variables of a step have the same shape in all steps of a loop: only they can be stacked.

The shapes of what steps read and pass on are the same in all steps, which the loop checks. Others
follow from the Ops' ``infer_shape``, one node after the other: a size is steady if it is made of
steady sizes and steady values, such as captured ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import MethodNotDefinedError
from phintys.graph import contract
from phintys.graph.variable import Constant, Variable
from phintys.tensor.shapes import Shape, ShapeI
from phintys.tensor.size_check import unchecked_size
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.control.loops.loop_op import LoopOp
    from phintys.graph.apply import Apply

__all__ = ["SteadyShapes", "is_of_known_shape"]


class SteadyShapes:
    """The sizes of variables, as far as it matters whether they are the same in all steps.

    Parameters
    ----------
    op
        The loop.
    nodes
        Nodes between the inputs of a step and what depends on them, in topological order.
    given
        Variables besides the inputs of a step that are not computed by ``nodes``. Their shapes are
        the same in all steps.
    """

    def __init__(self, op: LoopOp, nodes: Iterable[Apply], given: Iterable[Variable]) -> None:
        self._size: Any = TensorType("int64", ())()
        """Stands for all sizes that are the same in all steps."""
        self._shapes: dict[Variable, Any] = {}
        self._steady: set[Variable] = {self._size, *op.step_inputs.captured}
        """Variables that have the same value in all steps."""
        made = op.step_outputs
        passed_on = (*made.carried, *made.untraced, *made.stacked)
        for variable in (*op.inner_inputs, *passed_on, *given):
            self._shapes[variable] = self._shape_of(variable)
        for node in nodes:
            self._add(node)

    def __contains__(self, variable: Variable) -> bool:
        """Return whether a variable has the same shape in all steps."""
        shape = self._shapes_of([variable])[0]
        return shape is not None and all(map(self._is_steady_size, shape))

    def _shape_of(self, variable: Any, unknown: Any = None) -> Any:
        """Return the sizes of a variable, with what stands for unknown ones."""
        shape = getattr(variable.type, "shape", None)
        if shape is None:
            return None
        return tuple((unknown or self._size) if n is None else n for n in shape)

    def _shapes_of(self, variables: Iterable[Variable]) -> list[Any]:
        return [self._shapes[v] if v in self._shapes else self._shape_of(v) for v in variables]

    def _is_steady_size(self, size: Any) -> bool:
        return not isinstance(size, Variable) or size in self._steady

    def _is_steady(self, variable: Variable) -> bool:
        return isinstance(variable, Constant) or variable in self._steady

    def _add(self, node: Apply) -> None:
        """Find the shapes of what a node computes, and whether its values are steady."""
        shapes = self._shapes_of(node.inputs)
        is_steady = self._reads_steady(node, shapes)
        if is_steady:
            self._steady.update(node.outputs)
        for output, shape in zip(node.outputs, self._inferred(node, shapes, is_steady), strict=True):
            self._shapes.setdefault(output, shape)

    def _reads_steady(self, node: Apply, shapes: Sequence[Any]) -> bool:
        """Return whether all that a node reads is the same in all steps."""
        if isinstance(node.op, Shape | ShapeI):
            return all(map(self._is_steady_size, shapes[0]))
        return all(map(self._is_steady, node.inputs))

    def _inferred(self, node: Apply, shapes: Sequence[Any], is_steady: bool) -> list[Any]:
        """Return the shapes of what a node computes."""
        if is_steady or all(is_of_known_shape(output) for output in node.outputs):
            return [self._shape_of(output) for output in node.outputs]
        try:
            found = contract.infer_shape(None, node, shapes)
        except MethodNotDefinedError:
            return [self._shape_of(output, _other_size()) for output in node.outputs]
        return [
            None if shape is None else tuple(self._settled(size, node) for size in shape)
            for shape in found
        ]

    def _settled(self, size: Any, node: Apply) -> Any:
        """Return what stands for a size that is an expression of what a node reads."""
        if self._is_steady_size(size):
            return size
        given = set(node.inputs)
        stack: list[Any] = [size]
        seen: set[Variable] = set()
        while stack:
            variable = unchecked_size(stack.pop())
            if variable in seen or self._is_steady(variable):
                continue
            seen.add(variable)
            maker = variable.owner
            if variable in given or maker is None:
                return _other_size()
            if isinstance(maker.op, Shape | ShapeI) and maker.inputs[0] in given:
                stack += self._shapes_of(maker.inputs)[0]
            else:
                stack += maker.inputs
        return self._size


def is_of_known_shape(variable: Any) -> bool:
    """Return whether all sizes of a variable are known while the graph is built."""
    return None not in getattr(variable.type, "shape", ())


def _other_size() -> Any:
    """Return a variable for sizes that may differ between the steps."""
    return TensorType("int64", ())()
