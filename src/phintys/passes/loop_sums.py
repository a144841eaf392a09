"""Sums over the steps of a loop that are one product, or one reduction, after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys._base.records import record
from phintys.control.loops.log_products import with_log_products
from phintys.control.loops.scan_op import Scan
from phintys.passes._facts import as_value, is_uniformly, operands, scalar_node, uniform_value
from phintys.passes._loops import EditedLoop, arguments_of, clients_of, may_vanish, replacements
from phintys.passes.loop_batches import Outside, collapse
from phintys.passes.loop_work import new_stack
from phintys.rewriting import NOT_CONSTANT, late_rules, node_rewriter
from phintys.tensor import math
from phintys.tensor.cumulative import CumOp
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.indexing.setting import inc_subtensor
from phintys.tensor.indexing.template import SCALAR, is_full
from phintys.tensor.indexing.update import IncSubtensor
from phintys.tensor.joining import join
from phintys.tensor.products import Dot
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import shape_i
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.passes._loops import LoopArgument


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


_LONG = 16
"""Products of matrices that sum at least so many terms stay in the loop.

They are about as fast as parts of one product, which needs memory for the factors of all steps.
"""


@record(eq=False)
class _Term:
    """A term of a sum over the steps.

    Attributes
    ----------
    factors
        The variables of a step that it is computed from.
    total
        Computes its sum from the rows of the factors, and the same values.
    same
        Further variables that it is computed from, which are the same in all steps.
    """

    factors: tuple[Any, ...]
    total: Callable[..., Any]
    same: tuple[Any, ...] = ()


@record(eq=False)
class _Sum:
    """A state that is a sum over the steps, and what is left of it in the loop."""

    state: LoopArgument
    moved: list[_Term]
    left: list[Any]


@node_rewriter(
    [Scan],
    tags=["zeros"],
    examples=[
        "loop(lambda t, x, h, w: [x * h, w + x[:, None] * h], 3, [X3], [], [x3, X3])[1]",
        "loop(lambda t, x, h, w: [x * h, w + pt.dot(x.T, h)], 3, [T], [], [X, X])[1]",
        "loop(lambda t, x, h, w, v: [h, w + x[:, None] * h, v + h], 3, [X3], [], [x3, X3, x3])[2]",
        "loop(lambda t, k, h: [pt.inc_subtensor(pt.zeros(3)[k], s) + h], 3, [k], [], [x3])[0]",
    ],
)
def sum_products_after_loop(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(sum + outer(f(h), g(h))) -> sum + dot(f(h).T, g(h)), with one product for all steps"""
    if not arguments_of(node).untraced:
        return None
    loop = EditedLoop.of(node)
    nodes = loop.nodes()
    clients = clients_of(nodes, loop.made)
    free = Outside(loop, nodes, ()).rows
    found = (_sum_of(state, clients, free) for state in loop.untraced)
    sums = [one for one in found if one is not None]
    if not any(one.moved for one in sums):
        return None
    factors = [x for one in sums for term in one.moved for x in term.factors]
    nodes += [x.owner for x in factors if x.owner is not None and x not in clients]
    free = Outside(loop, nodes, ()).rows
    stacks: dict[Any, LoopArgument] = {one.new: one for one in loop.stacked}
    stacks |= {x: new_stack(x) for x in factors if not free.get(x) and x not in stacks}
    for one in sums:
        _move_stacked(one, {*stacks, *(x for x in free if x.owner is None and free[x])})
    loop.stacked = list(stacks.values())
    return replacements(fgraph, node, _results(loop, [one for one in sums if one.moved], nodes))


def _terms(state: LoopArgument, op: ps.ScalarOp) -> list[Any]:
    """Return the terms that steps add to a state, or the factors."""
    row = state.rows[0]
    if not isinstance(row.type, TensorType) or row.type.numpy_dtype.kind not in "iufc":
        return []
    top = scalar_node(state.new, op)
    if top is None:
        return []
    terms: list[Any] = [x for x in top.inputs if x is not row]
    is_plain = len(terms) == len(top.inputs) - 1
    return terms if is_plain and all(x.type.dtype == row.type.dtype for x in terms) else []


