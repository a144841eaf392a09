"""Batch normalization, as in ``tensor.nnet.bn`` and ``tensor.nnet.batchnorm``."""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError

__all__ = ["batch_normalization", "batch_normalization_test", "batch_normalization_train"]

_SMALLEST = 1e-5
"""The smallest ``epsilon`` that the old packages took."""


def batch_normalization(
    inputs: Any, gamma: Any, beta: Any, mean: Any, std: Any, mode: str = "low_mem"
) -> Any:
    """Return ``(inputs - mean) * gamma / std + beta``; ``mode`` has no effect."""
    if mode not in {"low_mem", "high_mem"}:
        msg = f"The mode of batch_normalization is 'low_mem' or 'high_mem', got {mode!r}."
        raise ArgumentError(msg)
    return (inputs - mean) * (gamma / std) + beta


def batch_normalization_train(
    inputs: Any,
    gamma: Any,
    beta: Any,
    axes: Any = "per-activation",
    epsilon: float = 1e-4,
    running_average_factor: Any = 0.1,
    running_mean: Any = None,
    running_var: Any = None,
) -> tuple[Any, ...]:
    """Normalize by the mean and variance of the inputs.

    Parameters
    ----------
    inputs
        A batch.
    gamma, beta
        Scale and shift, with all axes of the inputs or without the normalized ones.
    axes
        The axes that are averaged: ``"per-activation"`` is the first one, ``"spatial"`` all but the
        second.
    epsilon
        Added to the variance.
    running_average_factor
        The weight of this batch in the running averages.
    running_mean, running_var
        Running averages, or neither; of the variance it is the unbiased estimate.

    Returns
    -------
    tuple
        The normalized inputs, the mean, the inverse standard deviation, and the next running
        averages, if they are given.
    """
    x = pt.as_tensor_variable(inputs)
    layout = _Layout(x, axes, epsilon)
    if (running_mean is None) != (running_var is None):
        msg = "batch_normalization_train takes running_mean and running_var, or neither."
        raise ArgumentError(msg)
    gamma, beta = layout.spread(gamma, "gamma"), layout.spread(beta, "beta")
    mean = x.mean(layout.axes, keepdims=True)
    variance = pt.var(x, layout.axes, keepdims=True)
    inverse = 1 / pt.sqrt(variance + layout.epsilon)
    results = [(x - mean) * (gamma * inverse) + beta]
    averages = [mean, inverse]
    if running_mean is not None:
        count = pt.cast(x.size / mean.size, x.dtype)
        old, weight = 1 - running_average_factor, running_average_factor
        running_mean = layout.spread(running_mean, "running_mean")
        running_var = layout.spread(running_var, "running_var")
        averages.append(running_mean * old + mean * weight)
        averages.append(running_var * old + count / (count - 1) * variance * weight)
    return (*results, *map(layout.gathered, averages))


def batch_normalization_test(
    inputs: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    var: Any,
    axes: Any = "per-activation",
    epsilon: float = 1e-4,
) -> Any:
    """Normalize by a given mean and variance; see :func:`batch_normalization_train`."""
    x = pt.as_tensor_variable(inputs)
    layout = _Layout(x, axes, epsilon)
    gamma, beta = layout.spread(gamma, "gamma"), layout.spread(beta, "beta")
    mean, var = layout.spread(mean, "mean"), layout.spread(var, "var")
    return (x - mean) * gamma / pt.sqrt(var + layout.epsilon) + beta


class _Layout:
    """Which axes of the inputs are averaged, and how the parameters lie along the others."""

    def __init__(self, x: Any, axes: Any, epsilon: float) -> None:
        if epsilon < _SMALLEST:
            msg = f"epsilon must be {_SMALLEST} or more, got {epsilon}."
            raise ArgumentError(msg)
        self.ndim: int = x.ndim
        self.epsilon = epsilon
        self.axes = _axes(axes, self.ndim)
        self.kept = [axis for axis in range(self.ndim) if axis not in self.axes]
        self.is_full = False

    def spread(self, given: Any, name: str) -> Any:
        """Return a parameter with all axes of the inputs."""
        parameter = pt.as_tensor_variable(given)
        if parameter.ndim == self.ndim:
            self.is_full = True
            return pt.specify_broadcastable(parameter, *self.axes)
        if parameter.ndim != len(self.kept):
            msg = (
                f"{name} has all {self.ndim} axes of the inputs, or the {len(self.kept)} that are "
                f"not normalized; got {parameter.ndim}."
            )
            raise ShapeError(msg)
        places = iter(range(len(self.kept)))
        return parameter.dimshuffle(
            ["x" if axis in self.axes else next(places) for axis in range(self.ndim)]
        )

    def gathered(self, average: Any) -> Any:
        """Return an average in the layout of the parameters."""
        return average if self.is_full else average.dimshuffle(self.kept)


def _axes(axes: Any, ndim: int) -> tuple[int, ...]:
    if isinstance(axes, str):
        if axes not in {"per-activation", "spatial"}:
            msg = f"axes is 'per-activation', 'spatial', or axes by number; got {axes!r}."
            raise ArgumentError(msg)
        return (0,) if axes == "per-activation" else (0, *range(2, ndim))
    found = tuple(sorted(int(axis) for axis in axes))
    if not found or found[0] < 0 or found[-1] >= ndim:
        msg = f"The normalized axes are one or more of 0 to {ndim - 1}, got {axes}."
        raise ArgumentError(msg)
    return found
