"""Numbers to 70 digits, and their splitting into words of a float type."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

__all__ = ["LN2", "LN10", "PI", "number", "words"]

LN2 = Fraction("0.6931471805599453094172321214581765680755001343602552541206800094933936")
LN10 = Fraction("2.302585092994045684017991454684364207601101488628772976033327900967573")
PI = Fraction("3.141592653589793238462643383279502884197169399375105820974944592307816")


def number(value: Fraction, name: str) -> float:
    """Return the value rounded to float32 or float64.

    Examples
    --------
    >>> number(PI, "float64"), number(PI, "float32")
    (3.141592653589793, 3.1415927410125732)
    """
    return float(np.float32(float(value))) if name == "float32" else float(value)


@cache
def words(value: Fraction, name: str, *bits: int) -> tuple[float, ...]:
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
    result = []
    for count in bits:
        exponent = math.frexp(float(value))[1] - count
        scaled = Fraction(value) / Fraction(2) ** exponent
        word = Fraction(round(scaled)) * Fraction(2) ** exponent
        result.append(float(word))
        value -= word
    return (*result, number(value, name))
