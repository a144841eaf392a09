"""Activation functions of neural networks, which work along the last axis by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import zeros_like
from phintys.tensor.math import switch
from phintys.tensor.softmaxes import log_softmax as _log_softmax
from phintys.tensor.softmaxes import softmax as _softmax
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from phintys.tensor._rules import Axis
    from phintys.tensor.variable import TensorVariable


def relu(x: Any) -> TensorVariable:
    """Return the positive part of a tensor, ``max(x, 0)``.

    Its derivative is 1 for positive elements, and 0 for others, also at 0; it is NaN where x is.

    Parameters
    ----------
    x
        A real tensor.

    Returns
    -------
    TensorVariable
        A tensor of the shape and dtype of ``x``.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], [pt.relu(x), phintys.grad(pt.relu(x).sum(), x)])
    >>> f([-1.0, 0.0, 2.0])
    [array([0., 0., 2.]), array([0., 0., 1.])]
    """
    x = as_tensor_variable(x)
    return switch(x <= 0, zeros_like(x), x)


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
