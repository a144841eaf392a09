"""Log-odds, entropies and power transforms, as expressions in other functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.arithmetic import (
    abs,
    pow,
    pow_less_one,
    quotient_or_zero,
    sqr,
    xlogy,
)
from phintys.scalar.cancelling import product
from phintys.scalar.comparison import eq, ge, gt, isnan, lt
from phintys.scalar.doubled import exact_sum
from phintys.scalar.exponential import exp_of_product, expm1, log, log1p
from phintys.scalar.logic import and_, or_
from phintys.scalar.row import as_continuous, dtype_of
from phintys.scalar.row_kinds import FloatRow
from phintys.scalar.selection import switch

if TYPE_CHECKING:
    from collections.abc import Callable


def _logit(x: Any) -> Any:
    """Return ``log(x / (1 - x))``: near 1/2 from the distance to it, which is exact."""
    is_near = lt(abs(x - 0.5), 0.25)
    step = 2 * switch(is_near, x, 0.5) - 1
    return switch(is_near, log1p(step) - log1p(-step), log(x) - log1p(-x))


logit = FloatRow(
    "logit",
    "scipy.special:logit",
    doc="log(x / (1 - x)), the inverse of sigmoid.",
    source="FreeBSD's msun (Sun Microsystems, 1993): log1p.",
    domain="0 < x < 1",
    example="[0.5, 0.9]",
    intervals=((0.05, 0.95),),
    expansion=_logit,
    # The derivatives of these terms do not overflow with different signs.
    derivative=lambda x, out: (1 / x + 1 / (1 - x),),
)


def _xlogx_values(x: Any) -> Any:
    return import_whole("scipy.special").xlogy(x, x)


def _by_logarithm(sign: int) -> dict[str, Any]:
    """Return both rules of ``sign * x * log(x)``.

    The derivative is multiplied as a sum, ``sign * (log(x) * g + g)``: one term has a limit where a
    factor of g, or a later one, is 0 wherever x is.
    """

    def along(x: Any, out: Any, g: Any) -> Any:
        return sign * product(log(as_continuous(x, out)), g) + sign * g

    return {
        "pullback": lambda x, out, g: (along(x, out, g),),
        "pushforward": lambda x, out, v: along(x, out, v[0]),
    }


xlogx = FloatRow(
    "xlogx",
    _xlogx_values,
    doc="x * log(x), and 0 for x = 0.",
    source="SciPy's, from its version 0.13 of 2013 on; natively as log.",
    domain="x >= 0",
    intervals=((0.1, 5.0),),
    expansion=lambda x: xlogy(x, x),
    derivative=lambda x, out: (log(x) + 1,),
    **_by_logarithm(1),
    vanishes=True,
)

entr = FloatRow(
    "entr",
    "scipy.special:entr",
    doc="-x * log(x), 0 for x = 0, and -inf for a negative x.",
    source="C. E. Shannon, A mathematical theory of communication, 1948.",
    intervals=((0.1, 5.0),),
    expansion=lambda x: switch(lt(x, 0), -math.inf, -xlogy(x, x)),
    derivative=lambda x, out: (-log(x) - 1,),
    **_by_logarithm(-1),
    vanishes=True,
)


def _log_quotient(x: Any, y: Any) -> Any:
    """Return ``log(x / y)`` of positive numbers, accurate where they are close or far apart.

    A difference of logarithms cancels; it is taken only where the quotient is not a normal float.
    """
    ratio = x / y
    is_close = lt(abs(ratio - 1), 0.5)
    near = log1p(switch(is_close, (x - y) / y, 0))
    is_normal = and_(ge(ratio, float(np.finfo(dtype_of(ratio)).tiny)), lt(ratio, math.inf))
    return switch(is_close, near, switch(is_normal, log(ratio), log(x) - log(y)))


def _divergence(x: Any, y: Any, inside: Any, at_zero: Any) -> Any:
    """Return ``inside`` for positive x and y, ``at_zero`` for x = 0 <= y, infinity elsewhere."""
    is_inside = and_(gt(x, 0), gt(y, 0))
    outside = switch(and_(eq(x, 0), ge(y, 0)), at_zero, math.inf)
    result = switch(is_inside, inside, outside)
    return switch(or_(isnan(x), isnan(y)), math.nan, result)


def _log_quotient_values(x: Any, y: Any) -> Any:
    """Compute :func:`_log_quotient` for arrays."""
    ratio = x / y
    is_close = np.abs(ratio - 1) < 0.5
    is_normal = (ratio >= np.finfo(ratio.dtype).tiny) & (ratio < math.inf)
    near = np.log1p(np.where(is_close, (x - y) / y, 0))
    far = np.where(is_normal, np.log(ratio), np.log(x) - np.log(y))
    return np.where(is_close, near, far)


def _rel_entr_values(x: Any, y: Any) -> Any:
    """Return SciPy's numbers, but where old releases lose digits: for positive x and y."""
    with np.errstate(all="ignore"):
        outside = import_whole("scipy.special").rel_entr(x, y)
        return np.where((x > 0) & (y > 0), x * _log_quotient_values(x, y), outside)


