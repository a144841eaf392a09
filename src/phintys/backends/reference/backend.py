"""The backend object: named options of the virtual machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from phintys._base.config import config
from phintys._base.records import record
from phintys.backends.base import register_backend
from phintys.backends.reference.vm import VM

if TYPE_CHECKING:
    from phintys.backends.measurements import Profiler
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph

__all__ = ["ReferenceBackend"]


@record(frozen=True)
class ReferenceBackend:
    """Run graphs node by node in Python, with each Op's ``make_thunk`` or ``perform``.

    Parameters
    ----------
    allow_gc
        Free intermediate results after their last use; otherwise keep them, so that Ops can reuse
        their memory for the results of the next call. ``None`` follows ``config.allow_gc``.
    debug
        Call ``debug_perform`` of Ops that define it, and give every Op new output cells.
    before_node
        Called before each node with the node and the values of its inputs.
    after_node
        Called after each node with the node, the values of its inputs and those of its outputs.

    Examples
    --------
    >>> from phintys.backends.reference import ReferenceBackend
    >>> ReferenceBackend(allow_gc=False).name
    'reference'
    """

    allow_gc: bool | None = None
    debug: bool = False
    before_node: Callable[[Apply, Sequence[Any]], None] | None = None
    after_node: Callable[[Apply, Sequence[Any], Sequence[Any]], None] | None = None

    @property
    def name(self) -> str:
        """Return ``"reference"``."""
        return "reference"

    def link(self, fgraph: FunctionGraph, *, profiler: Profiler | None = None) -> VM:
        """Return the virtual machine for a graph."""
        allow_gc = config.allow_gc if self.allow_gc is None else self.allow_gc
        return VM(
            fgraph,
            allow_gc=allow_gc or self.debug,
            debug=self.debug,
            before_node=self.before_node,
            after_node=self.after_node,
            profiler=profiler,
            link=self.link,
        )


register_backend("reference", ReferenceBackend())
