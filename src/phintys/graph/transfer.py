"""Transfer of variables between devices: host memory, accelerators and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.errors import TransferError

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.variable import Variable

_TRANSFERS: list[Callable[[Variable, str], Variable | None]] = []


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


def transfer(variable: Variable, target: str) -> Variable:
    """Return ``variable`` transferred to ``target``.

    Parameters
    ----------
    variable
        The variable to transfer.
    target
        ``"cpu"``, the default location, or a name that a registered function supports.

    Raises
    ------
    TransferError
        No registered function supports the target, or one did not return a variable.
    """
    for function in reversed(_TRANSFERS):
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
    tried = ", ".join(_name(function) for function in reversed(_TRANSFERS))
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
