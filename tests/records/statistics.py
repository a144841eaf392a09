"""Quantiles, covariances, and reductions that leave NaN out."""

import warnings

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.statistics.quantiles import _METHODS
from phintys.testing import Argument, Example, OpRecord, Tolerance
from phintys.testing.strategies import arrays_for, axes, shapes

REAL = (Argument(dtypes=("bool", "int64", "float32", "float64"), extremes=False),)
ORDERED = (Argument(dtypes=("int64", "float32", "float64"), special=False, extremes=False),)
FINITE = (Argument(dtypes=("int64", "float64"), special=False, extremes=False),)
SUMMED = Tolerance("sums and quotients are taken in another order", ulps=64, normwise=True)


def _quietly(function):
    """Return a function of NumPy that does not warn of NaN."""

    def quiet(*values, **params):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*values, **params)

    return quiet


def _rng(draw):
    return np.random.default_rng(draw(st.integers(0, 2**16)))


def _distinct(draw, shape, x, smooth):
    """Return numbers of which no two are equal, where derivatives are checked."""
    if not smooth or not x.size:
        return x
    return (_rng(draw).permutation(x.size).reshape(shape) * 0.7 - 1).astype(x.dtype)


def _reduced(params=lambda draw: {}, arguments=REAL, min_side=1, several=True):
    """Draw an array and the axes along which it is reduced."""

    def draw_example(draw, smooth):
        shape = draw(shapes(min_dims=1, max_dims=3, max_side=3))
        shape = tuple(max(size, min_side) for size in shape)
        (x,) = arrays_for(draw, arguments, [shape], smooth)
        if x.dtype.kind == "f" and x.size and not smooth and draw(st.booleans()):
            x = np.where(_rng(draw).random(shape) < 0.3, np.nan, x).astype(x.dtype)
        axis = draw(axes(len(shape), several=several))
        keepdims = {"keepdims": draw(st.booleans())} if several else {}
        return Example(
            (_distinct(draw, shape, x, smooth),), {"axis": axis, **keepdims, **params(draw)}
        )

    return draw_example


def _quantiles(draw):
    q = st.sampled_from((0.0, 0.25, 0.3, 0.5, 0.9, 1.0))
    return {
        "q": draw(q | st.lists(q, min_size=1, max_size=2)),
        "method": draw(st.sampled_from(sorted(_METHODS))),
    }


def _as_percent(function):
    return lambda x, q, **params: function(x, np.multiply(100, q).tolist(), **params)


def _ddof(draw):
    return {"ddof": draw(st.integers(0, 1))}


def _observations(draw, smooth):
    shape = (draw(st.integers(2, 3)), draw(st.integers(2, 4)))
    (x,) = arrays_for(draw, FINITE, [shape], smooth)
    params = {"rowvar": draw(st.booleans()), "ddof": draw(st.sampled_from((None, 0, 1)))}
    if draw(st.booleans()):
        count = shape[1] if params["rowvar"] else shape[0]
        params["fweights"] = [1, 2, 1, 3][:count]
        params["aweights"] = [0.5, 1.0, 2.0, 0.1][:count]
    return Example((_distinct(draw, shape, x, smooth),), params)


def _variables(draw, smooth):
    shape = (draw(st.integers(2, 3)), draw(st.integers(2, 4)))
    (x,) = arrays_for(draw, FINITE, [shape], smooth)
    spread = np.arange(shape[1])  # no variable is constant
    return Example(((_distinct(draw, shape, x, smooth) + spread).astype(x.dtype),))


def _replacements(draw, sizes):
    return {"nan": draw(st.sampled_from((0.0, 2.5))), "posinf": draw(st.sampled_from((None, 9.0)))}


def _kept_dtype(function):
    """Return a function whose results have the dtype of the sum, as NumPy's for no NaN."""
    return lambda x, **params: np.asarray(function(x, **params))


def _record(name, build, reference, draw, **facts):
    facts = {"tolerance": SUMMED} | facts
    return OpRecord(
        name=name, build=build, reference=_quietly(_kept_dtype(reference)), draw=draw, **facts
    )


RECORDS = [
    _record("median", pt.median, np.median, _reduced()),
    _record("quantile", pt.quantile, np.quantile, _reduced(_quantiles, ORDERED)),
    _record(
        "percentile",
        _as_percent(pt.percentile),
        _as_percent(np.percentile),
        _reduced(_quantiles, ORDERED),
    ),
    _record("nanmedian", pt.nanmedian, np.nanmedian, _reduced()),
    _record("nanquantile", pt.nanquantile, np.nanquantile, _reduced(_quantiles, ORDERED)),
    _record(
        "nanpercentile",
        _as_percent(pt.nanpercentile),
        _as_percent(np.nanpercentile),
        _reduced(_quantiles, ORDERED),
    ),
    _record("nansum", pt.nansum, np.nansum, _reduced()),
    _record("nanprod", pt.nanprod, np.nanprod, _reduced()),
    _record("nanmax", pt.nanmax, np.nanmax, _reduced()),
    _record("nanmin", pt.nanmin, np.nanmin, _reduced()),
    _record("nanmean", pt.nanmean, np.nanmean, _reduced()),
    _record(
        "nanvar",
        pt.nanvar,
        np.nanvar,
        _reduced(_ddof),
        smooth=lambda x, **params: np.all(np.isfinite(_quietly(np.nanvar)(x, **params))),
    ),
    _record(
        "nanstd",
        pt.nanstd,
        np.nanstd,
        _reduced(_ddof),
        smooth=lambda x, **params: _quietly(np.nanstd)(x, **params).min(initial=9) > 0.1,
    ),
    _record("nancumsum", pt.nancumsum, np.nancumsum, _reduced(several=False)),
    _record("nancumprod", pt.nancumprod, np.nancumprod, _reduced(several=False)),
    _record("nanargmax", pt.nanargmax, np.nanargmax, _reduced(arguments=FINITE, several=False)),
    _record("nanargmin", pt.nanargmin, np.nanargmin, _reduced(arguments=FINITE, several=False)),
    OpRecord(
        name="nan_to_num",
        build=pt.nan_to_num,
        reference=np.nan_to_num,
        arguments=(Argument(dtypes=("bool", "int64", "float32", "complex128")),),
        params=_replacements,
    ),
    _record("cov", pt.cov, np.cov, _observations),
    _record("corrcoef", pt.corrcoef, np.corrcoef, _variables),
]
