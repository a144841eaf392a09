"""The product of a matrix and its own transpose, of which one triangle is computed and copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.control import divide_up, loop
from phintys.backends.native.assembler.types import INT64, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import (
    MIRRORED_ROWS,
    PRODUCT_FLOPS,
    SYMMETRIC_BLOCK,
    SYMMETRIC_ROWS,
    SYMMETRIC_STEPS,
)
from phintys.backends.native.routines.blas_calls import GemmCall
from phintys.backends.native.routines.blas_functions import Matrix, Routines
from phintys.backends.native.routines.blas_threads import one_thread
from phintys.backends.native.routines.products import MatrixProduct
from phintys.backends.native.routines.stacks import RangeFunction

if TYPE_CHECKING:
    from phintys.backends.native.assembler.builder import Builder
    from phintys.backends.native.routines.products import Product
    from phintys.backends.native.steps.call import CallWriter, LibraryCall


class _SymmetricProduct(MatrixProduct):
    """``c = a a^T``, with the options of ``gemm``, without ``alpha``, ``beta`` and ``batch``."""

    def emit(self, call: LibraryCall[Product], writer: CallWriter) -> None:
        """Write both ways, and the choice by the sizes."""
        b = writer.b
        for size in call.sizes():  # what is computed in one of two branches is not known after them
            writer.size(size)
        for array in (*call.inputs, *call.outputs):
            writer.pointer(array)
        n, k = (writer.size(call.options[name]) for name in "nk")
        half, whole, after = (b.new_block(name) for name in ("half", "whole", "after"))
        b.branch(b.le(SYMMETRIC_ROWS, n) & b.le(SYMMETRIC_STEPS, k), half, whole)
        b.begin(half)
        _write_half(call, writer)
        b.jump(after)
        b.begin(whole)
        super().emit(call, writer)
        b.jump(after)
        b.begin(after)


def _write_half(call: LibraryCall[Any], writer: CallWriter) -> None:
    """Write the product block by block of its rows; threads share the blocks."""
    ranges, options = RangeFunction(writer), call.options
    b, type_ = ranges.b, type_of(call.outputs[0].dtype)
    n, k = (ranges.size(options[name]) for name in "nk")
    stride, one = ranges.size(options["a_stride"]), b.constant(INT64, 1)
    start = b.offset(ranges.pointer(call.inputs[0]), ranges.size(options["a_offset"]), type_)
    steps = (one, stride) if options["a_transposed"] else (stride, one)
    factor, c = Matrix(start, *steps), ranges.pointer(call.outputs[0])
    if "c_offset" in options:
        c = b.offset(c, ranges.size(options["c_offset"]), type_)
    blas = Routines(b, type_)
    with one_thread(b), loop(b, ranges.begin, ranges.end) as block:
        first = block.index * SYMMETRIC_BLOCK
        rows = b.minimum_number(n - first, SYMMETRIC_BLOCK)
        above = first + rows
        own = Matrix(b.offset(start, first * factor.down, type_), *steps)
        place = b.offset(c, first * n, type_)
        blas.matrix_matrix((rows, above, k), own, factor.transposed(), (place, n), 1, 0)
        _mirror(Matrix(c, n, one), (first, above), type_, b)
    outer, length = writer.size(options["n"]), writer.size(options["k"])
    nanoseconds = outer * outer * length
    nanoseconds = writer.b.binary("sdiv", nanoseconds, writer.b.constant(INT64, 2 * PRODUCT_FLOPS))
    ranges.call(divide_up(writer.b, outer, SYMMETRIC_BLOCK), nanoseconds, is_serial=False)


def _mirror(c: Matrix, block: tuple[Value, Value], type: MachineType, b: Builder) -> None:
    """Copy the elements of a block of rows that are below the diagonal to where they are above."""
    first, above = block

    def copy(row: Value, column: Value) -> None:
        value = b.load(type, c.at(b, row, column, type))
        b.store(value, c.at(b, column, row, type))

    with loop(b, 0, first, MIRRORED_ROWS) as several, loop(b, first, above) as row:
        for at in range(MIRRORED_ROWS):  # which divides the rows of a block
            copy(row.index, several.index + at)
    with loop(b, first, above) as row, loop(b, first, row.index) as column:
        copy(row.index, column.index)


SYRK = _SymmetricProduct("syrk", GemmCall)
