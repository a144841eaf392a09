"""Running sums and products against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import OpContractError, ShapeError
from phintys.gradient import grad

CASES = {"cumsum": (pt.cumsum, np.cumsum), "cumprod": (pt.cumprod, np.cumprod)}
MODES = {"add": np.add, "mul": np.multiply}


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_like_numpy(name, data, draw, evaluate):
    build, function = CASES[name]
    value = draw.array(data)
    x = draw.variable(data, value)
    axis = data.draw(
        st.none() | st.integers(-value.ndim, value.ndim - 1) if value.ndim else st.none(), "axis"
    )
    out = build(x, axis=axis)
    result = evaluate(out, {x: value})
    with np.errstate(all="ignore"):
        expected = function(value, axis=axis)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    if axis is not None:
        assert out.type.shape == x.type.shape


@pytest.mark.parametrize("name", CASES)
def test_dtype(name, evaluate):
    build, function = CASES[name]
    x = pt.tensor("x", dtype="int8", shape=(None,))
    value = np.array([100, 100, 100], np.int8)
    for dtype in ("int8", "float32", "complex128"):
        with np.errstate(all="ignore"):
            expected = function(value, dtype=dtype)
        result = evaluate(build(x, dtype=dtype), {x: value})
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("mode", MODES)
@given(data=st.data())
def test_exclusive_and_reverse(mode, data, draw, evaluate):
    value = draw.array(data, ("int64", "float64", "complex64"), min_dims=1, finite=True)
    x = draw.variable(data, value)
    axis = data.draw(st.integers(0, value.ndim - 1))
    exclusive, reverse = data.draw(st.booleans()), data.draw(st.booleans())
    result = evaluate(pt.CumOp(axis, mode, exclusive, reverse)(x), {x: value})
    rows = np.moveaxis(value, axis, -1)
    rows = rows[..., ::-1] if reverse else rows
    if exclusive:
        first = np.full((*rows.shape[:-1], 1), 0 if mode == "add" else 1, value.dtype)
        rows = np.concatenate([first, rows], axis=-1)[..., : rows.shape[-1]]
    expected = MODES[mode].accumulate(rows, axis=-1)
    expected = expected[..., ::-1] if reverse else expected
    np.testing.assert_array_equal(np.moveaxis(result, axis, -1), expected)


def _recurrence(a, b):
    u = np.zeros_like(a)
    for i in range(len(a) - 1):
        u[i + 1] = b[i] + a[i] * u[i]
    return u


@given(data=st.data())
def test_linear_recurrence(data, draw, evaluate):
    a = draw.array(data, ("float32", "float64", "complex128"), min_dims=1, finite=True)
    b = draw.array(data, (a.dtype.name,), shape=a.shape, finite=True)
    x, y = draw.variable(data, a, "a"), draw.variable(data, b, "b")
    axis = data.draw(st.integers(0, a.ndim - 1))
    result = evaluate(pt.LinearRecurrence(axis)(x, y), {x: a, y: b})
    expected = np.moveaxis(_recurrence(np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)), 0, axis)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    result = evaluate(pt.LinearRecurrence(axis, reverse=True)(x, y), {x: a, y: b})
    expected = evaluate(pt.LinearRecurrence(axis)(x, y), {x: np.flip(a, axis), y: np.flip(b, axis)})
    np.testing.assert_array_equal(np.flip(result, axis), expected)


VALUES = {
    "no zero": [2.0, -3.0, 0.5, 1.5],
    "a zero": [2.0, 0.0, 0.5, 1.5],
    "a zero first": [0.0, 2.0, 0.5, 1.5],
    "two zeros": [2.0, 0.0, 0.5, 0.0],
    "only zeros": [0.0, 0.0, 0.0],
    "one": [2.0],
    "none": [],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_derivatives(mode, exclusive, reverse, check_derivatives):
    op = pt.CumOp(0, mode, exclusive, reverse)
    for value in VALUES.values():
        check_derivatives(op, [value], order=3)
    check_derivatives(op, [np.array([1 + 2j, 0, 3 - 1j])], order=2)


@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_of_the_recurrence(reverse, check_derivatives):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 2, 4))
    a[0, 1] = a[1, 2] = 0
    check_derivatives(pt.LinearRecurrence(1, reverse), [a, b], order=3)
    check_derivatives(pt.LinearRecurrence(1, reverse), [a + 1j, b - 1j], order=2)


@pytest.mark.parametrize("axis", [None, 0, 1, -2])
@pytest.mark.parametrize("name", CASES)
def test_derivatives_along_axes(name, axis, check_derivatives):
    build, _ = CASES[name]
    value = np.random.default_rng(0).normal(size=(3, 4))
    value[1, 2] = 0
    check_derivatives(lambda x: build(x, axis=axis), [value], order=2)


def test_gradient_of_integers(evaluate):
    x = pt.lvector("x")
    for build, _ in CASES.values():
        gradient = grad(pt.sum(pt.cast(build(x), "float64")), x)
        np.testing.assert_array_equal(evaluate(gradient, {x: np.array([1, 2])}), [0, 0])
    gradient = grad(pt.sum(pt.cumsum(x, dtype="float64")), x)
    np.testing.assert_array_equal(evaluate(gradient, {x: np.array([1, 2])}), [2, 1])


@given(data=st.data())
def test_diff(data, draw, evaluate):
    value = draw.array(data, min_dims=1, finite=True)
    x = draw.variable(data, value)
    axis = data.draw(st.integers(-value.ndim, value.ndim - 1))
    n = data.draw(st.integers(0, 3))
    with np.errstate(all="ignore"):
        expected = np.diff(value, n, axis)
    out = pt.diff(x, n, axis)
    result = evaluate(out, {x: value})
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def test_derivatives_of_diff(check_derivatives):
    value = np.random.default_rng(0).normal(size=(3, 4))
    check_derivatives(lambda x: pt.diff(x, 2), [value])


def test_wrong_arguments(evaluate):
    x = pt.matrix("x")
    with pytest.raises(ShapeError, match="out of range"):
        pt.cumsum(x, axis=2)
    with pytest.raises(OpContractError, match="'add' or 'mul'"):
        pt.CumOp(0, "max")
    with pytest.raises(OpContractError, match="from the front"):
        pt.CumOp(-1)
    with pytest.raises(OpContractError, match="from the front"):
        pt.LinearRecurrence(-1)
    with pytest.raises(ShapeError, match="has 2 dimensions"):
        pt.CumOp(2)(x)
    with pytest.raises(ShapeError, match="one shape"):
        pt.LinearRecurrence(0)(x, pt.vector("b"))
    with pytest.raises(ShapeError, match="must not be negative"):
        pt.diff(x, -1)
    a, b = pt.dvector("a"), pt.dvector("b")
    with pytest.raises(ShapeError, match=r"shape \(2,\) and terms of shape \(3,\)"):
        evaluate(pt.LinearRecurrence(0)(a, b), {a: np.zeros(2), b: np.zeros(3)})


def test_names():
    assert str(pt.CumOp(1)) == "Cumsum{axis=1}"
    assert str(pt.CumOp(0, "mul", True, True)) == "Cumprod{axis=0, exclusive, reverse}"
    assert pt.CumOp(0) == pt.CumOp(0, "add")
    assert pt.CumOp(0) != pt.CumOp(0, reverse=True)
