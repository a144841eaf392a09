"""Fence: values that are passed on only when others have been computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.variable import Constant, Variable
from phintys.tensor.shape_rules import S, ShapedOp, Shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.fgraph import FunctionGraph


class Fence(ShapedOp):
    """``(*values, *others)`` to ``values``, after all of them have been computed.

    What depends on an output is computed after all inputs, and is not equal to what is computed
    from the values themselves: common subexpressions are not merged across a fence. Use
    :func:`fence` to apply it.

    Parameters
    ----------
    count
        The number of values.
    """

    __props__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count
        self.view_map = {o: [o] for o in range(count)}

    def __str__(self) -> str:
        return "Fence"

    def make_node(self, *inputs: Variable) -> Apply:
        """Apply to the values and the other variables, of any Types."""
        return Apply(self, inputs, [one.type() for one in inputs[: self.count]])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Return the values themselves."""
        for value, cell in zip(inputs, output_storage, strict=False):
            cell[0] = value

    def do_constant_folding(self, fgraph: FunctionGraph | None, node: Apply) -> bool:
        """Return ``False``: it has no work to do."""
        return False

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the shapes of the values."""
        return list(shapes.shapes[: self.count])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return ``[input][output] -> bool``: each output depends on its own value."""
        return [[at == o for o in range(self.count)] for at in range(len(node.inputs))]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients of the outputs for the values."""
        return [*output_grads, *(disconnected_type() for _ in inputs[self.count :])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the tangents of the values."""
        return list(eval_points[: self.count])


def fence(values: Sequence[Variable], others: Sequence[Variable] = ()) -> list[Any]:
    """Return variables with the same values, available once all of the variables are.

    Parameters
    ----------
    values
        Variables of any Types. Constants are returned as they are.
    others
        Variables that must be computed before.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control.fences import fence
    >>> x, y = pt.dvectors("x", "y")
    >>> (later,) = fence([x], [pt.exp(y)])
    >>> later.owner
    Fence(x, Exp.0)
    """
    held = [one for one in dict.fromkeys(values) if not isinstance(one, Constant)]
    known = set(held)
    after = [
        one for one in dict.fromkeys(others) if one not in known and not isinstance(one, Constant)
    ]
    if not held:
        return list(values)
    passed = dict(zip(held, Fence(len(held))(*held, *after, return_list=True), strict=True))
    return [passed.get(one, one) for one in values]
