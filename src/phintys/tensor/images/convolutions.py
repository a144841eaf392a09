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
from phintys.graph.op import Op
from phintys.tensor import math
from phintys.tensor._rules import add_all, conjugate, is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import given_lengths
from phintys.tensor.images.geometry import (
    count_of,
    extent_of,
    floor_div_sizes,
    pads_of,
    per_axis,
    per_axis_padding,
    room_of,
)
from phintys.tensor.known import known_int
from phintys.tensor.shapes import sizes_of
from phintys.tensor.size_check import with_check
from phintys.tensor.sizes import as_size, fold, multiply_sizes
from phintys.tensor.type import TensorType, promote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.fgraph import FunctionGraph

    Shape = Sequence[Any]

__all__ = ["FILTERS", "IMAGES", "RESULT", "Conv", "ConvByFilters", "ConvByImages"]

IMAGES, FILTERS, RESULT = range(3)
"""The three arrays."""

_NAMES = ("images", "filters", "gradient")
_AXES = ("images, channels", "filters, channels of a group", "images, filters")


class _Part(Op):
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
        known = self._shape([x.type.shape for x in operands], [known_int(size) for size in sizes])
        return Apply(self, operands + sizes, [TensorType(dtype, known)()])

    def _shape(self, given: Sequence[Shape], lengths: Shape) -> tuple[Any, ...]:
        """Return the computed shape, after checks of all sizes that are known.

        Unknown sizes are ``None``.
        """
        shapes = images, filters, result = self._shapes(given, lengths)
        self._check_groups(images, filters)
        self._check_fit(images, filters)
        wanted = self._result_shape(images, filters)
        if any(
            None not in pair and pair[0] != pair[1] for pair in zip(result, wanted, strict=True)
        ):
            msg = (
                f"{self}: the gradient has the shape {_text(result)}, but {_text(wanted)} follows "
                f"from images of shape {_text(images)} and filters of shape {_text(filters)}."
            )
            raise ShapeError(msg)
        return tuple(shapes[self.computes])

    def _check_fit(self, images: Shape, filters: Shape) -> None:
        """Check that filters have elements, and fit on images."""
        for axis, length in enumerate(filters[2:]):
            if length is not None and length < 1:
                msg = f"{self}: filters have the shape {_text(filters)}, without elements."
                raise ShapeError(msg)
            room = self._known(axis, images, filters, room_of)
            if room is not None and room < 0:
                msg = (
                    f"{self}: filters of shape {_text(filters)} do not fit on images of shape "
                    f"{_text(images)} along spatial axis {axis}: {-room} elements are missing. Use "
                    "smaller filters, or more padding."
                )
                raise ShapeError(msg)

    def _check_groups(self, images: Shape, filters: Shape) -> None:
        """Check that there are as many channels as filters are for, in equal groups."""
        groups = self.groups
        channels, inner = images[1], filters[1]
        if None not in {channels, inner} and channels != inner * groups:
            in_groups = f" in each of {groups} groups" if groups > 1 else ""
            msg = (
                f"{self}: images of shape {_text(images)} have {channels} channels, and filters of "
                f"shape {_text(filters)} are for {inner}{in_groups}. The axes are (images, "
                "channels, ...) and (filters, channels of a group, ...)."
            )
            raise ShapeError(msg)
        for number, what in ((channels, "channels"), (filters[0], "filters")):
            if number is not None and number % groups:
                msg = f"{self}: {number} {what} cannot be divided into {groups} equal groups."
                raise ShapeError(msg)

    def _shapes(self, given: Sequence[Shape], lengths: Shape) -> list[Shape]:
        """Return the shapes of images, filters and result; unknown sizes are ``None``."""
        if self.computes == RESULT:
            images, filters = given
            return [images, filters, self._result_shape(images, filters)]
        if self.computes == IMAGES:
            filters, result = given
            channels = None if filters[1] is None else filters[1] * self.groups
            return [(result[0], channels, *lengths), filters, result]
        images, result = given
        inner = None if images[1] is None else images[1] // self.groups
        return [images, (result[1], inner, *lengths), result]

    def _result_shape(self, images: Shape, filters: Shape) -> tuple[int | None, ...]:
        counts = [
            self._known(axis, images, filters, count_of, stride)
            for axis, stride in enumerate(self.stride)
        ]
        return images[0], filters[0], *counts

    def _known(self, axis: int, images: Shape, filters: Shape, rule: Any, *more: int) -> int | None:
        """Return what a rule of the geometry says of an axis, if its sizes are known."""
        length, inner = images[2 + axis], filters[2 + axis]
        if length is None or inner is None:
            return None
        return rule(length, self.padding[axis], extent_of(inner, self.dilation[axis]), *more)

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Apply, input_shapes: Sequence[Any]
    ) -> list[Any]:
        """Return the sizes, with the checks of :meth:`perform`."""
        first, second, *_ = input_shapes
        lengths = tuple(fold(size) for size in node.inputs[2:])
        if self.computes == RESULT:
            images, filters, given = first, second, None
        elif self.computes == IMAGES:
            filters, given = first, second
            images = (given[0], multiply_sizes((filters[1], self.groups)), *lengths)
        else:
            images, given = first, second
            filters = (given[1], floor_div_sizes(images[1], self.groups), *lengths)
        checks: list[tuple[Any, ...]] = []
        counts: list[Any] = []
        axes = zip(images[2:], filters[2:], self.padding, self.dilation, self.stride, strict=True)
        for length, inner, padding, dilation, stride in axes:
            extent = extent_of(inner, dilation)
            counts.append(count_of(length, padding, extent, stride))
            room = room_of(length, padding, extent)
            checks.append(("at least", inner, 1, "the size of filters"))
            checks.append(("at least", room, 0, "the room for filters on padded images"))
        result = (images[0], filters[0], *counts)
        if given is not None:
            pairs = zip(given, result, strict=True)
            checks += [("equal", *pair, "a size of the gradient") for pair in pairs]
        channels = multiply_sizes((filters[1], self.groups))
        checks.append(("equal", images[1], channels, "the number of channels"))
        whole = multiply_sizes((floor_div_sizes(filters[0], self.groups), self.groups))
        checks.append(("equal", filters[0], whole, "the number of filters of all groups"))
        sizes = (images, filters, result)[self.computes]
        for relation, a, b, subject in checks:
            sizes = with_check(sizes, relation, a, b, f"{self}: {subject}")
        return [sizes]

    # ---- values --------------------------------------------------------------------------------

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Check the shapes, and compute with NumPy, group by group."""
        first, second, *lengths = inputs
        lengths = [int(length) for length in lengths]
        shape = self._shape([first.shape, second.shape], lengths)
        shapes = self._shapes([first.shape, second.shape], lengths)
        out = np.zeros(given_lengths(self, shape, first.dtype), first.dtype)
        extents = [
            extent_of(length, dilation)
            for length, dilation in zip(shapes[FILTERS][2:], self.dilation, strict=True)
        ]
        pads = [pads_of(*pair) for pair in zip(self.padding, extents, strict=True)]
        if out.size:  # otherwise there may be any number of groups
            self._compute(first, second, out, extents, pads)
        output_storage[0][0] = out

    def _compute(self, first: Any, second: Any, out: Any, extents: Any, pads: Any) -> None:
        raise NotImplementedError

    def _windows(self, images: Any, extents: Any, pads: Any) -> Any:
        """Return the elements under each filter: images, channels, places, elements."""
        padded = np.pad(images, [(0, 0), (0, 0), *pads])
        axes = tuple(range(2, 2 + self.ndim))
        found = np.lib.stride_tricks.sliding_window_view(padded, tuple(extents), axes)
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
