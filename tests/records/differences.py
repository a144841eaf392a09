"""Differences and integrals of samples, running sums, and sums of segments."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.testing import Argument, Example, OpRecord, Tolerance
from phintys.testing.strategies import arrays_for, axes, same, shapes

ANGLES = (Argument(dtypes=("int64", "float32", "float64"), interval=(-9, 9), extremes=False),)
NUMBERS = (Argument(dtypes=("int64", "float64"), special=False, extremes=False),)
SUMMED = Tolerance("sums are taken in another order", ulps=64, normwise=True)


def _record(name, build, reference, **facts):
    facts = {"arguments": NUMBERS, "tolerance": SUMMED} | facts
    return OpRecord(name=name, build=build, reference=reference, **facts)


def _ends(draw, sizes):
    return {"to_begin": draw(st.sampled_from((None, 1, [1, 2]))), "to_end": 5}


def _one_axis(draw, sizes):
    return {"axis": draw(axes(len(sizes[0]), several=False, none=False))}


def _angles(draw, smooth):
    shape = draw(shapes(min_dims=1, max_dims=2))
    (p,) = arrays_for(draw, ANGLES, [shape], smooth)
    period = draw(st.sampled_from((4, 5) if p.dtype.kind == "i" else (2 * np.pi, 1.5)))
    params = {"axis": draw(axes(len(shape), several=False, none=False)), "period": period}
    if draw(st.booleans()):
        params["discont"] = period
    return Example((p,), params)


def _started(draw, sizes):
    return _one_axis(draw, sizes) | {"include_initial": draw(st.booleans())}


def _running(total, first):
    """NumPy has the functions of the array API from 2.1 on."""

    def running(x, axis, include_initial):
        found = total(x, axis)
        start = np.full_like(np.take(found, [], axis), first)
        start = np.insert(start, 0, first, axis) if include_initial else start
        return np.concatenate([start, found], axis)

    return running


def _sampled(draw, smooth):
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 4)))
    axis = draw(st.integers(-2, 1))
    places = shape if draw(st.booleans()) else (shape[axis],)
    y, x = arrays_for(draw, NUMBERS * 2, [shape, places], smooth)
    return Example((y, x), {"axis": axis})


def _segments(draw, smooth):
    n = draw(st.integers(0, 4))
    (data,) = arrays_for(draw, NUMBERS, [(n, 2)[: draw(st.integers(1, 2))]], smooth)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    params = {"num_segments": 3} if draw(st.booleans()) else {}
    return Example((data, rng.integers(0, 3, n)), params)


def _segment_sum(data, ids, num_segments=None):
    count = max(ids, default=-1) + 1 if num_segments is None else num_segments
    out = np.zeros((count, *data.shape[1:]), data.dtype)
    np.add.at(out, ids, data)
    return out


RECORDS = [
    _record("ediff1d", pt.ediff1d, np.ediff1d, params=_ends, shapes=same(max_dims=2)),
    _record(
        "trapezoid",
        lambda y, x, axis: pt.trapezoid(y, x, axis=axis),
        lambda y, x, axis: np.asarray(np.trapezoid(y.astype("float64"), x, axis=axis)),
        draw=_sampled,
    ),
    _record(
        "trapezoid of even steps",
        lambda y, axis: pt.trapezoid(y, dx=0.5, axis=axis),
        lambda y, axis: np.asarray(np.trapezoid(y, dx=0.5, axis=axis)),
        params=_one_axis,
        shapes=same(min_dims=1, max_dims=2),
    ),
    *(
        _record(
            name,
            getattr(pt, name),
            _running(total, first),
            params=_started,
            shapes=same(min_dims=1, max_dims=2),
        )
        for name, total, first in (
            ("cumulative_sum", np.cumsum, 0),
            ("cumulative_prod", np.cumprod, 1),
        )
    ),
    _record("unwrap", pt.unwrap, np.unwrap, draw=_angles),
    _record("segment_sum", pt.segment_sum, _segment_sum, draw=_segments, differentiable=(0,)),
]
