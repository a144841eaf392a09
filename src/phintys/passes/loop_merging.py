"""Merging of loops of the same number of steps into one."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from phintys._base.errors import InconsistencyError
from phintys._base.origin import inherit_origin
from phintys.control.loops.scan_op import Scan
from phintys.graph.alias_map import is_overwritten
from phintys.graph.choosing import Choosing, find_guards
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant
from phintys.passes._loops import EditedLoop, LoopArgument, is_like
from phintys.passes.loop_states import equal_values, unite_results
from phintys.rewriting import GraphRewriter, late_rewriter
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import FULL, Slice, is_full
from phintys.tensor.known import known_int
from phintys.tensor.size_check import SizeCheck, unchecked_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import RewriteTrace


class CombineLoops(GraphRewriter):
    """loop(x), loop(x, y) -> one loop(x, y)

    Two loops of the same number of steps become one if

    - they read the same sequences or states: what both compute is computed once, as in the gradient
      of a loop, which runs its steps again to keep more of them;
    - one reads, in each step, the row that the other computed in that step or in an earlier one: it
      need not be stored.

    Neither can depend on the other in another way, both must be needed in the same cases, and
    conditions that end them must be the same.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.graph import FunctionGraph
    >>> from phintys.passes.loop_merging import combine_loops
    >>> from phintys.testing.random_loops import make_loop
    >>> x = pt.dvector("x")
    >>> n = x.shape[0]
    >>> (y,) = make_loop(lambda t, row, u: [u * row], n, [x], [((-1,), x[:1])])
    >>> (z,) = make_loop(lambda t, row, u: [u + row], n, [y[1:]], untraced=[0.0])
    >>> fgraph = FunctionGraph([x], [y, z])
    >>> combine_loops.apply(fgraph)
    >>> [str(node.op) for node in fgraph.toposort()].count("Scan")
    1
    """

    def __init__(self) -> None:
        super().__init__(name="combine_loops")

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Merge the loops of a graph."""
        refused: set[tuple[Apply, Apply]] = set()
        while (pair := _mergeable(fgraph, refused)) is not None:
            refused.add(pair)
            self._merge(fgraph, *pair, trace)

    def _merge(
        self, fgraph: FunctionGraph, one: Apply, other: Apply, trace: RewriteTrace | None
    ) -> None:
        start = perf_counter()
        with inherit_origin(one.origin):
            new = _merged(one, other)
        if new is None:
            return
        pairs = [
            (old, new[old]) for old in (*one.outputs, *other.outputs) if fgraph.clients.get(old)
        ]
        if not all(is_like(new, old) or old.type == new.type for old, new in pairs):
            return
        why = ""
        try:
            fgraph.replace_all_validate(pairs, reason=self.name)
        except InconsistencyError as error:
            why = str(error)
        if trace is not None:
            trace.record(self.name, other, tuple(pairs), perf_counter() - start, why)


def _mergeable(
    fgraph: FunctionGraph, refused: set[tuple[Apply, Apply]]
) -> tuple[Apply, Apply] | None:
    """Return two loops that can be merged, the first of which does not depend on the second."""
    nodes = fgraph.toposort()
    loops = [node for node in nodes if isinstance(node.op, Scan)]
    if len(loops) < 2:
        return None
    guards: dict[Any, Any] = {}
    if any(isinstance(node.op, Choosing) for node in nodes):
        walk = ((node, range(len(node.inputs))) for node in reversed(nodes))
        guards = dict(find_guards(walk, fgraph.outputs))
    for one, other in _candidates(loops):
        if (one, other) in refused:
            continue
        if (
            _same_count(one.inputs[0], other.inputs[0])
            and guards.get(one.outputs[0]) == guards.get(other.outputs[0])
            and not any(is_overwritten(fgraph, out) for out in (*one.outputs, *other.outputs))
            and not _depends(other, one, _links(one, other))
        ):
            return one, other
        refused.add((one, other))
    return None


def _candidates(loops: list[Apply]) -> Iterator[tuple[Apply, Apply]]:
    """Yield pairs of loops that read the same, or of which one reads what the other computes."""
    readers: dict[Any, list[Apply]] = {}
    for other in loops:
        loop = EditedLoop.of(other)
        found: dict[Apply, None] = {}
        for x in (*loop.sequences, *loop.states):
            source = x.given.owner
            if source is not None and isinstance(source.op, Subtensor):
                source = source.inputs[0].owner
            if source is not None and isinstance(source.op, Scan):
                found[source] = None
            if not isinstance(x.given, Constant):
                known = readers.setdefault(x.given, [])
                found.update(dict.fromkeys(known))
                if other not in known:
                    known.append(other)
        found.pop(other, None)
        for one in found:
            yield one, other


