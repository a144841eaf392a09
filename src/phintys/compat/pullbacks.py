"""The newest names of derivatives: ``pullback`` for ``L_op`` and ``Lop``, ``pushforward`` for R."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.compat.functions import Lop, Rop
from phintys.graph import DisconnectedType, Op
from phintys.graph.null_type import disconnected_type

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["METHODS", "pullback", "pushforward"]


def pullback(f: Any, wrt: Any, cotangents: Any, *arguments: Any, **options: Any) -> Any:
    """Return ``cotangents`` times the Jacobian; see :func:`phintys.Lop`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.pullbacks import pullback
    >>> x, v = pt.dvectors("x", "v")
    >>> pullback(x**2, x, v).eval({x: [3.0], v: [2.0]})
    array([12.])
    """
    return Lop(f, wrt, cotangents, *arguments, **options)


def pushforward(
    f: Any,
    wrt: Any,
    tangents: Any,
    disconnected_outputs: Any = "raise",
    return_disconnected: Any = "zero",
    use_op_pushforward: bool = False,
) -> Any:
    """Return the Jacobian times ``tangents``; see :func:`phintys.Rop`.

    Raises
    ------
    ForwardError
        It does not exist.
    """
    return Rop(
        f,
        wrt,
        tangents,
        disconnected_outputs,
        return_disconnected,
        use_op_rop_implementation=use_op_pushforward,
    )


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
