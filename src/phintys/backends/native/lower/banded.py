"""Lowering of systems with few diagonals to calls of LAPACK, one for each matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Conversion, Index, Literal, Operation, Position
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.linear_algebra import (
    Operands,
    count_of,
    matrix_failure,
    turned,
)
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.backends.native.lower.view import View
from phintys.backends.native.routines.banded import GBSV, GTSV, GTTRF, GTTRS
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.linear_algebra.banded import SolveBanded
from phintys.tensor.linear_algebra.tridiagonal import SolveTridiagonalLU, TridiagonalLU

if TYPE_CHECKING:
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array

_INT64 = np.dtype("int64")


@lowers(SolveBanded)
def lower_solve_banded(op: SolveBanded, node: Apply, lowering: Lowering) -> None:
    """Copies of the bands and of b, and then factors and solutions in their place."""
    sizes = lowering.sizes
    (bands, b), core, lengths = Operands.of(op, node, lowering)
    n, rows, k = core["n"], core["r"], core["k"]
    columns = lowering.copied(turned(b, lowering), node)
    is_nan = op.on_error == "nan"
    options: dict[str, Any] = {
        "n": n,
        "k": k,
        "rows": rows,
        "below": sizes.fixed(op.below),
        "above": sizes.fixed(op.above),
        "count": count_of(lengths, lowering),
        "move": sizes.mul(n, rows),
        "x_move": sizes.mul(n, k),
        "transposed": op.transposed,
        "nan": is_nan,
    }
    detail = "element {0} of the diagonal of the factor of matrix {1} is 0, counted from 1"
    failure = matrix_failure(node, detail, is_nan)
    if op.below == op.above == 1:
        bands = lowering.contiguous(bands, node)
        room = lowering.array(b.array.dtype, (sizes.mul(sizes.fixed(3), n),))
        arrays = (bands.array,), (columns.array,)
        call = LibraryCall(GTSV, *arrays, options, node, (room,), failure)
    else:
        bands = lowering.copied(bands, node)
        room = lowering.array("int32", (n,))
        outputs = (columns.array, bands.array)
        call = LibraryCall(GBSV, (), outputs, options, node, (room,), failure)
    lowering.steps.append(call)
    lowering.bind(node.outputs[0], turned(columns, lowering))


def _lengths_of_diagonals(
    core: dict[str, Size], node: Apply, lowering: Lowering
) -> dict[str, Size]:
    """Return the lengths of diagonals, after a check: one less than that of the main one."""
    sizes = lowering.sizes
    fewer = sizes.at_least_zero(sizes.sub(core["n"], sizes.fixed(1)))
    failure = Failure(node, "rows", "{0} elements of a diagonal beside the main one; expected {1}")
    lowering.require_equal(core["p"], fewer, failure)
    return {name: sizes.canonical(core[name]) for name in ("n", "p")}


@lowers(TridiagonalLU)
def lower_tridiagonal_lu(op: TridiagonalLU, node: Apply, lowering: Lowering) -> None:
    """Copies of the diagonals, and then the factors in their place."""
    given, core, lengths = Operands.of(op, node, lowering)
    options = _lengths_of_diagonals(core, node, lowering)
    shapes = [[*lengths, options[name]] for name in ("p", "n", "p", "p", "n")]
    targets: list[Array] = []
    for variable, shape in zip(node.outputs, shapes, strict=True):
        target, loops = lowering.compute(variable, shape)
        at = len(targets)
        if at < 3:
            lowering.store(target, lowering.load(given[at], loops), loops, nodes=(node,))
        elif at == 3:
            dtype = target.array.dtype
            lowering.store(target, Literal(dtype.type(0), dtype), loops, nodes=(node,))
        targets.append(target.array)
    options |= {"count": count_of(lengths, lowering)}
    lowering.steps.append(LibraryCall(GTTRF, (), tuple(targets), options, node))


@lowers(SolveTridiagonalLU)
def lower_solve_tridiagonal_lu(op: SolveTridiagonalLU, node: Apply, lowering: Lowering) -> None:
    """A column-major copy of b, and then the solution in its place."""
    sizes = lowering.sizes
    (*factors, rows, b), core, lengths = Operands.of(op, node, lowering)
    options: dict[str, Any] = {**_lengths_of_diagonals(core, node, lowering)}
    n, k = core["n"], core["k"]
    arrays = [lowering.contiguous(view, node).array for view in factors]
    rows = _exchanges(rows, node, lowering)
    columns = lowering.copied(turned(b, lowering), node)
    is_nan = op.on_error == "nan"
    options |= {"k": k, "x_move": sizes.mul(n, k), "count": count_of(lengths, lowering)}
    options |= {"transposed": op.transposed, "nan": is_nan}
    detail = "element {0} of the diagonal of the factor of matrix {1} is 0, counted from 1"
    failure = matrix_failure(node, detail, is_nan)
    inputs = (*arrays, rows.array)
    call = LibraryCall(GTTRS, inputs, (columns.array,), options, node, failure=failure)
    lowering.steps.append(call)
    lowering.bind(node.outputs[0], turned(columns, lowering))


def _exchanges(rows: View, node: Apply, lowering: Lowering) -> View:
    """Return with which row each one is exchanged: itself or the next one, whatever is given.

    LAPACK does not check them, and would exchange rows that do not exist.
    """
    loops = lowering.loops(rows.sizes)
    target = View.of(lowering.array("int32", rows.sizes), lowering.sizes)
    given = Conversion(lowering.load(rows, loops), _INT64)
    last = () if loops[-1] is None else ((loops[-1], lowering.sizes.fixed(1)),)
    own = Position(Index(last, lowering.sizes.fixed(1)))
    is_other = Conversion(Operation(ps.ne, (given, own), np.dtype("bool")), _INT64)
    value = Operation(ps.add, (own, is_other), _INT64)
    lowering.store(target, value, loops, nodes=(node,))
    return target
