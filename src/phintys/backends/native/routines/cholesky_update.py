"""Cholesky factors after an update of rank one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.types import INT64
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.costs import Costs
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array


class _CholeskyUpdate(StackRoutine):
    """``l l^T + s x x^T`` for lower triangles l, which are row-major; x is overwritten.

    The option ``sign`` is s, 1 or -1.
    """

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the factors and the vectors."""
        return call.outputs

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        factors = [call.options["count"], call.options["n"], call.options["n"]]
        return costs.scaled(costs.ring.product(factors), 1.0)

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
