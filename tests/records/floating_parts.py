"""Parts of floating-point numbers, special functions made of others, and splits along axes."""

import numpy as np
import scipy.special

import phintys.tensor as pt
from phintys.testing import Argument, OpRecord, Tolerance
from phintys.testing.strategies import broadcastable, same

FLOATS = (Argument(dtypes=("float32", "float64")),)
TWO = (Argument(dtypes=("float64",), interval=(2.6, 5.0), special=False, extremes=False),) * 2
MATRIX = same(min_dims=2, max_dims=2, min_side=2, max_side=2)
ROUNDED = Tolerance("special functions differ in the last digits", ulps=64)


def _record(name, build, reference, **facts):
    return OpRecord(name=name, build=build, reference=reference, **{"arguments": FLOATS} | facts)


def _special(name, build, reference, count=1, **facts):
    drawn = {"arguments": TWO[:count], "shapes": broadcastable(count), "broadcasts": True}
    facts = drawn | {"tolerance": ROUNDED} | facts
    return _record(name, build, reference, **facts)


RECORDS = [
    _record("isposinf", pt.isposinf, lambda x: np.asarray(np.isposinf(x))),
    _record("isneginf", pt.isneginf, lambda x: np.asarray(np.isneginf(x))),
    _record("modf", pt.modf, np.modf, differentiable=()),
    _record("frexp", pt.frexp, np.frexp, differentiable=()),
    _special("float_power", pt.float_power, np.float_power, 2),
    _special("comb", pt.comb, scipy.special.comb, 2, differentiable=()),
    _special("perm", pt.perm, scipy.special.perm, 2, differentiable=()),
    _special(
        "multigammaln",
        lambda x: pt.multigammaln(x, 3),
        lambda x: np.asarray(scipy.special.multigammaln(x, 3)),
    ),
    _special("sici", pt.sici, scipy.special.sici),
    _special("fresnel", pt.fresnel, scipy.special.fresnel),
    _special("kn", lambda x: pt.kn(2, x), lambda x: scipy.special.kn(2, x)),
    _special(
        "gammal",
        lambda x: pt.gammal(2.0, x),
        lambda x: scipy.special.gammainc(2.0, x) * scipy.special.gamma(2.0),
    ),
    _special(
        "gammau",
        lambda x: pt.gammau(2.0, x),
        lambda x: scipy.special.gammaincc(2.0, x) * scipy.special.gamma(2.0),
    ),
    _special("chi2sf", lambda x: pt.chi2sf(x, 3), lambda x: scipy.special.chdtrc(3, x)),
    _record("hsplit", lambda x: pt.hsplit(x, [1]), lambda x: np.hsplit(x, [1]), shapes=MATRIX),
    _record("vsplit", lambda x: pt.vsplit(x, 2), lambda x: np.vsplit(x, 2), shapes=MATRIX),
    _record(
        "dsplit",
        lambda x: pt.dsplit(x, [1]),
        lambda x: np.dsplit(x, [1]),
        shapes=same(min_dims=3, max_dims=3, min_side=1),
    ),
    _record("rollaxis", lambda x: pt.rollaxis(x, 1), lambda x: np.rollaxis(x, 1), shapes=MATRIX),
]
