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
from phintys.tensor.creation import Alloc
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.indexing import Subtensor
from phintys.tensor.products import BatchedDot, Dot
from phintys.tensor.reduce import Reduce
from phintys.tensor.reshaping import Reshape
from phintys.tensor.shapes import Shape, ShapeI
from phintys.tensor.size_check import unchecked_size
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.control.loops.loop_op import LoopOp
    from phintys.graph.apply import Apply

__all__ = ["SteadyShapes", "is_of_known_shape"]

_BY_SHAPES = (Elemwise, DimShuffle, Reduce, Dot, BatchedDot)
"""Frequent Ops whose results have shapes that follow from those of their inputs alone."""

_BY_FIRST = (Subtensor, Reshape, Alloc)
"""Likewise, from the shape of the first input and the values of the others."""


class SteadyShapes:
    """The sizes of variables, as far as it matters whether they are the same in all steps.

    Parameters
    ----------
    op
        The loop.
    given
        Variables besides the inputs of a step whose shapes are the same in all steps.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import LoopArguments, Scan
    >>> from phintys.control.loop_derivatives.steady_shapes import SteadyShapes
    >>> from phintys.graph import FunctionGraph
    >>> t, h = pt.lscalar("t"), pt.dvector("h")
    >>> row, part = h * 2, h[:t]
    >>> step = FunctionGraph([t, h], [row * part.sum()], clone=False)
    >>> shapes = SteadyShapes(Scan(step, LoopArguments(taps=((-1,),))), [])
    >>> shapes.add(step.toposort())
    >>> row in shapes, part in shapes
    (True, False)
    """

    def __init__(self, op: LoopOp, given: Iterable[Variable]) -> None:
        self._size: Any = TensorType("int64", ())()  # stands for all that are steady
        self._values: set[Variable] = {self._size, *op.step_inputs.captured}
        made = op.step_outputs
        passed_on = (*made.carried, *made.untraced, *made.stacked)
        self._shapes = {*op.inner_inputs, *passed_on, *given}
        self._others: dict[Variable, Any] = {}  # the sizes of variables with some that differ

    def __contains__(self, variable: Variable) -> bool:
        """Return whether a variable has the same shape in all steps."""
        return variable in self._shapes or is_of_known_shape(variable)

    def add(self, nodes: Iterable[Apply]) -> None:
        """Find what is steady of the results of nodes, given in topological order."""
        for node in nodes:
            is_steady = self._reads_steady_values(node)
            if is_steady:
                self._values.update(node.outputs)
            if is_steady or self._is_of_steady_shape(node):
                self._shapes.update(node.outputs)
            elif not all(v in self for v in node.outputs):
                self._infer(node)

    def _reads_steady_values(self, node: Apply) -> bool:
        if isinstance(node.op, Shape | ShapeI):
            return node.inputs[0] in self
        return all(map(self._is_steady_value, node.inputs))

    def _is_steady_value(self, variable: Any) -> bool:
        return variable in self._values or isinstance(variable, Constant)

    def _is_of_steady_shape(self, node: Apply) -> bool:
        """Return whether shapes are the same by the kind of an Op: quicker than expressions."""
        if isinstance(node.op, _BY_SHAPES):
            return all(v in self for v in node.inputs)
        if not isinstance(node.op, _BY_FIRST):
            return False
        first, *others = node.inputs
        return first in self and all(map(self._is_steady_value, others))

    def _infer(self, node: Apply) -> None:
        """Find the sizes of what a node computes."""
        try:
            found = contract.infer_shape(None, node, list(map(self._sizes_of, node.inputs)))
        except MethodNotDefinedError:
            found = [[_other_size() for _ in self._sizes_of(v) or ()] for v in node.outputs]
        for output, sizes in zip(node.outputs, found, strict=True):
            if output in self:
                continue
            settled = [self._settled(size, node) for size in sizes or ()]
            if all(map(self._is_steady_size, settled)):
                self._shapes.add(output)
            else:
                self._others[output] = settled

    def _sizes_of(self, variable: Any) -> Sequence[Any] | None:
        """Return sizes of a variable, or what stands for them."""
        if variable in self._others:
            return self._others[variable]
        shape = getattr(variable.type, "shape", None)
        return None if shape is None else tuple(self._size if n is None else n for n in shape)

    def _is_steady_size(self, size: Any) -> bool:
        return not isinstance(size, Variable) or self._is_steady_value(size)

    def _settled(self, size: Any, node: Apply) -> Any:
        """Return what stands for a size that is an expression of what a node reads."""
        given = set(node.inputs)
        stack: list[Any] = [size]
        seen: set[Variable] = set()
        while stack:
            variable = unchecked_size(stack.pop())
            if self._is_steady_size(variable) or variable in seen:
                continue
            seen.add(variable)
            maker = variable.owner
            if variable in given or maker is None:
                return _other_size()
            if isinstance(maker.op, Shape | ShapeI) and maker.inputs[0] in given:
                stack += self._sizes_of(maker.inputs[0]) or ()
            else:
                stack += maker.inputs
        return self._size


def is_of_known_shape(variable: Any) -> bool:
    """Return whether all sizes of a variable are known while the graph is built."""
    return None not in getattr(variable.type, "shape", ())


def _other_size() -> Any:
    """Return a variable for sizes that may differ between the steps."""
    return TensorType("int64", ())()
