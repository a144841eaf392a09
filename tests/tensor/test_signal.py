"""``phintys.tensor.signal``: its functions of images, and those of SciPy."""

import numpy as np
import pytest
import scipy.signal

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys.gradient import grad

RNG = np.random.default_rng(5)
signal = pt.signal


def test_a_transpose_is_one():
    """The products of y with conv(x) and of its transpose with x are the same."""
    x, w = RNG.normal(size=(2, 4, 6, 7)), RNG.normal(size=(6, 2, 3, 2))
    options = {"stride": (2, 3), "padding": ((1, 0), 2), "dilation": (1, 2), "groups": 2}
    y = signal.conv(pt.constant(x), w, **options)
    g = RNG.normal(size=y.type.shape)
    back = signal.conv_transpose(g, w, (6, 7), **options).eval()
    np.testing.assert_allclose(np.sum(back * x), np.sum(g * y.eval()))
    flipped = signal.conv_transpose(g, w[:, :, ::-1, ::-1], (6, 7), flip=True, **options).eval()
    np.testing.assert_allclose(flipped, back)


def test_sizes_of_a_transpose_may_be_symbolic():
    n = pt.lscalar("n")
    back = signal.conv_transpose(np.ones((1, 1, 2)), np.ones((1, 1, 2)), [n], stride=3)
    assert back.eval({n: 6}).tolist() == [[[1, 1, 0, 1, 1, 0]]]
    with pytest.raises(ShapeError, match="follows"):
        back.eval({n: 9})


def test_batches_of_both_operands():
    x, k = RNG.normal(size=(3, 1, 4, 5)), RNG.normal(size=(2, 2, 3))
    found = signal.convolve2d(pt.constant(x), k).eval()
    assert found.shape == (3, 2, 5, 7)
    for i, j in np.ndindex(3, 2):
        np.testing.assert_allclose(found[i, j], scipy.signal.convolve2d(x[i, 0], k[j]))


def test_the_smaller_matrix_moves_over_the_other():
    x, k = RNG.normal(size=(2, 2)), RNG.normal(size=(3, 4))
    found = signal.convolve2d(pt.constant(x), k, "valid").eval()
    np.testing.assert_allclose(found, scipy.signal.convolve2d(x, k, "valid"))


def test_integers_are_averaged_as_floats():
    found = signal.average_pool(pt.constant([1, 2, 4]), (2,), partial=True)
    assert found.dtype == "float64"
    assert found.eval().tolist() == [1.5, 4.0]


