"""Features of older packages: an index of nodes, a history, and validated replacements.

Phintys itself uses ``FunctionGraph.replace_all_validate``, and rules that are indexed by Op.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from phintys._base.errors import InconsistencyError
from phintys.graph import aliasing
from phintys.graph.features import AlreadyThere, Feature

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable

__all__ = [
    "Bookkeeper",
    "DestroyHandler",
    "History",
    "NodeFinder",
    "PreserveVariableAttributes",
    "ReplaceValidate",
    "Validator",
]


class Bookkeeper(Feature):
    """Base class of features that track nodes: attaching imports all, detaching prunes all."""

    def on_attach(self, fgraph: FunctionGraph) -> None:
        for node in fgraph.toposort():
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph: FunctionGraph) -> None:
        for node in reversed(fgraph.toposort()):
            self.on_prune(fgraph, node, "on_detach")


class _Methods(Feature):
    """A feature of which some methods become those of the graph, as in the old packages."""

    lent: tuple[str, ...] = ()

    def _lend(self, fgraph: FunctionGraph) -> None:
        for name in self.lent:
            if not hasattr(fgraph, name):
                setattr(fgraph, name, getattr(self, name))

    def _take_back(self, fgraph: FunctionGraph) -> None:
        for name in self.lent:
            if getattr(vars(fgraph).get(name), "__self__", None) is self:
                delattr(fgraph, name)


class NodeFinder(Bookkeeper, _Methods):
    """An index of the nodes of a graph by Op.

    Examples
    --------
    >>> from phintys.compat.features import NodeFinder
    >>> from phintys.graph import Apply, FunctionGraph, Op, Type
    >>> anything, f = Type(), Op()
    >>> x = anything("x")
    >>> fgraph = FunctionGraph([x], [Apply(f, [x], [anything("y")]).out], clone=False)
    >>> finder = NodeFinder()
    >>> fgraph.attach_feature(finder)
    >>> finder.get_nodes(f), fgraph.get_nodes(Op())
    ((Op(x),), ())
    """

    lent = ("get_nodes",)

    def __init__(self) -> None:
        self.nodes: dict[Op, dict[Apply, None]] = {}

    def on_attach(self, fgraph: FunctionGraph) -> None:
        self.nodes = {}
        self._lend(fgraph)
        super().on_attach(fgraph)

    def on_detach(self, fgraph: FunctionGraph) -> None:
        self._take_back(fgraph)
        super().on_detach(fgraph)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self.nodes.setdefault(node.op, {})[node] = None

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        nodes = self.nodes[node.op]
        del nodes[node]
        if not nodes:
            del self.nodes[node.op]

    def get_nodes(self, op: Op) -> tuple[Apply, ...]:
        """Return the nodes that apply ``op`` or an equal Op, in the order of their import."""
        return tuple(self.nodes.get(op, ()))

    def __getstate__(self) -> dict[str, Any]:
        return {"nodes": {}}  # rebuilt when attached


class PreserveVariableAttributes(Feature):
    """Gives the name of a variable to the one that replaces it, if that has none."""

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object,
    ) -> None:
        if old.name is not None and new.name is None:
            new.name = old.name


class _Attached(_Methods):
    """A feature that is attached to at most one graph, which has no other of its class."""

    _fgraph: FunctionGraph | None = None

    def on_attach(self, fgraph: FunctionGraph) -> None:
        if any(type(other) is type(self) for other in fgraph.features):
            msg = f"{fgraph} has a {type(self).__name__} already."
            raise AlreadyThere(msg)
        if self._fgraph is not None:
            msg = (
                f"This {type(self).__name__} is attached to another graph ({self._fgraph}). "
                "Attach a new one to each graph."
            )
            raise InconsistencyError(msg)
        self._fgraph = fgraph
        self._lend(fgraph)

    def on_detach(self, fgraph: FunctionGraph) -> None:
        self._take_back(fgraph)
        self._fgraph = None

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph that the feature is attached to."""
        if self._fgraph is None:
            msg = f"This {type(self).__name__} is attached to no graph: call attach_feature first."
            raise InconsistencyError(msg)
        return self._fgraph

    def __getstate__(self) -> dict[str, Any]:
        return {}


class History(_Attached):
    """Records the changes of a graph, so that they can be undone.

    Only replaced inputs and outputs are recorded; ``replace`` makes no other changes.

    Examples
    --------
    >>> from phintys.compat.features import History
    >>> from phintys.graph import Apply, FunctionGraph, Op, Type
    >>> anything, f = Type(), Op()
    >>> x = anything("x")
    >>> y = Apply(f, [x], [anything("y")]).out
    >>> fgraph = FunctionGraph([x], [y], clone=False)
    >>> history = History()
    >>> fgraph.attach_feature(history)
    >>> before = fgraph.checkpoint()
    >>> fgraph.replace(y, x)
    >>> fgraph.outputs
    [x]
    >>> fgraph.revert(before)
    >>> fgraph.outputs
    [y]
    """

    lent = ("checkpoint", "revert")

    def __init__(self) -> None:
        self._log: list[tuple[Apply | Literal["output"], int, Variable]] = []
        self._reverting = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        super().on_attach(fgraph)
        self._log = []
        self._reverting = False

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object,
    ) -> None:
        if not self._reverting:
            self._log.append((node, i, old))

    def checkpoint(self) -> int:
        """Return a checkpoint of the current state of the graph."""
        return len(self._log)

    def revert(self, checkpoint: int) -> None:
        """Restore the graph to its state at a checkpoint.

        Raises
        ------
        InconsistencyError
            The checkpoint does not exist, or is gone because an earlier one was restored.
        """
        if not 0 <= checkpoint <= len(self._log):
            msg = (
                f"Cannot revert to mark {checkpoint}: the history goes back from {len(self._log)} "
                "to 0. Marks made after the one that was reverted to are gone."
            )
            raise InconsistencyError(msg)
        fgraph = self.fgraph
        self._reverting = True
        try:
            while len(self._log) > checkpoint:
                node, i, old = self._log.pop()
                fgraph.change_node_input(node, i, old, reason="revert", check=False)
        finally:
            self._reverting = False


