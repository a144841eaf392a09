"""Exponentials, logarithms, roots, and the sigmoid family."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.late import LateModule
from phintys.scalar.arithmetic import abs, sqr
from phintys.scalar.cancelling import cancelled_product, number_of
from phintys.scalar.operators import OPERATORS
from phintys.scalar.roots import along_root, divisor
from phintys.scalar.row import dtype_of
from phintys.scalar.row_kinds import FloatRow, UfuncRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.scalar import doubled
else:
    doubled = LateModule("phintys.scalar.doubled")

_LOG_2 = math.log(2)
_LOG_10 = math.log(10)
_MINUS_INFINITY = -math.inf


def _slope_of_sqrt(x: Any, out: Any) -> Any:
    return 0.5 / divisor(out, of=x)


def _pull_sqrt(x: Any, out: Any, g: Any) -> tuple[Any] | None:
    if dtype_of(out).kind == "c":
        return None
    return (along_root(x, out, 0.5, _slope_of_sqrt(x, out), g),)


def _push_sqrt(x: Any, out: Any, v: Any) -> Any:
    slope = _slope_of_sqrt(x, out)
    return slope * v[0] if dtype_of(out).kind == "c" else along_root(x, out, 0.5, slope, v[0])


sqrt = UfuncRow(
    "sqrt",
    np.sqrt,
    doc="Square root.",
    domain="x >= 0",
    derivative=lambda x, out: (_slope_of_sqrt(x, out),),
    pullback=_pull_sqrt,
    pushforward=_push_sqrt,
    cost=6,
    vanishes=True,
)


def _slope_of_cbrt(x: Any, out: Any) -> Any:
    return 1 / (3 * divisor(sqr(out), of=x))


def _pull_cbrt(x: Any, out: Any, g: Any) -> tuple[Any]:
    return (along_root(x, out, 1 / 3, _slope_of_cbrt(x, out), g),)


def _push_cbrt(x: Any, out: Any, v: Any) -> Any:
    return _pull_cbrt(x, out, v[0])[0]


cbrt = UfuncRow(
    "cbrt",
    np.cbrt,
    doc="Cube root, real for negative numbers too.",
    source="E. Halley's and I. Newton's methods (W. Kahan, Computing a real cube root, 1991).",
    hint="A complex number has three cube roots: write x ** (1 / 3) for the principal one.",
    derivative=lambda x, out: (_slope_of_cbrt(x, out),),
    pullback=_pull_cbrt,
    pushforward=_push_cbrt,
    cost=20,
    special=True,
    vanishes=True,
)

exp = UfuncRow(
    "exp",
    np.exp,
    doc="e ** x: the exponential.",
    derivative=lambda x, out: (out,),
    positive=True,
    cost=10,
    infinite_slope=True,
)


_MOST = 1000.0  # products beyond it have exponentials of 0 and infinity


def _exp_of_product(x: Any, y: Any) -> Any:
    """Return ``exp(x * y)`` with the rounding error of the product (Dekker 1971)."""
    with np.errstate(all="ignore"):
        if np.result_type(x, y) == np.float32:
            return np.exp(x.astype(np.float64) * y).astype(np.float32)
        product, error = doubled.exact_product(x, y)
        is_known = (np.abs(product) < _MOST) & np.isfinite(error)
        return np.exp(product) * (1 + np.where(is_known, error, 0))


exp_of_product = FloatRow(
    "exp_of_product",
    _exp_of_product,
    doc="exp(x * y) of the exact product: as accurate for large exponents as for small ones.",
    source="T. J. Dekker, Numer. Math. 18, 1971: exact products.",
    parameters=("x", "y"),
    nin=2,
    intervals=((-5.0, 5.0), (-5.0, 5.0)),
    derivative=lambda x, y, out: (y * out, x * out),
    commutative=True,
    cost=12,
    special=False,
)

exp2 = UfuncRow(
    "exp2",
    np.exp2,
    doc="2 ** x: the exponential to base 2.",
    source="W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980.",
    derivative=lambda x, out: (out * _LOG_2,),
    positive=True,
    cost=10,
    special=True,
    infinite_slope=True,
)


class _Expm1(UfuncRow):
    """NumPy's, with the limits at infinities that C99 and the array API name."""

    def impl(self, *values: Any) -> Any:
        return self.kernel([np.asarray(value).dtype for value in values])(*values)

    def kernel(self, input_dtypes: Sequence[Any]) -> Callable[..., Any]:
        kernel = super().kernel(input_dtypes)
        return _complex_expm1 if np.dtype(input_dtypes[0]).kind == "c" else kernel


