"""Program: the native backend's intermediate representation, between a graph and LLVM.

A Program is a list of steps over values, arrays or any Python objects
(:mod:`~phintys.backends.native.values`). The kinds of steps are the files of
:mod:`~phintys.backends.native.steps`: kernels, which compute arrays element by element
(:mod:`~phintys.backends.native.expressions`), calls of library routines, and so on.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from phintys.backends.native.expressions import Statement
    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.sizes import Sizes
    from phintys.backends.native.values import Array, Size, Value
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


class Step:
    """A step of a Program: it states what the rest of the backend has to know about it.

    A kind of step is a subclass in a file of its own in :mod:`~phintys.backends.native.steps`.
    Other modules use these methods, and have no lists of kinds; code about a single kind, such as
    the fusion of kernels, may name it. Steps do not know what is done with them: how they are
    written, shown, checked and carried out is dispatched by kind, by the rules of ``write_step``,
    ``step_lines``, ``verify_step`` and ``carry_out``.

    Arrays are given as they are accessed; an array that aliases another is in the memory of that
    one. The same array may be given several times. The order must be the same in every process.
    """

    __slots__ = ()

    noun: ClassVar[str] = "step"
    nouns: ClassVar[str] = "steps"
    """Names of the kind, for people: of one, and of several."""

    is_timed: ClassVar[bool] = True
    """Whether profiles show it."""

    repeats: ClassVar[bool] = False
    """Whether its bodies run repeatedly."""

    only_checks: ClassVar[bool] = False
    """Whether it does nothing but compare sizes."""

    calls_library: ClassVar[bool] = False
    """Whether it calls functions of a library, which may have threads of its own."""

    needs_caller: ClassVar[bool] = False
    """Whether only the thread that called the program can run it, since it uses Python."""

    # ---- what it accesses

    def reads(self) -> Iterable[Array]:
        """Return the arrays that it reads, without those in bodies, and those that sizes need."""
        return ()

    def writes(self) -> Iterable[Array]:
        """Return the arrays whose values it makes, and its temporary memory; without bodies."""
        return ()

    def overwrites(self) -> Iterable[Array]:
        """Return the arrays whose values are lost, except those that it makes; without bodies."""
        return ()

    def sizes(self) -> Iterable[Size]:
        """Return the sizes that must be known before it runs; without bodies."""
        return ()

    def bodies(self) -> Sequence[Sequence[Step]]:
        """Return the lists of steps inside it."""
        return ()

    # ---- what it does

    @property
    def may_fail(self) -> bool:
        """Whether a call can fail here because of the values of its arguments."""
        return any(step.may_fail for body in self.bodies() for step in body)

    @property
    def begins_commit(self) -> bool:
        """Whether it is the first that overwrites a shared value: from here on nothing may fail."""
        return False

    @property
    def is_floor(self) -> bool:
        """Whether no statement after it may be computed with those before it."""
        return bool(self.bodies())

    def nodes(self) -> Sequence[Apply]:
        """Return the nodes of the graph that it computes."""
        return ()

    def shares(self, weight: Callable[[Statement], float]) -> Mapping[Apply, float]:
        """Return the nodes with their shares of its time, given the work of a statement."""
        return {node: 1 / len(self.nodes()) for node in self.nodes()}

    def work(self, costs: Costs) -> Polynomial | None:
        """Return a rough estimate of its time, from :meth:`Costs.scaled`, if there is one."""
        return None

    def typical_work(self, costs: Costs) -> Polynomial:
        """Estimate the usual time, including the parts that :meth:`work` leaves out."""
        work = self.work(costs)
        return costs.ring.zero if work is None else work

    def is_divisible(self, costs: Costs) -> bool:
        """Return whether several threads can share it, if it takes long."""
        return False

    # ---- what it looks like

    @property
    def title(self) -> str:
        """A noun phrase that tells it from others, for errors."""
        return f"a {self.noun}"


@record(eq=False)
class Program:
    """A whole function.

    Attributes
    ----------
    arguments
        Values that the caller passes, in order.
    results
        Values that are returned, in order; each is an array of place ``RESULT``, or any value that
        is passed through (an argument, a constant), which the runtime copies.
    steps
        The steps.
    sizes
        The sizes of the program.
    shapes
        The sizes of all tensors of the graph, if requested.
    """

    arguments: list[Value]
    results: list[Value]
    steps: list[Step]
    sizes: Sizes
    shapes: dict[Variable, tuple[Size, ...]] = field(default_factory=dict)

    @property
    def commit_start(self) -> int:
        """The number of the step from which shared values are overwritten, and nothing can fail."""
        for number, step in enumerate(self.steps):
            if step.begins_commit:
                return number
        return len(self.steps)


def walk_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield all steps; those inside a branch or loop follow the step that contains them.

    Each is handed on once, however deep it is inside of others.
    """
    waiting = [iter(steps)]
    while waiting:
        step = next(waiting[-1], None)
        if step is None:
            waiting.pop()
            continue
        yield step
        waiting.extend(iter(body) for body in reversed(step.bodies()))
