"""Products in which divisors of one factor cancel the other.

The gradient of ``log(f)`` is ``g / f``, that of an exponential, a product or a power ``f`` is a
multiple of ``f``, and that of ``sqrt(f)`` is a quotient by the root. Computed literally,
``g / f * f`` is NaN where f is 0 or infinite, so that the gradient of the logarithm of a density,
or of the square of a norm, is lost although it exists. So where derivatives are multiplied, a
divisor of one is cancelled by an equal factor of the other, in reverse and in forward mode. The
result is the same wherever both are finite, and the limit elsewhere.

Factors are powers of a base with a known exponent: ``sqrt(x)`` and ``x**2`` have the base x, and
``exp(2 * log(x) + y)`` is ``x**2 * exp(y)`` where the other operand divides by x. Only what one
operand divides by and the other multiplies with is taken apart; a program's own products stay as
they are. Odd functions are divided by what they are functions of: the gradient of ``cos(sqrt(x))``
is half of ``-sin(sqrt(x)) / sqrt(x)``, which is -1 where x is 0.

A logarithm of 0 is cancelled by a factor that is 0 there: ``log(x) * x`` is ``xlogy(x, x)``.
"""

from __future__ import annotations

from functools import reduce as fold
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.graph.variable import Constant, Variable
from phintys.scalar.factors import (
    AS_DEEP,
    MOST_FACTORS,
    applied,
    factors_of,
    is_same,
    known_exponent,
    number_of,
    power_of,
    raised,
    seen_through,
    vanishes_with,
)
from phintys.scalar.operators import OPERATORS
from phintys.scalar.splitting import showing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MOST_TERMS = 16
_NO_EXPONENT = 1e-12  # a third and two thirds less one


def product(partial: Any, g: Any) -> Any:
    """Return ``partial * g``, without the divisors of one that are factors of the other."""
    found = cancelled_product(partial, g)
    return OPERATORS.mul(partial, g) if found is None else found


def cancelled_product(partial: Any, g: Any) -> Any:
    """Return ``partial * g`` if something cancels; otherwise ``None``.

    If g is a sum or a choice, it is taken apart where something cancels in its parts.
    """
    if not (isinstance(partial, Variable) and isinstance(g, Variable)):
        return None
    if not (_is_steep(partial) or _is_steep(g, in_parts=True)) or not _are_real(partial, g):
        return None
    for rule in (_of_monomials, _of_logarithm, _of_parts):
        found = rule(partial, g)
        if found is not None:
            return found
    return None


def without_root(g: Any, x: Any, or_divisors: bool = False) -> tuple[Any, Any] | None:
    """Return y and z where g is ``y * z`` and z has all factors that are powers of a root x.

    ``None`` if x is not a root, or a view of one, or if g has no such factors. With
    ``or_divisors``, x can be anything by which g is divided.
    """
    root = x
    while root.owner is not None and applied(root)[0] is root.owner.op and root.owner.inputs:
        root = root.owner.inputs[0]
    op, _ = applied(root)
    is_root = op is OPERATORS.sqrt or op is OPERATORS.pow
    if not is_root and not (or_divisors and _is_steep(g)):
        return None
    base, _ = power_of(x)
    factors, is_negative = factors_of(g)
    taken = [one for one in factors if is_same(one.base, base)]
    if not taken or any(one.is_guarded for one in factors):
        return None
    if not is_root and all(one.exponent > 0 for one in taken):
        return None
    rest = [one for one in factors if not is_same(one.base, base)]
    parts = (
        _quotient(
            [one.written for one in some if one.sign > 0],
            [one.written for one in some if one.sign < 0],
            negated,
        )
        for some, negated in ((rest, is_negative), (taken, False))
    )
    inside, outside = parts
    return (inside, outside) if isinstance(inside, Variable) else None


