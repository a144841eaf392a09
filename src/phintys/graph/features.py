"""Features: objects that are notified of the changes of a FunctionGraph.

A feature is any object with some of the methods of :class:`Feature`; a FunctionGraph calls those
that it defines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.errors import MethodNotDefinedError, PhintysError
from phintys._base.names import public_dir

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal, Self

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["AlreadyThere", "Feature"]

__dir__ = public_dir(__name__)


class AlreadyThere(PhintysError):  # noqa: N818 - no error: a feature's way to decline
    """Raised by ``on_attach`` of a feature if the graph already has an equivalent one."""


class Feature:
    """Base class of features; every method does nothing by default.

    A feature may also define ``validate(fgraph)``, which raises if the graph breaks a rule that the
    feature enforces; :meth:`FunctionGraph.replace_all_validate` then undoes the change.

    Features are pickled and copied with their graph, and attached to the new one, so ``on_attach``
    must rebuild the entire state of the feature.

    Examples
    --------
    >>> from phintys.graph import Feature, FunctionGraph, Type
    >>> class Counter(Feature):
    ...     def on_attach(self, fgraph):
    ...         self.count = len(fgraph.apply_nodes)
    ...
    ...     def on_import(self, fgraph, node, reason):
    ...         self.count += 1
    ...
    ...     def on_prune(self, fgraph, node, reason):
    ...         self.count -= 1
    """

    outlives_rewriting: ClassVar[bool] = False
    """Whether a compiled function keeps the feature attached to its graph after rewriting."""

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Handle being attached to a graph, which may already have nodes.

        Raises
        ------
        AlreadyThere
            The graph already has an equivalent feature, so this one is not attached.
        """

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Handle being detached from a graph."""

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Handle a node that was added to the graph; its dependencies are added first."""

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Handle a node that was removed from the graph."""

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object,
    ) -> None:
        """Handle the replacement of input ``i`` of ``node``, or of output ``i`` of the graph.

        ``new`` is already imported; ``old`` is pruned afterwards, if nothing else uses it.
        """

    def orderings(self, fgraph: FunctionGraph) -> Mapping[Apply, Sequence[Apply]]:
        """Return node -> nodes that must run before it for reasons other than its inputs."""
        return {}

    def clone(self) -> Self:
        """Return a feature to attach to a copy of the graph.

        The default implementation calls the class without arguments.
        """
        try:
            return self.__class__()
        except TypeError as error:
            msg = (
                f"The feature {self.__class__.__name__} cannot be made without arguments "
                f"({error}), so it must define clone(), for copies of its graph."
            )
            raise MethodNotDefinedError(msg) from error
