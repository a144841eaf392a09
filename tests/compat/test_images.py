"""Convolutions and pooling of ``tensor.nnet`` and ``tensor.signal``, beside SciPy."""

from __future__ import annotations

import importlib
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.signal

import phintys
import phintys.tensor as pt
from phintys.compat import images, install, uninstall

RNG = np.random.default_rng(8)
X = RNG.normal(size=(2, 4, 7, 6))
W = RNG.normal(size=(6, 4, 3, 2))


def convolved(x, w, full=False):
    """Return sums of SciPy's convolutions over channels."""
    mode = "full" if full else "valid"
    return np.array(
        [
            [
                sum(scipy.signal.convolve(a, b, mode) for a, b in zip(image, one, strict=True))
                for one in w
            ]
            for image in x
        ]
    )


@pytest.fixture(params=["theano", "aesara"])
def old(request):
    return request.getfixturevalue(request.param)


def call(package, function, *arrays):
    """Return the value of a function of variables of the ranks of arrays."""
    T = package.tensor
    variables = [T.TensorType("float64", (False,) * x.ndim)() for x in arrays]
    return package.function(variables, function(*variables))(*arrays)


def test_convolutions_flip_filters(old):
    nnet = old.tensor.nnet
    np.testing.assert_allclose(call(old, nnet.conv2d, X, W), convolved(X, W))
    plain = call(old, lambda x, w: nnet.conv2d(x, w, filter_flip=False), X, W)
    np.testing.assert_allclose(plain, convolved(X, W[:, :, ::-1, ::-1]))


BORDERS = {
    "valid": ((0, 0), (0, 0)),
    "full": ((2, 2), (1, 1)),
    "half": ((1, 1), (1, 1)),
    1: ((1, 1), (1, 1)),
    (2, 0): ((2, 2), (0, 0)),
    ((1, 0), (2, 1)): ((1, 0), (2, 1)),
}


@pytest.mark.parametrize("border", BORDERS, ids=str)
def test_every_border_mode(theano, border):
    nnet = theano.tensor.nnet
    padded = np.pad(X, ((0, 0), (0, 0), *BORDERS[border]))
    found = call(theano, lambda x, w: nnet.conv2d(x, w, border_mode=border, subsample=(2, 1)), X, W)
    np.testing.assert_allclose(found, convolved(padded, W)[:, :, ::2])
    shape = nnet.abstract_conv.get_conv_output_shape(X.shape, W.shape, border, (2, 1))
    assert shape == found.shape


def test_shapes_that_are_stated_are_known_and_checked(theano):
    T = theano.tensor
    x, w = T.dtensor4("x"), T.dtensor4("w")
    y = T.nnet.conv2d(x, w, image_shape=(None, 4, 7, 6), filter_shape=(6, 4, 3, T.constant(2)))
    assert y.type.shape == (None, 6, 5, 5)
    f = theano.function([x, w], y)
    np.testing.assert_allclose(f(X, W), convolved(X, W))
    with pytest.raises(ValueError, match="7"):
        f(X[:, :, :-1], W)


def test_groups_and_dilation(theano):
    nnet = theano.tensor.nnet
    w = W[:, :2]
    found = call(
        theano,
        lambda x, w: nnet.conv2d(x, w, num_groups=2, filter_dilation=(2, 3)),
        X,
        w,
    )
    apart = np.zeros((6, 2, 5, 4))
    apart[:, :, ::2, ::3] = w
    halves = [convolved(X[:, :2], apart[:3]), convolved(X[:, 2:], apart[3:])]
    np.testing.assert_allclose(found, np.concatenate(halves, axis=1))
    depth, points = RNG.normal(size=(8, 1, 2, 2)), RNG.normal(size=(3, 8, 1, 1))
    separable = call(theano, lambda x, d, p: nnet.separable_conv2d(x, d, p, 4), X, depth, points)
    each = [convolved(X[:, [c]], depth[2 * c : 2 * c + 2]) for c in range(4)]
    np.testing.assert_allclose(separable, convolved(np.concatenate(each, axis=1), points))


