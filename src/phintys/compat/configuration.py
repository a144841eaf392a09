"""The old ``config``: options, also from ``THEANO_FLAGS``, ``AESARA_FLAGS``, ``PYTENSOR_FLAGS``.

Those that only the old packages had are stored, so that programs that set them run. ``optimizer``,
``linker`` and ``mode``, a name or a mode, select the mode in which functions are compiled, and
``compute_test_value`` is read by :mod:`phintys.compat.test_values`; the others have no effect,
since they concern features that Phintys does not have (C compilers, devices).
"""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from phintys._base.config import OPTIONS
from phintys._base.config import config as core
from phintys._base.errors import ConfigError, add_note
from phintys.compat.exceptions import ConfigWarning
from phintys.compile.mode import Mode

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

__all__ = [
    "ASKED_FOR_TEST_VALUES",
    "OLD_OPTIONS",
    "OTHER_MODES",
    "OldConfig",
    "change_flags",
    "config",
    "set_flags",
]


def set_flags(package: str) -> None:
    """Set the options that the environment variable of an old package names.

    Parameters
    ----------
    package
        ``"theano"``, ``"aesara"`` or ``"pytensor"``.

    Raises
    ------
    ConfigError
        An option does not allow the value.

    Warns
    -----
    ConfigWarning
        There is no such option.
    """
    variable = f"{package.upper()}_FLAGS"
    for entry in os.environ.get(variable, "").split(","):
        name, equals, text = (part.strip() for part in entry.partition("="))
        if not name:
            continue
        if not equals:
            msg = f"{variable}: an entry is name=value, got {entry!r}."
            raise ConfigError(msg)
        _set(variable, name.replace(".", "__"), text)


def _set(variable: str, name: str, text: str) -> None:
    if name == "mode" and text == "Mode":
        return  # the mode that linker and optimizer select
    is_own = name in OLD_OPTIONS or name.startswith("warn__")
    if is_own or (name == "mode" and text in OTHER_MODES):
        setattr(config, name, _value(OLD_OPTIONS.get(name, text), text))
    elif name in OPTIONS:
        try:
            value: Any = OPTIONS[name].parse(text)
        except ConfigError as error:
            add_note(error, f"The value comes from {variable}.")
            raise
        setattr(config, name, value)
    else:
        msg = f"{variable}: there is no option {name.replace('__', '.')!r}; it has no effect."
        warnings.warn(msg, ConfigWarning, stacklevel=2)


def _value(default: Any, text: str) -> Any:
    """Return the value in a text for an option that only the old packages had."""
    if isinstance(default, bool):
        return text.lower() in {"true", "1", "yes"}
    try:
        return type(default)(text) if isinstance(default, int | float) else text
    except ValueError:
        return text


OTHER_MODES = {
    **dict.fromkeys(("C", "CVM", "C_VM", "JAX", "MLX", "NUMBA", "PYTORCH"), "native"),
    "VM": "reference",
}
"""Modes that the old packages named after a compiler or machine, and what they mean here."""