def test_one_window_for_images_with_channels():
    x = RNG.normal(size=(2, 3, 4, 5))
    same = [signal.max_pool(pt.constant(x), 2), signal.max_pool(pt.constant(x), (2, 2))]
    np.testing.assert_array_equal(*(one.eval() for one in same))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: signal.conv(pt.dmatrix("x"), pt.dmatrix("w")), ShapeError, "the same rank from 3"),
        (lambda: signal.conv(pt.dtensor3("x"), pt.dtensor4("w")), ShapeError, "got x of type"),
        (lambda: signal.convolve1d(1.0, [1.0]), ShapeError, "rank 1 or more"),
        (lambda: signal.convolve2d([1.0], [[1.0]]), ShapeError, "rank 2 or more"),
        (lambda: signal.convolve2d([[1.0]], [[1.0]], "half"), ArgumentError, "'same'.*'half'"),
        (lambda: signal.convolve2d([[1.0]], [[1.0]], boundary="zero"), ArgumentError, "'wrap'"),
        (lambda: signal.convolve2d([[1.0]], [[1.0]], method="best"), ArgumentError, "'fft'"),
        (lambda: signal.max_pool(pt.dvector("x"), (2, 2)), ShapeError, "need 2 axes, got x"),
        (lambda: signal.max_pool([1.0, 2.0], (0,)), ArgumentError, "The window is at least 1"),
        (lambda: signal.sum_pool([1.0, 2.0], (1,), padding=-1), ArgumentError, "at least 0"),
    ],
)
def test_mistakes(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_batches_of_whole_graphs():
    """A graph with a convolution is batched as any other."""
    x, w = pt.dtensor3("x"), pt.dtensor3("w")
    each = pt.vectorize(signal.conv, signature="(n,c,i),(o,c,k)->(n,o,j)")
    xs, ws = RNG.normal(size=(3, 2, 2, 6)), RNG.normal(size=(3, 4, 2, 3))
    found = each(pt.constant(xs), pt.constant(ws)).eval()
    one = phintys.function([x, w], signal.conv(x, w))
    np.testing.assert_allclose(found, [one(*pair) for pair in zip(xs, ws, strict=True)])


SIZES = [(3, 5), (5, 3), (4, 4), (1, 6), (2, 7), (6, 1), (2, 5)]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("is_known", [True, False])
def test_either_operand_may_be_the_longer_one(mode, is_known):
    for n, m in SIZES:
        x, k = RNG.normal(size=n), RNG.normal(size=m)
        inputs = [] if is_known else [pt.dvector("x"), pt.dvector("k")]
        found = signal.convolve1d(*(inputs or [pt.constant(x), pt.constant(k)]), mode)
        found = found.eval(dict(zip(inputs, [x, k], strict=False)))
        np.testing.assert_allclose(found, scipy.signal.convolve(x, k, mode), atol=1e-12)


@pytest.mark.parametrize("shapes", [((2, 2), (3, 4)), ((5, 3), (2, 3)), ((3, 3), (3, 3))])
def test_either_matrix_may_be_the_larger_one(shapes):
    x, k = (RNG.normal(size=shape) for shape in shapes)
    inputs = [pt.dmatrix("x"), pt.dmatrix("k")]
    found = signal.convolve2d(*inputs, "valid").eval(dict(zip(inputs, [x, k], strict=True)))
    np.testing.assert_allclose(found, scipy.signal.convolve2d(x, k, "valid"), atol=1e-12)


def test_neither_matrix_fits_on_the_other():
    inputs = [pt.dmatrix("x"), pt.dmatrix("k")]
    with pytest.raises(ShapeError, match="do not fit"):
        signal.convolve2d(*inputs, "valid").eval(
            dict(zip(inputs, [np.ones((2, 5)), np.ones((3, 2))], strict=True))
        )


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: signal.conv(x, x[:, :, :2, :2]),
        lambda x: signal.conv_transpose(x, x[:, :, :2, :2], stride=2),
        lambda x: signal.convolve1d(x, x),
        lambda x: signal.convolve2d(x, x),
        lambda x: signal.max_pool(x, (2, 2)),
        lambda x: signal.sum_pool(x, (2, 2), partial=True),
        lambda x: signal.average_pool(x, (2, 2)),
        lambda x: signal.average_pool(x, (2, 2), partial=True),
        lambda x: signal.average_pool(x, (2, 2), padding=1, count_padding=False),
    ],
)
def test_images_keep_their_dtype(function, dtype):
    x = pt.tensor("x", dtype=dtype, shape=(2, 2, 4, 4))
    try:
        y = function(x)
    except DtypeError:
        assert dtype == "complex64"
        return
    assert y.dtype == dtype
    assert grad(pt.real(y).sum(), x).dtype == dtype


@pytest.mark.parametrize("number", [2**31, 2**63 - 1, 2**63, 2**64])
@pytest.mark.parametrize("option", ["stride", "padding", "dilation", "groups"])
def test_numbers_that_no_axis_has_are_refused(option, number):
    images, filters = pt.dtensor3("x"), pt.dtensor3("k")
    with pytest.raises(ArgumentError, match="at most 2147483647"):
        signal.conv(images, filters, **{option: number})
    if option in {"stride", "padding"}:
        with pytest.raises(ArgumentError, match="at most 2147483647"):
            signal.max_pool(images, 2, **{option: number})
    with pytest.raises(ArgumentError, match="at most 2147483647"):
        signal.sum_pool(images, number)
