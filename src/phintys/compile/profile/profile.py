"""Profile: the measurements of a function, and ways to show them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phintys._base.plotting import axes_or_new
from phintys.compile.profile.measured import Measured
from phintys.graph import notebooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    from phintys.backends.measurements import Event, MemoryUse
    from phintys.compile.profile.measured import NodeCost


Row = tuple[object, ...]


def write_report(profile: Measured, most: int) -> str:
    """Return the report, with at most ``most`` rows per table."""
    lines = _head(profile)
    for title, columns, rows in _SECTIONS:
        table = [_line(row) for row in rows(profile)]
        if not table:
            continue
        lines += ["", title, columns, *table[:most]]
        if len(table) > most:
            lines.append(f"... and {len(table) - most} more")
    for use in profile.memory:
        if use.peak or use.unknown:
            lines += ["", *_memory_lines(use)]
    return "\n".join(lines)


def _head(profile: Measured) -> list[str]:
    calls = f"{profile.calls} calls, {_ms(profile.call_seconds)} ms"
    lines = [
        f"Function {profile.name or '(unnamed)'}: {calls}, in steps {_ms(profile.step_seconds)} ms",
        f"Compiled in {profile.compile_seconds * 1e3:.1f} ms",
    ]
    if profile.callbacks:
        lines.append(f"Callbacks to Python: {profile.callbacks}")
    return lines


def _step_rows(profile: Measured) -> Iterable[Row]:
    total = profile.step_seconds
    for step in sorted(profile.steps, key=lambda step: -step.seconds):
        share = _share(step.seconds, total)
        yield f"{_ms(step.seconds):>9}", share, f"{step.calls:8d}", f"{step.kind:8}", step.label


def _op_rows(profile: Measured) -> Iterable[Row]:
    total = profile.step_seconds
    for op, cost in profile.by_op().items():
        rate = _rate(cost.flops, cost.seconds)
        share = _share(cost.seconds, total)
        yield f"{_ms(cost.seconds):>9}", share, f"{cost.calls:8d}", f"{cost.nodes:5d}", rate, op


def _node_rows(profile: Measured) -> Iterable[Row]:
    total = profile.step_seconds
    shared = {node for step in profile.steps if len(step.nodes) > 1 for node in step.nodes}
    for cost in profile.by_node():
        mark = "~" if cost.node in shared else " "
        size = "?" if cost.size is None else str(cost.size)
        rate = _rate((cost.flops or 0.0) * cost.calls, cost.seconds)
        time = f"{mark}{_ms(cost.seconds):>8}"
        yield (
            time,
            _share(cost.seconds, total),
            f"{cost.calls:8d}",
            f"{size:>9}",
            rate,
            _named(cost),
        )


def _named(cost: NodeCost) -> str:
    origin = cost.node.origin
    place = "" if not origin else f"  [{str(origin).splitlines()[0].strip()}]"
    return f"{cost.node}{place}"


def _stage_rows(profile: Measured) -> Iterable[Row]:
    for stage, seconds in sorted(profile.stages.items(), key=lambda entry: -entry[1]):
        yield f"{_ms(seconds):>9}", _share(seconds, profile.compile_seconds), stage


def _rule_rows(profile: Measured) -> Iterable[Row]:
    for rule, (count, seconds) in sorted(profile.rules.items(), key=lambda entry: -entry[1][1]):
        yield f"{_ms(seconds):>9}", f"{count:7d}", rule


def _memory_lines(use: MemoryUse) -> Sequence[str]:
    saved = ", ".join(f"{what} {_bytes(size)}" for what, size in use.saved.items() if size)
    lines = [
        "Memory of a call",
        f"  all values together  {_bytes(use.all_values)}",
        f"  in use at most       {_bytes(use.peak)}",
    ]
    if saved:
        lines.append(f"  saved by             {saved}")
    if use.unknown:
        lines.append(f"  not measured         values of {', '.join(sorted(use.unknown))}")
    return lines


def _line(row: Row) -> str:
    return "  ".join(map(str, row)).rstrip()


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}"


def _share(part: float, total: float) -> str:
    return f"{100 * part / total if total else 0.0:5.1f}"


def _rate(flops: float, seconds: float) -> str:
    return f"{flops / seconds / 1e9:7.2f}" if flops and seconds else f"{'':7}"


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


_SECTIONS: list[tuple[str, str, Callable[[Measured], Iterable[Row]]]] = [
    ("Steps", "     ms      %     calls  kind      what", _step_rows),
    ("Ops", "     ms      %     calls  nodes  GFLOP/s  Op", _op_rows),
    (
        "Nodes (~: a share of a kernel, estimated)",
        "     ms      %     calls      bytes  GFLOP/s  node",
        _node_rows,
    ),
    ("Compiling", "     ms      %  stage", _stage_rows),
    ("Rewriting", "     ms   applied  rule", _rule_rows),
]


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
