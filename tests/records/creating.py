"""New arrays: of one value, ranges, diagonals and triangles."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.diagonals import AllocDiag
from phintys.tensor.type import DTYPES
from phintys.testing import Argument, Example, OpRecord, Tolerance
from phintys.testing.strategies import arrays_for, broadcastable, same, shapes

ANYTHING = (Argument(),)
FLOATS = ("float32", "float64")

# The elements of an array that was not filled are not defined.
UNDEFINED = ("storage reuse", "repetition", "pickling", "batching", "modes", "derivatives")


def _dtype(draw, sizes):
    return {"dtype": draw(st.sampled_from(DTYPES))}


def _shape_and_dtype(draw, sizes):
    return _dtype(draw, sizes) | {"shape": draw(shapes(max_dims=3))}


def _as(dtype):
    """Return a function that casts as NumPy does."""
    return lambda x: np.asarray(x).astype(dtype)


def _cast_reference(x, dtype):
    return x.astype(dtype)


# ---- of one value --------------------------------------------------------------------------------


def _sizes_as_inputs(count):
    """Draw an array and the sizes, as integers of different dtypes, to which it broadcasts."""

    def draw_example(draw, smooth):
        own = draw(shapes(max_dims=count, max_side=3))
        padded = (1,) * (count - len(own)) + own
        wanted = [draw(st.integers(0, 3)) if size == 1 else size for size in padded]
        (x,) = arrays_for(draw, ANYTHING, [own], smooth)
        dtypes = st.sampled_from(("int64", "int8", "uint8"))
        return Example((x, *(np.array(size, draw(dtypes)) for size in wanted)))

    return draw_example


def _alloc(count):
    return OpRecord(
        name=f"alloc {count}",
        build=pt.alloc,
        reference=lambda x, *sizes: np.broadcast_to(x, [int(size) for size in sizes]),
        draw=_sizes_as_inputs(count),
        ops=(pt.Alloc,),
        broadcasts=True,
        differentiable=(0,),
    )


def _constant(name, value):
    return OpRecord(
        name=name,
        build=getattr(pt, name),
        reference=lambda shape, dtype: np.full(shape, value, dtype),
        params=_shape_and_dtype,
        ops=(pt.Alloc,),
    )


def _like(name, value):
    return OpRecord(
        name=f"{name}_like",
        build=getattr(pt, f"{name}_like"),
        reference=lambda x, dtype: np.full(x.shape, value, dtype),
        arguments=ANYTHING,
        params=_dtype,
    )


# ---- ranges --------------------------------------------------------------------------------------


def _whole_bounds(draw, smooth):
    dtypes = st.sampled_from(("int8", "int64", "uint16"))
    numbers = [draw(st.integers(-5, 12)), draw(st.integers(-5, 12))]
    step = draw(st.integers(-4, 4).filter(bool))
    return Example(tuple(np.array(n, "int64" if n < 0 else draw(dtypes)) for n in (*numbers, step)))


def _real_bounds(draw, smooth):
    """Draw bounds such that the number of elements does not change for a small change of them."""
    dtype = draw(st.sampled_from(FLOATS))
    start = draw(st.integers(-8, 8)) / 4 + 0.125
    step = draw(st.integers(-8, 8).filter(bool)) / 4
    stop = start + (draw(st.integers(-1, 6)) + 0.5) * step
    return Example(tuple(np.array(bound, dtype) for bound in (start, stop, step)))


def _arange(start, stop, step):
    dtype = np.result_type("int64", start, stop, step)
    return np.arange(start.item(), stop.item(), step.item(), dtype)


def _linspace(draw, sizes):
    ndim = max(map(len, sizes))
    return {
        "num": draw(st.integers(0, 4)),
        "endpoint": draw(st.booleans()),
        "axis": draw(st.integers(0, ndim)),
    }


# ---- diagonals -----------------------------------------------------------------------------------


def _offset(draw, sizes):
    return {"k": draw(st.integers(-4, 4))}


def _offset_and_axes(draw, sizes):
    first, second = draw(st.permutations(range(len(sizes[0]))))[:2]
    return {"offset": draw(st.integers(-3, 3)), "axis1": first, "axis2": second - len(sizes[0])}


def _rows_and_columns(draw, smooth):
    numbers = [draw(st.integers(0, 4)), draw(st.integers(0, 4)), draw(st.integers(-4, 4))]
    dtype = draw(st.sampled_from(DTYPES))
    return Example(tuple(np.array(n, "int64") for n in numbers), {"dtype": dtype})


def _diagonals_and_sizes(draw, smooth):
    rows, columns, offset = (draw(st.integers(*b)) for b in ((0, 4), (0, 4), (-3, 3)))
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    shape = (*draw(shapes(max_dims=1, max_side=2)), length)
    (x,) = arrays_for(draw, ANYTHING, [shape], smooth)
    return Example((x, np.array(rows), np.array(columns)), {"offset": offset})


def _alloc_diag(x, rows, columns, offset):
    result = np.zeros((*x.shape[:-1], int(rows), int(columns)), x.dtype)
    for i in range(x.shape[-1]):
        result[..., i + max(-offset, 0), i + max(offset, 0)] = x[..., i]
    return result


def _diagonal(x, **params):
    return np.diagonal(x, **params)


MATRICES = {"arguments": ANYTHING, "shapes": same(min_dims=2, max_dims=3)}

RECORDS = [
    *(_alloc(count) for count in range(4)),
    _constant("zeros", 0),
    _constant("ones", 1),
    OpRecord(
        name="full",
        build=lambda x, shape: pt.full((*shape, *pt.shape_tuple(x)), x),
        reference=lambda x, shape: np.broadcast_to(x, (*shape, *x.shape)),
        arguments=ANYTHING,
        shapes=same(max_dims=2),
        params=lambda draw, sizes: {"shape": draw(shapes(max_dims=2, max_side=3))},
        ops=(pt.Alloc,),
    ),
    OpRecord(
        name="full dtype",
        build=lambda x, shape, dtype: pt.full(shape, x, dtype),
        reference=lambda x, shape, dtype: np.full(shape, x.astype(dtype)),
        arguments=(
            Argument(dtypes=("bool", "int8", "float32"), interval=(0.0, 3.0), special=False),
        ),
        shapes=same(max_dims=0),
        params=_shape_and_dtype,
        ops=(pt.Alloc,),
    ),
    _like("zeros", 0),
    _like("ones", 1),
    OpRecord(
        name="full_like",
        build=lambda x: pt.full_like(x, 2),
        reference=lambda x: np.full_like(x, 2),
        arguments=ANYTHING,
    ),
    OpRecord(
        name="empty",
        build=pt.empty,
        reference=None,
        params=_shape_and_dtype,
        ops=(pt.AllocEmpty,),
        skip=UNDEFINED,
    ),
    OpRecord(
        name="empty_like",
        build=pt.empty_like,
        reference=None,
        arguments=ANYTHING,
        params=_dtype,
        ops=(pt.AllocEmpty,),
        skip=UNDEFINED,
    ),
    OpRecord(
        name="arange of integers",
        build=pt.arange,
        reference=_arange,
        draw=_whole_bounds,
        ops=(pt.ARange,),
    ),
    OpRecord(
        name="arange of floats",
        build=lambda start, stop, step: pt.arange(start, stop, step, start.dtype),
        reference=lambda start, stop, step: np.arange(start, stop, step, start.dtype),
        draw=_real_bounds,
        ops=(pt.ARange,),
    ),
    OpRecord(
        name="linspace",
        build=pt.linspace,
        reference=lambda start, stop, num, endpoint, axis: np.linspace(
            start, stop, num, endpoint, dtype=np.result_type(start, stop), axis=axis
        ),
        arguments=(Argument(dtypes=FLOATS, special=False),) * 2,
        shapes=broadcastable(2, max_dims=2),
        params=_linspace,
        ops=(pt.ARange,),
        broadcasts=True,
        tolerance=Tolerance("NumPy computes in float64", ulps=32, normwise=True),
    ),
    OpRecord(
        name="eye",
        build=pt.eye,
        reference=lambda n, m, k, dtype: np.eye(int(n), int(m), int(k), dtype),
        draw=_rows_and_columns,
        ops=(pt.ARange,),
        differentiable=(),
    ),
    OpRecord(
        name="tri",
        build=pt.tri,
        reference=lambda n, m, k, dtype: np.tri(int(n), int(m), int(k), dtype),
        draw=_rows_and_columns,
        ops=(pt.ARange,),
        differentiable=(),
    ),
    OpRecord(
        name="identity matrix",
        build=lambda n, m, k, dtype: pt.identity(n, dtype),
        reference=lambda n, m, k, dtype: np.identity(int(n), dtype),
        draw=_rows_and_columns,
        ops=(pt.ARange,),
        differentiable=(),
    ),
    OpRecord(
        name="identity_like",
        build=pt.identity_like,
        reference=lambda x: np.eye(*x.shape, dtype=x.dtype),
        arguments=ANYTHING,
        shapes=same(min_dims=2, max_dims=2),
        ops=(pt.ARange,),
    ),
    OpRecord(name="tril", build=pt.tril, reference=np.tril, params=_offset, **MATRICES),
    OpRecord(name="triu", build=pt.triu, reference=np.triu, params=_offset, **MATRICES),
    OpRecord(
        name="diag of a vector",
        build=pt.diag,
        reference=np.diag,
        arguments=ANYTHING,
        shapes=same(min_dims=1, max_dims=1),
        params=_offset,
        ops=(AllocDiag,),
    ),
    OpRecord(
        name="diag of a matrix",
        build=pt.diag,
        reference=np.diag,
        arguments=ANYTHING,
        shapes=same(min_dims=2, max_dims=2),
        params=_offset,
        ops=(pt.ExtractDiag,),
    ),
    OpRecord(
        name="AllocDiag",
        build=lambda x, rows, columns, offset: AllocDiag(offset)(x, rows, columns),
        reference=_alloc_diag,
        draw=_diagonals_and_sizes,
        ops=(AllocDiag,),
        differentiable=(0,),
    ),
    OpRecord(
        name="diagonal",
        build=pt.diagonal,
        reference=_diagonal,
        params=_offset_and_axes,
        ops=(pt.ExtractDiag,),
        **MATRICES,
    ),
    OpRecord(
        name="linalg.diagonal",
        build=pt.linalg.diagonal,
        reference=lambda x: np.diagonal(x, axis1=-2, axis2=-1),
        ops=(pt.ExtractDiag,),
        **MATRICES,
    ),
    OpRecord(
        name="trace",
        build=pt.trace,
        reference=lambda x, **params: np.asarray(np.trace(x, **params)),
        params=_offset_and_axes,
        ops=(pt.ExtractDiag, pt.Reduce),
        arguments=(Argument(extremes=False),),
        shapes=same(min_dims=2, max_dims=3),
        tolerance=Tolerance("float16 is added in float32", per_dtype={"float16": 8}, normwise=True),
    ),
    OpRecord(
        name="linalg.trace",
        build=pt.linalg.trace,
        reference=lambda x: np.asarray(np.linalg.trace(x)),
        ops=(pt.ExtractDiag, pt.Reduce),
        arguments=(Argument(extremes=False),),
        shapes=same(min_dims=2, max_dims=3),
        tolerance=Tolerance("float16 is added in float32", per_dtype={"float16": 8}, normwise=True),
    ),
]
