"""Lowering of convolutions of images, and of the largest elements under windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.emit.image_parts import RANGES, panel_width
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.families import lowers
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.lower.view import AxisMap, View
from phintys.backends.native.routines.images import FILTERS_OF_IMAGES, MAX_POOL, SUMS_OF_IMAGES
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.images.convolutions import Conv, ConvByFilters, ConvByImages
from phintys.tensor.images.pooling import MaxPool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.backends.native.sizes import Size, Sizes

__all__: list[str] = []

_AXES = 3
_ROWS = 1024
"""Rows of a panel, at most; more if filters have more elements."""

_PARTS = 16
_SUMS = 1 << 22
"""Parts into which the images are divided for sums, and all elements of these, at most."""


class _Geometry:
    """The sizes of a convolution, checked, with three spatial axes.

    Parameters
    ----------
    op, node, lowering
        What is lowered.
    images, filters, result
        The sizes of the arrays; ``None`` for a result that is computed.
    """

    def __init__(
        self,
        op: Any,
        node: Apply,
        lowering: Lowering,
        images: Sequence[Size],
        filters: Sequence[Size],
        result: Sequence[Size] | None,
    ) -> None:
        sizes = self.sizes = lowering.sizes
        one = sizes.fixed(1)
        fixed = sizes.fixed
        self.groups = fixed(op.groups)
        self.strides = [fixed(step) for step in op.stride]
        self.dilations = [fixed(step) for step in op.dilation]
        self.images, self.filters = list(images), list(filters)
        self.extents: list[Size] = []
        self.before: list[Size] = []
        counts: list[Size] = []
        for axis in range(op.ndim):
            length, inner = images[2 + axis], filters[2 + axis]
            has_elements = sizes.arithmetic("lt", fixed(0), inner)
            lowering.require(has_elements, Failure(node, "empty", "filters without elements"))
            reach = sizes.mul(sizes.sub(inner, one), self.dilations[axis])
            extent = sizes.add(reach, one)
            before, behind = self._pads(op.padding[axis], extent, reach)
            padded = sizes.add(length, sizes.add(before, behind))
            fits = sizes.arithmetic("lt", reach, padded)
            lowering.require(fits, Failure(node, "size", "filters are larger than padded images"))
            room = sizes.sub(padded, extent)
            counts.append(sizes.add(sizes.arithmetic("floordiv", room, self.strides[axis]), one))
            self.extents.append(extent)
            self.before.append(before)
        self.counts = counts
        self._check_groups(node, lowering)
        if result is not None:
            pairs = zip(result, (images[0], filters[0], *counts), strict=True)
            for axis, pair in enumerate(pairs):
                failure = Failure(
                    node, "size", f"dimension {axis} of the gradient: {{0}} and {{1}}"
                )
                lowering.require_equal(*pair, failure)

    def _pads(self, padding: Any, extent: Size, reach: Size) -> tuple[Size, Size]:
        sizes = self.sizes
        if padding == "full":
            return reach, reach
        if padding == "half":
            half = sizes.arithmetic("floordiv", extent, sizes.fixed(2))
            return half, half
        before, behind = padding
        return sizes.fixed(before), sizes.fixed(behind)

    def _check_groups(self, node: Apply, lowering: Lowering) -> None:
        sizes = self.sizes
        channels = sizes.mul(self.filters[1], self.groups)
        failure = Failure(node, "channels", "{0} channels of images and {1} of filters")
        lowering.require_equal(self.images[1], channels, failure)
        rest = sizes.arithmetic("mod", self.filters[0], self.groups)
        failure = Failure(node, "groups", "{0} filters are left over")
        lowering.require_equal(rest, sizes.fixed(0), failure)

    @property
    def filters_of_group(self) -> Size:
        """The number of filters of a group."""
        return self.sizes.arithmetic("floordiv", self.filters[0], self.groups)

    def options(self, **axes: Sequence[Size]) -> dict[str, Size]:
        """Return the options of a call: sizes along spatial axes, of which there are three.

        Where axes are missing, images have one element, and all else is neutral.
        """
        sizes = self.sizes
        found = {"images": self.images[0], "groups": self.groups}
        for letter, given in axes.items():
            missing = sizes.fixed(0 if letter == "f" else 1)
            whole = [*[missing] * (_AXES - len(given)), *given]
            found |= {f"{letter}{axis}": size for axis, size in enumerate(whole)}
        return found


def _check_support(op: Any, view: View) -> None:
    """Raise NotLowered for what there is no code for."""
    if op.ndim > _AXES:
        msg = f"no native {type(op).__name__} of {op.ndim} spatial axes"
        raise NotLowered(msg)
    dtype = view.array.dtype
    if dtype.name not in {"float32", "float64"}:
        msg = f"no native {type(op).__name__} of {dtype}"
        raise NotLowered(msg)


def _volume(options: Mapping[str, Size], letter: str, sizes: Sizes) -> Size:
    return sizes.product([options[f"{letter}{axis}"] for axis in range(_AXES)])


def _panel_options(options: dict[str, Size], sizes: Sizes) -> Size:
    """Add the number of channels of a panel to the options, and return the rows of a panel."""
    elements = _volume(options, "k", sizes)
    most = sizes.arithmetic("floordiv", sizes.fixed(_ROWS), elements)
    block = sizes.arithmetic("min", options["channels"], most)
    options["block"] = sizes.arithmetic("max", block, sizes.fixed(1))
    return sizes.mul(options["block"], elements)


def _sum(
    node: Apply, lowering: Lowering, arrays: Sequence[View], target: View, options: Any
) -> None:
    """Add the call that computes sums of products of images and filters."""
    sizes = lowering.sizes
    width = panel_width(target.array.dtype.itemsize)
    options["room"] = sizes.mul(_panel_options(options, sizes), sizes.fixed(width))
    panels = sizes.arithmetic(
        "floordiv",
        sizes.add(_volume(options, "m", sizes), sizes.fixed(width - 1)),
        sizes.fixed(width),
    )
    items = sizes.product([options["images"], options["groups"], panels])
    ranges = sizes.arithmetic("min", items, sizes.fixed(RANGES))
    scratch = lowering.array(target.array.dtype, [sizes.mul(ranges, options["room"])])
    inputs = tuple(lowering.contiguous(view, node).array for view in arrays)
    lowering.add(LibraryCall(SUMS_OF_IMAGES, inputs, (target.array,), options, node, (scratch,)))


@lowers(Conv)
def lower_conv(op: Conv, node: Apply, lowering: Lowering) -> None:
    """A call for images and filters in memory order."""
    images, filters = (lowering.view(variable) for variable in node.inputs)
    _check_support(op, images)
    geometry = _Geometry(op, node, lowering, images.sizes, filters.sizes, None)
    lengths = [images.sizes[0], filters.sizes[0], *geometry.counts]
    target, _ = lowering.compute(node.outputs[0], lengths)
    ones = [lowering.sizes.fixed(1)] * op.ndim
    options = geometry.options(
        n=images.sizes[2:],
        k=filters.sizes[2:],
        m=geometry.counts,
        s=geometry.strides,
        d=geometry.dilations,
        f=geometry.before,
        e=ones,
    )
    options |= {"channels": filters.sizes[1], "filters": geometry.filters_of_group}
    _sum(node, lowering, (images, filters), target, options)


@lowers(ConvByImages)
def lower_conv_by_images(op: ConvByImages, node: Apply, lowering: Lowering) -> None:
    """A convolution of the gradient, between whose elements are zeros, with flipped filters."""
    sizes = lowering.sizes
    filters, gradient = (lowering.view(variable) for variable in node.inputs[:2])
    _check_support(op, filters)
    lengths = [lowering.size_of(variable) for variable in node.inputs[2:]]
    for length in lengths:
        lowering.require_length(length, Failure(node, "size", "a size of images"))
    channels = sizes.mul(filters.sizes[1], sizes.fixed(op.groups))
    images = [gradient.sizes[0], channels, *lengths]
    geometry = _Geometry(op, node, lowering, images, filters.sizes, gradient.sizes)
    target, _ = lowering.compute(node.outputs[0], images)
    one = sizes.fixed(1)
    before = [
        sizes.sub(sizes.sub(extent, one), pad)
        for extent, pad in zip(geometry.extents, geometry.before, strict=True)
    ]
    options = geometry.options(
        n=gradient.sizes[2:],
        k=filters.sizes[2:],
        m=lengths,
        s=[one] * op.ndim,
        d=geometry.dilations,
        f=before,
        e=geometry.strides,
    )
    options |= {"channels": geometry.filters_of_group, "filters": filters.sizes[1]}
    turned = _turned(filters, geometry, lowering, node)
    _sum(node, lowering, (gradient, turned), target, options)


def _turned(filters: View, geometry: _Geometry, lowering: Lowering, node: Apply) -> View:
    """Return filters flipped, with channels before the filters of each group, in new memory."""
    sizes = lowering.sizes
    for axis in range(2, filters.ndim):
        length = filters.sizes[axis]
        last = sizes.sub(length, sizes.fixed(1))
        filters = filters.sliced(axis, last, sizes.fixed(-1), length, sizes)
    inner, outer = filters.sizes[1], geometry.filters_of_group
    apart = filters.rearranged([None, 1, 0, *range(2, filters.ndim)], sizes)
    # The filters of a group are neighbours: the new first axis moves by as many.
    maps = tuple(
        AxisMap(
            (*map_.terms, *((0, sizes.mul(step, outer)) for axis, step in map_.terms if axis == 2)),
            map_.offset,
        )
        for map_ in apart.maps
    )
    lengths = (geometry.groups, inner, outer, *filters.sizes[2:])
    return lowering.copied(View(filters.array, maps, lengths), node)


@lowers(ConvByFilters)
def lower_conv_by_filters(op: ConvByFilters, node: Apply, lowering: Lowering) -> None:
    """A call that sums over images, in parts."""
    sizes = lowering.sizes
    images, gradient = (lowering.view(variable) for variable in node.inputs[:2])
    _check_support(op, images)
    lengths = [lowering.size_of(variable) for variable in node.inputs[2:]]
    inner = sizes.arithmetic("floordiv", images.sizes[1], sizes.fixed(op.groups))
    filters = [gradient.sizes[1], inner, *lengths]
    geometry = _Geometry(op, node, lowering, images.sizes, filters, gradient.sizes)
    target, _ = lowering.compute(node.outputs[0], filters)
    options = geometry.options(
        n=images.sizes[2:],
        k=lengths,
        m=geometry.counts,
        s=geometry.strides,
        d=geometry.dilations,
        f=geometry.before,
        e=[sizes.fixed(1)] * op.ndim,
    )
    options |= {"channels": inner, "filters": geometry.filters_of_group}
    dtype = target.array.dtype
    width = panel_width(dtype.itemsize)
    rows = _panel_options(options, sizes)
    wide = sizes.mul(
        sizes.arithmetic(
            "floordiv", sizes.add(options["filters"], sizes.fixed(width - 1)), sizes.fixed(width)
        ),
        sizes.fixed(width),
    )
    options["room"] = sizes.mul(sizes.add(rows, wide), sizes.fixed(width))
    one = sizes.fixed(1)
    sums = sizes.product([options["groups"], inner, _volume(options, "k", sizes), wide])
    most = sizes.arithmetic("floordiv", sizes.fixed(_SUMS), sizes.arithmetic("max", sums, one))
    parts = sizes.arithmetic(
        "min", sizes.arithmetic("min", images.sizes[0], sizes.fixed(_PARTS)), most
    )
    options["parts"] = sizes.arithmetic("max", parts, one)
    items = sizes.mul(options["groups"], options["parts"])
    ranges = sizes.arithmetic("min", items, sizes.fixed(RANGES))
    scratch = lowering.array(dtype, [sizes.mul(ranges, options["room"])])
    totals = lowering.array(dtype, [sizes.mul(options["parts"], sums)])
    inputs = tuple(lowering.contiguous(view, node).array for view in (images, gradient))
    workspace = (scratch, totals)
    lowering.add(LibraryCall(FILTERS_OF_IMAGES, inputs, (target.array,), options, node, workspace))


@lowers(MaxPool)
def lower_max_pool(op: MaxPool, node: Apply, lowering: Lowering) -> None:
    """A call for images in memory order."""
    sizes = lowering.sizes
    view = lowering.view(node.inputs[0])
    _check_support(op, view)
    lead = view.ndim - op.ndim
    one = sizes.fixed(1)
    counts = [
        _windows(op, axis, length, node, lowering) for axis, length in enumerate(view.sizes[lead:])
    ]
    options = {"images": sizes.product(view.sizes[:lead])}
    facts = {
        "n": view.sizes[lead:],
        "m": counts,
        "w": [sizes.fixed(size) for size in op.window],
        "s": [sizes.fixed(step) for step in op.stride],
        "p": [sizes.fixed(pad) for pad in op.padding],
    }
    for letter, given in facts.items():
        missing = [sizes.fixed(0) if letter == "p" else one] * (_AXES - op.ndim)
        options |= {f"{letter}{axis}": size for axis, size in enumerate([*missing, *given])}
    lengths = [*view.sizes[:lead], *counts]
    outputs = tuple(lowering.compute(out, lengths)[0].array for out in node.outputs)
    source = lowering.contiguous(view, node).array
    lowering.add(LibraryCall(MAX_POOL, (source,), outputs, options, node))


def _windows(op: MaxPool, axis: int, length: Size, node: Apply, lowering: Lowering) -> Size:
    """Return the number of windows along an axis."""
    sizes = lowering.sizes
    size, step, pad = op.window[axis], op.stride[axis], op.padding[axis]
    least = 1 if op.partial else max(1, size - 2 * pad)
    fits = sizes.arithmetic("lt", sizes.fixed(least - 1), length)
    lowering.require(fits, Failure(node, "size", "windows are larger than images"))
    stride, one, zero = sizes.fixed(step), sizes.fixed(1), sizes.fixed(0)
    if op.partial and step >= size:
        return sizes.arithmetic("floordiv", sizes.add(length, sizes.fixed(step - 1)), stride)
    # Windows after the first one; of partial ones, up to the one that reaches the end.
    room = sizes.add(length, sizes.fixed(2 * pad - size + (step - 1 if op.partial else 0)))
    more = sizes.arithmetic("floordiv", room, stride)
    return sizes.add(sizes.arithmetic("max", more, zero) if op.partial else more, one)
