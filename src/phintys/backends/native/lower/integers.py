"""Arithmetic on 0-d integers, such as sizes of arrays, as arithmetic on sizes.

``x.shape[0] // 2`` is a size, known before any memory is written, wherever the graph uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phintys.backends.native.sizes import Size, Sizes
    from phintys.scalar.op import ScalarOp


def when(sizes: Sizes, condition: Size, then: Size, otherwise: Size) -> Size:
    """Return ``then if condition else otherwise``, for a condition of 1 or 0."""
    if condition.known is not None:
        return then if condition.known else otherwise
    return sizes.add(otherwise, sizes.mul(condition, sizes.sub(then, otherwise)))


def apply_to_sizes(op: ScalarOp, operands: Sequence[Size], sizes: Sizes) -> Size | None:
    """Return a scalar op of integers as a size, ``None`` if sizes do not have that operation.

    Parameters
    ----------
    op
        A scalar op, on bools and int64, whose result is a bool or an int64.
    operands
        Its operands; bools are 0 and 1.
    sizes
        The sizes of the program.
    """
    rule = _RULES.get(op.name or "")
    return None if rule is None else rule(sizes, *operands)


def _folded(operation: str) -> Callable[..., Size]:
    def rule(sizes: Sizes, first: Size, *others: Size) -> Size:
        for other in others:
            first = sizes.arithmetic(operation, first, other)
        return first

    return rule


def _divided(operation: str) -> Callable[..., Size | None]:
    def rule(sizes: Sizes, x: Size, y: Size) -> Size | None:
        # Division by 0 and by -1 has special results.
        return sizes.arithmetic(operation, x, y) if (y.known or 0) > 0 else None

    return rule


def _not(sizes: Sizes, x: Size) -> Size:
    return sizes.sub(sizes.fixed(1), x)


def _lt(sizes: Sizes, x: Size, y: Size) -> Size:
    return sizes.arithmetic("lt", x, y)


def _eq(sizes: Sizes, x: Size, y: Size) -> Size:
    if sizes.same(x, y):
        return sizes.fixed(1)
    return sizes.mul(_not(sizes, _lt(sizes, x, y)), _not(sizes, _lt(sizes, y, x)))


def _truth(sizes: Sizes, x: Size) -> Size:
    """Return ``size != 0`` as 1 or 0."""
    return x if x.is_flag else _not(sizes, _eq(sizes, x, sizes.fixed(0)))


def _clip(sizes: Sizes, x: Size, lower: Size, upper: Size) -> Size:
    return sizes.arithmetic("min", sizes.arithmetic("max", x, lower), upper)


def _neg(sizes: Sizes, x: Size) -> Size:
    return sizes.sub(sizes.fixed(0), x)


_RULES: dict[str, Callable[..., Size | None]] = {
    "add": _folded("add"),
    "sub": _folded("sub"),
    "mul": _folded("mul"),
    "maximum": _folded("max"),
    "minimum": _folded("min"),
    "int_div": _divided("floordiv"),
    "mod": _divided("mod"),
    "neg": _neg,
    "pos": lambda sizes, x: x,
    "identity": lambda sizes, x: x,
    "cast_int64": lambda sizes, x: x,
    "second": lambda sizes, x, y: y,
    "abs": lambda sizes, x: sizes.arithmetic("max", x, _neg(sizes, x)),
    "sqr": lambda sizes, x: sizes.mul(x, x),
    "clip": _clip,
    "lt": _lt,
    "gt": lambda sizes, x, y: _lt(sizes, y, x),
    "le": lambda sizes, x, y: _not(sizes, _lt(sizes, y, x)),
    "ge": lambda sizes, x, y: _not(sizes, _lt(sizes, x, y)),
    "eq": _eq,
    "ne": lambda sizes, x, y: _not(sizes, _eq(sizes, x, y)),
    "switch": lambda sizes, x, then, otherwise: when(sizes, _truth(sizes, x), then, otherwise),
    "cast_bool": _truth,
    "logical_not": lambda sizes, x: _eq(sizes, x, sizes.fixed(0)),
}
