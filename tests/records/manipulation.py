"""Functions that rearrange, combine, edit and pad arrays."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.testing import Argument, Example, OpRecord, Tolerance
from phintys.testing.strategies import arrays_for, axes, same, shapes

ANYTHING = (Argument(dtypes=("bool", "int64", "float32", "complex128")),)
NUMBERS = (Argument(dtypes=("int64", "float64"), extremes=False),)


def _record(name, build, reference, params=None, **facts):
    facts = {"arguments": ANYTHING, "params": params} | facts
    return OpRecord(name=name, build=build, reference=reference, **facts)


def _rng(draw):
    return np.random.default_rng(draw(st.integers(0, 2**16)))


# ---- order and dimensions ------------------------------------------------------------------------


def _some_axes(draw, sizes):
    return {"axis": draw(axes(len(sizes[0])))}


def _turns(draw, sizes):
    plane = draw(st.permutations(range(len(sizes[0]))))[:2]
    return {"k": draw(st.integers(-2, 5)), "axes": tuple(plane)}


def _at_least(x, n, left):
    missing = (1,) * max(0, n - x.ndim)
    return x.reshape(missing + x.shape if left else x.shape + missing)


def _ranks(draw, sizes):
    return {"n": draw(st.integers(0, 4)), "left": draw(st.booleans())}


def _order(draw, sizes):
    return {"order": draw(st.sampled_from("CF"))}


def _split(draw, sizes):
    axis = draw(axes(len(sizes[0]), several=False, none=False))
    size = sizes[0][axis]
    divisors = [n for n in range(1, size + 1) if size % n == 0]
    first = draw(st.sampled_from(divisors or [1]))
    parts = [first, size // first]
    if size and draw(st.booleans()):
        parts[draw(st.integers(0, 1))] = -1
    return {"shape": tuple(parts), "axis": axis}


def _split_dims(x, shape, axis):
    axis %= x.ndim
    other = max(shape)
    filled = [x.shape[axis] // other if size == -1 else size for size in shape]
    return x.reshape(*x.shape[:axis], *filled, *x.shape[axis + 1 :])


def _joined(draw, sizes):
    start = draw(st.integers(0, len(sizes[0])))
    return {"start_axis": start, "n_axes": draw(st.integers(0, len(sizes[0]) - start))}


def _join_dims(x, start_axis, n_axes):
    stop = start_axis + n_axes
    merged = int(np.prod(x.shape[start_axis:stop]))
    return x.reshape(*x.shape[:start_axis], merged, *x.shape[stop:])


# ---- together and apart --------------------------------------------------------------------------


def _columns(draw, smooth):
    rows = draw(st.integers(0, 3))
    sizes = [(rows,), (rows, draw(st.integers(0, 2)))]
    return Example(tuple(arrays_for(draw, ANYTHING * 2, sizes, smooth)))


def _quadrants(draw, smooth):
    n, m = draw(st.integers(0, 2)), draw(st.integers(1, 2))
    sizes = [(n, m), (n, 1), (m + 1,)]
    return Example(tuple(arrays_for(draw, ANYTHING * 3, sizes, smooth)))


def _appended(draw, smooth):
    axis = draw(st.sampled_from((None, 0, -1)))
    shape = draw(shapes(min_dims=1, max_dims=2))
    sizes = [shape, shape if axis is not None else draw(shapes(max_dims=2))]
    return Example(tuple(arrays_for(draw, ANYTHING * 2, sizes, smooth)), {"axis": axis})


def _wide(draw, smooth):
    sizes = [(1, draw(st.integers(0, 3))), (draw(st.integers(0, 3)), draw(st.integers(0, 3)))]
    return Example(tuple(arrays_for(draw, ANYTHING * 2, sizes, smooth)))


def _concat_with_broadcast(x, y):
    n = y.shape[0]
    return np.concatenate([np.broadcast_to(x, (n, x.shape[1])), y], 1)


def _pack_and_unpack(x, y):
    packed, shapes = pt.pack(x, y)
    return [packed, *pt.unpack(packed, shapes)]


def _packed(x, y):
    dtype = np.result_type(x, y)
    return [np.concatenate([x.ravel(), y.ravel()]), x.astype(dtype), y.astype(dtype)]


def _kept(x, y):
    return pt.pack(x, y, keep_axes=0)[0]


def _rows_kept(draw, smooth):
    n = draw(st.integers(0, 2))
    sizes = [(n, draw(st.integers(0, 2))), (n, 2, draw(st.integers(0, 2)))]
    return Example(tuple(arrays_for(draw, ANYTHING * 2, sizes, smooth)))


def _three_rows(draw, smooth):
    return Example(tuple(arrays_for(draw, ANYTHING, [(3, draw(st.integers(0, 2)))], smooth)))


# ---- editing -------------------------------------------------------------------------------------


def _places(draw, size, limit):
    """Draw an integer, a slice or a list of integers, all inside of an axis."""
    lowest = -size
    index = st.integers(lowest, max(limit, lowest))
    kinds = [st.slices(size)]
    if limit >= 0 or size:
        kinds += [index, st.lists(index, min_size=2, max_size=3)]
    return draw(st.one_of(*kinds))


def _deleted(draw, smooth):
    shape = draw(shapes(min_dims=1, max_dims=2))
    axis = draw(axes(len(shape), several=False))
    size = int(np.prod(shape)) if axis is None else shape[axis]
    obj = _places(draw, size, size - 1) if size else slice(None)
    return Example(tuple(arrays_for(draw, NUMBERS, [shape], smooth)), {"obj": obj, "axis": axis})


def _inserted(draw, smooth):
    shape = draw(shapes(min_dims=1, max_dims=2))
    axis = draw(axes(len(shape), several=False))
    size = int(np.prod(shape)) if axis is None else shape[axis]
    values = arrays_for(draw, (NUMBERS[0], Argument(dtypes=("int64",))), [shape, ()], smooth)
    return Example(tuple(values), {"obj": _places(draw, size, size), "axis": axis})


# ---- padding -------------------------------------------------------------------------------------

MODES = ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum")
MODES += ("reflect", "symmetric", "wrap")


def _padded(draw, smooth):
    mode = draw(st.sampled_from(MODES))
    ndim = draw(st.integers(1, 2))
    shape = tuple(draw(st.integers(mode != "constant", 3)) for _ in range(ndim))
    width = st.integers(0, 5)
    widths = [(draw(width), draw(width)) for _ in range(ndim)]
    pad_width = draw(st.sampled_from((widths, widths[0], widths[0][0])))
    params = {"pad_width": pad_width, "mode": mode}
    if mode == "constant" and draw(st.booleans()):
        params["constant_values"] = [(1, 2), (3, 4)][:ndim]
    if mode == "linear_ramp" and draw(st.booleans()):
        params["end_values"] = (2, -3)
    if mode in {"maximum", "mean", "median", "minimum"} and draw(st.booleans()):
        params["stat_length"] = (1, 2)
    if mode in {"reflect", "symmetric"}:
        params["reflect_type"] = draw(st.sampled_from(("even", "odd")))
    arguments = (Argument(dtypes=("int64", "float64"), special=False, extremes=False),)
    (x,) = arrays_for(draw, arguments, [shape], smooth)
    if smooth and x.size:  # the largest of equal elements has several derivatives
        x = (np.argsort(_rng(draw).random(x.size)).reshape(x.shape) * 0.7).astype(x.dtype)
    return Example((x,), params, (pt.TensorType(x.dtype, (None,) * ndim),))


PADDED = Tolerance("means and ramps are rounded in other steps", ulps=16, normwise=True)

# ---- ends and sizes ------------------------------------------------------------------------------


def _sides(draw, sizes):
    axis = draw(axes(len(sizes[0])))
    return {"trim": draw(st.sampled_from(("f", "b", "fb"))), "axis": axis}


def _trimmed(filt, trim, axis):
    """Slice as NumPy does from 2.2 on."""
    every = range(filt.ndim)
    chosen = every if axis is None else np.atleast_1d(axis) % filt.ndim
    places = np.argwhere(filt)
    first, last = (
        (places.min(0), places.max(0) + 1) if len(places) else [np.zeros(filt.ndim, int)] * 2
    )
    kept = [
        slice(
            first[i] if "f" in trim or not len(places) else None,
            last[i] if "b" in trim or not len(places) else None,
        )
        if i in chosen
        else slice(None)
        for i in every
    ]
    return filt[tuple(kept)]


def _other_shape(draw, sizes):
    return {"new_shape": draw(st.integers(0, 7) | shapes(max_dims=3).map(tuple))}


RECORDS = [
    _record(
        "trim_zeros",
        pt.trim_zeros,
        _trimmed,
        _sides,
        arguments=(Argument(dtypes=("bool", "int64", "float64"), interval=(0, 2)),),
        shapes=same(min_dims=1, max_dims=3),
    ),
    _record("resize", pt.resize, np.resize, _other_shape),
    _record("flip", pt.flip, np.flip, _some_axes),
    _record("fliplr", pt.fliplr, np.fliplr, shapes=same(min_dims=2)),
    _record("flipud", pt.flipud, np.flipud, shapes=same(min_dims=1)),
    _record("rot90", pt.rot90, np.rot90, _turns, shapes=same(min_dims=2, max_dims=3)),
    _record("atleast_1d", pt.atleast_1d, np.atleast_1d, shapes=same(max_dims=2)),
    _record("atleast_2d", pt.atleast_2d, np.atleast_2d, shapes=same(max_dims=3)),
    _record("atleast_3d", pt.atleast_3d, np.atleast_3d, shapes=same(max_dims=4)),
    _record("atleast_Nd", pt.atleast_Nd, _at_least, _ranks),
    _record("ravel", pt.ravel, lambda x, order: x.ravel(order), _order),
    _record("split_dims", pt.split_dims, _split_dims, _split, shapes=same(min_dims=1)),
    _record("join_dims", pt.join_dims, _join_dims, _joined),
    _record(
        "column_stack",
        lambda *xs: pt.column_stack(xs),
        lambda *xs: np.column_stack(xs),
        draw=_columns,
    ),
    _record(
        "dstack",
        lambda *xs: pt.dstack(xs),
        lambda *xs: np.dstack(xs),
        arguments=ANYTHING * 2,
        shapes=same(2),
    ),
    _record(
        "block",
        lambda a, b, c: pt.block([[a, b], [c]]),
        lambda a, b, c: np.block([[a, b], [c]]),
        draw=_quadrants,
    ),
    _record("append", pt.append, np.append, draw=_appended),
    _record(
        "concat_with_broadcast",
        lambda *xs: pt.concat_with_broadcast(xs, axis=1),
        _concat_with_broadcast,
        draw=_wide,
        broadcasts=True,
    ),
    _record(
        "unstack", lambda x: pt.unstack(pt.specify_shape(x, (3, None))), list, draw=_three_rows
    ),
    _record(
        "pack and unpack",
        _pack_and_unpack,
        _packed,
        arguments=ANYTHING * 2,
        shapes=lambda draw: [draw(shapes(max_dims=2)), draw(shapes(max_dims=2))],
    ),
    _record(
        "pack with an axis kept",
        _kept,
        lambda x, y: np.concatenate([x, y.reshape(len(y), y.shape[1] * y.shape[2])], 1),
        draw=_rows_kept,
    ),
    _record("delete", pt.delete, np.delete, draw=_deleted),
    _record(
        "insert",
        lambda x, values, **params: pt.insert(x, values=values, **params),
        lambda x, values, **params: np.insert(x, values=values, **params),
        draw=_inserted,
        differentiable=(0,),
    ),
    _record("pad", pt.pad, np.pad, draw=_padded, tolerance=PADDED),
]
