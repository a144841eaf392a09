"""Elementwise functions: one for each scalar op, and functions defined in terms of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys._base.errors import OpContractError
from phintys.tensor import functions
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.elemwise import elemwise
from phintys.tensor.functions import *  # noqa: F403 - one for each row; its __all__ lists them
from phintys.tensor.functions import (
    abs,
    eq,
    int_div,
    isfinite,
    isnan,
    le,
    maximum,
    minimum,
    mod,
    neq,
    pow,
    rad2deg,
    rint,
    round_half_away,
    sqr,
    tensor_copy,
)
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import normalize_dtype

if TYPE_CHECKING:
    from typing import Literal

    from phintys.tensor.variable import TensorVariable

    Rounding = Literal["half_to_even", "half_away_from_zero"]

__all__ = ["angle", "cast", "ceil_intdiv", "clip", "divmod", "isclose", "logaddexp", "round"]
__all__ += functions.__all__

_CASTS = {dtype: elemwise(op) for dtype, op in ps.CASTS.items()}


def cast(x: Any, dtype: Any) -> TensorVariable:
    """Return ``x`` with its elements cast to ``dtype``, as NumPy's ``astype`` does.

    Parameters
    ----------
    x
        A tensor.
    dtype
        A dtype or its name; ``"floatX"`` for the configured default. If it is the dtype of ``x``,
        the result is ``x`` itself.

    Returns
    -------
    TensorVariable
        A tensor with the shape of ``x``; ``x`` itself if it has that dtype.

    Raises
    ------
    DtypeError
        A complex tensor cannot be cast to a real dtype, except bool (true where it is nonzero).

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.cast(pt.dvector("x"), "int8").dtype
    'int8'
    """
    x = as_tensor_variable(x)
    wanted = normalize_dtype(dtype)
    return x if x.dtype == wanted else _CASTS[wanted](x)


_clip, _angle, _logaddexp = (functions.ELEMENTWISE[row] for row in ("clip", "angle", "logaddexp"))


@also_named
def clip(x: Any, min: Any = None, max: Any = None, *, name: str | None = None) -> TensorVariable:
    """Return ``minimum(maximum(x, min), max)``.

    Parameters
    ----------
    x
        A tensor.
    min, max
        The limits, which broadcast against ``x``; ``None`` for no limit. At a limit ``x`` takes the
        whole gradient.
    name
        Name of the result.

    Returns
    -------
    TensorVariable
        A tensor of the common shape, with the dtype to which all promote.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.clip([0.0, 2.0, 5.0], 1.0, 3.0).eval(), pt.clip([0, 2, 5], None, 3).eval()
    (array([1., 2., 3.]), array([0, 2, 3]))
    """
    if min is not None and max is not None:
        return _clip(x, min, max, name=name)
    if min is not None:
        return maximum(x, min, name=name)
    return tensor_copy(x, name=name) if max is None else minimum(x, max, name=name)


def logaddexp(x1: Any, x2: Any, *more: Any, name: str | None = None) -> TensorVariable:
    """Return ``log(exp(x1) + exp(x2) + ...)`` without overflow, for any number of tensors.

    Parameters
    ----------
    x1, x2, more
        Real tensors that broadcast against each other. NumPy's function takes two.
    name
        A name for the result.

    Returns
    -------
    TensorVariable
        A floating tensor with the common shape.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.logaddexp([0.0, 1000.0], 1000.0, -1.0).eval().round(3)
    array([1000.   , 1000.693])
    """
    operands = [x1, x2, *more]
    total = operands[0]
    for number, operand in enumerate(operands[1:], start=2):
        total = _logaddexp(total, operand, name=name if number == len(operands) else None)
    return total


@also_named
def angle(z: Any, deg: bool = False, *, name: str | None = None) -> TensorVariable:
    """Return the angles of complex numbers: 0 or pi if they are real.

    Parameters
    ----------
    z
        A tensor.
    deg
        Whether angles are in degrees, instead of radians.
    name
        Name of the result.

    Returns
    -------
    TensorVariable
        Radians from -pi to pi, or degrees; a real tensor with the shape of ``z``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.angle([1j, -1.0], deg=True).eval()
    array([ 90., 180.])
    """
    return rad2deg(_angle(z), name=name) if deg else _angle(z, name=name)


@also_named
def round(x: Any, decimals: int | Rounding = 0, mode: Rounding = "half_to_even") -> TensorVariable:
    """Return ``x`` rounded to a number of decimals.

    Parameters
    ----------
    x
        A tensor. Integers are unchanged unless ``decimals`` is negative; truths become float16, as
        in NumPy.
    decimals
        Number of decimal places; negative values round to tens, hundreds and so on. A mode may
        stand in its place.
    mode
        How to round halves: ``"half_to_even"`` as in NumPy, or ``"half_away_from_zero"``.

    Returns
    -------
    TensorVariable
        A tensor with the shape of ``x``.

    Raises
    ------
    OpContractError
        ``mode`` is unknown.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.round([0.5, 1.5, 2.5]).eval()
    array([0., 2., 2.])
    """
    if isinstance(decimals, str):  # PyTensor's round(x, mode)
        decimals, mode = 0, decimals
    modes = {"half_to_even": rint, "half_away_from_zero": round_half_away}
    if mode not in modes:
        msg = f"round: mode is one of {', '.join(modes)}, got {mode!r}."
        raise OpContractError(msg)
    x = as_tensor_variable(x)
    if x.dtype == "bool":
        x = cast(x, "float16")
    whole = x.type.numpy_dtype.kind in "iu"
    if whole and decimals >= 0:
        return x
    if decimals == 0:
        return modes[mode](x)
    moved = decimals if decimals > 0 else -decimals
    if moved > float(np.log10(np.finfo("float64" if whole else x.dtype).max)):
        return x if decimals > 0 else x * 0  # such a power is infinite
    power = float(10.0**moved)  # a Python float, so that a float32 x stays float32
    scaled = x * power if decimals > 0 else x / power
    rounded = modes[mode](scaled)
    result = rounded / power if decimals > 0 else rounded * power
    return cast(result, x.dtype) if whole else result


def power_of(x: Any, y: Any) -> TensorVariable:
    """Return ``x ** y``: as :func:`pow`, but the square of truths is int8, as NumPy's is.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.bvector("x") > 0
    >>> (x**2).dtype, pt.pow(x, 2).dtype
    ('int8', 'int64')
    """
    if type(y) is int and y == 2 and getattr(x, "dtype", None) == "bool":
        return sqr(x)
    return pow(x, y)


def divmod(x: Any, y: Any) -> tuple[TensorVariable, TensorVariable]:
    """Return ``(x // y, x % y)``.

    Parameters
    ----------
    x, y
        Real tensors that broadcast against each other.

    Returns
    -------
    tuple of TensorVariable
        The quotients, rounded down, and the remainders, which have the sign of ``y``.

    Raises
    ------
    DtypeError
        An operand is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [int(part.eval()) for part in pt.divmod(7, 3)]
    [2, 1]
    """
    return int_div(x, y), mod(x, y)


@also_named
def ceil_intdiv(x: Any, y: Any) -> TensorVariable:
    """Return the quotient of integers, rounded up.

    Parameters
    ----------
    x, y
        Tensors of integers that broadcast against each other.

    Returns
    -------
    TensorVariable
        Integers, at least int64, with the common shape.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ceil_intdiv([6, 7], 3).eval()
    array([2, 3])
    """
    return int_div(x, y) + cast(neq(mod(x, y), 0), "int64")


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> TensorVariable:
    """Return, elementwise, whether ``abs(a - b) <= atol + rtol * abs(b)``, as NumPy does.

    Parameters
    ----------
    a, b
        Tensors that broadcast together.
    rtol, atol
        The relative and the absolute tolerance.
    equal_nan
        Whether NaN is close to NaN.

    Returns
    -------
    TensorVariable
        Bools, with the common shape of ``a`` and ``b``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1]).eval()
    array([ True, False])
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if b.type.numpy_dtype.kind in "biu":
        b = cast(b, "float64")  # differences of unsigned integers or bools cannot be negative
    close = le(abs(a - b), atol + rtol * abs(b)) & isfinite(a) & isfinite(b)
    close = close | eq(a, b)
    return close | (isnan(a) & isnan(b)) if equal_nan else close
