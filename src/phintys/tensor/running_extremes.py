"""Running maxima and minima along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys._base.names import public_dir
from phintys.graph.apply import Apply
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import zeros_like
from phintys.tensor.dim_shuffle import normalize_axis
from phintys.tensor.indexing import inc_subtensor
from phintys.tensor.indexing.setting import take_along_axis
from phintys.tensor.reshaping import flatten
from phintys.tensor.shape_rules import KeepsShape
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

__all__ = ["RunningArgExtreme", "RunningExtreme", "cummax", "cummin"]

_MODES = {"max": (np.maximum, np.greater), "min": (np.minimum, np.less)}


class _Running(KeepsShape):
    """Base class of :class:`RunningExtreme` and :class:`RunningArgExtreme`."""

    __props__ = ("axis", "mode")

    def __init__(self, axis: int, mode: str) -> None:
        if mode not in _MODES:
            msg = f'The mode of a {type(self).__name__} is "max" or "min", got {mode!r}.'
            raise ArgumentError(msg)
        self.axis = axis
        self.mode = mode

    def _operand(self, x: Any) -> Any:
        x = as_tensor_variable(x)
        if not 0 <= self.axis < x.ndim:
            msg = f"{self} works along axis {self.axis}, but {x} has {x.ndim} dimensions."
            raise ShapeError(msg)
        if x.type.numpy_dtype.kind == "c":
            msg = f"Complex numbers have no order: cum{self.mode} got {x} of dtype {x.dtype}."
            raise DtypeError(msg)
        return x


class RunningExtreme(_Running):
    """Return the largest or smallest element up to each one along an axis.

    It is NaN from the first NaN on.

    Parameters
    ----------
    axis
        The axis, counted from the front.
    mode
        ``"max"`` or ``"min"``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.RunningExtreme(0, "min")([3.0, 1.0, 2.0]).eval()
    array([3., 1., 1.])
    """

    def make_node(self, x: Any) -> Apply:
        """Apply to a real tensor that has the axis."""
        x = self._operand(x)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Accumulate with NumPy."""
        extreme, _ = _MODES[self.mode]
        output_storage[0][0] = extreme.accumulate(inputs[0], self.axis)

    def _places(self, x: Any) -> Any:
        return RunningArgExtreme(self.axis, self.mode)(x)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Add the gradients to the elements that are extreme."""
        (x,), (g,) = inputs, output_grads
        if is_discrete(x):
            return [zero_gradient(x)]
        return [inc_subtensor(take_along_axis(zeros_like(x), self._places(x), self.axis), g)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the tangents of the elements that are extreme."""
        (x,), (v,) = inputs, eval_points
        if is_missing(v):
            return [None]
        if is_discrete(x):
            return [zero_gradient(x)]
        return [take_along_axis(v, self._places(x), self.axis)]


class RunningArgExtreme(_Running):
    """Return, for each element, where the largest or smallest one up to it is along an axis.

    Of equal ones it is the first; a NaN is more extreme than any number.

    Parameters
    ----------
    axis
        The axis, counted from the front.
    mode
        ``"max"`` or ``"min"``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.RunningArgExtreme(0, "max")([1.0, 3.0, 2.0]).eval()
    array([0, 1, 1])
    """

    def make_node(self, x: Any) -> Apply:
        """Apply to a real tensor that has the axis."""
        x = self._operand(x)
        return Apply(self, [x], [TensorType("int64", x.type.shape)()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Find where the running extreme changes, with NumPy."""
        extreme, is_beyond = _MODES[self.mode]
        x = np.moveaxis(inputs[0], self.axis, 0)
        running = extreme.accumulate(x, 0)
        places = np.zeros(x.shape, np.int64)
        later, before = x[1:], running[:-1]
        changes = is_beyond(later, before) | (np.isnan(later) & ~np.isnan(before))
        positions = np.arange(1, max(len(x), 1)).reshape((-1,) + (1,) * (x.ndim - 1))
        np.copyto(places[1:], positions, where=changes)
        np.maximum.accumulate(places, 0, out=places)
        output_storage[0][0] = np.ascontiguousarray(np.moveaxis(places, 0, self.axis))

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return zeros: places do not, in general, change with small changes of the values."""
        return [zero_gradient(inputs[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return zeros."""
        return [None if is_missing(eval_points[0]) else zero_gradient(self(*inputs))]


@also_named
def cummax(x: Any, axis: int | None = None) -> TensorVariable:
    """Return the largest element up to each one, along an axis.

    Parameters
    ----------
    x
        A real tensor.
    axis
        The dimension; with ``None``, ``x`` is flattened first.

    Returns
    -------
    TensorVariable
        NaN from the first NaN on. The gradient goes to the first of the largest elements.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.cummax([1.0, 3.0, 2.0, 4.0]).eval()
    array([1., 3., 3., 4.])
    """
    return _running(x, axis, "max")


@also_named
def cummin(x: Any, axis: int | None = None) -> TensorVariable:
    """Return the smallest element up to each one, along an axis.

    Parameters
    ----------
    x
        A real tensor.
    axis
        The dimension; with ``None``, ``x`` is flattened first.

    Returns
    -------
    TensorVariable
        NaN from the first NaN on. The gradient goes to the first of the smallest elements.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.cummin([3.0, 1.0, 2.0]).eval()
    array([3., 1., 1.])
    """
    return _running(x, axis, "min")


def _running(x: Any, axis: int | None, mode: str) -> TensorVariable:
    x = as_tensor_variable(x)
    if axis is None:
        x, axis = flatten(x), 0
    axis = normalize_axis(axis, x.ndim)
    return RunningExtreme(axis, mode)(x)


__dir__ = public_dir(__name__)
