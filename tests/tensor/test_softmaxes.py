"""Softmax, log_softmax and logsumexp against SciPy, and against exact arithmetic."""

from functools import partial

import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import OpContractError, ShapeError
from phintys.gradient import grad

CASES = {
    "softmax": (pt.special.softmax, scipy.special.softmax),
    "log_softmax": (pt.special.log_softmax, scipy.special.log_softmax),
    "logsumexp": (pt.special.logsumexp, scipy.special.logsumexp),
}
RTOL = {"float16": 2e-3, "float32": 2e-6, "complex64": 2e-6}
BIG = [1000.0, -1000.0, 88.0, -745.0, 1e-20]


def _wide(value):
    if value.dtype.kind in "biu":
        return value.astype(np.float64)
    return value.astype(np.float32) if value.dtype == np.float16 else value


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_like_scipy(name, data, draw, evaluate):
    build, function = CASES[name]
    value = draw.array(data, finite=True, min_side=1)
    x = draw.variable(data, value)
    axis = draw.axes(data, value.ndim)
    if axis == ():
        axis = None
    if value.dtype.kind not in "iuc" and data.draw(st.booleans(), "big"):
        with np.errstate(over="ignore"):
            value = np.asarray(value * np.asarray(data.draw(st.sampled_from(BIG)), value.dtype))
        x = pt.tensor("x", dtype=value.dtype.name, shape=(None,) * value.ndim)
    out = build(x, axis=axis)
    result = evaluate(out, {x: value})
    wide = _wide(value)
    with np.errstate(all="ignore"):
        expected = np.asarray(function(wide, axis=axis))
    assert result.dtype == ("float64" if value.dtype.kind in "biu" else value.dtype)
    assert result.shape == expected.shape
    rtol = RTOL.get(result.dtype.name, 1e-12)
    scale = np.max(np.abs(wide), initial=0) if name != "softmax" else 0
    if np.isfinite(scale):
        with np.errstate(over="ignore"):
            expected = expected.astype(result.dtype)
        if result.dtype.kind == "c" and name != "softmax":
            # Logarithms of complex numbers agree up to turns of 2 pi i.
            result, expected = np.exp(result), np.exp(expected)
        np.testing.assert_allclose(result, expected, rtol=10 * rtol, atol=rtol * (1 + scale))


@given(data=st.data())
def test_logsumexp_keepdims(data, draw, evaluate):
    value = draw.array(data, ("float64",))
    x = draw.variable(data, value)
    axis = draw.axes(data, value.ndim)
    kept = evaluate(pt.logsumexp(x, axis=axis, keepdims=True), {x: value})
    assert kept.shape == np.isnan(value).any(axis=axis, keepdims=True).shape
    dropped = evaluate(pt.logsumexp(x, axis=axis), {x: value})
    np.testing.assert_array_equal(kept.reshape(dropped.shape), dropped)


@given(data=st.data())
def test_defaults_along_the_last_axis(data, draw, evaluate):
    value = draw.array(data, ("float64",), min_dims=1, min_side=1, finite=True)
    x = draw.variable(data, value)
    np.testing.assert_allclose(
        evaluate(pt.softmax(x), {x: value}), scipy.special.softmax(value, axis=-1), rtol=1e-12
    )
    np.testing.assert_allclose(
        evaluate(pt.log_softmax(x), {x: value}),
        scipy.special.log_softmax(value, axis=-1),
        rtol=1e-12,
        atol=1e-15,
    )


INF = np.inf


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([-INF, -INF], -INF),
        ([-INF, 1.0], 1.0),
        ([INF, 1.0], INF),
        ([INF, INF], INF),
        ([INF, -INF], INF),
        ([np.nan, 1.0], np.nan),
        ([np.nan, INF], np.nan),
        ([], -INF),
        ([1000.0, 1000.0], 1000 + np.log(2)),
        ([-1000.0], -1000.0),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_logsumexp_of_special_values(value, expected, dtype, evaluate):
    x = pt.tensor("x", dtype=dtype, shape=(None,))
    result = evaluate(pt.logsumexp(x), {x: np.array(value, dtype)})
    np.testing.assert_array_equal(result, np.asarray(expected).astype(dtype))


def test_softmax_of_special_values(evaluate):
    x = pt.dvector("x")

    def values(*elements):
        given_values = {x: np.array(elements)}
        return evaluate([pt.softmax(x), pt.log_softmax(x)], given_values)

    soft, log = values(-INF, 0.0, 0.0)
    np.testing.assert_array_equal(soft, [0, 0.5, 0.5])
    np.testing.assert_allclose(log, [-INF, -np.log(2), -np.log(2)], rtol=1e-15)
    soft, log = values(-INF, -INF)
    assert np.all(np.isnan(soft))
    assert np.all(np.isnan(log))
    soft, log = values(INF, 0.0)
    np.testing.assert_array_equal(log, [np.nan, -INF])
    assert np.all(np.isnan(soft))
    soft, log = values()
    assert soft.shape == log.shape == (0,)


