"""Transfer of variables between devices: host memory, accelerators and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base import index
from phintys._base.errors import TransferError
from phintys._base.late import Homes

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.variable import Variable

_TRANSFERS: list[Callable[[Variable, str], Variable | None]] = []

_OF_PLATFORMS: dict[str, Callable[[Variable, str], Variable | None]] = {}
_HOMES = Homes(index.TRANSFERS)


def register_transfer(
    function: Callable[[Variable, str], Variable | None],
) -> Callable[[Variable, str], Variable | None]:
    """Register a function that transfers variables to some kind of target.

    Parameters
    ----------
    function
        ``function(variable, target)`` returns the transferred variable (``variable`` itself if
        there is nothing to do), or ``None`` for a target or a type that it does not support. The
        most recently registered function is tried first.

    Returns
    -------
    function
        The same function, so that this can be used as a decorator.

    Examples
    --------
    >>> from phintys.graph import Type, register_transfer
    >>> remote = Type()
    >>> @register_transfer
    ... def to_moon(variable, target):
    ...     return remote(f"{variable.name} on the moon") if target == "moon" else None
    >>> Type()("x").transfer("moon")
    x on the moon
    """
    if not callable(function):
        msg = f"register_transfer takes a function of (variable, target), got {function!r}."
        raise TransferError(msg)
    if function not in _TRANSFERS:
        _TRANSFERS.append(function)
    return function


def transfers_to(
    *platforms: str,
) -> Callable[
    [Callable[[Variable, str], Variable | None]], Callable[[Variable, str], Variable | None]
]:
    """Return a decorator that makes a function transfer to the devices of platforms.

    It is asked after those of users, for ``"gpu"`` and ``"gpu:1"`` if ``"gpu"`` is one of the
    platforms. The index names its module, which is imported when there is such a target.

    Parameters
    ----------
    platforms
        Kinds of devices.
    """

    def decorate(
        function: Callable[[Variable, str], Variable | None],
    ) -> Callable[[Variable, str], Variable | None]:
        _OF_PLATFORMS.update(dict.fromkeys(platforms, function))
        return function

    return decorate


def _functions_for(target: str) -> list[Callable[[Variable, str], Variable | None]]:
    """Return the functions to ask, the first one first."""
    platform = str(target).partition(":")[0]
    if target != "cpu":
        _HOMES.load(platform)
    ours = _OF_PLATFORMS.get(platform) if target != "cpu" else None
    return [*reversed(_TRANSFERS), *([] if ours is None else [ours])]


def transfer(variable: Variable, target: str) -> Variable:
    """Return ``variable`` transferred to ``target``.

    Parameters
    ----------
    variable
        The variable to transfer.
    target
        ``"cpu"``, the default location; a device of JAX, such as ``"gpu:0"``; or a name that a
        registered function supports.

    Raises
    ------
    TransferError
        No registered function supports the target, one did not return a variable, or JAX has no
        such device here.
    """
    functions = _functions_for(target)
    for function in functions:
        result = function(variable, target)
        if result is not None:
            if not hasattr(result, "owner") or not hasattr(result, "type"):
                msg = (
                    f"The transfer function {_name(function)} must return a Variable or None, "
                    f"got {result!r}."
                )
                raise TransferError(msg)
            return result
    if target == "cpu":
        return variable
    tried = ", ".join(map(_name, functions))
    msg = (
        f"Cannot transfer {variable} (type {variable.type}) to {target!r}: "
        + (f"none of the registered functions ({tried}) took it. " if tried else "")
        + ("" if tried else "no transfer function is registered. ")
        + 'The one target that always exists is "cpu"; others are registered with '
        "phintys.graph.register_transfer(function)."
    )
    raise TransferError(msg)


def _name(function: object) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', function)}"
