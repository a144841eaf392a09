"""Basic and advanced indexing, and writing to what an index names.

The indices are drawn as they stand between brackets; integers, bounds and arrays in them are inputs
of the Op, numbered by ``Input``.
"""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.type import TensorType
from phintys.testing import EXACT, SUMMED, Argument, Example, OpRecord
from phintys.testing.strategies import arrays_for, axes, shapes, types_of

ANYTHING = Argument()
FINITE = Argument(dtypes=("int64", "float32", "float64", "complex128"), extremes=False)
NUMBERS = st.sampled_from(("int8", "int64", "uint8"))


@dataclass(frozen=True)
class Input:
    """A place in an index where an input of the Op goes."""

    number: int


class _Drawing:
    """The inputs that were drawn for an index."""

    def __init__(self, draw):
        self.draw = draw
        self.values = []

    def put(self, value):
        """Return a place for a value."""
        self.values.append(np.asarray(value))
        return Input(len(self.values) - 1)

    def number(self, number):
        """Return an int as it is, or as an input."""
        if self.draw(st.booleans()):
            return number
        return self.put(np.array(number, self.draw(NUMBERS) if number >= 0 else "int64"))

    def slice(self, size):
        bound = st.none() | st.integers(-size - 1, size + 1)
        step = st.sampled_from((None, 1, 2, -1, -2))
        given = (self.draw(bound), self.draw(bound), self.draw(step))
        return slice(*(None if one is None else self.number(one) for one in given))

    def places(self, size, shape):
        """Return an array of indices into a dimension."""
        seed = self.draw(st.integers(0, 2**16))
        low = -size if self.draw(st.booleans()) else 0
        values = np.random.default_rng(seed).integers(low, size, shape)
        return self.put(values.astype("int64" if low else self.draw(NUMBERS)))

    def mask(self, shape):
        seed = self.draw(st.integers(0, 2**16))
        return self.put(np.random.default_rng(seed).random(shape) < 0.5)


def _filled(index, values):
    """Put inputs into an index."""

    def fill(part):
        if isinstance(part, Input):
            return values[part.number]
        if isinstance(part, slice):
            return slice(fill(part.start), fill(part.stop), fill(part.step))
        return part

    return tuple(fill(part) for part in index)


def _basic(draw, shape):
    """Draw integers and slices."""
    drawing = _Drawing(draw)
    index = [
        drawing.number(draw(st.integers(-size, size - 1)))
        if size and draw(st.booleans())
        else drawing.slice(size)
        for size in shape[: draw(st.integers(0, len(shape)))]
    ]
    if len(index) < len(shape) and draw(st.booleans()):
        index.append(...)
    return tuple(index), drawing.values


def _with_new_axes(draw, shape):
    """Draw integers, slices and new axes."""
    index, values = _basic(draw, shape)
    index = list(index)
    for _ in range(draw(st.integers(1, 2))):
        index.insert(draw(st.integers(0, len(index))), None)
    return tuple(index), values


def _advanced(draw, shape):
    """Draw at least one array of indices, or a mask."""
    drawing = _Drawing(draw)
    if draw(st.integers(0, 3)) == 0:
        width = draw(st.integers(1, len(shape)))
        start = draw(st.integers(0, len(shape) - width))
        before = [drawing.slice(size) for size in shape[:start]]
        return (*before, drawing.mask(shape[start : start + width])), drawing.values
    common = tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=2)))
    first = draw(st.integers(0, len(shape) - 1))
    index = []
    for dim, size in enumerate(shape):
        if dim == first or (size and draw(st.integers(0, 2)) == 0):
            own = common[draw(st.integers(0, len(common) - 1)) :] if size else (0,)
            index.append(drawing.places(max(size, 1), own))
        elif size and draw(st.integers(0, 2)) == 0:
            index.append(drawing.number(draw(st.integers(-size, size - 1))))
        else:
            index.append(drawing.slice(size))
    return tuple(index), drawing.values


def _fits(index, values, shape):
    """Return whether NumPy can broadcast the arrays of an index."""
    try:
        np.empty(shape, bool)[_filled(index, values)]
    except IndexError:
        return False
    return True


def _drawn_index(draw, draw_index, shape):
    index, values = draw_index(draw, shape)
    while not _fits(index, values, shape):
        index, values = draw_index(draw, shape)
    return index, values


def _reading(draw_index, min_dims):
    """Return a draw of an array and an index into it."""

    def draw_example(draw, smooth):
        shape = draw(shapes(min_dims=min_dims, max_dims=3, min_side=1 if min_dims else 0))
        index, inputs = _drawn_index(draw, draw_index, shape)
        (x,) = arrays_for(draw, (ANYTHING,), [shape], smooth)
        return _example(draw, (x,), index, inputs)

    return draw_example


def _writing(draw_index, min_dims, argument):
    """Return a draw of an array, a value that broadcasts to a part of it, and the index."""

    def draw_example(draw, smooth):
        shape = draw(shapes(min_dims=min_dims, max_dims=3, min_side=1 if min_dims else 0))
        index, inputs = _drawn_index(draw, draw_index, shape)
        part = np.empty(shape, bool)[_filled(index, inputs)].shape
        own = tuple(1 if draw(st.integers(0, 3)) == 0 else size for size in part)
        own = own[draw(st.integers(0, len(own))) :]
        x, y = arrays_for(draw, (argument, argument), [shape, own], smooth, mixed=False)
        return _example(draw, (x, y), index, inputs, broadcasts=True)

    return draw_example


