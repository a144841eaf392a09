"""Products of BLAS: of matrices, of a matrix and a vector, and of a matrix and its own transpose.

:mod:`~phintys.backends.native.routines.blas_calls` describes their options, and writes the calls.
Of a symmetric product one triangle is computed and copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import divide_up, either, loop
from phintys.backends.native.assembler.types import INT64, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import (
    MIRRORED_ROWS,
    PRODUCT_FLOPS,
    SYMMETRIC_BLOCK,
    SYMMETRIC_ROWS,
    SYMMETRIC_STEPS,
)
from phintys.backends.native.routines.blas_calls import BlasCall, GemmCall, GemvCall
from phintys.backends.native.routines.blas_functions import Matrix, Routines
from phintys.backends.native.routines.blas_threads import one_thread
from phintys.backends.native.routines.outlined_products import most_in_tiles
from phintys.backends.native.routines.stacks import RangeFunction
from phintys.backends.native.steps.call import CallExplainer, CallWriter, LibraryCall, Routine
from phintys.backends.native.values import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.sizes import Size


class Product(Routine):
    """A product, maybe added to the output.

    Parameters
    ----------
    name
        Its name in BLAS, without the letter of the dtype.
    code
        Emits calls.
    """

    shares_work: ClassVar[bool] = True
    ignores_sizes_of_output: ClassVar[bool] = True

    def __init__(self, name: str, code: type[BlasCall]) -> None:
        self.name = name
        self._code = code

    def updates(self, call: LibraryCall[Product]) -> tuple[Array, ...]:
        """Return the output, if it is added to."""
        return call.outputs if call.options.get("beta") else ()

    def narrow(self, call: LibraryCall[Product]) -> Mapping[str, Size]:
        """Return the strides: products of long matrices and vectors are computed in parts."""
        return {
            f"the {kind} of {letter}": size
            for letter in self._code.letters
            for kind in ("stride", "step")
            if (size := call.lengths.get(f"{letter}_{kind}")) is not None
        }

    def work(self, call: LibraryCall[Product], costs: Costs) -> Polynomial:
        """Return the time of the multiplications."""
        factors = [call.options[name] for name in "mnk" if name in call.options]
        factors += [entry[0] for entry in call.options.get("batch", ())]
        return costs.scaled(costs.ring.product(factors), 1 / PRODUCT_FLOPS)

    def line(self, call: LibraryCall[Product], explainer: CallExplainer) -> str:
        """Return the operands, as passed, and the lengths of the loops."""
        options = call.options
        operands = [
            explainer.name(array) + ".T" * bool(options.get(f"{letter}_transposed"))
            for array, letter in zip(call.inputs[:2], "ab", strict=True)
        ]
        alpha = options.get("alpha", 1)
        factor = explainer.name(alpha) if isinstance(alpha, Array) else str(alpha)
        text = f"call {self.name}({', '.join(operands)})" + f" * {factor}" * (alpha != 1)
        (output,) = call.outputs
        text += f" {'added to' if options.get('beta') else '->'} {explainer.name(output)}"
        sizes = [f"{name} = {explainer.size(options[name])}" for name in "mnk" if name in options]
        text += f"    [{', '.join(sizes)}]" if sizes else ""
        batch = [explainer.size(entry[0]) for entry in options.get("batch", ())]
        return text + (f" {' * '.join(batch)} times" if batch else "")

    def emit(self, call: LibraryCall[Product], writer: CallWriter) -> None:
        """Write the call, and loops around it."""
        self._code(call, writer).write()


class MatrixProduct(Product):
    """``gemm``, which computes small products in tiles, without BLAS."""

    def line(self, call: LibraryCall[Product], explainer: CallExplainer) -> str:
        """Return whether it is computed in tiles, or up to which size, as well."""
        line = super().line(call, explainer)
        texts = [explainer.size(call.options[name]) for name in "mnk"]
        lengths = [int(text) if text.isdigit() else None for text in texts]
        if 1 in lengths[:2]:  # a product with a vector
            return line
        target, type_ = explainer.target, type_of(call.outputs[0].dtype)
        most = most_in_tiles(target, type_, lengths, is_repeated="batch" in call.options)
        if not most:
            return line
        return f"{line}, in tiles" + f" up to {most} multiplications" * (None in lengths)


class VectorProduct(Product):
    """``gemv``, a matrix times a vector."""

    reads_once: ClassVar[bool] = True


GEMM = MatrixProduct("gemm", GemmCall)
GEMV = VectorProduct("gemv", GemvCall)


# ---- a matrix and its own transpose --------------------------------------------------------------


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
        is_large = b.le(SYMMETRIC_ROWS, n) & b.le(SYMMETRIC_STEPS, k)
        with either(b, is_large) as (if_large, otherwise):
            with if_large:
                _write_half(call, writer)
            with otherwise:
                super().emit(call, writer)


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