rel_entr = FloatRow(
    "rel_entr",
    _rel_entr_values,
    doc="x * log(x / y) for positive x and y, 0 for x = 0 <= y, and infinity elsewhere.",
    source="S. Kullback and R. A. Leibler, On information and sufficiency, 1951.",
    parameters=("x", "y"),
    nin=2,
    intervals=((0.1, 5.0), (0.1, 5.0)),
    expansion=lambda x, y: _divergence(x, y, x * _log_quotient(x, y), 0.0),
    derivative=lambda x, y, out: (_log_quotient(x, y) + 1, -quotient_or_zero(x, y)),
)

_DIVERGENCE_TERMS = 16


def _divergence_of_close(x: Any, y: Any) -> Any:
    """Return ``x log(x / y) - x + y`` for x from y / 2 to 3 y / 2, also of arrays.

    The logarithm is twice the inverse hyperbolic tangent of ``s = (x - y) / (x + y)``. The first
    term of its series combines with ``y - x`` to ``s (x - y)``, so that nothing cancels.
    """
    s = (x - y) / 2 / (x / 2 + y / 2)
    square = s * s
    series: Any = 0.0
    for n in range(_DIVERGENCE_TERMS, -1, -1):
        series = series * square + 1 / (2 * n + 3)
    return s * (x - y) + 2 * x * (s * square) * series


def _kl_div_values(x: Any, y: Any) -> Any:
    """Return SciPy's numbers, but where it loses digits: x close to y, or far from it."""
    with np.errstate(all="ignore"):
        is_inside = (x > 0) & (y > 0)
        is_close = is_inside & (np.abs(x - y) < y / 2) & (y < math.inf)
        one = y.dtype.type(1)
        near = _divergence_of_close(np.where(is_close, x, one), np.where(is_close, y, one))
        far = x * _log_quotient_values(x, y) + (y - x)
        outside = import_whole("scipy.special").kl_div(x, y)
        return np.where(is_close, near, np.where(is_inside, far, outside))


def _kl_div(x: Any, y: Any) -> Any:
    is_close = and_(and_(gt(x, 0), lt(y, math.inf)), lt(abs(x - y), y / 2))
    near = _divergence_of_close(switch(is_close, x, 1), switch(is_close, y, 1))
    far = x * _log_quotient(x, y) + (y - x)
    return _divergence(x, y, switch(is_close, near, far), y)


def _one_less_quotient(x: Any, y: Any) -> Any:
    """Return ``1 - x / y``, from the difference where they are close."""
    is_close = lt(abs(x - y), y / 2)
    return switch(is_close, switch(is_close, y - x, 0) / y, 1 - quotient_or_zero(x, y))


kl_div = FloatRow(
    "kl_div",
    _kl_div_values,
    doc="x * log(x / y) - x + y for positive x and y, y for x = 0 <= y, and infinity elsewhere.",
    source="S. Kullback and R. A. Leibler, On information and sufficiency, 1951.",
    parameters=("x", "y"),
    nin=2,
    intervals=((0.1, 5.0), (0.1, 5.0)),
    expansion=_kl_div,
    derivative=lambda x, y, out: (
        _log_quotient(x, y),
        _one_less_quotient(x, y),
    ),
)

_TERMS = 18
_FAR = 0.7
"""Size of ``power * log(base)`` above which one less than the power has its digits.

An exponential of this product would multiply its rounding error.
"""


def _raised(of: Callable[[Any], Any], t: Any, power: Any) -> tuple[Any, Any]:
    """Return a power, or its square root where it may overflow, and where that is.

    Parameters
    ----------
    of
        Returns the base to a power.
    t
        The power times the logarithm of the base.
    power
        The power.
    """
    is_huge = gt(t, math.log(np.finfo(dtype_of(t)).max) - 8)
    return of(switch(is_huge, power / 2, power)), is_huge


def _power_transform(logarithm: Any, power: Any, of: Callable[[Any], Any]) -> Any:
    """Return ``(of(power) - 1) / power``, and ``logarithm`` for a power of 0."""
    # So small a power makes no difference, and quotients by subnormal numbers lose digits.
    is_zero = lt(abs(power), 1e-19)
    safe = switch(is_zero, 1, power)
    t = safe * logarithm
    near = switch(is_zero, logarithm, expm1(t) / safe)
    raised, is_huge = _raised(of, t, safe)
    far = switch(is_huge, raised / safe * raised, (raised - 1) / safe)
    return switch(and_(gt(abs(t), _FAR), ge(abs(power), 1e-19)), far, near)


