"""Numbers of twice the digits of float64, beside fractions."""

import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys.scalar.doubled import Doubled, exact_product, exact_sum

NUMBERS = st.floats(min_value=2.0**-40, max_value=2.0**40) | st.floats(-(2.0**40), -(2.0**-40))


def exact(x):
    return Fraction(float(x.value)) + Fraction(float(x.rest))


@given(NUMBERS, NUMBERS)
def test_errors_of_sums_and_products_are_exact(x, y):
    assert sum(map(Fraction, exact_sum(x, y))) == Fraction(x) + Fraction(y)
    assert sum(map(Fraction, exact_product(x, y))) == Fraction(x) * Fraction(y)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_operators_have_a_hundred_bits(x, y, z):
    left, right = Doubled(np.float64(x)) + y * 2.0**-60, Doubled(np.float64(y)) + z * 2.0**-60
    found = [left + right, left - right, left * right, left / right]
    a, b = exact(left), exact(right)
    for one, expected, size in zip(
        found, [a + b, a - b, a * b, a / b], [abs(a) + abs(b)] * 2 + [None] * 2, strict=True
    ):
        assert abs(exact(one) - expected) <= Fraction(1, 2**98) * (size or abs(expected))


@pytest.mark.parametrize("number", [3.0, np.float64(3.0), np.array([3.0, -0.5])])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
def test_operators_take_numbers_and_arrays_on_both_sides(name, number):
    apply = getattr(operator, name)
    x = Doubled(np.float64(7.0), 2.0**-60)
    for found, expected in [
        (apply(number, x), apply(Doubled(number), x)),
        (apply(x, number), apply(x, Doubled(number))),
    ]:
        np.testing.assert_array_equal(found.value, expected.value)
        np.testing.assert_array_equal(found.rest, expected.rest)
