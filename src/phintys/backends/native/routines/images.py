"""Convolutions of images, and their gradients.

:mod:`~phintys.backends.native.emit.image_parts` says how they are computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.emit.image_parts import CALL, image_symbol
from phintys.backends.native.emit.math.calls import IMAGE_FILTERS, IMAGE_SUMS
from phintys.backends.native.emit.types import INT64, type_of
from phintys.backends.native.routines.routine import Routine

if TYPE_CHECKING:
    from phintys.backends.native.emit.main import MainFunction
    from phintys.backends.native.emit.step_writer import StepWriter
    from phintys.backends.native.explain import Explainer
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.steps.call import LibraryCall

__all__ = ["FILTERS_OF_IMAGES", "SUMS_OF_IMAGES"]

_PRODUCT = 0.015
"""Nanoseconds for a product."""


class _Images(Routine):
    """Sums of products of images with filters, or with the gradient of such sums.

    The inputs are the images, and the filters or the gradient. The options are the sizes of
    :data:`~phintys.backends.native.emit.image_parts.CALL`. The first workspace is that of ranges,
    the second one has the sums of all parts.
    """

    shares_work: ClassVar[bool] = True

    def __init__(self, name: str, function: str) -> None:
        self.name = name
        self._function = function

    def work(self, call: LibraryCall[Any], main: MainFunction) -> Polynomial:
        """Return the time of the products."""
        names = (
            "images",
            "groups",
            "channels",
            "filters",
            *(f"{x}{at}" for x in "km" for at in range(3)),
        )
        factors = [call.options[name] for name in names]
        return main.scaled(main.ring.product(factors), _PRODUCT)

    def line(self, call: LibraryCall[Any], explainer: Explainer) -> str:
        """Return the arrays, and the sizes of filters."""
        given, made = (
            ", ".join(map(explainer.name, arrays)) for arrays in (call.inputs, call.outputs)
        )
        sizes = [explainer.size(call.options[f"k{axis}"]) for axis in range(3)]
        return f"call {self.name}({given}) -> {made}    [{' x '.join(sizes)} elements of filters]"

    def emit(self, call: LibraryCall[Any], writer: StepWriter) -> None:
        """Write the call of the outlined function."""
        b = writer.b
        block = b.slot(INT64, CALL.size // 8)
        source, factor = call.inputs
        arrays = {"source": source, "factor": factor, "out": call.outputs[0]}
        arrays |= dict(zip(("scratch", "sums"), call.workspace, strict=False))
        for name, array in arrays.items():
            CALL.store(b, block, name, writer.pointer(array))
        for name, size in call.lengths.items():
            CALL.store(b, block, name, writer.size(size))
        symbol = image_symbol(self._function, type_of(call.outputs[0].dtype))
        b.module.math_functions.add(symbol)
        writer.share(symbol, [block])


SUMS_OF_IMAGES = _Images("conv", IMAGE_SUMS)
FILTERS_OF_IMAGES = _Images("conv_by_filters", IMAGE_FILTERS)
