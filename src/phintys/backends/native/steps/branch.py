"""Branches: steps that run conditionally."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.program import Step

if TYPE_CHECKING:
    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.values import Array
    from phintys.graph.apply import Apply


@record(eq=False)
class Branch(Step):
    """Steps that run only if ``condition`` is true, and others that run otherwise.

    Attributes
    ----------
    condition
        A single bool.
    then, otherwise
        The steps. Memory for their outputs is allocated before: none of its sizes is computed in
        them.
    node
        The graph's node that this computes, if any.
    """

    noun: ClassVar[str] = "branch"
    nouns: ClassVar[str] = "branches"

    condition: Array
    then: list[Step]
    otherwise: list[Step]
    node: Apply | None = None

    def reads(self) -> tuple[Array]:
        """Return the condition."""
        return (self.condition,)

    def bodies(self) -> tuple[list[Step], list[Step]]:
        """Return the steps of both cases."""
        return self.then, self.otherwise

    def typical_work(self, costs: Costs) -> Polynomial:
        """Return the work of both cases, one of which runs."""
        inside = [step.typical_work(costs) for body in self.bodies() for step in body]
        return costs.ring.total(inside)

    def nodes(self) -> tuple[Apply, ...]:
        """Return the node, if there is one."""
        return () if self.node is None else (self.node,)
