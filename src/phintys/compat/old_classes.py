"""Old classes whose instances are those of a class of Phintys.

Scalar functions are rows of one table here, so that a class stands for one row or more.
Constructors return that row, with another rule for the dtype if one is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys._base.errors import ArgumentError
from phintys.graph import Constant, generic
from phintys.graph.type import Generic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "CLASSES",
    "NoneConst",
    "NoneTypeT",
    "SliceConstant",
    "SliceType",
    "StandsFor",
    "as_symbolic_None",
    "core_classes",
    "looked_up_in",
    "make_slice",
    "none_type_t",
    "slicetype",
    "stands_for",
]


def looked_up_in(table: Mapping[str, Any], module: str) -> Callable[[str], Any]:
    """Return ``__getattr__`` of a module whose names are those of a table.

    Examples
    --------
    >>> from phintys.compat.old_classes import looked_up_in
    >>> looked_up_in({"six": 6}, "numbers")("six")
    6
    """

    def look_up(name: str) -> Any:
        if name not in table:
            msg = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return table[name]

    return look_up


class StandsFor(type):
    """Makes ``isinstance(op, Old)`` true for the instances of ``core``, one or more classes."""

    core: type | tuple[type, ...]

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.core)

    def __subclasscheck__(cls, subclass: type) -> bool:
        """Return whether a class is the core, or derived from it: ``singledispatch`` asks."""
        return super().__subclasscheck__(subclass) or issubclass(subclass, cls.core)


def core_classes(classes: Iterable[Any]) -> list[Any]:
    """Return the classes of Phintys in place of those that stand for them; others as they are.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.adapters import DimShuffle
    >>> from phintys.compat.old_classes import core_classes
    >>> core_classes([DimShuffle, pt.Elemwise]) == [pt.DimShuffle, pt.Elemwise]
    True
    """
    found: dict[Any, None] = {}
    for one in classes:
        core = one.core if isinstance(one, StandsFor) else one
        found |= dict.fromkeys(core if isinstance(core, tuple) else [core])
    return list(found)


def stands_for(
    name: str, core: type | tuple[type, ...], make: Callable[..., Any], **members: Any
) -> Any:
    """Return a class that stands for an Op of Phintys, and whose call is ``make``.

    Parameters
    ----------
    name
        The old name.
    core
        The classes whose instances are its; ``()`` if what it computes is not an Op here.
    make
        From the arguments of the old constructor, a function that applies the Op.
    members
        Other attributes of the class.
    """

    def construct(cls: type, *arguments: Any, **options: Any) -> Any:
        return make(*arguments, **options)

    given = {"core": core, "__new__": construct, "__doc__": make.__doc__}
    return StandsFor(name, (), {**given, "__module__": make.__module__, **members})


NoneConst = Constant(generic, None, name="NoneConst")
none_type_t = generic


class _OfNone(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return instance is generic


class NoneTypeT(metaclass=_OfNone):
    """The type of :data:`NoneConst`."""

    def __new__(cls) -> Any:
        """Return the one type."""
        return generic


class SliceType(Generic):
    """The type of slices, which no variable has here: an index holds its slices."""


class SliceConstant:
    """A slice as a constant, which no variable is here."""


def as_symbolic_None(x: None = None, **options: Any) -> Any:
    """Return :data:`NoneConst`."""
    return NoneConst


slicetype = SliceType()


def make_slice(slc: Any, stop: Any = None, step: Any = None) -> slice:
    """Return a slice, to index variables with: one that is given, or from ``slc`` to ``stop``."""
    return slc if isinstance(slc, slice) else slice(slc, stop, step)


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
