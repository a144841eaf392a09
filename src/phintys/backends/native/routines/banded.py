"""Systems of equations with few diagonals, by LAPACK: one call for each matrix of a stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.types import INT64
from phintys.backends.native.limits import BAND_NANOSECONDS
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array


class _Gbsv(StackRoutine):
    """``x = a^-1 x`` for banded a; x is column-major, and a in the layout of LAPACK.

    Options are the numbers of diagonals (``below``, ``above``), the length of a column of the band
    (``rows``), ``k``, and flags: ``transposed``, ``nan``. The workspace is for exchanges.
    """

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the right sides, and the bands."""
        return call.outputs

    def narrow(self, call: LibraryCall[Any]) -> Mapping[str, Size]:
        """Return the lengths, and the numbers of diagonals."""
        own = {"below": "the diagonals below", "above": "those above", "rows": "the band's height"}
        return {**super().narrow(call), **{own[name]: call.lengths[name] for name in own}}

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return call.time(costs, BAND_NANOSECONDS, "count", "n", "rows")

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Factorize, and substitute if that is possible."""
        b, options = code.b, code.call.options
        right, bands = code.call.outputs
        n, k = code.size(options["n"]), code.size(options["k"])
        band_of = code.item(bands, options["move"])
        right_of = code.item(right, options["x_move"])
        names = ("n", "k", "below", "above")
        order, columns, below, above = (code.integer(options[name]) for name in names)
        height, stride = code.stride(options["rows"]), code.stride(options["n"])
        pivots = code.array(code.call.workspace[0])
        turn = code.letter("T" if options["transposed"] else "N")

        def write(index: Value) -> Value | None:
            band, out = band_of(index), right_of(index)
            factored = [order, order, below, above, band, height, pivots]
            status = code.lapack("gbtrf", factored)
            with when(b, b.eq(status, 0)):
                substituted = [turn, order, below, above, columns, band, height, pivots]
                code.lapack("gbtrs", [*substituted, out, stride])
            if not options["nan"]:
                return status
            with when(b, b.ne(status, 0)):
                code.fill_with_nan(out, n * k)
            return None

        return write


class _Gtsv(_Gbsv):
    """The same for three diagonals, in a single pass over the rows; the band is only read.

    The workspace is for the diagonals.
    """

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the right sides."""
        return call.outputs

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Copy the diagonals apart, and solve."""
        b, options = code.b, code.call.options
        (bands,), (right,) = code.call.inputs, code.call.outputs
        n, k, height = (code.size(options[name]) for name in ("n", "k", "rows"))
        band_of = code.item(bands, options["move"])
        right_of = code.item(right, options["x_move"])
        order, columns = code.integer(options["n"]), code.integer(options["k"])
        stride = code.stride(options["n"])
        under = code.array(code.call.workspace[0])
        main = b.offset(under, n, code.type)
        over = b.offset(main, n, code.type)

        def copy_apart(band: Value) -> None:
            """Row j of the band is a space, ``a[j - 1, j]``, ``a[j, j]`` and ``a[j + 1, j]``."""
            with loop(b, 0, n) as column:
                j = column.index
                # What is above the first column is overwritten by the main diagonal.
                for position, start, at in ((1, over, j - 1), (2, main, j), (3, under, j)):
                    element = b.offset(band, j * height + position, code.type)
                    value = load(b, code.type, element)
                    store(b, value, b.offset(start, at, code.type))

        def write(index: Value) -> Value | None:
            out = right_of(index)
            copy_apart(band_of(index))
            diagonals = [over, main, under] if options["transposed"] else [under, main, over]
            status = code.lapack("gtsv", [order, columns, *diagonals, out, stride])
            if not options["nan"]:
                return status
            with when(b, b.ne(status, 0)):
                code.fill_with_nan(out, n * k)
            return None

        return write


class _Gttrf(StackRoutine):
    """LU factors of three diagonals, which become those of the factors.

    The outputs are the lower, main and upper diagonal, the second one above the main one of U, and
    the exchanges. The option ``p`` is the length of all but the second and the last.
    """

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the diagonals."""
        return call.outputs[:3]

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return call.time(costs, BAND_NANOSECONDS, "count", "n")

    def item(self, code: MatrixCall) -> Callable[[Value], None]:
        """Factorize; zeros on the main diagonal are not a failure."""
        addresses = _diagonals(code, code.call.outputs)
        order = code.integer(code.call.options["n"])

        def write(index: Value) -> None:
            code.lapack("gttrf", [order, *(address(index) for address in addresses)])

        return write


class _Gttrs(_Gttrf):
    """``x = a^-1 x`` by such factors, which are the inputs; x is column-major."""

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the right sides."""
        return call.outputs

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return call.time(costs, BAND_NANOSECONDS, "count", "n", "k")

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Substitute if there is no zero on the main diagonal."""
        b, options = code.b, code.call.options
        addresses = _diagonals(code, code.call.inputs)
        right_of = code.item(code.call.outputs[0], options["x_move"])
        n, k = code.size(options["n"]), code.size(options["k"])
        order, columns = code.integer(options["n"]), code.integer(options["k"])
        stride = code.stride(options["n"])
        turn = code.letter("T" if options["transposed"] else "N")

        def write(index: Value) -> Value | None:
            diagonals, out = [address(index) for address in addresses], right_of(index)
            status = code.first_zero(diagonals[1], b.constant(INT64, 1), n)
            with when(b, b.eq(status, 0)):
                code.lapack("gttrs", [turn, order, columns, *diagonals, out, stride])
            if not options["nan"]:
                return status
            with when(b, b.ne(status, 0)):
                code.fill_with_nan(out, n * k)
            return None

        return write


def _diagonals(code: MatrixCall, arrays: Sequence[Array]) -> list[Callable[[Value], Value]]:
    """Return functions from the number of a matrix to the addresses of what its factors are."""
    names = ("p", "n", "p", "p", "n")
    return [
        code.item(array, code.call.options[name]) for array, name in zip(arrays, names, strict=True)
    ]


GBSV = _Gbsv("gbsv")
GTSV = _Gtsv("gtsv")
GTTRF = _Gttrf("gttrf")
GTTRS = _Gttrs("gttrs")
