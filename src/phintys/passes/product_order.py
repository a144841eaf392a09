"""The order in which the products of a chain of matrices are computed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from phintys.graph.apply import Apply
from phintys.passes._facts import as_result, has_one_client, kind
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.products import Dot

if TYPE_CHECKING:
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["order_of_products"]

_LARGE = 1 << 20


def _chain(fgraph: FunctionGraph, node: Apply) -> list[Any]:
    """Return the factors of a product of products that are not used elsewhere."""
    factors: list[Any] = []
    stack: list[Any] = [node.outputs[0]]
    while stack:
        x = stack.pop()
        inner = x.owner
        is_part = x is node.outputs[0] or (has_one_client(fgraph, x) and x.ndim)
        if inner is None or not isinstance(inner.op, Dot) or not is_part:
            factors.append(x)
            continue
        left, right = inner.inputs
        stack += [right, left]
    return factors


def _cheapest(sizes: list[float]) -> tuple[float, dict[tuple[int, int], int]]:
    """Return the cost of a chain of products, and where each part of it is split."""
    count = len(sizes) - 1
    costs = {(i, i): 0.0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(2, count + 1):
        for first in range(count - length + 1):
            last = first + length - 1
            options = [
                (
                    costs[first, at]
                    + costs[at + 1, last]
                    + sizes[first] * sizes[at + 1] * sizes[last + 1],
                    at,
                )
                for at in range(first, last)
            ]
            costs[first, last], splits[first, last] = min(options)
    return costs[0, count - 1], splits


def _present_cost(node: Apply, factors: list[Any], sizes: list[float]) -> float:
    """Return the cost of a product of products as it is."""
    places = iter(range(len(factors)))
    parts = {id(x) for x in factors}
    total = 0.0
    results: list[tuple[int, int]] = []
    stack: list[tuple[Any, bool]] = [(node.outputs[0], False)]
    while stack:
        x, is_done = stack.pop()
        if is_done:
            (_, last), (first, split) = results.pop(), results.pop()
            total += sizes[first] * sizes[split + 1] * sizes[last + 1]
            results.append((first, last))
        elif id(x) in parts:
            at = next(places)
            results.append((at, at))
        else:
            left, right = x.owner.inputs
            stack += [(x, True), (right, False), (left, False)]
    return total


@node_rewriter(
    [Dot],
    operands=[Dot],
    depth=6,
    tags=["extremes"],
    examples=[
        "X3 @ Y3 @ x3",
        "x3 @ (Y3 @ X3)",
        "X @ Y @ x",
        "X3 @ Y3 @ x3[:, None]",
    ],
)
def order_of_products(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """A @ B @ x -> A @ (B @ x), the order of least work, by known sizes and vectors at the ends"""
    ((client, _), *others) = fgraph.clients[node.outputs[0]]
    if not others and isinstance(client, Apply) and isinstance(client.op, Dot):
        return None  # a part of a longer chain
    factors = _chain(fgraph, node)
    if len(factors) < 3 or kind(node.outputs[0]) not in "fc":
        return None
    dtype: Any = node.outputs[0].type.dtype  # pyright: ignore[reportAttributeAccessIssue]
    if dtype == "float16" or any(x.dtype != dtype for x in factors):
        return None
    if any(x.ndim != 2 for x in factors[1:-1]):
        return None  # a dot product of vectors within
    shapes = [list(x.type.shape) for x in factors]
    if factors[0].ndim == 1:
        shapes[0] = [1, *shapes[0]]
    if factors[-1].ndim == 1:
        shapes[-1] = [*shapes[-1], 1]
    sizes: list[int | None] = [shapes[0][0]]
    for left, right in pairwise(shapes):
        sizes.append(left[1] if left[1] is not None else right[0])
    sizes.append(shapes[-1][1])
    if None in sizes and 1 not in {sizes[0], sizes[-1]}:
        return None
    known = [float(_LARGE if size is None else size) for size in sizes]
    if None in sizes:
        # The vector is multiplied first: never more work than any other order, whatever the sizes.
        known = [1.0 if size == 1 else float(_LARGE) for size in sizes]
    least, splits = _cheapest(known)
    if least >= _present_cost(node, factors, known):
        return None
    return as_result(fgraph, node, _joined(factors, splits))


def _joined(factors: list[Any], splits: dict[tuple[int, int], int]) -> Any:
    results: list[Any] = []
    stack: list[tuple[int, int, bool]] = [(0, len(factors) - 1, False)]
    while stack:
        first, last, is_done = stack.pop()
        if first == last:
            results.append(factors[first])
        elif is_done:
            right, left = results.pop(), results.pop()
            results.append(Dot()(left, right))
        else:
            at = splits[first, last]
            stack += [(first, last, True), (at + 1, last, False), (first, at, False)]
    return results[0]


STABILIZE_PRODUCTS = late_rules(order_of_products, needs=[Dot])
