"""Modes with their old signatures: linkers, optimizers, hooks without the graph."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import compile as core
from phintys._base.errors import ConfigError, OpContractError
from phintys.backends.reference import ReferenceBackend
from phintys.compat.configuration import OLD_OPTIONS, OTHER_MODES, config
from phintys.compat.databases import RewriteDatabaseQuery
from phintys.compat.old_classes import StandsFor
from phintys.compat.registered import known_names, passes_of, tags_of, with_registered
from phintys.compile.monitor import NanGuard
from phintys.graph import debugprint
from phintys.passes import PIPELINES
from phintys.rewriting import GraphRewriter, Pass, Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "FAST_COMPILE",
    "FAST_RUN",
    "DebugMode",
    "Mode",
    "MonitorMode",
    "NanGuardMode",
    "chosen_mode",
    "detect_nan",
    "get_default_mode",
    "get_mode",
    "predefined_modes",
    "predefined_optimizers",
    "register_optimizer",
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


def _pipeline(optimizer: Any) -> Pipeline:
    """Return the pipeline for the name of an old optimizer."""
    if isinstance(optimizer, Pipeline):
        return optimizer
    if isinstance(optimizer, str) and optimizer not in _OPTIMIZERS:
        optimizer = predefined_optimizers.get(optimizer, optimizer)
    if isinstance(optimizer, RewriteDatabaseQuery):
        return passes_of(optimizer)
    if isinstance(optimizer, GraphRewriter):
        return Pipeline([Pass(optimizer.name, optimizer)])
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
    """A mode that accepts the names of old rewrites, such as ``"fusion"``, without effect.

    Attributes
    ----------
    asked
        The tags and names of registered rewrites that it has and does not have.
    """

    asked = RewriteDatabaseQuery()
    source: OldMode | None = None
    """The mode that this one is with what was registered, or ``None``."""

    @property
    def linker(self) -> Any:
        """What runs the graph: the backend."""
        return self.backend

    @property
    def optimizer(self) -> Pipeline:
        """What rewrites the graph: the pipeline, with what is registered by now."""
        return self.with_registered().pipeline

    def including(self, *names: str) -> Any:
        """Return a mode with these passes, and the registered rewrites that have these tags.

        ``"fast_run"`` and ``"fast_compile"`` were the tags of all rewrites of their optimizers: for
        a mode without passes they add the corresponding pipeline.
        """
        pipeline = (self.source or self).pipeline
        whole = [name for name in names if name in {"fast_run", "fast_compile"}]
        if whole and not pipeline.passes:
            pipeline = PIPELINES[_OPTIMIZERS[whole[0]]]
        known = known_names(pipeline, frozenset(names))
        return self._asking(self.asked.including(*names), pipeline.including(*known))

    def excluding(self, *names: str) -> Any:
        """Return a mode without the passes, rules and registered rewrites of these names or tags.

        Unknown names are ignored.
        """
        pipeline = (self.source or self).pipeline
        known = known_names(pipeline, frozenset(names))
        return self._asking(self.asked.excluding(*names), pipeline.excluding(*known))

    def register(self, *rewrites: Any) -> Any:
        """Return a mode with further rewriters: pairs ``(rewriter, position)``."""
        return self._asking(self.asked.register(*rewrites), (self.source or self).pipeline)

    def _asking(self, asked: RewriteDatabaseQuery, pipeline: Pipeline) -> Any:
        mode = (self.source or self).clone(pipeline=pipeline, name=None)
        mode.asked = asked
        return mode

    def with_registered(self) -> OldMode:
        """Return a mode that has what is registered with its tags by now."""
        if self.source is not None:
            return self
        query = self.asked.including(*tags_of(self.pipeline))
        pipeline = with_registered(self.pipeline, query)
        if pipeline is self.pipeline:
            return self
        mode = self.clone(pipeline=pipeline)
        mode.source = self
        return mode


class Mode(metaclass=StandsFor):
    """``Mode(linker, optimizer)``."""

    core = core.Mode

    def __new__(cls, linker: Any = None, optimizer: Any = "default", **options: Any) -> Any:
        """Return a mode: Python linkers select the reference backend, all others native code."""
        mode = OldMode(_backend(linker), _pipeline(optimizer), **options)
        query = predefined_optimizers.get(optimizer) if isinstance(optimizer, str) else optimizer
        if isinstance(query, RewriteDatabaseQuery):
            mode.asked = query
        return mode


def get_mode(mode: Any = None) -> Any:
    """Return a mode by name; by default that of ``config.linker`` and ``config.optimizer``."""
    found = core.get_mode(chosen_mode(mode))
    return _as_old(found)


def _as_old(mode: Any) -> Any:
    return OldMode(mode.backend, mode.pipeline, name=mode.name) if type(mode) is core.Mode else mode


def get_default_mode() -> Any:
    """Return the default mode."""
    return get_mode(None)


def chosen_mode(mode: Any) -> Any:
    """Return ``mode``, or the one selected by the old options if they were set.

    A mode that is chosen by its name has the rewrites that are registered.
    """
    if isinstance(mode, OldMode):
        return mode.with_registered()
    if isinstance(mode, core.Mode):
        return mode
    named = core.get_mode(_by_options(mode))
    if type(named) is not core.Mode and not isinstance(named, OldMode):
        return named
    complete = _as_old(named).with_registered()
    return named if complete.pipeline is named.pipeline else complete


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
C = JAX = MLX = NUMBA = PYTORCH = CVM = VM = FAST_RUN

OPT_NONE = OPT_MINIMUM = RewriteDatabaseQuery()
OPT_MERGE = RewriteDatabaseQuery(("merge",))
OPT_FAST_COMPILE = OPT_O2 = RewriteDatabaseQuery(("fast_compile",))
OPT_FAST_RUN = OPT_FAST_RUN_STABLE = OPT_O3 = RewriteDatabaseQuery(("fast_run",))
OPT_STABILIZE = OPT_UNSAFE = OPT_FAST_RUN
"""Queries by the names of ``compile.mode``; a query of less than ``fast_run`` has what is named."""

predefined_optimizers: dict[Any, RewriteDatabaseQuery | GraphRewriter] = {
    None: OPT_NONE,
    "None": OPT_NONE,
    "merge": OPT_MERGE,
    "fast_run": OPT_FAST_RUN,
    "fast_run_stable": OPT_FAST_RUN_STABLE,
    "fast_compile": OPT_FAST_COMPILE,
    "o2": OPT_O2,
    "o3": OPT_O3,
    "o4": OPT_O3,
    "stabilize": OPT_STABILIZE,
    "unsafe": OPT_UNSAFE,
}
"""Queries by the names of old optimizers; :func:`register_optimizer` adds to them."""


def register_optimizer(name: str, opt: Any) -> None:
    """Add a query, or a rewriter of whole graphs, that ``Mode(linker, name)`` uses.

    Raises
    ------
    ConfigError
        There is an optimizer of this name.
    """
    if name in predefined_optimizers:
        msg = f"There is an optimizer {name!r} already; choose another name."
        raise ConfigError(msg)
    predefined_optimizers[name] = opt


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
        guard = NanGuard(nan_is_error, inf_is_error, big_is_error)
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
