"""Argmax and argmin against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import DtypeError, NullGradientError, OpContractError, ShapeError
from phintys.gradient import Rop, grad

CASES = {"argmax": (pt.argmax, np.argmax), "argmin": (pt.argmin, np.argmin)}


def _reference(function, x, axis, keepdims):
    """NumPy takes at most one axis: bring several to the end and make them one."""
    if axis is None or isinstance(axis, int):
        return function(x, axis=axis, keepdims=keepdims)
    axes = sorted(axis)
    kept = [dim for dim in range(x.ndim) if dim not in axes]
    moved = x.transpose(*kept, *axes)
    length = int(np.prod([x.shape[i] for i in axes], dtype=int))
    result = function(moved.reshape(*(x.shape[i] for i in kept), length), axis=-1)
    return np.expand_dims(result, tuple(axes)) if keepdims else result


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_like_numpy(name, data, draw, evaluate):
    build, function = CASES[name]
    value = draw.array(data)
    x = draw.variable(data, value)
    axis = draw.axes(data, value.ndim)
    keepdims = data.draw(st.booleans(), "keepdims")
    out = build(x, axis=axis, keepdims=keepdims)
    axes = range(value.ndim) if axis is None else np.atleast_1d(np.array(axis, int))
    if any(value.shape[i] == 0 for i in axes):
        with pytest.raises(ShapeError, match="no element along axis"):
            evaluate(out, {x: value})
        return
    result = evaluate(out, {x: value})
    assert result.dtype == "int64"
    np.testing.assert_array_equal(result, _reference(function, value, axis, keepdims))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "value",
    [
        np.array([1.0, np.nan, 3.0, np.nan]),
        np.array([0.0, -0.0, 0.0]),
        np.array([-0.0, 0.0]),
        np.array([5, 0, 255, 0, 255], np.uint8),
        np.array([-128, 127, -128], np.int8),
        np.array([2**64 - 1, 0, 2**63], np.uint64),
        np.array([False, True, False, True]),
        np.array([-np.inf, np.inf, -np.inf, np.inf]),
        np.array([1 + 2j, 1 + 3j, 1 - 3j]),
        np.array([1j * np.nan, 5]),
    ],
    ids=str,
)
def test_awkward_values(name, value, evaluate):
    build, function = CASES[name]
    x = pt.tensor("x", dtype=value.dtype.name, shape=(None,))
    assert evaluate(build(x), {x: value}) == function(value)


@given(data=st.data())
def test_max_and_argmax(data, draw, evaluate):
    value = draw.array(data, min_dims=1, min_side=1)
    x = draw.variable(data, value)
    axis = data.draw(st.integers(0, value.ndim - 1))
    largest, index = evaluate(pt.max_and_argmax(x, axis), {x: value})
    np.testing.assert_array_equal(largest, np.max(value, axis))
    np.testing.assert_array_equal(index, np.argmax(value, axis))


@pytest.mark.parametrize("name", CASES)
def test_symbolic_axis(name, evaluate):
    build, function = CASES[name]
    x, axis = pt.dtensor3("x"), pt.lscalar("axis")
    value = np.random.default_rng(0).normal(size=(2, 3, 4))
    for position in (0, 1, 2, -1):
        result = evaluate(build(x, axis=axis), {x: value, axis: np.array(position)})
        np.testing.assert_array_equal(result, function(value, axis=position))
    with pytest.raises(ShapeError, match="out of range"):
        evaluate(build(x, axis=axis), {x: value, axis: np.array(3)})
    with pytest.raises(ShapeError, match="no element along axis 0"):
        evaluate(build(x, axis=axis), {x: value[:0], axis: np.array(0)})


def test_constant_axis():
    x = pt.matrix("x")
    assert pt.argmax(x, axis=pt.constant(1)).owner.op == pt.argmax(x, axis=1).owner.op


def test_gradient_is_zero_for_the_array_and_undefined_for_the_axis(evaluate):
    x, axis = pt.dmatrix("x"), pt.lscalar("axis")
    value = np.array([[1.0, 2.0], [4.0, 3.0]])
    for build in (pt.argmax, pt.argmin):
        cost = pt.sum(pt.cast(build(x, axis=axis), "float64"))
        given_values = {x: value, axis: np.array(0)}
        np.testing.assert_array_equal(evaluate(grad(cost, x), given_values), np.zeros((2, 2)))
        with pytest.raises(NullGradientError, match="fraction of an axis"):
            grad(cost, axis)
        cost = pt.sum(pt.cast(build(x, axis=0), "float64"))
        np.testing.assert_array_equal(evaluate(grad(cost, x), {x: value}), np.zeros((2, 2)))


def test_direction_is_zero(evaluate):
    x, v = pt.dmatrix("x"), pt.dmatrix("v")
    value = np.array([[1.0, 2.0], [4.0, 3.0]])
    out = pt.cast(pt.argmax(x, axis=0), "float64")
    np.testing.assert_array_equal(evaluate(Rop(out, x, v), {x: value, v: value}), [0, 0])


def test_wrong_arguments():
    x = pt.matrix("x")
    with pytest.raises(ShapeError, match="out of range"):
        pt.argmax(x, axis=2)
    with pytest.raises(ShapeError, match="keepdims"):
        pt.argmax(x, axis=pt.lscalar("axis"), keepdims=True)
    with pytest.raises(DtypeError, match="an axis is an integer"):
        pt.argmax(x, axis=pt.dscalar("axis"))
    with pytest.raises(ShapeError, match="an axis without"):
        pt.argmax(x, axis=pt.lvector("axis"))
    with pytest.raises(OpContractError, match="count from the front"):
        pt.Argmax(axis=-1)
    with pytest.raises(ShapeError, match="2 dimensions"):
        pt.Argmax(axis=2)(x)
    with pytest.raises(OpContractError, match="'max' or the 'min'"):
        pt.ArgExtremeAlong("median")


def test_names():
    x = pt.matrix("x")
    assert str(pt.argmax(x).owner.op) == "Argmax"
    assert str(pt.argmin(x, axis=1).owner.op) == "Argmin{axis=1}"
