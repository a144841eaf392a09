"""Interpolation between samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys._base.names import public_dir
from phintys.tensor import math
from phintys.tensor._rules import is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.indexing import take
from phintys.tensor.joining import concatenate
from phintys.tensor.searching import searchsorted
from phintys.tensor.shapes import sizes_of
from phintys.tensor.size_check import at_least_one
from phintys.tensor.sizes import subtract_sizes
from phintys.tensor.sorting import argsort

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = ["interp"]


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> TensorVariable:
    """Return a piecewise linear function through samples.

    Parameters
    ----------
    x
        Where to evaluate it: a real tensor of any rank.
    xp
        Where the samples are: a vector in ascending order, of at least one element.
    fp
        The samples: a vector of the same length, real or complex.
    left, right
        The values before the first sample and behind the last one; those samples by default.
    period
        The function repeats with this period, and ``xp`` may have any order; ``left`` and ``right``
        are ignored.

    Returns
    -------
    TensorVariable
        In the shape of ``x``. It has derivatives by ``x``, ``xp`` and ``fp``.

    Raises
    ------
    ShapeError
        ``xp`` or ``fp`` is not a vector.
    DtypeError
        ``x`` or ``xp`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.interp([0.0, 1.5, 9.0], [1.0, 2.0, 3.0], [3.0, 2.0, 0.0]).eval()
    array([3. , 2.5, 0. ])
    """
    x, xp, fp = (_as_continuous(one) for one in (x, xp, fp))
    for name, one in (("xp", xp), ("fp", fp)):
        if one.ndim != 1:
            msg = f"interp: {name} is a vector, got {one} of type {one.type}."
            raise ShapeError(msg)
    if "complex" in x.dtype or "complex" in xp.dtype:
        msg = f"interp: places are real, got {x} of dtype {x.dtype} and {xp} of {xp.dtype}."
        raise DtypeError(msg)
    if period is not None:
        if isinstance(period, int | float) and period == 0:
            msg = "interp: the period must not be 0."
            raise ArgumentError(msg)
        x, xp, fp = _as_one_period(x, xp, fp, math.abs(period))
    return _between(x, xp, fp, left, right)


def _as_continuous(x: Any) -> Any:
    x = as_tensor_variable(x)
    return math.cast(x, "float64") if is_discrete(x) else x


def _as_one_period(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Return the places in the first period, and samples that reach beyond both of its ends."""
    x, xp = math.mod(x, period), math.mod(xp, period)
    order = argsort(xp)
    xp, fp = take(xp, order), take(fp, order)
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concatenate([fp[-1:], fp, fp[:1]])


def _between(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> TensorVariable:
    count = at_least_one(sizes_of(xp)[0], "interp: the number of samples")
    last = subtract_sizes(count, 1)
    zero = 0 if isinstance(last, int) else math.minimum(last, 0)  # after the check
    after = searchsorted(xp, x, "right")
    start = math.clip(math.sub(after, 1), 0, math.maximum(subtract_sizes(last, 1), 0))
    end = math.minimum(math.add(start, 1), last)
    x0, x1, y0, y1 = take(xp, start), take(xp, end), take(fp, start), take(fp, end)
    width = x1 - x0
    is_flat = math.eq(width, 0)  # one sample, or two at one place
    inside = y0 + (x - x0) * ((y1 - y0) / math.switch(is_flat, 1, width))
    first, final = fp[zero], fp[last]
    value = math.switch(math.ge(x, xp[last]), final, math.switch(is_flat, y0, inside))
    value = math.switch(math.lt(x, xp[zero]), first if left is None else left, value)
    value = math.switch(math.gt(x, xp[last]), final if right is None else right, value)
    return math.switch(math.isnan(x), x, value)


__dir__ = public_dir(__name__)
