"""A hook for the Ops around functions whose gradients are special.

These Ops have an inner graph, whose gradients need the engines of this room; so they are in a
higher layer, which registers them when it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import PhintysError

if TYPE_CHECKING:
    from collections.abc import Callable

    OpMaker = Callable[..., Any]

__all__ = ["make_op", "set_graph_ops"]

_makers: dict[str, OpMaker] = {}


def set_graph_ops(**makers: OpMaker) -> None:
    """Register what :func:`make_op` calls; called once, by the room of Ops made of graphs."""
    _makers.update(makers)


def make_op(kind: str, *arguments: Any, **options: Any) -> Any:
    """Return an Op.

    Parameters
    ----------
    kind
        ``"custom_gradient"`` or ``"checkpoint"``.
    arguments, options
        Those of the class.

    Raises
    ------
    PhintysError
        ``phintys.control`` has not been imported.
    """
    if kind not in _makers:
        msg = f"{kind} needs the Ops of phintys.control: import phintys first."
        raise PhintysError(msg)
    return _makers[kind](*arguments, **options)
