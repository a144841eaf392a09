"""Means and variances against NumPy."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import DtypeError, ShapeError
from phintys.gradient import grad

CASES = {"mean": (pt.mean, np.mean), "var": (pt.var, np.var), "std": (pt.std, np.std)}
RTOL = {"float16": 5e-3, "float32": 1e-5, "complex64": 1e-5}


def _expected(function, value, **options):
    """NumPy's result; for float16 that of the same data in float32, rounded."""
    narrow = value.dtype == np.float16
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of empty slices
        result = np.asarray(function(value.astype("f4") if narrow else value, **options))
    return result.astype("f2") if narrow else result


def _compare(result, expected, value):
    assert result.dtype == expected.dtype
    rtol = RTOL.get(value.dtype.name, 1e-12)
    largest = np.max(np.abs(value.astype(complex)), initial=0)
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol * largest)


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_like_numpy(name, data, draw, evaluate):
    build, function = CASES[name]
    value = draw.array(data, finite=True)
    x = draw.variable(data, value)
    options = {
        "axis": draw.axes(data, value.ndim),
        "keepdims": data.draw(st.booleans(), "keepdims"),
    }
    if name != "mean":
        options["ddof"] = data.draw(st.sampled_from([0, 1, 2, 0.5]), "ddof")
    result = evaluate(build(x, **options), {x: value})
    _compare(result, _expected(function, value, **options), value)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_values(name, special, evaluate):
    build, function = CASES[name]
    x = pt.dmatrix("x")
    value = np.array([[1.0, special], [2.0, 3.0]])
    for axis in (None, 0, 1):
        result = evaluate(build(x, axis=axis), {x: value})
        np.testing.assert_array_equal(result, _expected(function, value, axis=axis))


def test_nothing_has_no_mean(evaluate):
    x = pt.dmatrix("x")
    value = np.zeros((0, 3))
    for build, _ in CASES.values():
        assert np.all(np.isnan(evaluate(build(x, axis=0), {x: value})))
        assert evaluate(build(x, axis=1), {x: value}).shape == (0,)


def test_dtype(evaluate):
    x = pt.fvector("x")
    value = np.array([1.0, 2.0, 4.0], np.float32)
    for build, function in CASES.values():
        result = evaluate(build(x, dtype="float64"), {x: value})
        expected = function(value, dtype="float64")
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=1e-15)
    assert pt.mean(x, acc_dtype="float64").dtype == "float32"
    assert pt.mean(pt.lvector("i"), dtype="float32").dtype == "float32"


def test_large_counts_in_float16(evaluate):
    # 100,000 is infinite in float16, the mean is not.
    x = pt.tensor("x", dtype="float16", shape=(None,))
    assert evaluate(pt.mean(x), {x: np.full(100_000, 0.5, np.float16)}) == 0.5


def test_symbolic_ddof(evaluate):
    x, ddof = pt.dvector("x"), pt.lscalar("ddof")
    value = np.array([1.0, 2.0, 4.0])
    for degrees in (0, 1, 2):
        result = evaluate(pt.var(x, ddof=ddof), {x: value, ddof: np.array(degrees)})
        np.testing.assert_allclose(result, np.var(value, ddof=degrees))
    np.testing.assert_allclose(
        evaluate(pt.std(x, corrected=True), {x: value}), np.std(value, ddof=1)
    )


def test_known_sizes_need_no_counting():
    x = pt.tensor("x", dtype="float64", shape=(2, None))
    nodes, stack = [], [pt.mean(x, axis=0)]
    while stack:
        node = stack.pop().owner
        if node is not None:
            nodes.append(node)
            stack.extend(node.inputs)
    assert not any(isinstance(node.op, pt.Shape | pt.ShapeI) for node in nodes)


@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
@pytest.mark.parametrize("name", CASES)
def test_derivatives(name, axis, check_derivatives):
    build, _ = CASES[name]
    value = np.random.default_rng(0).normal(size=(3, 4))
    check_derivatives(lambda x: build(x, axis=axis), [value], order=2)


def test_complex_derivatives(check_derivatives):
    value = np.random.default_rng(0).normal(size=(3, 2, 2)) @ np.array([1, 1j])
    for build, _ in CASES.values():
        check_derivatives(lambda x, build=build: build(x, axis=0), [value], order=2)


def test_gradient_of_a_mean_of_integers(evaluate):
    x = pt.lvector("x")
    gradient = grad(pt.mean(x), x)
    assert gradient.dtype == "float64"
    np.testing.assert_array_equal(evaluate(gradient, {x: np.array([1, 2])}), [0.5, 0.5])


@given(data=st.data())
def test_average(data, draw, evaluate):
    value = draw.array(data, ("int8", "float64", "complex128"), min_dims=1, min_side=1, finite=True)
    x, w = draw.variable(data, value), pt.dvector("w")
    axis = data.draw(st.integers(0, value.ndim - 1))
    weights = np.arange(1.0, value.shape[axis] + 1)
    result = evaluate(pt.average(x, axis, w), {x: value, w: weights})
    np.testing.assert_allclose(result, np.average(value, axis, weights))
    full = pt.tensor("full", dtype="float64", shape=(None,) * value.ndim)
    weights = np.arange(1.0, value.size + 1).reshape(value.shape)
    result = evaluate(pt.average(x, weights=full), {x: value, full: weights})
    np.testing.assert_allclose(result, np.average(value, weights=weights))
    np.testing.assert_allclose(evaluate(pt.average(x), {x: value}), np.average(value))


def test_wrong_arguments():
    x = pt.matrix("x")
    with pytest.raises(DtypeError, match="A mean is not an integer"):
        pt.mean(x, dtype="int64")
    with pytest.raises(DtypeError, match="imaginary part"):
        pt.mean(pt.tensor("z", dtype="complex64", shape=()), dtype="float32")
    with pytest.raises(ShapeError, match="out of range"):
        pt.var(x, axis=3)
    with pytest.raises(ShapeError, match="do not fit"):
        pt.average(x, weights=pt.vector("w"))
