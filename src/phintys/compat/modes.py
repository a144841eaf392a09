"""Modes with their old signatures: linkers, optimizers, hooks without the graph."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import compile as core
from phintys._base.errors import ConfigError, OpContractError
from phintys._base.errors import NanGuardError as CoreNanGuardError
from phintys.backends.reference import ReferenceBackend
from phintys.compat.configuration import OLD_OPTIONS, OTHER_MODES, config
from phintys.compat.databases import with_registered
from phintys.compat.old_classes import StandsFor
from phintys.compile.nan_guard import NanGuard
from phintys.graph import debugprint
from phintys.passes import PIPELINES
from phintys.rewriting import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Self

__all__ = [
    "FAST_COMPILE",
    "FAST_RUN",
    "DebugMode",
    "Mode",
    "MonitorMode",
    "NanGuardError",
    "NanGuardMode",
    "RewriteDatabaseQuery",
    "chosen_mode",
    "detect_nan",
    "get_default_mode",
    "get_mode",
    "predefined_modes",
]

_OPTIMIZERS = {
    "None": "none",
    "fast_compile": "light",
    "merge": "light",
    "fast_run": "full",
    "default": "full",
    "o0": "none",
    "o1": "light",
    "o2": "full",
    "o3": "full",
    "o4": "full",
}
_PYTHON_LINKERS = frozenset({"py", "vm", "vm_nogc"})
_NATIVE_LINKERS = frozenset(
    {"c", "c|py", "c|py_nogc", "cvm", "cvm_nogc", "jax", "mlx", "numba", "pytorch"}
)


class RewriteDatabaseQuery:
    """Which rewrites a mode has, by their tags; those that Phintys does not have are ignored.

    Parameters
    ----------
    include
        Tags of rewrites; ``"fast_run"`` and ``"fast_compile"`` stand for whole pipelines.
    require, subquery, position_cutoff, extra_rewrites
        Accepted, without effect.
    exclude
        Names of passes and rules that are left out.

    Examples
    --------
    >>> from phintys.compat.modes import Mode, RewriteDatabaseQuery
    >>> mode = Mode("py", RewriteDatabaseQuery(include=["fast_run"], exclude=["merge"]))
    >>> "merge" in mode.pipeline.names
    False
    """

    def __init__(
        self,
        include: Any = (),
        require: Any = None,
        exclude: Any = None,
        subquery: Any = None,
        position_cutoff: Any = None,
        extra_rewrites: Any = None,
    ) -> None:
        self.include = frozenset(name for name in include if name is not None)
        self.exclude = frozenset(exclude or ())

    def including(self, *names: str) -> RewriteDatabaseQuery:
        """Return a query that includes these tags too."""
        return RewriteDatabaseQuery(self.include.union(names), exclude=self.exclude)

    def excluding(self, *names: str) -> RewriteDatabaseQuery:
        """Return a query without rewrites of these names."""
        return RewriteDatabaseQuery(self.include, exclude=self.exclude.union(names))

    def pipeline(self) -> Pipeline:
        """Return the pipeline that has what the query asks for."""
        whole = "light" if "fast_compile" in self.include else "none"
        mode = OldMode("reference", PIPELINES["full" if "fast_run" in self.include else whole])
        return mode.excluding(*self.exclude).pipeline


def _pipeline(optimizer: Any) -> Pipeline:
    """Return the pipeline for the name of an old optimizer."""
    if isinstance(optimizer, Pipeline):
        return optimizer
    if isinstance(optimizer, RewriteDatabaseQuery):
        return optimizer.pipeline()
    name = _OPTIMIZERS.get(str(optimizer))
    if name is None:
        msg = (
            f"The optimizer {optimizer!r} is unknown; there are {', '.join(_OPTIMIZERS)}, and "
            "pipelines of phintys.rewriting."
        )
        raise ConfigError(msg)
    return PIPELINES[name]


def _backend(linker: Any) -> Any:
    """Return the backend for the name of an old linker."""
    if linker is None:
        return core.get_mode(None).backend
    if linker in _PYTHON_LINKERS:
        return "reference"
    if linker in _NATIVE_LINKERS:
        return "native"
    known = sorted(_PYTHON_LINKERS | _NATIVE_LINKERS)
    msg = f"The linker {linker!r} is unknown; there are {', '.join(known)}."
    raise ConfigError(msg)


class OldMode(core.Mode):
    """A mode that accepts and ignores the names of old rewrites, such as ``"fusion"``."""

    @property
    def linker(self) -> Any:
        """What runs the graph: the backend."""
        return self.backend

    @property
    def optimizer(self) -> Pipeline:
        """What rewrites the graph: the pipeline."""
        return self.pipeline

    def including(self, *names: str) -> Self:
        """Return a mode with these passes enabled, ignoring unknown names.

        ``"fast_run"`` and ``"fast_compile"`` were the tags of all rewrites of their optimizers: for
        a mode without passes they add the corresponding pipeline.
        """
        mode = self
        whole = [name for name in names if name in {"fast_run", "fast_compile"}]
        if whole and not mode.pipeline.passes:
            mode = mode.clone(pipeline=PIPELINES[_OPTIMIZERS[whole[0]]], name=None)
        return super(OldMode, mode).including(*mode._known(names))

    def _known(self, names: tuple[str, ...]) -> list[str]:
        known = self.pipeline.all_names()
        return [name for name in names if name in known]

    def excluding(self, *names: str) -> Self:
        """Return a mode without the passes and rules of these names, ignoring unknown names."""
        return super().excluding(*self._known(names))


class Mode(metaclass=StandsFor):
    """``Mode(linker, optimizer)``."""

    core = core.Mode

    def __new__(cls, linker: Any = None, optimizer: Any = "default", **options: Any) -> Any:
        """Return a mode: Python linkers select the reference backend, all others native code."""
        return OldMode(_backend(linker), with_registered(_pipeline(optimizer)), **options)


def get_mode(mode: Any = None) -> Any:
    """Return a mode by name; by default that of ``config.linker`` and ``config.optimizer``."""
    found = core.get_mode(chosen_mode(mode))
    if type(found) is not core.Mode:
        return found
    return OldMode(found.backend, with_registered(found.pipeline), name=found.name)


def get_default_mode() -> Any:
    """Return the default mode."""
    return get_mode(None)


def chosen_mode(mode: Any) -> Any:
    """Return ``mode``, or the one selected by the old options if they were set.

    A mode that is chosen by its name has the rewrites that are registered.
    """
    if isinstance(mode, core.Mode):
        return mode
    named = core.get_mode(_by_options(mode))
    pipeline = with_registered(named.pipeline)
    return named if pipeline is named.pipeline else named.clone(pipeline=pipeline)


def _by_options(mode: Any) -> Any:
    if mode is None and not isinstance(config.mode, str):
        return config.mode
    name = config.mode if mode is None else mode
    if isinstance(name, str) and name in OTHER_MODES:
        return core.get_mode(OTHER_MODES[name])
    if mode == "NanGuardMode":
        return NanGuardMode()
    if mode in ("Mode", None):
        linker, optimizer = config.linker, config.optimizer
        as_before = (OLD_OPTIONS["linker"], OLD_OPTIONS["optimizer"])
        if (linker, optimizer) != as_before:
            return Mode(linker, optimizer)
        return None if mode == "Mode" else mode
    return mode


FAST_COMPILE = get_mode("FAST_COMPILE")
FAST_RUN = get_mode("FAST_RUN")
predefined_modes = {
    "FAST_COMPILE": FAST_COMPILE,
    "FAST_RUN": FAST_RUN,
    **{name: get_mode(name) for name in OTHER_MODES},
}

# These compile to Python or C in their own ways; here all of them are native code.
JAX = MLX = NUMBA = PYTORCH = CVM = VM = FAST_RUN

OPT_NONE = RewriteDatabaseQuery()
OPT_MERGE = RewriteDatabaseQuery(("merge",))
OPT_FAST_COMPILE = OPT_O2 = RewriteDatabaseQuery(("fast_compile",))
OPT_FAST_RUN = OPT_FAST_RUN_STABLE = OPT_O3 = RewriteDatabaseQuery(("fast_run",))
OPT_STABILIZE = OPT_UNSAFE = OPT_FAST_RUN
"""Queries by the names of ``compile.mode``; a query of less than ``fast_run`` has what is named."""


def _with_graph(hook: Callable[..., None] | None) -> Callable[..., None] | None:
    """Adapt a hook to take the graph as its first argument, if it does not."""
    if hook is None:
        return None
    if _takes(hook, 4):
        return hook
    if _takes(hook, 3):
        return lambda fgraph, i, node, fn: hook(i, node, fn)
    msg = (
        "MonitorMode calls its hooks with (fgraph, i, node, fn), or (i, node, fn); got one that "
        f"takes {inspect.signature(hook)}."
    )
    raise OpContractError(msg)


def _takes(hook: Callable[..., None], count: int) -> bool:
    try:
        inspect.signature(hook).bind(*range(count))
    except TypeError:
        return False
    return True


class MonitorMode(OldMode, core.MonitorMode):
    """``MonitorMode(pre_func, post_func, optimizer, linker)``; the hooks are ``(i, node, fn)``.

    Newer hooks, ``(fgraph, i, node, fn)``, are accepted as well.
    """

    def __init__(
        self,
        pre_func: Callable[..., None] | None = None,
        post_func: Callable[..., None] | None = None,
        optimizer: Any = "default",
        linker: Any = None,
    ) -> None:
        core.MonitorMode.__init__(
            self, _with_graph(pre_func), _with_graph(post_func), _pipeline(optimizer)
        )


class NanGuardError(CoreNanGuardError, AssertionError):
    """``NanGuardMode`` found NaN, infinity or a huge value; an AssertionError, as before."""


class _Guard(NanGuard):
    """Checks the values of each node, and raises the old kind of error."""

    def before(self, node: Any, inputs: Any) -> None:
        """Raise if the value of a leaf is bad."""
        with _as_assertion():
            super().before(node, inputs)

    def after(self, node: Any, inputs: Any, outputs: Any) -> None:
        """Raise if a result is bad."""
        with _as_assertion():
            super().after(node, inputs, outputs)


@contextmanager
def _as_assertion() -> Generator[None]:
    try:
        yield
    except CoreNanGuardError as error:
        raise NanGuardError(str(error)) from None


class NanGuardMode(OldMode, core.NanGuardMode):
    """``NanGuardMode(nan_is_error, inf_is_error, big_is_error, optimizer, linker)``."""

    def __init__(
        self,
        nan_is_error: bool = True,
        inf_is_error: bool = True,
        big_is_error: bool = True,
        optimizer: Any = "default",
        linker: Any = None,
    ) -> None:
        guard = _Guard(nan_is_error, inf_is_error, big_is_error)
        backend = ReferenceBackend(before_node=guard.before, after_node=guard.after)
        core.Mode.__init__(self, backend, _pipeline(optimizer))


class DebugMode(OldMode, core.DebugMode):
    """``DebugMode``, where ``check_c_code`` refers to native code; ``None`` means the default."""

    def __init__(
        self,
        optimizer: Any = "fast_run",
        *,
        check_c_code: bool | None = None,
        check_py_code: bool | None = None,
        linker: Any = None,
        **options: Any,
    ) -> None:
        options |= {"check_native": check_c_code, "check_py": check_py_code}
        given = {name: value for name, value in options.items() if value is not None}
        core.DebugMode.__init__(self, _pipeline(optimizer), **given)


def detect_nan(fgraph: Any, i: int, node: Any, fn: Any) -> None:
    """Print a node, its inputs and its outputs, if an output has a NaN."""
    values = [cell[0] for cell in fn.outputs]
    if not any(
        np.issubdtype(np.asarray(v).dtype, np.inexact) and np.isnan(v).any() for v in values
    ):
        return
    print("*** NaN detected ***")  # noqa: T201 - this and the next are what the hook is for
    debugprint(node)
    print("Inputs :", [cell[0] for cell in fn.inputs])  # noqa: T201
    print("Outputs:", values)  # noqa: T201


def _has_nan(value: Any) -> bool:
    array = np.asarray(value)
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())
