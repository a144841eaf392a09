"""Norms and traces against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import OpContractError, ShapeError

ORDERS = (0, 1, 2, 3, 0.5, -1, -2, np.inf, -np.inf)
MATRIX_ORDERS = ("fro", 1, -1, np.inf, -np.inf)
RTOL = {"float16": 1e-2, "float32": 1e-5, "complex64": 1e-5}


def _compare(result, expected, exact_dtype=True):
    expected = np.asarray(expected)
    if exact_dtype:
        assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    rtol = RTOL.get(result.dtype.name, 1e-12)
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol)


def _vector(draw, data, **options):
    dtypes = ("int8", "bool", "float32", "float64", "complex128")
    return draw.array(data, dtypes, min_side=1, finite=True, **options)


@pytest.mark.parametrize("order", ORDERS)
@given(data=st.data())
def test_vector_norm(order, data, draw, evaluate):
    value = _vector(draw, data)
    x = draw.variable(data, value)
    axis, keepdims = draw.axes(data, value.ndim), data.draw(st.booleans(), "keepdims")
    if axis == ():
        axis = None
    with np.errstate(all="ignore"):
        wide = value.astype("float64") if value.dtype.kind in "bi" else value
        expected = np.linalg.vector_norm(wide, ord=order, axis=axis, keepdims=keepdims)
    result = evaluate(pt.linalg.vector_norm(x, order, axis, keepdims), {x: value})
    _compare(result, expected)


@pytest.mark.parametrize("order", MATRIX_ORDERS)
@given(data=st.data())
def test_matrix_norm(order, data, draw, evaluate):
    value = _vector(draw, data, min_dims=2)
    x = draw.variable(data, value)
    axes = tuple(data.draw(st.permutations(range(-value.ndim, 0)))[:2])
    keepdims = data.draw(st.booleans(), "keepdims")
    wide = value.astype("float64") if value.dtype.kind in "bi" else value
    expected = np.linalg.norm(wide, ord=order, axis=axes, keepdims=keepdims)
    _compare(evaluate(pt.linalg.matrix_norm(x, order, axes, keepdims), {x: value}), expected)
    _compare(evaluate(pt.linalg.norm(x, order, axes, keepdims), {x: value}), expected)


@given(data=st.data())
def test_norm(data, draw, evaluate):
    value = _vector(draw, data)
    x = draw.variable(data, value)
    wide = value.astype("float64") if value.dtype.kind in "bi" else value
    _compare(evaluate(pt.linalg.norm(x), {x: value}), np.linalg.norm(wide))
    if value.ndim:
        axis = data.draw(st.integers(-value.ndim, value.ndim - 1))
        for order in (None, 1, np.inf):
            result = evaluate(pt.linalg.norm(x, order, axis), {x: value})
            _compare(result, np.linalg.norm(wide, order, axis))
    if value.ndim == 2:
        result = evaluate(pt.linalg.norm(x, 1), {x: value})
        _compare(result, np.linalg.norm(wide, 1))


def test_method(evaluate):
    x = pt.dmatrix("x")
    value = np.array([[1.0, -2.0], [3.0, 4.0]])
    np.testing.assert_allclose(evaluate(x.norm(), {x: value}), np.sqrt(30))
    np.testing.assert_allclose(evaluate(x.norm(1, axis=0), {x: value}), [4, 6])


@given(data=st.data())
def test_trace_and_diagonal(data, draw, evaluate):
    value = draw.array(data, ("int8", "float64", "bool"), min_dims=2, finite=True)
    x = draw.variable(data, value)
    axes = data.draw(st.permutations(range(value.ndim)))[:2]
    offset = data.draw(st.integers(-2, 2))
    for build, function in ((pt.linalg.trace, np.trace), (pt.linalg.diagonal, np.diagonal)):
        result = evaluate(build(x, offset, *axes), {x: value})
        expected = function(value, offset, *axes)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)
        result = evaluate(build(x), {x: value})
        np.testing.assert_array_equal(result, function(value, 0, -2, -1))


@pytest.mark.parametrize("order", [order for order in ORDERS if order != 0])
def test_derivatives(order, check_derivatives):
    value = np.random.default_rng(0).uniform(1, 2, (3, 4)) * np.array([1, -1, 1, -1])
    check_derivatives(lambda x: pt.linalg.vector_norm(x, order), [value], order=2)
    check_derivatives(lambda x: pt.linalg.vector_norm(x, order, axis=0), [value + 1j])


@pytest.mark.parametrize("order", MATRIX_ORDERS)
def test_derivatives_of_matrix_norms(order, check_derivatives):
    value = np.random.default_rng(0).uniform(1, 2, (2, 3, 4))
    check_derivatives(lambda x: pt.linalg.matrix_norm(x, order), [value], order=2)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", [(-2, -1), (2, 0)])
@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_norms_by_singular_values(order, axes, keepdims):
    value = np.random.default_rng(0).normal(size=(2, 3, 4))
    found = pt.linalg.matrix_norm(value, order, axes, keepdims).eval()
    np.testing.assert_allclose(found, np.linalg.norm(value, order, axes, keepdims))
    found = pt.linalg.norm(value, order, axes, keepdims).eval()
    np.testing.assert_allclose(found, np.linalg.norm(value, order, axes, keepdims))


def test_wrong_arguments():
    x = pt.tensor3("x")
    with pytest.raises(OpContractError, match="order of a matrix norm"):
        pt.linalg.matrix_norm(x, 3)
    with pytest.raises(OpContractError, match="order of a vector norm"):
        pt.linalg.vector_norm(x, "fro")
    with pytest.raises(ShapeError, match="one axis or for two"):
        pt.linalg.norm(x, 1)
    with pytest.raises(OpContractError, match="two axes"):
        pt.linalg.matrix_norm(x, 1, axis=0)
    with pytest.raises(ShapeError, match="out of range"):
        pt.linalg.matrix_norm(pt.vector("v"))
    with pytest.raises(ShapeError, match="named twice"):
        pt.linalg.matrix_norm(x, axis=(0, 0))


def test_facade():
    for name in pt.linalg.__all__:
        assert callable(getattr(pt.linalg, name))
