"""Functions of BLAS and LAPACK for stacks of matrices: one call for each matrix.

Both libraries are column-major. A matrix that is column-major in memory is passed as it is; a
row-major one is passed as its transpose, whose triangles are exchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.control import either, leaving, loop, when
from phintys.backends.native.assembler.types import INT32, INT64, VOID, MachineType, type_of
from phintys.backends.native.limits import TILED_FACTOR_ROWS
from phintys.backends.native.routines.blocked_factors import (
    BLOCKED,
    blocked_factor_symbol,
    blocked_inverse_symbol,
    most_unblocked,
)
from phintys.backends.native.routines.lanes import LaneMatrix, Lanes
from phintys.backends.native.routines.ranges import OneIteration
from phintys.backends.native.routines.small_factors import (
    cholesky_factor,
    lu_factors,
    lu_symbol,
    nan_where,
    solve_triangle,
    triangle_symbol,
)
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine
from phintys.backends.native.routines.tiled_factors import factor_symbol, inverse_symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.steps.call import CallExplainer, LibraryCall
    from phintys.backends.native.values import Array


def _shared(code: MatrixCall, ranges: OneIteration, symbol: str, place: Value, n: Value) -> Value:
    """Write the call of an outlined function for a large matrix, and return its status."""
    b = code.b
    block = b.slot(INT64, BLOCKED.size // 8)
    BLOCKED.store(b, block, "place", place)
    BLOCKED.store(b, block, "n", n)
    b.module.math_functions.add(symbol)
    ranges.share(symbol, [block])
    return BLOCKED.load(b, block, "status")


class _Potrf(StackRoutine):
    """``a = l l^H``: the lower triangle of the output becomes l; the other one is not read."""

    function: ClassVar[str] = "potrf"
    nanoseconds = 0.015

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the matrices."""
        return call.outputs

    def line(self, call: LibraryCall[Any], explainer: CallExplainer) -> str:
        """Return which matrices are computed by code of our own."""
        line = super().line(call, explainer)
        if call.outputs[0].dtype.kind != "f" or line.endswith("in lanes"):
            return line
        is_alone = call.options["count"].known == 1
        most = most_unblocked(explainer.target) if is_alone else TILED_FACTOR_ROWS
        known = call.options["n"].known
        if known is None or known <= most:
            line = f"{line}, in tiles up to {most} rows"
        if is_alone and (known is None or known > most):
            line = f"{line}, in blocks from {most + 1} rows"
        return line

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Factorize the transpose, which is the conjugate, from its upper triangle."""
        b, options = code.b, code.call.options
        n = code.size(options["n"])
        address = code.item(code.call.outputs[0], options["move"])

        def by_lapack(place: Value) -> Value:
            order, stride = code.integer(options["n"]), code.stride(options["n"])
            return code.lapack(self.function, [code.letter("U"), order, place, stride])

        def write(index: Value) -> Value | None:
            place = address(index)
            status = self.factored(code, place, n, by_lapack)
            if not options["nan"]:
                return status
            with when(b, b.ne(status, 0)):
                code.fill_with_nan(place, n * n)
            return None

        return write

    def _write_alone(self, code: MatrixCall) -> None:
        """Write the calls; threads share the work of one large matrix."""
        n, ranges, b = code.call.options["n"], code.ranges, code.b
        most = most_unblocked(b.target)
        is_large = n.known is None or n.known > most
        if code.type.kind != "f" or not isinstance(ranges, OneIteration) or not is_large:
            super()._write_alone(code)
            return
        for size in code.call.sizes():  # what is computed in a branch is not known after it
            code.size(size)
        code.array(code.call.outputs[0])
        after = b.new_block("after")
        with leaving(b, code.size(n) > most, after):
            self._write_blocked(code, ranges)
        super()._write_alone(code)
        b.jump(after)
        b.begin(after)

    def _write_blocked(self, code: MatrixCall, ranges: OneIteration) -> None:
        b, options = code.b, code.call.options
        place, n = code.array(code.call.outputs[0]), code.size(options["n"])
        status = self.blocked(code, ranges, place, n)
        if options["nan"]:
            with when(b, b.ne(status, 0)):
                code.fill_with_nan(place, n * n)
        else:
            code.report(status, b.constant(INT64, 0))

    def blocked(self, code: MatrixCall, ranges: OneIteration, place: Value, n: Value) -> Value:
        """Write the call of code of our own that threads share, and return its status."""
        return _shared(code, ranges, blocked_factor_symbol(code.type), place, n)

    def factored(
        self, code: MatrixCall, place: Value, n: Value, by_lapack: Callable[[Value], Value]
    ) -> Value:
        """Write the call for one matrix, and return its status: by LAPACK if it is large."""
        b, known = code.b, code.call.options["n"].known
        if code.type.kind != "f" or (known or 0) > TILED_FACTOR_ROWS:
            return by_lapack(place)
        if known is not None:
            return self.tiled(code, place, n)
        found = b.slot(INT64)
        with either(b, b.le(n, TILED_FACTOR_ROWS)) as (if_medium, if_large):
            with if_medium:
                b.store(self.tiled(code, place, n), found)
            with if_large:
                b.store(by_lapack(place), found)
        return b.load(INT64, found)

    def tiled(self, code: MatrixCall, place: Value, n: Value) -> Value:
        """Write the call of code of our own, and return its status."""
        symbol = factor_symbol(code.type)
        code.b.module.math_functions.add(symbol)
        return code.b.call(symbol, INT64, [place, n])

    def has_lanes(self, type: MachineType) -> bool:
        """Real matrices are factorized in lanes."""
        return type.kind == "f"

    def group(self, code: MatrixCall) -> Callable[[Lanes], Value | None]:
        """Factorize small matrices."""
        options = code.call.options
        (n,) = code.small("n")
        address = code.item(code.call.outputs[0], options["move"])

        def write(lanes: Lanes) -> Value | None:
            a = LaneMatrix(lanes, n, n)
            places = [address(position) for position in lanes.positions]
            a.read(places)
            statuses = cholesky_factor(lanes, a)
            if options["nan"]:
                nan_where(lanes, statuses, a)
            a.write(places)
            return None if options["nan"] else statuses

        return write


class _Potri(_Potrf):
    """The inverse of ``l l^H``: the lower triangle of the output was l; the other one is not read.

    It is NaN for a factor with a zero on its diagonal.
    """

    function = "potri"
    nanoseconds = 0.03

    def tiled(self, code: MatrixCall, place: Value, n: Value) -> Value:
        """Invert, unless there is a zero on the diagonal."""
        b = code.b
        status = code.first_zero(place, n + 1, n)
        symbol = inverse_symbol(code.type)
        b.module.math_functions.add(symbol)
        with when(b, b.eq(status, 0)):
            b.call(symbol, VOID, [place, n])
        return status

    def blocked(self, code: MatrixCall, ranges: OneIteration, place: Value, n: Value) -> Value:
        """Invert, unless there is a zero on the diagonal."""
        b = code.b
        status = code.first_zero(place, n + 1, n)
        with when(b, b.eq(status, 0)):
            _shared(code, ranges, blocked_inverse_symbol(code.type), place, n)
        return status

    def has_lanes(self, type: MachineType) -> bool:
        """There is no such code."""
        return False


class _Trsm(StackRoutine):
    """``x = a^-1 x`` for triangular a; x is row-major.

    Options are ``k``, the number of columns of x, the layout of a (``a_offset``, ``a_stride``,
    ``a_move``, ``a_transposed``), and flags: ``lower``, ``unit``, ``nan``.
    """

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the right sides."""
        return call.outputs

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Solve ``x' a' = b'`` with the transposes that the library sees."""
        b, options = code.b, code.call.options
        (a,), (x,) = code.call.inputs, code.call.outputs
        is_turned, is_unit = options["a_transposed"], options["unit"]
        n, k = code.size(options["n"]), code.size(options["k"])
        matrix = code.item(a, options["a_move"], options["a_offset"])
        right = code.item(x, options["x_move"])
        stride = b.maximum_number(code.size(options["a_stride"]), 1)
        # The library sees the transpose of a row-major matrix.
        triangle = code.letter("L" if options["lower"] is is_turned else "U")
        unit = code.letter("U" if is_unit else "N")
        order, columns = code.integer(options["n"]), code.integer(options["k"])
        distance, width = code.stride(options["a_stride"]), code.stride(options["k"])
        is_vector = options["k"].known == 1
        side, turn = code.letter("R"), code.letter("T" if is_turned is not is_vector else "N")
        one, step = code.number(1), code.letter("N") if not is_vector else columns

        def write(index: Value) -> Value | None:
            place, out = matrix(index), right(index)
            status = None if is_unit else code.first_zero(place, stride + 1, n)
            if is_vector:
                code.blas("trsv", [triangle, turn, unit, order, place, distance, out, step])
            else:
                arguments = [side, triangle, turn, unit, columns, order, one]
                code.blas("trsm", [*arguments, place, distance, out, width])
            return None if status is None else self._reported(code, status, out, n * k)

        return write

    def repeated(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Solve a small system."""
        b, options = code.b, code.call.options
        (a,), (x,) = code.call.inputs, code.call.outputs
        n, k = code.size(options["n"]), code.size(options["k"])
        place = code.item(a, options["a_move"], options["a_offset"])
        right = code.item(x, options["x_move"])
        steps = [code.size(options["a_stride"]), b.constant(INT64, 1)]
        if options["a_transposed"]:
            steps.reverse()
        flags = [b.constant(INT64, int(options[name])) for name in ("lower", "unit")]
        symbol = triangle_symbol(code.type)

        def write(index: Value) -> Value | None:
            b.module.math_functions.add(symbol)
            out = right(index)
            status = b.call(symbol, INT64, [n, k, place(index), *steps, out, *flags])
            return None if options["unit"] else self._reported(code, status, out, n * k)

        return write

    def _reported(self, code: MatrixCall, status: Value, out: Value, count: Value) -> Value | None:
        """Return a status, unless the solution becomes NaN instead."""
        if not code.call.options["nan"]:
            return status
        with when(code.b, code.b.ne(status, 0)):
            code.fill_with_nan(out, count)
        return None

    def has_lanes(self, type: MachineType) -> bool:
        """Real systems are solved in lanes."""
        return type.kind == "f"

    def group(self, code: MatrixCall) -> Callable[[Lanes], Value | None]:
        """Solve small systems."""
        options = code.call.options
        n, k = code.small("n", "k")
        right = code.item(code.call.outputs[0], options["x_move"])
        read = code.reader()

        def write(lanes: Lanes) -> Value | None:
            a = LaneMatrix(lanes, n, n, is_turned=options["a_transposed"])
            x = LaneMatrix(lanes, n, k)
            outs = [right(position) for position in lanes.positions]
            read(lanes, a)
            x.read(outs)
            statuses = solve_triangle(lanes, a, x, lower=options["lower"], unit=options["unit"])
            if options["nan"] and statuses is not None:
                nan_where(lanes, statuses, x)
                statuses = None
            x.write(outs)
            return statuses

        return write


class _Getrf(StackRoutine):
    """``a[p] = l u`` of matrices that are column-major; the exchanges count from 0."""

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the matrices."""
        return call.outputs[:1]

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Factorize, and make the permutation of the exchanges."""
        b, options = code.b, code.call.options
        matrices, exchanges, rows = code.call.outputs
        n = code.size(options["n"])
        places = code.item(matrices, options["move"])
        pivots, orders = (code.item(array, options["n"]) for array in (exchanges, rows))
        order, stride = code.integer(options["n"]), code.stride(options["n"])

        def write(index: Value) -> Value | None:
            pivot, numbers = pivots(index), orders(index)
            code.lapack("getrf", [order, order, places(index), stride, pivot])
            with loop(b, 0, n) as single:
                b.store(single.index, b.offset(numbers, single.index, INT64))
            with loop(b, 0, n) as single:
                place = b.offset(pivot, single.index, INT32)
                other = b.load(INT32, place) - 1
                b.store(other, place)
                here = b.offset(numbers, single.index, INT64)
                there = b.offset(numbers, b.convert(other, INT64), INT64)
                mine, its = b.load(INT64, here), b.load(INT64, there)
                b.store(its, here)
                b.store(mine, there)
            return None

        return write

    def repeated(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Factorize a small matrix."""
        b, options = code.b, code.call.options
        n = code.size(options["n"])
        places = [code.array(array) for array in code.call.outputs]
        symbol = lu_symbol(code.type)

        def write(index: Value) -> None:
            b.module.math_functions.add(symbol)
            b.call(symbol, VOID, [n, *places])

        return write

    def has_lanes(self, type: MachineType) -> bool:
        """Real matrices are factorized in lanes."""
        return type.kind == "f"

    def group(self, code: MatrixCall) -> Callable[[Lanes], Value | None]:
        """Factorize small matrices."""
        options = code.call.options
        (n,) = code.small("n")
        matrices, exchanges, rows = code.call.outputs
        place_of = code.item(matrices, options["move"])
        pivots_of, orders_of = (code.item(array, options["n"]) for array in (exchanges, rows))

        def write(lanes: Lanes) -> None:
            a = LaneMatrix(lanes, n, n, is_turned=True)
            pivots, order = (LaneMatrix(lanes, 1, n, type=lanes.integers) for _ in range(2))
            places = [place_of(position) for position in lanes.positions]
            a.read(places)
            lu_factors(lanes, a, pivots.row(0), order.row(0))
            a.write(places)
            pivots.write_integers([pivots_of(p) for p in lanes.positions], INT32)
            order.write_integers([orders_of(p) for p in lanes.positions], INT64)

        return write


class _Evd(StackRoutine):
    """``a = v diag(w) v^H`` of column-major matrices, from their lower triangle: a becomes v.

    The workspaces are one of the dtype, one of integers, and for complex matrices one of floats.
    """

    nanoseconds = 1.0

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the matrices."""
        return call.outputs[:1]

    def narrow(self, call: LibraryCall[Any]) -> Mapping[str, Size]:
        """Return the size of a matrix, and those of the workspaces."""
        rooms = {
            f"the length of workspace {at}": array.sizes[0]
            for at, array in enumerate(call.workspace)
        }
        return {**super().narrow(call), **rooms}

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Decompose, with eigenvectors."""
        b, options = code.b, code.call.options
        matrices, values = code.call.outputs
        n = code.size(options["n"])
        place_of, values_of = code.item(matrices, options["move"]), code.item(values, options["n"])
        job, lower = code.letter("V"), code.letter("L")
        order, stride = code.integer(options["n"]), code.stride(options["n"])
        numbers, integers, *floats = code.call.workspace
        rooms: list[Value] = []
        for array in (numbers, *floats, integers):
            rooms += [code.array(array), code.integer(array.sizes[0])]
        name = "heevd" if floats else "syevd"

        def write(index: Value) -> Value | None:
            place, found = place_of(index), values_of(index)
            status = code.lapack(name, [job, lower, order, place, stride, found, *rooms])
            if not options["nan"]:
                return status
            with when(b, b.ne(status, 0)):
                code.fill_with_nan(place, n * n)
                code.fill_with_nan(found, n, type_of(values.dtype))
            return None

        return write


EVD = _Evd("evd")
POTRF = _Potrf("potrf")
POTRI = _Potri("potri")
TRSM = _Trsm("trsm")
GETRF = _Getrf("getrf")
