"""States of loops: those that are always equal, and traces of which only some rows are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.control.loops.scan_op import Scan
from phintys.graph.alias_map import is_overwritten
from phintys.graph.variable import Constant
from phintys.passes._loops import (
    EditedLoop,
    LoopArgument,
    arguments_of,
    is_like,
    replacements,
)
from phintys.rewriting import late_rules, node_rewriter
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import Slice, is_full
from phintys.tensor.known import known_int
from phintys.tensor.size_check import SizeCheck

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

__all__ = ["LOOP_STATES", "equal_values", "unite_results"]

_MOST_ROWS = 4  # last rows that are kept as values of their own

# ---- equal states ------------------------------------------------------------------------------


def number_values(
    nodes: Iterable[Apply],
    made: Iterable[Variable],
    numbers: dict[Any, int],
    keys: dict[Hashable, int],
) -> None:
    """Give equal values equal numbers.

    Parameters
    ----------
    nodes
        Nodes, in topological order.
    made
        The outputs.
    numbers
        The numbers of their inputs, and then of all variables; inputs without one differ.
    keys
        The numbers of computations.
    """

    def number(key: Hashable) -> int:
        try:
            return keys.setdefault(key, len(keys))
        except Exception:  # noqa: BLE001 - a user's Op or Type may raise anything
            return keys.setdefault(("no other", len(keys)), len(keys))

    def number_leaf(x: Any) -> None:
        if x not in numbers:
            numbers[x] = number(x.signature() if isinstance(x, Constant) else ("leaf", id(x)))

    for node in nodes:
        for x in node.inputs:
            number_leaf(x)
        inputs = tuple(numbers[x] for x in node.inputs)
        op: Any = ("one", id(node)) if node.op.destroy_map else node.op
        for position, out in enumerate(node.outputs):
            numbers[out] = number((op, inputs, position, out.type))
    for x in made:
        number_leaf(x)


def equal_values(loop: EditedLoop) -> tuple[dict[LoopArgument, int], dict[Any, int]]:
    """Return numbers of the states of a loop, and of the variables of a step.

    Those that are equal in all steps have equal numbers. States are equal if their first values
    are, and if steps compute equal new values from equal old ones. At first, all states of the same
    kind that start alike are taken for equal; those of which steps compute different values are
    told apart, until nothing changes any more.
    """
    nodes = loop.nodes()
    classes = _starting_alike(loop.states)
    while True:
        keys: dict[Hashable, int] = {}
        numbers: dict[Any, int] = {}
        for one, kind in classes.items():
            for tap, row in zip(one.taps or (0,), one.rows, strict=True):
                numbers[row] = keys.setdefault(("state", kind, tap), len(keys))
        number_values(nodes, loop.made, numbers, keys)
        finer: dict[Hashable, int] = {}
        split = {
            one: finer.setdefault((kind, numbers[one.new]), len(finer))
            for one, kind in classes.items()
        }
        if len(finer) == len(set(classes.values())):
            return classes, numbers
        classes = split


def unite_results(loop: EditedLoop) -> bool:
    """Unite states that are equal in all steps, and equal rows; return whether there are any."""
    classes, numbers = equal_values(loop)
    first: dict[Hashable, LoopArgument] = {}
    rows: dict[Any, Any] = {}
    gone: set[LoopArgument] = set()
    for one in loop.results:
        key = ("state", classes[one]) if one in classes else ("row", numbers[one.new])
        former = first.setdefault(key, one)
        if former is not one:
            gone.add(one)
            former.out = [*former.out, *one.out]
            rows.update(zip(one.rows, former.rows, strict=True))
    if not gone:
        return False
    loop.carried = [one for one in loop.carried if one not in gone]
    loop.untraced = [one for one in loop.untraced if one not in gone]
    loop.stacked = [one for one in loop.stacked if one not in gone]
    loop.replace(rows)
    return True


def _starting_alike(states: Sequence[LoopArgument]) -> dict[LoopArgument, int]:
    """Return numbers that are equal for states that have equal first values."""
    keys: dict[Hashable, int] = {}
    found: dict[LoopArgument, int] = {}
    for one in states:
        start: Any = one.given.signature() if isinstance(one.given, Constant) else id(one.given)
        types = tuple(x.type for x in (*one.rows, one.new))
        found[one] = keys.setdefault((one.taps, start, types), len(keys))
    return found


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, a, b: [a * 2, b * 2, a + b], 3, untraced=[s, s])[1]",
        "loop(lambda t, a, b: [a * 2 + b, b * 2 + a, a], 3, [], 2 * [((-1,), x[:1])])[1]",
        "loop(lambda t, a: 2 * [a * 2.0], 3, [x3])[1]",
    ],
)
def unite_equal_results(fgraph: FunctionGraph, node: Apply) -> list[Variable | None] | None:
    """loop(x, x) -> loop(x), where steps compute the same from two states"""
    loop = EditedLoop.of(node)
    states = _starting_alike(loop.states)
    rows = [one.new for one in loop.stacked]
    if len(set(states.values())) == len(states) and len(set(rows)) == len(rows):
        return None
    return replacements(fgraph, node, loop.apply()) if unite_results(loop) else None


# ---- last rows ---------------------------------------------------------------------------------


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, a: [a * 2], 3, [], [((-1,), x[:1])])[0][-1]",
        "loop(lambda t, a: [a * 2], n, [], [((-1,), X[:1])])[0][1:][-1, 1:]",
        "loop(lambda t, a: [a * 2], 3, [], [((-1,), X[:1])])[0][1:][2]",
        "loop(lambda t, a, b: [a + b], 3, [], [((-2, -1), x[:2])])[0][-2]",
        "loop(lambda t, row, a: [a + row], x.shape[0], [x], [((-3,), x3)])[0][-3]",
    ],
)
def keep_last_rows(fgraph: FunctionGraph, node: Apply) -> dict[Variable, Variable] | None:
    """loop(x)[-1] -> loop(x), which only keeps the last row of a state"""
    if not arguments_of(node).taps:
        return None
    loop = EditedLoop.of(node)
    found: dict[LoopArgument, list[_Read]] = {}
    count = known_int(loop.n) if loop.until is None else None
    for one in loop.carried:
        reads = _last_rows(fgraph, one, count) if -one.taps[0] <= _MOST_ROWS else None
        if reads:
            found[one] = reads
    if not found or any(is_overwritten(fgraph, out) for out in node.outputs):
        return None
    values: dict[LoopArgument, list[LoopArgument]] = {}
    for one in found:
        values[one] = _as_values(one)
        loop.carried.remove(one)
        loop.untraced += values[one]
    new = loop.apply()
    results: dict[Variable, Variable] = {}
    steps = new[loop.ran[0]] if loop.ran else loop.n
    for one, reads in found.items():
        for read in reads:
            row = new[values[one][read.back - 1].out[0]]
            value = read.of(row, steps)
            if not is_like(value, read.out):
                return None
            results[read.out] = value
        for out in one.out:
            new.pop(out, None)
    return results | {
        old: new[old] for old in node.outputs if old in new and fgraph.clients.get(old)
    }


class _Read:
    """A use of one of the last rows of a trace.

    Parameters
    ----------
    out
        The row, or the part of it that is read.
    back
        The number of the row, counted from the end and from 1.
    missing
        How many steps there must be, so that there is such a row.
    """

    def __init__(self, out: Any, back: int, missing: int) -> None:
        self.out = out
        self.back = back
        self.missing = missing

    def of(self, row: Any, steps: Any) -> Any:
        """Return what is read, from the row."""
        node = self.out.owner
        known = known_int(steps)
        if self.missing > 0 and (known is None or known < self.missing):
            check = SizeCheck("index", "The rows that the steps of a loop computed")
            row = row.dimshuffle("x", *range(row.ndim))[check(0, -self.missing, steps)]
        rest = node.op.idx_list[1:]
        return Subtensor(rest)(row, *node.inputs[1:]) if rest else row


def _last_rows(fgraph: FunctionGraph, one: LoopArgument, count: int | None) -> list[_Read] | None:
    """Return the uses of a trace; ``None`` if there are any but of its last rows.

    If the number of steps is known, so is what a row counted from the beginning is.
    """
    depth = -one.taps[0]
    if any(row.type != one.rows[0].type for row in one.rows):
        return None
    found: list[_Read] = []
    stack = [(out, 0) for out in one.out]
    while stack:
        trace, start = stack.pop()
        for client, position in fgraph.clients.get(trace, ()):
            if isinstance(client, str) or position != 0 or not isinstance(client.op, Subtensor):
                return None
            template = client.op.idx_list
            entry = template[0] if template else None
            if isinstance(entry, int) and entry >= 0 and count is not None and count >= 0:
                entry -= count + depth - start
            if isinstance(entry, int) and -depth <= entry < 0:
                found.append(_Read(client.outputs[0], -entry, start - depth - entry))
            elif start == 0 and (first := _start(template)):
                stack.append((client.outputs[0], first))
            else:
                return None
    return found


def _start(template: Any) -> int:
    """Return how many of the first rows an index leaves out; 0 if it leaves out anything else."""
    entry: Any = template[0] if template else None
    if not isinstance(entry, Slice) or not isinstance(entry.start, int) or entry.start < 0:
        return 0
    is_rest = entry.stop is None and entry.step in {None, 1} and all(map(is_full, template[1:]))
    return entry.start if is_rest else 0


def _as_values(one: LoopArgument) -> list[LoopArgument]:
    """Return untraced arguments for the last rows of a carried one, the last row first."""
    depth = -one.taps[0]
    row_at = dict(zip(one.taps, one.rows, strict=True))
    found: list[LoopArgument] = []
    new = one.new
    for back in range(1, depth + 1):
        row = row_at.get(-back)
        if row is None:
            row = one.rows[0].type()
        found.append(LoopArgument([row], one.given[depth - back], new, [row.type()]))
        new = row
    return found


# ---- rows without the first values -------------------------------------------------------------


@node_rewriter(
    [Scan],
    examples=[
        "loop(lambda t, a: [a * 2], 3, [], [((-1,), x[:1])])[0][1:]",
        "loop(lambda t, a: [a * 2], n, [], [((-1,), x[:1])])[0][1:]",
        "loop(lambda t, a, b: [a + b], n, [], [((-2, -1), x[:2])])[0][2:]",
        "loop(lambda t, row, a: [a * row], x.shape[0], [x], [((-2,), x[:2])])[0][2:]",
    ],
)
def keep_later_rows(fgraph: FunctionGraph, node: Apply) -> dict[Variable, Variable] | None:
    """loop(x)[1:] -> loop(x), which returns the numbers that it computes without the first ones

    They are written where they are wanted, instead of after the first ones and copied from there.
    """
    if not arguments_of(node).taps:
        return None
    loop = EditedLoop.of(node)
    later = {one: _later_rows(fgraph, one) for one in loop.carried if _is_of_numbers(one)}
    later = {one: reads for one, reads in later.items() if reads}
    if not later or any(is_overwritten(fgraph, out) for out in node.outputs):
        return None
    for one, reads in later.items():
        loop.carried.remove(one)
        loop.untraced += _as_values(one)
        loop.stacked.append(LoopArgument([], None, one.new, reads))
    new = loop.apply()
    if not all(is_like(new[out], out) for reads in later.values() for out in reads):
        return None
    wanted = [*node.outputs, *(out for reads in later.values() for out in reads)]
    return {old: new[old] for old in wanted if old in new and fgraph.clients.get(old)}


def _is_of_numbers(one: LoopArgument) -> bool:
    """Return whether the rows of a trace are numbers, the last ones of which are in registers."""
    row = one.rows[0].type
    return -one.taps[0] <= _MOST_ROWS and row.ndim == 0 and all(x.type == row for x in one.rows)


def _later_rows(fgraph: FunctionGraph, one: LoopArgument) -> list[Variable]:
    """Return the uses of a trace if each is that of all rows but the first ones."""
    found: list[Variable] = []
    for client, position in fgraph.clients.get(one.out[0], ()):
        if isinstance(client, str) or position != 0 or not isinstance(client.op, Subtensor):
            return []
        if _start(client.op.idx_list) != -one.taps[0]:
            return []
        found.append(client.outputs[0])
    return found


LOOP_STATES = late_rules(unite_equal_results, keep_last_rows, keep_later_rows, needs=[Scan])
"""In the order in which they are tried."""
