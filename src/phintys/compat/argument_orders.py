"""Functions that take other arguments than NumPy's, in another order, or by other names.

In another order a call would mean something else without an error: the fourth argument of
``logspace`` is the base here, and the second of ``pinv`` whether a matrix is Hermitian.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import phintys.random
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DomainError
from phintys.tensor.observing import CheckAndRaise

__all__ = [
    "clip",
    "concatenate",
    "gamma",
    "geomspace",
    "linspace",
    "logspace",
    "matvec",
    "multivariate_normal",
    "nan_to_num",
    "pinv",
    "reshape",
    "round",
    "vecdot",
    "vecmat",
    "weibull",
]


def clip(x: Any, min: Any = None, max: Any = None, **options: Any) -> Any:
    """Return ``x`` between ``min`` and ``max``."""
    bounds = {"lower": min, "upper": max} | options
    return pt.clip(x, bounds.pop("lower"), bounds.pop("upper"), **bounds)


def concatenate(tensor_list: Any = None, axis: Any = 0, **options: Any) -> Any:
    """Return tensors joined along an axis."""
    tensors = options.pop("tensors", tensor_list)
    return pt.concatenate(tensors, axis, **options)


def reshape(x: Any, newshape: Any = None, ndim: Any = None, **options: Any) -> Any:
    """Return ``x`` in another shape."""
    return pt.reshape(x, options.pop("shape", newshape), ndim, **options)


def round(a: Any, mode: Any = None, **options: Any) -> Any:
    """Round; the second argument is a mode such as ``"half_to_even"``, or a number of decimals."""
    if isinstance(mode, str):
        named: Any = {"mode": mode}
        return pt.round(a, **named, **options)
    return pt.round(a, **options) if mode is None else pt.round(a, mode, **options)


def linspace(start: Any, stop: Any = None, num: Any = None, *arguments: Any, **options: Any) -> Any:
    """Return evenly spaced numbers; ``end`` and ``steps`` are older names."""
    stop, num = _ends(stop, num, options)
    return pt.linspace(start, stop, num, *arguments, **options)


def logspace(
    start: Any,
    stop: Any = None,
    num: Any = None,
    base: Any = 10.0,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
    **options: Any,
) -> Any:
    """Return powers of ``base`` with evenly spaced exponents."""
    stop, num = _ends(stop, num, options)
    return pt.logspace(start, stop, num, endpoint, base, dtype, axis, **options)


def geomspace(
    start: Any,
    stop: Any = None,
    num: Any = None,
    base: Any = None,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
    **options: Any,
) -> Any:
    """Return numbers with equal quotients, which do not depend on ``base``."""
    stop, num = _ends(stop, num, options)
    return pt.geomspace(start, stop, num, endpoint, dtype, axis, **options)


def _ends(stop: Any, num: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return the end and the number, which may have older names."""
    stop, num = options.pop("end", stop), options.pop("steps", num)
    if stop is None:
        msg = "The end of the range is missing: call linspace(start, stop, num)."
        raise ArgumentError(msg)
    return stop, 50 if num is None else num


def nan_to_num(
    x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None, *, copy: bool = True
) -> Any:
    """Return ``x`` with NaN and infinities replaced by numbers."""
    return pt.nan_to_num(x, copy, nan, posinf, neginf)


def pinv(x: Any, hermitian: bool = False, **options: Any) -> Any:
    """Return the Moore-Penrose inverse."""
    return pt.linalg.pinv(x, hermitian=hermitian, **options)


def vecdot(x1: Any, x2: Any, dtype: Any = None, *, axis: int = -1) -> Any:
    """Return the dot products of vectors."""
    return _of_dtype(pt.vecdot(x1, x2, axis), dtype)


def matvec(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """Return the products of matrices and vectors."""
    return _of_dtype(pt.matvec(x1, x2), dtype)


def vecmat(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """Return the products of vectors, conjugated, and matrices."""
    return _of_dtype(pt.vecmat(x1, x2), dtype)


def _of_dtype(x: Any, dtype: Any) -> Any:
    return x if dtype is None else pt.cast(x, dtype)


def gamma(shape: Any, rate: Any = None, scale: Any = None, size: Any = None, **named: Any) -> Any:
    """Draw from the gamma distribution: its second parameter is the rate, not the scale."""
    return phintys.random.gamma(shape, scale_of(rate, scale), size=size, **named)


def scale_of(rate: Any, scale: Any) -> Any:
    """Return the scale of a distribution, given that or the rate."""
    if rate is not None and scale is not None:
        msg = "gamma takes the rate or the scale, not both; give size= by its name."
        raise ArgumentError(msg)
    if rate is None:
        return 1.0 if scale is None else scale
    return 1.0 / pt.as_tensor_variable(rate)


def multivariate_normal(
    mean: Any = (0.0,),
    cov: Any = ((1.0,),),
    size: Any = None,
    method: str | None = None,
    **named: Any,
) -> Any:
    """Draw from the multivariate normal distribution, whose covariance may be singular.

    ``method`` is one of NumPy's, which all draw the same here.
    """
    if "chol" not in named and "precision" not in named:
        named["chol"], cov = square_root(cov), None
    return phintys.random.multivariate_normal(mean, cov, size=size, **named)


def square_root(cov: Any) -> Any:
    """Return a matrix A, of which A times A transposed is the covariance: its Cholesky factor.

    A singular covariance has none; then the columns are its eigenvectors, scaled.
    """
    cov = pt.as_tensor_variable(cov)
    factor = pt.linalg.cholesky(cov, on_error="nan")
    return phintys.ifelse(pt.isnan(factor).any(), _scaled_eigenvectors(cov), factor)


def _scaled_eigenvectors(cov: Any) -> Any:
    values, vectors = pt.linalg.eigh(cov)
    rounding = 1e3 * np.finfo(values.dtype).eps * pt.abs(values).max(axis=-1, keepdims=True)
    values = _not_negative(values, (values >= -rounding).all())
    return vectors * pt.sqrt(pt.maximum(values, 0.0))[..., None, :]


_not_negative = CheckAndRaise(
    DomainError,
    "multivariate_normal: the covariance must be positive semidefinite, but it has a negative "
    "eigenvalue.",
)


def weibull(shape: Any, size: Any = None, **named: Any) -> Any:
    """Draw from the Weibull distribution of scale 1."""
    return phintys.random.weibull(shape, named.pop("scale", 1.0), size=size, **named)
