"""Lowering of decompositions and solvers to calls of BLAS and LAPACK, one for each matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import (
    Conversion,
    Index,
    IndexCheck,
    Literal,
    Operation,
    Position,
)
from phintys.backends.native.failures import Failure, RoundedFailure
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.backends.native.lower.small_matrices import SmallMatrices, is_small
from phintys.backends.native.lower.view import MatrixView, View
from phintys.backends.native.routines.cholesky import CHOLESKY_ADJOINT, CHOLESKY_UPDATE
from phintys.backends.native.routines.matrices import EVD, GETRF, POTRF, POTRI, TRSM
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.values import Array
from phintys.graph.apply import Apply
from phintys.tensor.linear_algebra.cholesky import (
    Cholesky,
    CholeskyAdjoint,
    CholeskyInverse,
    CholeskyUpdate,
)
from phintys.tensor.linear_algebra.eigen import Eigh
from phintys.tensor.linear_algebra.lu import LUFactor, PermuteRows
from phintys.tensor.linear_algebra.triangular import SolveTriangular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size
    from phintys.tensor.linear_algebra.matrix_op import MatrixOp


class Operands(NamedTuple):
    """The inputs of a node of a :class:`MatrixOp`, with the sizes that its rule gives.

    Attributes
    ----------
    views
        The inputs, all with the leading axes of the result.
    core
        The sizes of the core dimensions, by name.
    leading
        Those of the leading axes.
    """

    views: list[View]
    core: dict[str, Size]
    leading: list[Size]

    @staticmethod
    def of(op: MatrixOp, node: Apply, lowering: Lowering) -> Operands:
        """Return the inputs of a node, after checks that they fit together."""
        shapes, sizes = NativeShapes(node, lowering), lowering.sizes
        core, leading = op.core_sizes(shapes), op.leading_sizes(shapes)
        views = [
            view.broadcast([*leading, *view.sizes[view.ndim - len(names) :]], sizes)
            for view, names in zip(shapes.views, op.dims()[0], strict=True)
        ]
        return Operands(views, {name: sizes.canonical(core[name]) for name in core}, leading)


def count_of(lengths: Sequence[Size], lowering: Lowering) -> Size:
    """Return the number of matrices in a stack."""
    count = lowering.sizes.fixed(1)
    for length in lengths:
        count = lowering.sizes.mul(count, length)
    return count


def matrix_failure(node: Apply, detail: str, is_nan: bool) -> Failure | None:
    """Return the failure of a call that has no result for a matrix, unless that is NaN then."""
    if is_nan:
        return None
    return RoundedFailure(node, "matrix", detail, np.linalg.LinAlgError)


def turned(view: View, lowering: Lowering) -> View:
    """Return the transposes of matrices."""
    last = view.ndim - 1
    return view.rearranged([*range(last - 1), last, last - 1], lowering.sizes)


def stacked(view: View, lowering: Lowering) -> tuple[MatrixView, Size]:
    """Return matrices as BLAS takes them, and the distance from one to the next."""
    sizes = lowering.sizes
    for again in (False, True):
        matrix = lowering.matrix(lowering.copied(view) if again else view)
        strides = matrix.strided.strides[:-2]
        moving = [axis for axis, stride in enumerate(strides) if stride is not None]
        if not moving:
            return matrix, sizes.fixed(0)
        first = strides[moving[-1]]
        expected = first
        for axis in reversed(range(len(strides))):
            if strides[axis] is not expected and view.sizes[axis].known != 1:
                break
            assert expected is not None
            expected = sizes.mul(expected, view.sizes[axis])
        else:
            assert first is not None
            return matrix, first
    matrix = lowering.matrix(lowering.copied(view))
    return matrix, sizes.mul(view.sizes[-1], view.sizes[-2])


@lowers(Cholesky)
def lower_cholesky(op: Cholesky, node: Apply, lowering: Lowering) -> None:
    """``out = tril(a)``, and then its factor in its place."""
    (a,), core, _ = Operands.of(op, node, lowering)
    n = core["n"]
    target, loops = lowering.compute(node.outputs[0], a.sizes)
    if is_small(n, a.array.dtype, a.sizes[:-2]):
        small = SmallMatrices(node, n, a.sizes[:-2], a.array.dtype, lowering)
        small.cholesky(a, target, is_nan=op.on_error == "nan")
        return
    is_nan = op.on_error == "nan"
    options = _lower_triangle(a, target, loops, node, lowering) | {"nan": is_nan}
    detail = "the leading minor of order {0} of matrix {1} is not positive"
    failure = matrix_failure(node, detail, is_nan)
    lowering.steps.append(LibraryCall(POTRF, (), (target.array,), options, node, failure=failure))


@lowers(CholeskyInverse)
def lower_cholesky_inverse(op: CholeskyInverse, node: Apply, lowering: Lowering) -> None:
    """``out = tril(factor)``, and then the inverse in its place."""
    (factor,), _, _ = Operands.of(op, node, lowering)
    target, loops = lowering.compute(node.outputs[0], factor.sizes)
    options = _lower_triangle(factor, target, loops, node, lowering) | {"nan": True}
    lowering.steps.append(LibraryCall(POTRI, (), (target.array,), options, node))


@lowers(CholeskyAdjoint)
def lower_cholesky_adjoint(op: CholeskyAdjoint, node: Apply, lowering: Lowering) -> None:
    """``out = tril(g)``, and then the gradient for the matrix in its place."""
    if lowering.view(node.inputs[0]).array.dtype.kind != "f":
        lowering.callback(node, "complex numbers")
        return
    (factor, g), _, _ = Operands.of(op, node, lowering)
    matrix, move = stacked(factor, lowering)
    target, loops = lowering.compute(node.outputs[0], g.sizes)
    options = _lower_triangle(g, target, loops, node, lowering)
    options |= {"a_move": move, **matrix.options("a")}
    arrays = (matrix.strided.array,), (target.array,)
    lowering.steps.append(LibraryCall(CHOLESKY_ADJOINT, *arrays, options, node))


def _lower_triangle(
    a: View, target: View, loops: Sequence[Any], node: Apply, lowering: Lowering
) -> dict[str, Any]:
    """Write ``target = tril(a)``, and return the options of a routine that works in it."""
    value = lowering.load(a, loops)
    if None not in loops[-2:]:
        row, column = (Position(index) for index in target.indices(loops)[-2:])
        is_below = Operation(ps.ge, (row, column), np.dtype("bool"))
        zero = Literal(a.array.dtype.type(0), a.array.dtype)
        value = Operation(ps.switch, (is_below, value, zero), a.array.dtype)
    lowering.store(target, value, loops, nodes=(node,))
    n = lowering.sizes.canonical(a.sizes[-1])
    count = count_of(a.sizes[:-2], lowering)
    return {"n": n, "count": count, "move": lowering.sizes.mul(n, n)}


@lowers(CholeskyUpdate)
def lower_cholesky_update(op: CholeskyUpdate, node: Apply, lowering: Lowering) -> None:
    """``out = tril(factor)`` and a copy of x, and then the updated factor in its place."""
    (factor, x), _, _ = Operands.of(op, node, lowering)
    vectors = lowering.copied(x, node)
    target, loops = lowering.compute(node.outputs[0], factor.sizes)
    is_nan = op.on_error == "nan"
    options = _lower_triangle(factor, target, loops, node, lowering)
    options |= {"nan": is_nan, "sign": op.sign}
    detail = "the leading minor of order {0} of matrix {1} is not positive after the update"
    failure = matrix_failure(node, detail, is_nan)
    outputs = (target.array, vectors.array)
    lowering.steps.append(LibraryCall(CHOLESKY_UPDATE, (), outputs, options, node, failure=failure))


@lowers(SolveTriangular)
def lower_solve_triangular(op: SolveTriangular, node: Apply, lowering: Lowering) -> None:
    """``out = b``, and then the solution in its place."""
    sizes = lowering.sizes
    (a, b), core, lengths = Operands.of(op, node, lowering)
    n, k = core["n"], core["k"]
    if is_small(n, a.array.dtype, lengths):
        _solve_small(op, node, n, a, b, lowering)
        return
    matrix, move = stacked(a, lowering)
    target, loops = lowering.compute(node.outputs[0], b.sizes)
    lowering.store(target, lowering.load(b, loops), loops, nodes=(node,))
    is_nan = op.on_error == "nan"
    options: dict[str, Any] = {
        "n": n,
        "k": k,
        "count": count_of(lengths, lowering),
        "x_move": sizes.mul(n, k),
        "a_move": move,
        **matrix.options("a"),
        "lower": op.lower,
        "unit": op.unit_diagonal,
        "nan": is_nan,
    }
    detail = "element {0} of the diagonal of matrix {1} is 0, counted from 1"
    lowering.steps.append(
        LibraryCall(
            TRSM,
            (matrix.strided.array,),
            (target.array,),
            options,
            node,
            failure=None if op.unit_diagonal else matrix_failure(node, detail, is_nan),
        )
    )


def _solve_small(
    op: SolveTriangular, node: Apply, n: Size, a: View, b: View, lowering: Lowering
) -> None:
    """Solve for all columns of all right sides."""
    sizes, last = lowering.sizes, b.ndim - 1
    target, _ = lowering.compute(node.outputs[0], b.sizes)
    lengths = [*b.sizes[:-2], b.sizes[-1]]
    every = a.rearranged([*range(last - 1), None, last - 1, last], sizes)
    every = every.broadcast([*lengths, *a.sizes[-2:]], sizes)
    SmallMatrices(node, n, lengths, b.array.dtype, lowering).solve_triangular(
        every,
        turned(b, lowering),
        turned(target, lowering),
        lower=op.lower,
        unit=op.unit_diagonal,
        is_nan=op.on_error == "nan",
    )


@lowers(LUFactor)
def lower_lu_factor(op: LUFactor, node: Apply, lowering: Lowering) -> None:
    """A column-major copy, and then its factors in its place."""
    (a,), core, _ = Operands.of(op, node, lowering)
    n = core["n"]
    if is_small(n, a.array.dtype, a.sizes[:-2]):
        lengths = [a.sizes, *([*a.sizes[:-2], n] for _ in range(2))]
        targets = [
            lowering.compute(variable, own)[0]
            for variable, own in zip(node.outputs, lengths, strict=True)
        ]
        SmallMatrices(node, n, a.sizes[:-2], a.array.dtype, lowering).lu_factor(a, targets)
        return
    columns = lowering.copied(turned(a, lowering), node)
    exchanges, rows = (
        lowering.compute(variable, [*a.sizes[:-2], n])[0] for variable in node.outputs[1:]
    )
    options = {
        "n": n,
        "count": count_of(a.sizes[:-2], lowering),
        "move": lowering.sizes.mul(n, n),
    }
    outputs = (columns.array, exchanges.array, rows.array)
    lowering.steps.append(LibraryCall(GETRF, (), outputs, options, node))
    lowering.bind(node.outputs[0], turned(columns, lowering))


@lowers(PermuteRows)
def lower_permute_rows(op: PermuteRows, node: Apply, lowering: Lowering) -> None:
    """``out[i, j] = x[rows[i], j]``"""
    sizes = lowering.sizes
    (rows, x), _, _ = Operands.of(op, node, lowering)
    target, loops = lowering.compute(node.outputs[0], x.sizes)
    position = lowering.load(rows, loops[:-1])
    if position.dtype != np.int64:
        position = Conversion(position, np.dtype("int64"))
    row = IndexCheck(position, x.sizes[-2], Failure(node, "index", "a position"))
    steps = [step.known for map_ in x.maps for axis, step in map_.terms if axis == x.ndim - 2]
    if any(step != 1 for step in steps):
        x = lowering.copied(x)
    places = [Index() if loop is None else Index(((loop, sizes.fixed(1)),)) for loop in loops]
    places[-2] = Index(dynamic=row)
    lowering.store(target, x.at(places, sizes), loops, nodes=(node,))


@lowers(Eigh)
def lower_eigh(op: Eigh, node: Apply, lowering: Lowering) -> None:
    """A column-major copy, and then its eigenvectors in its place."""
    sizes = lowering.sizes
    (a,), core, _ = Operands.of(op, node, lowering)
    n = core["n"]
    columns = lowering.copied(turned(a, lowering), node)
    values, _ = lowering.compute(node.outputs[0], [*a.sizes[:-2], n])

    def room(dtype: Any, constant: int, linear: int, quadratic: int) -> Array:
        length = sizes.add(sizes.fixed(constant), sizes.mul(sizes.fixed(linear), n))
        square = sizes.mul(sizes.fixed(quadratic), sizes.mul(n, n))
        return lowering.array(dtype, (sizes.add(length, square),))

    dtype = a.array.dtype
    if dtype.kind == "c":
        floats = (room(values.array.dtype, 1, 5, 2),)
        numbers = room(dtype, 1, 2, 1)
    else:
        floats, numbers = (), room(dtype, 1, 6, 2)
    is_nan = op.on_error == "nan"
    options = {
        "n": n,
        "count": count_of(a.sizes[:-2], lowering),
        "move": sizes.mul(n, n),
        "nan": is_nan,
    }
    workspace = (numbers, room("int32", 3, 5, 0), *floats)
    outputs = (columns.array, values.array)
    failure = matrix_failure(node, "no convergence (status {0}) for matrix {1}", is_nan)
    lowering.steps.append(LibraryCall(EVD, (), outputs, options, node, workspace, failure))
    lowering.bind(node.outputs[1], turned(columns, lowering))
