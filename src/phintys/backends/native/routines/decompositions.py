"""Decompositions of stacks of rectangular matrices by LAPACK.

The options ``m`` and ``n`` are the sizes of a matrix, and ``k`` is the smaller one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.emit.control import when
from phintys.backends.native.emit.types import type_of
from phintys.backends.native.routines.stacks import MatrixCall, StackRoutine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.backends.native.emit.main import MainFunction
    from phintys.backends.native.emit.values import Value
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array

__all__ = ["GEQRF", "GESDD", "ORGQR"]


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

    def work(self, call: LibraryCall[Any], main: MainFunction) -> Polynomial:
        """Return a rough estimate of its time."""
        factors = [call.options[name] for name in ("count", "m", "n", "k")]
        return main.scaled(main.ring.product(factors), self.nanoseconds)


class _Gesdd(_Rectangular):
    """``a = u diag(s) vh`` of row-major matrices; the outputs are a, u, s and vh.

    The library sees the transpose, whose decomposition is that of a, with u and vh exchanged. The
    workspaces are one of the dtype, one of integers, and for complex matrices one of floats.
    """

    nanoseconds = 1.0

    def item(self, code: MatrixCall) -> Callable[[Value], Value | None]:
        """Decompose; numbers that are not finite count as no convergence."""
        b, call, options = code.b, code.call, code.call.options
        values_dtype = call.outputs[2].dtype
        m, n, k = (code.size(options[name]) for name in "mnk")
        moves = (options["move"], options["u_move"], options["k"], options["vh_move"])
        addresses = [
            code.item(array, move) for array, move in zip(call.outputs, moves, strict=True)
        ]
        job = code.letter("S")
        rows, columns = code.integer(options["n"]), code.integer(options["m"])
        wide, narrow = code.stride(options["n"]), code.stride(options["k"])
        numbers, integers, *floats = call.workspace
        rooms = [code.array(numbers), code.integer(numbers.sizes[0])]
        rooms += [code.array(array) for array in (*floats, integers)]

        def write(index: Value) -> Value | None:
            place, left, values, right = (address(index) for address in addresses)
            arguments = [job, rows, columns, place, wide, values, right, wide, left, narrow]
            status = code.lapack("gesdd", [*arguments, *rooms])
            if not options["nan"]:
                return b.maximum_number(status, -status)
            with when(b, b.ne(status, 0)):
                code.fill_with_nan(left, m * k)
                code.fill_with_nan(values, k, type_of(values_dtype))
                code.fill_with_nan(right, k * n)
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


class _Orgqr(_Rectangular):
    """The first columns of q in the place of the reflections; the input is their scales."""

    nanoseconds = 0.2

    def item(self, code: MatrixCall) -> Callable[[Value], None]:
        """Multiply the reflections."""
        options, (room,) = code.call.options, code.call.workspace
        (scales,), (matrices,) = code.call.inputs, code.call.outputs
        place, scale = code.item(matrices, options["move"]), code.item(scales, options["k"])
        rows, columns = code.integer(options["m"]), code.integer(options["k"])
        stride = code.stride(options["m"])
        work, length = code.array(room), code.integer(room.sizes[0])
        name = "ungqr" if code.type.kind == "c" else "orgqr"

        def write(index: Value) -> None:
            arguments = [rows, columns, columns, place(index), stride, scale(index)]
            code.lapack(name, [*arguments, work, length])

        return write


GESDD = _Gesdd("gesdd")
GEQRF = _Geqrf("geqrf")
ORGQR = _Orgqr("orgqr")
