"""Kernels: loops that compute arrays element by element."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.dependence import may_fail, needs_of
from phintys.backends.native.program import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from phintys.backends.native.expressions import Statement
    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array, LoopVariable
    from phintys.graph.apply import Apply


@record(eq=False)
class Nest:
    """Statements with the same loops, computed together for each element, in order.

    A later statement in the nest reads the values written by an earlier one at the same indices
    only, from a register. A loop can be a reduction for one statement and not for another.
    """

    loops: tuple[LoopVariable, ...]
    statements: list[Statement]


@record(eq=False)
class Kernel(Step):
    """Nests that run one after the other in each iteration of the ``outer`` loops.

    The loops of each nest are those inside the outer ones, in memory order where there is a choice.
    Values that a nest has written in this iteration of the outer loops are read by the next one
    from cache (or, without loops of its own, from a register).

    Attributes
    ----------
    outer
        Loops around all nests, never reductions.
    local
        Arrays that are not read outside the kernel: they need only the memory that one iteration of
        the outer loops accesses.
    """

    noun: ClassVar[str] = "kernel"
    nouns: ClassVar[str] = "kernels"

    outer: tuple[LoopVariable, ...]
    nests: list[Nest]
    local: set[Array] = field(default_factory=set)

    @property
    def statements(self) -> list[Statement]:
        """The statements of all nests."""
        return [statement for nest in self.nests for statement in nest.statements]

    def reads(self) -> Iterator[Array]:
        """Yield the arrays that its statements read, without those that only it uses."""
        for statement in self.statements:
            for load in needs_of(statement).loads:
                if load.array.memory not in self.local:
                    yield load.array
            if statement.accumulate and statement.target not in self.local:
                yield statement.target

    def writes(self) -> Iterator[Array]:
        """Yield the arrays that its statements write, without those that only it uses."""
        for statement in self.statements:
            if statement.target not in self.local:
                yield statement.target

    def sizes(self) -> Iterator[Size]:
        """Yield the sizes that its statements depend on."""
        for statement in self.statements:
            yield from needs_of(statement).sizes

    @property
    def may_fail(self) -> bool:
        """Whether a statement checks an index, or has no result for some values."""
        return any(map(may_fail, self.statements))

    def nodes(self) -> list[Apply]:
        """Return the nodes of its statements."""
        return list({node: None for one in self.statements for node in one.nodes})

    def shares(self, weight: Callable[[Statement], float]) -> Mapping[Apply, float]:
        """Return the nodes with their shares of its time."""
        weights: dict[Apply, float] = {}
        for statement in self.statements:
            own = weight(statement)
            for node in statement.nodes:
                weights[node] = weights.get(node, 0.0) + own / len(statement.nodes)
        total = sum(weights.values())
        return {node: weight / total for node, weight in weights.items()} if total else {}

    def work(self, costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        planned = costs.kernels[self]
        return costs.scaled(planned.work(), planned.cost)

    def is_divisible(self, costs: Costs) -> bool:
        """Return whether it has a level of loops, or parts of a reduction, that threads share."""
        return costs.kernels[self].is_divisible

    @property
    def title(self) -> str:
        """The arrays that it writes."""
        targets = [statement.target.label for statement in self.statements]
        return f"the kernel that writes {', '.join(targets)}"
