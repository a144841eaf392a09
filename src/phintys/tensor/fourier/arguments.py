"""The arguments of transforms: axes, numbers of points, norms."""

from __future__ import annotations

from typing import Any, NamedTuple

from phintys._base.errors import ArgumentError, ShapeError
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import zeros
from phintys.tensor.dim_shuffle import normalize_axis
from phintys.tensor.joining import concatenate
from phintys.tensor.shapes import sizes_of, specify_shape
from phintys.tensor.sizes import as_size, fold, same_size

__all__ = ["TransformArguments", "checked", "norm_of", "resized"]

_NORMS = ("backward", "ortho", "forward")


def norm_of(norm: Any, function: str) -> str:
    """Return the name of a norm; ``None`` stands for ``"backward"``."""
    if norm is None:
        return "backward"
    if norm not in _NORMS:
        msg = f"{function}: norm is one of {', '.join(map(repr, _NORMS))}; got {norm!r}."
        raise ArgumentError(msg)
    return norm


class TransformArguments(NamedTuple):
    """A tensor, the axes along which it is transformed, and the number of points along each."""

    x: Any
    axes: tuple[int, ...]
    points: tuple[Any, ...]
    """``None`` for as many as there are."""


def checked(x: Any, s: Any, axes: Any, function: str) -> TransformArguments:
    """Return the arguments of a transform along several axes."""
    x = as_tensor_variable(x)
    points = None if s is None else _listed(s, "s", function)
    if axes is None:
        count = x.ndim if points is None else len(points)
        if count > x.ndim:
            msg = f"{function}: s has {count} numbers of points, but {x} is of type {x.type}."
            raise ShapeError(msg)
        axes = range(x.ndim - count, x.ndim)
    given = _listed(axes, "axes", function)
    found = tuple(normalize_axis(axis, x.ndim) for axis in given)
    if len(set(found)) < len(found):
        msg = f"{function}: an axis is named twice in {axes!r}. Transform twice if you mean it."
        raise ShapeError(msg)
    if points is None:
        points = [None] * len(found)
    if len(points) != len(found):
        msg = (
            f"{function}: s has a number of points for each of the axes, got s = {s!r} for "
            f"{len(found)} axes."
        )
        raise ArgumentError(msg)
    sizes = sizes_of(x)
    numbers = [_number(one, sizes[axis], function) for one, axis in zip(points, found, strict=True)]
    return TransformArguments(x, found, tuple(numbers))


def _listed(value: Any, name: str, function: str) -> list[Any]:
    if isinstance(value, list | tuple | range):
        return list(value)
    msg = f"{function}: {name} is a tuple with one entry for each axis, got {value!r}."
    raise ArgumentError(msg)


def _number(points: Any, size: Any, function: str) -> Any:
    """Return a number of points as an int or a symbolic size; ``None`` for the default.

    In functions of several axes -1 stands for the size, which is not the default of real ones.
    """
    if points is None:
        return None
    found = fold(as_size(points, f"{function}: a number of points"))
    if isinstance(found, int) and found == -1 and function.endswith(("n", "2")):
        return size
    if isinstance(found, int) and found < 1:
        msg = f"{function}: the number of points is at least 1, got {found}."
        raise ShapeError(msg)
    return found


def resized(x: Any, axis: int, points: Any) -> Any:
    """Return ``x`` with a number of points along an axis: the first ones, and zeros after them."""
    size = sizes_of(x)[axis]
    if points is None or same_size(points, size):
        return x
    first = (slice(None),) * axis
    is_known = isinstance(size, int) and isinstance(points, int)
    if is_known and points < size:
        return x[(*first, slice(None, points))]
    missing = points - size if is_known else math.maximum(points - size, 0)
    sizes = list(sizes_of(x))
    sizes[axis] = missing
    cut = x if is_known else x[(*first, slice(None, points))]
    found = concatenate([cut, zeros(tuple(sizes), dtype=x.dtype)], axis)
    stated: list[Any] = [None] * x.ndim
    stated[axis] = points
    return specify_shape(found, stated)
