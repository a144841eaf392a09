"""Sums of exponentials in the steps of a loop, computed as products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.control.loops.log_products import with_log_products
from phintys.control.loops.scan_op import Scan
from phintys.rewriting import late_rules, node_rewriter

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, h, a: [pt.logsumexp(h[:, None] + a, axis=0)], 3, [], [], [x3], [X3])[0]",
        "loop(lambda t, h, a: [pt.logsumexp((h - a) / 2, axis=1)], 3, [], [], [x3], [X3])[0]",
    ],
)
def sum_of_exponentials_by_product(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """loop(logsumexp(h[:, None] + a, 0)) -> loop(log(dot(exp(h), exp(a)))), where a is the same"""
    op: Any = node.op
    new = with_log_products(op)
    return None if new is op else list(new.make_node(*node.inputs).outputs)


CANONICAL_LOOPS = late_rules(sum_of_exponentials_by_product, needs=[Scan])
"""In the order in which they are tried."""
