"""Decompositions of stacks of rectangular matrices by LAPACK, and eigenvalues of square ones.

The options ``m`` and ``n`` are the sizes of a matrix, and ``k`` is the smaller one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.types import INT32, INT64, type_of
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array


_NOT_FINITE = -4
"""The status that LAPACK has for a matrix with NaN, after words on the standard output."""


class _Rectangular(StackRoutine):
    """A decomposition, which overwrites the first output."""

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the matrices."""
        return call.outputs[:1]

    def narrow(self, call: LibraryCall[Any]) -> Mapping[str, Size]:
        """Return the sizes of a matrix, and those of the workspaces."""
        rooms = {
            f"the length of workspace {at}": array.sizes[0]
            for at, array in enumerate(call.workspace)
        }
        return {name: call.lengths[name] for name in ("m", "n", "k")} | rooms

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return call.time(costs, self.nanoseconds, "count", "m", "n", "k")


class _Gesdd(_Rectangular):
    """``a = u diag(s) vh`` of row-major matrices; the outputs are a, u, s and vh.

    The library sees the transpose, whose decomposition is that of a, with u and vh exchanged. The
    options ``u`` and ``vh`` are the numbers of columns of u and of rows of vh: k, or m and n. The
    workspaces are one of the dtype, one of integers, and for complex matrices one of floats.
    """

    nanoseconds = 1.0

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Decompose; numbers that are not finite count as no convergence."""
        b, call, options = code.b, code.call, code.call.options
        values_dtype = call.outputs[2].dtype
        m, n, k = (code.size(options[name]) for name in "mnk")
        is_full = options["u"] is not options["k"] or options["vh"] is not options["k"]
        of_left, of_right = (code.size(options[name]) for name in ("u", "vh"))
        moves = (options["move"], options["u_move"], options["k"], options["vh_move"])
        addresses = [
            code.item(array, move) for array, move in zip(call.outputs, moves, strict=True)
        ]
        job = code.letter("A" if is_full else "S")
        rows, columns = code.integer(options["n"]), code.integer(options["m"])
        wide, narrow = code.stride(options["n"]), code.stride(options["u"])
        numbers, integers, *floats = call.workspace
        rooms = [code.array(numbers), code.integer(numbers.sizes[0])]
        rooms += [code.array(array) for array in (*floats, integers)]

        def write(index: Value) -> Value | None:
            place, left, values, right = (address(index) for address in addresses)
            arguments = [job, rows, columns, place, wide, values, right, wide, left, narrow]
            kept = b.slot(INT64)
            b.store(b.constant(INT64, _NOT_FINITE), kept)
            with when(b, code.are_finite(place, m * n)):
                b.store(code.lapack("gesdd", [*arguments, *rooms]), kept)
            status = b.load(INT64, kept)
            if is_full:
                with when(b, b.eq(k, 0)):  # LAPACK leaves the vectors of nothing as they are
                    code.fill_with_identity(left, m)
                    code.fill_with_identity(right, n)
            if not options["nan"]:
                return b.maximum_number(status, -status)
            with when(b, b.ne(status, 0)):
                code.fill_with_nan(left, m * of_left)
                code.fill_with_nan(values, k, type_of(values_dtype))
                code.fill_with_nan(right, of_right * n)
            return None

        return write


class _Geqrf(_Rectangular):
    """``a = q r`` of column-major matrices, which become r, and reflections below its diagonal.

    The second output are the scales of the reflections.
    """

    nanoseconds = 0.2

    def item(self, code: MatrixCall) -> Callable[[Value], None]:
        """Factorize."""
        options, (room,) = code.call.options, code.call.workspace
        matrices, scales = code.call.outputs
        place, scale = code.item(matrices, options["move"]), code.item(scales, options["k"])
        rows, columns = code.integer(options["m"]), code.integer(options["n"])
        stride = code.stride(options["m"])
        work, length = code.array(room), code.integer(room.sizes[0])

        def write(index: Value) -> None:
            arguments = [rows, columns, place(index), stride, scale(index)]
            code.lapack("geqrf", [*arguments, work, length])

        return write


class _Geqp3(_Rectangular):
    """The same for columns in an order of its choice, which is the third output.

    The workspaces are one of the dtype, one of integers, and for complex matrices one of floats.
    """

    nanoseconds = 0.4

    def item(self, code: MatrixCall) -> Callable[[Value], None]:
        """Factorize, and count the columns from 0."""
        b, options = code.b, code.call.options
        numbers, exchanges, *floats = code.call.workspace
        matrices, scales, orders = code.call.outputs
        place, scale = code.item(matrices, options["move"]), code.item(scales, options["k"])
        order = code.item(orders, options["n"])
        rows, columns = code.integer(options["m"]), code.integer(options["n"])
        stride = code.stride(options["m"])
        n, k, pivots = code.size(options["n"]), code.size(options["k"]), code.array(exchanges)
        rooms = [code.array(numbers), code.integer(numbers.sizes[0])]
        rooms += [code.array(array) for array in floats]

        def write(index: Value) -> None:
            with loop(b, 0, n) as free:
                b.store(b.constant(INT32, 0), b.offset(pivots, free.index, INT32))
            code.lapack(
                "geqp3", [rows, columns, place(index), stride, pivots, scale(index), *rooms]
            )
            found = order(index)
            with loop(b, 0, n) as each:
                column = b.convert(b.load(INT32, b.offset(pivots, each.index, INT32)), INT64)
                # Matrices without rows are not looked at.
                chosen = b.select(b.eq(k, 0), each.index, column - 1)
                b.store(chosen, b.offset(found, each.index, INT64))

        return write


class _Orgqr(_Rectangular):
    """The first columns of q in the place of the reflections; the input is their scales.

    The option ``columns`` is how many: k, or m. What is beyond the reflections is not read.
    """

    nanoseconds = 0.2

    def item(self, code: MatrixCall) -> Callable[[Value], None]:
        """Multiply the reflections."""
        options, (room,) = code.call.options, code.call.workspace
        (scales,), (matrices,) = code.call.inputs, code.call.outputs
        place, scale = code.item(matrices, options["move"]), code.item(scales, options["k"])
        rows, columns = code.integer(options["m"]), code.integer(options["columns"])
        count, stride = code.integer(options["k"]), code.stride(options["m"])
        work, length = code.array(room), code.integer(room.sizes[0])
        name = "ungqr" if code.type.kind == "c" else "orgqr"

        def write(index: Value) -> None:
            arguments = [rows, columns, count, place(index), stride, scale(index)]
            code.lapack(name, [*arguments, work, length])

        return write


GESDD = _Gesdd("gesdd")
GEQP3 = _Geqp3("geqp3")
GEQRF = _Geqrf("geqrf")
ORGQR = _Orgqr("orgqr")


# ---- eigenvalues of any square matrices ----------------------------------------------------------


class _Geev(StackRoutine):
    """``a v = v diag(w)`` of column-major matrices, which are overwritten; v is column-major, too.

    The outputs are a, w and, if they are wanted, v. The workspaces are one of the dtype and one of
    floats; real matrices have a third one, for the packed vectors.
    """

    nanoseconds = 10.0

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the matrices."""
        return call.outputs[:1]

    def narrow(self, call: LibraryCall[Any]) -> Mapping[str, Size]:
        """Return the size of a matrix, and that of the first workspace."""
        room = {"the length of the workspace": call.workspace[0].sizes[0]}
        return {**super().narrow(call), **room}

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Decompose; LAPACK may not terminate for numbers that are not finite."""
        b, options = code.b, code.call.options
        matrices, values, *vectors = code.call.outputs
        n, complex_type = code.size(options["n"]), type_of(values.dtype)
        place_of, values_of = code.item(matrices, options["move"]), code.item(values, options["n"])
        vectors_of = code.item(vectors[0], options["move"]) if vectors else None
        decompose = _decomposition(code)

        def write(index: Value) -> Value | None:
            place, found = place_of(index), values_of(index)
            right = None if vectors_of is None else vectors_of(index)
            status = b.slot(INT64)
            b.store(n + 1, status)
            with when(b, code.are_finite(place, n * n)):
                b.store(decompose(place, found, right), status)
            if not options["nan"]:
                return b.load(INT64, status)
            with when(b, b.ne(b.load(INT64, status), 0)):
                code.fill_with_nan(found, n, complex_type)
                if right is not None:
                    code.fill_with_nan(right, n * n, complex_type)
            return None

        return write


def _decomposition(code: MatrixCall) -> Callable[[Value, Value, Value | None], Value]:
    """Return a function of addresses that writes a decomposition, and returns its status."""
    options, b = code.call.options, code.b
    wants_vectors = len(code.call.outputs) > 2
    none, wanted = code.letter("N"), code.letter("V" if wants_vectors else "N")
    order, stride = code.integer(options["n"]), code.stride(options["n"])
    numbers, floats, *packed = code.call.workspace
    room, length, others = code.array(numbers), code.integer(numbers.sizes[0]), code.array(floats)
    if code.type.kind == "c":

        def of_complex(place: Value, found: Value, right: Value | None) -> Value:
            vectors = found if right is None else right
            arguments = [none, wanted, order, place, stride, found, found, stride, vectors, stride]
            return code.lapack("geev", [*arguments, room, length, others])

        return of_complex
    n = code.size(options["n"])
    imaginary = b.offset(others, n, code.type)
    vectors = code.array(packed[0]) if packed else others

    def of_real(place: Value, found: Value, right: Value | None) -> Value:
        arguments = [none, wanted, order, place, stride, others, imaginary, others, stride]
        status = code.lapack("geev", [*arguments, vectors, stride, room, length])
        with loop(b, 0, n) as each:
            real = _float(code, others, each.index)
            _store(code, found, each.index, real, _float(code, imaginary, each.index))
        if right is not None:
            _unpack(code, vectors, imaginary, right, n)
        return status

    return of_real


def _float(code: MatrixCall, pointer: Value, position: Value) -> Value:
    return code.b.load(code.type, code.b.offset(pointer, position, code.type))


def _store(code: MatrixCall, pointer: Value, position: Value, real: Value, other: Value) -> None:
    """Write a complex number."""
    b, type_ = code.b, code.type
    place = b.offset(pointer, position * 2, type_)
    b.store(real, place)
    b.store(other, b.offset(place, 1, type_))


def _unpack(code: MatrixCall, packed: Value, imaginary: Value, out: Value, n: Value) -> None:
    """Write complex vectors.

    LAPACK stores the real and the imaginary parts of the first of a pair in their two columns; the
    second one is its conjugate.
    """
    b, type_ = code.b, code.type
    with loop(b, 0, n) as column:
        part = _float(code, imaginary, column.index)
        is_first, is_second = b.lt(0.0, part), b.lt(part, 0.0)
        of_real = b.select(is_second, column.index - 1, column.index)
        of_other = b.select(is_first, column.index + 1, column.index)
        sign = b.select(is_first, b.constant(type_, 1.0), b.constant(type_, -1.0))
        sign = b.select(is_first | is_second, sign, b.constant(type_, 0.0))
        with loop(b, 0, n) as row:
            real = _float(code, packed, of_real * n + row.index)
            other = _float(code, packed, of_other * n + row.index) * sign
            _store(code, out, column.index * n + row.index, real, other)


GEEV = _Geev("geev")