def test_convolutions_of_volumes_and_sequences(theano):
    nnet = theano.tensor.nnet
    x, w = RNG.normal(size=(2, 2, 4, 5, 4)), RNG.normal(size=(3, 2, 2, 3, 2))
    np.testing.assert_allclose(call(theano, nnet.conv3d, x, w), convolved(x, w))
    x, w = RNG.normal(size=(2, 2, 6)), RNG.normal(size=(3, 2, 2))
    causal = call(theano, lambda x, w: nnet.causal_conv1d(x, w, (3, 2, 2)), x, w)
    np.testing.assert_allclose(causal, convolved(np.pad(x, ((0, 0), (0, 0), (1, 0))), w))


def test_gradients_are_functions_too(theano):
    T = theano.tensor
    nnet = T.nnet
    x, w = T.dtensor4("x"), T.dtensor4("w")
    options = {"border_mode": (1, 2), "subsample": (2, 3)}
    y = nnet.conv2d(x, w, **options)
    by_x, by_w = T.grad((y**2).sum(), [x, w])
    shapes = {"input_shape": X.shape, "filter_shape": W.shape}
    same = [
        nnet.conv2d_grad_wrt_inputs(2 * y, w, **shapes, **options),
        nnet.conv2d_grad_wrt_weights(x, 2 * y, **shapes, **options),
        nnet.conv2d_transpose(2 * y, w, X.shape, border_mode=(1, 2), input_dilation=(2, 3)),
    ]
    found = theano.function([x, w], [by_x, by_w, *same])(X, W)
    np.testing.assert_allclose(found[2], found[0])
    np.testing.assert_allclose(found[3], found[1])
    np.testing.assert_allclose(found[4], found[0])


def test_older_functions(theano):
    from theano.tensor.nnet import conv
    from theano.tensor.signal import conv as of_images
    from theano.tensor.signal import downsample

    found = call(theano, lambda x, w: conv.conv2d(x, w, border_mode="full", unroll_batch=1), X, W)
    np.testing.assert_allclose(found, convolved(X, W, full=True))
    images, filters = X[0], W[:, 0]
    each = convolved(images[:, None], filters[:, None])
    for many, several in product((True, False), repeat=2):
        x, w = images if many else images[0], filters if several else filters[0]
        expected = each[(slice(None) if many else 0, slice(None) if several else 0)]
        np.testing.assert_allclose(call(theano, of_images.conv2d, x, w), expected)
    pooled = call(theano, lambda x: downsample.max_pool_2d(x, (2, 2), st=(1, 3)), X)
    assert pooled.shape == (2, 4, 6, 2)


@pytest.mark.parametrize("mode", ["max", "sum", "average_inc_pad", "average_exc_pad"])
@pytest.mark.parametrize("options", [{}, {"ds": (2, 3), "st": (1, 2), "padding": (1, 2)}], ids=str)
def test_pooling(old, mode, options):
    pool = importlib.import_module(f"{old.__name__}.tensor.signal.pool")
    given = options or {"ws": (2, 3)}
    found = call(old, lambda x: pool.pool_2d(x, ignore_border=True, mode=mode, **given), X)
    before = options.get("padding", (0, 0))
    fill = {"max": -np.inf, "average_exc_pad": np.nan}.get(mode, 0)
    padded = np.pad(X, ((0, 0), (0, 0), *((n, n) for n in before)), constant_values=fill)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 3), (2, 3))
    step = options.get("st", (2, 3))
    windows = windows[:, :, :: step[0], :: step[1]]
    reduce = {"max": np.max, "sum": np.sum, "average_exc_pad": np.nanmean}.get(mode, np.mean)
    np.testing.assert_allclose(found, reduce(windows, axis=(4, 5)))


