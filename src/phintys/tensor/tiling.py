"""Repeating, tiling and rolling, expressed by other ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import DtypeError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import grad_undefined
from phintys.graph.op import Op
from phintys.graph.variable import Variable
from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import alloc, as_sizes
from phintys.tensor.dim_shuffle import dimshuffle, expand_dims, listed_axes, normalize_axis
from phintys.tensor.joining import Join, join
from phintys.tensor.known import known_sizes
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shapes import sizes_of, specify_shape
from phintys.tensor.sizes import as_size, fold, multiply_sizes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.tensor.variable import TensorVariable


class RepeatIndex(Op):
    """Return 0, 1, 2, ..., each repeated as often as a vector of counts says.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.RepeatIndex()(pt.constant([2, 0, 3])).eval()
    array([0, 0, 2, 2, 2])
    """

    __props__ = ()

    def make_node(self, counts: Any) -> Apply:
        counts = as_tensor_variable(counts)
        if counts.ndim != 1 or counts.type.numpy_dtype.kind not in "iu":
            msg = f"{self} takes a vector of integers, got {counts} of type {counts.type}."
            raise DtypeError(msg)
        known = known_sizes(counts)
        total = None if known is None or None in known else sum(known)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if known is not None and any(count is not None and count < 0 for count in known):
            raise self._negative(known)
        return Apply(self, [counts], [TensorType("int64", (total,))()])

    def _negative(self, counts: Any) -> ShapeError:
        return ShapeError(f"{self}: counts must not be negative, got {tuple(counts)}.")

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        counts = inputs[0].astype(np.int64)
        if counts.size and counts.min() < 0:
            raise self._negative(counts.tolist())
        if counts.sum(dtype="float64") >= 2.0**62:  # np.repeat would write out of bounds
            msg = (
                f"{self}: the sum of the counts, {sum(counts.tolist())}, is too long for an array."
            )
            raise ShapeError(msg)
        output_storage[0][0] = np.repeat(np.arange(len(counts)), counts)

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Any, input_shapes: Sequence[Any]
    ) -> list[Any]:
        return [(as_size(operators.sum(math.cast(node.inputs[0], "int64"))),)]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        return [grad_undefined(self, 0, inputs[0], "nothing is repeated a fraction of a time")]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None]


@also_named
def repeat(x: Any, repeats: Any, axis: int | None = None) -> TensorVariable:
    """Return ``x`` with its elements along ``axis`` repeated.

    Parameters
    ----------
    x
        A tensor.
    repeats
        The number of repetitions: an int or symbolic integer; or a vector, one entry per element.
    axis
        The dimension; by default ``x`` is flattened first.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``x``; a vector for ``axis=None``.

    Raises
    ------
    ShapeError
        The length of ``repeats`` is not that of the dimension, or an entry is negative.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.repeat([1, 2], 2).eval(), pt.repeat([1, 2], [1, 3]).eval()
    (array([1, 1, 2, 2]), array([1, 2, 2, 2]))
    """
    x = as_tensor_variable(x)
    if axis is None:
        x, axis = flatten(x), 0
    axis = normalize_axis(axis, x.ndim)
    repeats = as_tensor_variable(repeats)
    if repeats.type.shape == (1,):
        repeats = repeats[0]
    if repeats.ndim == 0:
        (count,) = as_sizes(repeats, "The number of repeats")
        return _repeat_evenly(x, fold(count), axis)
    if repeats.ndim != 1:
        msg = f"repeat: the counts are one number or a vector, got {repeats} of {repeats.type}."
        raise ShapeError(msg)
    counts = specify_shape(repeats, (sizes_of(x)[axis],))
    return operators.take(x, RepeatIndex()(counts), axis=axis)


def _repeat_evenly(x: Any, count: Any, axis: int) -> TensorVariable:
    sizes = list(sizes_of(x))
    spread = alloc(expand_dims(x, axis + 1), [*sizes[: axis + 1], count, *sizes[axis + 1 :]])
    sizes[axis] = multiply_sizes((sizes[axis], count))
    return reshape(spread, sizes)


@also_named
def tile(x: Any, reps: Any, ndim: int | None = None) -> TensorVariable:
    """Return copies of ``x`` laid out side by side.

    Parameters
    ----------
    x
        A tensor.
    reps
        The number of copies in each dimension: an int, a list or tuple of ints and symbolic
        integers, or a symbolic vector. It applies to the last dimensions.
    ndim
        Number of dimensions of the result, if more than those of ``x`` and the length of ``reps``.
        Needed if ``reps`` is a vector whose length is known only at run time; it has at most this
        many elements then.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``x``, whose sizes are multiplied by ``reps``.

    Raises
    ------
    ShapeError
        ``ndim`` is too small, or needed and not given.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.tile([1, 2], (2, 2)).eval()
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    x = as_tensor_variable(x)
    if isinstance(reps, Variable):
        reps = _filled(as_tensor_variable(reps), ndim)
    counts = [fold(count) for count in as_sizes(reps, "The number of copies")]
    wanted = max(x.ndim, len(counts))
    if ndim is not None:
        if ndim < wanted:
            msg = f"tile: the result has at least {wanted} dimensions, got ndim={ndim}."
            raise ShapeError(msg)
        wanted = ndim
    counts = [1] * (wanted - len(counts)) + counts
    sizes = [1] * (wanted - x.ndim) + list(sizes_of(x))
    order: list[int | str] = []
    for dim in range(wanted):
        order += ["x", "x" if dim < wanted - x.ndim else dim - (wanted - x.ndim)]
    pairs = list(zip(counts, sizes, strict=True))
    spread = alloc(dimshuffle(x, *order), [size for pair in pairs for size in pair])
    return reshape(spread, [multiply_sizes(pair) for pair in pairs])


