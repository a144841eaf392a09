"""Elementwise functions: one for each scalar op, and functions defined in terms of them.

The rows of :mod:`phintys.scalar` define the dtype rules, derivatives and NumPy functions. NumPy's
aliases of the same functions follow at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys._base.errors import OpContractError
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.elemwise import elemwise, name_functions
from phintys.tensor.type import normalize_dtype

if TYPE_CHECKING:
    from typing import Literal

    from phintys.tensor.variable import TensorVariable

    Rounding = Literal["half_to_even", "half_away_from_zero"]

__all__ = [
    "abs",
    "absolute",
    "add",
    "and_",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "beta",
    "betainc",
    "betaln",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cast",
    "cbrt",
    "ceil",
    "ceil_intdiv",
    "clip",
    "complex",
    "complex_from_polar",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "divide",
    "divmod",
    "eq",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fill",
    "floor",
    "floor_div",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "ge",
    "gt",
    "heaviside",
    "hypot",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "imag",
    "int_div",
    "invert",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "kv",
    "kve",
    "le",
    "left_shift",
    "log",
    "log1mexp",
    "log1p",
    "log2",
    "log10",
    "log_ndtr",
    "log_sigmoid",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "multiply",
    "ndtr",
    "ndtri",
    "ne",
    "neg",
    "negative",
    "neq",
    "nextafter",
    "or_",
    "owens_t",
    "polygamma",
    "pos",
    "pow",
    "power",
    "psi",
    "rad2deg",
    "real",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "round",
    "round_half_away",
    "second",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "softplus",
    "sqr",
    "sqrt",
    "square",
    "sub",
    "subtract",
    "switch",
    "tan",
    "tanh",
    "tensor_copy",
    "trigamma",
    "true_div",
    "true_divide",
    "trunc",
    "xlog1py",
    "xlogy",
    "xor",
    "yv",
]

# Arithmetic

abs = elemwise(ps.abs)
add = elemwise(ps.add)
copysign = elemwise(ps.copysign)
fmod = elemwise(ps.fmod)
hypot = elemwise(ps.hypot)
int_div = elemwise(ps.int_div)
mod = elemwise(ps.mod)
mul = elemwise(ps.mul)
neg = elemwise(ps.neg)
nextafter = elemwise(ps.nextafter)
pos = elemwise(ps.pos)
pow = elemwise(ps.pow)
reciprocal = elemwise(ps.reciprocal)
sign = elemwise(ps.sign)
sqr = elemwise(ps.sqr)
sub = elemwise(ps.sub)
true_div = elemwise(ps.true_div)
xlog1py = elemwise(ps.xlog1py)
xlogy = elemwise(ps.xlogy)

# Comparison

eq = elemwise(ps.eq)
ge = elemwise(ps.ge)
gt = elemwise(ps.gt)
isfinite = elemwise(ps.isfinite)
isinf = elemwise(ps.isinf)
isnan = elemwise(ps.isnan)
le = elemwise(ps.le)
lt = elemwise(ps.lt)
neq = elemwise(ps.ne)
signbit = elemwise(ps.signbit)

# Logic and bitwise operations

and_ = elemwise(ps.and_)
invert = elemwise(ps.invert)
left_shift = elemwise(ps.left_shift)
logical_and = elemwise(ps.logical_and)
logical_not = elemwise(ps.logical_not)
logical_or = elemwise(ps.logical_or)
logical_xor = elemwise(ps.logical_xor)
or_ = elemwise(ps.or_)
right_shift = elemwise(ps.right_shift)
xor = elemwise(ps.xor)

# Rounding

ceil = elemwise(ps.ceil)
floor = elemwise(ps.floor)
rint = elemwise(ps.rint)
round_half_away = elemwise(ps.round_half_away)
trunc = elemwise(ps.trunc)

# Exponentials and logarithms

cbrt = elemwise(ps.cbrt)
exp = elemwise(ps.exp)
exp2 = elemwise(ps.exp2)
expm1 = elemwise(ps.expm1)
log = elemwise(ps.log)
log1mexp = elemwise(ps.log1mexp)
log1p = elemwise(ps.log1p)
log2 = elemwise(ps.log2)
log10 = elemwise(ps.log10)
log_sigmoid = elemwise(ps.log_sigmoid)
logaddexp = elemwise(ps.logaddexp)
logaddexp2 = elemwise(ps.logaddexp2)
sigmoid = elemwise(ps.sigmoid)
softplus = elemwise(ps.softplus)
sqrt = elemwise(ps.sqrt)

# Trigonometry

arccos = elemwise(ps.arccos)
arccosh = elemwise(ps.arccosh)
arcsin = elemwise(ps.arcsin)
arcsinh = elemwise(ps.arcsinh)
arctan = elemwise(ps.arctan)
arctan2 = elemwise(ps.arctan2)
arctanh = elemwise(ps.arctanh)
cos = elemwise(ps.cos)
cosh = elemwise(ps.cosh)
deg2rad = elemwise(ps.deg2rad)
rad2deg = elemwise(ps.rad2deg)
sin = elemwise(ps.sin)
sinh = elemwise(ps.sinh)
tan = elemwise(ps.tan)
tanh = elemwise(ps.tanh)

# Special functions

beta = elemwise(ps.beta)
betainc = elemwise(ps.betainc)
betaln = elemwise(ps.betaln)
digamma = elemwise(ps.digamma)
erf = elemwise(ps.erf)
erfc = elemwise(ps.erfc)
erfcinv = elemwise(ps.erfcinv)
erfcx = elemwise(ps.erfcx)
erfinv = elemwise(ps.erfinv)
gamma = elemwise(ps.gamma)
gammainc = elemwise(ps.gammainc)
gammaincc = elemwise(ps.gammaincc)
gammaln = elemwise(ps.gammaln)
i0 = elemwise(ps.i0)
i0e = elemwise(ps.i0e)
i1 = elemwise(ps.i1)
i1e = elemwise(ps.i1e)
iv = elemwise(ps.iv)
ive = elemwise(ps.ive)
j0 = elemwise(ps.j0)
j1 = elemwise(ps.j1)
jv = elemwise(ps.jv)
kv = elemwise(ps.kv)
kve = elemwise(ps.kve)
log_ndtr = elemwise(ps.log_ndtr)
ndtr = elemwise(ps.ndtr)
ndtri = elemwise(ps.ndtri)
owens_t = elemwise(ps.owens_t)
polygamma = elemwise(ps.polygamma)
trigamma = elemwise(ps.trigamma)
yv = elemwise(ps.yv)

# Complex numbers

angle = elemwise(ps.angle)
complex = elemwise(ps.complex)
complex_from_polar = elemwise(ps.complex_from_polar)
conj = elemwise(ps.conj)
imag = elemwise(ps.imag)
real = elemwise(ps.real)

# Selection

clip = elemwise(ps.clip)
fmax = elemwise(ps.fmax)
fmin = elemwise(ps.fmin)
heaviside = elemwise(ps.heaviside)
maximum = elemwise(ps.maximum)
minimum = elemwise(ps.minimum)
second = elemwise(ps.second)
switch = elemwise(ps.switch)

# NumPy's aliases

absolute = abs
bitwise_and = and_
bitwise_not = invert
bitwise_or = or_
bitwise_xor = xor
divide = true_div
fill = second
floor_div = int_div
floor_divide = int_div
multiply = mul
ne = neq
negative = neg
power = pow
psi = digamma
remainder = mod
square = sqr
subtract = sub
true_divide = true_div

tensor_copy = elemwise(ps.identity)
"""``tensor_copy(x)``: a new variable with the value of ``x``."""

name_functions(globals(), __all__, "phintys.tensor")

_CASTS = {dtype: elemwise(op) for dtype, op in ps.CASTS.items()}


def cast(x: Any, dtype: Any) -> TensorVariable:
    """Return ``x`` with its elements cast to ``dtype``, as NumPy's ``astype`` does.

    Parameters
    ----------
    x
        A tensor.
    dtype
        A dtype or its name; ``"floatX"`` for the configured default. If it is the dtype of ``x``,
        the result is ``x`` itself.

    Raises
    ------
    DtypeError
        A complex tensor cannot be cast to a real dtype, except bool (true where it is nonzero).

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.cast(pt.dvector("x"), "int8").dtype
    'int8'
    """
    x = as_tensor_variable(x)
    wanted = normalize_dtype(dtype)
    return x if x.dtype == wanted else _CASTS[wanted](x)


def round(x: Any, decimals: int = 0, mode: Rounding = "half_to_even") -> TensorVariable:
    """Return ``x`` rounded to a number of decimals.

    Parameters
    ----------
    x
        A tensor. Integers are unchanged unless ``decimals`` is negative.
    decimals
        Number of decimal places; negative values round to tens, hundreds and so on.
    mode
        How to round halves: ``"half_to_even"`` as in NumPy, or ``"half_away_from_zero"``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.round([0.5, 1.5, 2.5]).eval()
    array([0., 2., 2.])
    """
    modes = {"half_to_even": rint, "half_away_from_zero": round_half_away}
    if mode not in modes:
        msg = f"round: mode is one of {', '.join(modes)}, got {mode!r}."
        raise OpContractError(msg)
    x = as_tensor_variable(x)
    whole = x.type.numpy_dtype.kind in "biu"
    if whole and decimals >= 0:
        return x
    if decimals == 0:
        return modes[mode](x)
    power = float(10.0 ** np.abs(decimals))  # a Python float, so that a float32 x stays float32
    scaled = x * power if decimals > 0 else x / power
    rounded = modes[mode](scaled)
    result = rounded / power if decimals > 0 else rounded * power
    return cast(result, x.dtype) if whole else result


def divmod(x: Any, y: Any) -> tuple[TensorVariable, TensorVariable]:
    """Return ``(x // y, x % y)``."""
    return int_div(x, y), mod(x, y)


def ceil_intdiv(x: Any, y: Any) -> TensorVariable:
    """Return the quotient of integers, rounded up."""
    return int_div(x, y) + cast(neq(mod(x, y), 0), "int64")


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> TensorVariable:
    """Return, elementwise, whether ``abs(a - b) <= atol + rtol * abs(b)``, as NumPy does."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if b.type.numpy_dtype.kind in "biu":
        b = cast(b, "float64")  # differences of unsigned integers or bools cannot be negative
    close = le(abs(a - b), atol + rtol * abs(b)) & isfinite(a) & isfinite(b)
    close = close | eq(a, b)
    return close | (isnan(a) & isnan(b)) if equal_nan else close
