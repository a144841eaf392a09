"""Default updates that are set inside of inner graphs, such as those of random generators.

In a loop they take place in each step, so that each step draws fresh numbers; the value after the
last step is the default update then. In other inner graphs they are expressions of its formal
inputs, which the values given for these replace.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys.graph.cloning import graph_replace
from phintys.graph.equality import equal_computations
from phintys.graph.shared_variable import SharedVariable, set_within
from phintys.graph.traversal import ancestors

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Sequence

    from phintys.control.loop_forms.builder import LoopBuilder
    from phintys.control.loops.arguments import StepOutputs
    from phintys.graph.variable import Variable


class DefaultUpdates:
    """The default updates that functions of a step set."""

    def __init__(self) -> None:
        self._shared: list[SharedVariable] = []
        self.taken: dict[SharedVariable, Variable] = {}

    @contextmanager
    def watching(self) -> Generator[None]:
        """Collect the shared variables whose default updates are set in a ``with`` block."""
        with set_within() as found:
            yield
        self._shared += found

    def take(self, outputs: Sequence[Any], given: Collection[SharedVariable] = ()) -> None:
        """Make the default updates on which a step depends its own.

        Parameters
        ----------
        outputs
            What the step computes.
        given
            Shared variables that the step updates explicitly.
        """
        waiting = {one for one in self._shared if one.default_update is not None}
        news = list(outputs)
        while news:
            used = [one for one in ancestors(news) if one in waiting]
            news = []
            for shared in used:
                assert isinstance(shared, SharedVariable)
                waiting.remove(shared)
                new = shared.type.filter_variable(shared.default_update)
                shared.default_update = None
                if shared not in given:
                    self.taken[shared] = new
                    news.append(new)

    def add_to(self, builder: LoopBuilder, made: StepOutputs[Any]) -> None:
        """Add the default updates that the results of a step depend on to a loop."""
        self.take(list(made))
        for shared, new in self.taken.items():
            builder.add_updated(shared)
            made.untraced.append(new)

    def keep(self, values: Iterable[Any]) -> None:
        """Make the values after the last step the default updates."""
        for shared, value in zip(self.taken, values, strict=True):
            shared.default_update = value

    def keep_last(self, untraced: Sequence[Any]) -> None:
        """Make the last results of a loop, one for each, the default updates."""
        self.keep(untraced[len(untraced) - len(self.taken) :])


class FormalUpdates:
    """Default updates that are expressions of the formal inputs of an Op.

    Parameters
    ----------
    inputs
        The formal inputs.
    shared
        The shared variables that the inner graph reads.
    """

    def __init__(self, inputs: Sequence[Variable], shared: Iterable[SharedVariable]) -> None:
        formal = set(inputs)
        self._updates = {
            one: one.default_update
            for one in shared
            if one.default_update is not None
            and not formal.isdisjoint(ancestors([one.default_update]))
        }
        self._inputs = list(inputs) if self._updates else []
        self._applied: dict[SharedVariable, Variable] = {}

    def apply(self, op: object, given: Sequence[Any]) -> None:
        """Replace the formal inputs by those of a node."""
        replacements = dict(zip(self._inputs, given, strict=bool(self._updates)))
        for shared, update in self._updates.items():
            new = graph_replace(update, replacements, strict=False)
            former = self._applied.setdefault(shared, new)
            if former is not new and not equal_computations([former], [new]):
                msg = (
                    f"{op} is applied to several inputs, and the default update of {shared}, which "
                    "it reads, depends on them, such as on their shapes. Make the shared variable "
                    "an input of the Op and its next value an output: for random numbers, r = "
                    "rng(); after, draw = r.normal(size=x.shape); OpFromGraph([r, x], [after, "
                    "draw])."
                )
                raise ArgumentError(msg)
            shared.default_update = new
