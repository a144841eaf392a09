"""Reductions, statistics, norms, and where extremes are."""

import numpy as np
from hypothesis import strategies as st

import phintys.scalar as ps
import phintys.tensor as pt
from phintys.tensor.type import DTYPES
from phintys.testing import EXACT, SUMMED, Argument, OpRecord, Tolerance
from phintys.testing.strategies import axes, same

NUMBERS = tuple(d for d in DTYPES if d != "bool")
DISCRETE = tuple(d for d in DTYPES if np.dtype(d).kind in "biu")
FLOATING = tuple(d for d in DTYPES if np.dtype(d).kind in "fc")

MULTIPLIED = Tolerance("products may be taken in another order", ulps=64)
SPREAD = Tolerance(
    "squares of rounded differences, added in another order", ulps=256, normwise=True
)


def _axis(draw, shapes):
    return {"axis": draw(axes(len(shapes[0]))), "keepdims": draw(st.booleans())}


def _axis_and_dtype(draw, shapes):
    dtype = draw(st.sampled_from(("float32", "float64", "complex64", "complex128")))
    return _axis(draw, shapes) | {"dtype": dtype}


def _axis_and_ddof(draw, shapes):
    return _axis(draw, shapes) | {"ddof": draw(st.sampled_from((0, 1, 2)))}


def _in_float32(function):
    """Add and multiply float16 in float32, as we always do and NumPy along some axes."""

    def reference(x, dtype=None, **params):
        if x.dtype == np.float16 and dtype is None:
            return function(x, dtype=np.float32, **params).astype(np.float16)
        return function(x, dtype=dtype, **params)

    return reference


def _several(x, axis=None, keepdims=False, **params):
    """Return whether more than one element goes into each result."""
    ndim = x.ndim
    reduced = range(ndim) if axis is None else np.atleast_1d(np.array(axis, int))
    return bool(x.size) and np.prod([x.shape[dim] for dim in reduced], dtype=int) > 1


def _spread(x, ddof, **params):
    """Return whether the elements of each result differ: the root is not smooth at 0."""
    return ddof == 0 and _several(x, **params) and bool(np.all(np.std(x, **params) > 1e-2))


def _reduction(name, reference, ops=(pt.Reduce,), **facts):
    facts = {
        "build": getattr(pt, name, None),
        "arguments": (Argument(),),
        "params": _axis,
        "tolerance": EXACT,
    } | facts
    return OpRecord(name=name, reference=reference, ops=ops, **facts)


# Not at infinities, where the order of additions decides between infinity and NaN.
FINITE = (Argument(dtypes=NUMBERS, extremes=False),)
# Nor where it decides between 0 and what overflows.
MODERATE = (Argument(extremes=False),)
NONEMPTY = {"shapes": same(min_side=1)}


def _arg(function):
    """NumPy's search along several axes at once."""

    def reference(x, axis=None, keepdims=False):
        if axis is None or not isinstance(axis, tuple):
            return np.asarray(function(x, axis=axis, keepdims=keepdims), np.int64)
        axis = tuple(sorted(dim % x.ndim for dim in axis))
        kept = [dim for dim in range(x.ndim) if dim not in axis]
        flat = x.transpose(*kept, *axis).reshape(*(x.shape[dim] for dim in kept), -1)
        found = function(flat, axis=-1)
        return np.asarray(np.expand_dims(found, axis) if keepdims else found, np.int64)

    return reference


def _bits(name, row):
    return OpRecord(
        name=f"Reduce {name}",
        build=lambda x, axis: pt.Reduce(row, axis)(x),
        reference=lambda x, axis: np.asarray(row.ufunc.reduce(x, axis=axis)),
        arguments=(Argument(dtypes=DISCRETE),),
        params=lambda draw, shapes: {"axis": draw(_from_the_front(len(shapes[0])))},
        ops=(pt.Reduce,),
    )


def _from_the_front(ndim):
    several = st.lists(st.integers(0, ndim - 1), unique=True) if ndim else st.just([])
    return several.map(sorted).map(tuple)


def _average(x, weights, axis, keepdims):
    total = np.sum(x * weights, axis=axis, keepdims=keepdims)
    return total / np.sum(np.broadcast_to(weights, x.shape), axis=axis, keepdims=keepdims)


def _norm(order):
    def build(x, axis, keepdims):
        return pt.linalg.vector_norm(x, order, axis, keepdims)

    def reference(x, axis, keepdims):
        wide = x.astype("float64") if x.dtype.kind in "biu" else x
        result = np.linalg.vector_norm(wide, ord=order, axis=axis, keepdims=keepdims)
        return np.asarray(result, wide.real.dtype)

    return OpRecord(
        name=f"vector_norm {order}",
        build=build,
        reference=reference,
        arguments=(Argument(interval=(0.5, 3.0), extremes=False, special=False),),
        params=_axis,
        shapes=same(min_side=1),
        ops=(pt.Reduce,),
        tolerance=Tolerance("powers and roots, added in another order", ulps=256, normwise=True),
        differentiable=() if order == 0 else None,
    )


