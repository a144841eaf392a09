"""Profile: the measurements of a function, and ways to show them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from phintys.compile.profile.events import trace_events
from phintys.compile.profile.measured import Measured
from phintys.compile.profile.report import write_report
from phintys.graph import notebooks

if TYPE_CHECKING:
    from os import PathLike


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

    def write_trace(self, path: str | PathLike[str]) -> None:
        """Write the first calls to a file for Chrome's trace viewer or Perfetto.

        Parameters
        ----------
        path
            Path of the file, in the Trace Event Format (JSON).
        """
        text = json.dumps({"traceEvents": trace_events(self), "displayTimeUnit": "ns"})
        Path(path).write_text(text, encoding="utf-8")
