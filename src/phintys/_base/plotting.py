"""The library that plots, matplotlib, which is optional."""

from __future__ import annotations

from typing import Any


def axes_or_new(axes: Any = None) -> Any:
    """Return the axes of matplotlib to draw in: those that are given, or new ones.

    Parameters
    ----------
    axes
        Axes, or ``None``.

    Raises
    ------
    ImportError
        New ones are asked for, and matplotlib is not installed.

    Examples
    --------
    >>> from phintys._base.plotting import axes_or_new
    >>> axes_or_new("axes")
    'axes'
    """
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        msg = "A plot needs matplotlib, which is not installed: pip install 'phintys[plot]'."
        raise ImportError(msg, name="matplotlib") from error
    return plt.subplots(layout="constrained")[1]
