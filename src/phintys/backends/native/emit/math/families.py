"""The code of scalar ops, and the modules that define it.

Each module is imported when one of its functions is first looked up.
"""

from __future__ import annotations

from phintys._base.late import LateModule
from phintys.backends.native.emit.externals import EXTERNALS
from phintys.backends.native.emit.math.registry import (
    COMPLEX_FUNCTIONS,
    FLOAT_FUNCTIONS,
    INTEGER_FUNCTIONS,
)

__all__ = ["COMPLEX_FUNCTIONS", "FLOAT_FUNCTIONS", "INTEGER_FUNCTIONS"]


def _home(name: str) -> LateModule:
    return LateModule(f"phintys.backends.native.emit.math.{name}")


FLOAT_FUNCTIONS.late(
    {
        _home("special"): " ".join(
            external.op for external in EXTERNALS.values() if external.source == "scipy"
        ),
        _home("arithmetic"): """
            abs add conj copysign fmod heaviside int_div mod mul neg nextafter pos reciprocal sign
            spacing sqr sub true_div
            """,
        _home("error_function"): "erf erfc ndtr",
        _home("exponential"): "exp exp2 expm1 sigmoid",
        _home("gamma"): "trigamma",
        _home("gamma_slopes"): "log_gamma_slope",
        _home("hyperbolic"): "arccosh arcsinh arctanh cosh sinh tanh",
        _home("log_gamma"): "digamma gammaln",
        _home("logarithm"): """
            log log10 log1mexp log1p log2 log_sigmoid logaddexp logaddexp2 softplus xlog1py xlogy
            """,
        _home("power"): "cbrt hypot pow sqrt",
        _home("rounding"): "ceil floor rint round_half_away trunc",
        _home("selection"): "clip fmax fmin maximum minimum",
        _home("trigonometric"): "arccos arcsin arctan arctan2 cos deg2rad rad2deg sin tan",
        _home("zeta"): "zeta",
    }
)

INTEGER_FUNCTIONS.late(
    {
        _home("integer"): """
            abs add and_ ceil conj floor fmod gcd int_div invert lcm left_shift mod mul neg or_ pos
            pow reciprocal right_shift sign sqr sub trunc xor
            """,
        _home("selection"): "clip fmax fmin maximum minimum",
    }
)

COMPLEX_FUNCTIONS.late(
    {
        _home("complex"): """
            abs add angle clip conj cos cosh exp exp2 expm1 fmax fmin log log10 log1p log2 maximum
            minimum mul neg pos pow reciprocal rint sign sin sinh sqr sqrt sub tan tanh true_div
            xlog1py xlogy
            """,
    }
)
