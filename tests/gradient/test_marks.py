"""Marks that change gradients and not values."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.gradient import (
    DisconnectedInputError,
    GradientError,
    GradientMark,
    NullGradientError,
    Rop,
    consider_constant,
    disconnected_grad,
    grad,
    grad_clip,
    grad_scale,
    undefined_grad,
    zero_grad,
)
from phintys.graph import Type

MARKS = [
    consider_constant,
    disconnected_grad,
    undefined_grad,
    zero_grad,
    lambda x: grad_clip(x, -1, 1),
    lambda x: grad_scale(x, 3),
]


@pytest.mark.parametrize("mark", MARKS)
class TestAll:
    @pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "float64", "complex64"])
    def test_the_value_and_type_are_those_of_the_input(self, mark, dtype):
        x = pt.tensor("x", dtype=dtype, shape=(None, 1))
        y = mark(x)
        assert y.type == x.type
        value = np.ones((3, 1), dtype)
        assert y.eval({x: value}).dtype == value.dtype
        np.testing.assert_array_equal(y.eval({x: value}), value)

    def test_it_is_a_view(self, mark):
        op = mark(pt.dvector("x")).owner.op
        assert isinstance(op, GradientMark)
        assert op.view_map == {0: [0]}
        assert mark(pt.dvector("y")).owner.op == op
        assert hash(mark(pt.dvector("y")).owner.op) == hash(op)

    def test_any_type(self, mark):
        things = Type()
        things.filter = lambda value, strict=False, allow_downcast=None: value
        assert mark(things("x")).type is things

    def test_values_become_constants(self, mark):
        assert mark([1.0, 2.0]).eval().tolist() == [1.0, 2.0]

    def test_shape_inference(self, mark):
        y, sizes = mark(pt.dmatrix("x")), pt.lscalars("n", "m")
        assert y.owner.op.infer_shape(None, y.owner, [sizes]) == [tuple(sizes)]


@pytest.mark.parametrize("mark", [consider_constant, zero_grad, disconnected_grad])
def test_a_factor_held_fast(mark):
    x = pt.dvector("x")
    gradient = grad((x * mark(x)).sum(), x)
    np.testing.assert_array_equal(gradient.eval({x: [1.0, 3.0]}), [1.0, 3.0])


@pytest.mark.parametrize("mark", [consider_constant, zero_grad])
def test_zero(mark):
    x, v = pt.dvectors("x", "v")
    assert grad(mark(x).sum(), x).eval({x: [1.0, 3.0]}).tolist() == [0.0, 0.0]
    assert Rop(mark(x) * 2, x, v).eval({x: [1.0, 3.0]}).tolist() == [0.0, 0.0]
    assert Rop(mark(x) * x, x, v).eval({x: [1.0, 3.0], v: [1.0, 1.0]}).tolist() == [1.0, 3.0]


def test_disconnected():
    x, v = pt.dvectors("x", "v")
    with pytest.raises(DisconnectedInputError):
        grad(disconnected_grad(x).sum(), x)
    with pytest.raises(DisconnectedInputError):
        Rop(disconnected_grad(x), x, v)


def test_undefined():
    x, v = pt.dvectors("x", "v")
    with pytest.raises(NullGradientError, match="marked so with undefined_grad"):
        grad(undefined_grad(x).sum() + x.sum(), x)
    with pytest.raises(NullGradientError, match="marked so with undefined_grad"):
        Rop(undefined_grad(x) + x, x, v)


def test_clip():
    x = pt.dvector("x")
    gradient = grad((grad_clip(x, -1, 0.5) ** 2).sum(), x)
    at = [-3.0, -0.1, 0.1, 3.0]
    np.testing.assert_allclose(gradient.eval({x: at}), [-1.0, -0.2, 0.2, 0.5])
    assert gradient.type == x.type


def test_clip_keeps_float32():
    x = pt.fvector("x")
    assert grad((grad_clip(x, -0.1, 0.1) ** 2).sum(), x).type.dtype == "float32"


def test_clip_passes_directions_on():
    x, v = pt.dscalars("x", "v")
    assert float(Rop(grad_clip(x, -1, 1) ** 2, x, v).eval({x: 3.0, v: 1.0})) == 6.0


def test_scale():
    x, v = pt.dscalars("x", "v")
    assert float(grad(grad_scale(x, -2) ** 2, x).eval({x: 3.0})) == -12.0
    assert float(Rop(grad_scale(x, -2) ** 2, x, v).eval({x: 3.0, v: 1.0})) == -12.0


def test_refusals():
    x = pt.dvector("x")
    with pytest.raises(GradientError, match="a lower bound that is not above"):
        grad_clip(x, 1, -1)
    with pytest.raises(TypeError, match="upper_bound must be a number"):
        grad_clip(x, 0, pt.dscalar("u"))
    with pytest.raises(TypeError, match="multiplier must be a number"):
        grad_scale(x, "much")
