"""Modes with the arguments that they had: linkers, optimizers, hooks without the graph."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import compile as core
from phintys._base.errors import ConfigError, OpContractError
from phintys.graph import debugprint
from phintys.passes import PIPELINES
from phintys.rewriting import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

__all__ = [
    "FAST_COMPILE",
    "FAST_RUN",
    "DebugMode",
    "Mode",
    "MonitorMode",
    "NanGuardMode",
    "detect_nan",
    "get_default_mode",
    "get_mode",
]

FAST_COMPILE = "FAST_COMPILE"
FAST_RUN = "FAST_RUN"

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
_NATIVE_LINKERS = frozenset({"c", "c|py", "c|py_nogc", "cvm", "cvm_nogc", "jax", "numba"})


def _pipeline(optimizer: Any) -> Pipeline:
    """Return the passes that an old optimizer's name stands for."""
    if isinstance(optimizer, Pipeline):
        return optimizer
    name = _OPTIMIZERS.get(str(optimizer))
    if name is None:
        msg = (
            f"The optimizer {optimizer!r} is unknown; there are {', '.join(_OPTIMIZERS)}, and "
            "pipelines of phintys.rewriting."
        )
        raise ConfigError(msg)
    return PIPELINES[name]


def _backend(linker: Any) -> Any:
    """Return the backend that an old linker's name stands for."""
    if linker is None:
        return core.get_mode(None).backend
    if linker in _PYTHON_LINKERS:
        return "reference"
    if linker in _NATIVE_LINKERS:
        return "native"
    known = sorted(_PYTHON_LINKERS | _NATIVE_LINKERS)
    msg = f"The linker {linker!r} is unknown; there are {', '.join(known)}."
    raise ConfigError(msg)


class _ModeMeta(type):
    """Makes ``isinstance(m, Mode)`` true for the modes that there are."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, core.Mode)


class OldMode(core.Mode):
    """A mode from which names may be excluded that no pass has, such as ``"fusion"``."""

    def excluding(self, *names: str) -> Self:
        """Return the mode without the passes and rules of these names, if there are any."""
        pipeline = self.pipeline
        known = pipeline.also_known.union(*(one.names() for one in pipeline.passes))
        return super().excluding(*(name for name in names if name in known))


class Mode(metaclass=_ModeMeta):
    """``Mode(linker, optimizer)``."""

    def __new__(cls, linker: Any = None, optimizer: Any = "default", **options: Any) -> Any:
        """Return the mode: Python linkers are the reference backend, all others native code."""
        return OldMode(_backend(linker), _pipeline(optimizer), **options)


def get_mode(mode: Any = None) -> Any:
    """Return the mode of a name."""
    found = core.get_mode(mode)
    if type(found) is not core.Mode:
        return found
    return OldMode(found.backend, found.pipeline, name=found.name)


def get_default_mode() -> Any:
    """Return the mode that functions are compiled in."""
    return get_mode(None)


def _with_graph(hook: Callable[..., None] | None) -> Callable[..., None] | None:
    """Return a hook that takes the graph first, from one that may not."""
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

    The newer ``(fgraph, i, node, fn)`` are taken as well.
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
        core.NanGuardMode.__init__(
            self, nan_is_error, inf_is_error, big_is_error, _pipeline(optimizer)
        )


class DebugMode(OldMode, core.DebugMode):
    """``DebugMode`` whose ``check_c_code`` is about native code; ``None`` means the default."""

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
    """Print a node, its inputs and outputs, where one of the outputs has a NaN."""
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
