"""Where in the user's program a node was made.

Recording must cost well under a microsecond, since every node pays for it. A frame already knows
its code object and the offset of the running instruction, so that pair is all that is stored, once
for all nodes that are made there; the line number is worked out only when somebody asks.
(``frame.f_lineno`` decodes the line table from its start each time: microseconds in a long module.)
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
import sys
from bisect import bisect_right
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextvars import Token
    from types import CodeType, TracebackType

__all__ = ["Origin", "current_origin", "inherit_origin"]

_MOST_REMEMBERED = 20_000  # code objects; a program may make code as it runs


class Origin:
    """A place in user code: file, line and enclosing function, resolved on demand.

    Examples
    --------
    >>> from phintys._base.origin import current_origin
    >>> origin = current_origin()
    >>> origin.lineno
    1
    """

    __slots__ = ("_code", "_lasti", "_place")

    def __init__(self, code: CodeType | None, lasti: int) -> None:
        self._code = code
        self._lasti = lasti
        self._place: tuple[str, int, str] | None = None

    def _resolve(self) -> tuple[str, int, str]:
        if self._place is None:
            code = self._code
            if code is None:
                self._place = ("<unknown>", 0, "<unknown>")
            else:
                self._place = (code.co_filename, _line(code, self._lasti), code.co_name)
        return self._place

    @property
    def filename(self) -> str:
        """Path of the file, as Python knows it."""
        return self._resolve()[0]

    @property
    def lineno(self) -> int:
        """Line number, counted from 1; 0 where it is unknown."""
        return self._resolve()[1]

    @property
    def function(self) -> str:
        """Name of the enclosing function, ``<module>`` at top level."""
        return self._resolve()[2]

    @property
    def source(self) -> str:
        """Text of the line, stripped; empty where the source cannot be read."""
        return linecache.getline(self.filename, self.lineno).strip()

    def __str__(self) -> str:
        place = f'File "{self.filename}", line {self.lineno}, in {self.function}'
        return f"{place}\n    {self.source}" if self.source else place

    def __repr__(self) -> str:
        return f"<Origin {self.filename}:{self.lineno}>"

    # A code object cannot be pickled, and means nothing in another process: the place goes instead.
    def __getstate__(self) -> tuple[str, int, str]:
        return self._resolve()

    def __setstate__(self, state: tuple[str, int, str]) -> None:
        self._code = None
        self._lasti = 0
        self._place = state

    def __deepcopy__(self, memo: dict[int, object]) -> Origin:
        return self


UNKNOWN = Origin(None, 0)


class _Places(dict[int, Origin]):
    """The origins in one code object by instruction offset; keeps the code object alive."""

    __slots__ = ("code", "lines", "starts")

    def __init__(self, code: CodeType) -> None:
        super().__init__()
        self.code = code
        self.starts: list[int] = []
        self.lines: list[int | None] = []

    def line(self, lasti: int) -> int:
        """Return the line of an instruction, by a table that is decoded once."""
        if not self.starts:
            for start, _end, line in self.code.co_lines():
                self.starts.append(start)
                self.lines.append(line)
        found = self.lines[bisect_right(self.starts, lasti) - 1] if self.starts else None
        return self.code.co_firstlineno if found is None else found


# id(code) -> its origins, or None for a frame to look through. By id, since hashing a code object
# is slow; every code object in here is kept alive, so that its id stays its own.
_PLACES: dict[int, _Places | None] = {}
_LOOKED_THROUGH: list[CodeType] = []


def _line(code: CodeType, lasti: int) -> int:
    places = _PLACES.get(id(code))
    return (_Places(code) if places is None else places).line(lasti)


_PACKAGE = str(Path(_line.__code__.co_filename).parent.parent) + os.sep
# `singledispatch` and decorators made by `contextmanager` stand between user code and ours.
_BETWEEN = frozenset(
    function.__code__.co_filename
    for function in (functools.update_wrapper, contextlib.contextmanager)
)


def _learn(code: CodeType) -> _Places | None:
    """Find out what kind of code this is, and remember it."""
    if len(_PLACES) >= _MOST_REMEMBERED:
        _PLACES.clear()
        _LOOKED_THROUGH.clear()
    if (
        code.co_filename.startswith(_PACKAGE)
        or code.co_name == "make_node"
        or code.co_filename in _BETWEEN
    ):
        _LOOKED_THROUGH.append(code)
        _PLACES[id(code)] = None
        return None
    places = _PLACES[id(code)] = _Places(code)
    return places


_INHERITED: ContextVar[Origin | None] = ContextVar("phintys.origin", default=None)
_inherited = _INHERITED.get
_frame_at = sys._getframe  # pyright: ignore[reportPrivateUsage]


def current_origin(depth: int = 1) -> Origin:
    """Return the place in user code that is executing now.

    Frames of Phintys itself and of ``make_node`` methods are looked through, so that the line
    reported is the one where an Op was applied. Inside :func:`inherit_origin` the inherited origin
    is returned instead.

    Parameters
    ----------
    depth
        How many of the innermost frames are known to be internal.

    Returns
    -------
    Origin
        Never ``None``; an unknown origin when there is no user code on the stack.
    """
    origin = _inherited()
    if origin is not None:
        return origin
    frame = _frame_at(depth)
    while frame is not None:
        code = frame.f_code
        try:
            places = _PLACES[id(code)]
        except KeyError:
            places = _learn(code)
        if places is not None:
            lasti = frame.f_lasti
            origin = places.get(lasti)
            if origin is None:
                origin = places[lasti] = Origin(code, lasti)
            return origin
        frame = frame.f_back
    return UNKNOWN


class inherit_origin:
    """Give the nodes made in a ``with`` block the origin of a node that they stand for.

    Rewrites and gradients use it: what they build belongs to the user's line, not to theirs.

    Parameters
    ----------
    origin
        Usually ``node.origin``; ``None`` lets nodes record where they are made, as outside of any
        block.

    Examples
    --------
    >>> from phintys._base.origin import Origin, current_origin, inherit_origin
    >>> here = current_origin()
    >>> with inherit_origin(here):
    ...     current_origin() is here
    True
    """

    __slots__ = ("_origin", "_token")

    def __init__(self, origin: Origin | None) -> None:
        self._origin = origin
        self._token: Token[Origin | None] | None = None

    def __enter__(self) -> None:
        self._token = _INHERITED.set(self._origin)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._token is not None:
            _INHERITED.reset(self._token)
