"""Products of BLAS: of matrices, and of a matrix and a vector.

:mod:`~phintys.backends.native.routines.blas_calls` describes their options, and writes the calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys.backends.native.assembler.types import type_of
from phintys.backends.native.limits import PRODUCT_FLOPS
from phintys.backends.native.routines.blas_calls import BlasCall, GemmCall, GemvCall
from phintys.backends.native.routines.outlined_products import most_in_tiles
from phintys.backends.native.steps.call import LibraryCall, Routine
from phintys.backends.native.values import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phintys.backends.native.costs import Costs
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.steps.call import CallExplainer, CallWriter


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
