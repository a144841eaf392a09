"""Taking loops apart, and putting them together again with other arguments."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys._base.records import record
from phintys.control.loops.arguments import LoopArguments
from phintys.control.loops.stepping import StepCount
from phintys.graph.alias_map import is_overwritten
from phintys.graph.choosing import Choosing, find_guards
from phintys.graph.cloning import graph_replace
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.traversal import io_toposort
from phintys.passes._facts import fits, is_size_of, scalar_node
from phintys.tensor.known import known_int
from phintys.tensor.shapes import ShapeI, shape_i
from phintys.tensor.size_check import unchecked_size
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from phintys.control.loops.scan_op import Scan
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


@record(eq=False)
class LoopArgument:
    """One argument of a loop, of any kind.

    Attributes
    ----------
    rows
        What a step reads: inputs of its graph, one for each tap of a carried argument.
    given
        The input of the node; ``None`` for a stacked result.
    new
        What a step computes; ``None`` for a sequence and a captured value.
    out
        The outputs, of the nodes that are replaced, that have the value of this argument.
    taps
        The taps of a carried argument.
    """

    rows: list[Any]
    given: Any = None
    new: Any = None
    out: list[Any] = field(default_factory=list)
    taps: tuple[int, ...] = ()


@record(eq=False)
class EditedLoop:
    """A loop whose arguments can be changed.

    Attributes
    ----------
    op
        The Op, for its options.
    n, index
        The number of steps, and the number of a step in its graph.
    sequences, carried, untraced, stacked, captured
        The arguments.
    until, ran
        The condition, and the outputs that count the steps.
    """

    op: Scan
    n: Any
    index: Any
    sequences: list[LoopArgument]
    carried: list[LoopArgument]
    untraced: list[LoopArgument]
    stacked: list[LoopArgument]
    captured: list[LoopArgument]
    until: Any = None
    ran: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, node: Apply, op: Any = None) -> EditedLoop:
        """Return the loop of a node, or one with the step of a copy of its Op."""
        op = node.op if op is None else op
        arguments: LoopArguments = op.arguments
        given = arguments.node_inputs(node.inputs)
        rows, made = op.step_inputs, op.step_outputs
        results = arguments.node_outputs(node.outputs)
        return cls(
            op=op,
            n=given.n,
            index=rows.index,
            sequences=[
                LoopArgument([row], x)
                for row, x in zip(rows.sequences, given.sequences, strict=True)
            ],
            carried=[
                LoopArgument(list(own), x, new, [out], taps)
                for own, x, new, out, taps in zip(
                    rows.carried,
                    given.carried,
                    made.carried,
                    results.carried,
                    arguments.taps,
                    strict=True,
                )
            ],
            untraced=[
                LoopArgument([row], x, new, [out])
                for row, x, new, out in zip(
                    rows.untraced, given.untraced, made.untraced, results.untraced, strict=True
                )
            ],
            stacked=[
                LoopArgument([], None, new, [out])
                for new, out in zip(made.stacked, results.stacked, strict=True)
            ],
            captured=[
                LoopArgument([row], x) for row, x in zip(rows.captured, given.captured, strict=True)
            ],
            until=made.until,
            ran=[] if results.ran is None else [results.ran],
        )

    @property
    def results(self) -> list[LoopArgument]:
        """The arguments that have results, in the order of the outputs."""
        return [*self.carried, *self.untraced, *self.stacked]

    @property
    def states(self) -> list[LoopArgument]:
        """The arguments that later steps read."""
        return [*self.carried, *self.untraced]

    @property
    def made(self) -> list[Any]:
        """What a step computes."""
        found = [argument.new for argument in self.results]
        return found if self.until is None else [*found, self.until]

    @property
    def inputs(self) -> list[Any]:
        """The inputs of the graph of a step."""
        arguments = (*self.sequences, *self.carried, *self.untraced, *self.captured)
        return [self.index, *(row for argument in arguments for row in argument.rows)]

    def nodes(self) -> list[Apply]:
        """Return the nodes of a step, in topological order."""
        return io_toposort(self.inputs, self.made)

    def replace(self, rows: Mapping[Any, Any]) -> None:
        """Replace variables of the graph of a step."""
        if not rows:
            return
        new = iter(graph_replace(self.made, rows, strict=False))
        for argument in self.results:
            argument.new = next(new)
        if self.until is not None:
            self.until = next(new)

    def apply(self) -> dict[Variable, Variable]:
        """Return the outputs of the loop, for those of the nodes that it replaces."""
        arguments = LoopArguments(
            len(self.sequences),
            tuple(argument.taps for argument in self.carried),
            len(self.untraced),
            len(self.stacked),
            len(self.captured),
            self.until is not None,
        )
        op = self.op.with_step(FunctionGraph(self.inputs, self.made), arguments)
        given = (*self.sequences, *self.carried, *self.untraced, *self.captured)
        new = op(self.n, *(argument.given for argument in given), return_list=True)
        old = [*(argument.out for argument in self.results), self.ran]
        return {out: one for outs, one in zip(old, new, strict=False) for out in outs}

    @property
    def steps(self) -> Any:
        """The number of steps that are run; a new variable if there is a condition."""
        return self.n if self.until is None else self.ran[0]


def replacements(
    fgraph: FunctionGraph, node: Apply, new: Mapping[Variable, Any]
) -> list[Variable | None] | None:
    """Return the replacements of the outputs of a node as a rule does.

    ``None`` if there are none, if the memory of an output is overwritten, or if a replacement has a
    type that does not fit.
    """
    found: list[Variable | None] = []
    for out in node.outputs:
        one = new.get(out)
        if one is None or not fgraph.clients.get(out):
            if fgraph.clients.get(out):
                return None
            found.append(None)
            continue
        if isinstance(out.type, TensorType):
            one = out.type.filter_variable(one)
            if not is_like(one, out):
                return None
        found.append(one)
    if any(is_overwritten(fgraph, out) for out in node.outputs):
        return None
    return found if any(one is not None for one in found) else None


# ---- what is known of a loop -------------------------------------------------------------------


def arguments_of(node: Apply) -> LoopArguments:
    """Return the kinds of arguments of a node, for rules that need not take its loop apart."""
    op: Any = node.op
    return op.arguments


def covers(n: Any, x: Any, levels: int = 8) -> bool:
    """Return whether a sequence is known to have a row for each of n steps."""
    known, size = known_int(n), x.type.shape[0]
    if known is not None:
        return size is not None and known <= size
    base = unchecked_size(n)
    if is_size_of(base, x, 0):
        return True
    least = scalar_node(base, ps.minimum)
    return least is not None and levels > 0 and any(covers(m, x, levels - 1) for m in least.inputs)


def is_not_negative(n: Any, levels: int = 8) -> bool:
    """Return whether a number of steps is known not to be negative."""
    known = known_int(n)
    if known is not None:
        return known >= 0
    base = unchecked_size(n)
    if base.owner is None or levels == 0:
        return False
    if isinstance(base.owner.op, ShapeI):
        return True
    of = scalar_node(base, ps.minimum, ps.add)
    return of is not None and all(is_not_negative(m, levels - 1) for m in of.inputs)


def enough_rows(n: Any, x: Any, number: int) -> Any:
    """Return a number of steps, which raises if the sequence with a number has fewer rows."""
    return n if covers(n, x) else StepCount(number)(n, shape_i(x, 0), n)


def not_negative(n: Any) -> Any:
    """Return a number of steps, which raises if it is negative."""
    return n if is_not_negative(n) else StepCount()(n, n, 0)


def is_like(value: Any, row: Any) -> bool:
    """Return whether a value can stand for a variable of a step, without a change of shapes."""
    if isinstance(row.type, TensorType):
        return isinstance(value.type, TensorType) and fits(row.type, value.type)
    return row.type == value.type


def may_vanish(loop: EditedLoop) -> bool:
    """Return whether no error about the number of steps is lost if there is no loop any more.

    What takes its place reads as many rows of all sequences that the steps read.
    """
    clients = loop.op.fgraph.clients
    return loop.n is unchecked_size(loop.n) and all(
        clients.get(one.rows[0]) or covers(loop.n, one.given) for one in loop.sequences
    )


def always_computed(nodes: Sequence[Apply], made: Iterable[Any]) -> set[Apply]:
    """Return the nodes of a step whose results are needed whatever its choices choose."""
    if not any(isinstance(node.op, Choosing) for node in nodes):
        return set(nodes)
    walk = ((node, range(len(node.inputs))) for node in reversed(nodes))
    guards = find_guards(walk, made)
    return {node for node in nodes if any(guards.get(out) == ((),) for out in node.outputs)}


def clients_of(nodes: Iterable[Apply], made: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return variable -> the nodes of a step that read it; ``None`` for what a step computes."""
    found: dict[Any, list[Any]] = {}
    for node in nodes:
        for x in node.inputs:
            found.setdefault(x, []).append(node)
    for x in made:
        found.setdefault(x, []).append(None)
    return found
