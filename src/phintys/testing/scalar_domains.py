"""Where each scalar op is defined, and what it is checked against: plain data for tests.

Every row of :data:`phintys.scalar.SCALAR_OPS` but the casts has an entry in :data:`DOMAINS`. Those
of rows with an expansion, or with ``intervals``, follow from the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phintys._base.errors import DtypeError
from phintys.scalar.row import Row
from phintys.scalar.table import SCALAR_OPS

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ScalarDomain:
    """The inputs that a scalar op accepts.

    Attributes
    ----------
    reference
        The function that the op is checked against, as ``"module:name"``.
    intervals
        For each argument the interval that floats are drawn from, well within which the function
        is smooth (but for jumps and kinks that depend on several arguments, such as x == y of
        maximum). Complex numbers have both parts drawn from it. Ops of any number of inputs have
        two here.
    kinds
        NumPy's letters of the dtype kinds that the op takes, for all arguments but ``integers``.
    int_intervals
        The intervals for integer dtypes, if others; unsigned ones take the part above 0.
    whole
        Positions of arguments that take whole numbers, whatever their dtype.
    integers
        Positions of arguments that take integer dtypes only.
    undefined
        Positions of arguments for which no derivative is known.

    Examples
    --------
    >>> domain = DOMAINS["log"]
    >>> domain.intervals, domain.kinds, domain.reference
    (((0.1, 10.0),), 'biufc', 'numpy:log')
    """

    reference: str
    intervals: tuple[Interval, ...]
    kinds: str = "biuf"
    int_intervals: tuple[Interval, ...] | None = None
    whole: tuple[int, ...] = ()
    integers: tuple[int, ...] = ()
    undefined: tuple[int, ...] = ()

    @property
    def function(self) -> Callable[..., Any]:
        """The reference function."""
        module, _, name = self.reference.partition(":")
        if module == "numpy":
            return getattr(np, name)
        if module == "scipy.special":
            from scipy import special

            return getattr(special, name)
        return globals()[name] if module == _HERE else SCALAR_OPS[name].impl

    def interval(self, position: int, kind: str) -> Interval:
        """Return the interval of an argument for a kind of dtype; of whole numbers for integers.

        Parameters
        ----------
        position
            Which argument.
        kind
            NumPy's letter of the dtype's kind.

        Examples
        --------
        >>> DOMAINS["erfinv"].interval(0, "i"), DOMAINS["exp"].interval(0, "u")
        ((0, 0), (0, 5))
        """
        if kind == "b":
            return (0, 1)
        if kind in "fc":
            return self.intervals[position]
        low, high = (self.int_intervals or self.intervals)[position]
        if kind == "u":
            low, high = max(low, 0), max(high, 1)
        if math.ceil(low) <= math.floor(high):
            return (math.ceil(low), math.floor(high))
        return (math.floor(low), math.ceil(high))


# References that neither NumPy nor SciPy has under one name.


def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return np.logaddexp(np.zeros_like(x), x)


def log_sigmoid(x: Any) -> Any:
    """log(1 / (1 + exp(-x)))."""
    return -np.logaddexp(np.zeros_like(x), -x)


def log1mexp(x: Any) -> Any:
    """log(1 - exp(x)) by the naive formula."""
    return np.log(-np.expm1(x))


def round_half_away(x: Any) -> Any:
    """The nearest integer, a half going away from 0."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def gammaln(x: Any) -> Any:
    """log|gamma(x)|; SciPy's complex function keeps its digits near 1 and 2, where it is 0."""
    from scipy import special

    near, tiny = np.minimum(np.abs(x - 1), np.abs(x - 2)) < 0.2, np.abs(x) < 1e-300
    close = special.loggamma(np.where(near, x, 1) + 0j).real + 0.0  # no -0
    found = np.where(near, close, special.gammaln(x))
    return np.where(tiny, -np.log(np.abs(np.where(tiny, x, 1))), found)


def trigamma(x: Any) -> Any:
    """Second derivative of the logarithm of gamma."""
    from scipy.special import zeta

    return zeta(2, x)


def complex_(re: Any, im: Any) -> Any:
    """re + i im of finite numbers."""
    return re + 1j * im


def complex_from_polar(r: Any, angle: Any) -> Any:
    """r exp(i angle) of finite numbers."""
    return r * np.exp(1j * angle)


def second(x: Any, y: Any) -> Any:
    """y, broadcast with x."""
    return np.broadcast_arrays(x, y)[1]


def identity(x: Any) -> Any:
    """x."""
    return x


_HERE = "phintys.testing.scalar_domains"
_REAL = ((-5.0, 5.0),)
_TWO = ((-5.0, 5.0), (-5.0, 5.0))
_POSITIVE = ((0.1, 10.0),)
_BITS = ((-100.0, 100.0), (-100.0, 100.0))
_SHIFTS = ((-50.0, 50.0), (0.0, 6.0))


