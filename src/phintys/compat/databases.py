"""Rewrites for all functions: ``optdb.register`` and ``register_canonicalize``.

They are part of the modes that are named or made while an old package is installed. Phintys itself
adds rules to one mode: ``mode.adding(rule)``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys._base.records import record
from phintys.compat.rewriters import in2out
from phintys.rewriting import NodeRewriter, Pass

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.rewriting import Pipeline

__all__ = [
    "Database",
    "forget_all",
    "optdb",
    "register_canonicalize",
    "register_specialize",
    "register_stabilize",
    "register_useless",
    "with_registered",
]

_POSITIONS = {"merge": 0.0, "canonicalize": 1.0, "stabilize": 1.5, "specialize": 2.0}
_POSITIONS |= {"merge_again": 49.0, "inplace": 75.0}
"""The passes that the old packages had, and their positions among all rewrites."""

_PHASES = ("canonicalize", "stabilize", "specialize")


@record(frozen=True)
class _Entry:
    rewriter: Any
    tags: frozenset[str]
    position: float
    phase: str | None


_registered: dict[str, _Entry] = {}


def forget_all() -> None:
    """Remove all rewrites that were registered."""
    _registered.clear()


class Database:
    """``optdb``, or one of its phases, such as ``optdb["canonicalize"]``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.databases import forget_all, optdb, with_registered
    >>> from phintys.compat.rewriters import PatternSub
    >>> rule = PatternSub((pt.sin, (pt.arcsin, "x")), "x")
    >>> optdb["canonicalize"].register("sin_of_arcsin", rule, "fast_run")
    >>> import phintys
    >>> mode = phintys.Mode("native", with_registered(phintys.get_mode("native").pipeline))
    >>> x = pt.dvector("x")
    >>> phintys.dprint(phintys.function([x], pt.sin(pt.arcsin(x)) * 2, mode=mode))
    Mul [id A] 0
     ├─ TensorConstant{[2.]} [id B]
     └─ x [id C]
    >>> forget_all()
    """

    def __init__(self, phase: str | None = None) -> None:
        self._phase = phase

    def __getitem__(self, name: str) -> Database:
        """Return a phase, by its name."""
        if self._phase is None and name in _PHASES:
            return Database(name)
        msg = f"optdb has the phases {', '.join(_PHASES)} in Phintys; got {name!r}."
        raise ArgumentError(msg)

    def __getattr__(self, name: str) -> Any:
        msg = (
            f"optdb.{name}: Phintys does not offer databases of rewrites, except for register(): "
            "mode.pipeline has the passes of a mode."
        )
        raise AttributeError(msg)

    def register(
        self, name: str, rewriter: Any, *tags: Any, position: Any = "last", **options: Any
    ) -> None:
        """Add a rewrite to the modes that are made from now on.

        Parameters
        ----------
        name
            Its name, for ``mode.excluding(name)``.
        rewriter
            A rule, or a step over a whole graph.
        tags
            ``"fast_run"`` for native and other complete modes, ``"fast_compile"`` for
            ``FAST_COMPILE``; other tags have no effect. A number is the position.
        position
            Where the rewrite takes place among those of the old packages: canonicalize is at 1,
            stabilize at 1.5, specialize at 2, inplace at 75.

        Raises
        ------
        ArgumentError
            The name is taken.
        """
        if name in _registered:
            msg = f"A rewrite is registered as {name!r} already: choose another name."
            raise ArgumentError(msg)
        numbers = [one for one in (*tags, position) if isinstance(one, int | float)]
        words = frozenset(one for one in tags if isinstance(one, str))
        at = float(numbers[0]) if numbers else float("inf")
        _registered[name] = _Entry(rewriter, words, at, self._phase)


optdb = Database()


def _registering(phase: str) -> Callable[..., Any]:
    def register(rewriter: Any, *tags: str, name: str | None = None, **options: Any) -> Any:
        """Register a rule; used as a decorator, with or without tags."""
        if isinstance(rewriter, str):
            return lambda rule: register(rule, rewriter, *tags, name=name, **options)
        found = name or getattr(rewriter, "name", None) or getattr(rewriter, "__name__", phase)
        optdb[phase].register(found, rewriter, "fast_run", *tags)
        return rewriter

    register.__name__ = f"register_{phase}"
    return register


register_canonicalize = _registering("canonicalize")
register_stabilize = _registering("stabilize")
register_specialize = _registering("specialize")
register_useless = register_canonicalize


def with_registered(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline with what is registered for it, and is not in it."""
    if not _registered or "canonicalize" not in pipeline.names:
        return pipeline
    tag = "fast_run" if "specialize" in pipeline.names else "fast_compile"
    known = pipeline.all_names()
    for name, entry in _registered.items():
        if tag in entry.tags and name not in known:
            pipeline = _adding(pipeline, name, entry)
    return pipeline


def _adding(pipeline: Pipeline, name: str, entry: _Entry) -> Pipeline:
    rewriter = entry.rewriter
    if isinstance(rewriter, NodeRewriter):
        rewriter = copy.copy(rewriter)
        rewriter.name = name
        if entry.phase is not None:
            there = entry.phase if entry.phase in pipeline.names else "canonicalize"
            return pipeline.adding(rewriter, to=there)
        rewriter = in2out(rewriter)
    position = entry.position if entry.phase is None else _POSITIONS[entry.phase]
    before = [one for one in pipeline.names if _POSITIONS.get(one, float("inf")) <= position]
    new = Pass(name, rewriter)
    if not before:
        return pipeline.inserting(new, before="merge")
    return pipeline.inserting(new, after=before[-1])
