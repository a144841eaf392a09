"""Joining, splitting, repeating and rolling."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.tiling import RepeatIndex
from phintys.tensor.type import DTYPES, TensorType
from phintys.testing import Argument, Example, OpRecord
from phintys.testing.strategies import arrays_for, axes, same, shapes, types_of

ANYTHING = (Argument(),)


def _listed(function):
    """Return a function of arrays for one that takes them in a list."""
    return lambda *xs, **params: function(list(xs), **params)


# ---- joining -------------------------------------------------------------------------------------


def _to_be_joined(min_dims, axis_of):
    """Draw arrays that differ only in their size along an axis."""

    def draw_example(draw, smooth):
        shape = list(draw(shapes(min_dims=min_dims, max_dims=3, max_side=3)))
        params, axis = axis_of(draw, len(shape))
        sizes = []
        for _ in range(draw(st.integers(1, 3))):
            own = shape.copy()
            own[axis] = draw(st.integers(0, 3))
            sizes.append(tuple(own))
        return Example(tuple(arrays_for(draw, ANYTHING * len(sizes), sizes, smooth)), params)

    return draw_example


def _any_axis(draw, ndim):
    axis = draw(st.integers(-ndim, ndim - 1))
    return {"axis": axis}, axis


def _one_shape(draw, smooth):
    shape = draw(shapes(max_dims=3, max_side=3))
    count = draw(st.integers(1, 3))
    values = arrays_for(draw, ANYTHING * count, [shape] * count, smooth)
    return Example(tuple(values), {"axis": draw(st.integers(-len(shape) - 1, len(shape)))})


# ---- splitting -----------------------------------------------------------------------------------


def _cuts(draw, size):
    return sorted(draw(st.lists(st.integers(0, size), max_size=3)))


def _splits(draw, sizes):
    axis = draw(axes(len(sizes[0]), several=False, none=False))
    size = sizes[0][axis]
    cuts = _cuts(draw, size)
    return {"sizes": tuple(np.diff([0, *cuts, size]).tolist()), "axis": axis}


def _splits_by_vector(draw, smooth):
    shape = draw(shapes(min_dims=1, max_dims=3))
    params = _splits(draw, [shape])
    (x,) = arrays_for(draw, ANYTHING, [shape], smooth)
    vector = np.array(params["sizes"], draw(st.sampled_from(("int64", "int8"))))
    types = (draw(types_of(x)), TensorType(vector.dtype, vector.shape))
    return Example((x, vector), {"axis": params["axis"]}, types)


def _split(x, sizes, axis):
    return np.split(x, np.cumsum(sizes, dtype=int)[:-1], axis)


def _sections(draw, sizes):
    axis = draw(axes(len(sizes[0]), several=False, none=False))
    cuts = _cuts(draw, sizes[0][axis])
    return {"indices_or_sections": draw(st.integers(1, 4) | st.just(cuts)), "axis": axis}


# ---- repeating -----------------------------------------------------------------------------------


def _times(draw, sizes):
    return {
        "repeats": draw(st.integers(0, 3)),
        "axis": draw(axes(len(sizes[0]), several=False)),
    }


def _counts(draw, smooth):
    shape = draw(shapes(min_dims=1, max_dims=2, max_side=3))
    axis = draw(axes(len(shape), several=False, none=False))
    (x,) = arrays_for(draw, ANYTHING, [shape], smooth)
    count = st.integers(0, 3)
    counts = draw(st.lists(count, min_size=shape[axis], max_size=shape[axis]))
    return Example((x, np.array(counts, draw(st.sampled_from(("int64", "uint8"))))), {"axis": axis})


def _symbolic_times(draw, smooth):
    shape = draw(shapes(max_dims=2, max_side=3))
    (x,) = arrays_for(draw, ANYTHING, [shape], smooth)
    return Example((x, np.array(draw(st.integers(0, 3)), "int8")))


def _copies(draw, sizes):
    reps = draw(st.lists(st.integers(0, 2), min_size=0, max_size=3))
    return {"reps": reps[0] if len(reps) == 1 else tuple(reps)}


def _shift(draw, sizes):
    ndim = len(sizes[0])
    if draw(st.booleans()):
        return {"shift": draw(st.integers(-5, 5)), "axis": draw(axes(ndim, several=False))}
    dims = draw(st.lists(st.integers(0, ndim - 1), min_size=1, max_size=2))
    return {"shift": tuple(draw(st.integers(-5, 5)) for _ in dims), "axis": tuple(dims)}


RECORDS = [
    OpRecord(
        name="concatenate",
        build=_listed(pt.concatenate),
        reference=_listed(np.concatenate),
        draw=_to_be_joined(1, _any_axis),
    ),
    OpRecord(
        name="join",
        build=lambda *xs, axis: pt.join(axis, *xs),
        reference=_listed(np.concatenate),
        draw=_to_be_joined(1, _any_axis),
    ),
    OpRecord(
        name="Join",
        build=lambda *xs, axis: pt.Join(axis % xs[0].ndim)(*xs),
        reference=_listed(np.concatenate),
        draw=_to_be_joined(1, _any_axis),
        ops=(pt.Join,),
    ),
    OpRecord(
        name="hstack",
        build=_listed(pt.hstack),
        reference=_listed(np.hstack),
        draw=_to_be_joined(1, lambda draw, ndim: ({}, min(1, ndim - 1))),
    ),
    OpRecord(
        name="vstack",
        build=_listed(pt.vstack),
        reference=_listed(np.vstack),
        draw=_to_be_joined(2, lambda draw, ndim: ({}, 0)),
    ),
    OpRecord(
        name="stack",
        build=_listed(pt.stack),
        reference=_listed(np.stack),
        draw=_one_shape,
    ),
    OpRecord(
        name="split",
        build=lambda x, sizes, axis: pt.split(x, sizes, axis=axis),
        reference=_split,
        arguments=ANYTHING,
        shapes=same(min_dims=1),
        params=_splits,
        ops=(pt.Split,),
    ),
    OpRecord(
        name="split by a vector",
        build=lambda x, sizes, axis: pt.split(x, sizes, axis=axis),
        reference=_split,
        draw=_splits_by_vector,
        ops=(pt.Split,),
        differentiable=(0,),
    ),
    OpRecord(
        name="array_split",
        build=pt.array_split,
        reference=np.array_split,
        arguments=ANYTHING,
        shapes=same(min_dims=1),
        params=_sections,
        ops=(pt.Split,),
    ),
    OpRecord(
        name="repeat",
        build=pt.repeat,
        reference=np.repeat,
        arguments=ANYTHING,
        shapes=same(max_dims=3, max_side=3),
        params=_times,
    ),
    OpRecord(
        name="repeat by a vector",
        build=pt.repeat,
        reference=np.repeat,
        draw=_counts,
        differentiable=(0,),
    ),
    OpRecord(
        name="repeat by a number",
        build=pt.repeat,
        reference=np.repeat,
        draw=_symbolic_times,
        differentiable=(0,),
    ),
    OpRecord(
        name="RepeatIndex",
        build=RepeatIndex(),
        reference=lambda counts: np.repeat(np.arange(len(counts)), counts.astype(int)),
        arguments=(
            Argument(dtypes=tuple(d for d in DTYPES if "int" in d), interval=(0, 4), special=False),
        ),
        shapes=same(min_dims=1, max_dims=1),
        ops=(RepeatIndex,),
    ),
    OpRecord(
        name="tile",
        build=pt.tile,
        reference=np.tile,
        arguments=ANYTHING,
        shapes=same(max_dims=3, max_side=2),
        params=_copies,
    ),
    OpRecord(
        name="roll",
        build=pt.roll,
        reference=np.roll,
        arguments=ANYTHING,
        shapes=same(min_dims=1, max_dims=3),
        params=_shift,
        ops=(pt.Join,),
    ),
]
