"""``ViewOp``: the identity, from which programs derive Ops with a gradient of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.gradient.marks import GradientMark

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ViewOp", "view_op"]


class ViewOp(GradientMark):
    """Returns its input; subclasses define another ``grad``.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> from phintys.compat.views import ViewOp
    >>> class Reversed(ViewOp):
    ...     def grad(self, inputs, output_grads):
    ...         return [-output_grads[0]]
    >>> x = pt.dscalar("x")
    >>> phintys.grad(Reversed()(x) ** 2, x).eval({x: 3.0})
    array(-6.)
    """

    def grad(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> Sequence[Any]:
        """Return the gradient of the output."""
        return output_grads

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> Sequence[Any]:
        """Return the tangent of the input."""
        return eval_points


view_op = ViewOp()