def pull_by_slope_of_log(slope: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """f(x): h * slope where g is h / f(x), and the slope is the derivative of log(f(x))

    It is finite where f is 0.
    """

    def pull(x: Any, out: Any, g: Any) -> tuple[Any] | None:
        above = cancelled_product(out, g)
        return None if above is None else (OPERATORS.mul(above, slope(x, out)),)

    return pull


def _are_real(x: Any, y: Any) -> bool:
    return x.type.dtype == y.type.dtype and np.dtype(x.type.dtype).kind == "f"


def _is_steep(x: Any, in_parts: bool = False) -> bool:
    """Return whether a divisor or a logarithm is among a variable's factors, or its parts'."""
    waiting = [x]
    for _ in range(MOST_FACTORS):
        if not waiting:
            return False
        op, inputs = seen_through(waiting.pop())
        if op is OPERATORS.true_div or op is OPERATORS.log:
            return True
        if op is OPERATORS.mul or (in_parts and (op is OPERATORS.add or hasattr(op, "pieces"))):
            waiting.extend(inputs)
        elif op is OPERATORS.neg:
            waiting.append(inputs[0])
        elif op is OPERATORS.pow or op is OPERATORS.pow_less_one:
            if (known_exponent(op, inputs) or 0) < 0:
                return True
        elif in_parts and op is OPERATORS.switch:
            waiting.extend(inputs[1:])
    return False


def _of_monomials(partial: Any, g: Any) -> Any:
    """Return the product of two products of powers if a power cancels; otherwise ``None``."""
    first, first_negative = factors_of(partial)
    second, second_negative = factors_of(g)
    first, second = showing(first, second), showing(second, first)
    bases = [
        one.base
        for one in first
        if not isinstance(one.base, Constant)  # nothing is undefined where it is
        and any(
            one.exponent * other.exponent < 0 and is_same(one.base, other.base) for other in second
        )
    ]
    if not bases:
        return None
    above: list[Any] = []
    below: list[Any] = []
    exponents = [0.0] * len(bases)
    guarded = [False] * len(bases)
    for one in (*first, *second):
        place = next((i for i, base in enumerate(bases) if is_same(base, one.base)), None)
        if place is not None:
            exponents[place] += one.exponent
            guarded[place] = guarded[place] or one.is_guarded
        elif one.is_guarded:
            return None  # it is infinite because the others vanish
        else:
            (above if one.sign > 0 else below).append(one.written)
    for base, exponent, is_guarded in zip(bases, exponents, guarded, strict=True):
        if abs(exponent) < _NO_EXPONENT:
            continue
        if exponent < 0 and is_guarded:
            return None
        (above if exponent > 0 else below).append(raised(base, abs(exponent)))
    whole = _quotient(above, below, first_negative != second_negative)
    return fold(_in_shape_of, bases, whole)


def _quotient(above: Sequence[Any], below: Sequence[Any], is_negative: bool) -> Any:
    """Return a product divided by another; a number if both are empty."""
    over = _multiplied(above)
    if is_negative:
        over = OPERATORS.neg(over) if above else -1.0
    return OPERATORS.true_div(over, _multiplied(below)) if below else over


def _multiplied(factors: Sequence[Any]) -> Any:
    return OPERATORS.mul(*factors) if len(factors) > 1 else (factors or [1.0])[0]


def _of_logarithm(partial: Any, g: Any) -> Any:
    """log(b) * y -> xlogy(y, b) for a factor of one operand, where the other is 0 wherever b is"""
    for one, other in ((partial, g), (g, partial)):
        factors, is_negative = factors_of(one)
        for place, factor in enumerate(factors):
            op, inputs = seen_through(factor.base)
            if op is OPERATORS.log and factor.exponent == 1 and vanishes_with(other, inputs[0]):
                rest = (*factors[:place], *factors[place + 1 :])
                above = [each.written for each in rest if each.sign > 0]
                below = [each.written for each in rest if each.sign < 0]
                multiple = _quotient([other, *above], below, is_negative)
                return _times_logarithm(multiple, inputs[0])
    return None


def _times_logarithm(x: Any, y: Any) -> Any:
    """Return ``xlogy(x, y)``; of a power with a multiple of the logarithm of its base."""
    op, inputs = seen_through(y)
    is_square = op is OPERATORS.mul and len(inputs) == 2 and inputs[0] is inputs[1]
    root, exponent = (inputs[0], 2.0) if is_square else power_of(y)
    if exponent == 1:
        return OPERATORS.xlogy(x, y)
    root = OPERATORS.abs(root) if exponent % 2 == 0 else root
    return OPERATORS.xlogy(OPERATORS.mul(exponent, x), root)


def _of_parts(partial: Any, g: Any) -> Any:
    """Return ``partial * g`` for a sum or choice g, if something cancels in a part of it.

    A sum is taken apart only if all its terms are better off: if ``partial`` divides, the others
    would be divided term by term.
    """
    op, inputs = applied(g)
    if op is OPERATORS.switch:
        parts = [
            None if _is_zero(one) else cancelled_product(partial, _in_branch(one, inputs[0], place))
            for place, one in enumerate(inputs[1:])
        ]
        if all(part is None for part in parts):
            return None
        products = [
            (one if _is_zero(one) else OPERATORS.mul(partial, one)) if part is None else part
            for one, part in zip(inputs[1:], parts, strict=True)
        ]
        return OPERATORS.switch(inputs[0], *products)
    if hasattr(op, "pieces"):
        return _of_pieces(partial, g)
    if op is OPERATORS.mul:
        place = next((i for i, x in enumerate(inputs) if hasattr(applied(x)[0], "pieces")), None)
        if place is None:
            return None
        others = (*inputs[:place], *inputs[place + 1 :])
        return cancelled_product(OPERATORS.mul(partial, *others), inputs[place])
    if op is not OPERATORS.add or not 1 < len(inputs) <= _MOST_TERMS:
        return None
    terms = [cancelled_product(partial, one) for one in inputs]
    if all(term is None for term in terms):
        return None
    if any(term is None for term in terms) and not _is_shared_out(partial, inputs):
        return None
    return OPERATORS.add(
        *(
            _times_choice(partial, one) if term is None else term
            for one, term in zip(inputs, terms, strict=True)
        )
    )


def _times_choice(partial: Any, x: Any) -> Any:
    """partial * switch(test, y, 0) -> switch(test, partial * y, 0); partial * x for others"""
    op, inputs = applied(x)
    if op is not OPERATORS.switch or not any(map(_is_zero, inputs[1:])):
        return OPERATORS.mul(partial, x)
    branches = (one if _is_zero(one) else OPERATORS.mul(partial, one) for one in inputs[1:])
    return OPERATORS.switch(inputs[0], *branches)


def _in_branch(x: Any, test: Any, place: int, levels: int = AS_DEEP) -> Any:
    """Return x with the choices among its factors made as where a test is true (0) or false (1)."""
    op, inputs = applied(x)
    if not levels:
        return x
    if op is OPERATORS.switch and is_same(inputs[0], test):
        return _in_branch(inputs[1 + place], test, place, levels - 1)
    if op in (OPERATORS.mul, OPERATORS.true_div, OPERATORS.neg, OPERATORS.sqr, OPERATORS.sqrt):
        chosen = [_in_branch(one, test, place, levels - 1) for one in inputs]
        if any(one is not other for one, other in zip(chosen, inputs, strict=True)):
            return op(*chosen)
    return x


def _of_pieces(partial: Any, g: Any) -> Any:
    """Return ``partial * g`` for an array g made of others, if something cancels in one of them.

    Ops that put arrays into a larger one, which is 0 elsewhere, have a method ``pieces(node, y)``.
    It returns these arrays, the corresponding pieces of another array y, and a function that puts
    others in their places, or ``None`` if it cannot.
    """
    found = g.owner.op.pieces(g.owner, partial)
    if found is None:
        return None
    pieces, corresponding, put = found
    products = [cancelled_product(*pair) for pair in zip(corresponding, pieces, strict=True)]
    if all(one is None for one in products):
        return None
    return put(
        [
            OPERATORS.mul(factor, piece) if one is None else one
            for one, factor, piece in zip(products, corresponding, pieces, strict=True)
        ]
    )


def _is_shared_out(partial: Any, terms: Sequence[Any]) -> bool:
    """Return whether a factor may be multiplied with each term of a sum."""
    if all(applied(term)[0] is OPERATORS.switch for term in terms):
        return True
    return all(one.exponent > 0 for one in factors_of(partial)[0])


def _is_zero(x: Any) -> bool:
    return number_of(x) == 0


def _in_shape_of(x: Any, like: Any) -> Any:
    """Return ``x``, which can be a number, in the shape that its product with ``like`` has."""
    if isinstance(x, Variable):
        mine, other = (getattr(one.type, "broadcastable", ()) for one in (like, x))
        if len(mine) == len(other) and all(b <= a for a, b in zip(mine, other, strict=True)):
            return x
    return OPERATORS.second(like, x)