def _example(draw, arrays, index, inputs, broadcasts=False):
    types = [draw(types_of(array, broadcasts)) for array in arrays]
    # Arrays of indices broadcast where they are known to be 1, as all others do.
    types += [TensorType(v.dtype, [1 if n == 1 else None for n in v.shape]) for v in inputs]
    return Example((*arrays, *inputs), {"index": index}, tuple(types))


def _read(x, *inputs, index):
    return x[_filled(index, inputs)]


def _write(function, **options):
    return lambda x, y, *inputs, index: function(_read(x, *inputs, index=index), y, **options)


def _set(x, y, *inputs, index):
    result = x.copy()
    result[_filled(index, inputs)] = y
    return result


def _inc(x, y, *inputs, index):
    result = x.copy()
    place = _filled(index, inputs)
    np.add.at(result, place, np.broadcast_to(y, x[place].shape))
    return result


def _inc_once(x, y, *inputs, index):
    result = x.copy()
    result[_filled(index, inputs)] += y
    return result


# ---- take ----------------------------------------------------------------------------------------


def _taken(draw, smooth):
    shape = draw(shapes(min_dims=1, max_dims=3, min_side=1, max_side=3))
    (x,) = arrays_for(draw, (ANYTHING,), [shape], smooth)
    axis = draw(axes(len(shape), several=False))
    size = x.size if axis is None else shape[axis]
    mode = draw(st.sampled_from(("raise", "wrap", "clip")))
    bound = size if mode == "raise" else 3 * size
    seed = draw(st.integers(0, 2**16))
    places = np.random.default_rng(seed).integers(-bound, bound, draw(shapes(max_dims=2)))
    return Example((x, np.asarray(places)), {"axis": axis, "mode": mode})


def _record(name, build, reference, draw, op=None, **facts):
    facts = {"differentiable": (0,) if op in _READERS or op is None else (0, 1)} | facts
    return OpRecord(
        name=name,
        build=build,
        reference=reference,
        draw=draw,
        ops=() if op is None else (op,),
        **facts,
    )


_READERS = (pt.Subtensor, pt.AdvancedSubtensor)

RECORDS = [
    _record("basic", _read, _read, _reading(_basic, 0), pt.Subtensor),
    _record("basic with new axes", _read, _read, _reading(_with_new_axes, 0)),
    _record("advanced", _read, _read, _reading(_advanced, 1), pt.AdvancedSubtensor),
    _record(
        "set basic", _write(pt.set_subtensor), _set, _writing(_basic, 0, ANYTHING), pt.IncSubtensor
    ),
    _record(
        "set basic with new axes",
        _write(pt.set_subtensor),
        _set,
        _writing(_with_new_axes, 0, ANYTHING),
        pt.IncSubtensor,
    ),
    _record(
        "inc basic",
        _write(pt.inc_subtensor),
        _inc_once,
        _writing(_basic, 0, FINITE),
        pt.IncSubtensor,
        tolerance=SUMMED,
    ),
    _record(
        "set basic in place",
        _write(pt.set_subtensor, inplace=True),
        _set,
        _writing(_basic, 0, ANYTHING),
        pt.IncSubtensor,
        differentiable=(),
    ),
    _record(
        "inc basic in place",
        _write(pt.inc_subtensor, inplace=True),
        _inc_once,
        _writing(_basic, 0, FINITE),
        pt.IncSubtensor,
        tolerance=SUMMED,
        differentiable=(),
    ),
    _record(
        "set advanced",
        _write(pt.set_subtensor),
        _set,
        _writing(_advanced, 1, ANYTHING),
        pt.AdvancedIncSubtensor,
    ),
    _record(
        "inc advanced",
        _write(pt.inc_subtensor),
        _inc,
        _writing(_advanced, 1, FINITE),
        pt.AdvancedIncSubtensor,
        tolerance=SUMMED,
    ),
    _record(
        "inc advanced once",
        _write(pt.inc_subtensor, ignore_duplicates=True),
        _inc_once,
        _writing(_advanced, 1, FINITE),
        pt.AdvancedIncSubtensor,
        tolerance=SUMMED,
    ),
    _record(
        "set advanced in place",
        _write(pt.set_subtensor, inplace=True),
        _set,
        _writing(_advanced, 1, ANYTHING),
        pt.AdvancedIncSubtensor,
        differentiable=(),
    ),
    _record(
        "inc advanced in place",
        _write(pt.inc_subtensor, inplace=True),
        _inc,
        _writing(_advanced, 1, FINITE),
        pt.AdvancedIncSubtensor,
        tolerance=SUMMED,
        differentiable=(),
    ),
    _record(
        "take",
        pt.take,
        lambda x, places, axis, mode: np.take(x, places, axis, mode=mode),
        _taken,
        tolerance=EXACT,
    ),
]
