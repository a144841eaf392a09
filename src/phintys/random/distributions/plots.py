"""Plots of densities and probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys._base.plotting import axes_or_new
from phintys.random.bits.states import state
from phintys.tensor import math
from phintys.tensor.convert import constant

if TYPE_CHECKING:
    from collections.abc import Mapping

_DRAWS = 4000
"""Draws, which show where the distribution is."""

_POINTS = 400
"""Points of a curve, and the most integers whose probabilities are shown one by one."""


def plot_density(
    distribution: Any, axes: Any = None, givens: Mapping[Any, Any] | None = None
) -> Any:
    """Draw the density of a distribution, or the probabilities of its integers.

    Parameters
    ----------
    distribution
        The distribution.
    axes
        Axes of matplotlib; new ones by default.
    givens
        The values of variables that the parameters depend on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with a curve for each distribution of a batch.

    Raises
    ------
    ArgumentError
        A draw is a vector or a matrix, or the parameters have more than one dimension.
    """
    name = type(distribution).__name__
    one = distribution.draw(state(0))[1]
    if distribution.event_ndim or one.ndim > 1:
        msg = (
            f"{name}.plot() draws the densities of numbers: a draw must be a number, and the "
            f"parameters must have at most one dimension. Here draws have {one.ndim}."
        )
        raise ArgumentError(msg)
    given = dict(givens or {})
    batch = bool(one.ndim)
    count = int(one.size.eval(given, on_unused_input="ignore")) if batch else 1
    size = (_DRAWS, count) if batch else (_DRAWS,)
    draws = distribution.draw(state(0), size)[1].eval(given, on_unused_input="ignore")
    at = _points(np.asarray(draws), distribution.is_discrete)
    values = constant(at[:, None] if batch else at)
    density = math.exp(distribution.logp(values)).eval(given, on_unused_input="ignore")
    axes = axes_or_new(axes)
    for number, curve in enumerate(density.reshape(len(at), count).T):
        label = f"{name}[{number}]" if batch else name
        marks = {"marker": "o", "linestyle": ":"} if distribution.is_discrete else {}
        axes.plot(at, curve, label=label, **marks)
    axes.set_ylabel("probability" if distribution.is_discrete else "density")
    axes.set_ylim(bottom=0)
    axes.legend()
    return axes


def _points(draws: np.ndarray[Any, Any], is_discrete: bool) -> np.ndarray[Any, Any]:
    """Return the points at which a density is shown: around all draws but the most extreme."""
    low, high = np.quantile(draws, [0.002, 0.998])
    if not is_discrete:
        margin = 0.1 * (high - low)
        return np.linspace(low - margin, high + margin, _POINTS)
    first, last = int(low), int(high)
    step = max(1, (last - first) // _POINTS)
    return np.arange(max(first - 1, int(draws.min())), last + 2, step)
