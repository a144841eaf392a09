"""Searching in sorted vectors, and counting numbers, elements and bins."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.testing import Argument, Example, OpRecord, Tolerance
from phintys.testing.strategies import arrays_for, axes, shapes

REAL = (Argument(dtypes=("bool", "int64", "float32", "float64"), extremes=False),)
FINITE = (Argument(dtypes=("int64", "float64"), special=False, extremes=False),)
SMALL = (Argument(dtypes=("int8", "int64", "uint64"), interval=(0, 6), extremes=False),)
WEIGHTS = (Argument(dtypes=("int64", "float64"), special=False, extremes=False),)
ADDED = Tolerance("sums and quotients are taken in another order", ulps=64, normwise=True)


def _searched(draw, smooth):
    (x,) = arrays_for(draw, REAL, [draw(shapes(min_dims=1, max_dims=1))], smooth)
    (v,) = arrays_for(draw, REAL, [draw(shapes(max_dims=2))], smooth)
    params = {"side": draw(st.sampled_from(("left", "right")))}
    if not draw(st.booleans()):
        return Example((np.sort(x), v), params)
    return Example((x, v, np.argsort(x)), params)


def _search(function):
    return lambda x, v, sorter=None, side="left": function(x, v, side, sorter)


def _digitized(draw, smooth):
    (x,) = arrays_for(draw, FINITE, [draw(shapes(max_dims=2))], smooth)
    (bins,) = arrays_for(draw, FINITE, [draw(shapes(min_dims=1, max_dims=1))], smooth)
    bins = np.sort(bins)[:: draw(st.sampled_from((1, -1)))]
    return Example((x, bins), {"right": draw(st.booleans())})


def _counted(draw, smooth):
    shape = draw(shapes(min_dims=1, max_dims=1))
    (x,) = arrays_for(draw, SMALL, [shape], False)
    # NumPy counts no uint64, which it cannot cast safely.
    x = np.abs(x).astype("int64" if x.dtype == "uint64" else x.dtype)
    weights = arrays_for(draw, WEIGHTS, [shape], smooth) if draw(st.booleans()) else []
    return Example((x, *weights), {"minlength": draw(st.integers(0, 9))})


def _bincount(x, weights=None, minlength=0):
    """Count with NumPy, whose result for no numbers has no dtype of weights."""
    counts = np.bincount(x, weights, minlength)
    return counts if weights is None else counts.astype("float64")


def _axes(draw, sizes):
    return {"axis": draw(axes(len(sizes[0]))), "keepdims": draw(st.booleans())}


def _pair(draw, smooth):
    shape = draw(shapes(max_dims=2, max_side=3))
    (a,) = arrays_for(draw, REAL, [shape], smooth)
    b = draw(st.sampled_from((a.copy(), a[None], a[..., :1], np.zeros_like(a)))) if a.ndim else a
    return Example((a, b))


def _binned(draw, smooth):
    (a,) = arrays_for(draw, FINITE, [draw(shapes(max_dims=2))], smooth)
    params = {
        "bins": draw(st.sampled_from((1, 3, [-1.0, 0.0, 0.5, 2.0], [1, 2]))),
        "range": draw(st.sampled_from((None, (-1.0, 2.0), (0, 0)))),
    }
    if not a.size and params["range"] is None:
        params["range"] = (0, 1)
    return a, params


def _edges(draw, smooth):
    a, params = _binned(draw, smooth)
    return Example((a,), params)


def _histogram(draw, smooth):
    a, params = _binned(draw, smooth)
    weights = arrays_for(draw, WEIGHTS, [a.shape], smooth) if draw(st.booleans()) else []
    return Example((a, *weights), params)


def _counts(function):
    """Return the counts of a histogram, whose edges have a record of their own."""
    return lambda a, weights=None, **params: function(a, weights=weights, **params)[0]


def _points(dims):
    """Draw points and the bins of each dimension."""

    def draw_example(draw, smooth):
        count = draw(st.integers(0, 6))
        points = arrays_for(draw, FINITE * dims, [(count,)] * dims, smooth)
        weights = arrays_for(draw, WEIGHTS, [(count,)], smooth) if draw(st.booleans()) else []
        given = st.sampled_from((1, 3, [-1.0, 0.0, 0.5, 2.0], [-2, 1, 3]))
        params = {
            "bins": draw(st.integers(1, 3)) if draw(st.booleans()) else [draw(given)] * dims,
            "range": draw(st.sampled_from((None, [(-1.0, 2.0)] * dims)))
            if count
            else [(0, 1)] * dims,
        }
        return Example((*points, *weights), params)

    return draw_example


def _histogram2d(function):
    return lambda x, y, weights=None, **params: function(x, y, weights=weights, **params)


def _histogramdd(function, stack):
    def counts_and_edges(x, y, z, weights=None, **params):
        counts, edges = function(stack([x, y, z], axis=1), weights=weights, **params)
        return (counts, *edges)

    return counts_and_edges


def _array_of(function):
    return lambda *values, **params: np.asarray(function(*values, **params))


def _record(name, build, reference, draw, **facts):
    return OpRecord(name=name, build=build, reference=reference, draw=draw, **facts)


RECORDS = [
    _record(
        "searchsorted",
        _search(pt.searchsorted),
        _array_of(_search(np.searchsorted)),
        _searched,
        ops=(pt.SearchSorted,),
    ),
    _record("digitize", pt.digitize, _array_of(np.digitize), _digitized),
    _record("bincount", pt.bincount, _bincount, _counted, tolerance=ADDED),
    OpRecord(
        name="count_nonzero",
        build=pt.count_nonzero,
        reference=_array_of(np.count_nonzero),
        arguments=(Argument(dtypes=("bool", "int64", "float32", "complex128")),),
        params=_axes,
    ),
    _record("array_equal", pt.array_equal, _array_of(np.array_equal), _pair),
    _record("array_equiv", pt.array_equiv, _array_of(np.array_equiv), _pair),
    _record(
        "histogram_bin_edges",
        pt.histogram_bin_edges,
        np.histogram_bin_edges,
        _edges,
        tolerance=ADDED,
    ),
    _record("histogram", _counts(pt.histogram), _counts(np.histogram), _histogram, tolerance=ADDED),
    _record(
        "histogram2d",
        _histogram2d(pt.histogram2d),
        _histogram2d(np.histogram2d),
        _points(2),
        tolerance=ADDED,
    ),
    _record(
        "histogramdd",
        _histogramdd(pt.histogramdd, pt.stack),
        _histogramdd(np.histogramdd, np.stack),
        _points(3),
        tolerance=ADDED,
    ),
]