def _complex_expm1(x: Any, out: Any = None) -> Any:
    x = np.asarray(x)
    found: Any
    with np.errstate(all="ignore"):
        found, re, im = np.asarray(np.expm1(x)), np.real(x), np.imag(x)
        is_open = ~np.isfinite(im)
        is_high = is_open & (re == np.inf)
        real = np.where(re == -np.inf, -1, np.where(is_high, np.inf, np.real(found)))
        least = np.where(is_open, 0, np.copysign(0, np.sin(im)))
        imaginary = np.where(im == 0, im, np.where(re == -np.inf, least, np.imag(found)))
    result = np.empty(x.shape, found.dtype)
    result.real, result.imag = real, imaginary
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return result[()]
    np.copyto(out, result)
    return out


expm1 = _Expm1(
    "expm1",
    np.expm1,
    doc="e ** x - 1, accurate near 0.",
    source="W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980.",
    # out + 1 has lost the digits of a small exponential.
    derivative=lambda x, out: (exp(x),),
    cost=14,
    special=True,
    vanishes=True,
    infinite_slope=True,
)


def _pull_log(x: Any, out: Any, g: Any) -> tuple[Any] | None:
    """g / x; h where g is h * x, so that x * log(x) has the gradient log(x) + 1"""
    if dtype_of(x).kind != "f" or dtype_of(g).kind != "f":
        return None
    found = cancelled_product(OPERATORS.true_div(1, x), g)
    return (OPERATORS.true_div(g, x) if found is None else found,)


log = UfuncRow(
    "log",
    np.log,
    doc="Natural logarithm.",
    domain="x > 0",
    derivative=lambda x, out: (1 / x,),
    pullback=_pull_log,
    cost=12,
)

log2 = UfuncRow(
    "log2",
    np.log2,
    doc="Logarithm to base 2.",
    domain="x > 0",
    derivative=lambda x, out: (1 / (x * _LOG_2),),
    cost=12,
)

log10 = UfuncRow(
    "log10",
    np.log10,
    doc="Logarithm to base 10.",
    domain="x > 0",
    derivative=lambda x, out: (1 / (x * _LOG_10),),
    cost=12,
)

log1p = UfuncRow(
    "log1p",
    np.log1p,
    doc="log(1 + x), accurate near 0.",
    source="FreeBSD's msun (Sun Microsystems, 1993).",
    domain="x > -1",
    derivative=lambda x, out: (1 / (1 + x),),
    cost=14,
    special=True,
    vanishes=True,
)


def _identity_of_logaddexp(dtype: np.dtype[Any]) -> Any:
    return _MINUS_INFINITY if dtype.kind == "f" else None


