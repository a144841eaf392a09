"""The place in the user's program where a node was created.

Recording must take well under a microsecond, since it is done for every node. Only the code object
and the offset of the current instruction are stored, once for all nodes created there; the line
number is computed on demand. (``frame.f_lineno`` decodes the line table from its start each time,
which takes microseconds in a long module.)
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
import sys
from bisect import bisect_right
from contextvars import ContextVar
from operator import itemgetter
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token

    _Function = TypeVar("_Function", bound=Callable[..., Any])

_MOST_REMEMBERED = 20_000  # code objects, and files: a program can generate code at run time


class Origin:
    """A place in user code: file, line and enclosing function, resolved on demand.

    Attributes
    ----------
    step_of : str
        Name of the function whose result the node is a step to; empty if it is the result.

    Examples
    --------
    >>> from phintys._base.origin import current_origin
    >>> origin = current_origin()
    >>> origin.lineno
    1
    """

    __slots__ = ("_code", "_lasti", "_place", "step_of")

    def __init__(self, code: CodeType | None, lasti: int) -> None:
        self._code = code
        self._lasti = lasti
        self._place: tuple[str, int, str] | None = None
        self.step_of = ""

    @classmethod
    def at(cls, filename: str, lineno: int, function: str) -> Origin:
        """Return the origin at a place that another program recorded."""
        origin = cls(None, 0)
        origin._place = (filename, lineno, function)
        return origin

    def as_step_of(self, function: str) -> Origin:
        """Return the same place, for the steps of a function that is applied there."""
        if self.step_of:  # a step of a step
            return self
        origin = Origin(self._code, self._lasti)
        origin._place = self._place
        origin.step_of = function
        return origin

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
        """Line number, counted from 1; 0 if unknown."""
        return self._resolve()[1]

    @property
    def function(self) -> str:
        """Name of the enclosing function, ``<module>`` at top level."""
        return self._resolve()[2]

    @property
    def source(self) -> str:
        """Text of the line, stripped; empty if the source cannot be read."""
        return linecache.getline(self.filename, self.lineno).strip()

    def __str__(self) -> str:
        place = f"{shown_file(self.filename)}, line {self.lineno}, in {self.function}"
        return f"{place}\n    {self.source}" if self.source else place

    def __repr__(self) -> str:
        return f"<Origin {self.filename}:{self.lineno}>"

    # A code object cannot be pickled, and is meaningless in another process: pickle the place.
    def __getstate__(self) -> tuple[str, int, str, str]:
        return (*self._resolve(), self.step_of)

    def __setstate__(self, state: tuple[str, int, str, str]) -> None:
        self._code = None
        self._lasti = 0
        self._place = state[:3]
        self.step_of = state[3]

    def __deepcopy__(self, memo: dict[int, object]) -> Origin:
        return self


def shown_file(filename: str) -> str:
    """Return how messages name a file: by its path, and a cell of a notebook by its number.

    Examples
    --------
    >>> from phintys._base.origin import shown_file
    >>> print(shown_file("model.py"))
    File "model.py"
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = None if name_of is None else name_of(filename)
    return f'File "{filename}"' if named is None else " ".join(named)


UNKNOWN = Origin(None, 0)


class _Places(dict[int, Origin]):
    """The origins in one code object by instruction offset; keeps the code object alive."""

    __slots__ = ("code", "lines")

    def __init__(self, code: CodeType) -> None:
        super().__init__()
        self.code = code
        self.lines: list[tuple[int, int | None]] = []

    def line(self, lasti: int) -> int:
        """Return the line of an instruction, from a table that is decoded once."""
        lines = self.lines
        if not lines:
            # It is stored whole or not at all: memory may run out, or a signal may come.
            lines = self.lines = [(start, line) for start, _, line in self.code.co_lines()]
        at = bisect_right(lines, lasti, key=itemgetter(0)) - 1
        found = lines[at][1] if lines else None
        return self.code.co_firstlineno if found is None else found


# id(code) -> its origins, for user code. Keyed by id, since hashing a code object is slow; the
# value keeps the code object alive, so that the id remains unique.
_PLACES: dict[int, _Places] = {}


def _line(code: CodeType, lasti: int) -> int:
    places = _PLACES.get(id(code))
    return (_Places(code) if places is None else places).line(lasti)


# pathlib is slow to import.
_FOLDER = os.path.dirname(_line.__code__.co_filename)  # noqa: PTH120
_PACKAGE = os.path.dirname(_FOLDER) + os.sep  # noqa: PTH120
# Frames of `singledispatch` and of `contextmanager` decorators occur between user code and ours.
_BETWEEN = frozenset(
    function.__code__.co_filename
    for function in (functools.update_wrapper, contextlib.contextmanager)
)
# Name of a file -> whether frames of its code are skipped.
_INTERNAL: dict[str, bool] = {}

