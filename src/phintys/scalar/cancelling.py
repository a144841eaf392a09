"""Reverse rules in which a divisor of the gradient cancels a factor of the partial derivative.

The gradient of ``log(f)`` is ``g / f``, and that of an exponential, a product or a quotient ``f``
is a multiple of ``f``. Computed literally, ``g / f * f`` is NaN where f is 0 or infinite, and the
gradient of the logarithm of a density is lost although it exists. So these rules examine the
incoming gradient: a quotient by their own value, or a product with their own argument, is taken
apart instead. The result is the same wherever both are finite, and the limit elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from phintys.scalar.operators import OPERATORS
from phintys.scalar.row import dtype_of

if TYPE_CHECKING:
    from phintys.graph.apply import Apply

__all__ = ["pull_by_slope_of_log", "pull_exp", "pull_log", "pull_product", "pull_quotient"]

_MOST_FACTORS = 16


def pull_log(x: Any, out: Any, g: Any) -> tuple[Any] | None:
    """log(x): g / x; h where g is h * x, so that x * log(x) has the gradient log(x) + 1"""
    if _kind(x) != "f" or _kind(g) != "f":
        return None
    rest = _without_factor(g, x)
    return (OPERATORS.true_div(g, x),) if rest is None else (_like(x, rest),)


def pull_exp(x: Any, out: Any, g: Any) -> tuple[Any] | None:
    """exp(x): g * out; h where g is h / out, also for terms of a sum"""
    if _kind(out) != "f":
        return None
    above = _divided(g, out)
    if above is not None:
        return (above,)
    terms = _node(g, OPERATORS.add)
    if terms is None:
        return None
    parts = [_divided(term, out) for term in terms.inputs]
    if all(part is None for part in parts):
        return None
    products = [
        OPERATORS.mul(term, out) if part is None else part
        for term, part in zip(terms.inputs, parts, strict=True)
    ]
    return (OPERATORS.add(*products),)


def pull_product(*xs: Any, out: Any, g: Any) -> list[Any] | None:
    """x * y: h / x and h / y where g is h / out"""
    above = _divided(g, out)
    if above is None or any(_kind(x) != "f" for x in xs):
        return None
    return [OPERATORS.true_div(above, x) for x in xs]


def pull_quotient(x: Any, y: Any, out: Any, g: Any) -> tuple[Any, Any] | None:
    """x / y: h / x and -h / y where g is h / out"""
    above = _divided(g, out)
    if above is None or _kind(x) != "f" or _kind(y) != "f":
        return None
    return OPERATORS.true_div(above, x), OPERATORS.true_div(OPERATORS.neg(above), y)


def pull_by_slope_of_log(slope: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """f(x): h * slope where g is h / f(x), and the slope is the derivative of log(f(x))

    It is finite where f is 0.
    """

    def pull(x: Any, out: Any, g: Any) -> tuple[Any] | None:
        above = _divided(g, out) if _kind(out) == "f" else None
        return None if above is None else (OPERATORS.mul(above, slope(x, out)),)

    return pull


def _kind(x: Any) -> str:
    return dtype_of(x).kind


def _node(x: Any, scalar_op: Any) -> Apply | None:
    """Return the node of ``x`` if it applies a scalar op, to scalars or elementwise."""
    node = x.owner
    if node is None or getattr(node.op, "scalar_op", node.op) is not scalar_op:
        return None
    return node


def _divided(g: Any, x: Any) -> Any:
    """Return h, in the shape of x, if g is h / x; otherwise ``None``."""
    node = _node(g, OPERATORS.true_div)
    if node is None or node.inputs[1] is not x:
        return None
    above: Any = node.inputs[0]
    return _like(x, above) if above.type.dtype == x.type.dtype else None


def _without_factor(g: Any, x: Any) -> Any:
    """Return h if g is a product h * x, of x itself; otherwise ``None``."""
    kept: list[Any] = []
    waiting = [g]
    found = False
    while waiting:
        factor = waiting.pop(0)
        node = None if found else _node(factor, OPERATORS.mul)
        if factor is x and not found:
            found = True
        elif node is not None and len(waiting) + len(kept) < _MOST_FACTORS:
            waiting = [*node.inputs, *waiting]
        else:
            kept.append(factor)
    if not found or any(factor.type.dtype != x.type.dtype for factor in kept):
        return None
    return OPERATORS.mul(*kept) if len(kept) > 1 else (kept or [1.0])[0]


def _like(x: Any, h: Any) -> Any:
    """Return ``h`` in the shape of ``x``."""
    shapes = (getattr(getattr(one, "type", None), "broadcastable", ()) for one in (x, h))
    same = not isinstance(h, float) and len(set(shapes)) == 1
    return h if same else OPERATORS.second(x, h)
