"""Schur forms of stacks of matrices and of pairs of them by LAPACK, and equations of such forms.

All matrices are column-major. Which eigenvalues come first is decided by a function that is written
for it, and that LAPACK calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.types import INT32, INT64, PTR, MachineType
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine
from phintys.tensor.blas import BLAS_LETTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array


class _SchurForm(StackRoutine):
    """Forms of the first :attr:`overwritten` outputs, in their place; others are the vectors.

    The option ``sort`` names the region of the eigenvalues that come first, or is ``None``. The
    workspaces are one of the dtype, one for eigenvalues, one of integers, and for complex matrices
    one of floats.
    """

    overwritten = 1

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the matrices."""
        return call.outputs[: self.overwritten]

    def narrow(self, call: LibraryCall[Any]) -> Mapping[str, Size]:
        """Return the size of a matrix, and that of the first workspace."""
        room = {"the length of the workspace": call.workspace[0].sizes[0]}
        return {**super().narrow(call), **room}

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Decompose; LAPACK need not come to an end for numbers that are not finite."""
        b, options = code.b, code.call.options
        n = code.size(options["n"])
        addresses = [code.item(array, options["move"]) for array in code.call.outputs]
        decompose = self.decomposition(code)

        def write(index: Value) -> Value | None:
            places = [address(index) for address in addresses]
            status = b.slot(INT64)
            b.store(n + 4, status)
            fine = code.are_finite(places[0], n * n)
            for place in places[1 : self.overwritten]:
                fine = fine & code.are_finite(place, n * n)
            with when(b, fine):
                b.store(decompose(*places), status)
            if not options["nan"]:
                return b.load(INT64, status)
            with when(b, b.ne(b.load(INT64, status), 0)):
                for place in places:
                    code.fill_with_nan(place, n * n)
            return None

        return write

    def decomposition(self, code: MatrixCall) -> Callable[..., Value]:
        """Return a function of addresses that writes a decomposition, and returns its status."""
        raise NotImplementedError


class _Gees(_SchurForm):
    """``a = z t z^H``; the outputs are a, which becomes t, and z."""

    nanoseconds = 15.0

    def decomposition(self, code: MatrixCall) -> Callable[..., Value]:
        """Return a function of the addresses of both."""
        wanted, given = code.letter("V"), _Given(code)
        values = given.values(2 if code.type.kind == "f" else 1)

        def decompose(place: Value, vectors: Value) -> Value:
            arguments = [wanted, *given.order, place, given.stride, given.found, *values]
            return code.lapack("gees", [*arguments, vectors, given.stride, *given.rooms])

        return decompose


class _Gges(_SchurForm):
    """``a = q s z^H`` and ``b = q t z^H``; the outputs are a, b, q and z."""

    nanoseconds = 40.0
    overwritten = 2

    def decomposition(self, code: MatrixCall) -> Callable[..., Value]:
        """Return a function of the addresses of all four."""
        wanted, given = code.letter("V"), _Given(code)
        values = given.values(3 if code.type.kind == "f" else 2)
        stride = given.stride

        def decompose(a: Value, b: Value, left: Value, right: Value) -> Value:
            arguments = [wanted, wanted, *given.order, a, stride, b, stride, given.found, *values]
            return code.lapack("gges", [*arguments, left, stride, right, stride, *given.rooms])

        return decompose


class _Given:
    """The arguments that both functions have.

    Attributes
    ----------
    order
        Whether eigenvalues have an order, the function of it, and the size of a matrix.
    stride
        The distance between columns.
    found
        Where LAPACK stores how many eigenvalues come first.
    rooms
        The workspaces but that of the eigenvalues.
    """

    def __init__(self, code: MatrixCall) -> None:
        options, b = code.call.options, code.b
        self._code = code
        numbers, self._values, flags, *floats = code.call.workspace
        region = options["sort"]
        letter, select = code.letter("N" if region is None else "S"), "null"
        if region is not None:
            select = f"@{_selection(b.module, code.type, region, pair=len(code.call.outputs) > 2)}"
        self.order = [letter, Value(b, PTR, select), code.integer(options["n"])]
        self.stride = code.stride(options["n"])
        self.found = b.slot(INT32)
        self.rooms = [code.array(numbers), code.integer(numbers.sizes[0])]
        self.rooms += [code.array(array) for array in (*floats, flags)]

    def values(self, count: int) -> list[Value]:
        """Return the addresses of some vectors of eigenvalues, or of their parts."""
        code = self._code
        first, n = code.array(self._values), code.size(code.call.options["n"])
        return [code.b.offset(first, n * at, code.type) for at in range(count)]


# ---- which eigenvalues come first ----------------------------------------------------------------


def _selection(module: Module, type: MachineType, region: str, *, pair: bool) -> str:
    """Return the function of a module that returns whether an eigenvalue is in a region.

    It takes the address of its parts, or of the complex number; for pairs of matrices, the
    eigenvalue is a quotient, of which the address of the denominator is the last argument.
    """
    name = f"eigenvalue.{region}.{BLAS_LETTERS[type.name]}{'.pair' * pair}"
    if all(function.name != name for function in module.functions):
        count = (2 if type.kind == "f" else 1) + pair
        function = module.function(name, INT32, [PTR] * count, linkage="internal")
        b = Builder(function)
        part = type if type.kind == "f" else type.part
        real, *others = b.arguments
        imaginary = others[0] if type.kind == "f" else b.offset(real, 1, part)
        parts = [b.load(part, place) for place in (real, imaginary)]
        # LAPACK returns denominators that are real and not negative.
        below = b.load(part, others[-1]) if pair else None
        is_in = _is_in(b, region, parts[0], parts[1], below)
        b.ret(b.select(is_in, b.constant(INT32, 1), b.constant(INT32, 0)))
    return name


def _is_in(b: Builder, region: str, real: Value, imaginary: Value, below: Value | None) -> Value:
    """Return whether a number, or a quotient, is in a region; infinity is outside of the circle.

    Numbers on its edge count as SciPy counts them, which differs for quotients.
    """
    if region == "lhp":
        return real < 0.0 if below is None else (real < 0.0) & b.ne(below, 0.0)
    if region == "rhp":
        return b.le(0.0, real) if below is None else (real > 0.0) & b.ne(below, 0.0)
    length = _length(b, real, imaginary)
    if below is None:
        return b.le(length, 1.0) if region == "iuc" else length > 1.0
    return length < below if region == "iuc" else length > below


def _length(b: Builder, x: Value, y: Value) -> Value:
    """Return ``sqrt(x**2 + y**2)``, where squares may be out of range."""
    x, y = b.intrinsic("fabs", x), b.intrinsic("fabs", y)
    large, small = b.maximum_number(x, y), b.minimum_number(x, y)
    ratio = b.select(b.eq(large, 0.0), large, small / large)
    return large * b.intrinsic("sqrt", ratio * ratio + 1.0)


# ---- Sylvester's equation ------------------------------------------------------------------------


class _Trsyl(StackRoutine):
    """``r x + x s = scale q``: x in place of q, divided by the scale; all are column-major.

    The options ``m`` and ``n`` are the sizes of r and s, ``turn_r`` and ``turn_s`` whether their
    adjoints stand in the equation, and ``r_move`` and ``s_move`` the distances between matrices.
    """

    nanoseconds = 1.0

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the right sides."""
        return call.outputs

    def narrow(self, call: LibraryCall[Any]) -> Mapping[str, Size]:
        """Return the sizes of both matrices."""
        return {name: call.lengths[name] for name in "mn"}

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        count, m, n = (call.options[name] for name in ("count", "m", "n"))
        products = [costs.ring.product([count, m, n, size]) for size in (m, n)]
        return costs.scaled(costs.ring.add(*products), self.nanoseconds)

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Solve; a status of 1 is an equation that has no single solution."""
        b, options = code.b, code.call.options
        (r, s), (x,) = code.call.inputs, code.call.outputs
        first, second = code.item(r, options["r_move"]), code.item(s, options["s_move"])
        right = code.item(x, options["x_move"])
        adjoint = "C" if code.type.kind == "c" else "T"
        turns = [code.letter(adjoint if options[name] else "N") for name in ("turn_r", "turn_s")]
        rows, columns = code.integer(options["m"]), code.integer(options["n"])
        down, along = code.stride(options["m"]), code.stride(options["n"])
        count = code.size(options["m"]) * code.size(options["n"])
        part = code.type.part if code.type.kind == "c" else code.type
        twice = 2 if code.type.kind == "c" else 1
        sign, scale = b.slot(INT32), b.slot(part)

        def write(index: Value) -> Value | None:
            place = right(index)
            b.store(b.constant(INT32, 1), sign)
            b.store(b.constant(part, 1.0), scale)
            arguments = [*turns, sign, rows, columns, first(index), down, second(index), along]
            status = code.lapack("trsyl", [*arguments, place, down, scale])
            divisor = b.load(part, scale)
            with when(b, b.ne(divisor, 1.0)), loop(b, 0, count * twice) as each:
                element = b.offset(place, each.index, part)
                b.store(b.load(part, element) / divisor, element)
            if not options["nan"]:
                return status
            with when(b, b.ne(status, 0)):
                code.fill_with_nan(place, count)
            return None

        return write


GEES = _Gees("gees")
GGES = _Gges("gges")
TRSYL = _Trsyl("trsyl")
