"""Functions of ``tensor.nnet``, beside NumPy."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

X = np.random.default_rng(3).normal(size=(4, 3))
CLASSES = np.array([2, 0, 1, 1])


def test_cross_entropies_of_softmaxes(theano):
    T, nnet = theano.tensor, theano.tensor.nnet
    x, b, y = T.dmatrix("x"), T.dvector("b"), T.lvector("y")
    outputs = [
        *nnet.crossentropy_softmax_argmax_1hot_with_bias(x, b, y),
        *nnet.crossentropy_softmax_max_and_argmax_1hot(x, y),
        nnet.crossentropy_categorical_1hot(nnet.softmax_with_bias(x, b), y),
    ]
    bias = np.array([0.5, -1.0, 0.0])
    found = theano.function([x, b, y], outputs)(X, bias, CLASSES)
    rows = np.arange(4)
    shifted, plain = X + bias, softmax(X, axis=1)
    losses = -log_softmax(shifted, axis=1)[rows, CLASSES]
    expected = [
        losses,
        softmax(shifted, axis=1),
        shifted.argmax(axis=1),
        -np.log(plain[rows, CLASSES]),
        plain,
        plain.max(axis=1),
        X.argmax(axis=1),
        losses,
    ]
    for result, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-12)


def test_a_gradient_of_a_cross_entropy_of_large_numbers(theano):
    T = theano.tensor
    x, y = T.dmatrix("x"), T.lvector("y")
    loss, _ = T.nnet.crossentropy_softmax_1hot(x, y)
    slope = theano.function([x, y], T.grad(loss.sum(), x))(1000 * X, CLASSES)
    np.testing.assert_allclose(slope, softmax(1000 * X, axis=1) - np.eye(3)[CLASSES], atol=1e-12)


def test_cross_entropies_are_of_matrices(theano):
    T = theano.tensor
    with pytest.raises(ValueError, match="ranks 1 and 1"):
        T.nnet.crossentropy_categorical_1hot(T.dvector(), T.lvector())


@pytest.mark.parametrize("n_outputs", [6, 5])
def test_softmax_in_groups(theano, n_outputs):
    T = theano.tensor
    rng = np.random.default_rng(4)
    W1, b1 = rng.normal(size=(3, 2)), rng.normal(size=2)
    W2, b2 = rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3))
    x, y = T.dmatrix("x"), T.lmatrix("y")
    every = T.nnet.h_softmax(x, 4, n_outputs, 2, 3, W1, b1, W2, b2)
    one = T.nnet.h_softmax(x, 4, n_outputs, 2, 3, W1, b1, W2, b2, y)
    groups = softmax(X @ W1 + b1, axis=1)
    inside = softmax(np.einsum("if,gfo->igo", X, W2) + b2, axis=2)
    expected = (groups[:, :, None] * inside).reshape(4, 6)[:, :n_outputs]
    targets = np.array([[0], [4], [3], [1]])
    found, chosen = theano.function([x, y], [every, one])(X, targets)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(chosen, expected[np.arange(4), targets[:, 0]])


def test_confusion_of_classes(aesara):
    nnet = importlib.import_module("aesara.tensor.nnet")
    x, y = aesara.tensor.dvectors("xy")
    counts, order = aesara.function([x, y], nnet.confusion_matrix(x, y))(
        [5.0, 1.0, 5.0, 3.0], [5.0, 1.0, 3.0, 3.0]
    )
    assert counts.tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert order.tolist() == [1.0, 3.0, 5.0]
    with pytest.raises(ValueError, match="two vectors"):
        nnet.confusion_matrix(aesara.tensor.dmatrix(), y)


@pytest.mark.parametrize(
    ("axes", "averaged"), [("per-activation", (0,)), ("spatial", (0, 2)), ((0, 1), (0, 1))]
)
@pytest.mark.parametrize("keepdims", [False, True])
def test_normalizing_a_batch(theano, axes, averaged, keepdims):
    T = theano.tensor
    bn = importlib.import_module("theano.tensor.nnet.bn")
    rng = np.random.default_rng(5)
    batch = rng.normal(2.0, 3.0, (4, 2, 3))
    mean = batch.mean(averaged, keepdims=True)
    variance = batch.var(averaged, keepdims=True)
    full = mean.shape
    shape = full if keepdims else tuple(n for i, n in enumerate(full) if i not in averaged)
    gamma, beta, old_mean, old_var = (rng.random(shape) + 0.5 for _ in range(4))
    scale, shift = gamma.reshape(full), beta.reshape(full)
    x = T.dtensor3("x")
    outputs = bn.batch_normalization_train(
        x, gamma, beta, axes, running_mean=old_mean, running_var=old_var
    )
    found = theano.function([x], [*outputs, T.grad(outputs[0].sum(), x)])(batch)
    unbiased = batch.var(averaged, ddof=1)
    expected = [
        (batch - mean) / np.sqrt(variance + 1e-4) * scale + shift,
        mean.reshape(shape),
        1 / np.sqrt(variance + 1e-4).reshape(shape),
        0.9 * old_mean + 0.1 * mean.reshape(shape),
        0.9 * old_var + 0.1 * unbiased.reshape(shape),
        np.zeros_like(batch),
    ]
    for result, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-10, atol=1e-10)
    later = bn.batch_normalization_test(x, gamma, beta, old_mean, old_var, axes, 1e-3)
    expected = (batch - old_mean.reshape(full)) * scale / np.sqrt(old_var.reshape(full) + 1e-3)
    np.testing.assert_allclose(theano.function([x], later)(batch), expected + shift)


def test_what_batch_normalization_refuses(theano):
    T, bn = theano.tensor, importlib.import_module("theano.tensor.nnet.bn")
    x, v = T.dmatrix("x"), T.dvector("v")
    assert len(bn.batch_normalization_train(x, v, v)) == 3
    with pytest.raises(ValueError, match="or neither"):
        bn.batch_normalization_train(x, v, v, running_mean=v)
    with pytest.raises(ValueError, match="not normalized; got 3"):
        bn.batch_normalization_train(x, T.dtensor3(), v)
    with pytest.raises(ValueError, match="one or more of 0 to 1"):
        bn.batch_normalization_test(x, v, v, v, v, axes=(2,))
    with pytest.raises(ValueError, match="'per-activation', 'spatial'"):
        bn.batch_normalization_test(x, v, v, v, v, axes="rows")
    with pytest.raises(ValueError, match="epsilon must be"):
        bn.batch_normalization_test(x, v, v, v, v, epsilon=1e-9)
    with pytest.raises(ValueError, match="'low_mem' or 'high_mem'"):
        bn.batch_normalization(x, v, v, v, v, mode="mem")


@pytest.mark.parametrize(("dtype", "expected"), [("int8", "float32"), ("int32", "float64")])
def test_the_approximate_sigmoid_has_the_dtype_of_other_functions(dtype, expected, theano):
    x = theano.tensor.vector("x", dtype=dtype)
    assert theano.tensor.nnet.ultra_fast_sigmoid(x).dtype == expected


def test_ctc_with_symbolic_labels(theano):
    from theano.tensor.nnet.ctc import ctc_available

    T = theano.tensor
    a, labels, lengths = T.ftensor3("a"), T.imatrix("labels"), T.ivector("lengths")
    f = theano.function([a, labels, lengths], T.nnet.ctc(a, labels, lengths))
    assert ctc_available()
    found = f(np.zeros((2, 1, 2), "float32"), np.array([[1]], "int32"), np.array([2], "int32"))
    np.testing.assert_allclose(np.exp(-found), [0.75], rtol=1e-6)
