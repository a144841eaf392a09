"""A task: one call, where it runs, and its result or its error."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from phintys._base.config import config
from phintys._base.errors import TaskError, add_note
from phintys._base.origin import is_internal, shown_file
from phintys._base.records import record
from phintys.parallel.portable import Portable

_LONGEST = 300
"""Length of an argument in an error, in characters."""

_CARRIED = ("floatX", "mode", "parameter_checks", "product_crossover")
"""Options that decide what a task computes, which it finds as they are where it was made."""


@record()
class Task:
    """A call that is to be made."""

    number: int
    arguments: tuple[Any, ...]
    flags: Mapping[str, Any]
    """Options that are set during the call."""


@record()
class Outcome:
    """What a call came to."""

    number: int
    value: Any = None
    error: BaseException | None = None


def flags_for_others() -> dict[str, Any]:
    """Return the options with which a task runs in another process.

    Examples
    --------
    >>> from phintys.parallel.tasks import flags_for_others
    >>> flags_for_others()["num_threads"]
    1
    """
    return {"num_threads": 1, **{name: getattr(config, name) for name in _CARRIED}}


def run(portable: Portable, task: Task) -> Outcome:
    """Run a task. Its error is part of the outcome, with a note that shows the task.

    Examples
    --------
    >>> from phintys.parallel.portable import Portable
    >>> from phintys.parallel.tasks import Task, run
    >>> run(Portable(abs, elsewhere=False), Task(0, (-3,), {})).value
    3
    """
    try:
        with config.change_flags(**task.flags):
            return Outcome(task.number, portable.for_task(task.number)(*task.arguments))
    except Exception as error:  # noqa: BLE001 - all errors of a task are sent
        add_note(error, _note(error, task))
        return Outcome(task.number, error=error)


def run_elsewhere(portable: Portable, task: Task) -> Outcome:
    """Run a task in a process that sends the outcome to another one.

    Examples
    --------
    >>> from phintys.parallel.portable import Portable
    >>> from phintys.parallel.tasks import Task, run_elsewhere
    >>> run_elsewhere(Portable(abs, elsewhere=False), Task(0, (-3,), {})).value
    3
    """
    outcome = run(portable, task)
    if outcome.error is None:
        return outcome
    return Outcome(task.number, error=_that_travels(outcome.error))


def _that_travels(error: BaseException) -> BaseException:
    """Return an error that can be pickled and loaded: itself, or one with its text."""
    with suppress(Exception):
        loaded = pickle.loads(pickle.dumps(error))  # noqa: S301 - just made
        if type(loaded) is type(error) and str(loaded) == str(error):
            # __notes__ travel with the attributes, if the class pickles these.
            if not hasattr(loaded, "__notes__"):
                return _as_text(error)
            return error.with_traceback(None)
    return _as_text(error)


def _as_text(error: BaseException) -> TaskError:
    text = "".join(traceback.format_exception_only(error)).rstrip()
    return TaskError(f"A task failed with an error that cannot be pickled:\n{text}")


def _note(error: BaseException, task: Task) -> str:
    lines = [f"This is the error of task {task.number} of phintys.parallel.map."]
    place = _users_line(error)
    if place:
        lines.append(place)
    lines += [f"Argument {at}: {shown(argument)}" for at, argument in enumerate(task.arguments)]
    return "\n".join(lines)


def _users_line(error: BaseException) -> str:
    """Return the innermost place outside of Phintys at which an error was raised."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not is_internal(frame.filename)
    ]
    if not frames:
        return ""
    last = frames[-1]
    place = f"{shown_file(last.filename)}, line {last.lineno}, in {last.name}"
    return f"{place}\n    {last.line}" if last.line else place


def shown(value: Any) -> str:
    """Return a value as an error shows it, in a line or a few.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.parallel.tasks import shown
    >>> shown(np.zeros((100, 100))), shown(2.5)
    ('array of float64, shape (100, 100)', '2.5')
    """
    if isinstance(value, np.ndarray) and value.size > 10:
        return f"array of {value.dtype}, shape {value.shape}"
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - the error of the task matters more
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
