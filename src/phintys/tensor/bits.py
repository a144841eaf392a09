"""Bits of bytes as elements of arrays, and the parts of floating-point numbers."""

from __future__ import annotations

import math as numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys._base.names import public_dir
from phintys.tensor import math
from phintys.tensor._rules import is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import zeros
from phintys.tensor.dim_shuffle import moveaxis, normalize_axis, shape_padright
from phintys.tensor.joining import concatenate
from phintys.tensor.reduce import sum
from phintys.tensor.reshaping import flatten, reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.size_check import with_check
from phintys.tensor.sizes import (
    add_sizes,
    ceil_div_sizes,
    clip_size,
    multiply_sizes,
    subtract_sizes,
)
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = ["float_power", "frexp", "isneginf", "isposinf", "modf", "packbits", "unpackbits"]


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


_ORDERS = {"big": np.arange(7, -1, -1, dtype="uint8"), "little": np.arange(8, dtype="uint8")}
"""The order of bits -> by how many places each of the eight is shifted."""


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> TensorVariable:
    """Pack elements, each as a bit that says whether it is not zero, into bytes.

    Parameters
    ----------
    a
        A tensor of bools or integers.
    axis
        The axis along which eight elements become a byte; by default ``a`` is flattened first. If
        the number of elements is not a multiple of eight, zeros follow.
    bitorder
        ``"big"``: the first of eight elements is the highest bit; ``"little"``: the lowest one.

    Returns
    -------
    TensorVariable
        A uint8 tensor, with an eighth of the elements along the axis.

    Raises
    ------
    ArgumentError
        ``bitorder`` is unknown.
    DtypeError
        ``a`` has floating elements.
    AxisError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.packbits([1, 0, 0, 0, 0, 0, 1, 1, 1]).eval()
    array([131, 128], dtype=uint8)
    """
    shifts = _shifts(bitorder, "packbits")
    a = as_tensor_variable(a)
    if not is_discrete(a):
        msg = f"packbits packs bools and integers, got {a} of dtype {a.dtype}. Compare it with 0."
        raise DtypeError(msg)
    a, axis = _last(a, axis)
    bits = math.cast(math.neq(a, 0), "uint8")
    *before, length = sizes_of(bits)
    count = ceil_div_sizes(length, 8)
    missing = subtract_sizes(multiply_sizes((count, 8)), length)
    if not (isinstance(missing, int) and missing == 0):
        bits = concatenate([bits, zeros((*before, missing), "uint8")], -1)
    eights = reshape(bits, (*before, count, 8), ndim=len(before) + 2)
    return moveaxis(sum(math.left_shift(eights, shifts), -1, dtype="uint8"), -1, axis)


def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> TensorVariable:
    """Return the bits of bytes.

    Parameters
    ----------
    a
        A uint8 tensor.
    axis
        The axis along which a byte becomes eight elements; by default ``a`` is flattened first.
    count
        How many elements the axis has in the result: zeros follow where there are fewer bits. A
        negative number leaves out that many bits at the end.
    bitorder
        ``"big"``: the highest bit comes first; ``"little"``: the lowest one.

    Returns
    -------
    TensorVariable
        A uint8 tensor of zeros and ones.

    Raises
    ------
    ArgumentError
        ``bitorder`` is unknown, or ``count`` is no Python integer.
    DtypeError
        ``a`` is not of dtype uint8.
    AxisError
        ``axis`` is out of range.
    ShapeError
        A negative ``count`` leaves out more bits than there are.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.unpackbits(np.array([131], "uint8")).eval()
    array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """
    shifts = _shifts(bitorder, "unpackbits")
    if count is not None and (isinstance(count, bool) or not isinstance(count, int | np.integer)):
        msg = f"unpackbits: count is a Python integer or None, got {count!r}."
        raise ArgumentError(msg)
    a = as_tensor_variable(a)
    if a.dtype != "uint8":
        msg = f"unpackbits takes bytes, of dtype uint8, got {a} of dtype {a.dtype}. Cast it."
        raise DtypeError(msg)
    a, axis = _last(a, axis)
    *before, length = sizes_of(a)
    bits = math.bitwise_and(math.right_shift(shape_padright(a), shifts), np.uint8(1))
    length = multiply_sizes((length, 8))
    bits = reshape(bits, (*before, length), ndim=len(before) + 1)
    if count is not None:
        bits = _counted(bits, before, length, int(count))
    return moveaxis(bits, -1, axis)


def _counted(bits: Any, before: list[Any], length: Any, count: int) -> Any:
    if count < 0:
        what = "unpackbits: the number of bits, of which count leaves out some,"
        if isinstance(length, int) and length < -count:
            msg = f"{what} must be at least {-count}, got {length}."
            raise ShapeError(msg)
        (wanted,) = with_check([add_sizes(length, count)], "at least", length, -count, what)
        return bits[..., :wanted]
    missing = clip_size(subtract_sizes(count, length), 0, None)
    if not (isinstance(missing, int) and missing == 0):
        bits = concatenate([bits, zeros((*before, missing), "uint8")], -1)
    return bits[..., :count]


def _shifts(bitorder: str, name: str) -> Any:
    if bitorder not in _ORDERS:
        msg = f'{name}: bitorder is "big" or "little", got {bitorder!r}.'
        raise ArgumentError(msg)
    return _ORDERS[bitorder]


def _last(a: Any, axis: int | None) -> tuple[Any, int]:
    """Return an array whose last axis is the one asked for, and where that axis was."""
    if axis is None:
        return flatten(a), 0
    axis = normalize_axis(axis, a.ndim)
    return moveaxis(a, axis, -1), axis