_CLOSE = {2: 2.0**-6, 4: 2.0**-12, 8: 2.0**-26}
"""Size of x up to which ``log(1 + x)`` is a sum of three powers of x, by the size of its dtype."""


def _power_of_one_more(x: Any, power: Any, of_sum: Callable[[Any], Any]) -> Any:
    """Return ``(1 + x)**power``; ``of_sum`` takes the rounded ``1 + x`` to the power.

    A large power multiplies what the logarithm of the sum lacks: its rounding error, or, for small
    x, the terms after the first one. The exponential of this product is a factor close to 1.
    """
    is_close = lt(abs(x), _CLOSE[dtype_of(x).itemsize])
    close = switch(is_close, x, 0)
    total, error = exact_sum(1, switch(is_close, 0, x))
    raised = switch(is_close, exp_of_product(power, close), of_sum(total))
    is_inside = and_(gt(total, 0), lt(total, math.inf))
    relative = switch(is_inside, error, 0) / switch(is_inside, total, 1)
    lacking = power * switch(is_close, sqr(close) * (close / 3 - 0.5), relative)
    # It is larger where the power is 0 or infinite.
    lacking = switch(lt(abs(lacking), 0.1), lacking, 0)
    return raised * (1 + lacking * (1 + lacking * (1 / 2 + lacking / 6)))


def _slope_by_power(logarithm: Any, power: Any, of: Callable[[Any], Any]) -> Any:
    """Return the derivative of the transform by the power.

    It is ``logarithm**2 * h(t)`` for ``t = power * logarithm`` and
    ``h(t) = (exp(t) * (t - 1) + 1) / t**2``, whose terms cancel near 0. There it is the sum of
    ``t**n / (n! * (n + 2))``. Where ``exp(t)``, which is ``of(power)``, is 0, also for an infinite
    logarithm, the result is ``1 / power**2``.
    """
    t = power * logarithm
    is_near = lt(abs(t), 1.0)
    near = switch(is_near, t, 0)
    series: Any = 1.0 / (math.factorial(_TERMS) * (_TERMS + 2))
    for n in range(_TERMS - 1, -1, -1):
        series = near * series + 1.0 / (math.factorial(n) * (n + 2))
    raised, is_huge = _raised(of, t, power)
    is_zero = and_(eq(raised, 0), lt(t, 0))
    far = switch(or_(is_near, is_zero), 1, t)
    h = switch(is_near, series, (switch(is_near, 1, raised) * (far - 1) + 1) / sqr(far))
    usual = sqr(switch(is_zero, 0, logarithm)) * h
    huge = sqr(raised / switch(is_huge, power, 1)) * (far - 1)
    return switch(is_zero, 1 / sqr(switch(is_zero, power, 1)), switch(is_huge, huge, usual))


boxcox = FloatRow(
    "boxcox",
    "scipy.special:boxcox",
    doc="(x**lmbda - 1) / lmbda, and log(x) for lmbda = 0.",
    source="G. E. P. Box and D. R. Cox, An analysis of transformations, 1964.",
    parameters=("x", "lmbda"),
    domain="x >= 0",
    nin=2,
    intervals=((0.1, 5.0), (-2.0, 2.0)),
    expansion=lambda x, lmbda: _power_transform(log(x), lmbda, lambda power: pow(x, power)),
    derivative=lambda x, lmbda, out: (
        pow_less_one(x, lmbda),
        _slope_by_power(log(x), lmbda, lambda power: pow(x, power)),
    ),
)


def _power_of_one_more_than(x: Any) -> Callable[[Any], Any]:
    return lambda power: _power_of_one_more(x, power, lambda base: pow(base, power))


boxcox1p = FloatRow(
    "boxcox1p",
    "scipy.special:boxcox1p",
    doc="((1 + x)**lmbda - 1) / lmbda, and log1p(x) for lmbda = 0.",
    source="G. E. P. Box and D. R. Cox, An analysis of transformations, 1964.",
    parameters=("x", "lmbda"),
    domain="x >= -1",
    nin=2,
    intervals=((-0.9, 5.0), (-2.0, 2.0)),
    expansion=lambda x, lmbda: _power_transform(log1p(x), lmbda, _power_of_one_more_than(x)),
    derivative=lambda x, lmbda, out: (
        _power_of_one_more(x, lmbda - 1, lambda base: pow_less_one(base, lmbda)),
        _slope_by_power(log1p(x), lmbda, _power_of_one_more_than(x)),
    ),
)
