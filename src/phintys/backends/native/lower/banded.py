"""Lowering of systems with few diagonals to calls of LAPACK, one for each matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Conversion, Index, Literal, Operation, Position
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.linear_algebra import (
    batch_of,
    count_of,
    matrix_failure,
    turned,
)
from phintys.backends.native.lower.lowering import Lowering
from phintys.backends.native.lower.view import View
from phintys.backends.native.routines.banded import GBSV, GTSV, GTTRF, GTTRS
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.linear_algebra.banded import SolveBanded
from phintys.tensor.linear_algebra.tridiagonal import SolveTridiagonalLU, TridiagonalLU

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array

_INT64 = np.dtype("int64")


@lowers(SolveBanded)
def lower_solve_banded(op: SolveBanded, node: Apply, lowering: Lowering) -> None:
    """Copies of the bands and of b, and then factors and solutions in their place."""
    sizes = lowering.sizes
    bands, b = (lowering.view(variable) for variable in node.inputs)
    n, rows = bands.sizes[-2:]
    failure = Failure(node, "rows", "{0} columns of the matrix and {1} of the right side")
    lowering.require_equal(n, b.sizes[-2], failure)
    height = sizes.fixed(2 * op.below + op.above + 1)
    failure = Failure(node, "bands", "{0} elements for each column; expected {1}")
    lowering.require_equal(rows, height, failure)
    lengths = batch_of((bands, b), (2, 2), node, lowering)
    k = b.sizes[-1]
    bands = bands.broadcast([*lengths, n, rows], sizes)
    columns = lowering.copied(turned(b.broadcast([*lengths, n, k], sizes), lowering), node)
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


def _require_diagonals(
    main: View, others: Sequence[View], node: Apply, lowering: Lowering
) -> dict[str, Size]:
    """Return the lengths of diagonals, which are checked: one less than the main one."""
    sizes = lowering.sizes
    n = sizes.canonical(main.sizes[-1])
    fewer = sizes.at_least_zero(sizes.sub(n, sizes.fixed(1)))
    failure = Failure(node, "rows", "{0} elements of a diagonal beside the main one; expected {1}")
    for other in others:
        lowering.require_equal(other.sizes[-1], fewer, failure)
    return {"n": n, "p": sizes.canonical(fewer)}


@lowers(TridiagonalLU)
def lower_tridiagonal_lu(op: TridiagonalLU, node: Apply, lowering: Lowering) -> None:
    """Copies of the diagonals, and then the factors in their place."""
    given = [lowering.view(variable) for variable in node.inputs]
    options = _require_diagonals(given[1], (given[0], given[2]), node, lowering)
    lengths = batch_of(given, (1, 1, 1), node, lowering)
    shapes = [[*lengths, options[name]] for name in ("p", "n", "p", "p", "n")]
    targets: list[Array] = []
    for variable, shape in zip(node.outputs, shapes, strict=True):
        target, loops = lowering.compute(variable, shape)
        at = len(targets)
        if at < 3:
            shown = given[at].broadcast(shape, lowering.sizes)
            lowering.store(target, lowering.load(shown, loops), loops, nodes=(node,))
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
    *factors, b = (lowering.view(variable) for variable in node.inputs)
    options: dict[str, Any] = {}
    options |= _require_diagonals(factors[1], (factors[0], *factors[2:4]), node, lowering)
    n, k = options["n"], sizes.canonical(b.sizes[-1])
    failure = Failure(node, "rows", "{0} rows of the matrix and {1} of the right side")
    for length in (factors[4].sizes[-1], b.sizes[-2]):
        lowering.require_equal(n, length, failure)
    lengths = batch_of((*factors, b), (1, 1, 1, 1, 1, 2), node, lowering)
    arrays = [
        lowering.contiguous(view.broadcast([*lengths, view.sizes[-1]], sizes), node).array
        for view in factors[:4]
    ]
    rows = _exchanges(factors[4].broadcast([*lengths, n], sizes), node, lowering)
    columns = lowering.copied(turned(b.broadcast([*lengths, n, k], sizes), lowering), node)
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
