"""Calls of functions and steps in the Trace Event Format, for Chrome and Perfetto.

The format is described in the document "Trace Event Format" of the Chromium project: an event with
``"ph": "X"`` has a start ``ts`` and a duration ``dur`` in microseconds.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phintys.backends.measurements import Event
    from phintys.compile.profile.measured import Measured


def trace_events(profile: Measured) -> list[dict[str, Any]]:
    """Return the events of a profile."""
    name = profile.name or "function"
    events: list[dict[str, Any]] = []
    for program in profile.programs:
        steps = program.steps
        for event in sorted(program.events, key=lambda event: event.begin):
            if event.step < 0:
                events.append(_event(name, "program", event))
                continue
            step = steps[event.step]
            events.append(_event(step.label, step.kind, event))
            events[-1]["args"] = {"nodes": [str(node) for node in step.nodes]}
    return events


def _event(name: str, category: str, event: Event) -> dict[str, Any]:
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "ts": event.begin * 1e6,
        "dur": (event.end - event.begin) * 1e6,
        "pid": os.getpid(),
        "tid": event.thread,
    }