def _matrix_norm(order):
    function = pt.linalg.norm if order == 1 else pt.linalg.matrix_norm
    return OpRecord(
        name=f"matrix_norm {order}",
        build=lambda x, keepdims: function(x, order, (-2, -1), keepdims),
        reference=lambda x, keepdims: np.asarray(
            np.linalg.norm(x, order, (-2, -1), keepdims), x.real.dtype
        ),
        arguments=(Argument(dtypes=("float32", "float64", "complex128"), special=False),),
        shapes=same(min_dims=2, max_dims=3, min_side=1),
        params=lambda draw, shapes: {"keepdims": draw(st.booleans())},
        ops=(pt.Reduce,),
        tolerance=SUMMED,
    )


def _extreme_along(which, function):
    return OpRecord(
        name=f"ArgExtremeAlong {which}",
        build=getattr(pt, f"arg{which}"),
        reference=lambda x, axis: function(x, int(axis)),
        arguments=(Argument(dtypes=("int8", "float64")), Argument(dtypes=("int64",))),
        draw=_along,
        ops=(pt.ArgExtremeAlong,),
        differentiable=(0,),
    )


def _along(draw, smooth):
    from phintys.testing import Example
    from phintys.testing.strategies import arrays, shapes

    dtypes = ("float64",) if smooth else ("int8", "float32", "float64")
    x = draw(arrays(dtypes, shapes(min_dims=1, max_dims=3, min_side=1)))
    return Example((x, np.array(draw(st.integers(-x.ndim, x.ndim - 1)))))


RECORDS = [
    _reduction("sum", _in_float32(np.sum), tolerance=SUMMED),
    _reduction("prod", _in_float32(np.prod), arguments=MODERATE, tolerance=MULTIPLIED),
    _reduction("max", np.max, **NONEMPTY),
    _reduction("min", np.min, **NONEMPTY),
    _reduction("all", np.all),
    _reduction("any", np.any),
    _reduction("ptp", np.ptp, arguments=(Argument(dtypes=NUMBERS),), **NONEMPTY),
    OpRecord(
        name="sum dtype",
        build=pt.sum,
        reference=np.sum,
        arguments=(Argument(dtypes=tuple(d for d in DTYPES if d[0] != "c"), extremes=False),),
        params=_axis_and_dtype,
        ops=(pt.Reduce,),
        tolerance=SUMMED,
    ),
    OpRecord(
        name="sum acc_dtype",
        build=lambda x, axis, keepdims: pt.sum(x, axis, "float32", keepdims, "float64"),
        reference=lambda x, axis, keepdims: np.asarray(
            np.sum(x, axis, "float64", keepdims=keepdims), "float32"
        ),
        arguments=(Argument(dtypes=("int8", "float16", "float32", "float64"), extremes=False),),
        params=_axis,
        ops=(pt.Reduce,),
        tolerance=SUMMED,
    ),
    _bits("and", ps.and_),
    _bits("or", ps.or_),
    _bits("xor", ps.xor),
    _reduction(
        "mean",
        np.mean,
        tolerance=SUMMED,
        arguments=(Argument(extremes=False),),
        smooth=lambda x, **params: x.size > 0,
    ),
    _reduction(
        "var",
        np.var,
        params=_axis_and_ddof,
        tolerance=SPREAD,
        arguments=(Argument(extremes=False),),
        smooth=lambda x, ddof, **params: ddof == 0 and _several(x, **params),
    ),
    _reduction(
        "std",
        np.std,
        params=_axis_and_ddof,
        tolerance=Tolerance("the root of a rounded variance", ulps=256, normwise=True),
        arguments=(Argument(extremes=False, special=False),),
        smooth=_spread,
    ),
    OpRecord(
        name="average",
        build=lambda x, weights, axis, keepdims: pt.average(x, axis, weights, keepdims),
        reference=_average,
        arguments=(
            Argument(dtypes=FLOATING, extremes=False),
            Argument(dtypes=FLOATING, interval=(0.5, 3.0), special=False),
        ),
        params=_axis,
        ops=(pt.Reduce,),
        mixed=False,
        smooth=lambda x, weights, **params: x.size > 0,
        tolerance=SUMMED,
    ),
    _reduction("argmax", _arg(np.argmax), ops=(pt.Argmax,), **NONEMPTY),
    _reduction("argmin", _arg(np.argmin), ops=(pt.Argmin,), **NONEMPTY),
    _reduction(
        "max_and_argmax",
        lambda x, **params: [np.max(x, **params), _arg(np.argmax)(x, **params)],
        ops=(pt.Reduce, pt.Argmax),
        **NONEMPTY,
    ),
    _extreme_along("max", np.argmax),
    _extreme_along("min", np.argmin),
    *(_norm(order) for order in (0, 1, 2, 3, 0.5, -1, np.inf, -np.inf)),
    *(_matrix_norm(order) for order in ("fro", 1, -1, np.inf, -np.inf)),
]
