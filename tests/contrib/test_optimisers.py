"""Optimisers, compared with the same steps in NumPy."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.contrib import adagrad, adam, momentum, sgd

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
