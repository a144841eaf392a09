"""Cholesky factors after an update of rank one, and gradients through factors of stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.types import INT64, MachineType
from phintys.backends.native.routines.lanes import LaneMatrix, Lanes
from phintys.backends.native.routines.small_factors import cholesky_adjoint
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array


# ---- updates of rank one -------------------------------------------------------------------------


class _CholeskyUpdate(StackRoutine):
    """``l l^T + s x x^T`` for lower triangles l, which are row-major; x is overwritten.

    The option ``sign`` is s, 1 or -1.
    """

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the factors and the vectors."""
        return call.outputs

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return call.time(costs, 1.0, "count", "n", "n")

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Rotate the vector into one column after the other."""
        b, options, type_ = code.b, code.call.options, code.type
        factors, vectors = code.call.outputs
        n = code.size(options["n"])
        factor_of, vector_of = code.item(factors, options["move"]), code.item(vectors, options["n"])
        sign = float(options["sign"])

        def write(index: Value) -> Value | None:
            factor, vector = factor_of(index), vector_of(index)
            status = b.slot(INT64)
            b.store(b.constant(INT64, 0), status)
            with loop(b, 0, n) as column:
                k = column.index
                own = b.offset(factor, k * (n + 1), type_)
                pivot, x = b.load(type_, own), b.load(type_, b.offset(vector, k, type_))
                square = b.madd(x * sign, x, pivot * pivot)
                with when(b, b.le(square, 0.0) & b.eq(b.load(INT64, status), 0)):
                    b.store(k + 1, status)
                root = b.intrinsic("sqrt", square)
                cosine, sine = root / pivot, x / pivot
                inverse = pivot / root
                b.store(root, own)
                with loop(b, k + 1, n) as row:
                    place = b.offset(factor, row.index * n + k, type_)
                    other = b.offset(vector, row.index, type_)
                    element = b.load(type_, other)
                    below = b.madd(sine * sign, element, b.load(type_, place)) * inverse
                    b.store(below, place)
                    b.store(b.madd(-sine, below, cosine * element), other)
            if not options["nan"]:
                return b.load(INT64, status)
            with when(b, b.ne(b.load(INT64, status), 0)):
                code.fill_with_nan(factor, n * n)
            return None

        return write


CHOLESKY_UPDATE = _CholeskyUpdate("cholesky_update")


# ---- gradients -----------------------------------------------------------------------------------


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
