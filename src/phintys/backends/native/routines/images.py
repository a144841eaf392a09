"""Convolutions of images, their gradients, and the largest elements under windows.

:mod:`~phintys.backends.native.routines.image_parts` and
:mod:`~phintys.backends.native.routines.pool_parts` say how they are computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.types import type_of
from phintys.backends.native.limits import IMAGE_PRODUCT_NANOSECONDS, POOLING_NANOSECONDS
from phintys.backends.native.routines.image_panels import CALL
from phintys.backends.native.routines.image_parts import image_symbol
from phintys.backends.native.routines.pool_parts import POOL, pool_symbol
from phintys.backends.native.routines.shared_ranges import call_with_record
from phintys.backends.native.steps.call import CallExplainer, CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from phintys.backends.native.costs import Costs
    from phintys.backends.native.polynomials import Polynomial


class _Images(Routine):
    """Sums of products of images with filters, or with the gradient of such sums.

    The inputs are the images, and the filters or the gradient. The options are the sizes of
    :data:`~phintys.backends.native.routines.image_panels.CALL`. The first workspace is that of
    ranges, the second one has the sums of all parts.
    """

    shares_work: ClassVar[bool] = True

    def __init__(self, name: str, function: str) -> None:
        self.name = name
        self._function = function

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return the time of the products."""
        names = (
            "images",
            "groups",
            "channels",
            "filters",
            *(f"{x}{at}" for x in "km" for at in range(3)),
        )
        factors = [call.options[name] for name in names]
        return costs.scaled(costs.ring.product(factors), IMAGE_PRODUCT_NANOSECONDS)

    def line(self, call: LibraryCall[Any], explainer: CallExplainer) -> str:
        """Return the arrays, and the sizes of filters."""
        given, made = (
            ", ".join(map(explainer.name, arrays)) for arrays in (call.inputs, call.outputs)
        )
        sizes = [explainer.size(call.options[f"k{axis}"]) for axis in range(3)]
        return f"call {self.name}({given}) -> {made}    [{' x '.join(sizes)} elements of filters]"

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> None:
        """Write the call of the outlined function."""
        source, factor = call.inputs
        arrays = {"source": source, "factor": factor, "out": call.outputs[0]}
        arrays |= dict(zip(("scratch", "sums"), call.workspace, strict=False))
        symbol = image_symbol(self._function, type_of(call.outputs[0].dtype))
        call_with_record(CALL, arrays, call, writer, symbol)


class _MaxPool(Routine):
    """The largest elements under windows, and their places.

    The options are the sizes of :data:`~phintys.backends.native.routines.pool_parts.POOL`.
    """

    name = "max_pool"
    shares_work: ClassVar[bool] = True

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return the time of the comparisons."""
        names = ("images", *(f"{letter}{axis}" for letter in "wm" for axis in range(3)))
        factors = [call.options[name] for name in names]
        return costs.scaled(costs.ring.product(factors), POOLING_NANOSECONDS)

    def line(self, call: LibraryCall[Any], explainer: CallExplainer) -> str:
        """Return the arrays, and the size of windows."""
        source, values, places = map(explainer.name, (*call.inputs, *call.outputs))
        sizes = [explainer.size(call.options[f"w{axis}"]) for axis in range(3)]
        return f"call {self.name}({source}) -> {values}, {places}    [windows {' x '.join(sizes)}]"

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> None:
        """Write the call of the outlined function."""
        values, places = call.outputs
        arrays = {"source": call.inputs[0], "values": values, "places": places}
        call_with_record(POOL, arrays, call, writer, pool_symbol(type_of(values.dtype)))


MAX_POOL = _MaxPool()
SUMS_OF_IMAGES = _Images("conv", "image_sums")
SPREAD_OVER_IMAGES = _Images("conv_by_images", "image_spread")
FILTERS_OF_IMAGES = _Images("conv_by_filters", "image_filters")
