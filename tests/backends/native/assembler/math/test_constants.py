"""Exact numbers are split into words as by rational arithmetic."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys.backends.native.assembler.math.constants import Ratio, words
from phintys.backends.native.assembler.math.tables import inverses, log_words

positive = st.integers(1, 10**40)


@given(positive, positive, st.lists(st.integers(4, 53), max_size=3))
def test_words_are_those_of_rational_arithmetic(n, d, bits):
    value, expected = Fraction(n, d), []
    for count in bits:
        unit = Fraction(2) ** (math.frexp(float(value))[1] - count)
        quotient = value / unit
        word = math.floor(quotient + Fraction(1, 2)) * unit
        expected.append(float(word))
        value -= word
    assert words(Ratio(n, d), "float64", *bits) == (*expected, float(value))


@pytest.mark.parametrize("text", ["0.5", "12", "3.25", "180.0"])
def test_ratios(text):
    value, exact = Ratio.read(text), Fraction(text)
    assert float(value) == float(exact)
    assert float(value / 7) == float(exact / 7)
    assert float(7 / value) == float(7 / exact)
    assert float(value / Ratio(3, 5)) == float(exact / Fraction(3, 5))


def test_the_table_of_logarithms():
    first, rest = log_words()
    for inverse, high, low in zip(inverses(), first, rest, strict=True):
        assert high + low == pytest.approx(-math.log(inverse), rel=1e-15)
        assert high * 2**42 == round(high * 2**42)
        assert abs(low) <= 2.0**-43
