"""The Ops of convolutions: one for the result, and one for each gradient.

All of them compute a part of the same sum of products of three arrays, images ``x[n, c, i]``,
filters ``w[o, c, k]`` and results ``y[n, o, j]``::

    sum x[n, c, j * stride + k * dilation - padding] * w[o, c, k] * y[n, o, j]

Its derivative by one of the arrays is an Op of the other two. So the derivatives of each of the
three Ops are the other two, of any order. Elements outside of the images are 0.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.tensor import math
from phintys.tensor._rules import add_all, conjugate, is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import given_lengths
from phintys.tensor.images.geometry import (
    count_of,
    extent_of,
    pads_of,
    per_axis,
    per_axis_padding,
    room_of,
)
from phintys.tensor.shape_rules import ExactShapes, Misfit, S, ShapedOp, Shapes
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size
from phintys.tensor.type import TensorType, promote

if TYPE_CHECKING:
    from collections.abc import Sequence

    Shape = Sequence[Any]

IMAGES, FILTERS, RESULT = range(3)
"""The three arrays."""

_NAMES = ("images", "filters", "gradient")
_AXES = ("images, channels", "filters, channels of a group", "images, filters")


_CHANNELS = Misfit("channels", "{0} channels of images and {1} of filters")
_CHANNELS_LEFT = Misfit("groups of channels", "{0} channels, of which {1} are in equal groups")
_FILTERS_LEFT = Misfit("groups", "{0} filters, of which {1} are in equal groups")
_EMPTY = Misfit("empty", "filters without elements")
_ROOM, _GRADIENT = "room", "gradient"

_SUBJECTS = {
    _CHANNELS.kind: "the number of channels",
    _FILTERS_LEFT.kind: "the number of filters of all groups",
    _EMPTY.kind: "the size of filters",
    _ROOM: "the room for filters on padded images",
    _GRADIENT: "a size of the gradient",
}
"""What misfits are about."""


class _Part(ShapedOp):
    """Base class of the three: computes one of the arrays from the other two.

    Parameters
    ----------
    stride, dilation
        The distance between the places of filters, and between the elements of a filter, along
        each spatial axis.
    padding
        For each axis ``"half"``, ``"full"``, or the number of elements before and behind it.
    groups
        The number of groups into which channels and filters are divided.
    """

    __props__: ClassVar[tuple[str, ...]] = ("stride", "padding", "dilation", "groups")

    computes: ClassVar[int]

    def __init__(
        self,
        stride: Sequence[int],
        padding: Sequence[Any] | None = None,
        dilation: Sequence[int] | None = None,
        groups: int = 1,
    ) -> None:
        self.stride = per_axis(tuple(stride), len(stride), "The stride")
        self.ndim = len(self.stride)
        if not self.ndim:
            msg = f"{type(self).__name__} has a stride for each spatial axis, of which there are 0."
            raise ArgumentError(msg)
        padding = (0,) * self.ndim if padding is None else tuple(padding)
        self.padding = per_axis_padding(padding, self.ndim)
        dilation = (1,) * self.ndim if dilation is None else tuple(dilation)
        self.dilation = per_axis(dilation, self.ndim, "The dilation")
        (self.groups,) = per_axis(groups, 1, "The number of groups")

    @property
    def given(self) -> list[int]:
        """Which arrays the first two inputs are."""
        return [role for role in range(3) if role != self.computes]

    def _other(self, role: int) -> _Part:
        """Return the Op that computes another one of the arrays."""
        return _OPS[role](self.stride, self.padding, self.dilation, self.groups)

    # ---- shapes --------------------------------------------------------------------------------

    def make_node(self, first: Any, second: Any, *lengths: Any) -> Apply:
        """Apply to two of the arrays, and to the spatial sizes of the computed one.

        The sizes of the result follow from the others, and are not given.
        """
        operands: list[Any] = [as_tensor_variable(x) for x in (first, second)]
        for x, role in zip(operands, self.given, strict=True):
            if x.ndim != self.ndim + 2:
                msg = (
                    f"{self} takes {_NAMES[role]} of rank {self.ndim + 2}, with the axes "
                    f"{_AXES[role]} and {self.ndim} spatial ones; got {x} of type {x.type}."
                )
                raise ShapeError(msg)
        wanted = 0 if self.computes == RESULT else self.ndim
        if len(lengths) != wanted:
            msg = f"{self} takes {wanted} spatial sizes, got {len(lengths)}."
            raise ArgumentError(msg)
        dtype = promote(*(x.dtype for x in operands))
        operands = [x if x.dtype == dtype else math.cast(x, dtype) for x in operands]
        sizes = [as_size(length, "A spatial size") for length in lengths]
        inputs = [*operands, *sizes]
        return Apply(self, inputs, [TensorType(dtype, *self.static_shapes(inputs))()])

    def arrays(self, shapes: Shapes[Any]) -> tuple[Any, Any, Any]:
        """Return the sizes of images, filters, and a result that is given or ``None``."""
        first, second = shapes.shapes[:2]
        lengths = [shapes.value(at) for at in range(2, len(shapes.inputs))]
        if self.computes == RESULT:
            return first, second, None
        if self.computes == IMAGES:
            channels = shapes.multiply(first[1], self.groups)
            return (second[0], channels, *lengths), first, second
        return first, (second[1], shapes.floor_div(first[1], self.groups), *lengths), second

    def extents(self, shapes: Shapes[Any], filters: Sequence[Any]) -> list[Any]:
        """Return how far filters reach along each spatial axis."""
        pairs = zip(filters[2:], self.dilation, strict=True)
        return [extent_of(length, dilation, shapes) for length, dilation in pairs]

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the sizes of the array that is computed, after checks that all fit."""
        images, filters, given = self.arrays(shapes)
        shapes.equal(images[1], shapes.multiply(filters[1], self.groups), _CHANNELS)
        if self.groups > 1:
            channels, number = (
                shapes.multiply(shapes.floor_div(size, self.groups), self.groups)
                for size in (images[1], filters[0])
            )
            # The first check implies this one, unless the channels of filters are unknown.
            shapes.agreed((images[1], channels), _CHANNELS_LEFT)
            shapes.equal(filters[0], number, _FILTERS_LEFT)
        counts: list[S] = []
        axes = zip(images[2:], self.extents(shapes, filters), self.padding, strict=True)
        for axis, (length, extent, padding) in enumerate(axes):
            shapes.at_least(filters[2 + axis], 1, _EMPTY)
            room = room_of(length, padding, extent, shapes)
            shapes.at_least(room, 0, Misfit(_ROOM, "filters are larger than padded images", axis))
            counts.append(shapes.add(shapes.floor_div(room, self.stride[axis]), 1))
        result = (images[0], filters[0], *counts)
        for dim, pair in enumerate(zip(given or (), result, strict=False)):
            shapes.equal(*pair, Misfit.in_dimension(_GRADIENT, dim))
        return [tuple((images, filters, result)[self.computes])]

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name what must fit."""
        return f"{self}: {_SUBJECTS[misfit.kind]}"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> ShapeError:
        """Show the shapes, and what to change."""
        images, filters, given = self.arrays(shapes)
        return ShapeError(f"{self}: {self._wrong(misfit, shapes, images, filters, given)}")

    def _wrong(
        self, misfit: Misfit, shapes: Shapes[Any], images: Shape, filters: Shape, given: Shape
    ) -> str:
        groups = self.groups
        if misfit is _CHANNELS:
            in_groups = f" in each of {groups} groups" if groups > 1 else ""
            return (
                f"images of shape {_text(images)} have {images[1]} channels, and filters of shape "
                f"{_text(filters)} are for {filters[1]}{in_groups}. The axes are (images, "
                "channels, ...) and (filters, channels of a group, ...)."
            )
        if misfit is _CHANNELS_LEFT or misfit is _FILTERS_LEFT:
            number, what = images[1], "channels"
            if misfit is _FILTERS_LEFT:
                number, what = filters[0], "filters"
            return f"{number} {what} cannot be divided into {groups} equal groups."
        if misfit is _EMPTY:
            return f"filters have the shape {_text(filters)}, without elements."
        extents = self.extents(shapes, filters)
        axes = list(zip(images[2:], self.padding, extents, strict=True))
        if misfit.kind == _ROOM:
            return (
                f"filters of shape {_text(filters)} do not fit on images of shape {_text(images)} "
                f"along spatial axis {misfit.dim}: {-room_of(*axes[misfit.dim], shapes)} elements "
                "are missing. Use smaller filters, or more padding."
            )
        strides = zip(axes, self.stride, strict=True)
        counts = [count_of(*axis, stride, shapes) for axis, stride in strides]
        return (
            f"the gradient has the shape {_text(given)}, but "
            f"{_text((images[0], filters[0], *counts))} follows from images of shape "
            f"{_text(images)} and filters of shape {_text(filters)}."
        )

    # ---- values --------------------------------------------------------------------------------

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Check the shapes, and compute with NumPy, group by group."""
        first, second, *lengths = inputs
        given = [x.shape for x in inputs]
        shapes = ExactShapes(self, node.inputs, given, [first, second, *map(int, lengths)])
        (shape,) = self.output_shapes(shapes)
        out = np.zeros(given_lengths(self, shape, first.dtype), first.dtype)
        extents = self.extents(shapes, self.arrays(shapes)[1])
        pads = [pads_of(*pair) for pair in zip(self.padding, extents, strict=True)]
        if out.size:  # otherwise there may be any number of groups
            self._compute(first, second, out, extents, pads)
        output_storage[0][0] = out

    def _compute(self, first: Any, second: Any, out: Any, extents: Any, pads: Any) -> None:
        raise NotImplementedError

    def _windows(self, images: Any, extents: Any, pads: Any) -> Any:
        """Return the elements under each filter: images, channels, places, elements."""
        if any(map(any, pads)):
            images = np.pad(images, [(0, 0), (0, 0), *pads])
        axes = tuple(range(2, 2 + self.ndim))
        found = np.lib.stride_tricks.sliding_window_view(images, tuple(extents), axes)
        steps = [slice(None, None, step) for step in (*self.stride, *self.dilation)]
        return found[(slice(None), slice(None), *steps)]

    def _of_group(self, array: Any, axis: int, group: int) -> Any:
        width = array.shape[axis] // self.groups
        part = slice(group * width, (group + 1) * width)
        return array[(slice(None),) * axis + (part,)]

    # ---- derivatives ---------------------------------------------------------------------------

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return that sizes have no gradient."""
        return [[True], [True], *[[False] for _ in node.inputs[2:]]]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the other two Ops, each of the gradient and the other input."""
        operands, (g,) = list(inputs[:2]), output_grads
        disconnected = [disconnected_type() for _ in inputs[2:]]
        if is_discrete(operands[0]):
            return [*(zero_gradient(x) for x in operands), *disconnected]
        gradients: list[Any] = []
        for at, role in enumerate(self.given):
            values = {self.computes: g, self.given[1 - at]: conjugate(operands[1 - at])}
            first, second = (values[other] for other in sorted(values))
            lengths = () if role == RESULT else sizes_of(operands[at])[2:]
            gradients.append(self._other(role)(first, second, *lengths))
        return [*gradients, *disconnected]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the sum of the values with each of both arrays replaced by its tangent."""
        (first, second, *lengths), (v, w, *_) = inputs, eval_points
        if is_missing(v) and is_missing(w):
            return [None]
        if is_discrete(first):
            return [zero_gradient(self(first, second, *lengths))]
        terms = [] if is_missing(v) else [self(v, second, *lengths)]
        terms += [] if is_missing(w) else [self(first, w, *lengths)]
        return [add_all(terms)]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return a product and a sum for each element under each filter."""
        shapes = dict(zip(self.given, input_shapes[:2], strict=True))
        shapes[self.computes] = output_shapes[0]
        per_place = prod(int(size) for size in shapes[FILTERS][1:])
        return 2 * per_place * prod(int(size) for size in shapes[RESULT])

    def __str__(self) -> str:
        facts = [] if set(self.stride) == {1} else [f"stride={self.stride}"]
        if any(padding != (0, 0) for padding in self.padding):
            facts.append(f"padding={self.padding}")
        facts += [] if set(self.dilation) == {1} else [f"dilation={self.dilation}"]
        facts += [f"groups={self.groups}"] * (self.groups > 1)
        return type(self).__name__ + f"{{{', '.join(facts)}}}" * bool(facts)


