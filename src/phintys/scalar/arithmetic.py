"""Arithmetic: sums, products, quotients, remainders, powers, signs."""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys.graph.pretty import PRECEDENCE
from phintys.graph.variable import Constant
from phintys.scalar.operators import OPERATORS
from phintys.scalar.row import dtype_of
from phintys.scalar.row_kinds import FloatRow, UfuncRow, VariadicRow

__all__ = [
    "abs",
    "add",
    "copysign",
    "fmod",
    "hypot",
    "int_div",
    "ldexp",
    "mod",
    "mul",
    "neg",
    "nextafter",
    "pos",
    "pow",
    "reciprocal",
    "sign",
    "sqr",
    "sub",
    "true_div",
    "xlog1py",
    "xlogy",
]

_NO_COMPLEX_ORDER = "Complex numbers have no order: take the real part first."


add = VariadicRow(
    "add",
    np.add,
    derivative=lambda *xs, out: (1,) * len(xs),
    symbol="+",
    precedence=PRECEDENCE["+"],
    commutative=True,
    associative=True,
    identity=0,
)
"""x + y + ...; of bools, their or."""

sub = UfuncRow(
    "sub",
    np.subtract,
    hint="Bools have no difference: use xor(x, y), written x ^ y, or cast one of them.",
    derivative=lambda x, y, out: (1, -1),
    symbol="-",
    precedence=PRECEDENCE["+"],
)
"""x - y; not defined for two bools."""


def _other_factors(*xs: Any, out: Any) -> list[Any]:
    if len(xs) == 2:
        return [xs[1], xs[0]]
    return [mul(*xs[:i], *xs[i + 1 :]) if len(xs) > 1 else 1 for i in range(len(xs))]


mul = VariadicRow(
    "mul",
    np.multiply,
    derivative=_other_factors,
    symbol="*",
    precedence=PRECEDENCE["*"],
    commutative=True,
    associative=True,
    identity=1,
    # 0 * nan is nan.
    absorbing=lambda dtype: 0 if dtype.kind in "biu" else None,
)
"""x * y * ...; of bools, their and."""

true_div = UfuncRow(
    "true_div",
    np.true_divide,
    derivative=lambda x, y, out: (1 / y, -out / y),
    symbol="/",
    precedence=PRECEDENCE["*"],
    cost=5,
)
"""x / y; of integers, a float64."""

int_div = UfuncRow(
    "int_div",
    np.floor_divide,
    hint=_NO_COMPLEX_ORDER,
    derivative=lambda x, y, out: (0, 0),
    symbol="//",
    precedence=PRECEDENCE["*"],
    cost=8,
)
"""floor(x / y), as Python's ``x // y``."""

mod = UfuncRow(
    "mod",
    np.remainder,
    hint=_NO_COMPLEX_ORDER,
    # x - y floor(x / y): constant but for its jumps
    derivative=lambda x, y, out: (1, -int_div(x, y)),
    symbol="%",
    precedence=PRECEDENCE["*"],
    cost=10,
)
"""x - y * floor(x / y), which has the sign of y, as Python's ``x % y``."""

fmod = UfuncRow(
    "fmod",
    np.fmod,
    hint=_NO_COMPLEX_ORDER,
    derivative=lambda x, y, out: (1, -OPERATORS.trunc(x / y)),
    cost=10,
)
"""x - y * trunc(x / y), which has the sign of x, as C's ``fmod``."""

neg = UfuncRow(
    "neg",
    np.negative,
    hint="Bools have no negative: use invert(x), written ~x.",
    derivative=lambda x, out: (-1,),
    symbol="-",
    precedence=PRECEDENCE["unary"],
)
"""-x; not defined for bools."""

pos = UfuncRow(
    "pos",
    np.positive,
    hint="Bools have no sign: cast x to an integer dtype.",
    derivative=lambda x, out: (1,),
    symbol="+",
    precedence=PRECEDENCE["unary"],
    cost=0,
)
"""+x; not defined for bools."""


# |z| is not holomorphic: d|z| = Re(conj(s) dz) with s = z / |z|, which sign() gives, 0 at 0.
abs = UfuncRow(
    "abs",
    np.absolute,
    pullback=lambda x, out, g: (g * sign(x),),
    pushforward=lambda x, out, v: OPERATORS.real(OPERATORS.conj(sign(x)) * v[0]),
)
"""Absolute value; of a complex number, the real modulus. The derivative at 0 is 0."""


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
    hint="Bools have no sign: cast x to an integer dtype.",
    pullback=_pull_sign,
    pushforward=_push_sign,
)
"""-1, 0 or 1; of a complex number, z / abs(z), and 0 at 0."""

reciprocal = UfuncRow("reciprocal", np.reciprocal, derivative=lambda x, out: (-sqr(out),), cost=5)
"""1 / x in the dtype of x, so that integers round towards 0."""

sqr = UfuncRow("sqr", np.square, derivative=lambda x, out: (2 * x,))
"""x * x."""


def _is_never_zero(x: Any) -> bool:
    return isinstance(x, Constant) and bool(np.all(x.data != 0))


def _partials_of_pow(x: Any, y: Any, out: Any) -> tuple[Any, Any]:
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


pow = UfuncRow(
    "pow",
    np.power,
    derivative=_partials_of_pow,
    symbol="**",
    precedence=PRECEDENCE["**"],
    cost=40,
)
"""x ** y. Integers to a negative integer power raise ValueError, as in NumPy."""

copysign = UfuncRow(
    "copysign",
    np.copysign,
    hint=_NO_COMPLEX_ORDER,
    derivative=lambda x, y, out: (sign(x) * copysign(1.0, y), 0),
)
"""|x| with the sign of y."""

nextafter = UfuncRow(
    "nextafter",
    np.nextafter,
    hint=_NO_COMPLEX_ORDER,
    derivative=lambda x, y, out: (1, 0),
    cost=5,
)
"""The next floating-point number after x towards y."""

ldexp = UfuncRow(
    "ldexp",
    np.ldexp,
    hint="The first input must be real, the second an integer.",
    pullback=lambda x, n, out, g: (ldexp(g, n), 0),
    pushforward=lambda x, n, out, v: None if v[0] is None else ldexp(v[0], n),
    cost=4,
)
"""x * 2**n for an integer n, exactly."""

hypot = UfuncRow(
    "hypot",
    np.hypot,
    hint=_NO_COMPLEX_ORDER,
    derivative=lambda x, y, out: (x / out, y / out),
    commutative=True,
    associative=True,
    identity=lambda dtype: 0 if dtype.kind == "f" else None,
    cost=15,
)
"""sqrt(x**2 + y**2) without overflow."""

xlogy = FloatRow(
    "xlogy",
    "scipy.special:xlogy",
    nin=2,
    complex=True,
    derivative=lambda x, y, out: (OPERATORS.log(y), x / y),
)
"""x * log(y), and 0 where x is 0."""

xlog1py = FloatRow(
    "xlog1py",
    "scipy.special:xlog1py",
    nin=2,
    complex=True,
    derivative=lambda x, y, out: (OPERATORS.log1p(y), x / (1 + y)),
)
"""x * log(1 + y), and 0 where x is 0."""