def test_borders_are_kept_by_default(theano):
    from theano.tensor.signal.pool import pool_2d, pool_3d

    found = call(theano, lambda x: pool_2d(x, (4, 4)), X)
    np.testing.assert_allclose(found[:, :, 1, 1], X[:, :, 4:, 4:].max(axis=(2, 3)))
    volumes = X.reshape(2, 4, 7, 3, 2)
    found = call(theano, lambda x: pool_3d(x, (7, 3, 2), mode="sum"), volumes)
    np.testing.assert_allclose(found[..., 0, 0, 0], volumes.sum(axis=(2, 3, 4)))


def test_only_the_largest_elements_of_patches(theano):
    from theano.tensor.signal.pool import max_pool_2d_same_size

    found = call(theano, lambda x: max_pool_2d_same_size(x, (2, 3)), X)
    patches = X[:, :, :6].reshape(2, 4, 3, 2, 2, 3)
    largest = patches.max(axis=(3, 5), keepdims=True)
    expected = np.where(patches == largest, patches, 0).reshape(2, 4, 6, 6)
    np.testing.assert_array_equal(found[:, :, :6], expected)
    assert not found[:, :, 6].any()


@pytest.mark.parametrize("ratio", [1, 2, 3, 4])
def test_bilinear_upsampling(theano, ratio):
    """Between elements that are as far apart as the ratio, the image is interpolated linearly."""
    upsampled = theano.tensor.nnet.bilinear_upsampling
    ramp = np.add.outer(np.arange(5.0), 10 * np.arange(6.0))[None, None]
    found = call(theano, lambda x: upsampled(x, ratio), ramp)
    assert found.shape == (1, 1, 5 * ratio, 6 * ratio)
    inner = found[0, 0, 2 * ratio : -2 * ratio, 2 * ratio : -2 * ratio]
    np.testing.assert_allclose(np.diff(inner, axis=0), 1 / ratio)
    np.testing.assert_allclose(np.diff(inner, axis=1), 10 / ratio)
    constant = call(theano, lambda x: upsampled(x, ratio), np.ones((2, 3, 2, 2)))
    np.testing.assert_allclose(constant, 1)


def test_what_is_not_supported_says_so(theano):
    T = theano.tensor
    x, w = T.dtensor4("x"), T.dtensor4("w")
    from theano.tensor.nnet.conv import conv2d
    from theano.tensor.signal.pool import pool_2d

    with pytest.raises(ValueError, match="kshp_logical"):
        conv2d(x, w, kshp_logical=(5, 5))
    with pytest.raises(ValueError, match=r"rank 4, got .*Matrix"):
        T.nnet.conv2d(T.dmatrix("m"), w)
    with pytest.raises(ValueError, match="needs the size of windows"):
        pool_2d(x)
    with pytest.raises(ValueError, match=r"'average_inc_pad'.*'mean'"):
        pool_2d(x, (2, 2), mode="mean")
    with pytest.raises(ValueError, match="cannot be padded"):
        pool_2d(x, (2, 2), pad=(1, 1))


def test_pytensor_has_convolutions_of_its_own():
    install("pytensor")
    try:
        import pytensor
        from pytensor.tensor import signal

        x, y = pytensor.tensor.dmatrices("x", "y")
        f = pytensor.function([x, y], signal.convolve2d(x, y, mode="same", boundary="symm"))
    finally:
        uninstall("pytensor")
    a, b = X[0, 0], W[0, 0]
    np.testing.assert_allclose(f(a, b), scipy.signal.convolve2d(a, b, "same", "symm"))


# ---- a network -----------------------------------------------------------------------------------

DIGITS = Path(__file__).parents[2] / "examples" / "data" / "digits.csv.gz"

