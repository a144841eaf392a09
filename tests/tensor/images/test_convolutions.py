"""Convolutions: what their Ops check, what they know of shapes, and how they are differentiated."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError
from phintys.gradient import verify_grad
from phintys.graph.traversal import ancestors
from phintys.tensor.images.convolutions import Conv, ConvByFilters, ConvByImages

RNG = np.random.default_rng(4)


def known(*shape, name=None):
    return pt.TensorType("float64", shape)(name)


def test_sizes_are_known_where_those_of_images_and_filters_are():
    x, w = known(None, 4, 9, None), known(6, 2, 3, 3)
    y = Conv((2, 1), ("half", (1, 0)), (2, 1), groups=2)(x, w)
    assert y.type.shape == (None, 6, 5, None)
    by_x, by_w = phintys.grad(y.sum(), [x, w])
    assert by_x.type.shape == (None, 4, 9, None)
    assert by_w.type.shape == (6, 2, 3, 3)


def test_rules_of_padding_need_no_sizes():
    x, w = pt.dtensor3s("x", "w")
    values = RNG.normal(size=(1, 1, 9)), RNG.normal(size=(1, 1, 4))
    for rule, pads in (("half", (2, 2)), ("full", (3, 3))):
        outputs = [Conv((1,), (rule,))(x, w), Conv((1,), (pads,))(x, w)]
        gradients = [phintys.grad((y**2).sum(), [x, w]) for y in outputs]
        found = phintys.function([x, w], [*outputs, *gradients[0], *gradients[1]])(*values)
        for at, other in ((0, 1), (2, 4), (3, 5)):
            np.testing.assert_allclose(found[at], found[other])


def test_the_derivatives_of_each_op_are_the_others():
    x, w = pt.dtensor4s("x", "w")
    y = Conv((1, 1))(x, w)
    by_x, by_w = phintys.grad((y**3).sum(), [x, w])
    assert isinstance(by_x.owner.op, ConvByImages)
    assert isinstance(by_w.owner.op, ConvByFilters)
    second = phintys.grad((by_x**2).sum() + (by_w**2).sum(), [x, w])
    families = {Conv, ConvByImages, ConvByFilters}
    used = {type(one.owner.op) for one in ancestors(second) if one.owner}
    assert families <= used


@pytest.mark.parametrize("padding", ["valid", "half", "full"])
def test_second_derivatives(padding):
    def slopes(x, w):
        y = pt.signal.conv(x, w, padding=padding, stride=(1, 2), flip=True)
        return phintys.grad((y**3).sum(), [x, w])

    arrays = [RNG.normal(size=(2, 2, 4, 5)), RNG.normal(size=(3, 2, 2, 3))]
    verify_grad(slopes, arrays, rng=np.random.default_rng(0))


def test_complex_gradients_are_those_of_real_and_imaginary_parts():
    z = RNG.normal(size=(1, 1, 5)) + 1j * RNG.normal(size=(1, 1, 5))
    w = RNG.normal(size=(1, 1, 2)) + 1j * RNG.normal(size=(1, 1, 2))
    verify_grad(lambda z, w: abs(Conv((1,))(z, w)), [z, w], rng=np.random.default_rng(0))


def test_integers_have_gradients_of_zero():
    x, w = pt.ltensor3("x"), pt.ltensor3("w")
    by_x = phintys.grad(pt.cast(Conv((1,))(x, w), "float64").sum(), x)
    assert by_x.eval({x: np.ones((1, 1, 3), int)}).tolist() == [[[0.0, 0.0, 0.0]]]


def test_gradients_must_have_the_shape_of_results():
    x, g = known(2, 1, 5, name="x"), known(2, 3, 5, name="g")
    with pytest.raises(ShapeError, match=r"\(2, 3, 5\), but \(2, 3, 4\) follows"):
        ConvByFilters((1,))(x, g, 2)
    with pytest.raises(ShapeError, match=r"\(2, 3, 5\), but \(2, 3, 6\) follows"):
        ConvByImages((1,))(known(3, 1, 2), g, 7)
    w, gradient, length = pt.dtensor3("w"), pt.dtensor3("g"), pt.lscalar("length")
    f = phintys.function([w, gradient, length], ConvByImages((1,))(w, gradient, length))
    assert f(np.ones((3, 1, 2)), np.ones((2, 3, 5)), 6).shape == (2, 1, 6)
    with pytest.raises(ShapeError, match=r"\(2, 3, 5\), but \(2, 3, 6\) follows"):
        f(np.ones((3, 1, 2)), np.ones((2, 3, 5)), 7)


def test_the_number_of_spatial_sizes():
    x = known(2, 1, 5, name="x")
    with pytest.raises(ArgumentError, match="takes 1 spatial sizes, got 2"):
        ConvByFilters((1,))(x, x, 2, 2)
    with pytest.raises(ArgumentError, match="of which there are 0"):
        Conv(())


def test_equal_options_are_equal_ops():
    assert Conv((1, 2)) == Conv([1, 2], [(0, 0), 0], (1, 1), 1)
    assert Conv((1, 2)) != Conv((1, 1))
    assert str(Conv((1,))) == "Conv"
    assert str(Conv((2,), ("half",), (3,), 2)) == (
        "Conv{stride=(2,), padding=('half',), dilation=(3,), groups=2}"
    )


def test_shapes_alone_are_checked():
    """Sizes of a result that is not computed raise for what the result would raise."""
    x, w = pt.dtensor3s("x", "w")
    f = phintys.function([x, w], Conv((1,))(x, w).shape)
    assert f(np.ones((2, 3, 5)), np.ones((4, 3, 2))).tolist() == [2, 4, 4]
    with pytest.raises(ShapeError, match="channels"):
        f(np.ones((2, 3, 5)), np.ones((4, 2, 2)))
    with pytest.raises(ShapeError, match="room for filters"):
        f(np.ones((2, 3, 1)), np.ones((4, 3, 2)))
