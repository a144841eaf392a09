"""Arrays that an Op in Python keeps are made where they stay, as results of the program are.

A callback is given copies of what is in the arena. An Op that makes an object of its inputs, such
as a sparse matrix of three arrays, can have the arrays themselves if no one else changes them, or
sees them change. That is known when all of the graph is lowered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.program import Step, walk_steps
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.values import Array, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.backends.native.expressions import Statement
    from phintys.backends.native.values import Value


def hand_over(steps: Sequence[Step | Statement]) -> list[Array]:
    """Let the Ops of callbacks have arrays that they keep; return those arrays.

    Such an array is memory of the program, whose results have been placed before. No other Op in
    Python has it without a copy, or has what is made of it and could change it there. Steps in
    native code may read it at any time; none overwrites what was passed to an Op in Python. In
    loops and branches nothing is handed over: a result is one array a call.

    Parameters
    ----------
    steps
        The steps and statements of the program.
    """
    callbacks = [
        step
        for step in walk_steps([one for one in steps if isinstance(one, Step)])
        if isinstance(step, Callback)
    ]
    seen = {value for step in callbacks for value in _seen(step)}
    found: list[Array] = []
    for step in steps:
        if not isinstance(step, Callback) or not seen.isdisjoint(step.outputs):
            continue
        for position in step.node.op.kept_inputs:
            array = step.inputs[position]
            if not isinstance(array, Array) or array.place != Place.BUFFER or array in seen:
                continue
            if array.alias is None:
                array.place = Place.RESULT
                step.handed_over += (position,)
                found.append(array)
    return found


def _seen(step: Callback) -> Iterable[Value]:
    """Return the memory and the objects that an Op in Python is given, without copies."""
    for position, value in enumerate(step.inputs):
        if not step.is_copied(position):
            yield value.memory if isinstance(value, Array) else value
