"""Softmax, its logarithm, and the logarithm of a sum of exponentials.

They are ops, not expressions, because they must not overflow: the largest element is subtracted
before the exponential, and its own term, 1, goes through ``log1p``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.graph.apply import Apply
from phintys.tensor import math
from phintys.tensor._rules import Axis, OverAxes, conjugate, is_discrete, is_missing, without_axes
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import normalize_axes
from phintys.tensor.reduce import sum, with_kept_dims
from phintys.tensor.shape_rules import KeepsShape, S, Shapes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.op import Op
    from phintys.tensor.variable import TensorVariable


class ExpFamily(OverAxes, KeepsShape):
    """Base class of the three ops."""

    raises_only_for_shapes = True

    def operand(self, x: Any) -> Any:
        """Return the input, which has the axes, cast to float64 if its dtype is integer or bool."""
        x = super().operand(x)
        return math.cast(x, "float64") if is_discrete(x) else x

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor that has the axes."""
        x = self.operand(x)
        return Apply(self, [x], [x.type()])

    def shares_work(self, other: Op) -> bool:
        """Return whether another Op takes the same exponentials of the same input."""
        return isinstance(other, ExpFamily) and other.axis == self.axis

    def _total(self, x: Any) -> Any:
        return sum(x, self.axes(x.ndim), keepdims=True)

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return five operations per element: compare, subtract, exp, add and divide."""
        return 5 * int(np.prod(input_shapes[0], dtype=int))


def _wide(x: Any) -> Any:
    """Return values in the dtype used for computation."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _largest(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the largest real part; minus infinity along empty axes."""
    return np.maximum.reduce(x.real, axes, keepdims=True, initial=-np.inf)


def _log_terms(x: Any, largest: Any, axes: tuple[int, ...]) -> Any:
    """Return ``log(sum(exp(x - largest)))``; the terms that are 1 are counted, not added."""
    if x.dtype.kind == "c":
        return np.log(np.add.reduce(np.exp(x - largest), axes, keepdims=True))
    is_largest = x == largest
    count = np.maximum(np.add.reduce(is_largest, axes, x.dtype, keepdims=True), 1)
    others = np.asarray(x - largest)
    others[is_largest] = -np.inf
    total = np.add.reduce(np.exp(others, out=others), axes, keepdims=True)
    return np.log1p(total / count) + np.log(count)