def _numpy(
    name: str, intervals: tuple[Interval, ...] = _REAL, kinds: str = "biuf", **more: Any
) -> ScalarDomain:
    return ScalarDomain(f"numpy:{name}", intervals, kinds, **more)


def _scipy(
    name: str, intervals: tuple[Interval, ...] = _REAL, kinds: str = "biuf", **more: Any
) -> ScalarDomain:
    return ScalarDomain(f"scipy.special:{name}", intervals, kinds, **more)


def _ours(
    name: str, intervals: tuple[Interval, ...] = _REAL, kinds: str = "biuf", **more: Any
) -> ScalarDomain:
    return ScalarDomain(f"{_HERE}:{name}", intervals, kinds, **more)


def _derivative_of_betainc(name: str) -> ScalarDomain:
    intervals = ((0.5, 5.0), (0.5, 5.0), (0.05, 0.95))
    return ScalarDomain(f"phintys.scalar:{name}", intervals, undefined=(0, 1))


def _derivative_of_hyp1f1(name: str) -> ScalarDomain:
    intervals = ((0.5, 3.0), (0.5, 3.0), (-4.0, 4.0))
    return ScalarDomain(f"phintys.scalar:{name}", intervals, undefined=(0, 1))


def _derived(row: Row) -> ScalarDomain:
    """Return the domain of a row that states all that its tests need."""
    reference = getattr(row, "reference", f"phintys.scalar:{row.name}")
    kinds = "".join(kind for kind in "biufc" if _takes(row, kind))
    return ScalarDomain(reference, row.intervals, kinds)


def _takes(row: Row, kind: str) -> bool:
    try:
        row.resolve_dtypes(["bool" if kind == "b" else f"{kind}8"] * abs(row.nin))
    except DtypeError:
        return False
    return True


_GAUSS = ((0.5, 3.0), (0.5, 3.0), (1.5, 5.0), (-0.8, 0.7))