OLD_OPTIONS: dict[str, Any] = {
    "DebugMode__check_c": True,
    "DebugMode__check_finite": True,
    "DebugMode__check_preallocated_output": "",
    "DebugMode__check_py": True,
    "DebugMode__check_strides": 0,
    "DebugMode__optimizer_verbose": False,
    "DebugMode__patience": 10,
    "DebugMode__warn_input_not_reused": True,
    "NanGuardMode__action": "raise",
    "NanGuardMode__big_is_error": True,
    "NanGuardMode__inf_is_error": True,
    "NanGuardMode__nan_is_error": True,
    "assert_no_cpu_op": "ignore",
    "base_compiledir": "",
    "blas__check_openmp": True,
    "blas__ldflags": "",
    "cast_policy": "custom",
    "check_input": True,
    "check_stack_trace": "off",
    "cmodule__warn_no_version": False,
    "compile__timeout": 120,
    "compile__wait": 5,
    "compiledir": "",
    "compiler_verbose": False,
    "compute_test_value": "off",
    "compute_test_value_opt": "off",
    "conv__assert_shape": False,
    "cxx": "",
    "cycle_detection": "regular",
    "deterministic": "default",
    "device": "cpu",
    "dnn__conv__algo_bwd_data": "guess_once",
    "dnn__conv__algo_bwd_filter": "guess_once",
    "dnn__conv__algo_fwd": "guess_once",
    "dnn__enabled": "auto",
    "experimental__local_alloc_elemwise": False,
    "force_device": False,
    "gcc__cxxflags": "",
    "gpuarray__preallocate": 0.0,
    "init_gpu_device": "",
    "int_division": "int",
    "lib__amdlibm": False,
    "lib__cnmem": 0.0,
    "linker": "cvm",
    "max_inputs_to_GpuElemwise": 0,
    "metaopt__verbose": 0,
    "numpy__seterr_all": "ignore",
    "nvcc__fastmath": False,
    "on_opt_error": "warn",
    "on_shape_error": "warn",
    "openmp": False,
    "openmp_elemwise_minsize": 200000,
    "optimizer": "o4",
    "optimizer_excluding": "",
    "optimizer_including": "",
    "optimizer_requiring": "",
    "pickle_test_value": True,
    "print_test_value": False,
    "profile_memory": False,
    "profile_optimizer": False,
    "profiling__destination": "stderr",
    "profiling__min_memory_size": 1024,
    "profiling__min_peak_memory": False,
    "profiling__n_apply": 20,
    "profiling__n_ops": 20,
    "profiling__time_thunks": True,
    "reoptimize_unpickled_function": False,
    "scan__allow_gc": False,
    "scan__allow_output_prealloc": True,
    "scan__debug": False,
    "seed": 666,
    "tensor__cmp_sloppy": 0,
    "tensor__insert_inplace_optimizer_validate_nb": -1,
    "tensor__local_elemwise_fusion": True,
    "traceback__compile_limit": 0,
    "traceback__limit": 8,
    "unittests__rseed": "666",
    "unpickle_function": True,
    "vm__lazy": None,
    "warn__ignore_bug_before": "none",
    "warn__round": False,
}
"""Option -> default value. Theano wrote a dot for the two underscores."""

_values = dict(OLD_OPTIONS)
_overrides = ContextVar[dict[str, Any] | None](
    "phintys.compat.configuration._overrides", default=None
)


def _own() -> dict[str, Any]:
    """Return the current values: inside ``change_flags`` those of the block."""
    inside = _overrides.get()
    return _values if inside is None else inside


def _is_own(name: str, value: Any) -> bool:
    """Return whether a value of an option is stored here.

    It is for options that Phintys does not have, for ``compute_test_value`` with its old values,
    and for a mode: the option of Phintys takes its name only.
    """
    if name == "mode":
        return isinstance(value, Mode) or (isinstance(value, str) and value in OTHER_MODES)
    return name in OLD_OPTIONS or name.startswith("warn__")


class _Group:
    """An option group: ``config.warn.round`` is ``config.warn__round``."""

    def __init__(self, prefix: str) -> None:
        self.__dict__["_prefix"] = prefix

    def __getattr__(self, name: str) -> Any:
        return getattr(config, f"{self._prefix}__{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(config, f"{self._prefix}__{name}", value)


class OldConfig:
    """Access to the options of Phintys and those in :data:`OLD_OPTIONS`."""

    def __getattr__(self, name: str) -> Any:
        if name in _own() or _is_own(name, ""):
            return _own().get(name, False)
        if name in _GROUPS:
            return _Group(name)
        return getattr(core, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if _is_own(name, value):
            _note(name, value)
            _own()[name] = value
            return
        setattr(core, name, value)
        _own().pop(name, None)

    def __dir__(self) -> list[str]:
        return sorted({*OPTIONS, *OLD_OPTIONS, *_GROUPS, "change_flags"})

    @contextmanager
    def change_flags(
        self, flags: Mapping[str, Any] | None = None, **values: Any
    ) -> Generator[None]:
        """Set options for a ``with`` block, or as a decorator for each call of a function."""
        wanted = {**(flags or {}), **values}
        wanted = {name.replace(".", "__"): value for name, value in wanted.items()}
        own = {name: value for name, value in wanted.items() if _is_own(name, value)}
        for name, value in own.items():
            _note(name, value)
        others = {name: value for name, value in wanted.items() if name not in own}
        kept = {name: value for name, value in _own().items() if name not in others}
        token = _overrides.set({**kept, **own})
        try:
            with core.change_flags(**others):
                yield
        finally:
            _overrides.reset(token)


ASKED_FOR_TEST_VALUES: set[bool] = set()
"""Not empty once ``compute_test_value`` was set: until then, Ops need not look."""


def _note(name: str, value: Any) -> None:
    if name == "compute_test_value" and value != "off":
        ASKED_FOR_TEST_VALUES.add(True)


_GROUPS = {
    name[:end] for name in OLD_OPTIONS for end in range(len(name)) if name.startswith("__", end)
}

config = OldConfig()
change_flags = config.change_flags
