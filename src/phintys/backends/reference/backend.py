"""The reference backend: a virtual machine that runs every Op by its own methods.

All state that a call modifies is in a :class:`Machine`. A call takes an idle machine, or creates
one, so that threads and recursive calls never share cells; without them there is just one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.config import config
from phintys._base.records import record
from phintys.backends.base import LinkedProgram, register_backend
from phintys.backends.inner import InnerPrograms, WithinNode
from phintys.backends.reference.lazy import Demand, LazyCall
from phintys.backends.reference.machine import Machine, MachinePlan
from phintys.backends.reference.measuring import NodeMeasurements, Watch
from phintys.graph.inner import HasInnerGraph, require_calls

if TYPE_CHECKING:
    from phintys.backends.measurements import Profiler
    from phintys.backends.reference.measuring import AfterNode, BeforeNode
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import ComputeMap, StorageMap


# ---- the virtual machine -------------------------------------------------------------------------


_MOST_IDLE = 16


class VM:
    """A program of the reference backend.

    Parameters
    ----------
    fgraph
        The graph; must not be modified afterwards.
    allow_gc
        Free intermediate results after their last use.
    debug
        Use ``debug_perform`` of Ops that define it.
    before_node
        Called before each node with the node and its input values.
    after_node
        Called after each node with the node, its input values and its output values.
    profiler
        Receives the measurements of each node.
    link
        Returns a program for an inner graph; by default a machine without the two hooks.

    Attributes
    ----------
    storage_map, compute_map : dict
        Cells of the machine that the next call uses.
    """

    def __init__(
        self,
        fgraph: FunctionGraph,
        *,
        allow_gc: bool = True,
        debug: bool = False,
        before_node: BeforeNode | None = None,
        after_node: AfterNode | None = None,
        profiler: Profiler | None = None,
        link: Callable[..., LinkedProgram] | None = None,
    ) -> None:
        link = link or partial(VM, allow_gc=allow_gc, debug=debug)

        def link_inner(node: Apply, op: HasInnerGraph) -> LinkedProgram:
            require_calls(op)
            within = None if profiler is None else WithinNode(profiler, node)
            return link(op.fgraph, profiler=within)

        self.plan = MachinePlan(
            fgraph, allow_gc=allow_gc, debug=debug, programs=InnerPrograms(link_inner)
        )
        measurements: NodeMeasurements | None = None
        if profiler is not None:
            measurements = NodeMeasurements(self.plan.nodes)
            profiler.watch(measurements)
        self._watch = Watch(before_node, after_node, measurements)
        # Created now, so that an Op whose make_thunk fails is reported when the function is
        # compiled.
        self._idle = [Machine(self.plan)]
        lazy = self._idle[0].lazy
        self._demand = Demand(self.plan, lazy) if lazy else None
        self._is_plain = self._watch.is_idle and not lazy

    @property
    def is_lazy(self) -> bool:
        """Whether a thunk is lazy, so that calls compute only what is needed."""
        return self._demand is not None

    @property
    def nodes(self) -> list[Apply]:
        """The nodes in the order of execution."""
        return self.plan.nodes

    @property
    def allow_gc(self) -> bool:
        """Whether intermediate results are freed after their last use."""
        return self.plan.allow_gc

    @property
    def storage_map(self) -> StorageMap:
        """Variable -> cell, of the machine that the next call uses."""
        return self._peek().storage_map

    @property
    def compute_map(self) -> ComputeMap:
        """Variable -> state, of the machine that the next call uses."""
        return self._peek().compute_map

    def _peek(self) -> Machine:
        if not self._idle:
            self._idle.append(Machine(self.plan))
        return self._idle[-1]

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs."""
        # Taking from and adding to a list is atomic, so no lock is needed.
        try:
            machine = self._idle.pop()
        except IndexError:
            machine = Machine(self.plan)
        # A machine whose call failed is dropped, since the state of its cells is unknown.
        # NaN and infinities are ordinary results, as in native code: NumPy need not warn.
        with np.errstate(all="ignore"):
            if self._is_plain:
                results = machine.run(inputs)
            elif self._demand is not None:
                results = LazyCall(machine, self._demand, self._watch).run(inputs)
            else:
                results = machine.run_watched(inputs, self._watch)
        if len(self._idle) < _MOST_IDLE:
            self._idle.append(machine)
        return results

    def free(self) -> None:
        """Release the results that were kept for the next call."""
        self._idle = []
        self.plan.programs.free()


# ---- the backend ---------------------------------------------------------------------------------


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
