"""Scalar functions made of expressions."""

import inspect
import sys

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import OpContractError
from phintys.testing import verify_grad


@ps.from_expression
def swish(x):
    """x * sigmoid(x)."""
    return x * ps.sigmoid(x)


@ps.from_expression
def blend(x, y, weight):
    return weight * x + (1 - weight) * ps.exp(-y)


X = np.linspace(-3.0, 3.0, 7)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_values_and_derivatives(mode):
    x = pt.dvector("x")
    y = swish(x)
    assert isinstance(y.owner.op, pt.Elemwise)
    assert y.owner.inputs == [x]  # one node
    f = phintys.function([x], [y, phintys.grad(y.sum(), x), phintys.Rop(y, x, x)], mode=mode)
    s = 1 / (1 + np.exp(-X))
    slope = s + X * s * (1 - s)
    for value, expected in zip(f(X), [X * s, slope, slope * X], strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-13)
    verify_grad(swish, [X])
    verify_grad(lambda x, y: blend(x, y, 0.25), [X, X])


def test_it_compiles_to_one_kernel():
    x = pt.dvector("x")
    text = str(phintys.function([x], swish(x) + 1, mode="native").explain())
    assert "callback" not in text.lower()


def test_dtypes_follow_the_operands():
    x, y = pt.fvector("x"), pt.dvector("y")
    assert swish(x).dtype == "float32"
    assert swish(y).dtype == "float64"
    assert blend(x, x, 0.5).dtype == "float32"
    assert blend(x, y, 1).dtype == "float64"
    assert blend(x, 2.0, np.float32(1)).dtype == "float32"
    assert swish(pt.ivector("i")).dtype == "float64"
    with phintys.config.change_flags(floatX="float32"):
        assert swish.op("floatX").formula.input_types[0].dtype == "float32"


def test_shapes_broadcast():
    x, y = pt.dcol("x"), pt.dvector("y")
    value = blend(x, y, 0.5).eval({x: np.ones((2, 1)), y: np.zeros(3)})
    np.testing.assert_array_equal(value, np.ones((2, 3)))
    np.testing.assert_allclose(swish([1.0, 2.0]).eval(), [0.73105858, 1.76159416])


def test_on_scalars():
    x = ps.float64("x")
    assert swish(x).type == ps.float64
    assert phintys.function([x], swish(x))(0.0) == 0


def test_it_looks_like_the_function():
    assert swish.__doc__ == (None if sys.flags.optimize > 1 else "x * sigmoid(x).")
    assert list(inspect.signature(blend).parameters) == ["x", "y", "weight"]
    assert repr(swish) == "<scalar function swish>"
    named = swish(pt.dvector("x"), name="out")
    assert named.name == "out"
    assert swish.op("float64") is swish.op("float64")


def test_what_is_not_possible_is_explained():
    with pytest.raises(OpContractError, match="takes 1 operands, got 2"):
        swish(1.0, 2.0)
    with pytest.raises(OpContractError, match="takes 1 operands, got 2"):
        swish.op("int8", "int8")
    with pytest.raises(OpContractError, match="fixed number of operands"):
        ps.from_expression(lambda *xs: xs[0])
    three = ps.from_expression(lambda x: 3)
    with pytest.raises(OpContractError, match="must return an expression"):
        three(pt.dvector("x"))
