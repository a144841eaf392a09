"""Classes of scalar functions: ``isinstance(op, scalar.Exp)`` asks which function it is.

Here the functions are rows of one table, so that a class stands for one row or more. Constructors
return that row, with another rule for the dtype if one is given.
"""

from __future__ import annotations

from typing import Any

import phintys.scalar as ps
from phintys._base.errors import ArgumentError

__all__ = ["CLASSES"]

CLASSES = {
    "AND": "and_", "Abs": "abs", "Add": "add", "ArcCos": "arccos", "ArcCosh": "arccosh",
    "ArcSin": "arcsin", "ArcSinh": "arcsinh", "ArcTan": "arctan", "ArcTan2": "arctan2",
    "ArcTanh": "arctanh", "BetaInc": "betainc", "BetaIncInv": "betaincinv", "Ceil": "ceil",
    "Clip": "clip", "Complex": "complex", "Conj": "conj", "Cos": "cos", "Cosh": "cosh",
    "Deg2Rad": "deg2rad", "EQ": "eq", "Erf": "erf", "Erfc": "erfc", "Erfcinv": "erfcinv",
    "Erfcx": "erfcx", "Erfinv": "erfinv", "Exp": "exp", "Exp2": "exp2", "Expm1": "expm1",
    "Floor": "floor", "GE": "ge", "GT": "gt", "Gamma": "gamma", "GammaInc": "gammainc",
    "GammaIncC": "gammaincc", "GammaIncCInv": "gammainccinv", "GammaIncInv": "gammaincinv",
    "GammaLn": "gammaln", "Hyp2F1": "hyp2f1", "I0": "i0", "I1": "i1", "Identity": "identity",
    "Imag": "imag", "IntDiv": "int_div", "Invert": "invert", "IsInf": "isinf", "IsNan": "isnan",
    "Ive": "ive", "J0": "j0", "J1": "j1", "Jv": "jv", "Kve": "kve", "LE": "le", "LT": "lt",
    "Log": "log", "Log10": "log10", "Log1mexp": "log1mexp", "Log1p": "log1p", "Log2": "log2",
    "LogAddExp": "logaddexp", "Maximum": "maximum", "Minimum": "minimum", "Mod": "mod",
    "Mul": "mul", "NEQ": "ne", "NdtriExp": "ndtri_exp", "Neg": "neg", "OR": "or_",
    "Owens_t": "owens_t", "PolyGamma": "polygamma", "Pow": "pow", "Psi": "digamma",
    "Rad2Deg": "rad2deg", "Real": "real", "Reciprocal": "reciprocal", "Inv": "reciprocal",
    "RoundHalfAwayFromZero": "round_half_away", "RoundHalfToEven": "rint",
    "ScalarMaximum": "maximum", "ScalarMinimum": "minimum", "ScalarSigmoid": "sigmoid",
    "ScalarSoftplus": "softplus", "Second": "second", "Sgn": "sign", "Sigmoid": "sigmoid",
    "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Softplus": "softplus", "Sqr": "sqr",
    "Sqrt": "sqrt", "Sub": "sub", "Switch": "switch", "Tan": "tan", "Tanh": "tanh",
    "TriGamma": "trigamma", "TrueDiv": "true_div", "Trunc": "trunc", "XLog1PY": "xlog1py",
    "XLogX": "xlogx", "XLogY": "xlogy", "XOR": "xor",
}  # fmt: skip
"""The class in the old packages -> the function in :mod:`phintys.scalar`."""


class _OfOneFunction(type):
    """A class of which one scalar function is the only instance."""

    core: Any

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, ps.ScalarOp) and bool(instance == cls.core)

    def __call__(cls, output_types_preference: Any = None, name: str | None = None) -> Any:
        """Return the scalar function."""
        if output_types_preference is not None:
            msg = (
                f"{cls.__name__}: the dtype of a function follows from its operands. Write "
                f"scalar.cast({cls.core}(x), dtype), or cast the result of the tensor function."
            )
            raise ArgumentError(msg)
        return cls.core


def __getattr__(name: str) -> Any:
    if name not in CLASSES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    core = getattr(ps, CLASSES[name])
    found = _OfOneFunction(name, (), {"core": core, "__doc__": core.doc, "__module__": __name__})
    globals()[name] = found
    return found
