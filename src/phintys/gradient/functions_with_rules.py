"""Functions of variables together with the rules of their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import ArgumentError
from phintys.gradient.tracing import place_of
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class FunctionWithRules:
    """A function of variables, and the rules that define its derivatives.

    Parameters
    ----------
    fun
        The function.
    name
        Its name, for messages, printing and profiles.
    nondiff
        The positions of the arguments that have no gradient, in order.

    Attributes
    ----------
    fwd, bwd
        The two halves of the reverse derivative, ``None`` unless it is defined by them.
    jvp
        The forward derivative, ``None`` unless it is defined.
    """

    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None

    def __init__(self, fun: Callable[..., Any], name: str, nondiff: tuple[int, ...]) -> None:
        self.fun = fun
        self.name = name
        self.nondiff = nondiff

    def merged(self, fixed: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        """Return all arguments in order."""
        total = len(fixed) + len(others)
        given, rest = iter(fixed), iter(others)
        return [next(given) if at in self.nondiff else next(rest) for at in range(total)]

    def split(self, result: Any) -> tuple[Any, Callable[..., Any]]:
        """Return the value and the gradient function that the function has returned."""
        if isinstance(result, tuple) and len(cast("tuple[Any, ...]", result)) == 2:
            value, pullback = cast("tuple[Any, Any]", result)
            if callable(pullback) and not isinstance(pullback, Variable):
                return value, pullback
        msg = (
            f"{self.name} has no gradient of its own: it must return a pair of its value and a "
            f"function that maps gradients for the value to gradients for its arguments, or have "
            f"rules, which {self.name}.defvjp(fwd, bwd) or {self.name}.defjvp(jvp) define before "
            f"it is called. It returned {result!r}.{place_of(self.fun)}"
        )
        raise ArgumentError(msg)
