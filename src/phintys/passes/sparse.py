"""What is sparse only inside of a graph never becomes an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import phintys.tensor as pt
from phintys.graph.apply import Apply
from phintys.graph.choosing import Choosing
from phintys.graph.traversal import ancestors, graph_inputs
from phintys.graph.variable import Constant
from phintys.rewriting import late_rules, node_rewriter
from phintys.sparse.determinants import InverseAtEntries, LowerFactor, SelectedInverse
from phintys.sparse.factors import Factorize
from phintys.sparse.parts import ElementsAt, Parts
from phintys.sparse.patterns import (
    CommonPattern,
    MergedPattern,
    ProductPattern,
    keys,
    places,
    problem_of,
)
from phintys.sparse.products import (
    ProductAtEntries,
    ProductByColumns,
    ProductGradients,
    ProductOfRows,
    ProductWithPattern,
)

if TYPE_CHECKING:
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


@node_rewriter(
    [Parts],
    examples=[
        "phintys.sparse.parts.Parts()(phintys.sparse.from_parts(x, [0, 1, 2], [0, 3], (1, 3)))[0]",
    ],
)
def parts_of_parts(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """Parts(FromParts(x)) -> x"""
    return Parts.undone(node)


@node_rewriter(
    [MergedPattern, CommonPattern],
    examples=[
        "phintys.sparse.patterns.MergedPattern()(*2 * [[0, 2], [0, 1, 2]])[0]",
        "phintys.sparse.patterns.CommonPattern()(*2 * [[0, 2], [0, 1, 2]])[3]",
    ],
)
def pattern_with_itself(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """MergedPattern(p, p), CommonPattern(p, p) -> p"""
    indices, indptr, *others = node.inputs
    if not _are_same(others, (indices, indptr)):
        return None
    made: list[Any] = list(node.outputs)
    everywhere = pt.arange(cast("Any", indices).shape[0], dtype=made[2].type.dtype)
    pattern = [pt.cast(v, out.type.dtype) for v, out in zip((indices, indptr), made, strict=False)]
    return [*pattern, everywhere, everywhere]


@node_rewriter(
    [ProductPattern],
    examples=["phintys.sparse.patterns.ProductPattern()(*2 * [[0, 1], [0, 1, 2]], 2, 2)[0]"],
)
def known_product_pattern(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """ProductPattern(p, q) -> its value, however large, if p and q are known"""
    known = [cast("Any", v).data for v in node.inputs if isinstance(v, Constant)]
    if len(known) < len(node.inputs):
        return None
    indices, indptr, others, other_indptr, columns, width = known
    if columns != len(other_indptr) - 1 or problem_of(indices, indptr, columns):
        return None  # a call raises the error
    if problem_of(others, other_indptr, width):
        return None
    pairs = zip(cast("Any", node.op).pattern(*known), node.outputs, strict=True)
    return [pt.constant(value, dtype=cast("Any", out.type).dtype) for value, out in pairs]


@node_rewriter(
    [ElementsAt],
    examples=["phintys.sparse.parts.ElementsAt()(x, *2 * [[0, 1, 2], [0, 3]])"],
)
def elements_at_their_pattern(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """ElementsAt(x, p, p) -> x"""
    data, *patterns = node.inputs
    return [data] if _are_same(patterns[:2], patterns[2:]) else None


@node_rewriter(
    [ElementsAt],
    examples=[
        "phintys.sparse.parts.ElementsAt()(x, [0, 1, 2], [0, 3], [1, 2, 3], [0, 3])",
        "phintys.sparse.parts.ElementsAt()(x, [0, 1, 2], [0, 3], [0, 1, 2, 3], [0, 4])",
        "phintys.sparse.parts.ElementsAt()(x, [0, 1, 2], [0, 3], [1, 2], [0, 2])",
    ],
)
def places_of_elements(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """ElementsAt(x, p, q) -> x[places of q in p], or zeros with x at the places of p in q"""
    data, *patterns = cast("Any", node.inputs)
    pattern, wanted = patterns[:2], patterns[2:]
    gathered = _places_within(wanted, pattern)
    if gathered is not None:
        return [data[gathered]]
    scattered = _places_within(pattern, wanted)
    if scattered is not None:
        zeros = pt.zeros(wanted[0].shape[0], data.type.dtype)
        return [pt.set_subtensor(zeros[scattered], data)]
    return [cast("Any", node.op).expanded(data, *patterns)]


def _places_within(part: Any, whole: Any) -> Any:
    """Return where a pattern is in another one, if it is known to be part of it."""
    if all(isinstance(v, Constant) for v in (*part, *whole)):
        at = places(*(keys(*(v.data for v in pattern)) for pattern in (part, whole)))
        return pt.constant(at) if (at < len(whole[0].data)).all() else None
    for op, made, given in ((CommonPattern, part, whole), (MergedPattern, whole, part)):
        node = made[0].owner
        if node is None or not isinstance(node.op, op) or not _are_same(made, node.outputs[:2]):
            continue
        for start in (0, 2):
            if _are_same(given, node.inputs[start : start + 2]):
                return node.outputs[2 + start // 2]
    return None


def _are_same(a: Any, b: Any) -> bool:
    return all(x is y for x, y in zip(a, b, strict=True))


@node_rewriter(
    [InverseAtEntries],
    tags=["extremes"],
    examples=[
        (
            "phintys.sparse.determinants.InverseAtEntries(True)("
            "phintys.sparse.factors.Factorize(True)(pt.sqr(x) + 1, [0, 1, 2], [0, 1, 2, 3], 3), "
            "pt.sqr(x) + 1, [0, 1, 2], [0, 1, 2, 3])"
        ),
    ],
)
def inverse_of_positive(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """InverseAtEntries(A) -> SelectedInverse(LowerFactor(A)), if A is positive definite"""
    factors, data, *pattern = node.inputs
    kind = cast("Any", data.type).numpy_dtype.kind
    if not cast("Any", node.op).is_positive or kind == "c":
        return None
    made = factors.owner
    if made is None or not isinstance(made.op, Factorize):
        return None
    if any(a is not b for a, b in zip(made.inputs[1:3], pattern, strict=True)):
        return None  # native code reads by a pattern that the factorization has checked
    lower = LowerFactor()(factors, data, return_list=True)
    return [SelectedInverse()(*lower, *pattern)]


@node_rewriter(
    [ProductOfRows],
    examples=[
        (
            "phintys.sparse.products.ProductOfRows()(y3, x3, [0, 1, 2], [0, 1, 2, 3])"
            " + phintys.sparse.products.ProductByColumns()("
            "x3, y3, [0, 1, 2], [0, 1, 2, 3], x3.shape[0])"
        ),
    ],
)
def both_gradients(fgraph: FunctionGraph, node: Apply) -> dict[Variable, Variable] | None:
    """ProductOfRows(y, x), ProductByColumns(data, y) -> ProductGradients(data, x, y)"""
    y, x, *pattern = node.inputs
    if cast("Any", y).ndim != 1:
        return None  # threads share what there is to do for matrices in different ways
    for other, _ in fgraph.clients[y]:
        if not isinstance(other, Apply) or not isinstance(other.op, ProductByColumns):
            continue
        data, dense, *others, columns = other.inputs
        if dense is not y or not _are_same(others, pattern):
            continue
        if _are_computed_at_once(fgraph, node, other):
            new = ProductGradients()(data, x, y, *pattern, columns, return_list=True)
            return dict(zip((node.outputs[0], other.outputs[0]), new, strict=True))
    return None


@node_rewriter(
    [ProductAtEntries],
    examples=[
        (
            "(lambda p, n: phintys.sparse.products.ProductAtEntries()("
            "x3, y3, *p, *p, *phintys.sparse.patterns.ProductPattern()(*p, *p, n, n), n))("
            "(pt.cast(pt.argsort(x3), 'int32'), pt.constant([0, 1, 2, 3], dtype='int32')), "
            "pt.constant(3))"
        ),
    ],
)
def product_with_its_pattern(fgraph: FunctionGraph, node: Apply) -> dict[Variable, Variable] | None:
    """ProductPattern(p, q), ProductAtEntries(x, y, p, q) -> ProductWithPattern(x, y, p, q)"""
    x, y, *factors, indices, indptr, width = node.inputs
    made = indices.owner
    if made is None or not isinstance(made.op, ProductPattern) or made is not indptr.owner:
        return None
    if all(isinstance(v, Constant) for v in graph_inputs(factors)):
        return None  # the pattern is going to be known
    *given, columns, same_width = made.inputs
    if not _are_same([*given, same_width], [*factors, width]):
        return None
    if not _is_always_computed(fgraph) or made in {v.owner for v in ancestors([x, y])}:
        return None
    new = ProductWithPattern()(x, y, *given, columns, width, return_list=True)
    return dict(zip((*made.outputs, node.outputs[0]), new, strict=True))


def _is_always_computed(fgraph: FunctionGraph) -> bool:
    """Return whether each call computes all nodes."""
    return not any(isinstance(node.op, Choosing) for node in fgraph.apply_nodes)


def _are_computed_at_once(fgraph: FunctionGraph, one: Apply, other: Apply) -> bool:
    """Return whether neither of two nodes depends on the other, and all calls compute both."""
    if not _is_always_computed(fgraph):
        return False
    pairs = (one, other), (other, one)
    return not any(b.outputs[0] in ancestors(a.inputs) for a, b in pairs)


CANONICAL_SPARSE = late_rules(
    parts_of_parts,
    pattern_with_itself,
    elements_at_their_pattern,
    needs=[Parts, MergedPattern, CommonPattern, ElementsAt],
)

EXPAND_SPARSE = late_rules(
    inverse_of_positive,
    known_product_pattern,
    places_of_elements,
    both_gradients,
    product_with_its_pattern,
    needs=[InverseAtEntries, ProductPattern, ElementsAt, ProductOfRows, ProductAtEntries],
)
"""What has no derivative, and comes after differentiation."""
