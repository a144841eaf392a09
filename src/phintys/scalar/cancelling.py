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
they are, also where one is divided by: ``x * y`` is a factor beside the root of ``x * y``. Odd
functions are divided by what they are functions of: the gradient of ``cos(sqrt(x))`` is half of
``-sin(sqrt(x)) / sqrt(x)``, which is -1 where x is 0.

A logarithm of 0 is cancelled by a factor that is 0 there: ``log(x) * x`` is ``xlogy(x, x)``.
"""

from __future__ import annotations

from functools import reduce as fold
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phintys.graph.variable import Constant, Variable
from phintys.scalar.operators import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_MOST_FACTORS = 16
_AS_DEEP = 6  # forward mode computes values again
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
    trees = _tree(partial), _tree(g)
    for rule in (_of_monomials, _of_logarithm):
        found = rule(*trees)
        if found is not None:
            return found
    return _of_parts(partial, g)


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
    base, _ = _power(x)
    tree = _tree(g)
    factors = _factors(tree)
    is_taken = [is_same(one.base, base) for one in factors]
    taken = [one for one, is_ours in zip(factors, is_taken, strict=True) if is_ours]
    if not taken or any(one.is_guarded for one in factors):
        return None
    if not is_root and all(one.exponent > 0 for one in taken):
        return None
    rest = (
        None if is_ours else one.written for one, is_ours in zip(factors, is_taken, strict=True)
    )
    inside = _rebuilt(tree, rest)
    over, under = (
        _multiplied(one.written for one in taken if one.sign == sign) for sign in (1, -1)
    )
    return (inside, _divided(over, under)) if isinstance(inside, Variable) else None


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
    for _ in range(_MOST_FACTORS):
        if not waiting:
            return False
        op, inputs = _seen_through(waiting.pop(0))  # those of sums, which can be many, come later
        if op is OPERATORS.true_div or op is OPERATORS.log:
            return True
        if op is OPERATORS.mul or (in_parts and (op is OPERATORS.add or hasattr(op, "pieces"))):
            waiting.extend(inputs)
        elif op is OPERATORS.neg:
            waiting.append(inputs[0])
        elif op is OPERATORS.pow or op is OPERATORS.pow_less_one:
            if (_exponent(op, inputs) or 0) < 0:
                return True
        elif in_parts and op is OPERATORS.switch:
            waiting.extend(inputs[1:])
    return False


# ---- what variables are made of ------------------------------------------------------------------


def applied(x: Any) -> tuple[Any, Sequence[Any]]:
    """Return the scalar op that a variable results from, applied elementwise, and its operands."""
    node = x.owner
    if node is None:
        return None, ()
    op = node.op
    scalar_op = getattr(op, "scalar_op", None)
    if scalar_op is None:
        return op, node.inputs
    # A reduction has a scalar op too.
    return (scalar_op, node.inputs) if hasattr(op, "inplace_pattern") else (None, ())


def _seen_through(x: Any) -> tuple[Any, Sequence[Any]]:
    """Return the scalar op and the operands of an element, be it selected from others or not.

    An element of ``f(a, b)`` is f of elements of a and b, where f is a product or a power. Ops that
    select elements have a method ``selected(node, y)``, which returns the same elements of another
    array y, or ``None`` if it cannot.
    """
    op, inputs = applied(x)
    select = getattr(op, "selected", None)
    if select is None:
        return op, inputs
    inner, operands = _seen_through(inputs[0])
    if not _is_of_factors(inner):
        return op, inputs
    chosen = [select(x.owner, operand) for operand in operands]
    return (op, inputs) if any(one is None for one in chosen) else (inner, chosen)


def _is_of_factors(op: Any) -> bool:
    return (
        op is OPERATORS.mul
        or op is OPERATORS.true_div
        or op is OPERATORS.neg
        or op is OPERATORS.sqr
        or op is OPERATORS.sqrt
        or op is OPERATORS.pow
        or op is OPERATORS.switch
    )


def number_of(x: Any) -> float | None:
    """Return the real number that a constant is; ``None`` for anything else."""
    if not isinstance(x, Constant) or np.size(x.data) != 1:
        return None
    number = np.asarray(x.data).item()
    return float(number) if isinstance(number, int | float) else None


def is_same(a: Any, b: Any, levels: int = _AS_DEEP) -> bool:
    """Return whether two variables are one, or the same ops, some levels deep, of the same ones."""
    if a is b:
        return True
    if a.owner is None or b.owner is None:
        return _are_one_number(a, b)
    if not levels or a.index != b.index or a.owner.op != b.owner.op or a.type != b.type:
        return False
    pairs = zip(a.owner.inputs, b.owner.inputs, strict=False)
    return len(a.owner.inputs) == len(b.owner.inputs) and all(
        is_same(x, y, levels - 1) for x, y in pairs
    )


def _are_one_number(x: Any, y: Any) -> bool:
    return x.type == y.type and number_of(x) is not None and number_of(x) == number_of(y)


class _Factor(NamedTuple):
    """``base**exponent``, or, as it was written, ``written**sign``."""

    base: Any
    exponent: float
    written: Any
    sign: int

    @property
    def is_guarded(self) -> bool:
        """Whether it is a divisor that is infinite where it would be 0."""
        return unguarded(self.written) is not self.written


class _Tree(NamedTuple):
    """A variable as a product, a quotient or a negative of others, or as a factor."""

    whole: Any
    op: Any
    parts: tuple[_Tree, ...]
    factor: _Factor | None = None


def _tree(x: Any, wholes: Sequence[Any] = ()) -> _Tree:
    """Return a variable as products and quotients of its factors; wholes are not taken apart."""
    return _grown(x, 1, iter(range(_MOST_FACTORS)), wholes)


def _grown(x: Any, sign: int, room: Iterator[int], wholes: Sequence[Any]) -> _Tree:
    op, inputs = _seen_through(x)
    is_product = op is OPERATORS.mul or op is OPERATORS.true_div or op is OPERATORS.neg
    is_product = is_product and _keeps_dtype(x, inputs) and not (wholes and _is_among(x, wholes))
    if not is_product or next(room, None) is None:
        return _Tree(x, None, (), _factor(x, op, sign, wholes))
    signs = (sign, -sign) if op is OPERATORS.true_div else (sign,) * len(inputs)
    parts = (_grown(one, its, room, wholes) for one, its in zip(inputs, signs, strict=True))
    return _Tree(x, op, tuple(parts))


def _is_among(x: Any, wholes: Sequence[Any]) -> bool:
    return any(is_same(x, one) for one in wholes)


def _wholes(factors: Iterable[_Factor]) -> list[Any]:
    """Return the products and powers among divisors, and those of which one is a root."""
    bases = [one.base for one in factors if one.exponent < 0]
    bases += [_under_cube_root(base) for base in bases]
    return [base for base in bases if base is not None and _is_of_factors(_seen_through(base)[0])]


def _under_cube_root(x: Any) -> Any:
    """Return y where ``x`` is ``cbrt(y)``; ``None`` for others."""
    op, inputs = applied(x)
    return inputs[0] if op is OPERATORS.cbrt else None


def _factors(tree: _Tree) -> list[_Factor]:
    if tree.factor is not None:
        return [tree.factor]
    return [factor for part in tree.parts for factor in _factors(part)]


def _are_above(tree: _Tree, is_above: bool = True) -> list[bool]:
    """Return for each factor whether it is in no divisor."""
    if tree.factor is not None:
        return [is_above]
    return [
        one
        for place, part in enumerate(tree.parts)
        for one in _are_above(part, is_above and not (place and tree.op is OPERATORS.true_div))
    ]


def _rebuilt(tree: _Tree, written: Iterator[Any]) -> Any:
    """Return the expression of a tree with other factors, of which ``None`` is 1.

    Products and quotients stay as they are: the quotient of two products of all the factors could
    overflow.
    """
    if tree.factor is not None:
        return next(written)
    parts = [_rebuilt(part, written) for part in tree.parts]
    if all(one is part.whole for one, part in zip(parts, tree.parts, strict=True)):
        return tree.whole
    if tree.op is OPERATORS.true_div:
        return _divided(*parts)
    product = _multiplied(parts)
    if tree.op is not OPERATORS.neg:
        return product
    if product is None:
        return -1.0
    return OPERATORS.neg(product) if isinstance(product, Variable) else -product


def _multiplied(factors: Iterable[Any]) -> Any:
    """Return the product of factors, of which ``None`` is 1."""
    kept = [one for one in factors if one is not None]
    if len(kept) < 2:
        return kept[0] if kept else None
    return OPERATORS.mul(*kept) if any(isinstance(one, Variable) for one in kept) else prod(kept)


def _divided(over: Any, under: Any) -> Any:
    """Return a quotient of factors, of which ``None`` is 1."""
    if under is None:
        return over
    over = 1.0 if over is None else over
    if isinstance(over, Variable) or isinstance(under, Variable):
        return OPERATORS.true_div(over, under)
    return over / under


def _factor(x: Any, op: Any, sign: int, wholes: Sequence[Any]) -> _Factor:
    """Return a factor that is not a product, or its inverse."""
    if op is OPERATORS.switch:
        x, written = unguarded(x), x
        return _Factor(*_power(x, sign, wholes=wholes), written, sign)
    if op in (OPERATORS.sqr, OPERATORS.sqrt, OPERATORS.cbrt, OPERATORS.pow, OPERATORS.pow_less_one):
        return _Factor(*_power(x, sign, wholes=wholes), x, sign)
    return _Factor(x, sign, x, sign)


def _keeps_dtype(x: Any, inputs: Sequence[Any]) -> bool:
    dtype = x.type.dtype
    return all(one.type.dtype == dtype for one in inputs)


def _power(
    x: Any, sign: int = 1, most: int = _MOST_FACTORS, wholes: Sequence[Any] = ()
) -> tuple[Any, float]:
    """Return a base and the exponent to which it is raised, times a sign."""
    if not most or (wholes and _is_among(x, wholes)):
        return x, sign
    op, inputs = _seen_through(x)
    power = None
    if op is OPERATORS.sqr:
        power = 2.0
    elif op is OPERATORS.sqrt:
        power = 0.5
    elif op is OPERATORS.cbrt:
        power = 1 / 3
    elif op is OPERATORS.pow or op is OPERATORS.pow_less_one:
        power = _exponent(op, inputs)
    if not power or not np.isfinite(power) or not _keeps_dtype(x, inputs):
        return x, sign
    base, exponent = _power(inputs[0], most=most - 1, wholes=wholes)
    if op is OPERATORS.cbrt and float(exponent).is_integer():
        return x, sign  # of a negative number too, unlike its power
    if exponent != 1 and float(exponent).is_integer() and not power.is_integer():
        return inputs[0], sign * power  # the root of a square is an absolute value
    return base, sign * exponent * power


def unguarded(x: Any) -> Any:
    """Return d where ``x`` is d, but infinite where d is 0, as the divisors of roots are."""
    op, inputs = _seen_through(x)
    if op is OPERATORS.switch and number_of(inputs[1]) == np.inf:
        test, tested = applied(inputs[0])
        if test is OPERATORS.eq and tested[0] is inputs[2]:
            return inputs[2]
    return x


def _vanishes_with(x: Any, base: Any, levels: int = _AS_DEEP) -> bool:
    """Return whether ``x`` is known to be 0 wherever ``base`` is."""
    op, inputs = _seen_through(base)
    if op is OPERATORS.mul and levels:
        return all(_vanishes_with(x, one, levels - 1) for one in inputs)
    if (op is OPERATORS.abs or op is OPERATORS.neg) and levels:
        return _vanishes_with(x, inputs[0], levels - 1)
    root, _ = _power(base)
    under = _under_cube_root(root) if levels else None
    if under is not None and _vanishes_with(x, under, levels - 1):
        return True
    return _is_zero_at(x, root, levels)


def _is_zero_at(x: Any, root: Any, levels: int) -> bool:
    """Return whether ``x`` is known to be 0 wherever a variable that is not a power is."""
    if is_same(x, root):
        return True
    op, inputs = _seen_through(x)
    if not levels or op is None:
        return False
    if op is OPERATORS.mul:
        return any(_is_zero_at(one, root, levels - 1) for one in inputs)
    if op is OPERATORS.pow and (_exponent(op, inputs) or 0) <= 0:
        return False
    vanishes = op is OPERATORS.pow or getattr(op, "vanishes", False)
    return vanishes and _is_zero_at(inputs[0], root, levels - 1)


def _exponent(op: Any, inputs: Sequence[Any]) -> float | None:
    """Return the exponent of a power if it is known."""
    power = number_of(inputs[1])
    return power if power is None or op is OPERATORS.pow else power - 1


def _raised(base: Any, exponent: float) -> Any:
    """Return the power of a base."""
    if exponent == 1:
        return base
    if exponent == 2:
        return OPERATORS.sqr(base)
    return OPERATORS.sqrt(base) if exponent == 0.5 else OPERATORS.pow(base, exponent)


# ---- taking factors apart ------------------------------------------------------------------------


def _showing(tree: _Tree, others: list[_Factor]) -> _Tree:
    """Return a tree in which factors that contain a divisor among others are products of it."""
    divisors = [one for one in others if one.exponent < 0 and not isinstance(one.base, Constant)]
    return _taken_apart(tree, divisors) if divisors else tree


def _taken_apart(tree: _Tree, divisors: Sequence[_Factor]) -> _Tree:
    if tree.factor is None:
        return tree._replace(parts=tuple(_taken_apart(part, divisors) for part in tree.parts))
    factor = tree.factor
    if factor.exponent <= 0 or factor.is_guarded:
        return tree
    op, inputs = applied(factor.base)
    for divisor in divisors:
        found = _split(factor.base, op, inputs, divisor.base)
        if found is not None:
            exponent, rest = found
            powers = [(divisor.base, exponent * factor.exponent)]
            powers += [] if rest is None else [(rest, factor.exponent)]
            return _Tree(tree.whole, OPERATORS.mul, tuple(_leaf(*one, factor) for one in powers))
    return tree


def _leaf(base: Any, exponent: float, whole: _Factor) -> _Tree:
    """Return a power that is a factor of another one."""
    written = _raised(base, exponent * whole.sign)
    return _Tree(written, None, (), _Factor(base, exponent, written, whole.sign))


def _split(x: Any, op: Any, inputs: Sequence[Any], base: Any) -> tuple[float, Any] | None:
    """Return n and y where ``x``, an ``op(*inputs)``, is ``base**n * y``; y is ``None`` for 1."""
    if op is OPERATORS.exp:
        return _split_exponential(inputs, base)
    if op is OPERATORS.sub:
        return _split_square_of_tanh(inputs, base)
    slope = getattr(op, "slope_at_zero", None)
    return _split_cube(x, base) if slope is None else _split_odd(x, inputs[0], base, slope)


def _split_cube(x: Any, base: Any) -> tuple[float, Any] | None:
    """x -> 3 / n, 1 for the base cbrt(x**n)"""
    exponent = _exponent_of_root(x, base)
    return (exponent, None) if exponent else None


def _exponent_of_root(x: Any, base: Any) -> float:
    """Return n where ``x`` is ``base**n`` for a cube root, of either sign; 0 for others."""
    under = _under_cube_root(base)
    if under is None:
        return 0.0
    if is_same(x, under):
        return 3.0
    root, exponent = _power(under)
    power = 3 / exponent
    return power if power > 0 and power.is_integer() and is_same(x, root) else 0.0


def _split_odd(x: Any, argument: Any, base: Any, slope: float) -> tuple[float, Any] | None:
    """f(b**n) -> n, f(b**n) / b**n for the base b and an odd function, also where b is 0

    The derivative of the quotient of an odd function and its argument is 0 at 0.
    """
    root, exponent = _power(argument)
    exponent = exponent if is_same(root, base) else _exponent_of_root(argument, base)
    if exponent <= 0:
        return None
    is_zero = OPERATORS.eq(argument, 0)
    quotient = OPERATORS.true_div(x, OPERATORS.switch(is_zero, 1, argument))
    return exponent, OPERATORS.switch(is_zero, slope, quotient)


def _split_exponential(inputs: Sequence[Any], base: Any) -> tuple[float, Any] | None:
    """exp(c * log(x) + y) -> c, exp(y) for the base x, where c is positive"""
    for term, rest in _terms(inputs[0]):
        exponent = _exponent_of(term, base)
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


def _exponent_of(term: Any, base: Any) -> float:
    """Return c where a term is ``c * log(base)``; 0 for others."""
    op, inputs = applied(term)
    if op is OPERATORS.mul and len(inputs) == 2:
        for number, other in (inputs, reversed(inputs)):
            factor = number_of(number)
            if factor is not None and np.isfinite(factor):
                return factor * _exponent_of(other, base)
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


# ---- cancelling ----------------------------------------------------------------------------------


def _of_monomials(first: _Tree, second: _Tree) -> Any:
    """Return the product of two products of powers if a power cancels; otherwise ``None``."""
    wholes = _wholes([*_factors(first), *_factors(second)])
    if wholes:
        trees = _tree(first.whole, wholes), _tree(second.whole, wholes)
        factors = (one for tree in trees for one in _factors(tree))
        if any(one.exponent > 0 and _is_among(one.base, wholes) for one in factors):
            found = _of_trees(*trees)
            if found is not None:
                return found
    return _of_trees(first, second)


def _of_trees(first: _Tree, second: _Tree) -> Any:
    first, second = _showing(first, _factors(second)), _showing(second, _factors(first))
    ours, others = _factors(first), _factors(second)
    bases = [
        one.base
        for one in ours
        if not isinstance(one.base, Constant)  # nothing is undefined where it is
        and any(
            one.exponent * other.exponent < 0 and is_same(one.base, other.base) for other in others
        )
    ]
    kept = _cancelled([*ours, *others], bases) if bases else None
    if kept is None:
        return None
    whole = _joined((first, second), (kept[: len(ours)], kept[len(ours) :]))
    return fold(_in_shape_of, bases, 1.0 if whole is None else whole)


def _cancelled(factors: list[_Factor], bases: Sequence[Any]) -> list[Any] | None:
    """Return factors without the powers of some bases that cancel, of which ``None`` is 1.

    ``None`` if there are factors that are infinite because others vanish.
    """
    kept: list[Any] = [None if number_of(one.written) == 1 else one.written for one in factors]
    left = list(range(len(factors)))
    for base in bases:
        places = [place for place in left if is_same(base, factors[place].base)]
        left = [place for place in left if place not in places]
        above, below = (
            sum(max(sign * factors[place].exponent, 0) for place in places) for sign in (1, -1)
        )
        if below - above > _NO_EXPONENT and any(factors[place].is_guarded for place in places):
            return None
        room = {True: min(above, below), False: min(above, below)}
        for place in places:
            exponent, sign = factors[place].exponent, factors[place].sign
            is_above = exponent > 0
            cut = min(abs(exponent), room[is_above])
            room[is_above] -= cut
            rest = (abs(exponent) - cut) * (sign if is_above else -sign)
            if abs(rest) < _NO_EXPONENT:
                kept[place] = None
            elif cut:
                kept[place] = _raised(base, rest)
    return None if any(factors[place].is_guarded for place in left) else kept


def _joined(trees: tuple[_Tree, _Tree], kept: tuple[list[Any], list[Any]]) -> Any:
    """Return the product of two trees with other factors, of which ``None`` is 1.

    One is put where a factor of the other was cancelled, so that nothing is multiplied by a
    reciprocal.
    """
    for tree, other, mine, its in zip(trees, reversed(trees), kept, reversed(kept), strict=True):
        for place, is_above in enumerate(_are_above(tree)):
            if mine[place] is None and is_above:
                mine[place] = _rebuilt(other, iter(its))
                return _rebuilt(tree, iter(mine))
    return _multiplied(_rebuilt(tree, iter(its)) for tree, its in zip(trees, kept, strict=True))


def _of_logarithm(first: _Tree, second: _Tree) -> Any:
    """log(b) * y -> xlogy(y, b) for a factor of one operand, where the other is 0 wherever b is"""
    for tree, other in ((first, second.whole), (second, first.whole)):
        factors = _factors(tree)
        for factor in factors:
            op, inputs = _seen_through(factor.base)
            if op is OPERATORS.log and factor.exponent == 1 and _vanishes_with(other, inputs[0]):
                written = (None if each is factor else each.written for each in factors)
                multiple = _multiplied([other, _rebuilt(tree, written)])
                return _times_logarithm(multiple, inputs[0])
    return None


def _times_logarithm(x: Any, y: Any) -> Any:
    """Return ``xlogy(x, y)``; of a power with a multiple of the logarithm of its base."""
    op, inputs = _seen_through(y)
    is_square = op is OPERATORS.mul and len(inputs) == 2 and inputs[0] is inputs[1]
    root, exponent = (inputs[0], 2.0) if is_square else _power(y)
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
            None
            if _is_zero(one)
            else cancelled_product(*(_in_branch(x, inputs[0], place) for x in (partial, one)))
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


def _in_branch(x: Any, test: Any, place: int, levels: int = _AS_DEEP) -> Any:
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
    return all(one.exponent > 0 for one in _factors(_tree(partial)))


def _is_zero(x: Any) -> bool:
    return number_of(x) == 0


def _in_shape_of(x: Any, like: Any) -> Any:
    """Return ``x``, which can be a number, in the shape that its product with ``like`` has."""
    if isinstance(x, Variable):
        mine, other = (getattr(one.type, "broadcastable", ()) for one in (like, x))
        if len(mine) == len(other) and all(b <= a for a, b in zip(mine, other, strict=True)):
            return x
    return OPERATORS.second(like, x)
