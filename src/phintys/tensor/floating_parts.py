"""Floating-point numbers: which infinity they are, and the parts that they are made of."""

from __future__ import annotations

import math as numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import DtypeError
from phintys._base.names import public_dir
from phintys.tensor import math
from phintys.tensor._rules import is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = ["float_power", "frexp", "isneginf", "isposinf", "modf"]

_ZERO, _ONE = np.int32(0), np.int32(1)


def isposinf(x: Any) -> TensorVariable:
    """Return, elementwise, whether a real number is positive infinity.

    Parameters
    ----------
    x
        A real tensor of any dtype.

    Returns
    -------
    TensorVariable
        Bools, with the shape of ``x``.

    Raises
    ------
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.isposinf([pt.inf, -pt.inf, 1.0]).eval()
    array([ True, False, False])
    """
    return math.eq(_real(x, "isposinf"), numbers.inf)


def isneginf(x: Any) -> TensorVariable:
    """Return, elementwise, whether a real number is negative infinity.

    Parameters
    ----------
    x
        A real tensor of any dtype.

    Returns
    -------
    TensorVariable
        Bools, with the shape of ``x``.

    Raises
    ------
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.isneginf([pt.inf, -pt.inf, 1.0]).eval()
    array([False,  True, False])
    """
    return math.eq(_real(x, "isneginf"), -numbers.inf)


def _real(x: Any, name: str) -> Any:
    """Return a real tensor of a floating dtype."""
    x = as_tensor_variable(x)
    if x.type.numpy_dtype.kind == "c":
        msg = f"{name} takes real numbers, got {x} of dtype {x.dtype}."
        raise DtypeError(msg)
    return math.cast(x, np.frexp(np.ones((), x.dtype))[0].dtype.name) if is_discrete(x) else x


def float_power(x: Any, y: Any) -> TensorVariable:
    """Return ``x ** y``, computed in float64 or complex128.

    Parameters
    ----------
    x, y
        Tensors of any dtypes, which broadcast against each other.

    Returns
    -------
    TensorVariable
        The powers, float64 or complex128. As in NumPy, NaN where a negative real number has a power
        that is not whole.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.float_power([1, 2, 3], -1).eval().round(2)
    array([1.  , 0.5 , 0.33])
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    dtype = promote(x.dtype, y.dtype, "float64")
    return math.pow(math.cast(x, dtype), math.cast(y, dtype))


def modf(x: Any) -> tuple[TensorVariable, TensorVariable]:
    """Return the fractional and the whole parts of real numbers, with their signs.

    Parameters
    ----------
    x
        A real tensor of any dtype.

    Returns
    -------
    tuple of TensorVariable
        The two parts, with the shape and dtype of ``x``; for integers and bools, of the smallest
        floating dtype that NumPy computes them in. Both have the sign of ``x``; the fractional part
        of an infinity is 0.

    Raises
    ------
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval() for part in pt.modf([2.5, -0.25])]
    [array([ 0.5 , -0.25]), array([ 2., -0.])]
    """
    x = _real(x, "modf")
    whole = math.trunc(x)
    part = math.switch(math.isinf(x), 0, x - whole)
    return math.copysign(part, x), whole


def frexp(x: Any) -> tuple[TensorVariable, TensorVariable]:
    """Return mantissas m, of a modulus from 1/2 to 1, and exponents e such that x = m * 2**e.

    Parameters
    ----------
    x
        A real tensor of any dtype.

    Returns
    -------
    tuple of TensorVariable
        The mantissas, with the dtype of ``x`` (for integers and bools, the smallest floating dtype
        that NumPy computes them in), and the exponents, int32. Zero, infinities and NaN are their
        own mantissas, with the exponent 0.

    Raises
    ------
    DtypeError
        ``x`` is complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval() for part in pt.frexp([6.0, 0.0])]
    [array([0.75, 0.  ]), array([3, 0], dtype=int32)]
    """
    x = _real(x, "frexp")
    is_number = math.and_(math.isfinite(x), math.neq(x, 0))
    size = math.abs(math.switch(is_number, x, 1))
    exponent = math.cast(math.floor(math.log2(size)), "int32") + 1
    # The logarithm may be rounded up or down to the next whole number.
    scaled = math.ldexp(size, -exponent)
    exponent = (
        exponent + math.cast(math.ge(scaled, 1), "int32") - math.cast(math.lt(scaled, 0.5), "int32")
    )
    exponent = math.switch(is_number, exponent, _ZERO)
    return math.ldexp(x, -exponent), exponent


__dir__ = public_dir(__name__)
