"""Quotients that are multiplied by their divisor again, as in gradients of logarithms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys.graph.identity import all_same
from phintys.passes._facts import is_pure, is_same, is_uniformly, operands, scalar_node, scalar_op
from phintys.tensor import math
from phintys.tensor.indexing import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.apply import Apply

_MOST_LOOKED_AT = 64  # nodes


def times(u: Any, s: Any) -> Any:
    """Return u * s without the division if u is a quotient by s, else ``None``.

    Sees through signs, factors, sums, and through quotients by elements of s that are written into
    an array of zeros, as in gradients of ``log(s)[i]`` and ``log(s[i])``. The result can be smaller
    than s, and then broadcasts.
    """
    return _Product(s).of(u)


class _Product:
    """Multiplies quotients by ``s``; gives up on large expressions."""

    def __init__(self, s: Any) -> None:
        self.s = s
        self.left = _MOST_LOOKED_AT

    def of(self, u: Any) -> Any:
        node = u.owner
        self.left -= 1
        if node is None or self.left < 0 or u.dtype != self.s.dtype:
            return None
        if isinstance(node.op, IncSubtensor | AdvancedIncSubtensor):
            return _times_scattered(node, self.s)
        if not is_pure(node):
            return None
        found = _RULES.get(scalar_op(node))
        return None if found is None else found(self, node)

    def of_quotient(self, node: Apply) -> Any:
        above, below = operands(node)
        if is_same(below, self.s):
            return above
        product = self.of(above)
        return None if product is None else math.true_div(product, below)

    def of_product(self, node: Apply) -> Any:
        for place, x in enumerate(node.inputs):
            product = self.of(x)
            if product is None:
                continue
            rest = [y for i, y in enumerate(node.inputs) if i != place]
            parts = rest if is_uniformly(product, 1) else [product, *rest]
            return math.mul(*parts) if len(parts) > 1 else parts[0]
        return None

    def of_sum(self, node: Apply) -> Any:
        products: list[Any] = []
        for x in node.inputs:
            product = self.of(x)
            if product is None:
                return None
            products.append(product)
        return node.op(*products)


_RULES: dict[Any, Callable[[_Product, Apply], Any]] = {
    ps.true_div: _Product.of_quotient,
    ps.mul: _Product.of_product,
    ps.neg: _Product.of_sum,
    ps.add: _Product.of_sum,
    ps.sub: _Product.of_sum,
}


def _times_scattered(node: Apply, s: Any) -> Any:
    """Return inc_subtensor(zeros[i], y) where a node is inc_subtensor(zeros[i], y / s[i])."""
    op = node.op
    assert isinstance(op, IncSubtensor | AdvancedIncSubtensor)
    zeros, y, *indices = operands(node)
    if op.set_instead_of_inc or op.inplace:
        return None
    quotient = scalar_node(y, ps.true_div)
    index = None if quotient is None else quotient.inputs[1].owner
    if quotient is None or index is None or not is_uniformly(zeros, 0):
        return None
    kind_of_index = Subtensor if isinstance(op, IncSubtensor) else AdvancedSubtensor
    if not isinstance(index.op, kind_of_index) or index.op.idx_list != op.idx_list:
        return None
    if not is_same(index.inputs[0], s) or not all_same(index.inputs[1:], indices):
        return None
    return op(zeros, quotient.inputs[0], *indices)  # which broadcasts
