"""Lines that say how far something is, for a person who waits.

At a terminal, a line on standard error is written again and again; in a notebook, a line below the
cell changes. Elsewhere, as in pipes, nothing is written unless it is asked for: then each line is
written once.
"""

from __future__ import annotations

import sys
import time
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from phintys._base.config import config

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_FIRST, _INTERVAL = 0.7, 0.2
"""Seconds before the first line, and between two."""


class Progress:
    """A line that says how far something is; only the first of several at a time is shown.

    Parameters
    ----------
    doing
        What is done, such as ``"Minimizing"``; may be empty.
    total
        Number of steps, if it is known.
    unit
        What is counted: in the plural if the total is known.
    alike
        Whether the steps take about the same time, so that the line can say how much is left.
    shown
        Whether to write the line: ``None`` for what ``config.progress`` says. ``True`` writes it
        from the first step on, also in pipes.

    Examples
    --------
    >>> from phintys._base.progress import Progress
    >>> with Progress("Counting", 3, "sheep", shown=False) as progress:
    ...     progress.advance("a black one")
    >>> progress.text(2.0)
    'Counting: 1 of 3 sheep, a black one, 2 s gone, about 4 s left'
    """

    _current: ClassVar[Progress | None] = None

    def __init__(
        self,
        doing: str,
        total: int | None = None,
        unit: str = "step",
        *,
        alike: bool = True,
        shown: bool | None,
    ) -> None:
        self.doing = doing
        self.total = total
        self.unit = unit
        self.alike = alike
        self.done = 0
        self.said = ""
        self._asked = shown
        self._line: _Line | None = None
        self._ended = Event()
        self._writing = Lock()
        self._watch: Thread | None = None
        self._start = self._next = 0.0

    def __enter__(self) -> Self:
        wanted = {"auto": None, "always": True, "never": False}[config.progress]
        shown = wanted if self._asked is None else self._asked
        self._start = time.monotonic()
        self._next = self._start + (0.0 if shown else _FIRST)
        line = _line_for(shown)
        if line is None or Progress._current is not None:
            return self
        Progress._current = self
        self._line = line
        if line.changes:
            # Writes while a single step takes long, such as a pass over a huge graph.
            self._watch = Thread(target=self._rewrite, name="phintys progress", daemon=True)
            self._watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._line is None:
            return
        self._ended.set()
        if self._watch is not None:
            self._watch.join()
        if self._line.is_begun:
            self._write(time.monotonic())
            self._line.end()
        Progress._current = None

    def advance(self, text: str = "") -> None:
        """Count a step that is done.

        Parameters
        ----------
        text
            What else there is to say.
        """
        self.done += 1
        self.said = text
        if self._line is None:
            return
        now = time.monotonic()
        if now >= self._next:
            self._write(now)

    def text(self, elapsed: float) -> str:
        """Return the line.

        Parameters
        ----------
        elapsed
            Seconds since the start.
        """
        if self.total is None:
            count = f"{self.unit} {self.done:,}"
        else:
            count = f"{self.done:,} of {self.total:,} {self.unit}"
        parts = [count, self.said, f"{_span(elapsed)} gone"]
        if self.alike and self.total is not None and 0 < self.done < self.total:
            parts.append(f"about {_span(elapsed / self.done * (self.total - self.done))} left")
        line = ", ".join(filter(None, parts))
        return f"{self.doing}: {line}" if self.doing else line

    def _write(self, now: float) -> None:
        line = self._line
        if line is not None:
            with self._writing:
                self._next = now + _INTERVAL
                line.write(self.text(now - self._start))

    def _rewrite(self) -> None:
        """Write the line again while nothing else does."""
        while not self._ended.wait(_INTERVAL):
            now = time.monotonic()
            if now >= self._next:
                self._write(now)


class _Line(Protocol):
    """Where the line is written."""

    changes: bool
    is_begun: bool

    def write(self, text: str) -> None: ...

    def end(self) -> None: ...


def _line_for(shown: bool | None) -> _Line | None:
    """Return where to write, or ``None`` for nowhere."""
    if shown is False:
        return None
    show = display_of_notebook()
    if show is not None:
        return _OnPage(show)
    try:
        is_terminal = sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return None
    if is_terminal:
        return _AtTerminal()
    return _InFile() if shown else None


def display_of_notebook() -> Any:
    """Return the function that shows something on a page, if there is a page."""
    ipython: Any = sys.modules.get("IPython")
    if ipython is None or getattr(ipython.get_ipython(), "kernel", None) is None:
        return None
    return ipython.display.display


class _AtTerminal:
    """A line that is written over."""

    changes = True

    def __init__(self) -> None:
        self.is_begun = False
        self._width = 0

    def write(self, text: str) -> None:
        sys.stderr.write(f"\r{text:<{self._width}}")
        sys.stderr.flush()
        self._width = max(self._width, len(text))
        self.is_begun = True

    def end(self) -> None:
        sys.stderr.write("\n")
        sys.stderr.flush()


class _OnPage:
    """A line below the cell of a notebook."""

    changes = True

    def __init__(self, show: Any) -> None:
        self.is_begun = False
        self._show = show
        self._handle: Any = None

    def write(self, text: str) -> None:
        shown = {"text/plain": text}
        if self._handle is None:
            self._handle = self._show(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)
        self.is_begun = True

    def end(self) -> None:
        pass


class _InFile:
    """Lines that follow each other."""

    changes = False

    def __init__(self) -> None:
        self.is_begun = False
        self._last = ""

    def write(self, text: str) -> None:
        if text != self._last:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        self._last = text
        self.is_begun = True

    def end(self) -> None:
        pass


def _span(seconds: float) -> str:
    """Return a length of time, as in 12 s or 1:05:00."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
