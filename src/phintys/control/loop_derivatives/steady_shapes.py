"""Which variables of a step have the same shape in all steps of a loop: only they can be stacked.

The shapes of what steps read and pass on are the same in all steps, which the loop checks. Others
follow from the Ops' ``infer_shape``, one node after the other: a size is steady if it is made of
steady sizes and steady values, such as captured ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import MethodNotDefinedError
from phintys.control.graph_ops.inner_shapes import sizes_of
from phintys.graph import contract
from phintys.graph.traversal import toposort
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

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.control.loops.loop_op import LoopOp
    from phintys.graph.apply import Apply

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
        made = op.step_outputs
        passed_on = (*made.carried, *made.untraced, *made.stacked)
        self._shapes = {*op.inner_inputs, *passed_on, *given}
        self._values: set[Variable] = set(op.step_inputs.captured)
        self._leaves = {*op.inner_inputs, *given}
        self._sizes: dict[Variable, Any] = {}  # found where kinds of Ops do not decide

    def __contains__(self, variable: Variable) -> bool:
        """Return whether a variable has the same shape in all steps."""
        return variable in self._shapes or is_of_known_shape(variable)

    def add(self, nodes: Iterable[Apply]) -> None:
        """Find what is steady of the results of nodes, given in topological order."""
        for node in nodes:
            if all(map(self._is_steady, node.inputs)) or self._reads_steady_shape(node):
                self._values.update(node.outputs)
                self._shapes.update(node.outputs)
            elif self._is_of_steady_shape(node):
                self._shapes.update(node.outputs)
            else:
                self._compare_sizes(node)

    def _is_steady(self, variable: Any) -> bool:
        return variable in self._values or isinstance(variable, Constant)

    def _reads_steady_shape(self, node: Apply) -> bool:
        return isinstance(node.op, Shape | ShapeI) and node.inputs[0] in self

    def _is_of_steady_shape(self, node: Apply) -> bool:
        """Return whether shapes are the same by the kind of an Op: quicker than by its sizes."""
        if isinstance(node.op, _BY_SHAPES):
            return all(v in self for v in node.inputs)
        if not isinstance(node.op, _BY_FIRST):
            return False
        first, *others = node.inputs
        return first in self and all(map(self._is_steady, others))

    def _compare_sizes(self, node: Apply) -> None:
        """Find the results of a node whose sizes are the same in all steps, as its Op says."""
        others = [output for output in node.outputs if output not in self]
        if not others:
            return
        if not self._sizes:
            self._sizes = {leaf: sizes_of(leaf) for leaf in self._leaves}
        for maker in toposort(others, self._sizes.keys()):
            self._sizes.update(zip(maker.outputs, self._inferred(maker), strict=True))
        for output in others:
            if all(map(self._is_steady_size, self._sizes[output])):
                self._shapes.add(output)

    def _inferred(self, node: Apply) -> list[Any]:
        sizes = self._sizes
        try:
            return contract.infer_shape(
                None, node, [sizes[v] if v in sizes else sizes_of(v) for v in node.inputs]
            )
        except MethodNotDefinedError:
            return [sizes_of(output) for output in node.outputs]

    def _is_steady_size(self, size: Any) -> bool:
        """Return whether a size is an expression of steady sizes and values."""
        stack: list[Any] = [size]
        steady: set[Variable] = set()
        while stack:
            variable = unchecked_size(stack.pop())
            if not isinstance(variable, Variable) or self._is_steady(variable):
                continue
            node = variable.owner
            if node is None or variable in self._leaves:
                return False
            if variable not in steady and not self._reads_steady_shape(node):
                stack += node.inputs
            steady.add(variable)
        self._values |= steady  # what they are made of is
        return True


def is_of_known_shape(variable: Any) -> bool:
    """Return whether all sizes of a variable are known while the graph is built."""
    return None not in getattr(variable.type, "shape", ())
