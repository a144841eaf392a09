"""Gradients of guarded expressions: what a condition leaves out has no part in them.

All of it holds without any rewriting too.
"""

import warnings

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.compile import Mode
from phintys.passes import PIPELINES

MODES = {
    "native": "native",
    "reference": "reference",
    "not rewritten": Mode("reference", PIPELINES["none"]),
}

# Expression of a vector, elements, gradient of the sum.
EXPRESSIONS = {
    "root": (lambda x: pt.switch(x > 0, pt.sqrt(x), 0), [0, 4], [0, 0.25]),
    "other branch": (lambda x: pt.switch(x <= 0, 0.0, pt.sqrt(x)), [0, 4], [0, 0.25]),
    "log-density": (lambda x: pt.switch(x > 0, pt.log(x), -np.inf), [0, 4, -1], [0, 0.25, 0]),
    "equal to zero": (lambda x: pt.switch(x == 0, 1.0, 1 / x), [0, 4], [0, -1 / 16]),
    "power": (lambda x: pt.switch(x > 0, x**0.5, 0), [0, 4], [0, 0.25]),
    "chain": (
        lambda x: pt.switch(x > 0, pt.exp(2 * pt.sqrt(x * 3)), 0),
        [0, 3],
        [0, np.exp(6)],
    ),
    "difference": (lambda x: pt.switch(x > 0, 1 - pt.sqrt(x), 0), [0, 4], [0, -0.25]),
    "number as condition": (lambda x: pt.switch(pt.sign(x), pt.sqrt(x), 0), [0, 4], [0, 0.25]),
    "nested": (
        lambda x: pt.switch(x > 0, pt.switch(x > 1, pt.log(x - 1), pt.sqrt(x)), 0.0),
        [0, 4, 1, 0.25],
        [0, 1 / 3, 0.5, 1],
    ),
    "two ways to one root": (
        lambda x: pt.switch(x > 0, y := pt.sqrt(x), 0) + pt.switch(x > 1, 2 * y, 0),
        [0, 4, 0.25],
        [0, 0.75, 1],
    ),
    "four ways to one root": (lambda x: _several_ways(x, pt.sqrt(x)), [0, 4, 1], [0, 1.5, 0.5]),
    "sum inside": (lambda x: pt.switch(x[0] > 0, pt.sqrt(x).sum(), 0), [0, 0], [0, 0]),
    "broadcast inside": (
        lambda x: pt.switch(x > 4, pt.sqrt(x[0]), 0),
        [0, 4],
        [0, 0],
    ),
    "matrix": (
        lambda x: pt.switch(x[:, None] > x, pt.sqrt(x[:, None] - x), 0),
        [0, 4],
        [-0.25, 0.25],
    ),
    "reshaped": (
        lambda x: pt.switch(x.reshape((2, 1)) > 0, pt.sqrt(x).reshape((2, 1)), 0),
        [0, 4],
        [0, 0.25],
    ),
    "written into": (
        lambda x: pt.switch(x > 0, pt.set_subtensor(pt.ones_like(x)[:2], pt.sqrt(x)), 0),
        [0, 4],
        [0, 0.25],
    ),
    "joined": (
        lambda x: pt.switch(pt.join(0, x, x) > 0, pt.join(0, pt.sqrt(x), x), 0),
        [0, 4],
        [0, 1.25],
    ),
    "overwritten": (
        lambda x: pt.set_subtensor(pt.sqrt(x)[pt.eq(x, 0)], 0),
        [0, 4],
        [0, 0.25],
    ),
    "maximum": (lambda x: pt.maximum(pt.sqrt(x), 1), [0, 4], [0, 0.25]),
    "clip": (lambda x: pt.clip(pt.sqrt(x), 1, 9), [0, 4], [0, 0.25]),
    "largest": (lambda x: pt.sqrt(x).max(), [0, 4], [0, 0.25]),
    "smallest": (lambda x: (1 / x).min(), [0, 4], [0, -1 / 16]),
    "Composite": (
        lambda x: pt.switch(x > 0, _composite()(x), 0),
        [0, 4],
        [0, 0.5],
    ),
    "x log x": (lambda x: x * pt.log(x), [0, 1], [-np.inf, 1]),
    "entropy": (lambda x: -(3 * x * pt.log(x)), [0, 1], [np.inf, -3]),
    "guarded entropy": (lambda x: pt.switch(x > 0, x * pt.log(x), 0), [0, 1], [0, 1]),
    "xlogy": (lambda x: pt.xlogy(x, x), [0, 1], [-np.inf, 1]),
    "log of a product": (lambda x: pt.log(x * pt.exp(-1000 * x)), [1, 2], [-999, -999.5]),
    "log of an exponential": (lambda x: pt.log(pt.exp(x)), [1000, -1000], [1, 1]),
    "log of a quotient": (lambda x: pt.log(pt.exp(x) / x), [1000, 2], [0.999, 0.5]),
}


