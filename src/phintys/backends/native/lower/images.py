"""Lowering of convolutions, and of the largest elements under windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.failures import Failure
from phintys.backends.native.limits import (
    IMAGE_ITEMS,
    IMAGE_RANGES,
    IMAGE_SCRATCH,
    IMAGE_SUM_ELEMENTS,
    IMAGE_SUMS,
    PANEL_ROWS,
)
from phintys.backends.native.lower.lowering import Lowering, NotLowered, lowers
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.backends.native.lower.view import AxisMap, View
from phintys.backends.native.routines.convolution import CONVOLVE
from phintys.backends.native.routines.image_panels import panel_width
from phintys.backends.native.routines.images import (
    FILTERS_OF_IMAGES,
    MAX_POOL,
    SPREAD_OVER_IMAGES,
    SUMS_OF_IMAGES,
)
from phintys.backends.native.steps.call import LibraryCall, Routine
from phintys.graph.apply import Apply
from phintys.tensor.convolution import Convolve
from phintys.tensor.images.convolutions import Conv, ConvByFilters, ConvByImages
from phintys.tensor.images.geometry import pads_of
from phintys.tensor.images.pooling import MaxPool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size, Sizes

_AXES = 3


def _check_support(op: Any, view: View) -> None:
    """Raise NotLowered for what there is no code for."""
    name = type(op).__name__
    if op.ndim > _AXES:
        msg = f"no native {name} of {op.ndim} spatial axes"
        raise NotLowered(msg)
    if view.array.dtype.name not in {"float32", "float64"}:
        msg = f"no native {name} of {view.array.dtype}"
        raise NotLowered(msg)


def _three_axes(letter: str, given: Sequence[Size], neutral: Size) -> dict[str, Size]:
    """Return sizes along three spatial axes; those that are missing come first."""
    whole = [*[neutral] * (_AXES - len(given)), *given]
    return {f"{letter}{axis}": size for axis, size in enumerate(whole)}


def _ceil_div(sizes: Sizes, size: Size, divisor: Size) -> Size:
    """Return a quotient, rounded up."""
    above = sizes.sub(sizes.add(size, divisor), sizes.fixed(1))
    return sizes.arithmetic("floordiv", above, divisor)


class _Convolution:
    """A call of a routine of convolutions that is being made; its sizes are checked.

    Parameters
    ----------
    op, node, lowering
        What is lowered.

    Attributes
    ----------
    shape
        The sizes of the result.
    options
        The options of the call: all sizes, with three spatial axes.
    """

    def __init__(
        self, op: Conv | ConvByImages | ConvByFilters, node: Apply, lowering: Lowering
    ) -> None:
        self._node, self._lowering, self._sizes = node, lowering, lowering.sizes
        sizes, fixed = self._sizes, lowering.sizes.fixed
        groups, zero, one = fixed(op.groups), fixed(0), fixed(1)
        shapes = NativeShapes(node, lowering)
        (self.shape,) = op.output_shapes(shapes)
        images, filters, given = op.arrays(shapes)
        counts = (given or self.shape)[2:]
        extents = op.extents(shapes, filters)
        pads = [pads_of(*pair, shapes)[0] for pair in zip(op.padding, extents, strict=True)]
        before = [fixed(pad) if isinstance(pad, int) else pad for pad in pads]
        self.options = {
            "images": images[0],
            "groups": groups,
            "channels": filters[1],
            "filters": sizes.arithmetic("floordiv", filters[0], groups),
            **_three_axes("n", images[2:], one),
            **_three_axes("k", filters[2:], one),
            **_three_axes("m", counts, one),
            **_three_axes("s", [fixed(step) for step in op.stride], one),
            **_three_axes("d", [fixed(step) for step in op.dilation], one),
            **_three_axes("f", before, zero),
        }

    def volume(self, letter: str) -> Size:
        """Return a product of three spatial sizes."""
        return self._sizes.product([self.options[f"{letter}{axis}"] for axis in range(_AXES)])

    def divide_channels(self, most: Size | None = None) -> Size:
        """Set how many channels a panel has, and return the number of its rows."""
        sizes = self._sizes
        one = sizes.fixed(1)
        # Sizes may be computed before the check that filters have elements.
        elements = sizes.arithmetic("max", self.volume("k"), one)
        block = sizes.arithmetic("floordiv", sizes.fixed(PANEL_ROWS), elements)
        for limit in (self.options["channels"], *([] if most is None else [most])):
            block = sizes.arithmetic("min", block, limit)
        self.options["block"] = sizes.arithmetic("max", block, one)
        return sizes.mul(self.options["block"], elements)

    def call(
        self,
        routine: Routine,
        arrays: Sequence[View],
        target: View,
        rows: Size,
        items: Size,
        sums: Size | None = None,
    ) -> None:
        """Add the call.

        Parameters
        ----------
        routine, arrays, target
            The routine, what it reads, and the result.
        rows
            Rows as wide as a panel, of the scratch memory of a range.
        items
            What threads share.
        sums
            The number of elements of the sums of all parts.
        """
        sizes, lowering, node = self._sizes, self._lowering, self._node
        dtype = target.array.dtype
        room = self.options["room"] = sizes.mul(rows, sizes.fixed(panel_width(dtype.itemsize)))
        ranges = sizes.arithmetic("floordiv", sizes.fixed(IMAGE_SCRATCH), room)
        for limit in (items, sizes.fixed(IMAGE_RANGES)):
            ranges = sizes.arithmetic("min", ranges, limit)
        ranges = self.options["ranges"] = sizes.arithmetic("max", ranges, sizes.fixed(1))
        lengths = [sizes.mul(ranges, room)] + ([] if sums is None else [sums])
        workspace = tuple(lowering.array(dtype, [length]) for length in lengths)
        inputs = tuple(lowering.contiguous(view, node).array for view in arrays)
        lowering.add(LibraryCall(routine, inputs, (target.array,), self.options, node, workspace))


@lowers(Conv)
def lower_conv(op: Conv, node: Apply, lowering: Lowering) -> None:
    """A call for images and filters in memory order."""
    sizes = lowering.sizes
    images, filters = (lowering.view(variable) for variable in node.inputs)
    _check_support(op, images)
    made = _Convolution(op, node, lowering)
    target, _ = lowering.compute(node.outputs[0], made.shape)
    width = sizes.fixed(panel_width(target.array.dtype.itemsize))
    panels = _ceil_div(sizes, made.volume("m"), width)
    items = sizes.product([made.options["images"], made.options["groups"], panels])
    made.call(SUMS_OF_IMAGES, (images, filters), target, made.divide_channels(), items)


@lowers(ConvByImages)
def lower_conv_by_images(op: ConvByImages, node: Apply, lowering: Lowering) -> None:
    """A call for the gradient, and filters with their channels in front."""
    sizes = lowering.sizes
    filters, gradient = (lowering.view(variable) for variable in node.inputs[:2])
    _check_support(op, filters)
    for variable in node.inputs[2:]:
        failure = Failure(node, "size", "a size of images")
        lowering.require_length(lowering.size_of(variable), failure)
    made = _Convolution(op, node, lowering)
    target, _ = lowering.compute(node.outputs[0], made.shape)
    options = made.options
    whole = sizes.mul(options["images"], options["groups"])
    fair = _ceil_div(sizes, sizes.mul(whole, options["channels"]), sizes.fixed(IMAGE_ITEMS))
    rows = sizes.add(made.divide_channels(fair), options["filters"])
    items = sizes.mul(whole, _ceil_div(sizes, options["channels"], options["block"]))
    turned = _turned(filters, made, lowering, node)
    made.call(SPREAD_OVER_IMAGES, (gradient, turned), target, rows, items)


def _turned(filters: View, made: _Convolution, lowering: Lowering, node: Apply) -> View:
    """Return filters with the axes group, channel, element, filter of the group, in new memory."""
    sizes = lowering.sizes
    inner, outer = filters.sizes[1], made.options["filters"]
    apart = filters.rearranged([None, *range(1, filters.ndim), 0], sizes)
    last = filters.ndim
    # The filters of a group are neighbours: the new first axis moves by as many.
    maps = tuple(
        AxisMap(
            (*map_.terms, *((0, sizes.mul(step, outer)) for at, step in map_.terms if at == last)),
            map_.offset,
        )
        for map_ in apart.maps
    )
    lengths = (made.options["groups"], inner, *filters.sizes[2:], outer)
    return lowering.copied(View(filters.array, maps, lengths), node)


@lowers(ConvByFilters)
def lower_conv_by_filters(op: ConvByFilters, node: Apply, lowering: Lowering) -> None:
    """A call that sums over panels of images, in parts."""
    sizes = lowering.sizes
    images, gradient = (lowering.view(variable) for variable in node.inputs[:2])
    _check_support(op, images)
    made = _Convolution(op, node, lowering)
    target, _ = lowering.compute(node.outputs[0], made.shape)
    options, one = made.options, sizes.fixed(1)
    width = sizes.fixed(panel_width(target.array.dtype.itemsize))
    wide = sizes.mul(_ceil_div(sizes, options["filters"], width), width)
    sums = sizes.product([options["groups"], options["channels"], made.volume("k"), wide])
    most = sizes.arithmetic(
        "floordiv", sizes.fixed(IMAGE_SUM_ELEMENTS), sizes.arithmetic("max", sums, one)
    )
    parts = sizes.arithmetic("min", most, sizes.fixed(IMAGE_SUMS))
    panels = sizes.mul(images.sizes[0], _ceil_div(sizes, made.volume("m"), width))
    parts = sizes.arithmetic("min", parts, panels)
    parts = options["parts"] = sizes.arithmetic("max", parts, one)
    made.call(
        FILTERS_OF_IMAGES,
        (images, gradient),
        target,
        sizes.add(made.divide_channels(), wide),
        sizes.mul(options["groups"], parts),
        sizes.mul(parts, sums),
    )


@lowers(MaxPool)
def lower_max_pool(op: MaxPool, node: Apply, lowering: Lowering) -> None:
    """A call for images in memory order."""
    sizes = lowering.sizes
    view = lowering.view(node.inputs[0])
    _check_support(op, view)
    lead = view.ndim - op.ndim
    one = sizes.fixed(1)
    lengths = op.output_shapes(NativeShapes(node, lowering))[0]
    options = {"images": sizes.product(view.sizes[:lead])}
    facts = {
        "n": view.sizes[lead:],
        "m": lengths[lead:],
        "w": [sizes.fixed(size) for size in op.window],
        "s": [sizes.fixed(step) for step in op.stride],
        "p": [sizes.fixed(pad) for pad in op.padding],
    }
    for letter, given in facts.items():
        options |= _three_axes(letter, given, sizes.fixed(0) if letter == "p" else one)
    outputs = tuple(lowering.compute(out, lengths)[0].array for out in node.outputs)
    source = lowering.contiguous(view, node).array
    lowering.add(LibraryCall(MAX_POOL, (source,), outputs, options, node))


@lowers(Convolve)
def lower_convolve(op: Convolve, node: Apply, lowering: Lowering) -> None:
    """A call, with both vectors in memory order."""
    views = [lowering.view(variable) for variable in node.inputs]
    dtype = views[0].array.dtype
    if dtype.kind in "bc" or dtype.name == "float16":
        msg = f"no native convolution of {dtype}"
        raise NotLowered(msg)
    sizes = lowering.sizes
    zero = sizes.fixed(0)
    n, m = (sizes.canonical(view.sizes[0]) for view in views)
    for size in (n, m):
        is_filled = sizes.arithmetic("lt", zero, size)
        lowering.require(is_filled, Failure(node, "empty", "a vector without elements"))
    inputs = tuple(lowering.contiguous(view, node).array for view in views)
    (lengths,) = op.output_shapes(NativeShapes(node, lowering))
    target, _ = lowering.compute(node.outputs[0], lengths)
    call = LibraryCall(CONVOLVE, inputs, (target.array,), {"n": n, "m": m}, node)
    lowering.steps.append(call)