def _sum_of(
    state: LoopArgument, clients: Mapping[Any, list[Any]], free: Mapping[Any, bool]
) -> _Sum | None:
    """Return the terms that steps add to a state, if some can be summed after the loop."""
    terms = _terms(state, ps.add)
    if clients.get(state.rows[0]) != [state.new.owner] or clients.get(state.new) != [None]:
        return None
    if not terms or terms[0].type.numpy_dtype.kind not in "fc":
        return None
    found = _Sum(state, [], [])
    for x in terms:
        term = _as_product(x) or _as_scattered(x, free)
        if term is None:
            found.left.append(x)
        else:
            found.moved.append(term)
    return found


def _move_stacked(one: _Sum, stacked: set[Any]) -> None:
    """Move the terms that are known after the loop anyway."""
    for x in list(one.left):
        if x in stacked and x.type.broadcastable == one.state.new.type.broadcastable:
            one.left.remove(x)
            one.moved.append(_Term((x,), lambda rows: rows.sum(axis=0)))


def _results(loop: EditedLoop, sums: Iterable[_Sum], nodes: list[Apply]) -> dict[Any, Any]:
    for one in sums:
        if one.left:
            one.state.new = math.add(one.state.rows[0], *one.left)
        else:
            loop.untraced.remove(one.state)
    found: dict[Any, Any] = {}
    if loop.results or loop.ran:
        found.update(loop.apply())
    elif not may_vanish(loop):
        return {}
    outside = Outside(loop, nodes, loop.stacked)
    outside.start(found)
    for one in sums:
        out = one.state.out[0]
        totals = [
            term.total(*(outside[x] for x in (*term.factors, *term.same))) for term in one.moved
        ]
        value = math.add(found.get(out, one.state.given), *totals)
        found.update(dict.fromkeys(one.state.out, value))
    return found


