"""Options from ``THEANO_FLAGS``, ``AESARA_FLAGS`` and ``PYTENSOR_FLAGS``."""

from __future__ import annotations

import os
import warnings
from typing import Any

from phintys._base.config import OPTIONS
from phintys._base.errors import ConfigError, add_note
from phintys.compat.configuration import OLD_OPTIONS, OTHER_MODES, config
from phintys.compat.exceptions import ConfigWarning

__all__ = ["set_flags"]


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