class Softmax(ExpFamily):
    """Return ``exp(x) / sum(exp(x))``.

    Parameters
    ----------
    axis
        The axes to sum over, counted from the front; ``None`` for all.

    Notes
    -----
    NaN if an element is positive infinity, or if all elements are minus infinity.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.special.Softmax(axis=0)(pt.constant([1000.0, 1000.0])).eval()
    array([0.5, 0.5])
    """

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Compute with NumPy."""
        x = _wide(inputs[0])
        axes = self.axes(x.ndim)
        with np.errstate(invalid="ignore"):
            powers = np.asarray(x - self._shift(_largest(x, axes)))
            np.exp(powers, out=powers)
            powers /= self._divisor(np.add.reduce(powers, axes, keepdims=True))
        output_storage[0][0] = powers.astype(inputs[0].dtype, copy=False)

    def _shift(self, largest: Any) -> Any:
        """Return the shift of exponents, given the largest elements."""
        return largest

    def _divisor(self, total: Any) -> Any:
        """Return the divisor of exponentials, given their sums."""
        return total

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """With s = softmax(x), gx = s (g - sum(g s)); s is conjugated if it is complex."""
        s, (g,) = conjugate(outputs[0]), output_grads
        return [s * (g - self._total(g * s))]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """ds = s (v - sum(s v))"""
        (v,) = eval_points
        if is_missing(v):
            return [None]
        s = self(*inputs)
        return [s * (v - self._total(s * v))]


class SoftmaxOrZero(Softmax):
    """Return the softmax, but zeros where all elements are minus infinity.

    It is the derivative of :class:`LogSumExp`: no element contributes to a sum that is empty.

    Parameters
    ----------
    axis
        The axes to sum over, counted from the front; ``None`` for all.

    Examples
    --------
    >>> import numpy as np
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.softmaxes import SoftmaxOrZero
    >>> x = pt.constant([[0.0, 0.0], [-np.inf, -np.inf]])
    >>> SoftmaxOrZero(axis=1)(x).eval()
    array([[0.5, 0.5],
           [0. , 0. ]])
    """

    def _shift(self, largest: Any) -> Any:
        return np.maximum(largest, np.finfo(largest.dtype).min)

    def _divisor(self, total: Any) -> Any:
        # The largest element has the exponential 1.
        return total if total.dtype.kind == "c" else np.maximum(total, 1)


class LogSoftmax(ExpFamily):
    """Return ``x - log(sum(exp(x)))``, accurate where the softmax is close to 0 or 1.

    Parameters
    ----------
    axis
        The axes to sum over, counted from the front; ``None`` for all.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.special.LogSoftmax(axis=0)(pt.constant([1000.0, 0.0])).eval()
    array([    0., -1000.])
    """

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Compute with NumPy."""
        x = _wide(inputs[0])
        axes = self.axes(x.ndim)
        with np.errstate(invalid="ignore", divide="ignore"):
            largest = _largest(x, axes)
            result = (x - largest) - _log_terms(x, largest, axes)
        output_storage[0][0] = np.asarray(result, inputs[0].dtype)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """With s = softmax(x), gx = g - s sum(g); s is conjugated if it is complex."""
        (out,), (g,) = outputs, output_grads
        return [g - math.exp(conjugate(out)) * self._total(g)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """With s = softmax(x), d(out) = v - sum(s v)"""
        (v,) = eval_points
        if is_missing(v):
            return [None]
        return [v - self._total(math.exp(self(*inputs)) * v)]


class LogSumExp(ExpFamily):
    """Return ``log(sum(exp(x)))`` over some axes, which are dropped.

    Parameters
    ----------
    axis
        The axes, counted from the front; ``None`` for all.

    Notes
    -----
    Minus infinity along empty axes, and if all elements are minus infinity.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.special.LogSumExp(axis=0)(pt.constant([1000.0, 0.0])).eval()
    array(1000.)
    """

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor that has the axes."""
        x = self.operand(x)
        axes = self.axes(x.ndim)
        shape = [size for dim, size in enumerate(x.type.shape) if dim not in axes]
        return Apply(self, [x], [TensorType(x.dtype, shape)()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Compute with NumPy."""
        x = _wide(inputs[0])
        axes = self.axes(x.ndim)
        with np.errstate(invalid="ignore", divide="ignore"):
            largest = _largest(x, axes)
            if x.dtype.kind == "c":
                # Without log1p here, in which infinite elements would cancel.
                largest = np.where(np.isfinite(largest), largest, 0).astype(largest.dtype)
            result = _log_terms(x, largest, axes) + largest
        output_storage[0][0] = np.asarray(np.squeeze(result, axes), inputs[0].dtype)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Drop the axes."""
        (sizes,) = shapes.shapes
        return [without_axes(sizes, self.axes(len(sizes)))]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """gx = g softmax(x), conjugated if it is complex; 0 where no element counts."""
        (x,), (g,) = inputs, output_grads
        kept = with_kept_dims(g, self.axes(x.ndim), x.ndim)
        return [kept * conjugate(_op(SoftmaxOrZero, self.axis)(x))]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """d(out) = sum(softmax(x) v); 0 where no element counts."""
        (x,), (v,) = inputs, eval_points
        if is_missing(v):
            return [None]
        return [sum(_op(SoftmaxOrZero, self.axis)(x) * v, self.axes(x.ndim))]


@lru_cache(maxsize=1024)
def _op(op_class: type[ExpFamily], axes: tuple[int, ...] | None) -> ExpFamily:
    return op_class(axes)


def _apply(op_class: type[ExpFamily], x: Any, axes: tuple[int, ...]) -> Any:
    return _op(op_class, None if len(axes) == x.ndim else axes)(x)


def softmax(x: Any, axis: Axis = None) -> TensorVariable:
    """Return ``exp(x) / sum(exp(x), axis)`` without overflow.

    Parameters
    ----------
    x
        A tensor; integers and bools are cast to float64.
    axis
        One axis, several, or ``None`` for all.

    Returns
    -------
    TensorVariable
        A floating tensor with the shape of ``x``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.special.softmax(pt.constant([1000.0, 1000.0])).eval()
    array([0.5, 0.5])
    """
    x = as_tensor_variable(x)
    return _apply(Softmax, x, normalize_axes(axis, x.ndim))


def log_softmax(x: Any, axis: Axis = None) -> TensorVariable:
    """Return the logarithm of the softmax, accurate where that is close to 0 or 1.

    Parameters
    ----------
    x
        A tensor; integers and bools are cast to float64.
    axis
        One axis, several, or ``None`` for all.

    Returns
    -------
    TensorVariable
        A floating tensor with the shape of ``x``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.special.log_softmax(pt.constant([1000.0, 0.0])).eval()
    array([    0., -1000.])
    """
    x = as_tensor_variable(x)
    return _apply(LogSoftmax, x, normalize_axes(axis, x.ndim))


def logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
    """Return ``log(sum(exp(x), axis))`` without overflow.

    Parameters
    ----------
    x
        A tensor; integers and bools are cast to float64.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        Minus infinity along an empty axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.special.logsumexp(pt.constant([1000.0, 0.0])).eval()
    array(1000.)
    """
    x = as_tensor_variable(x)
    axes = normalize_axes(axis, x.ndim)
    result = _apply(LogSumExp, x, axes)
    return with_kept_dims(result, axes, x.ndim) if keepdims else result
