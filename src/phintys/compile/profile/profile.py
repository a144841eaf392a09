"""Profile: the measurements of a function, and ways to show them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phintys._base.plotting import axes_or_new
from phintys.compile.profile.measured import Measured
from phintys.compile.profile.report import write_report
from phintys.graph import notebooks

if TYPE_CHECKING:
    from os import PathLike

    from phintys.backends.measurements import Event


@dataclass
class Profile(Measured):
    """Time and memory of a function, accumulated over all calls.

    Functions can share a profile. Concurrent calls in several threads can lose counts.

    Attributes
    ----------
    name : str or None
        Name of the function, for the report.
    compile_seconds : float
        Compilation time.
    stages : dict of str -> float
        Seconds of each stage of compilation: passes by name, then stages of the backend.
    rules : dict of str -> (int, float)
        How many times each rewrite rule was applied, and the seconds it took.
    programs : list of Measurements
        The measurements of the programs.
    inner : list of (Apply, Measurements)
        Nodes with an inner graph, and the measurements of the program that runs it.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], pt.exp(x), profile=True)
    >>> _ = f([1.0, 2.0])
    >>> f.profile.calls
    1
    >>> [cost.size for cost in f.profile.by_node()]
    [16]
    """

    def summary(self, most: int = 20) -> str:
        """Return the report as text tables.

        Parameters
        ----------
        most
            The maximum number of rows of a table.
        """
        return write_report(self, most)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the report."""
        return notebooks.html_of_text(str(self))

    def plot(self, axes: Any = None, most: int = 15) -> Any:
        """Plot the time that Ops take by matplotlib.

        Parameters
        ----------
        axes
            Axes of matplotlib; new ones by default.
        most
            The maximum number of Ops, the slowest ones.

        Returns
        -------
        matplotlib.axes.Axes
            The axes, with a bar for each Op, the slowest at the top.
        """
        axes = axes_or_new(axes)
        costs = list(self.by_op().items())[:most]
        bars = axes.barh([op for op, _ in costs], [1e3 * cost.seconds for _, cost in costs])
        total = self.step_seconds or 1.0
        axes.bar_label(bars, [f"{cost.seconds / total:.0%}" for _, cost in costs], padding=3)
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set_xlabel(f"ms in {self.calls:,} calls")
        axes.set_title(self.name or "function")
        return axes

    def write_trace(self, path: str | PathLike[str]) -> None:
        """Write the first calls to a file for Chrome's trace viewer or Perfetto.

        Parameters
        ----------
        path
            Path of the file, in the Trace Event Format (JSON).
        """
        text = json.dumps({"traceEvents": trace_events(self), "displayTimeUnit": "ns"})
        Path(path).write_text(text, encoding="utf-8")


def trace_events(profile: Measured) -> list[dict[str, Any]]:
    """Return the events of a profile in the Trace Event Format, for Chrome and Perfetto.

    The format is described in the document "Trace Event Format" of the Chromium project: an event
    with ``"ph": "X"`` has a start ``ts`` and a duration ``dur`` in microseconds.
    """
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
