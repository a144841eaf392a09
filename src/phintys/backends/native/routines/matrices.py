"""Functions of BLAS and LAPACK for stacks of matrices: one call for each matrix.

Both libraries are column-major. A matrix that is column-major in memory is passed as it is; a
row-major one is passed as its transpose, whose triangles are exchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.emit.control import loop, when
from phintys.backends.native.emit.product_parts import one_thread
from phintys.backends.native.emit.types import INT32, INT64, Type, type_of
from phintys.backends.native.routines.lapack import Arguments
from phintys.backends.native.routines.routine import Routine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.backends.native.emit.main import MainFunction
    from phintys.backends.native.emit.step_writer import StepWriter
    from phintys.backends.native.emit.values import Value
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.program import Array
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.steps.call import LibraryCall

__all__ = ["EVD", "GBSV", "GETRF", "POTRF", "POTRI", "TRSM", "MatrixCall", "StackRoutine"]

_TOGETHER = 64
"""Number of small matrices between two signal checks."""

_LARGE = 64
"""The size from which signals are checked after each matrix."""


class MatrixCall(Arguments):
    """The code of a call for each matrix of a stack.

    Parameters
    ----------
    call
        The call; its option ``count`` is the number of matrices.
    writer
        Writes the code around it.
    """

    def __init__(self, call: LibraryCall[Any], writer: StepWriter) -> None:
        super().__init__(call, writer)
        self.b = writer.b
        self.call = call
        self.type: Type = type_of(call.outputs[0].dtype)

    def size(self, size: Size) -> Value:
        """Return the value of a size."""
        return self._writer.size(size)

    def number(self, value: float) -> Value:
        """Return the address of a number."""
        return self._scalars.number(value)

    def item(
        self, array: Array, move: Size, offset: Size | None = None
    ) -> Callable[[Value], Value]:
        """Return a function from the number of an item to its address in an array."""
        b, type_ = self.b, type_of(array.dtype)
        start = self.array(array)
        if offset is not None and offset.known != 0:
            start = b.offset(start, self.size(offset), type_)
        step = self.size(move)

        def address(index: Value) -> Value:
            return b.offset(start, index * step, type_) if step.text != "0" else start

        return address

    # ---- code

    def lapack(self, name: str, arguments: Sequence[Value]) -> Value:
        """Write a call of LAPACK, and return its status, an int64."""
        return self.b.convert(super().lapack(name, arguments), INT64)

    def blas(self, name: str, arguments: Sequence[Value]) -> None:
        """Write a call of BLAS."""
        self._scalars.call(name, *arguments)

    def first_zero(self, pointer: Value, step: Value, count: Value) -> Value:
        """Return the number, from 1, of the first element that is 0; 0 if there is none."""
        b = self.b
        part = self.type.part if self.type.kind == "c" else self.type
        with loop(b, 0, count, carried=[b.constant(INT64, 0)]) as single:
            (found,) = single.carried
            place = b.offset(pointer, single.index * step, self.type)
            is_zero = b.eq(b.load(part, place), 0.0)
            if self.type.kind == "c":
                is_zero = is_zero & b.eq(b.load(part, b.offset(place, 1, part)), 0.0)
            is_first = is_zero & b.eq(found, 0)
            single.next(b.select(is_first, single.index + 1, found))
        return single.results[0]

    def fill_with_nan(self, pointer: Value, count: Value, type: Type | None = None) -> None:
        """Write NaN to neighbouring elements, of the call's dtype if no other is given."""
        b = self.b
        type = self.type if type is None else type
        part = type.part if type.kind == "c" else type
        twice = 2 if type.kind == "c" else 1
        with loop(b, 0, count * twice) as single:
            b.store(b.constant(part, float("nan")), b.offset(pointer, single.index, part))

    def each(self, item: Callable[[Value], Value | None]) -> tuple[Value, Value]:
        """Write a call for each matrix, and return the first status that is not 0, and where."""
        b = self.b
        count, size = (self.size(self.call.options[name]) for name in ("count", "n"))
        status, position = b.slot(INT64), b.slot(INT64)
        b.store(b.constant(INT64, 0), status)
        b.store(b.constant(INT64, 0), position)
        some = b.select(b.le(_LARGE, size), b.constant(INT64, 1), _TOGETHER)
        with loop(b, 0, count, some) as outer:
            with (
                one_thread(b),
                loop(b, outer.index, b.minimum_number(outer.index + some, count)) as one,
            ):
                found = item(one.index)
                if found is not None:
                    with when(b, b.ne(found, 0) & b.eq(b.load(INT64, status), 0)):
                        b.store(found, status)
                        b.store(one.index, position)
            self._writer.poll()
        return b.load(INT64, status), b.load(INT64, position)