# ---- instead of the loop -----------------------------------------------------------------------


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, row, s: [s + row * row], x.shape[0], [x], [], [s])[0]",
        "loop(lambda t, row, s: [s + row], 3, [X3], [((-1,), X3[:1])])[0]",
        "loop(lambda t, row, s: [s * row, pt.exp(s)], 3, [x3], [((-1,), x3[:1])])[1]",
    ],
)
def accumulate_whole_arrays(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(s + f(x[t])) -> sum(f(x)) or cumsum(f(x)), loop(s * f(x[t])) -> cumprod(f(x))"""
    arguments = arguments_of(node)
    if arguments.has_until or not arguments.sequences or set(arguments.taps) - {(-1,)}:
        return None
    loop = EditedLoop.of(node)
    if not loop.states or not may_vanish(loop):
        return None
    nodes = loop.nodes()
    terms: dict[LoopArgument, tuple[str, list[Any]]] = {}
    for one in loop.states:
        found = "add", _terms(one, ps.add)
        if not found[1] and one.taps:
            found = "mul", _terms(one, ps.mul)
        alike = getattr(one.new.type, "broadcastable", None)
        if not found[1] or any(x.type.broadcastable != alike for x in found[1]):
            return None
        terms[one] = found
    before = Outside(loop, nodes)
    if not all(before.rows.get(x) for _, some in terms.values() for x in some):
        return None
    if any(_takes_memory(one, before.rows) for one in nodes):
        return None
    after = Outside(loop, nodes, ())
    if not all(after.rows.get(one.new) for one in loop.stacked):
        return None
    before.start()
    results: dict[Any, Any] = {}
    for one, (mode, some) in terms.items():
        rows = [before[x] for x in some]
        operation = math.add if mode == "add" else math.mul
        steps = rows[0] if len(rows) == 1 else operation(*rows)
        if one.taps:
            value = CumOp(0, mode)(join(0, one.given, steps))
        else:
            value = math.add(one.given, math.cast(steps.sum(axis=0), one.new.dtype))
        results.update(dict.fromkeys(one.out, value))
    after.start(results)
    for one in loop.stacked:
        results.update(dict.fromkeys(one.out, after[one.new]))
    return replacements(fgraph, node, results)


def _takes_memory(node: Any, rows: Mapping[Any, bool]) -> bool:
    """Return whether rows of a result are larger than all rows that it is computed from."""
    if not isinstance(node.op, Elemwise):
        return False
    wanted = node.outputs[0].type.broadcastable
    given = [x.type.broadcastable for x in node.inputs if rows.get(x)]
    return bool(given) and wanted not in given


# ---- products as terms -------------------------------------------------------------------------


def _as_product(term: Any) -> _Term | None:
    """Return a product of matrices, or of a column and a row, as a term of a sum."""
    node = term.owner
    if node is None or term.ndim != 2 or not isinstance(node.op, Dot | Elemwise):
        return None
    if any(x.type.dtype != term.dtype for x in operands(node)):
        return None
    if isinstance(node.op, Dot):
        x, y = node.inputs
        if x.ndim != 2 or y.ndim != 2:
            return None
        if max(x.type.shape[1] or 0, y.type.shape[0] or 0) >= _LONG:
            return None
        source = _source(x, (1, 0))
        if source is not None:
            return _Term((source, y), lambda xs, ys: Dot()(collapse(xs).T, collapse(ys)))
        return _Term((x, y), lambda xs, ys: Dot()(_side_by_side(xs), collapse(ys)))
    product = scalar_node(term, ps.mul)
    return None if product is None else _as_outer(product)


def _as_scattered(term: Any, free: Mapping[Any, bool]) -> _Term | None:
    """Return rows that are written into zeros, each at an index of its own, as a term of a sum."""
    node = term.owner
    if node is None or not isinstance(node.op, IncSubtensor) or node.op.inplace:
        return None
    zeros, y, *indices = node.inputs
    template = node.op.idx_list
    entries = [entry for entry in template if not is_full(entry)]
    if entries != [SCALAR] or free.get(zeros) is not False or not is_uniformly(zeros, 0):
        return None
    position = template.index(SCALAR)
    sizes = [size for dim, size in enumerate(zeros.type.broadcastable) if dim != position]
    if not free.get(indices[0]) or list(y.type.broadcastable) != sizes or y.dtype != term.dtype:
        return None

    def total(index: Any, ys: Any, base: Any) -> Any:
        rows = ys.dimshuffle(*range(1, position + 1), 0, *range(position + 1, ys.ndim))
        return inc_subtensor(base[(*[slice(None)] * position, index)], rows)

    return _Term((indices[0], y), total, (zeros,))


def _side_by_side(x: Any) -> Any:
    """Return a stack of matrices as one matrix, with the columns of all."""
    sizes = (shape_i(x, 1), shape_i(x, 0) * shape_i(x, 2))
    return reshape(x.dimshuffle(1, 0, 2), sizes, ndim=2)


def _as_outer(node: Any) -> _Term | None:
    columns: list[Any] = []
    rows: list[Any] = []
    scales: list[Any] = []
    for x in node.inputs:
        number = uniform_value(x) if x.type.broadcastable == (True, True) else NOT_CONSTANT
        if number is not NOT_CONSTANT:
            scales.append(as_value(number, x.type))
            continue
        is_column, is_row = x.type.broadcastable[1], x.type.broadcastable[0]
        if is_row:
            rows.append(
                _without(x, ("x", "x") if is_column else ("x", 0), () if is_column else (1,))
            )
        elif is_column:
            columns.append(_without(x, (0, "x"), (0,)))
        else:
            return None
    if not columns or all(x.ndim == 0 for x in rows):
        return None
    factors = tuple(xs[0] if len(xs) == 1 else math.mul(*xs) for xs in (columns, rows))

    def total(xs: Any, ys: Any) -> Any:
        product = Dot()(xs.T, ys)
        return math.mul(product, *scales) if scales else product

    return _Term(factors, total)


def _without(x: Any, order: tuple[Any, ...], kept: tuple[int, ...]) -> Any:
    """Return a column or row as a vector: the one that it was made from, if there is one."""
    source = _source(x, order)
    return x.dimshuffle(*kept) if source is None else source


def _source(x: Any, order: tuple[Any, ...]) -> Any:
    """Return y where x is y.dimshuffle(order); else ``None``."""
    node = x.owner
    if node is None or not isinstance(node.op, DimShuffle) or node.op.new_order != order:
        return None
    return node.inputs[0]


LOOP_SUMS = late_rules(accumulate_whole_arrays, sum_products_after_loop, needs=[Scan])
"""In the order in which they are tried."""
