"""MonitorMode: a mode that calls functions before and after each node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phintys.backends.reference import VM
from phintys.compile.mode import Mode

if TYPE_CHECKING:
    from phintys.backends.measurements import Profiler
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.rewriting import Pipeline

    Hook = Callable[["FunctionGraph", int, Apply, "NodeCall"], None]


@dataclass(frozen=True)
class NodeCall:
    """The values of a node that is run.

    Attributes
    ----------
    inputs, outputs : list of list
        A cell, a list of length 1, for each input and output. Those of the outputs hold ``None``
        before the node is run.
    """

    inputs: list[list[Any]]
    outputs: list[list[Any]]


@dataclass(frozen=True)
class _MonitorBackend:
    """The reference backend with hooks."""

    pre_func: Hook | None
    post_func: Hook | None

    @property
    def name(self) -> str:
        """Return ``"monitor"``."""
        return "monitor"

    def link(self, fgraph: FunctionGraph, *, profiler: Profiler | None = None) -> VM:
        """Return the virtual machine for a graph."""
        places: dict[Apply, int] = {}
        pre, post = self.pre_func, self.post_func

        def before(node: Apply, inputs: Sequence[Any]) -> None:
            if pre is not None:
                cells = [[value] for value in inputs]
                pre(fgraph, places[node], node, NodeCall(cells, [[None] for _ in node.outputs]))

        def after(node: Apply, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
            if post is not None:
                cells = [[value] for value in inputs]
                post(fgraph, places[node], node, NodeCall(cells, [[value] for value in outputs]))

        vm = VM(fgraph, before_node=before, after_node=after, profiler=profiler)
        places.update((node, place) for place, node in enumerate(vm.nodes))
        return vm


class MonitorMode(Mode):
    """A mode that calls functions before and after each node, on the reference backend.

    Parameters
    ----------
    pre_func, post_func
        Called as ``pre_func(fgraph, i, node, fn)``: the graph, the position of the node in the
        execution order, the node, and its values in cells, ``fn.inputs[0][0]`` and
        ``fn.outputs[0][0]``. They must not modify the values.
    pipeline
        The passes; none by default.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> def show(fgraph, i, node, fn):
    ...     print(i, node.op, [cell[0].tolist() for cell in fn.inputs], fn.outputs[0][0].tolist())
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], pt.exp(-x), mode=phintys.MonitorMode(post_func=show))
    >>> f([0.0])
    0 Neg [[0.0]] [-0.0]
    1 Exp [[-0.0]] [1.0]
    array([1.])
    """

    def __init__(
        self,
        pre_func: Hook | None = None,
        post_func: Hook | None = None,
        pipeline: Pipeline | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(_MonitorBackend(pre_func, post_func), pipeline, name=name)
