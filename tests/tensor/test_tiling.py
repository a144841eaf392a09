"""repeat, tile and roll."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import DtypeError, ShapeError
from phintys.graph import contract
from phintys.graph.null_type import NullType
from phintys.tensor.tiling import RepeatIndex


def _symbolic(data, number, values):
    if data.draw(st.booleans()):
        return number
    n = pt.lscalar("n")
    values[n] = np.array(number)
    return n


@given(data=st.data())
def test_repeat(data, draw, evaluate):
    value = draw.array(data)
    x = draw.variable(data, value)
    values = {x: value}
    axis = data.draw(st.none() | st.integers(-value.ndim, value.ndim - 1)) if value.ndim else None
    if data.draw(st.booleans()):
        count = data.draw(st.integers(0, 3))
        repeats = _symbolic(data, count, values)
    else:
        length = value.size if axis is None else value.shape[axis]
        count = np.array(data.draw(st.lists(st.integers(0, 3), min_size=length, max_size=length)))
        count = count.astype("int32")
        repeats = count
        if data.draw(st.booleans()):
            repeats = pt.ivector("counts")
            values[repeats] = count
    found = evaluate(pt.repeat(x, repeats, axis), values)
    np.testing.assert_array_equal(found, np.repeat(value, count, axis))


@given(data=st.data())
def test_tile(data, draw, evaluate):
    value = draw.array(data)
    x = draw.variable(data, value)
    values = {x: value}
    counts = data.draw(st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=3))
    if isinstance(counts, list):
        reps = [_symbolic(data, count, values) for count in counts]
    else:
        reps = _symbolic(data, counts, values)
    found = evaluate(pt.tile(x, reps), values)
    np.testing.assert_array_equal(found, np.tile(value, counts))


@pytest.mark.parametrize("counts", [[], [3], [2, 3], [2, 0, 2]])
def test_tile_by_a_vector_of_unknown_length(evaluate, counts):
    x, reps = pt.dmatrix("x"), pt.lvector("reps")
    value = np.arange(6.0).reshape(2, 3)
    found = evaluate(pt.tile(x, reps, ndim=3), {x: value, reps: np.array(counts, np.int64)})
    wanted = np.tile(value, [1] * (3 - len(counts)) + counts)
    np.testing.assert_array_equal(found, wanted)


def test_tile_by_more_counts_than_dimensions(evaluate):
    reps = pt.lvector("reps")
    with pytest.raises(ShapeError, match="give it as ndim="):
        pt.tile([1, 2], reps)
    with pytest.raises(ShapeError):
        evaluate(pt.tile([1, 2], reps, ndim=2), {reps: np.array([1, 2, 3])})


def test_tile_to_more_dimensions(evaluate):
    assert evaluate(pt.tile([1, 2], 2, ndim=3)).tolist() == [[[1, 2, 1, 2]]]
    with pytest.raises(ShapeError, match="at least 2 dimensions"):
        pt.tile([[1]], 2, ndim=1)


@given(data=st.data())
def test_roll(data, draw, evaluate):
    value = draw.array(data)
    x = draw.variable(data, value)
    values = {x: value}
    shift = data.draw(st.integers(-5, 5))
    axis = data.draw(st.none() | st.integers(-value.ndim, value.ndim - 1)) if value.ndim else None
    found = evaluate(pt.roll(x, _symbolic(data, shift, values), axis), values)
    np.testing.assert_array_equal(found, np.roll(value, shift, axis))


def test_roll_along_several_axes(evaluate):
    value = np.arange(12).reshape(3, 4)
    for shift, axis in (((1, 2), (0, 1)), (1, (0, 1)), ((1, 2), (0, 0)), ((1, 2), 0)):
        found = evaluate(pt.roll(pt.constant(value), shift, axis))
        np.testing.assert_array_equal(found, np.roll(value, shift, axis))
    with pytest.raises(ShapeError, match="3 shifts for 2 axes"):
        pt.roll(pt.matrix("x"), (1, 2, 3), (0, 1))


def test_static_shapes():
    x = pt.tensor("x", shape=(2, 3))
    assert pt.repeat(x, 2).type.shape == (12,)
    assert pt.repeat(x, [1, 3], axis=0).type.shape == (4, 3)
    assert pt.tile(x, (2, 1, 3)).type.shape == (2, 2, 9)
    assert pt.roll(x, 1, axis=1).type.shape == (2, 3)


WRONG = {
    "length": (lambda: pt.repeat([1, 2], [1, 2, 3]), ShapeError, "must be of size 2"),
    "negative": (lambda: pt.repeat([1, 2], -1), ShapeError, "not be negative"),
    "negative counts": (lambda: pt.repeat([1, 2], [1, -1]), ShapeError, "not be negative"),
    "float": (lambda: pt.repeat([1, 2], 1.5), DtypeError, "integer"),
    "float counts": (lambda: pt.repeat([1, 2], [1.5, 2.0]), DtypeError, "vector of integers"),
    "matrix": (lambda: pt.repeat([1, 2], [[1, 2]]), ShapeError, "one number or a vector"),
    "tile float": (lambda: pt.tile([1, 2], 1.5), DtypeError, "integer"),
    "tile negative": (lambda: pt.tile([1, 2], -1), ShapeError, "not be negative"),
    "roll float": (lambda: pt.roll([1, 2], 1.5), DtypeError, "integer"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses(name):
    build, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        build()


def test_fails_at_run_time(evaluate):
    x, counts = pt.vector("x"), pt.lvector("counts")
    out = pt.repeat(x, counts)
    for wrong in ([1], [1, 2, 3], [1, -1]):
        with pytest.raises(ShapeError):
            evaluate(out, {x: np.ones(2), counts: np.array(wrong)})


DERIVATIVES = {
    "repeat": lambda x: pt.repeat(x, 2, axis=1),
    "repeat counts": lambda x: pt.repeat(x, [1, 0, 2], axis=1),
    "tile": lambda x: pt.tile(x, (2, 2)),
    "roll": lambda x: pt.roll(x, 1, axis=1),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name, check_derivatives):
    build = DERIVATIVES[name]
    check_derivatives(lambda x: build(x) ** 2, [np.arange(6.0).reshape(2, 3)], order=2)


def test_counts_have_no_gradient():
    counts = pt.lvector("counts")
    node = RepeatIndex()(counts).owner
    (gradient,) = contract.input_gradients(node, [pt.dvector("g")])
    assert isinstance(gradient.type, NullType)
