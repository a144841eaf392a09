"""Factors taken apart: powers of a base by which something else divides, and the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.graph.variable import Constant
from phintys.scalar.factors import Factor, applied, is_same, number_of, power_of, raised
from phintys.scalar.operators import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence


def showing(factors: list[Factor], others: list[Factor]) -> list[Factor]:
    """Return factors in which those that contain a divisor among the others are products of it."""
    divisors = [one for one in others if one.exponent < 0 and not isinstance(one.base, Constant)]
    return (
        [part for one in factors for part in _taken_apart(one, divisors)] if divisors else factors
    )


def _taken_apart(factor: Factor, divisors: Sequence[Factor]) -> Sequence[Factor]:
    """Return a power of a divisor and the rest of a factor, or the factor alone."""
    if factor.exponent <= 0 or factor.is_guarded:
        return (factor,)
    op, inputs = applied(factor.base)
    for divisor in divisors:
        found = _split(factor.base, op, inputs, divisor.base)
        if found is not None:
            exponent, rest = found[0] * factor.exponent, found[1]
            power = Factor(divisor.base, exponent, raised(divisor.base, exponent), 1)
            if rest is None:
                return (power,)
            return (power, Factor(rest, factor.exponent, raised(rest, factor.exponent), 1))
    return (factor,)


def _split(x: Any, op: Any, inputs: Sequence[Any], base: Any) -> tuple[float, Any] | None:
    """Return n and y where ``x``, an ``op(*inputs)``, is ``base**n * y``; y is ``None`` for 1."""
    if op is OPERATORS.exp:
        return _split_exponential(inputs, base)
    if op is OPERATORS.sub:
        return _split_square_of_tanh(inputs, base)
    slope = getattr(op, "slope_at_zero", None)
    return _split_cube(x, base) if slope is None else _split_odd(x, inputs[0], base, slope)


def _split_cube(x: Any, base: Any) -> tuple[float, Any] | None:
    """x -> 3, 1 for the base cbrt(x)"""
    op, inputs = applied(base)
    return (3.0, None) if op is OPERATORS.cbrt and is_same(inputs[0], x) else None


def _split_odd(x: Any, argument: Any, base: Any, slope: float) -> tuple[float, Any] | None:
    """f(b**n) -> n, f(b**n) / b**n for the base b and an odd function, also where b is 0

    The derivative of the quotient of an odd function and its argument is 0 at 0.
    """
    root, exponent = power_of(argument)
    if exponent <= 0 or not is_same(root, base):
        return None
    is_zero = OPERATORS.eq(argument, 0)
    quotient = OPERATORS.true_div(x, OPERATORS.switch(is_zero, 1, argument))
    return exponent, OPERATORS.switch(is_zero, slope, quotient)


def _split_exponential(inputs: Sequence[Any], base: Any) -> tuple[float, Any] | None:
    """exp(c * log(x) + y) -> c, exp(y) for the base x, where c is positive"""
    for term, rest in _terms(inputs[0]):
        exponent = _exponent_in(term, base)
        if exponent > 0:
            return exponent, None if rest is None else OPERATORS.exp(rest)
    return None


def _terms(x: Any, levels: int = 4) -> list[tuple[Any, Any]]:
    """Return the terms of a sum that are added, each with the sum of the others."""
    op, inputs = applied(x)
    if not levels or not (op is OPERATORS.sub or (op is OPERATORS.add and len(inputs) > 1)):
        return [(x, None)]
    found: list[tuple[Any, Any]] = []
    for place, part in enumerate(inputs[:1] if op is OPERATORS.sub else inputs):
        others = [one for i, one in enumerate(inputs) if i != place]
        for term, rest in _terms(part, levels - 1):
            if rest is not None:
                whole = op(rest, *others)
            elif op is OPERATORS.sub:
                whole = OPERATORS.neg(*others)
            else:
                whole = others[0] if len(others) == 1 else OPERATORS.add(*others)
            found.append((term, whole))
    return found


def _exponent_in(term: Any, base: Any) -> float:
    """Return c where a term is ``c * log(base)``; 0 for others."""
    op, inputs = applied(term)
    if op is OPERATORS.mul and len(inputs) == 2:
        for number, other in (inputs, reversed(inputs)):
            factor = number_of(number)
            if factor is not None and np.isfinite(factor):
                return factor * _exponent_in(other, base)
        return 0.0
    if op is OPERATORS.log:
        return float(is_same(inputs[0], base))
    if op is OPERATORS.log1p:
        sum_op, parts = applied(base)
        is_sum = sum_op is OPERATORS.add and number_of(parts[0]) == 1
        return float(is_sum and is_same(parts[1], inputs[0]))
    return 0.0


def _split_square_of_tanh(inputs: Sequence[Any], base: Any) -> tuple[float, Any] | None:
    """1 - tanh(x)**2 -> 1, (1 - tanh(x)) / c for the base c + c * tanh(x); also of differences"""
    op, squared = applied(inputs[1])
    if op is not OPERATORS.sqr or number_of(inputs[0]) != 1:
        return None
    op, arguments = applied(squared[0])
    if op is not OPERATORS.tanh:
        return None
    number, factor = _affine(base, squared[0])
    if not number or abs(number) != abs(factor):
        return None
    # Of 1 - tanh(x) and 1 + tanh(x), without cancellation.
    rest = OPERATORS.sigmoid(OPERATORS.mul(arguments[0], -2 if number == factor else 2))
    return 1.0, OPERATORS.mul(rest, 2 / number)


def _affine(x: Any, of: Any) -> tuple[float, float]:
    """Return c and d where x is ``c + d * of``; 0 and 0 for others."""
    op, terms = applied(x)
    if op is OPERATORS.sub:
        signs = (1.0, -1.0)
    elif op is OPERATORS.add and len(terms) == 2:
        signs = (1.0, 1.0)
    else:
        return 0.0, 0.0
    number = factor = 0.0
    for sign, term in zip(signs, terms, strict=True):
        constant = number_of(term)
        if constant is None:
            factor += sign * _multiple_of(term, of)
        else:
            number += sign * constant
    return number, factor


def _multiple_of(term: Any, of: Any) -> float:
    """Return c where a term is ``c * of``; 0 for others."""
    if is_same(term, of):
        return 1.0
    op, inputs = applied(term)
    if op is OPERATORS.neg:
        return -_multiple_of(inputs[0], of)
    if op is OPERATORS.mul and len(inputs) == 2:
        for number, other in (inputs, reversed(inputs)):
            factor = number_of(number)
            if factor is not None:
                return factor * _multiple_of(other, of)
    return 0.0
