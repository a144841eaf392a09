"""Forward mode through a Scan: one loop that computes its values and their tangents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.control.loops.arguments import LoopArguments
from phintys.gradient.arithmetic import fit_dtype, is_discrete, zero_like
from phintys.gradient.forward import push_forward
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.null_type import DisconnectedType, NullType
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.control.loops.loop_op import LoopOp
    from phintys.graph.variable import Variable


@record()
class _Moved:
    """An argument with a tangent.

    Attributes
    ----------
    rows, points
        What a step reads, and variables for the tangents of these.
    outer
        The tangent of the input of the node.
    """

    rows: list[Variable]
    points: list[Variable]
    outer: Any

    @property
    def pairs(self) -> list[tuple[Variable, Variable]]:
        """The variables of the step with their tangents."""
        return list(zip(self.rows, self.points, strict=True))


def push_forward_loop(op: LoopOp, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
    """Return the tangents of the results of a loop; see ``Scan.R_op``."""
    given = [
        None if point is None or isinstance(point.type, DisconnectedType) else point
        for point in eval_points
    ]
    moves = [
        any(point is not None and row[o] for point, row in zip(given, op.connections, strict=True))
        for o in range(len(op.inner_outputs))
    ]
    arguments, inner, made = op.arguments, op.step_inputs, op.step_outputs
    points, outer = arguments.node_inputs(given), arguments.node_inputs(inputs)
    moving = arguments.step_outputs(
        [
            is_moved and not is_discrete(v.type)
            for is_moved, v in zip(moves, op.inner_outputs, strict=True)
        ]
    )
    sequences = _moved([[row] for row in inner.sequences], points.sequences)
    captured = _moved([[value] for value in inner.captured], points.captured)
    carried = _moved(inner.carried, _completed(points.carried, outer.carried, moving.carried))
    untraced = _moved(
        [[value] for value in inner.untraced],
        _completed(points.untraced, outer.untraced, moving.untraced),
    )
    moved = [*sequences.values(), *carried.values(), *untraced.values(), *captured.values()]
    wanted = [*(made.carried[i] for i in carried), *(made.untraced[i] for i in untraced)]
    stacked = [i for i, is_moved in enumerate(moving.stacked) if is_moved]
    wanted += [made.stacked[i] for i in stacked]
    tangents = push_forward(wanted, [pair for each in moved for pair in each.pairs])
    null = next((v for v in tangents if v is not None and isinstance(v.type, NullType)), None)
    if null is not None:
        return [null if is_moved else None for is_moved in moves]
    new = iter(
        [
            zero_like(v) if tangent is None else fit_dtype(tangent, v.type)
            for v, tangent in zip(wanted, tangents, strict=True)
        ]
    )
    new_carried, new_untraced, new_stacked = (
        [next(new) for _ in each] for each in (carried, untraced, stacked)
    )
    kinds = LoopArguments(
        sequences=arguments.sequences + len(sequences),
        taps=(*arguments.taps, *(arguments.taps[i] for i in carried)),
        untraced=arguments.untraced + len(untraced),
        stacked=arguments.stacked + len(stacked),
        captured=arguments.captured + len(captured),
        has_until=arguments.has_until,
    )
    step_inputs = [inner.index, *inner.sequences, *_points(sequences)]
    step_inputs += [row for rows in inner.carried for row in rows]
    step_inputs += [*_points(carried), *inner.untraced, *_points(untraced)]
    step_inputs += [*inner.captured, *_points(captured)]
    step_outputs = [*made.carried, *new_carried, *made.untraced, *new_untraced]
    step_outputs += [*made.stacked, *new_stacked]
    if made.until is not None:
        step_outputs.append(made.until)
    values = [outer.n]
    for own, others in (
        (outer.sequences, sequences),
        (outer.carried, carried),
        (outer.untraced, untraced),
        (outer.captured, captured),
    ):
        values += [*own, *(each.outer for each in others.values())]
    loop = type(op)(FunctionGraph(step_inputs, step_outputs), kinds, f"tangent of {op}")
    results = kinds.node_outputs(loop(*values, return_list=True))
    found: list[Any] = [None] * (len(op.inner_outputs))
    first = len(made.carried)
    second = first + len(made.untraced)
    for at, numbers, tangent in (
        (0, carried, results.carried[first:]),
        (first, untraced, results.untraced[arguments.untraced :]),
        (second, stacked, results.stacked[arguments.stacked :]),
    ):
        for number, value in zip(numbers, tangent, strict=True):
            found[at + number] = value
    return found


def _completed(points: Sequence[Any], firsts: Sequence[Any], moving: Sequence[bool]) -> list[Any]:
    """Return the tangents of first values, zero if only later ones have any."""
    return [
        (zero_like(first) if point is None else point)
        if is_moved and isinstance(first.type, TensorType)
        else None
        for point, first, is_moved in zip(points, firsts, moving, strict=True)
    ]


def _moved(rows: Sequence[list[Variable]], points: Sequence[Any]) -> dict[int, _Moved]:
    """Return the arguments that have tangents, by number."""
    return {
        number: _Moved(group, [_like(row, point) for row in group], point)
        for number, (group, point) in enumerate(zip(rows, points, strict=True))
        if point is not None
    }


def _like(row: Variable, point: Any) -> Variable:
    """Return a variable for the tangent of a row."""
    type_ = row.type
    if not isinstance(type_, TensorType):
        return point.type()
    return type_.clone(dtype=point.type.dtype)()


def _points(moved: dict[int, _Moved]) -> list[Variable]:
    return [point for each in moved.values() for point in each.points]
