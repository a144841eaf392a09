"""Pooling: the largest elements under windows that move over images."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import zeros
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.images.geometry import PLAIN, count_of, per_axis
from phintys.tensor.indexing import inc_subtensor
from phintys.tensor.ranges import arange
from phintys.tensor.reshaping import reshape
from phintys.tensor.shape_rules import Misfit, S, ShapedOp, Shapes, SizeArithmetic
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import (
    multiply_sizes,
)
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence


def pooled_size(
    length: Any,
    window: int,
    stride: int,
    padding: int,
    partial: bool,
    on: SizeArithmetic[Any] = PLAIN,
) -> Any:
    """Return the number of windows on an axis; of partial ones, as many as reach its end."""
    if not partial:
        return count_of(length, (padding, padding), window, stride, on)
    if stride >= window:
        return on.floor_div(on.add(length, stride - 1), stride)
    more = on.floor_div(on.add(length, stride - 1 - window), stride)
    return on.add(on.greatest(more, 0), 1)


class MaxPool(ShapedOp):
    """Return the largest elements under windows, and their places.

    The places are numbers of elements of an image in C order, int64: of the first one of equal
    elements, or of the first NaN if there is one. Only that element has a gradient.

    Parameters
    ----------
    window
        The size of windows along each of the last axes.
    stride
        The distance between windows.
    padding
        How far they reach beyond both ends of an axis, where there are no elements. It is less than
        the window.
    partial
        Whether windows at the end may lie on the image in part; then there is no padding.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.images.pooling import MaxPool
    >>> values, places = MaxPool((2,), (2,))([1.0, 3.0, 5.0, 2.0])
    >>> values.eval(), places.eval()
    (array([3., 5.]), array([1, 2]))
    """

    __props__ = ("window", "stride", "padding", "partial")

    def __init__(
        self,
        window: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int] | None = None,
        partial: bool = False,
    ) -> None:
        self.window = per_axis(tuple(window), len(window), "The window")
        self.ndim = len(self.window)
        self.stride = per_axis(tuple(stride), self.ndim, "The stride")
        padding = (0,) * self.ndim if padding is None else tuple(padding)
        self.padding = per_axis(padding, self.ndim, "The padding", 0)
        self.partial = bool(partial)
        if not self.ndim:
            msg = "The window of MaxPool has a size for each spatial axis, of which there are 0."
            raise ArgumentError(msg)
        if self.partial and any(self.padding):
            msg = f"Partial windows cannot be padded as well, got the padding {self.padding}."
            raise ArgumentError(msg)
        if any(pad >= size for pad, size in zip(self.padding, self.window, strict=True)):
            msg = (
                f"The padding {self.padding} is not less than the window {self.window}, so that "
                "there would be windows without elements."
            )
            raise ArgumentError(msg)

    @property
    def _axes(self) -> list[tuple[int, int, int, bool]]:
        return [
            (*facts, self.partial)
            for facts in zip(self.window, self.stride, self.padding, strict=True)
        ]

    def make_node(self, x: Any) -> Apply:
        """Apply to real images, of which the last axes are spatial."""
        x = as_tensor_variable(x)
        if x.ndim < self.ndim:
            msg = f"{self} takes tensors of rank {self.ndim} or more, got {x} of type {x.type}."
            raise ShapeError(msg)
        if x.type.numpy_dtype.kind == "c":
            msg = f"Complex numbers have no order: {self} got {x} of dtype {x.dtype}."
            raise DtypeError(msg)
        shape = self.static_shapes([x])[0]
        return Apply(self, [x], [TensorType(x.dtype, shape)(), TensorType("int64", shape)()])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the numbers of windows, of which one must fit."""
        (given,) = shapes.shapes
        lead = len(given) - self.ndim
        counts: list[S] = []
        for dim, (window, stride, padding, partial) in enumerate(self._axes, lead):
            least = 1 if partial else max(window - 2 * padding, 1)
            misfit = Misfit("size", f"dimension {dim}: less than {least}", dim)
            length = shapes.at_least(given[dim], least, misfit)
            counts.append(pooled_size(length, window, stride, padding, partial, shapes))
        sizes = (*given[:lead], *counts)
        return [sizes, sizes]

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name the sizes."""
        return f"{self}: the size of images"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> ShapeError:
        """Show the shape, and what to change."""
        shape = shapes.shapes[0]
        remedy = " Use smaller windows, padding, or partial windows."
        return ShapeError(
            f"{self}: windows of {self.window} elements do not fit on images of shape "
            f"{tuple(shape[len(shape) - self.ndim :])}.{remedy if shape[misfit.dim] else ''}"
        )

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Compare the elements of all windows at once, one place in the window after the other."""
        (x,) = inputs
        shape = self.shapes_of_results(node.inputs, [x.shape])[0]
        lead = x.ndim - self.ndim
        values = np.zeros(shape, x.dtype)
        places = np.full(shape, -1, np.int64)
        starts = [
            np.arange(count) * stride - padding
            for count, (_, stride, padding, _) in zip(shape[lead:], self._axes, strict=True)
        ]
        for element in product(*map(range, self.window)):
            at = [start + k for start, k in zip(starts, element, strict=True)]
            sizes = x.shape[lead:]
            clipped = [where.clip(0, n - 1) for where, n in zip(at, sizes, strict=True)]
            grid = np.ix_(*clipped)
            found = x[(..., *grid)]
            number = np.ravel_multi_index(grid, sizes)
            is_better = (places < 0) | (found > values)
            if x.dtype.kind == "f":
                is_better |= np.isnan(found) & ~np.isnan(values)
            for where, index in zip(np.ix_(*at), grid, strict=True):
                is_better &= where == index  # not beyond an end
            values = np.where(is_better, found, values)
            places = np.where(is_better, number, places)
        output_storage[0][0], output_storage[1][0] = values, places

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return that the values are differentiated, and places are not."""
        return [[True, False]]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Add the gradient to the places."""
        (x,), (_, places), g = inputs, outputs, output_grads[0]
        if is_discrete(x):
            return [zero_gradient(x)]
        if is_missing(g):
            return [disconnected_type()]
        return [self.spread(x, places, g)]

    def spread(self, x: Any, places: Any, values: Any) -> Any:
        """Return zeros, of the shape of images, with values added at the places of their windows.

        Parameters
        ----------
        x
            The images.
        places
            The places that the Op returns for them.
        values
            A tensor of the same shape.
        """
        number, at = self._rows(places)
        length = multiply_sizes(sizes_of(x)[x.ndim - self.ndim :])
        flat = zeros((number, length), values.dtype)
        return reshape(inc_subtensor(flat[at], self._rows_of(values)), sizes_of(x))

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the tangents at the places."""
        (x,), (v,) = inputs, eval_points
        if is_missing(v):
            return [None, None]
        values, places = self(x)
        if is_discrete(x):
            return [zero_gradient(values), zero_gradient(places)]
        _, at = self._rows(places)
        return [reshape(self._rows_of(v)[at], sizes_of(values)), zero_gradient(places)]

    def _rows_of(self, x: Any) -> Any:
        """Return a matrix with a row for each image."""
        sizes = sizes_of(x)
        lead = len(sizes) - self.ndim
        return reshape(x, (multiply_sizes(sizes[:lead]), multiply_sizes(sizes[lead:])))

    def _rows(self, places: Any) -> tuple[Any, Any]:
        """Return the number of images, and the index of places in the matrix of their rows."""
        columns = self._rows_of(places)
        number = sizes_of(columns)[0]
        return number, (expand_dims(arange(number), 1), columns)

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return a comparison for each element of each window."""
        return prod(self.window) * prod(int(size) for size in output_shapes[0])

    def __str__(self) -> str:
        facts = [f"window={self.window}"]
        facts += [f"stride={self.stride}"] * (self.stride != self.window)
        facts += [f"padding={self.padding}"] * any(self.padding)
        return f"MaxPool{{{', '.join(facts + ['partial'] * self.partial)}}}"
