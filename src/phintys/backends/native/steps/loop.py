"""Loops: steps that run repeatedly."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.dependence import arrays_written, varies
from phintys.backends.native.limits import LOOP_STEP_NANOSECONDS, UNKNOWN_NANOSECONDS, USUAL_STEPS
from phintys.backends.native.program import Step

if TYPE_CHECKING:
    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array, LoopVariable
    from phintys.graph.apply import Apply


@record(eq=False)
class Loop(Step):
    """Steps that run repeatedly, one pass after the other.

    Attributes
    ----------
    count
        Number of passes.
    counter
        The number of the pass: used in indices, and in sizes as :class:`~.sizes.Counter`.
    body
        The steps. Memory for their outputs is allocated before: none of its sizes is computed in
        them.
    until
        A single bool, written in the body: the pass in which it becomes true is the last one.
    node
        The graph's node that this computes, if any.
    own_rows
        If the passes are independent of each other, the memory in which each writes rows of its
        own; else ``None``. What else a pass writes is not read outside of it, but for ``sums``.
    sums
        If there are own rows, the memory to which each pass adds floats.
    """

    noun: ClassVar[str] = "loop"
    nouns: ClassVar[str] = "loops"
    repeats: ClassVar[bool] = True

    count: Size
    counter: LoopVariable
    body: list[Step]
    until: Array | None = None
    node: Apply | None = None
    own_rows: tuple[Array, ...] | None = None
    sums: tuple[Array, ...] = ()

    def reads(self) -> tuple[Array, ...]:
        """Return the condition that ends it, if there is one."""
        return () if self.until is None else (self.until,)

    def sizes(self) -> tuple[Size]:
        """Return the number of passes."""
        return (self.count,)

    def bodies(self) -> tuple[list[Step]]:
        """Return its body."""
        return (self.body,)

    def nodes(self) -> tuple[Apply, ...]:
        """Return the node, if there is one."""
        return () if self.node is None else (self.node,)

    def work(self, costs: Costs) -> Polynomial:
        """Return the work of all passes, without that which differs between them."""
        return costs.ring.mul(costs.ring.of(self.count), self.work_of_some(costs))

    def typical_work(self, costs: Costs) -> Polynomial:
        """Return the work of all passes; of a few, if a condition ends them."""
        passes = self.count
        if self.until is not None:
            sizes = costs.ring.sizes
            passes = sizes.arithmetic("min", passes, sizes.fixed(USUAL_STEPS))
        return costs.ring.mul(costs.ring.of(passes), costs.ring.total(self.work_of_pass(costs)))

    def work_of_pass(self, costs: Costs) -> tuple[Polynomial, Polynomial]:
        """Return the usual work of a pass: what several threads could share, and the rest."""
        ring, written = costs.ring, set(arrays_written(self))
        divisible: list[Polynomial] = []
        alone = [costs.scaled(ring.one, LOOP_STEP_NANOSECONDS)]
        for step in self.body:
            work = step.typical_work(costs)
            if _varies(costs, work, written):
                work = costs.scaled(ring.one, UNKNOWN_NANOSECONDS)
            (divisible if step.is_divisible(costs) else alone).append(work)
        return ring.total(divisible), ring.total(alone)

    def work_of_some(self, costs: Costs) -> Polynomial:
        """Return the work of a pass, without that which differs between passes."""
        written = set(arrays_written(self))
        inside = [step.work(costs) for step in self.body]
        same = [one for one in inside if one is not None and not _varies(costs, one, written)]
        return costs.ring.total(same)


def _varies(costs: Costs, work: Polynomial, written: set[Array]) -> bool:
    """Return whether an amount of work can differ between passes of a loop that writes this."""
    atoms = costs.ring.atoms
    return any(varies(atoms[at], written) for some, _ in work.terms for at in some)
