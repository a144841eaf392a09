"""The device of arrays, of which there is one: the CPU."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from phintys._base.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])
else:
    F = TypeVar("F")

DEVICE = "cpu"
"""The name of the device."""


_DESCRIPTION = """\
device
    Accepted for compatibility with the array API: ``"cpu"`` or ``None``."""

_DEVICE_ARGUMENT = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)


def check_device(device: Any) -> None:
    """Raise unless a device is the only one, or ``None``.

    Raises
    ------
    ArgumentError
        It is another one.
    """
    if device is not None and device != DEVICE:
        msg = f"Arrays are on the device {DEVICE!r}, the only one; got {device!r}."
        raise ArgumentError(msg)


def takes_device(function: F) -> F:
    """Let a function take the argument ``device`` of the array API: ``"cpu"`` or ``None``.

    Raises
    ------
    ArgumentError
        When it is called: the device is another one.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ones(2, device="cpu").eval()
    array([1., 1.])
    >>> pt.ones(2, device="gpu")
    Traceback (most recent call last):
    phintys._base.errors.ArgumentError: Arrays are on the device 'cpu', the only one; got 'gpu'.
    """

    @wraps(function)
    def call(*args: Any, device: Any = None, **options: Any) -> Any:
        check_device(device)
        return function(*args, **options)

    call.__doc__ = _with_device(function.__doc__)
    own = inspect.signature(function)
    call.__signature__ = own.replace(parameters=[*own.parameters.values(), _DEVICE_ARGUMENT])  # pyright: ignore[reportAttributeAccessIssue]
    return call  # pyright: ignore[reportReturnType]


def _with_device(doc: str | None) -> str | None:
    """Return a docstring with ``device`` as the last of the parameters; ``None`` under -OO."""
    if doc is None:
        return None
    parameters, returns, rest = inspect.cleandoc(doc).partition("\n\nReturns\n")
    return f"{parameters}\n{_DESCRIPTION}{returns}{rest}"
