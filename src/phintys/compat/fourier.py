"""Old Fourier transforms: along all axes but the first, complex numbers as pairs of real ones."""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError

__all__ = ["irfft", "rfft"]

_NORMS = {None: "backward", "ortho": "ortho"}


def _norm(norm: Any, unscaled: str, function: str) -> str:
    """Return NumPy's name of a norm; ``"no_norm"`` scales neither the transform nor its inverse."""
    if norm == "no_norm":
        return unscaled
    if norm not in _NORMS:
        msg = f"{function}: norm is None, 'ortho' or 'no_norm'; got {norm!r}."
        raise ArgumentError(msg)
    return _NORMS[norm]


def rfft(inp: Any, norm: str | None = None) -> Any:
    """Return the transform of a stack of real arrays, of shape ``(m, ..., n // 2 + 1, 2)``.

    Examples
    --------
    >>> rfft([[1.0, 2.0]]).eval().tolist()
    [[[3.0, 0.0], [-1.0, 0.0]]]
    """
    x = pt.as_tensor_variable(inp)
    if x.ndim < 2:
        msg = f"rfft takes a stack of arrays, of rank 2 or more; got {x} of type {x.type}."
        raise ShapeError(msg)
    found = pt.fft.rfftn(x, axes=tuple(range(1, x.ndim)), norm=_norm(norm, "backward", "rfft"))
    return pt.stack([pt.real(found), pt.imag(found)], axis=-1)


def irfft(inp: Any, norm: str | None = None, is_odd: bool = False) -> Any:
    """Return the inverse of :func:`rfft`, of shape ``(m, ..., n)``; n is even unless stated.

    Examples
    --------
    >>> irfft(rfft([[1.0, 2.0, 3.0]]), is_odd=True).eval().round(6).tolist()
    [[1.0, 2.0, 3.0]]
    """
    if is_odd not in {True, False}:
        msg = f"irfft: is_odd is True or False, got {is_odd!r}."
        raise ArgumentError(msg)
    pairs = pt.as_tensor_variable(inp)
    if pairs.ndim < 3 or pairs.type.shape[-1] not in {None, 2}:
        msg = (
            "irfft takes a stack of transforms with pairs of real and imaginary parts along the "
            f"last axis, of rank 3 or more; got {pairs} of type {pairs.type}."
        )
        raise ShapeError(msg)
    pairs = pt.specify_shape(pairs, [None] * (pairs.ndim - 1) + [2])
    half = pt.complex(pairs[..., 0], pairs[..., 1])
    points = 2 * (half.shape[-1] - 1) + int(is_odd)
    axes = tuple(range(1, half.ndim))
    sizes = (None,) * (len(axes) - 1) + (points,)
    return pt.fft.irfftn(half, s=sizes, axes=axes, norm=_norm(norm, "forward", "irfft"))