def _several_ways(x, y):
    return pt.add(pt.switch(x > 0, y, 0), *(pt.switch(x > k, k * y, 0) for k in (2, 3, 4)))


def _composite():
    s = phintys.scalar.float64("s")
    return pt.Elemwise(phintys.scalar.Composite([s], [phintys.scalar.sqrt(s) * 2]))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_gradient(name, mode):
    build, values, expected = EXPRESSIONS[name]
    x = pt.dvector("x")
    f = phintys.function([x], phintys.grad(build(x).sum(), x), mode=MODES[mode])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(f(np.array(values, float)), expected, rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_second_derivative(mode):
    x = pt.dvector("x")
    first = phintys.grad(pt.switch(x > 0, x**1.5, 0).sum(), x)
    f = phintys.function([x], phintys.grad(first.sum(), x), mode=MODES[mode])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(f([0.0, 4.0]), [0, 0.375])


def test_what_is_written_by_hand_stays():
    # A product with zero is not a guard: 0 * infinity is NaN, as the program says.
    x = pt.dvector("x")
    f = phintys.function([x], pt.switch(x > 0, 1.0, 0.0) * (0.5 / pt.sqrt(x)))
    assert np.isnan(f([0.0])).all()


def test_where_the_condition_holds_an_infinite_derivative_counts():
    x = pt.dvector("x")
    f = phintys.function([x], phintys.grad(pt.switch(x >= 0, pt.sqrt(x), 0).sum(), x))
    assert f([0.0, -1.0]).tolist() == [np.inf, 0.0]


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_float32_and_other_dtypes(mode):
    x, k = pt.fvector("x"), pt.lvector("k")
    y = pt.switch(k > 0, pt.sqrt(x), pt.log(k + x))
    gradient = phintys.grad(y.sum(), x)
    assert gradient.dtype == "float32"
    f = phintys.function([x, k], gradient, mode=mode)
    with np.errstate(all="ignore"):
        found = f(np.float32([4, 0]), [1, 0])
    np.testing.assert_allclose(found, [0.25, np.inf])


def _by_hand(x, keepdims):
    e = pt.exp(x)
    total = e.sum(axis=1, keepdims=True) if keepdims else e.sum(axis=1)[:, None]
    return pt.log(e / total)


@pytest.mark.parametrize("keepdims", [True, False])
def test_log_of_softmax_by_hand(keepdims):
    """Value and gradient are those of log_softmax, where exp overflows too.

    In stable form: the pipeline of the mode ``reference`` does not have the pass for that.
    """
    x = pt.dmatrix("x")
    weights = np.array([[1.0, 0.0, 2.0], [0.5, 1.0, 0.0]])
    values = np.array([[1000.0, 0.0, -1000.0], [1.0, 2.0, 3.0]])
    results = []
    for y in (_by_hand(x, keepdims), pt.log_softmax(x, axis=1)):
        f = phintys.function([x], [y, phintys.grad((y * weights).sum(), x)], mode="native")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            results.append(f(values))
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    y = _by_hand(x, keepdims)[[0, 1], [2, 0]]
    gradient = phintys.function([x], phintys.grad(y.sum(), x), mode="native")(values)
    np.testing.assert_allclose(gradient[0], [-1, 0, 1], atol=1e-12)


def test_log1mexp_at_zero():
    x = pt.dvector("x")
    f = phintys.function([x], phintys.grad(pt.log1mexp(x).sum(), x))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            f([0.0, -0.0, -1.0]), [-np.inf, -np.inf, -1 / np.expm1(1.0)], rtol=1e-14
        )