DOMAINS: dict[str, ScalarDomain] = {
    # arithmetic
    "abs": _numpy("absolute", ((0.1, 5.0),), "biufc", int_intervals=_REAL),
    "add": _numpy("add", _TWO, "biufc"),
    "copysign": _numpy("copysign", ((0.1, 5.0), (-5.0, -0.1)), int_intervals=_TWO),
    "fmod": _numpy("fmod", ((-9.0, 9.0), (2.0, 4.0))),
    "hypot": _numpy("hypot", ((0.1, 5.0), (-5.0, -0.1)), "biuf", int_intervals=_TWO),
    "int_div": _numpy("floor_divide", ((-9.0, 9.0), (2.0, 4.0))),
    "ldexp": _numpy("ldexp", ((-5.0, 5.0), (-4.0, 4.0)), integers=(1,)),
    "mod": _numpy("remainder", ((-9.0, 9.0), (2.0, 4.0))),
    "mul": _numpy("multiply", _TWO, "biufc"),
    "neg": _numpy("negative", kinds="iufc"),
    "nextafter": _numpy("nextafter", _TWO),
    "pos": _numpy("positive", kinds="iufc"),
    "pow": _numpy(
        "power", ((0.1, 4.0), (-3.0, 3.0)), "biufc", int_intervals=((-4.0, 4.0), (0.0, 3.0))
    ),
    "reciprocal": _numpy("reciprocal", _POSITIVE, "biufc", int_intervals=((1.0, 9.0),)),
    "sign": _numpy("sign", ((0.1, 5.0),), "iufc", int_intervals=_REAL),
    "sqr": _numpy("square", kinds="biufc"),
    "sub": _numpy("subtract", _TWO, "iufc"),
    "true_div": _numpy("true_divide", ((-5.0, 5.0), (0.5, 5.0)), "biufc"),
    "xlog1py": _scipy("xlog1py", ((-5.0, 5.0), (-0.9, 5.0)), "biufc"),
    "xlogy": _scipy("xlogy", ((-5.0, 5.0), (0.1, 5.0)), "biufc"),
    # comparison
    "eq": _numpy("equal", _TWO, "biufc"),
    "ge": _numpy("greater_equal", _TWO, "biufc"),
    "gt": _numpy("greater", _TWO, "biufc"),
    "isfinite": _numpy("isfinite", kinds="biufc"),
    "isinf": _numpy("isinf", kinds="biufc"),
    "isnan": _numpy("isnan", kinds="biufc"),
    "le": _numpy("less_equal", _TWO, "biufc"),
    "lt": _numpy("less", _TWO, "biufc"),
    "ne": _numpy("not_equal", _TWO, "biufc"),
    "signbit": _numpy("signbit"),
    # logic
    "and_": _numpy("bitwise_and", _BITS, "biu"),
    "bitwise_count": _numpy("bitwise_count", ((-100.0, 100.0),), "biu"),
    "invert": _numpy("invert", ((-100.0, 100.0),), "biu"),
    "left_shift": _numpy("left_shift", _SHIFTS, "biu"),
    "logical_and": _numpy("logical_and", _TWO, "biufc"),
    "logical_not": _numpy("logical_not", kinds="biufc"),
    "logical_or": _numpy("logical_or", _TWO, "biufc"),
    "logical_xor": _numpy("logical_xor", _TWO, "biufc"),
    "or_": _numpy("bitwise_or", _BITS, "biu"),
    "right_shift": _numpy("right_shift", _SHIFTS, "biu"),
    "xor": _numpy("bitwise_xor", _BITS, "biu"),
    # rounding
    "ceil": _numpy("ceil"),
    "floor": _numpy("floor"),
    "rint": _numpy("rint", kinds="biufc"),
    "round_half_away": _ours("round_half_away"),
    "trunc": _numpy("trunc"),
    # exponential
    "cbrt": _numpy("cbrt", _POSITIVE),
    "exp": _numpy("exp", kinds="biufc"),
    "exp2": _numpy("exp2", kinds="biufc"),
    "expm1": _numpy("expm1", kinds="biufc"),
    "log": _numpy("log", _POSITIVE, "biufc"),
    "log10": _numpy("log10", _POSITIVE, "biufc"),
    "log1mexp": _ours("log1mexp", ((-5.0, -0.1),)),
    "log1p": _numpy("log1p", ((-0.9, 5.0),), "biufc"),
    "log2": _numpy("log2", _POSITIVE, "biufc"),
    "log_sigmoid": _ours("log_sigmoid"),
    "logaddexp": _numpy("logaddexp", _TWO),
    "logaddexp2": _numpy("logaddexp2", _TWO),
    "sigmoid": _scipy("expit"),
    "softplus": _ours("softplus"),
    "sqrt": _numpy("sqrt", _POSITIVE, "biufc"),
    # trigonometric
    "arccos": _numpy("arccos", ((-0.95, 0.95),), "biufc"),
    "arccosh": _numpy("arccosh", ((1.1, 5.0),), "biufc"),
    "arcsin": _numpy("arcsin", ((-0.95, 0.95),), "biufc"),
    "arcsinh": _numpy("arcsinh", kinds="biufc"),
    "arctan": _numpy("arctan", ((-0.9, 0.9),), "biufc"),
    "arctan2": _numpy("arctan2", ((-5.0, 5.0), (0.1, 5.0))),
    "arctanh": _numpy("arctanh", ((-0.95, 0.95),), "biufc"),
    "cos": _numpy("cos", kinds="biufc"),
    "cosh": _numpy("cosh", kinds="biufc"),
    "deg2rad": _numpy("deg2rad", ((-360.0, 360.0),), int_intervals=((-100.0, 100.0),)),
    "rad2deg": _numpy("rad2deg"),
    "sin": _numpy("sin", kinds="biufc"),
    "sinh": _numpy("sinh", kinds="biufc"),
    "tan": _numpy("tan", ((-1.2, 1.2),), "biufc"),
    "tanh": _numpy("tanh", ((-1.2, 1.2),), "biufc"),
    # special
    "beta": _scipy("beta", ((0.2, 5.0), (0.2, 5.0))),
    "betainc": _scipy("betainc", ((0.5, 5.0), (0.5, 5.0), (0.05, 0.95))),
    "betainc_by_a": _derivative_of_betainc("betainc_by_a"),
    "betainc_by_b": _derivative_of_betainc("betainc_by_b"),
    "betaln": _scipy("betaln", ((0.2, 5.0), (0.2, 5.0))),
    "digamma": _scipy("psi", _POSITIVE, "biufc"),
    "erf": _scipy("erf", ((-2.0, 2.0),), "biufc"),
    "erfc": _scipy("erfc", ((-2.0, 2.0),), "biufc"),
    "erfcinv": _scipy("erfcinv", ((0.05, 1.95),)),
    "erfcx": _scipy("erfcx", ((-2.0, 3.0),), "biufc"),
    "erfinv": _scipy("erfinv", ((-0.95, 0.95),)),
    "expi": _scipy("expi", ((0.2, 5.0),)),
    "expn": ScalarDomain(
        "phintys.scalar:expn", ((1.0, 4.0), (0.2, 5.0)), whole=(0,), undefined=(0,)
    ),
    "gamma": _scipy("gamma", ((0.2, 6.0),), "biufc"),
    "gammainc": _scipy("gammainc", ((0.5, 5.0), (0.1, 8.0))),
    "gammaincc": _scipy("gammaincc", ((0.5, 5.0), (0.1, 8.0))),
    "gammaln": _ours("gammaln", _POSITIVE),
    "hyp1f1_by_a": _derivative_of_hyp1f1("hyp1f1_by_a"),
    "hyp1f1_by_b": _derivative_of_hyp1f1("hyp1f1_by_b"),
    "hyp2f1": _scipy("hyp2f1", _GAUSS),
    "hyp2f1_by_a": ScalarDomain("phintys.scalar:hyp2f1_by_a", _GAUSS, undefined=(0, 1, 2)),
    "hyp2f1_by_c": ScalarDomain("phintys.scalar:hyp2f1_by_c", _GAUSS, undefined=(0, 1, 2)),
    "i0": _scipy("i0"),
    "i0e": _scipy("i0e", _POSITIVE),
    "i1": _scipy("i1"),
    "i1e": _scipy("i1e", _POSITIVE),
    "iv": _scipy("iv", ((0.0, 4.0), (0.1, 6.0)), undefined=(0,)),
    "ive": _scipy("ive", ((0.0, 4.0), (0.1, 6.0)), undefined=(0,)),
    "j0": _scipy("j0"),
    "j1": _scipy("j1"),
    "jv": _scipy("jv", ((0.0, 4.0), (0.1, 6.0)), undefined=(0,)),
    "kv": _scipy("kv", ((0.0, 4.0), (0.1, 6.0)), undefined=(0,)),
    "kve": _scipy("kve", ((0.0, 4.0), (0.1, 6.0)), undefined=(0,)),
    "log_ive_slope": ScalarDomain(
        "phintys.scalar.bessel_slopes:log_ive_slope", ((0.0, 4.0), (0.6, 9.0)), undefined=(0,)
    ),
    "log_kve_slope": ScalarDomain(
        "phintys.scalar.bessel_slopes:log_kve_slope", ((0.0, 4.0), (0.6, 9.0)), undefined=(0,)
    ),
    "log_ndtr": _scipy("log_ndtr", ((-3.0, 3.0),), "biufc"),
    "ndtr": _scipy("ndtr", ((-3.0, 3.0),), "biufc"),
    "ndtri": _scipy("ndtri", ((0.05, 0.95),)),
    "owens_t": _scipy("owens_t", ((-3.0, 3.0), (-2.0, 2.0))),
    "log_gamma_bend": ScalarDomain(
        "phintys.scalar.gamma_slopes:log_gamma_bend", ((0.5, 5.0), (-2.0, 2.0)), "biuf"
    ),
    "log_gamma_slope": ScalarDomain(
        "phintys.scalar.gamma_slopes:log_gamma_slope", ((0.5, 5.0), (-2.0, 2.0)), "biuf"
    ),
    "polygamma": _scipy("polygamma", ((1.0, 4.0), (0.5, 6.0)), whole=(0,), undefined=(0,)),
    "trigamma": _ours("trigamma", ((0.2, 6.0),)),
    "yv": _scipy("yv", ((0.0, 4.0), (0.3, 6.0)), undefined=(0,)),
    "zeta": _scipy("zeta", ((1.5, 6.0), (0.5, 5.0)), undefined=(0,)),
    # complex parts
    "angle": _numpy("angle", ((0.1, 5.0),), "biufc", int_intervals=_REAL),
    "complex": _ours("complex_", _TWO),
    "complex_from_polar": _ours("complex_from_polar", ((-3.0, 3.0), (-3.0, 3.0))),
    "conj": _numpy("conjugate", kinds="biufc"),
    "imag": _numpy("imag", kinds="biufc"),
    "real": _numpy("real", kinds="biufc"),
    # selection
    "clip": _numpy("clip", ((-5.0, 5.0), (-2.0, -1.0), (1.0, 2.0)), "biufc"),
    "fmax": _numpy("fmax", _TWO, "biufc"),
    "fmin": _numpy("fmin", _TWO, "biufc"),
    "heaviside": _numpy("heaviside", ((0.1, 5.0), (-5.0, 5.0)), int_intervals=_TWO),
    "identity": _ours("identity", kinds="biufc"),
    "maximum": _numpy("maximum", _TWO, "biufc"),
    "minimum": _numpy("minimum", _TWO, "biufc"),
    "second": _ours("second", _TWO, "biufc"),
    "switch": _numpy("where", ((-5.0, 5.0), (-5.0, 5.0), (-5.0, 5.0)), "biufc"),
} | {name: _derived(row) for name, row in SCALAR_OPS.items() if row.drives_tests}
"""The domain of each row, by its name."""
