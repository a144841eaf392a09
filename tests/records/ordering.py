"""Sorting, running sums and products, differences, and where something holds."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.cumulative import CumOp, LinearRecurrence
from phintys.tensor.sorting import RowOrder
from phintys.tensor.type import DTYPES
from phintys.testing import EXACT, SUMMED, Argument, OpRecord, Tolerance
from phintys.testing.strategies import axes, same

ANYTHING = (Argument(),)
NUMBERS = tuple(d for d in DTYPES if d != "bool")
AT_LEAST_1D = same(min_dims=1, max_dims=3)
MULTIPLIED = Tolerance("products may be taken in another order", ulps=64)


def _axis_or_none(draw, sizes):
    return {"axis": draw(axes(len(sizes[0]), several=False))}


def _axis(draw, sizes):
    return {"axis": draw(axes(len(sizes[0]), several=False, none=False))}


def _axis_and_kind(draw, sizes):
    return _axis_or_none(draw, sizes) | {
        "kind": draw(st.sampled_from((None, "stable", "heapsort")))
    }


def _axis_and_n(draw, sizes):
    return _axis(draw, sizes) | {"n": draw(st.integers(0, 3))}


def _directions(draw, sizes):
    return _axis(draw, sizes) | {
        "exclusive": draw(st.booleans()),
        "reverse": draw(st.booleans()),
    }


def _cum_op(mode):
    def build(x, axis, exclusive, reverse):
        return CumOp(axis % x.ndim, mode, exclusive, reverse)(x)

    return build


def _cumulated(ufunc, identity):
    def reference(x, axis, exclusive, reverse):
        x = np.flip(x, axis) if reverse else x
        result = ufunc.accumulate(x, axis, x.dtype)
        if exclusive:
            result = np.roll(result, 1, axis)
            if x.shape[axis]:
                np.moveaxis(result, axis, 0)[0] = identity
        return np.flip(result, axis) if reverse else result

    return reference


def _recurrence_params(draw, sizes):
    return _axis(draw, sizes) | {"reverse": draw(st.booleans())}


def _recurrence(a, b, axis, reverse):
    """u_0 = 0, u_{i+1} = a_i u_i + b_i."""
    dtype = np.result_type(a, b)
    a, b = (np.moveaxis(v.astype(dtype), axis, 0) for v in (a, b))
    if reverse:
        a, b = a[::-1], b[::-1]
    u = np.zeros(a.shape, dtype)
    for i in range(len(u) - 1):
        u[i + 1] = a[i] * u[i] + b[i]
    return np.moveaxis(u[::-1] if reverse else u, 0, axis)


def _row_order(x):
    """Sort by one column after the other, the first one last."""
    order = np.arange(len(x))
    for column in x.T[::-1]:
        order = order[np.argsort(column[order], stable=True)]
    return order


def _record(name, build, reference, params, **facts):
    facts = {"arguments": ANYTHING, "shapes": AT_LEAST_1D} | facts
    return OpRecord(name=name, build=build, reference=reference, params=params, **facts)


RECORDS = [
    _record("sort", pt.sort, np.sort, _axis_and_kind, ops=(pt.SortOp,)),
    _record(
        "argsort",
        lambda x, axis: pt.argsort(x, axis, stable=True),
        lambda x, axis: np.argsort(x, axis, stable=True),
        _axis_or_none,
        ops=(pt.ArgSortOp,),
    ),
    _record(
        "RowOrder",
        RowOrder(),
        _row_order,
        None,
        arguments=(Argument(interval=(0, 3)),),
        shapes=same(min_dims=2, max_dims=2),
        ops=(RowOrder,),
    ),
    _record(
        "cumsum",
        pt.cumsum,
        np.cumsum,
        _axis_or_none,
        arguments=(Argument(extremes=False),),
        ops=(pt.CumOp,),
        tolerance=SUMMED,
    ),
    _record(
        "cumprod", pt.cumprod, np.cumprod, _axis_or_none, ops=(pt.CumOp,), tolerance=MULTIPLIED
    ),
    _record(
        "CumOp add",
        _cum_op("add"),
        _cumulated(np.add, 0),
        _directions,
        arguments=(Argument(dtypes=NUMBERS, extremes=False),),
        ops=(CumOp,),
        tolerance=SUMMED,
    ),
    _record(
        "CumOp mul",
        _cum_op("mul"),
        _cumulated(np.multiply, 1),
        _directions,
        arguments=(Argument(dtypes=NUMBERS),),
        ops=(CumOp,),
        tolerance=MULTIPLIED,
    ),
    _record(
        "LinearRecurrence",
        lambda a, b, axis, reverse: LinearRecurrence(axis % a.ndim, reverse)(a, b),
        _recurrence,
        _recurrence_params,
        arguments=(Argument(dtypes=NUMBERS, interval=(-1.5, 1.5), extremes=False),) * 2,
        shapes=same(2, min_dims=1, max_dims=3),
        ops=(LinearRecurrence,),
        tolerance=SUMMED,
    ),
    _record("diff", pt.diff, np.diff, _axis_and_n, tolerance=SUMMED),
    _record("nonzero", pt.nonzero, np.nonzero, None, ops=(pt.Nonzero,)),
    _record("flatnonzero", pt.flatnonzero, np.flatnonzero, None, ops=(pt.Nonzero,)),
    _record("nonzero_values", pt.nonzero_values, lambda x: x[np.nonzero(x)], None),
    _record(
        "nonzero as a matrix",
        lambda x: pt.nonzero(x, return_matrix=True),
        lambda x: np.stack(np.nonzero(x)),
        None,
        ops=(pt.Nonzero,),
        tolerance=EXACT,
    ),
]
