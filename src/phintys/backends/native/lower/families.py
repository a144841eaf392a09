"""The rules that lower Ops. The modules that define them are imported for their first Op."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from phintys._base import index
from phintys.graph.rules import OpRules

if TYPE_CHECKING:
    from phintys.backends.native.lower.lowering import Lowering
    from phintys.graph.apply import Apply

__all__ = ["LOWERINGS", "lowers"]

LOWERINGS: OpRules[Callable[[Any, Apply, Lowering], None]] = OpRules("native code", index.LOWERINGS)
"""A rule ``(op, node, lowering)`` adds the steps for one node.

It calls :meth:`~.lowering.Lowering.bind` or :meth:`~.lowering.Lowering.compute` for each output. It
may raise :class:`~.lowering.NotLowered` before it adds any step; the node then becomes a callback.
"""

lowers = LOWERINGS.register
"""Decorator of rules: ``@lowers(Dot)``."""
