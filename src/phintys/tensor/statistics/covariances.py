"""Covariances and correlations of variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DomainError, ShapeError
from phintys.graph.variable import Constant
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.diagonals import diagonal
from phintys.tensor.dim_shuffle import expand_dims, squeeze, transpose
from phintys.tensor.joining import concatenate
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.products import dot
from phintys.tensor.reduce import all, sum
from phintys.tensor.shapes import sizes_of
from phintys.tensor.type import normalize_dtype, promote

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = ["corrcoef", "cov"]


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> TensorVariable:
    """Return the covariance matrix of variables.

    Parameters
    ----------
    m
        A matrix of observations, one variable in each row; or a vector, a single variable.
    y
        More variables, in the same form.
    rowvar
        Whether variables are rows, or columns.
    bias
        Whether to divide by the number of observations, or by that minus 1.
    ddof
        What to subtract from the number of observations instead.
    fweights
        A vector of integers: how often each observation counts.
    aweights
        A vector of relative weights of the observations.
    dtype
        Dtype of the result, by default at least float64.

    Returns
    -------
    TensorVariable
        A matrix; 0-d for a single variable.

    Raises
    ------
    ShapeError
        An argument has too many dimensions.
    ArgumentError
        ``ddof`` is not an integer.
    DomainError
        A weight is negative, or not a whole number in ``fweights``: at once if the weights are
        known, otherwise at run time.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.cov([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).eval()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if ddof is not None and not isinstance(ddof, int):
        msg = f"cov: ddof is an integer, got {ddof!r}."
        raise ArgumentError(msg)
    x = _variables(m, rowvar)
    if y is not None:
        x = concatenate([x, _variables(y, rowvar)])
    wanted = promote(x.dtype, "float64") if dtype is None else normalize_dtype(dtype)
    x = math.cast(x, wanted)
    weights = _weights(fweights, aweights)
    correction = (0 if bias else 1) if ddof is None else ddof
    if weights is None:
        count = math.cast(sizes_of(x)[1], "float64")
        centred = x - expand_dims(sum(x, 1) / math.cast(count, wanted), 1)
        product = dot(centred, _adjoint(centred))
        free = count - correction
    else:
        total = sum(weights)
        mean = sum(x * weights, 1) / total
        centred = x - expand_dims(mean, 1)
        product = dot(centred, _adjoint(centred * weights))
        free = total - correction * _effective(weights, aweights, total)
    free = math.maximum(free, 0.0)
    return (
        squeeze(math.cast(product / free, wanted))
        if _is_single(x)
        else math.cast(product / free, wanted)
    )


def _variables(m: Any, rowvar: bool) -> Any:
    """Return a matrix of variables in rows."""
    m = as_tensor_variable(m)
    if m.ndim > 2:
        msg = f"cov takes vectors and matrices, got {m} of type {m.type}."
        raise ShapeError(msg)
    if m.ndim < 2:
        return m.reshape((1, -1)) if m.ndim == 0 else expand_dims(m, 0)
    return m if rowvar else transpose(m)


def _weights(fweights: Any, aweights: Any) -> Any:
    wide = [
        math.cast(_checked(as_tensor_variable(w), name), "float64")
        for w, name in ((fweights, "fweights"), (aweights, "aweights"))
        if w is not None
    ]
    return None if not wide else wide[0] if len(wide) == 1 else wide[0] * wide[1]


def _checked(weights: Any, name: str) -> Any:
    if weights.ndim != 1:
        msg = f"cov: weights are a vector, got {weights} of type {weights.type}."
        raise ShapeError(msg)
    kind = weights.type.numpy_dtype.kind
    if kind in "bu":
        return weights
    is_count = name == "fweights" and kind == "f"
    what = "whole numbers that are not negative" if name == "fweights" else "not negative"
    message = f"cov: {name} must be {what}"
    if isinstance(weights, Constant):
        numbers = np.asarray(weights.data)
        if (numbers < 0).any() or (is_count and (numbers != np.rint(numbers)).any()):
            msg = f"{message}, got {numbers}."
            raise DomainError(msg)
        return weights
    is_valid = math.logical_not(math.lt(weights, 0))
    if is_count:
        is_valid = math.and_(is_valid, math.eq(weights, math.rint(weights)))
    return CheckAndRaise(DomainError, message)(weights, all(is_valid))


def _effective(weights: Any, aweights: Any, total: Any) -> Any:
    if aweights is None:
        return 1.0
    return sum(weights * math.cast(as_tensor_variable(aweights), "float64")) / total


def _adjoint(x: Any) -> Any:
    return transpose(math.conj(x) if x.type.numpy_dtype.kind == "c" else x)


def _is_single(x: Any) -> bool:
    return x.type.shape[0] == 1


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> TensorVariable:
    """Return the matrix of correlation coefficients of variables.

    Parameters
    ----------
    x
        A matrix of observations, one variable in each row; or a vector, a single variable.
    y
        More variables, in the same form.
    rowvar
        Whether variables are rows, or columns.
    dtype
        Dtype of the result, by default at least float64.

    Returns
    -------
    TensorVariable
        A matrix with ones on its diagonal; 0-d for a single variable. NaN for a variable that does
        not vary.

    Raises
    ------
    ShapeError
        An argument has too many dimensions.

    Notes
    -----
    ``c[i, j] / sqrt(c[i, i] c[j, j])`` of the covariances c, clipped to -1 to 1.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.corrcoef([0.0, 1.0, 2.0], [4.0, 2.0, 0.0]).eval()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = math.sqrt(math.real(diagonal(c)))
    scaled = c / expand_dims(deviation, 1) / expand_dims(deviation, 0)
    if scaled.type.numpy_dtype.kind == "c":
        parts = (math.clip(part(scaled), -1, 1) for part in (math.real, math.imag))
        return math.cast(math.complex(*parts), scaled.dtype)
    return math.clip(scaled, -1, 1)
