"""Arrays of numbers of twice the digits of float64: sums of two, the second of which is small.

For series whose terms cancel. A sum or a product and its rounding error are two floats together (T.
J. Dekker, A floating-point technique for extending the available precision, Numer. Math. 18, 1971;
D. E. Knuth, The Art of Computer Programming 2, 1969), of which an operation keeps the first 100
bits or so. Infinities and overflows become NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_SPLITTER = 2.0**27 + 1


def exact_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the sum and its rounding error.

    Examples
    --------
    >>> from phintys.scalar.doubled import exact_sum
    >>> exact_sum(1.0, 1e-20)
    (1.0, 1e-20)
    """
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def exact_product(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the product and its rounding error; the error is not finite next to overflow.

    Examples
    --------
    >>> from phintys.scalar.doubled import exact_product
    >>> exact_product(1 + 2.0**-30, 1 + 2.0**-30)[1] == 2.0**-60
    True
    """
    product = x * y
    (x_hi, x_lo), (y_hi, y_lo) = _halves(x), _halves(y)
    return product, ((x_hi * y_hi - product) + x_hi * y_lo + x_lo * y_hi) + x_lo * y_lo


def _halves(x: Any) -> tuple[Any, Any]:
    """Return the upper and the lower half of the bits of float64 numbers (Veltkamp)."""
    scaled = _SPLITTER * x
    upper = scaled - (scaled - x)
    return upper, x - upper


class Doubled:
    """The sums of two arrays, with the operators of arrays.

    Parameters
    ----------
    value
        Arrays or numbers of float64.
    rest
        What is to be added, smaller than the rounding error of the value.

    Examples
    --------
    >>> from phintys.scalar.doubled import Doubled
    >>> ((Doubled(1.0) + 2.0**-60) * 3.0 - 3.0).value == 3 * 2.0**-60
    True
    """

    # NumPy leaves operators with an array on the left to this class.
    __array_ufunc__ = None
    __slots__ = ("rest", "value")

    def __init__(self, value: Any, rest: Any = 0.0) -> None:
        self.value = value
        self.rest = rest

    def __add__(self, other: Any) -> Doubled:
        other = doubled(other)
        value, error = exact_sum(self.value, other.value)
        rest, small = exact_sum(self.rest, other.rest)
        value, error = _settled(value, error + rest)
        return Doubled(*_settled(value, error + small))

    __radd__ = __add__

    def __neg__(self) -> Doubled:
        return Doubled(-self.value, -self.rest)

    def __sub__(self, other: Any) -> Doubled:
        return self + -doubled(other)

    def __rsub__(self, other: Any) -> Doubled:
        return doubled(other) - self

    def __mul__(self, other: Any) -> Doubled:
        other = doubled(other)
        value, error = exact_product(self.value, other.value)
        cross = self.value * other.rest + self.rest * other.value
        return Doubled(*_settled(value, error + cross))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Doubled:
        other = doubled(other)
        first = self.value / other.value
        rest = self - other * first
        return Doubled(*_settled(first, rest.value / other.value))

    def __rtruediv__(self, other: Any) -> Doubled:
        return doubled(other) / self

    def __abs__(self) -> Any:
        """Return the magnitudes as plain floats."""
        return np.abs(self.value)


def doubled(x: Any) -> Doubled:
    """Return the numbers themselves, if they have twice the digits, or with zeros as the rest.

    Examples
    --------
    >>> from phintys.scalar.doubled import doubled
    >>> doubled(0.5).rest
    0.0
    """
    return x if isinstance(x, Doubled) else Doubled(x)


def _settled(value: Any, rest: Any) -> tuple[Any, Any]:
    """Return the same sum of a number and a smaller one, with as little as possible in the rest."""
    total = value + rest
    return total, rest - (total - value)
