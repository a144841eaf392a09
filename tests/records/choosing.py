"""Elements chosen by indices along an axis, by conditions and by numbers; grids of indices."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.testing import Argument, Example, OpRecord
from phintys.testing.strategies import arrays_for, axes, same, shapes

ANYTHING = (Argument(dtypes=("bool", "int64", "float32", "complex128")),)
NUMBERS = (Argument(dtypes=("int64", "float64"), special=False, extremes=False),)
BOOLS = (Argument(dtypes=("bool",)),)
SIZES = (Argument(dtypes=("int64",), interval=(0, 4), extremes=False),)


def _record(name, build, reference, draw=None, **facts):
    return OpRecord(name=name, build=build, reference=reference, draw=draw, **facts)


def _rng(draw):
    return np.random.default_rng(draw(st.integers(0, 2**16)))


def _changed(function):
    """Return a function that gives a changed copy for one that changes its argument."""

    def changed(x, *more, **params):
        x = x.copy()
        function(x, *more, *params.values())
        return x

    return changed


# ---- along an axis -------------------------------------------------------------------------------


def _along(values):
    def draw_example(draw, smooth):
        shape = tuple(max(1, size) for size in draw(shapes(min_dims=1, max_dims=3, max_side=3)))
        axis = draw(axes(len(shape), several=False, none=False))
        wanted = list(shape)
        wanted[axis] = draw(st.integers(0, shape[axis]))
        (x,) = arrays_for(draw, NUMBERS, [shape], smooth)
        places = np.argsort(_rng(draw).random(shape), axis)
        places = np.take(places, range(wanted[axis]), axis) - shape[axis] * draw(st.booleans())
        more = arrays_for(draw, NUMBERS, [wanted], smooth) if values else []
        return Example((x, places, *(v.astype(x.dtype) for v in more)), {"axis": axis})

    return draw_example


# ---- conditions ----------------------------------------------------------------------------------


def _compressed(draw, smooth):
    shape = draw(shapes(min_dims=1, max_dims=2))
    axis = draw(axes(len(shape), several=False))
    size = int(np.prod(shape)) if axis is None else shape[axis]
    (x,) = arrays_for(draw, ANYTHING, [shape], smooth)
    condition = _rng(draw).random(draw(st.integers(0, size))) < 0.5
    return Example((condition, x), {"axis": axis})


def _select(a, b, x, y):
    return [[a, b], [x, y]]


def _masked(draw, smooth):
    shape = draw(shapes(max_dims=2))
    (x,) = arrays_for(draw, NUMBERS, [shape], smooth)
    return Example((x, _rng(draw).random(shape) < 0.5), {"values": [1, 2, 3]})


# ---- numbers -------------------------------------------------------------------------------------


def _chosen(draw, smooth):
    shape = draw(shapes(max_dims=2))
    mode = draw(st.sampled_from(("raise", "wrap", "clip")))
    low, high = (0, 2) if mode == "raise" else (-3, 6)
    number = _rng(draw).integers(low, high, shape)
    return Example((number, *arrays_for(draw, NUMBERS * 2, [shape] * 2, smooth)), {"mode": mode})


def _chosen_along(draw, smooth):
    shape, extra = draw(shapes(max_dims=2)), draw(st.integers(0, 1))
    number = _rng(draw).integers(-3, 6, shape[extra:] if draw(st.booleans()) else shape)
    [choices] = arrays_for(draw, NUMBERS, [(4, *shape)], smooth)
    return Example((number, choices), {"mode": draw(st.sampled_from(("wrap", "clip")))})


def _flat(draw, smooth):
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    numbers = _rng(draw).integers(0, np.prod(shape), draw(st.integers(0, 4)))
    return Example((numbers,), {"shape": shape, "order": draw(st.sampled_from("CF"))})


def _multiple(draw, smooth):
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    mode = draw(st.sampled_from(("raise", "wrap", "clip", ("wrap", "clip"))))
    out = 0 if mode == "raise" else 4
    n = draw(st.integers(0, 3))
    parts = tuple(_rng(draw).integers(-out, size + out, n) for size in shape)
    return Example(parts, {"shape": shape, "mode": mode, "order": draw(st.sampled_from("CF"))})


def _written(draw, smooth):
    shape = tuple(max(1, size) for size in draw(shapes(min_dims=1, max_dims=2)))
    (x,) = arrays_for(draw, NUMBERS, [shape], smooth)
    places = _rng(draw).permutation(x.size)[: draw(st.integers(0, x.size))]
    return Example((x, places), {"values": [1, 2, 3]})


def _square(draw, smooth):
    n, m = draw(st.integers(0, 4)), draw(st.integers(1, 2))
    (x,) = arrays_for(draw, NUMBERS, [(n, m)], smooth)
    return Example((x,), {"val": draw(st.sampled_from((5, [1, 2]))), "wrap": draw(st.booleans())})


def _offset(draw, sizes):
    return {"val": 7, "offset": draw(st.integers(-3, 3))}


def _fill_diagonal_offset(x, val, offset):
    on_it = np.eye(*x.shape, k=offset, dtype=bool)
    return np.where(on_it, np.asarray(val).astype(x.dtype), x)


# ---- grids ---------------------------------------------------------------------------------------


def _indexing(draw, sizes):
    return {"indexing": draw(st.sampled_from(("xy", "ij"))), "sparse": draw(st.booleans())}


def _vectors(count):
    return lambda draw: [(draw(st.integers(0, 3)),) for _ in range(count)]


def _diagonal(draw, sizes):
    return {"k": draw(st.integers(-3, 3))}


def _int64(function):
    return lambda *values, **params: [
        np.asarray(one, np.int64) for one in function(*(int(v) for v in values), **params)
    ]


def _size_record(name, build, reference, count, params=None):
    return _record(
        name,
        build,
        _int64(reference),
        arguments=SIZES * count,
        shapes=same(count, max_dims=0),
        params=params,
    )


RECORDS = [
    _record(
        "take_along_axis",
        pt.take_along_axis,
        np.take_along_axis,
        _along(values=False),
        differentiable=(0,),
    ),
    _record(
        "put_along_axis",
        pt.put_along_axis,
        _changed(np.put_along_axis),
        _along(values=True),
        differentiable=(0, 2),
    ),
    _record(
        "compress",
        pt.compress,
        np.compress,
        _compressed,
    ),
    _record(
        "extract",
        lambda x: pt.extract(x > 0, x),
        lambda x: np.extract(x > 0, x),
        arguments=(NUMBERS[0],),
        smooth=lambda x: not x.size or np.abs(x).min() > 1e-3,
    ),
    _record("argwhere", pt.argwhere, lambda x: np.argwhere(x).astype(np.int64), arguments=ANYTHING),
    _record(
        "select",
        lambda *xs: pt.select(*_select(*xs), default=2),
        lambda *xs: np.select(*_select(*xs), default=2),
        arguments=BOOLS * 2 + NUMBERS * 2,
        shapes=same(4),
        differentiable=(2, 3),
    ),
    _record(
        "piecewise",
        lambda x: pt.piecewise(x, [x < 0, x > 1], [pt.neg, 3, pt.sqr]),
        lambda x: np.piecewise(x, [x < 0, x > 1], [np.negative, 3, np.square]),
        arguments=(NUMBERS[0],),
        smooth=lambda x: not x.size or min(np.abs(x).min(), np.abs(x - 1).min()) > 1e-3,
    ),
    _record(
        "choose",
        lambda x, *choices, mode: pt.choose(x, choices, mode),
        lambda x, *choices, mode: np.choose(x, choices, mode=mode),
        _chosen,
        differentiable=(1, 2),
    ),
    _record("choose_along", pt.choose, np.choose, _chosen_along, differentiable=(1,)),
    _record("unravel_index", pt.unravel_index, np.unravel_index, _flat),
    _record(
        "ravel_multi_index",
        lambda *parts, shape, **params: pt.ravel_multi_index(parts, shape, **params),
        lambda *parts, shape, **params: np.ravel_multi_index(parts, shape, **params),
        _multiple,
    ),
    _record(
        "put",
        pt.put,
        _changed(np.put),
        _written,
        differentiable=(0,),
    ),
    _record("place", pt.place, _changed(np.place), _masked),
    _record(
        "fill_diagonal",
        pt.fill_diagonal,
        lambda x, val, wrap: _changed(np.fill_diagonal)(x, val, wrap=wrap),
        _square,
    ),
    _record(
        "fill_diagonal_offset",
        pt.fill_diagonal_offset,
        _fill_diagonal_offset,
        arguments=NUMBERS,
        shapes=same(min_dims=2, max_dims=2),
        params=_offset,
    ),
    _record(
        "meshgrid",
        pt.meshgrid,
        np.meshgrid,
        arguments=NUMBERS * 3,
        shapes=_vectors(3),
        params=_indexing,
    ),
    _record(
        "ix_",
        pt.ix_,
        np.ix_,
        arguments=(Argument(dtypes=("int64",)), Argument(dtypes=("bool",))),
        shapes=lambda draw: [(draw(st.integers(1, 3)),), (draw(st.integers(1, 3)),)],
    ),
    _size_record(
        "indices", lambda n, m: list(pt.indices((n, m))), lambda n, m: np.indices((n, m)), 2
    ),
    _size_record("diag_indices", pt.diag_indices, np.diag_indices, 1),
    _size_record(
        "diag_indices_from",
        lambda n: pt.diag_indices_from(pt.zeros((n, n))),
        np.diag_indices,
        1,
    ),
    _size_record(
        "tril_indices",
        lambda n, m, k: pt.tril_indices(n, k, m),
        lambda n, m, k: np.tril_indices(n, k, m),
        2,
        _diagonal,
    ),
    _size_record(
        "triu_indices_from",
        lambda n, m, k: pt.triu_indices_from(pt.zeros((n, m)), k),
        lambda n, m, k: np.triu_indices(n, k, m),
        2,
        _diagonal,
    ),
    _size_record(
        "tril_indices_from",
        lambda n, m, k: pt.tril_indices_from(pt.zeros((n, m)), k),
        lambda n, m, k: np.tril_indices(n, k, m),
        2,
        _diagonal,
    ),
    _size_record(
        "triu_indices",
        lambda n, m, k: pt.triu_indices(n, k, m),
        lambda n, m, k: np.triu_indices(n, k, m),
        2,
        _diagonal,
    ),
    _size_record(
        "mask_indices",
        lambda n: pt.mask_indices(n, pt.triu),
        lambda n: np.mask_indices(n, np.triu),
        1,
    ),
]