def _same_count(n: Any, m: Any) -> bool:
    one, other = unchecked_size(n), unchecked_size(m)
    if one is other:
        return True
    known = known_int(n)
    return known is not None and known == known_int(m)


def _depends(node: Apply, on: Apply, links: Mapping[Any, Any]) -> bool:
    """Return whether a loop depends on another one, other than by reading its rows."""
    outputs = set(on.outputs)
    return any(x in outputs for x in ancestors([x for x in node.inputs if x not in links]))


def _links(one: Apply, other: Apply) -> dict[Variable, Any]:
    """Return the sequences of a loop that are rows of another one, which computes them first.

    Each with what is the row of the same step in the graph of the other loop.
    """
    op: Any = one.op
    if op.arguments.has_until:
        return {}
    mine = EditedLoop.of(one)
    stacks = {x.out[0]: x.new for x in mine.stacked}
    traces = {x.out[0]: x for x in mine.carried}
    found: dict[Variable, Any] = {}
    for x in EditedLoop.of(other).sequences:
        row = stacks.get(x.given)
        if row is None:
            row = _row_of_trace(x.given, traces)
        if row is not None and is_like(row, x.rows[0]):
            found[x.given] = row
    return found


def _row_of_trace(x: Any, traces: Mapping[Any, LoopArgument]) -> Any:
    """Return the variable of a step that is the row of a sequence, a part of a trace."""
    start, left_out = 0, 0
    node = x.owner
    if node is not None and isinstance(node.op, Subtensor) and node.inputs[0] in traces:
        entry: Any = node.op.idx_list[0] if node.op.idx_list else FULL
        if not isinstance(entry, Slice) or entry.step not in {None, 1}:
            return None
        if not all(map(is_full, node.op.idx_list[1:])):
            return None
        start, stop = entry.start or 0, entry.stop or 0
        if not isinstance(start, int) or not isinstance(stop, int) or start < 0 or stop > 0:
            return None
        left_out = -stop
        x = node.inputs[0]
    one = traces.get(x)
    if one is None:
        return None
    tap = start + one.taps[0]
    if tap > 0 or left_out > -tap:  # there is not a row for each step
        return None
    return one.new if tap == 0 else dict(zip(one.taps, one.rows, strict=True)).get(tap)


def _merged(first: Apply, second: Apply) -> dict[Variable, Any] | None:
    """Return the outputs of a loop that computes what two loops do; ``None`` if there is none."""
    links = _links(first, second)
    op: Any = second.op
    if op is first.op:  # other values of the same step, whose variables stand for those of one
        op = op.with_inner(op.fgraph.clone())
    one, other = EditedLoop.of(first), EditedLoop.of(second, op)
    rows: dict[Any, Any] = {other.index: one.index}
    former = {(x.given, x.rows[0].type): x.rows[0] for x in (*one.sequences, *one.captured)}
    for x in (*other.sequences, *other.captured):
        row = links.get(x.given) if x in other.sequences else None
        row = former.get((x.given, x.rows[0].type)) if row is None else row
        if row is not None:
            rows[x.rows[0]] = row
    other.sequences = [x for x in other.sequences if x.rows[0] not in rows]
    other.captured = [x for x in other.captured if x.rows[0] not in rows]
    other.replace(rows)
    if (one.until is None) != (other.until is None):
        return None
    one.sequences += other.sequences
    one.carried += other.carried
    one.untraced += other.untraced
    one.stacked += other.stacked
    one.captured += other.captured
    one.n = _with_checks(one.n, other.n)
    one.ran += other.ran
    if one.until is not None and not _are_equal(one, one.until, other.until):
        return None
    unite_results(one)
    return one.apply()


def _are_equal(loop: EditedLoop, x: Any, y: Any) -> bool:
    """Return whether two variables of a step are equal in all steps."""
    extra = LoopArgument([], None, y)
    loop.stacked.append(extra)
    _, numbers = equal_values(loop)
    loop.stacked.remove(extra)
    return numbers[x] == numbers[y]


def _with_checks(n: Any, other: Any) -> Any:
    """Return a number of steps with the checks of another one as well."""
    checks: list[Any] = []
    while other is not n and (node := other.owner) is not None and isinstance(node.op, SizeCheck):
        checks.append(node)
        other = node.inputs[0]
    for node in reversed(checks):
        n = node.op(n, *node.inputs[1:])
    return n


combine_loops = late_rewriter(CombineLoops(), needs=[Scan])
