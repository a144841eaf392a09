"""Indices of the largest and smallest elements."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import DtypeError, OpContractError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import grad_undefined
from phintys.graph.op import Op
from phintys.graph.variable import Constant, Variable
from phintys.tensor._rules import Axis, OverAxes, is_missing, without_axes, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import normalize_axes, normalize_axis
from phintys.tensor.reduce import max, with_kept_dims
from phintys.tensor.shape_rules import S, ShapedOp, Shapes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.tensor.variable import TensorVariable

_FUNCTIONS: dict[str, Callable[..., Any]] = {"max": np.argmax, "min": np.argmin}


def _refuse_empty(op: Op, variable: Variable, shape: tuple[int, ...], axis: int) -> None:
    if shape[axis] == 0:
        msg = (
            f"{op}: {variable} has the shape {shape}, with no element along axis {axis}, so "
            "there is no index to return. Make sure that there is an element."
        )
        raise ShapeError(msg)


class _ArgExtreme(OverAxes, ShapedOp):
    """Base class of :class:`Argmax` and :class:`Argmin`."""

    which: ClassVar[str]

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor that has the axes."""
        x = self.operand(x)
        shape = without_axes(x.type.shape, self.axes(x.ndim))
        return Apply(self, [x], [TensorType("int64", shape)()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Search with NumPy, with several axes merged into one."""
        (x,) = inputs
        axes = self.axes(x.ndim)
        if x.size == 0:
            for axis in axes:
                _refuse_empty(self, node.inputs[0], x.shape, axis)
        find = _FUNCTIONS[self.which]
        if len(axes) == x.ndim:
            index = find(x)
        elif len(axes) == 1:
            index = find(x, axes[0])
        else:
            kept = [dim for dim in range(x.ndim) if dim not in axes]
            length = int(np.prod([x.shape[dim] for dim in axes], dtype=int))
            moved = x.transpose(*kept, *axes)
            index = find(moved.reshape(*moved.shape[: len(kept)], length), -1)
        output_storage[0][0] = np.asarray(index, np.int64)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Drop the axes."""
        (sizes,) = shapes.shapes
        return [without_axes(sizes, self.axes(len(sizes)))]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return zeros: a small change of the elements does not, in general, move the extreme."""
        return [zero_gradient(inputs[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return zeros."""
        return [None if is_missing(eval_points[0]) else zero_gradient(self(*inputs))]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return one comparison per element."""
        return int(np.prod(input_shapes[0], dtype=int))


class Argmax(_ArgExtreme):
    """Return the index of the first largest element along some axes; of the first NaN, if any.

    Parameters
    ----------
    axis
        The axes, counted from the front, ``None`` for all. They are dropped. With several, the
        index is into the flattened array of these axes alone, in C order.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.Argmax(axis=(0,))(pt.matrix("x")).type
    Vector(int64, shape=(?,))
    """

    which = "max"


class Argmin(_ArgExtreme):
    """Return the index of the first smallest element along some axes; of the first NaN, if any.

    Parameters
    ----------
    axis
        As for :class:`Argmax`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.Argmin(axis=(0,))(pt.matrix("x")).type
    Vector(int64, shape=(?,))
    """

    which = "min"


class ArgExtremeAlong(Op):
    """Return the index of the first largest, or smallest, element along a symbolic axis.

    Parameters
    ----------
    which
        ``"max"`` or ``"min"``.

    Notes
    -----
    The gradient for the axis is undefined, since an axis has no fractions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ArgExtremeAlong("max")(pt.matrix("x"), pt.lscalar("axis")).type
    Vector(int64, shape=(?,))
    """

    __props__ = ("which",)

    def __init__(self, which: str) -> None:
        if which not in _FUNCTIONS:
            msg = f"ArgExtremeAlong looks for the 'max' or the 'min', got {which!r}."
            raise OpContractError(msg)
        self.which = which

    def make_node(self, x: Any, axis: Any) -> Apply:
        """Apply to a tensor of rank 1 or more and a 0-d integer."""
        x, axis = as_tensor_variable(x), as_tensor_variable(axis)
        if axis.type.numpy_dtype.kind not in "iu":
            msg = f"{self}: an axis is an integer, got {axis} of dtype {axis.dtype}."
            raise DtypeError(msg)
        if axis.ndim != 0 or x.ndim == 0:
            msg = (
                f"{self} takes a tensor with dimensions and an axis without, got {x.type} and "
                f"{axis.type}."
            )
            raise ShapeError(msg)
        return Apply(self, [x, axis], [TensorType("int64", (None,) * (x.ndim - 1))()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Search with NumPy."""
        x, axis = inputs
        position = normalize_axis(int(axis), x.ndim)
        _refuse_empty(self, node.inputs[0], x.shape, position)
        output_storage[0][0] = np.asarray(_FUNCTIONS[self.which](x, position), np.int64)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return zeros for the tensor; the gradient for the axis is undefined."""
        x, axis = inputs
        undefined = grad_undefined(self, 1, axis, "there is no array along a fraction of an axis")
        return [zero_gradient(x), undefined]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return zeros for a tangent of the tensor; none is defined for the axis."""
        x_direction, axis_direction = eval_points
        if not is_missing(axis_direction):
            return [grad_undefined(self, 1, inputs[1], "an axis has no direction")]
        return [None if is_missing(x_direction) else zero_gradient(self(*inputs))]


@lru_cache(maxsize=1024)
def _op(which: str, axes: tuple[int, ...] | None) -> _ArgExtreme:
    return Argmax(axes) if which == "max" else Argmin(axes)


def _arg_extreme(which: str, x: Any, axis: Any, keepdims: bool) -> TensorVariable:
    x = as_tensor_variable(x)
    if isinstance(axis, Variable) and not isinstance(axis, Constant):
        if keepdims:
            msg = (
                f"arg{which}: keepdims needs to know the axis when the graph is built; {axis} is "
                "symbolic. Pass an int."
            )
            raise ShapeError(msg)
        return ArgExtremeAlong(which)(x, axis)
    axes = normalize_axes(axis, x.ndim)
    index = _op(which, None if len(axes) == x.ndim else axes)(x)
    return with_kept_dims(index, axes, x.ndim) if keepdims else index


@also_named
def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:
    """Return the index of the first largest element along some axes; of the first NaN, if any.

    Parameters
    ----------
    x
        A tensor.
    axis
        One axis, an int or symbolic; several; or ``None`` for all, which gives an index into the
        flattened tensor.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        The indices, of dtype int64.

    Raises
    ------
    ShapeError
        The axis is out of range; at run time, it has no elements.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.argmax(pt.constant([[1, 5], [3, 4]]), axis=0).eval()
    array([1, 0])
    """
    return _arg_extreme("max", x, axis, keepdims)


@also_named
def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:
    """Return the index of the first smallest element along some axes; of the first NaN, if any.

    Parameters
    ----------
    x
        A tensor.
    axis
        One axis, an int or symbolic; several; or ``None`` for all, which gives an index into the
        flattened tensor.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        The indices, of dtype int64.

    Raises
    ------
    ShapeError
        The axis is out of range; at run time, it has no elements.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.argmin(pt.constant([[1, 5], [3, 4]]), axis=0).eval()
    array([0, 1])
    """
    return _arg_extreme("min", x, axis, keepdims)


@also_named
def max_and_argmax(x: Any, axis: Axis = None, keepdims: bool = False) -> list[TensorVariable]:
    """Return the largest element along some axes, and its index.

    Parameters
    ----------
    x
        A tensor of any dtype; complex numbers are ordered by their real, then by their imaginary
        parts.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    list of TensorVariable
        What :func:`max` returns, and what :func:`argmax` returns: of several axes, the index in the
        flattened ones.

    Raises
    ------
    ShapeError
        An axis is out of range, or is known to be empty.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> largest, index = pt.max_and_argmax(pt.constant([3, 7, 5]))
    >>> largest.eval(), index.eval()
    (array(7), array(1))
    """
    return [max(x, axis, keepdims), argmax(x, axis, keepdims)]
