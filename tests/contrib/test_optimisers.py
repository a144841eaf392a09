"""Optimisers, compared with the same steps in NumPy."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.contrib import adagrad, adam, adamw, averaged, clip_by_norm, momentum, sgd

START = np.array([1.0, -2.0, 0.5])
SCALE = np.array([1.0, 10.0, 0.1])
STEPS = 6


def numpy_sgd(p, g, state, rate=0.01):
    return p - rate * g


def numpy_momentum(p, g, state, rate=0.01, keep=0.9, nesterov=False):
    state["v"] = v = keep * state.get("v", 0 * p) - rate * g
    return p + keep * v - rate * g if nesterov else p + v


def numpy_adagrad(p, g, state, rate=0.01):
    state["s"] = s = state.get("s", 0 * p) + g**2
    return p - rate * g / (np.sqrt(s) + 1e-8)


def numpy_adam(p, g, state, rate=0.001, beta1=0.9, beta2=0.999):
    state["t"] = t = state.get("t", 0) + 1
    state["m"] = m = beta1 * state.get("m", 0 * p) + (1 - beta1) * g
    state["v"] = v = beta2 * state.get("v", 0 * p) + (1 - beta2) * g**2
    return p - rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + 1e-8)


def numpy_adamw(p, g, state, rate=0.001, weight_decay=0.01):
    return numpy_adam(p, g, state, rate) - rate * weight_decay * p


CASES = [
    (sgd, numpy_sgd, {}, {}),
    (momentum, numpy_momentum, {}, {}),
    (
        momentum,
        numpy_momentum,
        {"momentum": 0.5, "nesterov": True},
        {"keep": 0.5, "nesterov": True},
    ),
    (adagrad, numpy_adagrad, {}, {}),
    (adam, numpy_adam, {}, {}),
    (adamw, numpy_adamw, {}, {}),
    (adamw, numpy_adamw, {"weight_decay": 0.5}, {"weight_decay": 0.5}),
    (adam, numpy_adam, {"beta1": 0.5, "beta2": 0.9}, {"beta1": 0.5, "beta2": 0.9}),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("optimiser", "expected", "options", "numpy_options"), CASES)
def test_steps_are_those_of_numpy(optimiser, expected, options, numpy_options, dtype):
    w = phintys.shared(START.astype(dtype), name="w")
    b = phintys.shared(np.asarray(3.0, dtype), name="b")
    cost = (SCALE.astype(dtype) * w**2).sum() + pt.exp(b)
    updates = optimiser(cost, [w, b], learning_rate=0.125, **options)
    assert all(update.type.dtype in {dtype, "int64"} for update in updates.values())
    step = phintys.function([], cost, updates=updates)
    p, q, of_p, of_q = START.copy(), np.array(3.0), {}, {}
    for _ in range(STEPS):
        step()
        p = expected(p, 2 * SCALE * p, of_p, rate=0.125, **numpy_options)
        q = expected(q, np.exp(q), of_q, rate=0.125, **numpy_options)
        tolerance = 1e-12 if dtype == "float64" else 1e-4
        np.testing.assert_allclose(w.get_value(), p, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(b.get_value(), q, rtol=tolerance, atol=tolerance)
    assert w.get_value().dtype == b.get_value().dtype == dtype


@pytest.mark.parametrize("optimiser", [sgd, momentum, adagrad, adam])
def test_learning_rates_may_be_symbolic_or_shared(optimiser):
    results = []
    rate = pt.dscalar("rate")
    kept = phintys.shared(0.25, name="rate")
    for given in (0.25, rate, kept):
        w = phintys.shared(START.astype("float32"), name="w")
        inputs = [rate] if given is rate else []
        step = phintys.function(inputs, updates=optimiser((w**2).sum(), [w], learning_rate=given))
        step(*([0.25] if inputs else []))
        results.append(w.get_value())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    assert results[0].dtype == "float32"
    kept.set_value(0.0)
    before = w.get_value()
    step()
    if optimiser is not momentum:  # which goes on
        np.testing.assert_array_equal(w.get_value(), before)


def test_gradients_may_be_given():
    w = phintys.shared(START, name="w")
    gradients = [pt.clip(phintys.grad((w**2).sum(), w), -1.0, 1.0)]
    phintys.function([], updates=sgd(gradients, [w], learning_rate=1.0))()
    np.testing.assert_array_equal(w.get_value(), [0.0, -1.0, -0.5])


def test_parameters_that_broadcast_keep_doing_so():
    w = phintys.shared(np.ones((3, 1)), name="w", shape=(None, 1))
    x = pt.dmatrix("x")
    for optimiser in (sgd, momentum, adagrad, adam):
        updates = optimiser((x * w).sum(), [w])
        assert all(s.type.is_super(u.type) for s, u in updates.items() if s.ndim)
        phintys.function([x], updates=updates)(np.ones((3, 4)))


def test_state_is_named_after_the_parameter():
    w = phintys.shared(START, name="w")
    names = {variable.name for variable in adam((w**2).sum(), [w])}
    assert names == {"w", "w_mean", "w_square", "adam_steps"}
    assert adam(w.sum(), []) == {}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (lambda w: w, r"write \[w\] for a single one"),
        (lambda w: [w, w], "w is given twice"),
        (lambda w: [pt.dvector("x")], "a parameter is a shared variable, got x"),
        (lambda w: [phintys.shared([1, 2], name="k")], "only floats can be learned"),
        (lambda w: [w, phintys.shared(0.0)], "1 gradients were given for 2 parameters"),
    ],
)
def test_wrong_parameters(params, message):
    w = phintys.shared(START, name="w")
    with pytest.raises(ArgumentError, match=message):
        sgd([w * 2], params(w))


@pytest.mark.parametrize(("largest", "scale"), [(100.0, 1.0), (6.5, 0.5), (0.0, 0.0)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_are_clipped_by_the_norm_of_all(largest, scale, dtype):
    x = pt.vector("x", dtype=dtype)
    a = pt.scalar("a", dtype=dtype)
    f = phintys.function([x, a], clip_by_norm([x, a], largest))
    given = np.array([3.0, 4.0], dtype), np.asarray(12.0, dtype)
    for result, value in zip(f(*given), given, strict=True):
        assert result.dtype == dtype
        np.testing.assert_allclose(result, scale * value, rtol=1e-6)


def test_clipped_gradients_of_zero_are_zero():
    assert not phintys.function([], clip_by_norm([pt.zeros(3)], 1.0))()[0].any()
    assert clip_by_norm([], 1.0) == []


def test_averages_are_those_of_the_new_values():
    w = phintys.shared(START, name="w")
    updates, (mean,) = averaged(momentum((w**2).sum(), [w]), [w], decay=0.75)
    step = phintys.function([], updates=updates)
    expected = START
    for _ in range(STEPS):
        step()
        expected = 0.75 * expected + 0.25 * w.get_value()
    np.testing.assert_allclose(mean.get_value(), expected)


def test_wrong_arguments_of_clipping_and_averages():
    w, v = phintys.shared(START, name="w"), phintys.shared(START, name="v")
    with pytest.raises(ArgumentError, match=r"must be a list of variables; write \[w\]"):
        clip_by_norm(w, 1.0)
    with pytest.raises(ArgumentError, match="have none of v"):
        averaged(sgd((w**2).sum(), [w]), [v])
