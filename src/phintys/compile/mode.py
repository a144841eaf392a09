"""Modes: named combinations of a pipeline of rewrites and a backend."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from phintys._base import index
from phintys._base.config import config
from phintys._base.errors import ConfigError
from phintys._base.late import Homes
from phintys._base.names import near_misses
from phintys._base.uninterrupted import is_imported_again
from phintys.backends.base import check_backend, get_backend
from phintys.passes import PIPELINES
from phintys.rewriting import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal, Self

    from phintys.backends.base import Backend
    from phintys.graph.fgraph import FunctionGraph
    from phintys.rewriting import NodeRewriter, Pass, RewriteTrace

    ModeName = Literal[
        "native",
        "reference",
        "debug",
        "NanGuardMode",
        "jax",
        "FAST_RUN",
        "FAST_COMPILE",
        "DebugMode",
        "DEBUG_MODE",
    ]
    """The names of the built-in modes; use ``get_mode(name)`` for registered ones."""


class Mode:
    """How functions are compiled: the passes that rewrite the graph, and the backend that runs it.

    Modes are immutable; the methods that add or remove passes return new modes.

    Parameters
    ----------
    backend
        A backend or its name.
    pipeline
        The passes; none by default.
    name
        Name of the mode, for display.
    verify
        Check the invariants of the graph between passes.
    traced
        Record the rewrites for ``f.trace()``. This keeps the replaced nodes alive.

    Examples
    --------
    >>> from phintys import Mode
    >>> Mode("reference")
    Mode('reference', pipeline: no passes)
    """

    def __init__(
        self,
        backend: str | Backend = "reference",
        pipeline: Pipeline | None = None,
        *,
        name: str | None = None,
        verify: bool = False,
        traced: bool = False,
    ) -> None:
        self._backend = check_backend(backend)
        if pipeline is None:
            pipeline = Pipeline()
        if not isinstance(pipeline, Pipeline):
            msg = (
                f"Mode(backend, pipeline): expected a Pipeline, got {pipeline!r}. Take one from a "
                "mode, as in get_mode('native').pipeline, or make one with "
                "phintys.rewriting.Pipeline([...])."
            )
            raise ConfigError(msg)
        self.pipeline = pipeline
        self.name = name
        self.verify = verify
        self.traced = traced

    @property
    def backend(self) -> Backend:
        """The backend, which is imported on first access."""
        return get_backend(self._backend)

    def rewrite(
        self,
        fgraph: FunctionGraph,
        trace: RewriteTrace | None = None,
        after_pass: Callable[[Pass, FunctionGraph], None] | None = None,
    ) -> None:
        """Run the passes over a graph.

        Parameters
        ----------
        fgraph
            The graph, modified in place.
        trace
            The trace in which to record the rewrites.
        after_pass
            Called after each pass, with the pass and the graph.
        """
        self.pipeline.apply(fgraph, trace, verify=self.verify or None, after_pass=after_pass)

    def including(self, *names: str) -> Self:
        """Return a mode with the passes of these names or tags enabled."""
        return self._with(self.pipeline.including(*names))

    def excluding(self, *names: str) -> Self:
        """Return a mode without the passes and rules of these names or tags."""
        return self._with(self.pipeline.excluding(*names))

    def requiring(self, *names: str) -> Self:
        """Return a mode with only the passes of these names or tags."""
        return self._with(self.pipeline.requiring(*names))

    def stop_after(self, name: str) -> Self:
        """Return a mode whose pipeline ends with the named pass."""
        return self._with(self.pipeline.stop_after(name))

    def inserting(self, new: Pass, *, before: str | None = None, after: str | None = None) -> Self:
        """Return a mode with an additional pass; at the end by default."""
        return self._with(self.pipeline.inserting(new, before=before, after=after))

    def adding(self, *rules: NodeRewriter, to: str = "canonicalize") -> Self:
        """Return a mode with additional rules in one of its passes.

        Examples
        --------
        >>> import phintys
        >>> import phintys.tensor as pt
        >>> from phintys.rewriting import pattern
        >>> @pattern(lambda x: (pt.sin, (pt.arcsin, x)))
        ... def sine_of_arcsine(x):
        ...     '''sin(arcsin(x)) -> x'''
        ...     return x
        >>> x = pt.dscalar("x")
        >>> mode = phintys.get_mode("native").adding(sine_of_arcsine).tracing()
        >>> print(phintys.function([x], pt.sin(pt.arcsin(x)), mode=mode).trace().counts())
        Counter({'sine_of_arcsine': 1})
        """
        return self._with(self.pipeline.adding(*rules, to=to))

    def tracing(self) -> Self:
        """Return a mode that records the rewrites, for ``f.trace()``."""
        return self.clone(traced=True)

    def clone(self, **changes: Any) -> Self:
        """Return a copy of the mode with some arguments changed.

        Examples
        --------
        >>> from phintys import get_mode
        >>> get_mode("reference").clone(name="mine").name
        'mine'
        """
        known = {"backend", "pipeline", "name", "verify", "traced"}
        if unknown := changes.keys() - known:
            msg = f"Mode.clone: unknown {sorted(unknown)}; a mode has {sorted(known)}."
            raise ConfigError(msg)
        if "backend" in changes:
            changes["_backend"] = check_backend(changes.pop("backend"))
        copy = self.__class__.__new__(self.__class__)
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(changes)
        return copy

    def _with(self, pipeline: Pipeline) -> Self:
        return self.clone(pipeline=pipeline, name=None)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.name is not None and _MODES.get(self.name) is self:
            return (get_mode, (self.name,))
        return (_remake, (type(self), dict(self.__dict__)))

    def __repr__(self) -> str:
        passes = ", ".join(self.pipeline.names) or "no passes"
        name = f"{self.name}: " if self.name else ""
        backend = self._backend if isinstance(self._backend, str) else self._backend.name
        return f"{type(self).__name__}({name}{backend!r}, pipeline: {passes})"


def _remake(cls: type[Mode], state: dict[str, Any]) -> Mode:
    mode = cls.__new__(cls)
    mode.__dict__.update(state)
    return mode


_MODES: dict[str, Mode] = {}
_ALIASES: dict[str, str] = {}
_HOMES: dict[str, Mapping[str, object]] = {}
_LATE = Homes(index.MODES)
"""Modules that register modes when they are imported, by the names of these, and their aliases."""


def register_mode(name: str, mode: Mode, *aliases: str) -> None:
    """Register a mode under a name and optional aliases.

    Raises
    ------
    ConfigError
        A mode has one of the names already.
    """
    if not isinstance(mode, Mode):
        msg = f"register_mode({name!r}, ...): expected a Mode, got {mode!r}."
        raise ConfigError(msg)
    _take_names(sys._getframe(1).f_globals, name, *aliases)
    _MODES[name] = mode if mode.name == name else mode.clone(name=name)
    _ALIASES.update(dict.fromkeys(aliases, name))


def _take_names(home: Mapping[str, object], *names: str) -> None:
    """Record the module that registers the names, or raise if another module has registered one."""
    for name in names:
        is_ours = _LATE.get(name) == home.get("__name__")
        if name in mode_names() and not (is_ours or is_imported_again(_HOMES.get(name, {}), home)):
            msg = f"There is a mode {name!r} already; choose another name."
            raise ConfigError(msg)
    _HOMES.update(dict.fromkeys(names, home))


def mode_names() -> tuple[str, ...]:
    """Return the names that :func:`get_mode` accepts."""
    return tuple(dict.fromkeys([*_MODES, *_LATE, *_ALIASES]))


def get_mode(mode: str | Mode | None = None) -> Mode:
    """Return the mode with a name.

    Parameters
    ----------
    mode
        ``"reference"`` (or ``"FAST_COMPILE"``), ``"native"`` (or ``"FAST_RUN"``), ``"debug"``
        (``"DebugMode"``), ``"NanGuardMode"`` or a registered name; ``None`` for ``config.mode``;
        a Mode is returned unchanged.

    Raises
    ------
    ConfigError
        There is no mode with the name.

    Examples
    --------
    >>> from phintys import get_mode
    >>> get_mode("FAST_COMPILE") is get_mode("reference")
    True
    """
    if mode is None:
        mode = config.mode
    if isinstance(mode, Mode):
        return mode
    if not isinstance(mode, str):
        msg = f"A mode is a Mode, the name of one, or None for config.mode; got {mode!r}."
        raise ConfigError(msg)
    if mode not in _MODES and mode not in _ALIASES:
        _LATE.load(mode)
    found = _MODES.get(_ALIASES.get(mode, mode))
    if found is None:
        by_lower = {name.lower(): name for name in mode_names()}
        close = near_misses(mode.lower(), by_lower)
        hint = f" Did you mean {by_lower[close[0]]!r}?" if close else ""
        msg = f"There is no mode {mode!r}; there are {', '.join(mode_names())}.{hint}"
        raise ConfigError(msg)
    return found


# The built-in modes. Those that check what they compute are registered by their own modules.
register_mode(
    "reference",
    Mode("reference", PIPELINES["light"].including("inplace_everywhere")),
    "FAST_COMPILE",
)
register_mode("native", Mode("native", PIPELINES["full"]), "FAST_RUN")
