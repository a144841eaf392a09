"""The rules of batching. The modules that define them are imported for their first Op."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base import index
from phintys.graph.rules import OpRules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

    Rule = Callable[[Apply, Any], Sequence[Variable] | None]

__all__ = ["BATCHING", "batches"]

BATCHING: OpRules[Rule] = OpRules("batching", index.BATCHING)
"""A rule ``(node, batch)`` returns a variable for each output of the node, for a batch of inputs.

A result has the axes of the batch before those of the output, or none of them if it is the same for
all items. A rule may return ``None``; the node is then computed item by item.
"""

batches = BATCHING.register
"""Decorator of rules: ``@batches(Dot)``."""
