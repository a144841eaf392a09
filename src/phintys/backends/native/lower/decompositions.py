"""Lowering of decompositions of rectangular matrices to calls of LAPACK, one for each matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Literal, Operation, Position
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.linear_algebra import count_of, matrix_failure, turned
from phintys.backends.native.lower.lowering import Lowering
from phintys.backends.native.routines.decompositions import GEQRF, GESDD, ORGQR
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.linear_algebra.qr_op import QR
from phintys.tensor.linear_algebra.singular_values import SVD

if TYPE_CHECKING:
    from phintys.backends.native.lower.view import View
    from phintys.backends.native.sizes import Size

__all__: list[str] = []

_BLOCK = 64
"""Columns of a panel in LAPACK, at most: with room for as many it uses products of matrices."""


def _lengths(view: View, lowering: Lowering) -> dict[str, Size]:
    """Return the options of a call that are sizes."""
    sizes = lowering.sizes
    m, n = (sizes.canonical(size) for size in view.sizes[-2:])
    lengths = {"m": m, "n": n, "k": sizes.arithmetic("min", m, n), "move": sizes.mul(m, n)}
    return lengths | {"count": count_of(view.sizes[:-2], lowering)}


@lowers(SVD)
def lower_svd(op: SVD, node: Apply, lowering: Lowering) -> None:
    """A copy, which is overwritten."""
    if op.full_matrices:
        lowering.callback(node, "the columns beyond the singular values")
        return
    sizes = lowering.sizes
    a = lowering.view(node.inputs[0])
    lengths = _lengths(a, lowering)
    m, n, k = (lengths[name] for name in "mnk")
    lengths |= {"u_move": sizes.mul(m, k), "vh_move": sizes.mul(k, n)}
    copy = lowering.copied(a, node)
    targets = [
        lowering.compute(variable, [*a.sizes[:-2], *own])[0]
        for variable, own in zip(node.outputs, ([m, k], [k], [k, n]), strict=True)
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
    workspace = [room(dtype, 4, 7, _BLOCK), room("int32", 0, 8, 0)]
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


@lowers(QR)
def lower_qr(op: QR, node: Apply, lowering: Lowering) -> None:
    """A column-major copy, its reflections in its place, and then their product in theirs."""
    if op.full:
        lowering.callback(node, "columns beyond those of the matrix")
        return
    sizes = lowering.sizes
    a = lowering.view(node.inputs[0])
    lengths = _lengths(a, lowering)
    n, k = lengths["n"], lengths["k"]
    columns = lowering.copied(turned(a, lowering), node)
    dtype = a.array.dtype
    scales = lowering.array(dtype, (*a.sizes[:-2], k))
    room = sizes.add(sizes.mul(sizes.fixed(_BLOCK), n), sizes.fixed(1))
    workspace = (lowering.array(dtype, (room,)),)
    outputs = (columns.array, scales)
    lowering.steps.append(LibraryCall(GEQRF, (), outputs, lengths, node, workspace))
    packed = turned(columns, lowering)
    last, zero, one = packed.ndim - 1, sizes.fixed(0), sizes.fixed(1)
    target, loops = lowering.compute(node.outputs[1], [*a.sizes[:-2], k, n])
    value = lowering.load(packed.sliced(last - 1, zero, one, k, sizes), loops)
    if None not in loops[-2:]:
        row, column = (Position(index) for index in target.indices(loops)[-2:])
        is_above = Operation(ps.le, (row, column), np.dtype("bool"))
        value = Operation(ps.switch, (is_above, value, Literal(dtype.type(0), dtype)), dtype)
    lowering.store(target, value, loops, nodes=(node,))
    lowering.steps.append(LibraryCall(ORGQR, (scales,), (columns.array,), lengths, node, workspace))
    lowering.bind(node.outputs[0], packed.sliced(last, zero, one, k, sizes))
