"""Arithmetic: sums, products, quotients, remainders, powers, signs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from phintys._base.errors import DomainError
from phintys.graph.pretty import PRECEDENCE
from phintys.graph.variable import Constant
from phintys.scalar.cancelling import cancelled_product, number_of, product
from phintys.scalar.op import Dtypes
from phintys.scalar.operators import OPERATORS
from phintys.scalar.roots import along_root, divisor_of_power
from phintys.scalar.row import as_continuous, dtype_of
from phintys.scalar.row_kinds import FloatRow, UfuncRow, VariadicRow

_NO_COMPLEX_ORDER = "Complex numbers have no order: take the real part first."


add = VariadicRow(
    "add",
    np.add,
    doc="The sum x1 + x2 + ...; of bools, their or.",
    derivative=lambda *xs, out: (1,) * len(xs),
    symbol="+",
    precedence=PRECEDENCE["+"],
    commutative=True,
    associative=True,
    identity=0,
)

sub = UfuncRow(
    "sub",
    np.subtract,
    doc="The difference x1 - x2; not defined for two bools.",
    example="[5.0, 7.0], 2.0",
    hint="Bools have no difference: use xor(x, y), written x ^ y, or cast one of them.",
    derivative=lambda x, y, out: (1, -1),
    symbol="-",
    precedence=PRECEDENCE["+"],
)


def _other_factors(*xs: Any, out: Any) -> list[Any]:
    if len(xs) == 2:
        return [xs[1], xs[0]]
    return [mul(*xs[:i], *xs[i + 1 :]) if len(xs) > 1 else 1 for i in range(len(xs))]


mul = VariadicRow(
    "mul",
    np.multiply,
    doc="The product x1 * x2 * ...; of bools, their and.",
    derivative=_other_factors,
    symbol="*",
    precedence=PRECEDENCE["*"],
    commutative=True,
    associative=True,
    identity=1,
    # 0 * nan is nan.
    absorbing=lambda dtype: 0 if dtype.kind in "biu" else None,
    infinite_slope=True,
)

true_div = UfuncRow(
    "true_div",
    np.true_divide,
    doc="The quotient x1 / x2; of integers, a float64.",
    domain="x2 != 0",
    example="[1, 3], 2",
    derivative=lambda x, y, out: (1 / y, -out / y),
    symbol="/",
    precedence=PRECEDENCE["*"],
    cost=5,
    infinite_slope=True,
)

int_div = UfuncRow(
    "int_div",
    np.floor_divide,
    doc="floor(x1 / x2), as Python's ``x1 // x2``.",
    example="[7, -7], 2",
    hint=_NO_COMPLEX_ORDER,
    derivative=lambda x, y, out: (0, 0),
    symbol="//",
    precedence=PRECEDENCE["*"],
    cost=8,
)

mod = UfuncRow(
    "mod",
    np.remainder,
    doc="x1 - x2 * floor(x1 / x2), which has the sign of x2, as Python's ``x1 % x2``.",
    domain="x2 != 0",
    example="[7, -7], 3",
    hint=_NO_COMPLEX_ORDER,
    # x - y floor(x / y), where the floor is piecewise constant
    derivative=lambda x, y, out: (1, -int_div(x, y)),
    symbol="%",
    precedence=PRECEDENCE["*"],
    cost=10,
)

fmod = UfuncRow(
    "fmod",
    np.fmod,
    doc="x1 - x2 * trunc(x1 / x2), which has the sign of x1, as C's ``fmod``.",
    domain="x2 != 0",
    example="[7.0, -7.0], 3.0",
    hint=_NO_COMPLEX_ORDER,
    derivative=lambda x, y, out: (1, -OPERATORS.trunc(x / y)),
    cost=10,
)

neg = UfuncRow(
    "neg",
    np.negative,
    doc="-x: the negative; not defined for bools.",
    example="[1.0, -2.0]",
    hint="Bools have no negative: use invert(x), written ~x.",
    derivative=lambda x, out: (-1,),
    symbol="-",
    precedence=PRECEDENCE["unary"],
    vanishes=True,
)

pos = UfuncRow(
    "pos",
    np.positive,
    doc="+x: x itself; not defined for bools.",
    example="[1.0, -2.0]",
    hint="Bools have no sign: cast x to an integer dtype.",
    derivative=lambda x, out: (1,),
    symbol="+",
    precedence=PRECEDENCE["unary"],
    cost=0,
    slope_at_zero=1,
)


# |z| is not holomorphic: d|z| = Re(conj(s) dz) with s = z / |z|, which sign() gives, 0 at 0.
abs = UfuncRow(
    "abs",
    np.absolute,
    doc="Absolute value; of a complex number, the real modulus. The derivative at 0 is 0.",
    example="[-1.0, 2.0]",
    pullback=lambda x, out, g: (g * sign(x),),
    pushforward=lambda x, out, v: OPERATORS.real(OPERATORS.conj(sign(x)) * v[0]),
    vanishes=True,
)


def _pull_sign(x: Any, out: Any, g: Any) -> tuple[Any]:
    if dtype_of(x).kind != "c":
        return (0,)
    # ds = i s Im(conj(s) dz) / |z|
    turn = OPERATORS.imag(g * OPERATORS.conj(out)) / abs(x)
    return (turn * (1j * out),)


def _push_sign(x: Any, out: Any, v: Any) -> Any:
    if dtype_of(x).kind != "c":
        return None
    return OPERATORS.imag(OPERATORS.conj(out) * v[0]) / abs(x) * (1j * out)


sign = UfuncRow(
    "sign",
    np.sign,
    doc="-1, 0 or 1; of a complex number, z / abs(z), and 0 at 0.",
    example="[-2.0, 0.0, 3.0]",
    hint="Bools have no sign: cast x to an integer dtype.",
    pullback=_pull_sign,
    pushforward=_push_sign,
)

reciprocal = UfuncRow(
    "reciprocal",
    np.reciprocal,
    doc="1 / x in the dtype of x, so that integers round towards 0.",
    domain="x != 0",
    derivative=lambda x, out: (-sqr(out),),
    cost=5,
)

sqr = UfuncRow(
    "sqr",
    np.square,
    doc="x * x: the square.",
    derivative=lambda x, out: (2 * x,),
    infinite_slope=True,
    vanishes=True,
)


def _is_never_zero(x: Any) -> bool:
    return isinstance(x, Constant) and bool(np.all(x.data != 0))


def _slope_of_power(x: Any, power: float) -> Any:
    """Return the derivative of ``x**power``."""
    if power in {0, 1}:
        return OPERATORS.second(x, power)
    if power == 2:
        return 2 * x
    x, less = divisor_of_power(x, power), power - 1
    dtype = dtype_of(x)
    is_exact = math.fsum((power, -1, -less)) == 0 and dtype.type(less) == less
    return power * (x**less if is_exact or dtype.kind != "f" else pow_less_one(x, power))


def _partials_of_pow(x: Any, y: Any, out: Any) -> tuple[Any, Any]:
    power = number_of(y)
    if power is not None:
        dx = _slope_of_power(x, power)
    elif dtype_of(x).kind == dtype_of(y).kind == "f":
        dx = y * pow_less_one(x, y)
    else:
        dx = y * x ** (y - 1)
    at_zero = OPERATORS.eq(x, 0)
    if not _is_never_zero(y):
        # 0 ** 0 is 1 wherever x moves, but 0 * 0 ** -1 is nan.
        dx = OPERATORS.switch(at_zero & OPERATORS.eq(y, 0), 0, dx)
    dy = out * OPERATORS.log(x)
    if not _is_never_zero(x):
        # 0 ** y stays 0 for y > 0, but 0 * log(0) is nan.
        real_y = OPERATORS.real(y) if dtype_of(y).kind == "c" else y
        dy = OPERATORS.switch(at_zero & OPERATORS.ge(real_y, 0), 0, dy)
    return dx, dy


def _along_power(x: Any, y: Any, out: Any, dx: Any, g: Any) -> Any:
    """Return ``dx * g``, where dx is the derivative by the base."""
    power = number_of(y)
    if power is not None:
        return along_root(x, out, power, dx, g) if power < 1 else product(dx, g)
    above = cancelled_product(out, g)
    return product(dx, g) if above is None else y * above / x


def _is_real_power(x: Any, y: Any, out: Any) -> bool:
    return all(dtype_of(one) == dtype_of(out) for one in (x, y)) and dtype_of(out).kind == "f"


def _pull_pow(x: Any, y: Any, out: Any, g: Any) -> tuple[Any, Any] | None:
    if not _is_real_power(x, y, out):
        return None
    dx, dy = pow.partials((x, y), out)
    return _along_power(x, y, out, dx, g), product(dy, g)


def _push_pow(x: Any, y: Any, out: Any, v: Any) -> Any:
    dx, dy = pow.partials((x, y), out)
    terms = []
    if v[0] is not None:
        is_real = _is_real_power(x, y, out)
        terms.append(_along_power(x, y, out, dx, v[0]) if is_real else dx * v[0])
    if v[1] is not None:
        terms.append(product(dy, v[1]))
    return terms[0] if len(terms) == 1 else OPERATORS.add(*terms)


class _Power(UfuncRow):
    """Powers; an integer to a power that is known to be negative is an error at once."""

    def literal_dtypes(self, operands: Sequence[Any]) -> Dtypes:
        base, exponent = operands
        if type(exponent) is int and exponent < 0 and getattr(base, "kind", "") in {"b", "i"}:
            msg = (
                f"{self}: integers to negative integer powers are not allowed, got an operand of "
                f"dtype {base} to the power {exponent}. Write x ** {exponent}.0, which is a float."
            )
            raise DomainError(msg)
        return super().literal_dtypes(operands)


pow = _Power(
    "pow",
    np.power,
    doc="x1 ** x2. Integers to a negative integer power raise ValueError, as in NumPy.",
    example="[2.0, 3.0], 2",
    derivative=_partials_of_pow,
    pullback=_pull_pow,
    pushforward=_push_pow,
    symbol="**",
    precedence=PRECEDENCE["**"],
    cost=40,
    infinite_slope=True,
)


def _pow_less_one(x: Any, y: Any) -> Any:
    """Return ``x**(y - 1)`` with the rounding error of the exponent (Knuth's exact sum)."""
    with np.errstate(all="ignore"):
        if np.result_type(x, y) == np.float32:
            return np.power(x.astype(np.float64), y.astype(np.float64) - 1).astype(np.float32)
        power = y - 1
        part = power - y
        error = (y - (power - part)) - (1 + part)
        change = error * np.log(np.abs(x))
        return np.power(x, power) * (1 + np.where(np.abs(change) < 1, change, 0))


pow_less_one = FloatRow(
    "pow_less_one",
    _pow_less_one,
    doc="x1 ** (x2 - 1) of the exact difference, as it is in the derivative of powers.",
    source="D. E. Knuth, The Art of Computer Programming 2, 1969: exact sums.",
    nin=2,
    intervals=((0.1, 5.0), (-3.0, 3.0)),
    derivative=lambda x, y, out: _partials_of_pow(x, y - 1, out),
    cost=45,
    special=False,
)

copysign = UfuncRow(
    "copysign",
    np.copysign,
    doc="\\|x1\\| with the sign of x2.",
    example="[1.0, 2.0], [-1.0, 3.0]",
    hint=_NO_COMPLEX_ORDER,
    derivative=lambda x, y, out: (sign(x) * copysign(1.0, y), 0),
)

nextafter = UfuncRow(
    "nextafter",
    np.nextafter,
    doc="The next floating-point number after x1 towards x2.",
    example="[1.0, 2.0], [2.0, 1.0]",
    hint=_NO_COMPLEX_ORDER,
    derivative=lambda x, y, out: (1, 0),
    cost=5,
)

spacing = UfuncRow(
    "spacing",
    np.spacing,
    doc="The distance to the next floating-point number farther from 0.",
    hint=_NO_COMPLEX_ORDER,
    intervals=((0.1, 5.0),),
    derivative=lambda x, out: (0,),
    cost=5,
)

gcd = UfuncRow(
    "gcd",
    np.gcd,
    doc="Greatest common divisor of integers.",
    example="[12, 7], 18",
    hint="The inputs must be integers.",
    intervals=((-60.0, 60.0), (-60.0, 60.0)),
    commutative=True,
    cost=30,
)

lcm = UfuncRow(
    "lcm",
    np.lcm,
    doc="Least common multiple of integers.",
    example="[12, 7], 18",
    hint="The inputs must be integers.",
    intervals=((-11.0, 11.0), (-11.0, 11.0)),
    commutative=True,
    cost=30,
)

ldexp = UfuncRow(
    "ldexp",
    np.ldexp,
    doc="x1 * 2**x2 for an integer x2, exactly.",
    example="[1.0, 3.0], [2, 3]",
    hint="The first input must be real, the second an integer.",
    pullback=lambda x, n, out, g: (ldexp(g, n), 0),
    pushforward=lambda x, n, out, v: None if v[0] is None else ldexp(v[0], n),
    cost=4,
)


def _nonzero(distance: Any) -> Any:
    return OPERATORS.switch(OPERATORS.eq(distance, 0), np.inf, distance)


def _slopes_of_hypot_slope(x: Any, y: Any, out: Any) -> tuple[Any, Any]:
    distance = _nonzero(hypot(x, y))
    is_far = OPERATORS.eq(distance, np.inf)
    along, across = (OPERATORS.switch(is_far, 0, one) / distance for one in (x, y))
    return across * (across / distance), -along * (across / distance)


def _hypot_slope(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        distance = np.hypot(x, y)
        return x / np.where(distance == 0, np.inf, distance)


hypot_slope = FloatRow(
    "hypot_slope",
    _hypot_slope,
    doc="x1 / hypot(x1, x2), and 0 at 0, with derivatives whose terms do not cancel.",
    source=(
        "Scaled as by J. L. Blue, A portable Fortran program to find the Euclidean norm of a "
        "vector, ACM Trans. Math. Softw. 4, 1978."
    ),
    nin=2,
    intervals=((0.1, 5.0), (0.1, 5.0)),
    expansion=lambda x, y: x / _nonzero(hypot(x, y)),
    derivative=_slopes_of_hypot_slope,
    cost=20,
    special=False,
)


def _along_hypot(x: Any, y: Any, out: Any, g: Any) -> Any:
    """Return ``x / out * g``, without the divisor if it is a factor of g."""
    x, y = as_continuous(x, out), as_continuous(y, out)
    above = cancelled_product(x / _nonzero(out), g)
    return hypot_slope(x, y) * g if above is None else above


def _push_hypot(x: Any, y: Any, out: Any, v: Any) -> Any:
    pairs = zip(((x, y), (y, x)), v, strict=True)
    terms = [_along_hypot(*pair, out, along) for pair, along in pairs if along is not None]
    return terms[0] if len(terms) == 1 else OPERATORS.add(*terms)


hypot = UfuncRow(
    "hypot",
    np.hypot,
    doc="sqrt(x1**2 + x2**2) without overflow. The derivative at 0 is 0.",
    example="[3.0, 5.0], [4.0, 12.0]",
    hint=_NO_COMPLEX_ORDER,
    derivative=lambda x, y, out: (hypot_slope(x, y), hypot_slope(y, x)),
    pullback=lambda x, y, out, g: (_along_hypot(x, y, out, g), _along_hypot(y, x, out, g)),
    pushforward=_push_hypot,
    commutative=True,
    associative=True,
    identity=lambda dtype: 0 if dtype.kind == "f" else None,
    cost=15,
)


def quotient_or_zero(x: Any, y: Any) -> Any:
    """Return ``x / y``, and 0 where both are 0: as x is 0, the function of y is constant.

    Where y is not 0, it is the quotient also at ``x = 0``, as its slope in x is not 0 there.
    """
    if _is_never_zero(x):
        return x / y
    are_zero = OPERATORS.and_(OPERATORS.eq(x, 0), OPERATORS.eq(y, 0))
    return x / OPERATORS.switch(are_zero, 1, y)


xlogy = FloatRow(
    "xlogy",
    "scipy.special:xlogy",
    doc="x * log(y), and 0 where x is 0.",
    source="SciPy's, from its version 0.13 of 2013 on; natively as log.",
    parameters=("x", "y"),
    domain="x == 0 or y > 0",
    nin=2,
    complex=True,
    derivative=lambda x, y, out: (
        OPERATORS.log(y),
        1 if x is y else quotient_or_zero(x, y),
    ),
    vanishes=True,
)

xlog1py = FloatRow(
    "xlog1py",
    "scipy.special:xlog1py",
    doc="x * log(1 + y), and 0 where x is 0.",
    source="SciPy's, from its version 0.13 of 2013 on; natively as log1p.",
    parameters=("x", "y"),
    domain="x == 0 or y > -1",
    nin=2,
    complex=True,
    derivative=lambda x, y, out: (OPERATORS.log1p(y), quotient_or_zero(x, 1 + y)),
    vanishes=True,
)
