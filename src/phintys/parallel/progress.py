"""How far the tasks are, for a person who waits."""

from __future__ import annotations

import sys
import time

_FIRST, _INTERVAL = 0.5, 0.2
"""Seconds before the first line, and between two."""


class Progress:
    """A line on the terminal that says how many tasks are done.

    Parameters
    ----------
    total
        Number of tasks.
    shown
        Whether to print it; ``None`` for where standard error is a terminal.

    Examples
    --------
    >>> from phintys.parallel.progress import Progress
    >>> progress = Progress(2, shown=False)
    >>> progress.advance()
    >>> progress.end()
    """

    def __init__(self, total: int, shown: bool | None) -> None:
        self._total = total
        self._done = 0
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._start = time.monotonic()
        self._next = self._start + (_FIRST if shown is None else 0.0)
        self._width = 0

    def advance(self) -> None:
        """Count a task that is done."""
        self._done += 1
        now = time.monotonic()
        if self._shown and (now >= self._next or (self._done == self._total and self._width)):
            self._next = now + _INTERVAL
            self._write(now - self._start)

    def end(self) -> None:
        """End the line."""
        if self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def _write(self, elapsed: float) -> None:
        left = elapsed / self._done * (self._total - self._done)
        text = f"{self._done} of {self._total} tasks, {_span(elapsed)} gone"
        if self._done < self._total:
            text += f", about {_span(left)} left"
        sys.stderr.write(f"\r{text:<{self._width}}")
        sys.stderr.flush()
        self._width = max(self._width, len(text))


def _span(seconds: float) -> str:
    """Return a length of time, as in 12 s or 1:05:00."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