def _text(shape: Shape) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


class Conv(_Part):
    """Return the sums of products of filters with images, at each place of the filters.

    Its inputs are images and filters, whose axes are ``(images, channels, ...)`` and ``(filters,
    channels of a group, ...)``; the result has ``(images, filters, ...)``. Filters are not flipped.

    Parameters
    ----------
    stride, padding, dilation, groups
        As for :func:`phintys.tensor.signal.conv`, one for each spatial axis.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.images.convolutions import Conv
    >>> Conv((1,))([[[1.0, 2.0, 4.0]]], [[[1.0, 10.0]]]).eval()
    array([[[21., 42.]]])
    """

    computes = RESULT

    def _compute(self, first: Any, second: Any, out: Any, extents: Any, pads: Any) -> None:
        windows = self._windows(first, extents, pads)
        inner = range(2 + self.ndim, 2 + 2 * self.ndim)
        for group in range(self.groups):
            ours, filters = self._of_group(windows, 1, group), self._of_group(second, 0, group)
            sums = np.tensordot(ours, filters, ((1, *inner), range(1, 2 + self.ndim)))
            self._of_group(out, 1, group)[...] = np.moveaxis(sums, -1, 1)


class ConvByImages(_Part):
    """Return the gradient with respect to images, given filters and the gradient of the result.

    Parameters
    ----------
    stride, padding, dilation, groups
        As for :class:`Conv`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.images.convolutions import ConvByImages
    >>> ConvByImages((2,))([[[1.0, 10.0]]], [[[1.0, 2.0]]], 5).eval()
    array([[[ 1., 10.,  2., 20.,  0.]]])
    """

    computes = IMAGES

    def _compute(self, first: Any, second: Any, out: Any, extents: Any, pads: Any) -> None:
        padded = np.pad(out, [(0, 0), (0, 0), *pads])
        counts = second.shape[2:]
        for group in range(self.groups):
            filters, result = self._of_group(first, 0, group), self._of_group(second, 1, group)
            terms = np.tensordot(result, filters, (1, 0))  # images, places, channels, elements
            terms = np.moveaxis(terms, 1 + self.ndim, 1)
            ours = self._of_group(padded, 1, group)
            for element in product(*map(range, first.shape[2:])):
                places = tuple(
                    slice(k * dilation, k * dilation + (count - 1) * step + 1, step)
                    for k, dilation, count, step in zip(
                        element, self.dilation, counts, self.stride, strict=True
                    )
                )
                ours[(slice(None), slice(None), *places)] += terms[(..., *element)]
        inside = [
            slice(before, before + n) for (before, _), n in zip(pads, out.shape[2:], strict=True)
        ]
        out[...] = padded[(slice(None), slice(None), *inside)]


class ConvByFilters(_Part):
    """Return the gradient with respect to filters, given images and the gradient of the result.

    Parameters
    ----------
    stride, padding, dilation, groups
        As for :class:`Conv`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.images.convolutions import ConvByFilters
    >>> ConvByFilters((1,))([[[1.0, 2.0, 4.0]]], [[[1.0, 10.0]]], 2).eval()
    array([[[21., 42.]]])
    """

    computes = FILTERS

    def _compute(self, first: Any, second: Any, out: Any, extents: Any, pads: Any) -> None:
        windows = self._windows(first, extents, pads)
        summed = (0, *range(2, 2 + self.ndim))
        for group in range(self.groups):
            ours, result = self._of_group(windows, 1, group), self._of_group(second, 1, group)
            self._of_group(out, 0, group)[...] = np.tensordot(result, ours, (summed, summed))


_OPS: dict[int, type[_Part]] = {IMAGES: ConvByImages, FILTERS: ConvByFilters, RESULT: Conv}
