"""Derivatives of Ops: ``pullback`` for ``L_op``, ``pushforward`` for ``R_op``, and ``ViewOp``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.gradient.marks import GradientMark
from phintys.graph import DisconnectedType, Op
from phintys.graph.null_type import disconnected_type

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["METHODS", "ViewOp", "view_op"]


def _pullback(
    self: Op, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]
) -> Any:
    """Return the gradients of inputs from those of outputs."""
    return self.L_op(inputs, outputs, cotangents)


def _pushforward(
    self: Op, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
) -> Any:
    """Return the tangents of outputs from those of inputs."""
    points = [None if isinstance(one.type, DisconnectedType) else one for one in tangents]
    return [disconnected_type() if one is None else one for one in self.R_op(inputs, points)]


def _R_op(self: Any, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
    """Return the tangents of outputs by the ``pushforward`` of a user's Op."""
    tangents = [disconnected_type() if one is None else one for one in eval_points]
    found = self.pushforward(inputs, self.make_node(*inputs).outputs, tangents)
    return [None if isinstance(one.type, DisconnectedType) else one for one in found]


_core_init_subclass: Any = vars(Op)["__init_subclass__"]


def _init_subclass(cls: type, **options: Any) -> None:
    """Give an Op that defines ``pullback`` or ``pushforward`` the methods of the same meaning."""
    own = vars(cls)
    for new, old, method in (
        ("pullback", "L_op", own.get("pullback")),
        ("pushforward", "R_op", _R_op),
    ):
        if new in own and old not in own:
            setattr(cls, old, method)
    _core_init_subclass.__func__(cls, **options)


METHODS: dict[str, Any] = {
    "__init_subclass__": classmethod(_init_subclass),
    "pullback": _pullback,
    "pushforward": _pushforward,
}
"""Methods of Ops while an old package is installed."""


class ViewOp(GradientMark):
    """Returns its input; subclasses define another ``grad``.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> from phintys.compat.derivatives import ViewOp
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
