"""Eigenvalues of stacks of any square matrices by LAPACK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.types import INT64, type_of
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array


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