LENET = """
import numpy
import theano
import theano.tensor as T
from theano.tensor.nnet import conv2d
from theano.tensor.signal import pool


class ConvolutionLayer(object):
    def __init__(self, rng, input, filter_shape, image_shape, poolsize=(2, 2)):
        assert image_shape[1] == filter_shape[1]
        fan_in = numpy.prod(filter_shape[1:])
        bound = numpy.sqrt(6. / (fan_in + filter_shape[0]))
        self.W = theano.shared(
            numpy.asarray(rng.uniform(-bound, bound, filter_shape), theano.config.floatX),
            borrow=True)
        self.b = theano.shared(numpy.zeros(filter_shape[0], theano.config.floatX), borrow=True)
        convolved = conv2d(input=input, filters=self.W, filter_shape=filter_shape,
                           input_shape=image_shape)
        pooled = pool.pool_2d(input=convolved, ds=poolsize, ignore_border=True)
        self.output = T.tanh(pooled + self.b.dimshuffle('x', 0, 'x', 'x'))
        self.params = [self.W, self.b]


class DenseLayer(object):
    def __init__(self, rng, input, n_in, n_out, activation=T.tanh):
        bound = numpy.sqrt(6. / (n_in + n_out))
        self.W = theano.shared(
            numpy.asarray(rng.uniform(-bound, bound, (n_in, n_out)), theano.config.floatX))
        self.b = theano.shared(numpy.zeros(n_out, theano.config.floatX))
        self.output = activation(T.dot(input, self.W) + self.b)
        self.params = [self.W, self.b]


def train(images, labels, held_out, rng, batch_size, epochs, rate):
    def shared(array, dtype):
        return theano.shared(numpy.asarray(array, dtype), borrow=True)

    train_x, train_y = shared(images, theano.config.floatX), shared(labels, 'int32')
    index, x, y = T.lscalar('index'), T.matrix('x'), T.ivector('y')
    layer0 = ConvolutionLayer(rng, x.reshape((batch_size, 1, 8, 8)),
                              (8, 1, 3, 3), (batch_size, 1, 8, 8))
    layer1 = ConvolutionLayer(rng, layer0.output, (16, 8, 2, 2), (batch_size, 8, 3, 3))
    layer2 = DenseLayer(rng, layer1.output.flatten(2), 16, 32)
    layer3 = DenseLayer(rng, layer2.output, 32, 10, T.nnet.softmax)
    cost = -T.mean(T.log(layer3.output)[T.arange(y.shape[0]), y])
    params = layer3.params + layer2.params + layer1.params + layer0.params
    grads = T.grad(cost, params)
    updates = [(p, p - rate * g) for p, g in zip(params, grads)]
    part = slice(index * batch_size, (index + 1) * batch_size)
    step = theano.function([index], cost, updates=updates,
                           givens={x: train_x[part], y: train_y[part]})
    errors = theano.function([x, y], T.mean(T.neq(T.argmax(layer3.output, axis=1), y)))
    costs = []
    for epoch in range(epochs):
        costs.append(numpy.mean([step(i) for i in range(len(images) // batch_size)]))
    parts = range(0, len(held_out[1]) - batch_size + 1, batch_size)
    wrong = numpy.mean([
        errors(held_out[0][i:i + batch_size].astype(theano.config.floatX),
               held_out[1][i:i + batch_size].astype('int32')) for i in parts])
    return step, costs, wrong
"""


def test_a_convolutional_network_learns_digits(theano):
    table = np.loadtxt(DIGITS, delimiter=",")
    order = np.random.default_rng(0).permutation(len(table))
    images, labels = table[order, :-1] / 16, table[order, -1]
    held_out = images[1200:], labels[1200:]
    program = {}
    exec(LENET, program)
    rng = np.random.RandomState(23455)
    step, costs, wrong = program["train"](images[:1200], labels[:1200], held_out, rng, 20, 12, 0.3)
    assert costs[0] > 1
    assert costs[-1] < 0.1
    assert wrong < 0.06
    assert "callback" not in step.explain().splitlines()[0]


@pytest.mark.parametrize("normalize", [False, True])
def test_weights_of_an_interpolation_for_a_variable(normalize):
    ratio = pt.iscalar("ratio")
    f = phintys.function([ratio], images.bilinear_kernel_1D(ratio, normalize))
    for number in range(1, 6):
        expected = images.bilinear_kernel_1D(number, normalize)
        np.testing.assert_allclose(f(number), expected.data, rtol=1e-15)
        assert f(number).dtype == expected.dtype