_INHERITED: ContextVar[Origin | None] = ContextVar("phintys.origin", default=None)
_inherited = _INHERITED.get
# The only cheap way to get the caller's frame.
_frame_at = sys._getframe  # pyright: ignore[reportPrivateUsage]


def current_origin(depth: int = 1) -> Origin:
    """Return the place in user code that is executing now.

    Frames of Phintys itself and of ``make_node`` methods are skipped, so that the reported line is
    the one where an Op was applied. Inside :func:`inherit_origin` the inherited origin
    is returned instead.

    Parameters
    ----------
    depth
        Number of innermost frames that are known to be internal.

    Returns
    -------
    Origin
        Never ``None``; an unknown origin if there is no user code on the stack.
    """
    origin = _inherited()
    if origin is not None:
        return origin
    frame: Any = _frame_at(depth)
    try:
        # Each frame takes a tenth of a microsecond, most of it to create the frame object, so
        # everything else is deferred.
        while True:
            while _INTERNAL[frame.f_code.co_filename]:
                frame = frame.f_back
            code = frame.f_code
            if code.co_name != "make_node":
                return _PLACES[id(code)][frame.f_lasti]
            frame = frame.f_back
    except KeyError:
        pass  # first occurrence of a file, code object or instruction
    except AttributeError:  # None has no f_code: the stack ends here
        return UNKNOWN
    return _first_origin(frame)


def _first_origin(frame: FrameType | None) -> Origin:
    """Return the origin from ``frame`` outwards, recording files and code that are new."""
    while frame is not None:
        code = frame.f_code
        if not is_internal(code.co_filename) and code.co_name != "make_node":
            places = _PLACES.get(id(code))
            if places is None:
                if len(_PLACES) >= _MOST_REMEMBERED:
                    _PLACES.clear()
                places = _PLACES[id(code)] = _Places(code)
            return places.setdefault(frame.f_lasti, Origin(code, frame.f_lasti))
        frame = frame.f_back
    return UNKNOWN


def is_internal(filename: str) -> bool:
    """Return whether a file is of Phintys, or its frames stand between user code and Phintys.

    Examples
    --------
    >>> from phintys._base.origin import is_internal
    >>> is_internal(is_internal.__code__.co_filename), is_internal("model.py")
    (True, False)
    """
    internal = _INTERNAL.get(filename)
    if internal is None:
        if len(_INTERNAL) >= _MOST_REMEMBERED:
            _INTERNAL.clear()
        internal = filename.startswith(_PACKAGE) or filename in _BETWEEN
        _INTERNAL[filename] = internal
    return internal


def hide_frames(error: BaseException) -> None:
    """Mark the frames of Phintys that led to an error as hidden, if IPython is there.

    Tracebacks in notebooks then show the frames of the user, how many are hidden, and the frame
    that raised the error; ``get_ipython().InteractiveTB.skip_hidden = False`` shows all. Others
    are as they were.

    Parameters
    ----------
    error
        What is about to be raised, or has been caught by a function that users call.

    Examples
    --------
    >>> from phintys._base.origin import hide_frames
    >>> hide_frames(ValueError("not raised yet"))
    """
    if "IPython" not in sys.modules:
        return
    frame: FrameType | None = _frame_at(1)
    while frame is not None:
        _hide(frame)
        frame = frame.f_back
    step = error.__traceback__
    while step is not None:
        _hide(step.tb_frame)
        step = step.tb_next


def _hide(frame: FrameType) -> None:
    """Hide a frame of Phintys, or of what NumPy puts between."""
    module = str(frame.f_globals.get("__name__"))
    if is_internal(frame.f_code.co_filename) or module.startswith("numpy."):
        frame.f_locals["__tracebackhide__"] = True


def is_inheriting() -> bool:
    """Return whether new nodes derive from other ones, as in rewrites and gradients.

    Examples
    --------
    >>> from phintys._base.origin import current_origin, inherit_origin, is_inheriting
    >>> with inherit_origin(current_origin()):
    ...     is_inheriting()
    True
    """
    return _inherited() is not None


class inherit_origin:
    """Give the nodes created in a ``with`` block the origin of the node that they derive from.

    Rewrites and gradients use it, so that their nodes refer to a line of the user's program.

    Parameters
    ----------
    origin
        Usually ``node.origin``; with ``None``, nodes record where they are created, as outside of
        any block.

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


def in_steps(function: _Function) -> _Function:
    """Decorate a function that applies several Ops, for errors that name what the user called.

    Examples
    --------
    >>> from phintys._base.origin import current_origin, in_steps
    >>> @in_steps
    ... def solve():
    ...     return current_origin().step_of
    >>> solve()
    'solve'
    """

    @functools.wraps(function)
    def applied(*args: Any, **kwargs: Any) -> Any:
        with inherit_origin(current_origin().as_step_of(function.__name__)):
            return function(*args, **kwargs)

    return cast("_Function", applied)
