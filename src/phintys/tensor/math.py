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
    mod,
    neq,
    rint,
    round_half_away,
)
from phintys.tensor.type import normalize_dtype

if TYPE_CHECKING:
    from typing import Literal

    from phintys.tensor.variable import TensorVariable

    Rounding = Literal["half_to_even", "half_away_from_zero"]

__all__ = ["cast", "ceil_intdiv", "divmod", "isclose", "round"]
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


def round(x: Any, decimals: int = 0, mode: Rounding = "half_to_even") -> TensorVariable:
    """Return ``x`` rounded to a number of decimals.

    Parameters
    ----------
    x
        A tensor. Integers are unchanged unless ``decimals`` is negative.
    decimals
        Number of decimal places; negative values round to tens, hundreds and so on.
    mode
        How to round halves: ``"half_to_even"`` as in NumPy, or ``"half_away_from_zero"``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.round([0.5, 1.5, 2.5]).eval()
    array([0., 2., 2.])
    """
    modes = {"half_to_even": rint, "half_away_from_zero": round_half_away}
    if mode not in modes:
        msg = f"round: mode is one of {', '.join(modes)}, got {mode!r}."
        raise OpContractError(msg)
    x = as_tensor_variable(x)
    whole = x.type.numpy_dtype.kind in "biu"
    if whole and decimals >= 0:
        return x
    if decimals == 0:
        return modes[mode](x)
    power = float(10.0 ** np.abs(decimals))  # a Python float, so that a float32 x stays float32
    scaled = x * power if decimals > 0 else x / power
    rounded = modes[mode](scaled)
    result = rounded / power if decimals > 0 else rounded * power
    return cast(result, x.dtype) if whole else result


def divmod(x: Any, y: Any) -> tuple[TensorVariable, TensorVariable]:
    """Return ``(x // y, x % y)``."""
    return int_div(x, y), mod(x, y)


def ceil_intdiv(x: Any, y: Any) -> TensorVariable:
    """Return the quotient of integers, rounded up."""
    return int_div(x, y) + cast(neq(mod(x, y), 0), "int64")


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> TensorVariable:
    """Return, elementwise, whether ``abs(a - b) <= atol + rtol * abs(b)``, as NumPy does."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if b.type.numpy_dtype.kind in "biu":
        b = cast(b, "float64")  # differences of unsigned integers or bools cannot be negative
    close = le(abs(a - b), atol + rtol * abs(b)) & isfinite(a) & isfinite(b)
    close = close | eq(a, b)
    return close | (isnan(a) & isnan(b)) if equal_nan else close