def _exact(function, elements):
    """Compute with 60 digits, from the very elements."""
    with mpmath.workdps(60):
        largest, *others = sorted((mpmath.mpf(float(e)) for e in elements), reverse=True)
        rest = mpmath.log1p(mpmath.fsum(mpmath.exp(x - largest) for x in others))
        if function == "logsumexp":
            return float(largest + rest)
        logs = [mpmath.mpf(float(e)) - largest - rest for e in elements]
        return [float(mpmath.exp(y) if function == "softmax" else y) for y in logs]


@pytest.mark.parametrize("name", CASES)
@given(elements=st.lists(st.floats(-60, 60), min_size=1, max_size=5))
def test_accuracy(name, elements, evaluate):
    build, _ = CASES[name]
    x = pt.dvector("x")
    result = evaluate(build(x), {x: np.array(elements)})
    expected = _exact(name, elements)
    # logsumexp may be 0 by cancellation of the largest element and the rest.
    atol = 1e-15 * max(map(abs, elements)) if name == "logsumexp" else 0
    np.testing.assert_allclose(result, expected, rtol=3e-14, atol=atol)


def test_tiny_terms_are_kept(evaluate):
    x = pt.dvector("x")
    value = {x: np.array([0.0, -50.0])}
    np.testing.assert_allclose(evaluate(pt.logsumexp(x), value), np.exp(-50.0), rtol=1e-14)
    np.testing.assert_allclose(
        evaluate(pt.log_softmax(x), value), [-np.exp(-50.0), -50.0], rtol=1e-14
    )


# ---- derivatives ---------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("name", CASES)
def test_derivatives(name, axis, check_derivatives):
    build, _ = CASES[name]
    value = np.random.default_rng(0).normal(size=(3, 4))
    check_derivatives(partial(build, axis=axis), [value], order=3)


@pytest.mark.parametrize("name", CASES)
def test_complex_derivatives(name, check_derivatives):
    build, _ = CASES[name]
    value = np.random.default_rng(0).normal(size=(3, 2, 2)) @ np.array([1, 1j])
    check_derivatives(partial(build, axis=0), [value], order=2)


def test_gradient_far_from_zero(evaluate):
    x = pt.dvector("x")
    value = {x: np.array([1e6, 1e6 + 1, 1e6 - 1])}
    gradient = evaluate(grad(pt.logsumexp(x), x), value)
    np.testing.assert_allclose(gradient, scipy.special.softmax([0, 1, -1]), rtol=1e-14)
    gradient = evaluate(grad(-pt.log_softmax(x)[0], x), value)
    expected = scipy.special.softmax([0, 1, -1]) - [1, 0, 0]
    np.testing.assert_allclose(gradient, expected, rtol=1e-14)


def test_gradient_of_integers(evaluate):
    x = pt.lvector("x")
    gradient = grad(pt.logsumexp(x), x)
    assert gradient.dtype == "float64"
    np.testing.assert_allclose(evaluate(gradient, {x: np.array([3, 3])}), [0.5, 0.5])


# ---- types and errors ----------------------------------------------------------------------------


def test_types():
    x = pt.tensor("x", dtype="float32", shape=(2, None))
    assert pt.softmax(x).type == x.type
    assert pt.logsumexp(x, axis=1).type.shape == (2,)
    assert pt.logsumexp(x, axis=1, keepdims=True).type.shape == (2, 1)
    assert pt.special.softmax(x).owner.op == pt.special.softmax(x, axis=(0, 1)).owner.op
    assert str(pt.softmax(x).owner.op) == "Softmax{axis=1}"
    assert str(pt.logsumexp(x).owner.op) == "LogSumExp"


def test_wrong_arguments():
    x = pt.matrix("x")
    with pytest.raises(ShapeError, match="out of range"):
        pt.softmax(x, axis=2)
    with pytest.raises(ShapeError, match="out of range"):
        pt.softmax(pt.scalar("s"))
    with pytest.raises(ShapeError, match="2 dimensions"):
        pt.special.Softmax(axis=2)(x)
    with pytest.raises(OpContractError, match="from the front"):
        pt.special.LogSumExp(axis=-1)


def test_facade():
    for name in pt.special.__all__:
        assert callable(getattr(pt.special, name))
