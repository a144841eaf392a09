"""Ops that may be replaced by their inner graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.cloning import clone_get_equiv
from phintys.graph.inner import HasInnerGraph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable


class Inlinable(HasInnerGraph):
    """A mixin for Ops that compute their inner graph once, on the inputs of the node.

    The pass ``inline_graphs`` replaces their nodes by copies of the inner graph.
    """

    inline: bool | None = None
    """Whether the pass replaces nodes; ``None`` is like ``True``."""

    def inlined(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the outputs of a copy of the inner graph, applied to the inputs of a node.

        Parameters
        ----------
        inputs
            One for each input of the inner graph.
        """
        memo: dict[Any, Any] = dict(zip(self.fgraph.inputs, inputs, strict=True))
        equiv = clone_get_equiv((), self.fgraph.outputs, copy_orphans=False, memo=memo)
        return [equiv[output] for output in self.fgraph.outputs]