def _filled(reps: Any, ndim: int | None) -> Any:
    """Return numbers of copies in ``ndim`` dimensions, if it is not known how many are given."""
    if reps.ndim != 1 or reps.type.shape[0] is not None or known_sizes(reps) is not None:
        return reps
    if ndim is None:
        msg = (
            f"tile: the length of reps = {reps} (type {reps.type}) is not known, and so neither is "
            "the number of dimensions of the result: give it as ndim=..."
        )
        raise ShapeError(msg)
    (length,) = sizes_of(reps)
    missing = math.maximum(math.sub(ndim, length), 0)
    return specify_shape(join(0, alloc(np.int64(1), missing), reps), (ndim,))


@also_named
def roll(x: Any, shift: Any, axis: Any = None) -> TensorVariable:
    """Return ``x`` with its elements shifted cyclically along dimensions.

    Parameters
    ----------
    x
        A tensor.
    shift
        How far to shift: an int or symbolic integer; a tuple of them for a tuple of axes.
    axis
        The dimension, or a tuple of them; by default ``x`` is rolled as if it were flat.

    Returns
    -------
    TensorVariable
        A tensor with the shape and dtype of ``x``.

    Raises
    ------
    ShapeError
        There are several shifts, but not as many as axes.
    AxisError
        An axis is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.roll([1, 2, 3], 1).eval()
    array([3, 1, 2])
    """
    x = as_tensor_variable(x)
    if axis is None:
        return reshape(roll(flatten(x), shift, 0), sizes_of(x))
    axes = [normalize_axis(entry, x.ndim) for entry in listed_axes(axis)]
    shifts = list(shift) if isinstance(shift, list | tuple) else [shift]
    if len(shifts) not in {1, len(axes)} and len(axes) != 1:
        msg = f"roll: {len(shifts)} shifts for {len(axes)} axes."
        raise ShapeError(msg)
    for position in range(max(len(axes), len(shifts))):
        dim = axes[position if len(axes) > 1 else 0]
        x = _roll(x, shifts[position if len(shifts) > 1 else 0], dim)
    return x


def _roll(x: Any, shift: Any, dim: int) -> Any:
    size = sizes_of(x)[dim]
    distance = fold(as_size(shift, "A shift"))
    if isinstance(size, int) and isinstance(distance, int):
        cut = -distance % size if size else 0
    else:
        cut = math.mod(-distance, math.maximum(size, 1))
    before = (slice(None),) * dim
    return Join(dim)(x[(*before, slice(cut, None))], x[(*before, slice(None, cut))])