class Validator(_Attached):
    """Runs the ``validate`` methods of the features of its graph, and measures their time.

    Attributes
    ----------
    count : int
        How many times the graph was validated.
    seconds : float
        Time spent on that.
    """

    lent = ("consistent",)

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0

    def on_attach(self, fgraph: FunctionGraph) -> None:
        super().on_attach(fgraph)
        self.count = 0
        self.seconds = 0.0

    def run(self) -> None:
        """Raise whatever a feature's ``validate`` raises."""
        start = time.perf_counter()
        try:
            self.fgraph.validate()
        finally:
            self.count += 1
            self.seconds += time.perf_counter() - start

    def consistent(self) -> bool:
        """Return whether the graph is valid according to all features."""
        try:
            self.run()
        except InconsistencyError:
            return False
        return True


class ReplaceValidate(History, Validator):
    """Makes validated, all-or-nothing replacements, and counts the rejected ones.

    ``FunctionGraph.replace_all_validate`` does the same without counting.

    Attributes
    ----------
    failures : int
        How many replacements were rejected by a feature.
    """

    lent = (*History.lent, *Validator.lent, "replace_validate", "replace_all_validate_remove")

    def __init__(self) -> None:
        History.__init__(self)
        Validator.__init__(self)
        self.failures = 0

    def on_attach(self, fgraph: FunctionGraph) -> None:
        super().on_attach(fgraph)
        self.failures = 0

    def replace_validate(self, var: Variable, new_var: Variable, reason: object = None) -> None:
        """Replace a variable, unless a feature rejects it; see :meth:`replace_all_validate`."""
        self.replace_all_validate([(var, new_var)], reason)

    def replace_all_validate(
        self, replacements: Iterable[tuple[Variable, Variable]], reason: object = None
    ) -> None:
        """Replace variables and validate the graph; on any error the graph is restored."""
        self.replace_all_validate_remove(replacements, (), reason)

    def replace_all_validate_remove(
        self,
        replacements: Iterable[tuple[Variable, Variable]],
        remove: Iterable[Apply],
        reason: object = None,
    ) -> None:
        """Replace variables, validate the graph, and check that some nodes were removed from it.

        Raises
        ------
        InconsistencyError
            A feature rejected the change, or a node of ``remove`` is still used.
        """
        before = self.checkpoint()
        try:
            self.fgraph.replace_all(replacements, reason)
            self.run()
            for node in remove:
                if node in self.fgraph.apply_nodes:
                    msg = (
                        f"{node.op} should have become unneeded ({reason}), yet something still "
                        f"uses it. It was made at\n  {node.origin}"
                    )
                    raise InconsistencyError(msg)
        except Exception:
            self.failures += 1
            self.revert(before)
            raise


class DestroyHandler(aliasing.DestroyHandler, _Methods):
    """Keeps a graph computable whose inputs may be overwritten.

    An input with ``tag.indestructible`` may not. The arguments have no effect.
    """

    lent = ("destroyers",)
    _graph: FunctionGraph | None = None

    def __init__(self, do_imports_on_attach: bool = True, algo: Any = None) -> None:
        super().__init__()

    def on_attach(self, fgraph: FunctionGraph) -> None:
        self._graph = fgraph
        self._let_inputs_be_overwritten(fgraph)
        self._lend(fgraph)
        super().on_attach(fgraph)

    def on_detach(self, fgraph: FunctionGraph) -> None:
        self._take_back(fgraph)
        self._graph = None
        super().on_detach(fgraph)

    def validate(self, fgraph: FunctionGraph) -> None:
        # Features that are given with a graph are attached before it has inputs.
        self._let_inputs_be_overwritten(fgraph)
        super().validate(fgraph)

    def _let_inputs_be_overwritten(self, fgraph: FunctionGraph) -> None:
        self.mutable_inputs = [
            one for one in fgraph.inputs if not getattr(one.tag, "indestructible", False)
        ]

    def destroyers(self, variable: Variable) -> list[Apply]:
        """Return the nodes that overwrite a variable."""
        return [] if self._graph is None else aliasing.destroyers(self._graph).get(variable, [])

    def __getstate__(self) -> dict[str, Any]:
        # The graph that is unpickled attaches the feature.
        return {**vars(DestroyHandler())}
