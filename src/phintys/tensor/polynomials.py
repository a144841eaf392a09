"""Polynomials as vectors of coefficients, from the highest power to the lowest, as in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, ShapeError
from phintys._base.names import public_dir
from phintys.tensor import math
from phintys.tensor._rules import is_discrete
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.convolution import convolve
from phintys.tensor.creation import check_sizes, ones, zeros
from phintys.tensor.diagonals import eye
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.indexing import set_subtensor
from phintys.tensor.joining import concatenate, stack
from phintys.tensor.linear_algebra.eigen import eigvals
from phintys.tensor.linear_algebra.least_squares import lstsq
from phintys.tensor.ranges import arange
from phintys.tensor.reduce import sum
from phintys.tensor.sequences import vander
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import clip_size, fold, same_size, subtract_sizes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = [
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
]


def _coefficients(p: Any, name: str) -> Any:
    p = as_tensor_variable(p)
    if p.ndim > 1:
        msg = f"{name}: coefficients are a vector, got {p} of type {p.type}."
        raise ShapeError(msg)
    return expand_dims(p, 0) if p.ndim == 0 else p


def polyval(p: Any, x: Any) -> TensorVariable:
    """Return the values of a polynomial.

    Parameters
    ----------
    p
        A vector of coefficients, from the highest power to the lowest.
    x
        A tensor of any rank: where.

    Returns
    -------
    TensorVariable
        By Horner's scheme if the number of coefficients is known; else by powers of ``x``.

    Raises
    ------
    ShapeError
        ``p`` is not a vector.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.polyval([3, 0, 1], 5).eval()
    array(76)
    """
    p, x = _coefficients(p, "polyval"), as_tensor_variable(x)
    count = fold(sizes_of(p)[0])
    dtype = promote(p.dtype, x.dtype)
    if not isinstance(count, int):
        powers = math.sub(subtract_sizes(count, 1), arange(count))
        if dtype == "uint64":  # with signed numbers it is promoted to float64, which rounds
            x, powers = math.cast(x, dtype), math.cast(powers, dtype)
        terms = p * math.pow(expand_dims(x, x.ndim), powers)
        return math.cast(sum(terms, -1), dtype)
    value = math.cast(math.second(x, as_tensor_variable(0)), dtype)
    for position in range(count):
        value = p[position] if position == 0 else value * x + p[position]
    return math.cast(math.second(x, value), dtype)


@also_named
def polyadd(p: Any, q: Any) -> TensorVariable:
    """Return the sum of two polynomials.

    Parameters
    ----------
    p, q
        Vectors of coefficients, that of the highest power first; a number is a constant polynomial.

    Returns
    -------
    TensorVariable
        The coefficients of the sum, as many as the longer one has.

    Raises
    ------
    ShapeError
        One of them has several dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.polyadd([1, 2], [9, 5, 4]).eval()
    array([9, 6, 6])
    """
    p, q = _coefficients(p, "polyadd"), _coefficients(q, "polyadd")
    return math.add(*_as_long(p, q))


@also_named
def polysub(p: Any, q: Any) -> TensorVariable:
    """Return the difference of two polynomials.

    Parameters
    ----------
    p, q
        Vectors of coefficients, that of the highest power first; a number is a constant polynomial.

    Returns
    -------
    TensorVariable
        The coefficients of ``p - q``, as many as the longer one has.

    Raises
    ------
    ShapeError
        One of them has several dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.polysub([1, 2], [9, 5, 4]).eval()
    array([-9, -4, -2])
    """
    p, q = _coefficients(p, "polysub"), _coefficients(q, "polysub")
    return math.sub(*_as_long(p, q))


def _as_long(p: Any, q: Any) -> tuple[Any, Any]:
    """Return both with zeros in front of the shorter one."""
    n, m = sizes_of(p)[0], sizes_of(q)[0]
    if same_size(fold(n), fold(m)):
        return p, q
    return _with_zeros(p, subtract_sizes(m, n)), _with_zeros(q, subtract_sizes(n, m))


def _with_zeros(p: Any, count: Any) -> Any:
    return concatenate([zeros(clip_size(fold(count), 0, None), p.dtype), p])


@also_named
def polymul(p: Any, q: Any) -> TensorVariable:
    """Return the product of two polynomials.

    Parameters
    ----------
    p, q
        Vectors of coefficients, that of the highest power first; a number is a constant polynomial.

    Returns
    -------
    TensorVariable
        The coefficients of the product, one fewer than both have together. Unlike NumPy's function
        it keeps leading zeros.

    Raises
    ------
    ShapeError
        One of them has several dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.polymul([1, 2], [9, 5, 4]).eval()
    array([ 9, 23, 14,  8])
    """
    return convolve(_coefficients(p, "polymul"), _coefficients(q, "polymul"))


def polydiv(u: Any, v: Any) -> tuple[TensorVariable, TensorVariable]:
    """Return the quotient and the remainder of two polynomials.

    Parameters
    ----------
    u, v
        Coefficients, of which those of ``v`` do not begin with 0. Their numbers are known when the
        graph is built.

    Returns
    -------
    tuple of TensorVariable
        The remainder has one coefficient less than ``v``, of which some may be 0; or those of
        ``u``, if it is shorter.

    Raises
    ------
    ShapeError
        A number of coefficients is not known.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval().tolist() for part in pt.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])]
    [[1.5, 1.75], [0.25]]
    """
    u, v = _coefficients(u, "polydiv"), _coefficients(v, "polydiv")
    n, m = _known_count(u, "polydiv"), _known_count(v, "polydiv")
    dtype = promote(u.dtype, v.dtype, "float32" if u.dtype == v.dtype == "float32" else "float64")
    u, v = math.cast(u, dtype), math.cast(v, dtype)
    if n < m:
        return zeros(1, dtype), u
    quotient: list[Any] = []
    rest = [u[i] for i in range(n)]
    for start in range(n - m + 1):
        factor = rest[start] / v[0]
        quotient.append(factor)
        for i in range(1, m):
            rest[start + i] = rest[start + i] - factor * v[i]
    remainder = stack(rest[n - m + 1 :]) if m > 1 else zeros(1, dtype)
    return stack(quotient), remainder


def _known_count(p: Any, name: str) -> int:
    count = fold(sizes_of(p)[0])
    if not isinstance(count, int):
        msg = f"{name}: the length of {p} (type {p.type}) is not known. Use pt.specify_shape."
        raise ShapeError(msg)
    return count


def poly(zeros_or_matrix: Any) -> TensorVariable:
    """Return the coefficients of the polynomial with given zeros, which begins with 1.

    Parameters
    ----------
    zeros_or_matrix
        A vector of zeros, or a square matrix, whose eigenvalues they are. Their number is known
        when the graph is built.

    Returns
    -------
    TensorVariable
        A vector that is longer by one than there are zeros.

    Raises
    ------
    ShapeError
        The number of zeros is not known, or the rank is above 2.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.poly([1.0, 2.0]).eval()
    array([ 1., -3.,  2.])
    """
    found = as_tensor_variable(zeros_or_matrix)
    if found.ndim == 2:
        found = eigvals(found)
    found = _coefficients(found, "poly")
    found = math.cast(found, "float64") if is_discrete(found) else found
    result = ones(1, found.dtype)
    for place in range(_known_count(found, "poly")):
        result = convolve(result, stack([ones((), found.dtype), -found[place]]))
    return result


def polyder(p: Any, m: int = 1) -> TensorVariable:
    """Return the coefficients of the m-th derivative of a polynomial.

    Parameters
    ----------
    p
        A vector of coefficients, that of the highest power first; a number is a constant
        polynomial.
    m
        How often to differentiate, a non-negative int.

    Returns
    -------
    TensorVariable
        ``m`` coefficients fewer; integers stay integers.

    Raises
    ------
    ShapeError
        ``p`` has several dimensions.
    ArgumentError
        ``m`` is negative.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.polyder([1, 1, 1, 1]).eval()
    array([3, 2, 1])
    >>> pt.polyder([1, 1, 1, 1], 2).eval()
    array([6, 2])
    """
    p = _coefficients(p, "polyder")
    if m < 0:
        msg = f"polyder: m, how often to differentiate, must not be negative; got {m}."
        raise ArgumentError(msg)
    for _ in range(m):
        powers = math.sub(sizes_of(p)[0], 1) - arange(sizes_of(p)[0])
        p = (p * powers)[:-1]
    return p


def polyint(p: Any, m: int = 1, k: Any = 0) -> TensorVariable:
    """Return the coefficients of the m-th antiderivative of a polynomial.

    Parameters
    ----------
    p
        Coefficients.
    m
        How often to integrate.
    k
        The constant of integration: one for all times, or a list with one for each.

    Returns
    -------
    TensorVariable
        ``m`` coefficients more, that of the highest power first; floating.

    Raises
    ------
    ArgumentError
        ``m`` is negative.
    ShapeError
        There are not ``m`` constants.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.polyint([3, 2, 1]).eval()
    array([1., 1., 1., 0.])
    """
    if m < 0:
        msg = f"polyint: m, how often to integrate, must not be negative; got {m}."
        raise ArgumentError(msg)
    p = _coefficients(p, "polyint")
    p = math.cast(p, promote(p.dtype, "float64"))
    constants = list(k) if isinstance(k, list | tuple) else [k] * m
    if len(constants) != m:
        msg = f"polyint: {len(constants)} constants for {m} integrations. Give one for each."
        raise ShapeError(msg)
    for one in constants:
        powers = math.cast(math.sub(sizes_of(p)[0], arange(sizes_of(p)[0])), p.dtype)
        p = concatenate([p / powers, expand_dims(math.cast(as_tensor_variable(one), p.dtype), 0)])
    return p


def polyfit(x: Any, y: Any, deg: int) -> TensorVariable:
    """Return the coefficients of the polynomial that fits points best, by least squares.

    Parameters
    ----------
    x
        A vector: where.
    y
        A vector of values, or a matrix with one set in each column.
    deg
        The degree of the polynomial.

    Returns
    -------
    TensorVariable
        ``deg + 1`` coefficients, that of the highest power first.

    Raises
    ------
    ShapeError
        ``x`` is not a vector, or ``deg`` is negative.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).eval().round(6)
    array([2., 1.])
    """
    check_sizes([deg], "polyfit: the degree")
    columns = vander(math.cast(as_tensor_variable(x), "float64"), deg + 1)
    scale = math.sqrt(sum(columns * columns, 0))  # the columns differ by powers of x
    found = lstsq(columns / scale, math.cast(as_tensor_variable(y), "float64")).x
    return found / (scale if found.ndim == 1 else expand_dims(scale, 1))


def roots(p: Any) -> TensorVariable:
    """Return the roots of a polynomial, which are complex: the eigenvalues of its companion matrix.

    Parameters
    ----------
    p
        Coefficients, of which the first is not 0. Their number is known when the graph is built.

    Returns
    -------
    TensorVariable
        A complex vector.

    Raises
    ------
    ShapeError
        The number of coefficients is not known.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> sorted(pt.roots([1.0, -3.0, 2.0]).eval().real.round(6).tolist())
    [1.0, 2.0]
    """
    p = _coefficients(p, "roots")
    count = _known_count(p, "roots")
    p = math.cast(p, "float64") if is_discrete(p) else p
    if count < 2:
        return zeros(0, promote(p.dtype, "complex64"))
    below = eye(count - 1, k=-1, dtype=p.dtype)
    return eigvals(set_subtensor(below[0, :], -p[1:] / p[0]))


__dir__ = public_dir(__name__)
