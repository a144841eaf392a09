"""Activation functions of neural networks, which work along the last axis by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.tensor.softmaxes import log_softmax as _log_softmax
from phintys.tensor.softmaxes import softmax as _softmax
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from phintys.tensor._rules import Axis
    from phintys.tensor.variable import TensorVariable

__all__ = ["log_softmax", "softmax"]


@also_named
def softmax(x: Any, axis: Axis = -1) -> TensorVariable:
    """Return ``exp(x) / sum(exp(x), axis)`` without overflow.

    Unlike :func:`phintys.tensor.special.softmax`, which follows SciPy, it works along the last axis
    by default: a matrix of scores with one example per row yields a distribution for each row.

    Parameters
    ----------
    x
        A tensor; integers and bools are cast to float64.
    axis
        One axis, several, or ``None`` for all.

    Returns
    -------
    TensorVariable
        A floating tensor with the shape of ``x``, whose sums along the axis are 1.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.softmax(pt.constant([[0.0, 0.0], [1000.0, 0.0]])).eval()
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return _softmax(x, axis)


@also_named
def log_softmax(x: Any, axis: Axis = -1) -> TensorVariable:
    """Return the logarithm of the softmax, along the last axis by default.

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

    Notes
    -----
    ``x - max - log(sum(exp(x - max)))``: P. Blanchard, D. J. Higham and N. J. Higham, "Accurately
    computing the log-sum-exp and softmax functions", IMA Journal of Numerical Analysis 41 (2021),
    2311-2330.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.log_softmax(pt.constant([[1000.0, 0.0]])).eval()
    array([[    0., -1000.]])
    """
    return _log_softmax(x, axis)
