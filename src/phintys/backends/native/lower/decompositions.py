"""Lowering of decompositions of rectangular matrices to calls of LAPACK, one for each matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Literal, Operation, Position
from phintys.backends.native.limits import LAPACK_PANEL
from phintys.backends.native.lower.linear_algebra import count_of, matrix_failure, turned
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.backends.native.lower.view import View
from phintys.backends.native.routines.decompositions import GEQP3, GEQRF, GESDD, ORGQR
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.linear_algebra.qr import QR, PackedQR, PivotedQR
from phintys.tensor.linear_algebra.singular_values import SVD

if TYPE_CHECKING:
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array
    from phintys.graph.variable import Variable


def _lengths(view: View, lowering: Lowering) -> dict[str, Size]:
    """Return the options of a call that are sizes."""
    sizes = lowering.sizes
    m, n = (sizes.canonical(size) for size in view.sizes[-2:])
    lengths = {"m": m, "n": n, "k": sizes.arithmetic("min", m, n), "move": sizes.mul(m, n)}
    return lengths | {"count": count_of(view.sizes[:-2], lowering)}


@lowers(SVD)
def lower_svd(op: SVD, node: Apply, lowering: Lowering) -> None:
    """A copy, which is overwritten."""
    sizes = lowering.sizes
    a = lowering.view(node.inputs[0])
    lengths = _lengths(a, lowering)
    m, n, k = (lengths[name] for name in "mnk")
    left, right = (m, n) if op.full_matrices else (k, k)
    lengths |= {"u": left, "vh": right}
    lengths |= {"u_move": sizes.mul(m, left), "vh_move": sizes.mul(right, n)}
    copy = lowering.copied(a, node)
    targets = [
        lowering.compute(variable, [*a.sizes[:-2], *own])[0]
        for variable, own in zip(node.outputs, ([m, left], [k], [right, n]), strict=True)
    ]
    longest = sizes.add(m, n)

    def room(dtype: Any, quadratic: int, linear: int, long: int) -> Any:
        """Return ``quadratic k^2 + linear k + long (m + n) + 1`` numbers."""
        factors = [
            sizes.product([sizes.fixed(quadratic), k, k]),
            sizes.mul(sizes.fixed(linear), k),
            sizes.mul(sizes.fixed(long), longest),
        ]
        total = sizes.fixed(1)
        for factor in factors:
            total = sizes.add(total, factor)
        return lowering.array(dtype, (total,))

    dtype = a.array.dtype
    workspace = [room(dtype, 4, 7, LAPACK_PANEL), room("int32", 0, 8, 0)]
    if dtype.kind == "c":
        # 2 max(m, n) k + 2 k^2 + k numbers, and no fewer than 5 k^2 + 5 k
        own = sizes.mul(sizes.fixed(2), sizes.mul(longest, k))
        length = sizes.add(own, sizes.mul(sizes.fixed(5), sizes.add(sizes.mul(k, k), k)))
        length = sizes.add(length, sizes.fixed(1))
        workspace.append(lowering.array(targets[1].array.dtype, (length,)))
    is_nan = op.on_error == "nan"
    outputs = (copy.array, *(target.array for target in targets))
    failure = matrix_failure(node, "no convergence (status {0}) for matrix {1}", is_nan)
    options = lengths | {"nan": is_nan}
    lowering.steps.append(LibraryCall(GESDD, (), outputs, options, node, tuple(workspace), failure))


def _reflections(
    node: Apply, lowering: Lowering, *, is_full: bool = False, order: Variable | None = None
) -> tuple[View, Array, dict[str, Size]]:
    """Write a column-major copy of matrices and their reflections in its place.

    Returns
    -------
    tuple
        The copies, with room for as many columns as rows if Q is square; the scales of the
        reflections; and the sizes, among which ``columns`` is the number of those of Q.
    """
    sizes = lowering.sizes
    a = lowering.view(node.inputs[0])
    lengths = _lengths(a, lowering)
    m, n, k = (lengths[name] for name in "mnk")
    columns, width = _copied_by_columns(a, node, lowering, is_full=is_full)
    lengths |= {"columns": m if is_full else k, "move": sizes.mul(m, width)}
    dtype = a.array.dtype
    scales = lowering.array(dtype, (*a.sizes[:-2], k))
    twice, room = sizes.mul(sizes.fixed(2), n), sizes.mul(sizes.fixed(LAPACK_PANEL), width)
    if order is None:
        workspace = (lowering.array(dtype, (sizes.add(room, sizes.fixed(1)),)),)
        call = LibraryCall(GEQRF, (), (columns.array, scales), lengths, node, workspace)
    else:
        found, _ = lowering.compute(order, [*a.sizes[:-2], n])
        numbers = lowering.array(
            dtype, (sizes.add(sizes.add(room, twice), sizes.fixed(LAPACK_PANEL)),)
        )
        exchanges = lowering.array("int32", (n,))
        floats = (lowering.array(dtype.type(0).real.dtype, (twice,)),) if dtype.kind == "c" else ()
        outputs = (columns.array, scales, found.array)
        workspace = (numbers, exchanges, *floats)
        call = LibraryCall(GEQP3, (), outputs, lengths, node, workspace)
    lowering.steps.append(call)
    return columns, scales, lengths


def _copied_by_columns(
    a: View, node: Apply, lowering: Lowering, *, is_full: bool
) -> tuple[View, Size]:
    """Return a column-major copy, and how many columns there is room for."""
    sizes = lowering.sizes
    rows, columns = (sizes.canonical(size) for size in a.sizes[-2:])
    if not is_full:
        return lowering.copied(turned(a, lowering), node), columns
    width = sizes.arithmetic("max", rows, columns)
    whole = View.of(lowering.array(a.array.dtype, (*a.sizes[:-2], width, rows)), sizes)
    place = whole.sliced(whole.ndim - 2, sizes.fixed(0), sizes.fixed(1), columns, sizes)
    loops = lowering.loops(place.sizes)
    lowering.store(place, lowering.load(turned(a, lowering), loops), loops, nodes=(node,))
    return whole, width


def _bind_factors(
    node: Apply,
    lowering: Lowering,
    columns: View,
    scales: Array,
    lengths: dict[str, Size],
) -> None:
    """Copy the triangle above the reflections, and multiply these in their place."""
    sizes = lowering.sizes
    n, rows = lengths["n"], lengths["columns"]
    packed = turned(columns, lowering)
    dtype = packed.array.dtype
    last, zero, one = packed.ndim - 1, sizes.fixed(0), sizes.fixed(1)
    above = packed.sliced(last - 1, zero, one, rows, sizes).sliced(last, zero, one, n, sizes)
    target, loops = lowering.compute(node.outputs[1], above.sizes)
    value = lowering.load(above, loops)
    if loops[-2] is not None:  # otherwise there is a single row
        row, column = (Position(index) for index in target.indices(loops)[-2:])
        is_above = Operation(ps.le, (row, column), np.dtype("bool"))
        value = Operation(ps.switch, (is_above, value, Literal(dtype.type(0), dtype)), dtype)
    lowering.store(target, value, loops, nodes=(node,))
    room = sizes.add(sizes.mul(sizes.fixed(LAPACK_PANEL), columns.sizes[-2]), one)
    workspace = (lowering.array(dtype, (room,)),)
    lowering.steps.append(LibraryCall(ORGQR, (scales,), (columns.array,), lengths, node, workspace))
    lowering.bind(node.outputs[0], packed.sliced(last, zero, one, rows, sizes))


@lowers(QR)
def lower_qr(op: QR, node: Apply, lowering: Lowering) -> None:
    """Reflections, the triangle above them, and their product in their place."""
    _bind_factors(node, lowering, *_reflections(node, lowering, is_full=op.full))


@lowers(PivotedQR)
def lower_pivoted_qr(op: PivotedQR, node: Apply, lowering: Lowering) -> None:
    """The same, for columns whose order LAPACK chooses."""
    found = _reflections(node, lowering, is_full=op.full, order=node.outputs[2])
    _bind_factors(node, lowering, *found)


@lowers(PackedQR)
def lower_packed_qr(op: PackedQR, node: Apply, lowering: Lowering) -> None:
    """The reflections and their scales, as they are."""
    sizes, order = lowering.sizes, node.outputs[2]
    if not op.pivoting:
        a = lowering.view(node.inputs[0])
        target, loops = lowering.compute(order, [*a.sizes[:-2], a.sizes[-1]])
        position = target.indices(loops)[-1]
        lowering.store(target, Position(position), loops, nodes=(node,))
    columns, scales, _ = _reflections(node, lowering, order=order if op.pivoting else None)
    lowering.bind(node.outputs[0], turned(columns, lowering))
    lowering.bind(node.outputs[1], View.of(scales, sizes))
