"""The code of scalar ops, and the modules that define it.

Each module is imported when one of its functions is first looked up.
"""

from __future__ import annotations

from phintys._base.late import LateModule
from phintys.backends.native.emit.externals import EXTERNALS, FOR_SOME_ARGUMENTS
from phintys.backends.native.emit.math.registry import (
    COMPLEX_FUNCTIONS,
    FLOAT_FUNCTIONS,
    INTEGER_FUNCTIONS,
)

__all__ = ["COMPLEX_FUNCTIONS", "FLOAT_FUNCTIONS", "INTEGER_FUNCTIONS"]


_arithmetic = LateModule("phintys.backends.native.emit.math.arithmetic")
_complex = LateModule("phintys.backends.native.emit.math.complex")
_error_function = LateModule("phintys.backends.native.emit.math.error_function")
_exponential = LateModule("phintys.backends.native.emit.math.exponential")
_gamma = LateModule("phintys.backends.native.emit.math.gamma")
_gamma_slopes = LateModule("phintys.backends.native.emit.math.gamma_slopes")
_hyperbolic = LateModule("phintys.backends.native.emit.math.hyperbolic")
_integer = LateModule("phintys.backends.native.emit.math.integer")
_log_beta = LateModule("phintys.backends.native.emit.math.log_beta")
_log_gamma = LateModule("phintys.backends.native.emit.math.log_gamma")
_logarithm = LateModule("phintys.backends.native.emit.math.logarithm")
_power = LateModule("phintys.backends.native.emit.math.power")
_rounding = LateModule("phintys.backends.native.emit.math.rounding")
_selection = LateModule("phintys.backends.native.emit.math.selection")
_scaled_error_function = LateModule("phintys.backends.native.emit.math.scaled_error_function")
_special = LateModule("phintys.backends.native.emit.math.special")
_trigonometric = LateModule("phintys.backends.native.emit.math.trigonometric")
_zeta = LateModule("phintys.backends.native.emit.math.zeta")

FLOAT_FUNCTIONS.late(
    {
        _special: " ".join(
            external.op
            for external in EXTERNALS.values()
            if external.source == "scipy" and external.op not in FOR_SOME_ARGUMENTS
        ),
        _arithmetic: """
            abs add conj copysign fmod heaviside int_div mod mul neg nextafter pos reciprocal sign
            spacing sqr sub true_div
            """,
        _error_function: "erf erfc ndtr",
        _exponential: "exp exp2 exp_of_product expm1 sigmoid",
        _gamma: "trigamma",
        _gamma_slopes: "log_gamma_slope",
        _hyperbolic: "arccosh arcsinh arctanh cosh sinh tanh",
        _log_beta: "beta betaln binom",
        _log_gamma: "digamma gammaln",
        _logarithm: """
            log log10 log1mexp log1p log2 log_sigmoid logaddexp logaddexp2 softplus xlog1py xlogy
            """,
        _power: "cbrt hypot pow sqrt",
        _scaled_error_function: "erfcx log_ndtr",
        _rounding: "ceil floor rint round_half_away trunc",
        _selection: "clip fmax fmin maximum minimum",
        _trigonometric: "arccos arcsin arctan arctan2 cos deg2rad rad2deg sin tan",
        _zeta: "zeta",
    }
)

INTEGER_FUNCTIONS.late(
    {
        _integer: """
            abs add and_ ceil conj floor fmod gcd int_div invert lcm left_shift mod mul neg or_ pos
            pow reciprocal right_shift sign sqr sub trunc xor
            """,
        _selection: "clip fmax fmin maximum minimum",
    }
)

COMPLEX_FUNCTIONS.late(
    {
        _complex: """
            abs add angle clip conj cos cosh exp exp2 expm1 fmax fmin log log10 log1p log2 maximum
            minimum mul neg pos pow reciprocal rint sign sin sinh sqr sqrt sub tan tanh true_div
            xlog1py xlogy
            """,
    }
)
