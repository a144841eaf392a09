"""Expression forms matched by the stabilizing rules: 1 + x, 1 - x, x - 1, f(x) of a real x."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys.passes._facts import (
    is_uniformly,
    kind,
    operands,
    output_type,
    scalar_node,
    scalar_op,
    sizes_covered,
)
from phintys.tensor import math
from phintys.tensor.variable import TensorConstant

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


def argument(variable: Variable, *ops: ps.ScalarOp) -> Any:
    """Return x where ``variable`` is op(x) and real, computed in the dtype of x; else ``None``."""
    node = None if variable.owner is None else scalar_node(variable, *ops)
    if node is None:
        return None
    (x,) = operands(node)
    return x if kind(x) == "f" and x.dtype == output_type(node).dtype else None


def is_same(x: Any, y: Any, levels: int = 2) -> bool:
    """Return whether two variables are identical, or equal but not merged yet."""
    if x is y:
        return True
    one, other = x.owner, y.owner
    if one is None or other is None:
        return isinstance(x, TensorConstant) and isinstance(y, TensorConstant) and x.equals(y)
    return (
        levels > 0
        and x.index == y.index
        and one.op == other.op
        and len(one.inputs) == len(other.inputs)
        and all(is_same(a, b, levels - 1) for a, b in zip(one.inputs, other.inputs, strict=True))
    )


def factors(node: Apply) -> list[Any]:
    """Return the factors of a product, and of nested products of the same dtype.

    A subproduct that several products share is a node of its own, so that related factors can be
    one level apart.
    """
    dtype = output_type(node).dtype
    found: list[Any] = []
    for x in operands(node):
        inner = scalar_node(x, ps.mul) if x.dtype == dtype else None
        if inner is not None and all(y.dtype == dtype for y in operands(inner)):
            found.extend(inner.inputs)
        else:
            found.append(x)
    return found


def sum_without(node: Apply, number: float) -> Any:
    """Return the sum of a node's operands except one that is ``number``; ``None`` if none is."""
    inputs = operands(node)
    for position, operand in enumerate(inputs):
        rest = [*inputs[:position], *inputs[position + 1 :]]
        if (
            rest
            and is_uniformly(operand, number)
            and sizes_covered(operand, rest)
            and all(kind(x) == "f" for x in rest)
        ):
            rest[0] = math.cast(rest[0], output_type(node).dtype)
            return rest[0] if len(rest) == 1 else math.add(*rest)
    return None


def minus_one(node: Apply) -> Any:
    """Return x where an elementwise node computes x - 1 or x + -1, else ``None``."""
    if scalar_op(node) is ps.add:
        return sum_without(node, -1) if len(node.inputs) == 2 else None
    x, y = operands(node)
    return x if is_uniformly(y, 1) and sizes_covered(y, [x]) else None


def taken_from_one(node: Apply) -> Any:
    """Return x where an elementwise node computes 1 - x or 1 + -x, else ``None``."""
    if scalar_op(node) is ps.sub:
        one, x = operands(node)
        fits = is_uniformly(one, 1) and sizes_covered(one, [x])
        return math.cast(x, output_type(node).dtype) if fits and kind(x) == "f" else None
    rest = sum_without(node, 1)
    return None if rest is None else argument(rest, ps.neg)