def _share_by(power: Callable[[Any], Any], unit: float) -> Callable[[Any, Any], Any]:
    """Return a function of arrays: the share that the power of x has in its sum with that of y."""

    def share(x: Any, y: Any) -> Any:
        if np.result_type(x, y) == np.float32:
            return share(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
        with np.errstate(all="ignore"):
            difference = x - y
            part = difference - x
            error = (x - (difference - part)) - (y + part)
            error = unit * np.where(np.abs(error) < 1, error, 0)
            is_below = difference < 0
            small = power(-np.abs(difference)) * (1 + np.where(is_below, error, -error))
            result = np.where(is_below, small, 1) / (1 + small)
            result = np.where(np.isnan(difference), difference, result)
            return np.where((x == -np.inf) & (y == -np.inf), 0.0, result)

    return share


exp_share = FloatRow(
    "exp_share",
    _share_by(np.exp, 1),
    doc="exp(x1) / (exp(x1) + exp(x2)), the sigmoid of the exact difference; 0 at -inf, -inf.",
    source="D. E. Knuth, The Art of Computer Programming 2, 1969: exact sums.",
    nin=2,
    intervals=((-5.0, 5.0), (-5.0, 5.0)),
    derivative=lambda x, y, out: _slopes_of_share(exp_share, x, y, out),
    cost=18,
    special=False,
)

exp2_share = FloatRow(
    "exp2_share",
    _share_by(np.exp2, _LOG_2),
    doc="2**x1 / (2**x1 + 2**x2), of the exact difference; 0 at -inf, -inf.",
    source="D. E. Knuth, The Art of Computer Programming 2, 1969: exact sums.",
    nin=2,
    intervals=((-5.0, 5.0), (-5.0, 5.0)),
    derivative=lambda x, y, out: _slopes_of_share(exp2_share, x, y, _LOG_2 * out),
    cost=18,
    special=False,
)


def _slopes_of_share(share: Any, x: Any, y: Any, out: Any) -> tuple[Any, Any]:
    slope = out * share(y, x)
    return slope, -slope


def _shares(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the shares that two terms have in their sum: none where there is no sum."""
    if number_of(y) == 0:
        return sigmoid(x), sigmoid(-x)
    if number_of(x) == 0:
        return sigmoid(-y), sigmoid(y)
    return exp_share(x, y), exp_share(y, x)


logaddexp = UfuncRow(
    "logaddexp",
    np.logaddexp,
    doc="log(exp(x1) + exp(x2)) without overflow. The derivative at -inf, -inf is 0.",
    source="NumPy's, from its version 1.3 of 2009 on, by log1p.",
    derivative=lambda x, y, out: _shares(x, y),
    commutative=True,
    associative=True,
    identity=_identity_of_logaddexp,
    cost=25,
    special=True,
)

logaddexp2 = UfuncRow(
    "logaddexp2",
    np.logaddexp2,
    doc="log2(2 ** x1 + 2 ** x2) without overflow. The derivative at -inf, -inf is 0.",
    source="NumPy's, from its version 1.3 of 2009 on, by log1p.",
    derivative=lambda x, y, out: (exp2_share(x, y), exp2_share(y, x)),
    commutative=True,
    associative=True,
    identity=_identity_of_logaddexp,
    cost=25,
    special=True,
)


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


sigmoid = FloatRow(
    "sigmoid",
    _sigmoid,
    doc="1 / (1 + exp(-x)), computed from exp(-\\|x\\|), which cannot overflow.",
    source="W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980.",
    derivative=lambda x, out: (out * (1 - out),),
    positive=True,
    cost=15,
)


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


softplus = FloatRow(
    "softplus",
    _softplus,
    doc="log(1 + exp(x)), computed as max(x, 0) + log1p(exp(-\\|x\\|)).",
    source="FreeBSD's msun (Sun Microsystems, 1993): log1p.",
    derivative=lambda x, out: (sigmoid(x),),
    positive=True,
    cost=30,
)

log_sigmoid = FloatRow(
    "log_sigmoid",
    lambda x: -_softplus(-x),
    doc="log(sigmoid(x)) = -softplus(-x).",
    source="FreeBSD's msun (Sun Microsystems, 1993): log1p.",
    derivative=lambda x, out: (sigmoid(-x),),
    cost=30,
)


def _log1mexp(x: Any) -> Any:
    # Mächler, "Accurately computing log(1 - exp(-|a|))", 2012: each form loses digits on the other
    # side of -log 2.
    near = x > -_LOG_2
    return np.where(
        near,
        np.log(-np.expm1(np.where(near, x, -1))),
        np.log1p(-np.exp(np.where(near, -1, x))),
    )


log1mexp = FloatRow(
    "log1mexp",
    _log1mexp,
    doc="log(1 - exp(x)) for x < 0; NaN for x > 0.",
    source="M. Mächler, Accurately computing log(1 - exp(-\\|a\\|)), 2012.",
    domain="x < 0",
    example="[-1.0, -0.5]",
    # -exp(x) / (1 - exp(x)), whose derivatives do not overflow; -abs(x) is x, but for the sign of
    # zero: the limit is -infinity
    derivative=lambda x, out: (exp(-abs(x)) / expm1(-abs(x)),),
    cost=40,
)