class StackRoutine(Routine):
    """A routine that is called for each matrix of a stack.

    The option ``count`` is the number of matrices, ``n`` their size; with ``nan``, a failure is not
    a status but makes all of the output NaN.
    """

    shares_work: ClassVar[bool] = True  # it looks for signals between matrices

    nanoseconds: ClassVar[float] = 0.05
    """A rough estimate of the time for each of the n**3 steps of a matrix."""

    def __init__(self, name: str) -> None:
        self.name = name

    def narrow(self, call: LibraryCall[Any]) -> Mapping[str, Size]:
        """Return the lengths and the stride of a matrix."""
        names = {"n": "n", "k": "k", "a_stride": "the stride of a"}
        return {text: call.lengths[name] for name, text in names.items() if name in call.lengths}

    def work(self, call: LibraryCall[Any], main: MainFunction) -> Polynomial:
        """Return a rough estimate of its time."""
        n, count = call.options["n"], call.options["count"]
        factors = [count, n, n, call.options.get("k", n)]
        return main.scaled(main.ring.product(factors), self.nanoseconds)

    def emit(self, call: LibraryCall[Any], writer: StepWriter) -> tuple[Value, Value] | None:
        """Write the calls, and return the status and the position of the first failure."""
        code = MatrixCall(call, writer)
        item = self.item(code)
        found = code.each(item)
        return found if call.failure is not None else None

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Write what is common to all matrices, and return what writes the call for one."""
        raise NotImplementedError


class _Potrf(StackRoutine):
    """``a = l l^H``: the lower triangle of the output becomes l; the other one is not read."""

    function: ClassVar[str] = "potrf"
    nanoseconds = 0.03

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the matrices."""
        return call.outputs

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Factorize the transpose, which is the conjugate, from its upper triangle."""
        b, options = code.b, code.call.options
        n = code.size(options["n"])
        address = code.item(code.call.outputs[0], options["move"])
        upper, order, stride = (
            code.letter("U"),
            code.integer(options["n"]),
            code.stride(options["n"]),
        )

        def write(index: Value) -> Value | None:
            place = address(index)
            status = code.lapack(self.function, [upper, order, place, stride])
            if not options["nan"]:
                return status
            with when(b, b.ne(status, 0)):
                code.fill_with_nan(place, n * n)
            return None

        return write


class _Potri(_Potrf):
    """The inverse of ``l l^H``: the lower triangle of the output was l; the other one is not read.

    It is NaN for a factor with a zero on its diagonal.
    """

    function = "potri"
    nanoseconds = 0.06


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
            if status is None or not options["nan"]:
                return status
            with when(b, b.ne(status, 0)):
                code.fill_with_nan(out, n * k)
            return None

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

    def work(self, call: LibraryCall[Any], main: MainFunction) -> Polynomial:
        """Return a rough estimate of its time."""
        names = ("count", "n", "rows")
        return main.scaled(main.ring.product([call.options[name] for name in names]), 5.0)

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
GBSV = _Gbsv("gbsv")
GETRF = _Getrf("getrf")
