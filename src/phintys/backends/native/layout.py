"""What the runtime has to know of a program to call it."""

from __future__ import annotations

from dataclasses import field
from functools import singledispatch
from typing import TYPE_CHECKING

from phintys._base.records import record
from phintys.backends.native.frame import FIRST_RECORD
from phintys.backends.native.program import Step, walk_steps
from phintys.backends.native.sizes import Counter, Element, Extent
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.steps.loop import Loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.failures import Failure
    from phintys.backends.native.polynomials import Atom
    from phintys.backends.native.values import Array, LoopVariable, Size, Value
    from phintys.graph.apply import Apply


@record(eq=False)
class Layout:
    """The runtime's description of a program; see :mod:`~phintys.backends.native.frame`.

    Attributes
    ----------
    slots
        Length of the frame.
    records
        Start of the record of each value.
    constants
        Arrays whose addresses are in the table.
    new_arrays
        Results that the runtime allocates.
    callbacks
        Ops executed by their Python code.
    counters
        For each loop that runs callbacks, by its counter, the slot for the number of the pass.
    loops_around
        For each callback and failure, the node and the slot of each loop around it, the outermost
        one first. Failures in loops that threads share are missing: what the frame had is gone.
    atoms
        For each size that the program reads from an array of integers, the slot.
    overwrites_arguments
        Whether a step writes to the memory of an argument.
    claims
        Results that begin as arguments.
    has_commit
        Whether the program has a commit
        (:mod:`~phintys.backends.native.lower.commit`). It is a separate function,
        ``commit``, called after everything else has succeeded.
    failures
        The possible failures.
    groups
        Number of blocks of the arena.
    buffers
        For each slot of the arena, a node whose result is placed there, if known.
    workspaces
        For each kernel that takes memory for its own work, its last node, if it has any.
    uses_threads
        Whether some of its work may be divided among threads.
    """

    slots: int = FIRST_RECORD
    records: dict[Value, int] = field(default_factory=dict)
    constants: list[Array] = field(default_factory=list)
    new_arrays: list[Array] = field(default_factory=list)
    callbacks: list[Callback] = field(default_factory=list)
    counters: dict[LoopVariable, int] = field(default_factory=dict)
    loops_around: dict[Callback | Failure, list[tuple[Apply, int]]] = field(default_factory=dict)
    atoms: dict[Atom, int] = field(default_factory=dict)
    overwrites_arguments: bool = False
    claims: list[Claim] = field(default_factory=list)
    has_commit: bool = False
    failures: list[Failure] = field(default_factory=list)
    groups: int = 0
    buffers: list[Apply | None] = field(default_factory=list)
    workspaces: list[Apply | None] = field(default_factory=list)
    uses_threads: bool = False

    def room(self, count: int) -> int:
        """Add slots to the frame; return the first."""
        first = self.slots
        self.slots += count
        return first

    def slot_of(self, leaf: Size) -> int | None:
        """Return the slot of a size that is not computed from others, if it has one."""
        if isinstance(leaf, Extent):
            record = self.records.get(leaf.array)
            return None if record is None else record + 1 + leaf.axis
        if isinstance(leaf, Counter):
            return self.counters.get(leaf.loop)
        return self.atoms.get(leaf) if isinstance(leaf, Element) else None


@singledispatch
def announce(step: Step, layout: Layout) -> Sequence[Value]:
    """Add what the runtime has to know of a step; return the values that need records."""
    return ()


@announce.register(Callback)
def announce_callback(step: Callback, layout: Layout) -> list[Value]:
    """Add it to the callbacks; its inputs and outputs have records."""
    layout.callbacks.append(step)
    return [*step.inputs, *step.outputs]


@announce.register(Claim)
def announce_claim(step: Claim, layout: Layout) -> tuple[Value, ...]:
    """Add it to the claims."""
    layout.claims.append(step)
    return ()


@announce.register(Loop)
def announce_loop(step: Loop, layout: Layout) -> list[Value]:
    """Make a slot for the number of the pass, if no replay of an error can say it."""
    is_needed = layout.overwrites_arguments or any(
        isinstance(one, Callback) for one in walk_steps(step.body)
    )
    if step.node is not None and is_needed:
        layout.counters[step.counter] = layout.room(1)
    return []
