"""The largest elements under windows: ties, NaN, places and what has a gradient."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys.tensor.images.pooling import MaxPool

MODES = ["native", "reference"]


@pytest.mark.parametrize("mode", MODES)
def test_the_first_of_equal_elements_has_the_gradient(mode):
    x = pt.dmatrix("x")
    y = pt.signal.max_pool(x, (2, 2))
    f = phintys.function([x], [y, phintys.grad(y.sum(), x)], mode=mode)
    values, slopes = f([[1.0, 5.0, 0.0, 0.0], [5.0, 5.0, 0.0, 0.0]])
    assert values.tolist() == [[5.0, 0.0]]
    assert slopes.tolist() == [[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]


@pytest.mark.parametrize("mode", MODES)
def test_elements_of_several_windows_have_the_sum_of_gradients(mode):
    x, g = pt.dvectors("x", "g")
    y = pt.signal.max_pool(x, (3,), stride=1)
    f = phintys.function([x, g], phintys.grad((y * g).sum(), x), mode=mode)
    assert f([1.0, 2.0, 9.0, 3.0, 4.0], [1.0, 10.0, 100.0]).tolist() == [0.0, 0.0, 111.0, 0.0, 0.0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_what_is_not_finite(mode, dtype, stride):
    x = pt.vector("x", dtype=dtype)
    nan, inf = np.nan, np.inf
    value = np.array([-inf, -inf, nan, 1.0, nan, -inf, 2.0, inf, -inf, -inf, -inf], dtype)
    f = phintys.function([x], MaxPool((3,), (stride,), (1,))(x), mode=mode)
    values, places = f(value)
    padded = np.concatenate([[-inf], value, [-inf]])
    for at, (found, place) in enumerate(zip(values, places, strict=True)):
        start = at * stride - 1
        inside = value[max(start, 0) : start + 3]
        assert place == max(start, 0) + np.argmax(inside)
        np.testing.assert_equal(found, np.max(padded[start + 1 : start + 4]).astype(dtype))


def test_places_are_numbers_of_elements_of_an_image():
    x = np.arange(24.0).reshape(2, 3, 4)
    _, places = MaxPool((3, 2), (3, 2))(pt.constant(x))
    assert places.eval().tolist() == [[[9, 11]], [[9, 11]]]
    _, places = MaxPool((2, 3, 4), (2, 3, 4))(pt.constant(x))
    assert places.eval().tolist() == [[[23]]]


def test_tangents_are_those_of_the_places():
    x, v = pt.dvectors("x", "v")
    y = pt.signal.max_pool(x, (2,))
    f = phintys.function([x, v], phintys.gradient.Rop(y, x, v))
    assert f([1.0, 3.0, 5.0, 2.0], [10.0, 20.0, 30.0, 40.0]).tolist() == [20.0, 30.0]


def test_sizes_are_known_where_those_of_images_are():
    x = pt.TensorType("float64", (2, None, 7, None))()
    assert pt.signal.max_pool(x, (3, 2)).type.shape == (2, None, 2, None)
    assert pt.signal.max_pool(x, (3, 2), partial=True).type.shape == (2, None, 3, None)
    assert pt.signal.sum_pool(pt.constant(np.ones((5, 5))), (2, 2)).type.shape == (2, 2)


def test_shapes_alone_are_checked():
    x = pt.dmatrix("x")
    f = phintys.function([x], pt.signal.max_pool(x, (2, 2)).shape)
    assert f(np.ones((4, 5))).tolist() == [2, 2]
    with pytest.raises(ShapeError, match="the size of images must be at least 2, got 1"):
        f(np.ones((4, 1)))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: MaxPool((2,), (1,), (2,)), ArgumentError, "not less than the window"),
        (lambda: MaxPool((2,), (1,), (1,), partial=True), ArgumentError, "cannot be padded"),
        (lambda: MaxPool((), ()), ArgumentError, "of which there are 0"),
        (lambda: MaxPool((2,), (1,))(pt.zvector("z")), DtypeError, "Complex numbers have no order"),
        (lambda: MaxPool((2, 2), (1, 1))(pt.dvector("x")), ShapeError, "rank 2 or more, got x"),
        (lambda: MaxPool((3,), (1,))(pt.constant([1.0, 2.0])), ShapeError, "do not fit on images"),
        (lambda: MaxPool((3,), (1,))(pt.constant(np.zeros(0))), ShapeError, r"of shape \(0,\)"),
    ],
)
def test_mistakes(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_images_that_are_too_small_at_run_time():
    x = pt.dvector("x")
    for mode in MODES:
        f = phintys.function([x], pt.signal.max_pool(x, (3,)), mode=mode)
        with pytest.raises(ShapeError, match=r"windows of \(3,\) elements do not fit"):
            f([1.0, 2.0])
