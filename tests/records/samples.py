"""Samples: interpolation, differences, convolution, running extremes, segments, polynomials."""

from functools import partial

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.testing import Argument, Example, OpRecord, Tolerance
from phintys.testing.strategies import arrays_for, axes, same

REAL = (Argument(dtypes=("int64", "float64"), special=False, extremes=False),)
NUMBERS = (Argument(dtypes=("int64", "float64", "complex128"), special=False, extremes=False),)
SUMMED = Tolerance("sums are taken in another order", ulps=2**8, normwise=True)


def _record(name, build, reference, **facts):
    facts = {"arguments": REAL, "tolerance": SUMMED} | facts
    return OpRecord(name=name, build=build, reference=reference, **facts)


def _lengths(*most):
    """Draw vectors of these lengths at most."""

    def draw_vectors(draw, smooth):
        shapes = [(draw(st.integers(1, n)),) for n in most]
        return Example(arrays_for(draw, NUMBERS * len(most), shapes, smooth))

    return draw_vectors


def _samples(draw, smooth):
    """Draw places that are apart, and samples there."""
    n = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    xp = np.arange(n) + rng.uniform(0.1, 0.9, n)
    (x, fp) = arrays_for(draw, REAL * 2, [(3,), (n,)], smooth)
    outside = {"left": -1.0, "right": 7.0} if draw(st.booleans()) else {}
    params = {"period": 10.0} if draw(st.booleans()) else outside
    return Example((x.astype("float64") + 0.0123, xp, fp), params)


def _grids(draw, smooth):
    shape = (draw(st.integers(3, 4)), 3)
    (f,) = arrays_for(draw, REAL, [shape], smooth)
    params = {"axis": draw(st.sampled_from((0, 1, -1))), "edge_order": draw(st.integers(1, 2))}
    n = shape[params["axis"]]
    uneven = np.cumsum(np.arange(1.0, n + 1))
    return Example((f, draw(st.sampled_from((np.array(0.5), uneven)))), params)


def _one_axis(draw, sizes):
    return {"axis": draw(axes(len(sizes[0]), several=False))}


def _distinct(x):
    """Return whether no two elements are close, so that extremes do not change."""
    return x.size < 2 or np.min(np.diff(np.sort(x, axis=None))) > 1e-3


def _running(ufunc):
    return lambda x, axis: ufunc.accumulate(x.ravel() if axis is None else x, axis or 0)


def _places_so_far(place, x):
    return np.array([place(x[: end + 1]) for end in range(len(x))], np.int64)


def _segments(draw, smooth):
    n = draw(st.integers(3 if smooth else 0, 4))  # a segment without rows is infinite
    (data,) = arrays_for(draw, REAL, [(n, 2)[: draw(st.integers(1, 2))]], smooth)
    apart = np.arange(n).reshape((-1,) + (1,) * (data.ndim - 1)) * 10.0
    ids = np.random.default_rng(draw(st.integers(0, 2**16))).integers(0, 3, n)
    if smooth:
        ids[:3] = [2, 0, 1]
    return Example((data + apart, ids))


def _segmented(ufunc, start):
    def reference(data, ids):
        out = np.full((3, *data.shape[1:]), start, data.dtype)
        ufunc.at(out, ids, data)
        return out

    return reference


def _dividends(draw, smooth):
    u, v = arrays_for(draw, REAL * 2, [(4,), (2,)], smooth)
    return Example((u, v + np.array([20.0, 0.0])))


RECORDS = [
    _record("interp", pt.interp, np.interp, draw=_samples),
    _record(
        "gradient",
        pt.gradient,
        lambda f, h, **rest: np.gradient(f.astype("float64"), h, **rest),
        draw=_grids,
    ),
    *(
        _record(
            f"{name} {mode}",
            partial(ours, mode=mode),
            partial(numpys, mode=mode),
            draw=_lengths(4, 4),
            ops=(pt.Convolve,) if (name, mode) == ("convolve", "full") else (),
        )
        for name, ours, numpys in (
            ("convolve", pt.convolve, np.convolve),
            ("correlate", pt.correlate, np.correlate),
        )
        for mode in ("full", "same", "valid")
    ),
    *(
        _record(
            name,
            getattr(pt, name),
            _running(ufunc),
            arguments=(Argument(dtypes=("int64", "float64")),),
            params=_one_axis,
            shapes=same(min_dims=1, max_dims=2),
            smooth=lambda x, **_: _distinct(x),
            ops=(pt.RunningExtreme,),
        )
        for name, ufunc in (("cummax", np.maximum), ("cummin", np.minimum))
    ),
    *(
        _record(
            f"places of running extremes, {mode}",
            pt.RunningArgExtreme(0, mode),
            partial(_places_so_far, place),
            arguments=(Argument(dtypes=("bool", "int64", "float64")),),
            shapes=same(min_dims=1, max_dims=1),
            ops=(pt.RunningArgExtreme,),
        )
        for mode, place in (("max", np.argmax), ("min", np.argmin))
    ),
    *(
        _record(
            name,
            partial(function, num_segments=3),
            _segmented(ufunc, start),
            draw=_segments,
            differentiable=(0,),
            ops=(pt.SegmentReduce,),
        )
        for name, function, ufunc, start in (
            ("segment_max", pt.segment_max, np.maximum, -np.inf),
            ("segment_min", pt.segment_min, np.minimum, np.inf),
            ("segment_prod", pt.segment_prod, np.multiply, 1),
        )
    ),
    _record("polymul", pt.polymul, np.convolve, draw=_lengths(3, 3)),
    _record(
        "polydiv",
        lambda u, v: pt.polydiv(pt.specify_shape(u, 4), pt.specify_shape(v, 2)),
        np.polydiv,
        draw=_dividends,
    ),
    _record(
        "poly",
        lambda x: pt.poly(pt.specify_shape(x, 3)),
        lambda x: np.poly(x.astype("float64")),
        shapes=same(min_dims=1, max_dims=1, min_side=3, max_side=3),
    ),
    _record(
        "apply_along_axis",
        lambda x: pt.apply_along_axis(lambda v: pt.stack([v.sum(), v[0]]), 0, x),
        lambda x: np.stack([x.sum(0), x[0]]),
        shapes=same(min_dims=2, max_dims=2, min_side=1),
    ),
    _record(
        "apply_over_axes",
        lambda x: pt.apply_over_axes(pt.sum, x, [0, 1]),
        lambda x: x.sum(keepdims=True),
        shapes=same(min_dims=2, max_dims=2),
    ),
]
