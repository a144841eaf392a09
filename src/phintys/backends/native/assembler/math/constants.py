"""Numbers to 70 digits, and their splitting into words of a float type."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np


class Ratio(NamedTuple):
    """A rational number; the denominator is positive.

    ``fractions.Fraction`` takes longer to import than most programs to compile.

    Examples
    --------
    >>> Ratio.read("2.50")
    Ratio(numerator=250, denominator=100)
    >>> float(1 / Ratio.read("2.50")), float(Ratio(1, 3) / 2)
    (0.4, 0.16666666666666666)
    """

    numerator: int
    denominator: int = 1

    @classmethod
    def read(cls, digits: str) -> Ratio:
        """Return the number that decimal digits stand for."""
        whole, _, rest = digits.partition(".")
        return cls(int(whole + rest), 10 ** len(rest))

    def __truediv__(self, other: Ratio | int) -> Ratio:
        n, d = other if isinstance(other, Ratio) else (other, 1)
        return Ratio(self.numerator * d, self.denominator * n)

    def __rtruediv__(self, other: int) -> Ratio:
        return Ratio(other) / self

    def __float__(self) -> float:
        """Return the nearest float."""
        return self.numerator / self.denominator

    def split(self, unit: int) -> tuple[int, Ratio]:
        """Return the nearest multiple of a power of two, as its integer factor, and what is left.

        Parameters
        ----------
        unit
            The exponent of the power of two.
        """
        n, d = self.numerator << max(-unit, 0), self.denominator << max(unit, 0)
        whole = (2 * n + d) // (2 * d)
        return whole, Ratio(n - whole * d, self.denominator << max(-unit, 0))


LN2 = Ratio.read("0.6931471805599453094172321214581765680755001343602552541206800094933936")
LN10 = Ratio.read("2.302585092994045684017991454684364207601101488628772976033327900967573")
PI = Ratio.read("3.141592653589793238462643383279502884197169399375105820974944592307816")


def number(value: Ratio, name: str) -> float:
    """Return the value rounded to float32 or float64.

    Examples
    --------
    >>> number(PI, "float64"), number(PI, "float32")
    (3.141592653589793, 3.1415927410125732)
    """
    return float(np.float32(float(value))) if name == "float32" else float(value)


@cache
def words(value: Ratio, name: str, *bits: int) -> tuple[float, ...]:
    """Split a number into a sum of words, the last one rounded to the whole precision.

    Parameters
    ----------
    value
        The number.
    name
        ``"float32"`` or ``"float64"``.
    *bits
        How many bits each word before the last one has. A word of few bits times a small integer
        is exact.

    Examples
    --------
    >>> words(PI, "float64", 53)
    (3.141592653589793, 1.2246467991473532e-16)
    >>> words(PI, "float64", 8)
    (3.140625, 0.0009676535897932385)
    """
    result: list[float] = []
    for count in bits:
        unit = math.frexp(float(value))[1] - count
        word, value = value.split(unit)
        result.append(math.ldexp(word, unit))
    return (*result, number(value, name))
