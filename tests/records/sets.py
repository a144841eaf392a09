"""Arrays as sets, the largest elements, partitions and orders by several keys."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.partitioning import ArgPartitionOp, PartitionOp
from phintys.testing import Argument, Example, OpRecord
from phintys.testing.strategies import arrays_for, axes, same, shapes

REAL = (Argument(dtypes=("bool", "int64", "float32", "float64"), extremes=False),)
FEW = (Argument(dtypes=("int64", "uint8", "float64"), interval=(0, 4), extremes=False),)

MODES = ("largest", "smallest")


def _rng(draw):
    return np.random.default_rng(draw(st.integers(0, 2**16)))


def _few(draw, shape, smooth):
    """Draw elements of which some are equal, and some NaN, where no derivatives are checked."""
    (x,) = arrays_for(draw, FEW, [shape], smooth)
    if smooth:
        return (_rng(draw).permutation(x.size).reshape(shape) * 0.7 - 1).astype(x.dtype)
    return x if x.dtype.kind == "f" and draw(st.booleans()) else np.nan_to_num(np.round(x))


def _one(draw, smooth):
    names = ("return_index", "return_inverse", "return_counts")
    params = {name: draw(st.booleans()) for name in names}
    return Example((_few(draw, draw(shapes(max_dims=2)), smooth),), params)


def _slices(draw, smooth):
    shape = draw(shapes(min_dims=1, max_dims=3, max_side=3))
    names = ("return_index", "return_inverse", "return_counts")
    params = {name: draw(st.booleans()) for name in names}
    axis = draw(axes(len(shape), several=False, none=False))
    # NumPy's slices with NaN are never equal.
    equal_nan = len(shape) == 1 and draw(st.booleans())
    return Example((_few(draw, shape, smooth),), {**params, "axis": axis, "equal_nan": equal_nan})


def _two(draw, smooth):
    a, b = (_few(draw, draw(shapes(max_dims=2)), smooth) for _ in range(2))
    # Where derivatives are checked, nothing that is in both can be moved out of one of them.
    return Example((a, b + b.dtype.type(0.3) if smooth else b))


def _finite_two(draw, smooth):
    a, b = _two(draw, smooth).values
    return Example((np.nan_to_num(a), np.nan_to_num(b)))


def _ordered(params, flat=True):
    def draw_example(draw, smooth):
        shape = tuple(max(1, n) for n in draw(shapes(min_dims=1, max_dims=3, max_side=4)))
        axis = draw(axes(len(shape), several=False, none=flat))
        length = int(np.prod(shape)) if axis is None else shape[axis]
        return Example((_few(draw, shape, smooth),), {"axis": axis, **params(draw, length)})

    return draw_example


def _kth(draw, length):
    return {"kth": draw(st.integers(-length, length - 1))}


def _top(draw, length):
    return {"kth": draw(st.integers(1, length)) * draw(st.sampled_from((1, -1)))}


def _keys(draw, smooth):
    shape = draw(shapes(min_dims=1, max_dims=2))
    axis = draw(axes(len(shape), several=False, none=False))
    return Example(tuple(_few(draw, shape, False) for _ in range(3)), {"axis": axis})


def _order(x, axis, kth=1):
    """Return what sorts, in descending order if ``kth`` is positive, with NaN last."""
    x = x.astype("float64")
    return np.argsort(-x if kth > 0 else x, axis, stable=True)


def _argtopk(x, axis, kth):
    x, axis = (x.ravel(), 0) if axis is None else (x, axis)
    return np.take(_order(x, axis, kth), range(abs(kth)), axis)


def _topk(x, axis, kth):
    places = _argtopk(x, axis, kth)
    x, axis = (x.ravel(), 0) if axis is None else (x, axis)
    return np.take_along_axis(x, places, axis)


def _top_k(x, axis, kth, mode):
    kth = kth if mode == "largest" else -kth
    return _topk(x, axis, kth), _argtopk(x, axis, kth)


def _descending(x, axis):
    return _topk(x, axis, x.size if axis is None else x.shape[axis])


def _at_kth(function):
    """Return a function that gives the element at kth, the only one that is decided."""
    return lambda x, axis, kth: function(x, kth, axis).take([kth], 0 if axis is None else axis)


def _taken(argpartition, take, flat):
    def values(x, axis, kth):
        order = argpartition(x, kth, axis)
        x, axis = (flat(x), 0) if axis is None else (x, axis)
        return take(x, order, axis).take([kth], axis)

    return values


def _record(name, build, reference, draw, **facts):
    return OpRecord(name=name, build=build, reference=reference, draw=draw, **facts)


RECORDS = [
    _record("unique", pt.unique, np.unique, _one),
    _record("unique along an axis", pt.unique, np.unique, _slices),
    _record(
        "unique_all",
        lambda x: tuple(pt.unique_all(x)),
        lambda x: tuple(np.unique_all(x)),
        lambda draw, smooth: Example((_few(draw, draw(shapes(max_dims=2)), smooth),)),
    ),
    _record(
        "unique_counts, unique_inverse and unique_values",
        lambda x: (*pt.unique_counts(x), *pt.unique_inverse(x), pt.unique_values(x)),
        lambda x: (*np.unique_counts(x), *np.unique_inverse(x), np.sort(np.unique_values(x))),
        lambda draw, smooth: Example((_few(draw, draw(shapes(max_dims=2)), smooth),)),
    ),
    _record("isin", pt.isin, np.isin, _two),
    _record("union1d", pt.union1d, np.union1d, _two),
    _record("intersect1d", pt.intersect1d, np.intersect1d, _two),
    _record(
        "intersect1d with indices",
        lambda a, b: pt.intersect1d(a, b, return_indices=True),
        lambda a, b: np.intersect1d(a, b, return_indices=True),
        _finite_two,
    ),
    _record("setdiff1d", pt.setdiff1d, np.setdiff1d, _two),
    _record("setxor1d", pt.setxor1d, np.setxor1d, _two),
    _record(
        "PartitionOp",
        lambda x, axis, kth: PartitionOp(axis % x.ndim, (kth,))(x),
        lambda x, axis, kth: np.partition(x, kth, axis),
        _ordered(_kth, flat=False),
        ops=(PartitionOp,),
    ),
    _record(
        "ArgPartitionOp",
        lambda x, axis, kth: ArgPartitionOp(axis % x.ndim, (kth,))(x),
        lambda x, axis, kth: np.argpartition(x, kth, axis),
        _ordered(_kth, flat=False),
        ops=(ArgPartitionOp,),
    ),
    _record("partition", _at_kth(pt.partition), _at_kth(np.partition), _ordered(_kth)),
    _record(
        "argpartition",
        _taken(pt.argpartition, pt.take_along_axis, pt.ravel),
        _taken(np.argpartition, np.take_along_axis, np.ravel),
        _ordered(_kth),
    ),
    _record(
        "lexsort", lambda *k, axis: pt.lexsort(k, axis), lambda *k, axis: np.lexsort(k, axis), _keys
    ),
    OpRecord(
        name="sort_complex",
        build=pt.sort_complex,
        reference=np.sort_complex,
        arguments=(Argument(dtypes=("int8", "int64", "float64", "complex64"), extremes=False),),
        shapes=same(min_dims=1, max_dims=2),
    ),
    _record("topk", pt.topk, _topk, _ordered(_top)),
    _record("argtopk", pt.argtopk, _argtopk, _ordered(_top)),
    _record(
        "topk_and_argtopk",
        pt.topk_and_argtopk,
        lambda x, **params: (_topk(x, **params), _argtopk(x, **params)),
        _ordered(_top),
    ),
    _record(
        "top_k",
        lambda x, axis, kth, mode: pt.top_k(x, kth, axis=axis, mode=mode),
        _top_k,
        _ordered(lambda draw, length: {"kth": 1, "mode": draw(st.sampled_from(MODES))}),
    ),
    _record(
        "sort descending",
        lambda x, axis: pt.sort(x, axis, descending=True),
        _descending,
        _ordered(lambda draw, length: {}),
    ),
]
