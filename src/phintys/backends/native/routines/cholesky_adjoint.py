"""Gradients through Cholesky factors of stacks of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.control import loop
from phintys.backends.native.routines.lanes import LaneMatrix, Lanes
from phintys.backends.native.routines.small_factors import cholesky_adjoint
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.assembler.types import MachineType
    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array


class _CholeskyAdjoint(StackRoutine):
    """``x = phi(l^-T phi(l^T x) l^-1)`` for lower triangles; x is row-major.

    The sum of the argument of the outer phi and its transpose is what it takes. Options are the
    layout of l, under the names of a matrix a (``a_offset``, ``a_stride``, ``a_move``,
    ``a_transposed``).
    """

    nanoseconds = 0.1

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the gradients."""
        return call.outputs

    def item(self, code: MatrixCall) -> Callable[[Value], None]:
        """Multiply and solve with the transposes that the library sees."""
        options = code.call.options
        n = code.size(options["n"])
        matrix = code.item(code.call.inputs[0], options["a_move"], options["a_offset"])
        target = code.item(code.call.outputs[0], options["move"])
        is_turned = options["a_transposed"]
        triangle = code.letter("L" if is_turned else "U")
        plain, other = (code.letter(letter) for letter in ("NT" if is_turned else "TN"))
        left, right, unit = (code.letter(letter) for letter in "LRN")
        order, distance = code.integer(options["n"]), code.stride(options["a_stride"])
        width, one = code.stride(options["n"]), code.number(1)

        def write(index: Value) -> None:
            place, out = matrix(index), target(index)
            rest = [order, order, one, place, distance, out, width]
            code.blas("trmm", [right, triangle, plain, unit, *rest])
            _halve(code, out, n)
            code.blas("trsm", [right, triangle, plain, unit, *rest])
            code.blas("trsm", [left, triangle, other, unit, *rest])
            _fold(code, out, n)

        return write

    def has_lanes(self, type: MachineType) -> bool:
        """All calls are for real matrices."""
        return True

    def group(self, code: MatrixCall) -> Callable[[Lanes], None]:
        """Compute small gradients."""
        options = code.call.options
        (n,) = code.small("n")
        target = code.item(code.call.outputs[0], options["move"])
        read = code.reader()

        def write(lanes: Lanes) -> None:
            factor = LaneMatrix(lanes, n, n, is_turned=options["a_transposed"])
            x = LaneMatrix(lanes, n, n)
            outs = [target(position) for position in lanes.positions]
            read(lanes, factor)
            x.read(outs)
            cholesky_adjoint(lanes, factor, x)
            x.write(outs)

        return write


def _halve(code: MatrixCall, out: Value, n: Value) -> None:
    """Keep the lower triangle, with half of the diagonal."""
    b, type_ = code.b, code.type
    with loop(b, 0, n) as row:
        start = b.offset(out, row.index * n, type_)
        own = b.offset(start, row.index, type_)
        b.store(b.load(type_, own) * 0.5, own)
        with loop(b, row.index + 1, n) as column:
            b.store(b.constant(type_, 0.0), b.offset(start, column.index, type_))


def _fold(code: MatrixCall, out: Value, n: Value) -> None:
    """Add the upper triangle to the lower one."""
    b, type_ = code.b, code.type
    with loop(b, 0, n) as row, loop(b, row.index + 1, n) as column:
        upper = b.offset(out, row.index * n + column.index, type_)
        under = b.offset(out, column.index * n + row.index, type_)
        b.store(b.load(type_, under) + b.load(type_, upper), under)
        b.store(b.constant(type_, 0.0), upper)


CHOLESKY_ADJOINT = _CholeskyAdjoint("cholesky_adjoint")
