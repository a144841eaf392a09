"""Functions of ``tensor.nnet``: softmaxes, losses, activations."""

from __future__ import annotations

from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError
from phintys.compat import elementwise
from phintys.control.loop_forms.ctc import ctc_loss
from phintys.graph import Variable

__all__ = [
    "binary_crossentropy",
    "categorical_crossentropy",
    "confusion_matrix",
    "crossentropy_categorical_1hot",
    "crossentropy_softmax_1hot",
    "crossentropy_softmax_1hot_with_bias",
    "crossentropy_softmax_argmax_1hot_with_bias",
    "crossentropy_softmax_max_and_argmax_1hot",
    "crossentropy_softmax_max_and_argmax_1hot_with_bias",
    "ctc",
    "ctc_available",
    "elu",
    "h_softmax",
    "hard_sigmoid",
    "log_softmax_of_rows",
    "prepend_0_to_each_row",
    "prepend_1_to_each_row",
    "prepend_scalar_to_each_row",
    "relu",
    "selu",
    "sigmoid_binary_crossentropy",
    "softmax_of_rows",
    "softmax_with_bias",
    "softsign",
    "sparse_block_dot",
    "ultra_fast_sigmoid",
]


def softmax_of_rows(c: Any) -> Any:
    """Return Theano's softmax: over each row of a matrix; a vector is treated as a row matrix."""
    c = pt.as_tensor_variable(c)
    return pt.softmax(c[None, :] if c.ndim == 1 else c, axis=-1)


def log_softmax_of_rows(c: Any) -> Any:
    """Return the logarithm of :func:`softmax_of_rows`."""
    c = pt.as_tensor_variable(c)
    return pt.log_softmax(c[None, :] if c.ndim == 1 else c, axis=-1)


def relu(x: Any, alpha: Any = 0) -> Any:
    """Return ``x`` where it is positive and ``alpha * x`` elsewhere, of an array as an array."""
    if not isinstance(x, Variable) and not isinstance(alpha, Variable):
        x = np.asarray(x)
        return 0.5 * ((1 + alpha) * x + (1 - alpha) * abs(x))
    x = pt.as_tensor_variable(x)
    return (
        pt.maximum(x, 0)
        if isinstance(alpha, int) and alpha == 0
        else pt.switch(x > 0, x, alpha * x)
    )


def elu(x: Any, alpha: Any = 1) -> Any:
    """Return ``x`` where it is positive and ``alpha * expm1(x)`` elsewhere."""
    x = pt.as_tensor_variable(x)
    return pt.switch(x > 0, x, alpha * pt.expm1(pt.minimum(x, 0)))


def selu(x: Any) -> Any:
    """Return the scaled elu of Klambauer et al., Self-Normalizing Neural Networks, 2017."""
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def softsign(x: Any) -> Any:
    """Return ``x / (1 + abs(x))``."""
    x = pt.as_tensor_variable(x)
    return x / (1 + abs(x))


def prepend_scalar_to_each_row(val: Any, mat: Any) -> Any:
    """Return a matrix with a column of one number in front."""
    mat = pt.as_tensor_variable(mat)
    column = pt.zeros((mat.shape[0], 1), mat.dtype) + pt.cast(val, mat.dtype)
    return pt.concatenate([column, mat], axis=1)


def prepend_0_to_each_row(mat: Any) -> Any:
    """Return a matrix with a column of zeros in front."""
    return prepend_scalar_to_each_row(0, mat)


def prepend_1_to_each_row(mat: Any) -> Any:
    """Return a matrix with a column of ones in front."""
    return prepend_scalar_to_each_row(1, mat)


def hard_sigmoid(x: Any) -> Any:
    """Return ``0.2 * x + 0.5``, clipped to the interval from 0 to 1."""
    x = pt.as_tensor_variable(x)
    if x.dtype in elementwise.NARROW:
        x = pt.cast(x, "float32")
    return pt.clip(0.2 * x + 0.5, 0.0, 1.0)


def binary_crossentropy(output: Any, target: Any) -> Any:
    """Return the negative log-likelihood of ``target`` (0 to 1) given probabilities ``output``."""
    output, target = pt.as_tensor_variable(output), pt.as_tensor_variable(target)
    return -(target * pt.log(output) + (1 - target) * pt.log1p(-output))


def sigmoid_binary_crossentropy(output: Any, target: Any) -> Any:
    """Return :func:`binary_crossentropy` of ``sigmoid(output)``, without overflow."""
    output, target = pt.as_tensor_variable(output), pt.as_tensor_variable(target)
    return pt.softplus(-abs(output)) + pt.maximum(output, 0) - output * target


def categorical_crossentropy(coding_dist: Any, true_dist: Any) -> Any:
    """Return the cross-entropy of each row; ``true_dist`` has probabilities or class indices."""
    coding, true = pt.as_tensor_variable(coding_dist), pt.as_tensor_variable(true_dist)
    if true.ndim == coding.ndim:
        return -(true * pt.log(coding)).sum(axis=-1)
    return -pt.log(coding)[pt.arange(true.shape[0]), true]


# ---- classes of rows -----------------------------------------------------------------------------


def softmax_with_bias(x: Any, b: Any) -> Any:
    """Return the softmax of each row of ``x + b``."""
    return pt.softmax(pt.as_tensor_variable(x) + pt.as_tensor_variable(b), axis=-1)


def crossentropy_categorical_1hot(coding_dist: Any, true_one_of_n: Any) -> Any:
    """Return the negative logarithm of the probability that each row has for its class."""
    coding, true = pt.as_tensor_variable(coding_dist), pt.as_tensor_variable(true_one_of_n)
    return -pt.log(_of_classes(coding, true))


def crossentropy_softmax_argmax_1hot_with_bias(x: Any, b: Any, y_idx: Any) -> list[Any]:
    """Return the cross-entropy, the softmax and the likeliest class of each row of ``x + b``."""
    logits = pt.as_tensor_variable(x) + pt.as_tensor_variable(b)
    losses = -_of_classes(pt.log_softmax(logits, axis=-1), pt.as_tensor_variable(y_idx))
    return [losses, pt.softmax(logits, axis=-1), pt.argmax(logits, axis=-1)]


def crossentropy_softmax_1hot_with_bias(x: Any, b: Any, y_idx: Any) -> list[Any]:
    """Return the cross-entropy and the softmax of each row of ``x + b``."""
    return crossentropy_softmax_argmax_1hot_with_bias(x, b, y_idx)[:2]


def crossentropy_softmax_1hot(x: Any, y_idx: Any) -> list[Any]:
    """Return the cross-entropy and the softmax of each row."""
    return crossentropy_softmax_1hot_with_bias(x, _no_bias(x), y_idx)


def crossentropy_softmax_max_and_argmax_1hot_with_bias(x: Any, b: Any, y_idx: Any) -> list[Any]:
    """Return cross-entropy, softmax, and the likeliest class of ``x + b`` after its probability."""
    losses, softmax, best = crossentropy_softmax_argmax_1hot_with_bias(x, b, y_idx)
    return [losses, softmax, pt.max(softmax, axis=-1), best]


def crossentropy_softmax_max_and_argmax_1hot(x: Any, y_idx: Any) -> list[Any]:
    """Return cross-entropy, softmax, and the likeliest class of a row after its probability."""
    return crossentropy_softmax_max_and_argmax_1hot_with_bias(x, _no_bias(x), y_idx)


def _no_bias(x: Any) -> Any:
    return pt.zeros_like(pt.as_tensor_variable(x)[0])


def _of_classes(rows: Any, classes: Any) -> Any:
    """Return the element of each row at the index of its class."""
    if rows.ndim != 2 or classes.ndim != 1:
        msg = (
            "Cross-entropies are those of a matrix, whose rows are distributions, and of a vector "
            f"of class indices; got tensors of ranks {rows.ndim} and {classes.ndim}."
        )
        raise ArgumentError(msg)
    return rows[pt.arange(rows.shape[0]), classes]


def ultra_fast_sigmoid(x: Any) -> Any:
    """Return the approximation of the sigmoid by Theano: a hyperbola, a line and a constant.

    It differs from the sigmoid by up to 0.05. With h = |x| / 2, ``0.5 + 0.5 sign(x) t(h)``, where
    t is ``1.5 h / (1 + h)`` up to 1.7, ``0.935409070603099 + 0.0458812946797165 (h - 1.7)`` up to
    3, and 0.99505475368673 beyond (Theano 1.0, ``UltraFastScalarSigmoid``, which has no
    gradient; here it is that of these pieces).

    Examples
    --------
    >>> from phintys.compat.neural import ultra_fast_sigmoid
    >>> ultra_fast_sigmoid([0.0, 2.0, 20.0]).eval()
    array([0.5       , 0.875     , 0.99752738])
    """
    x = pt.as_tensor_variable(x)
    x = x.astype(elementwise.FLOATING["sigmoid"](x).dtype)
    half = abs(x) * 0.5
    line = 0.935409070603099 + 0.0458812946797165 * (half - 1.7)
    far = pt.switch(half < 3, line, 0.99505475368673)
    size = pt.switch(half < 1.7, 1.5 * half / (1 + half), far)
    return 0.5 * (pt.sign(x) * size + 1)


def h_softmax(
    x: Any,
    batch_size: Any,
    n_outputs: int,
    n_classes: int,
    n_outputs_per_class: int,
    W1: Any,
    b1: Any,
    W2: Any,
    b2: Any,
    target: Any = None,
) -> Any:
    """Return probabilities by a softmax over groups of outputs, and one inside of each group.

    Parameters
    ----------
    x
        A row of features for each item.
    batch_size
        The number of items.
    n_outputs, n_classes, n_outputs_per_class
        Output ``i`` belongs to group ``i // n_outputs_per_class``.
    W1, b1
        Weights ``(features, n_classes)`` and biases of the groups.
    W2, b2
        Weights ``(n_classes, features, n_outputs_per_class)`` and biases in each group.
    target
        The index of one output for each item: only its probability is computed.
    """
    groups = softmax_with_bias(pt.dot(x, W1), b1)
    if target is None:
        logits = pt.tensordot(x, W2, (1, 1)) + b2
        inside = pt.softmax(logits, axis=-1)
        every = groups[:, :, None] * inside
        return every.reshape((batch_size, n_classes * n_outputs_per_class))[:, :n_outputs]
    targets = pt.as_tensor_variable(target).flatten()
    items, group = pt.arange(batch_size), targets // n_outputs_per_class
    weights, biases = pt.as_tensor_variable(W2)[group], pt.as_tensor_variable(b2)[group]
    inside = pt.softmax(pt.batched_dot(x, weights) + biases, axis=-1)
    return groups[items, group] * inside[items, targets % n_outputs_per_class]


def sparse_block_dot(W: Any, h: Any, inputIdx: Any, b: Any, outputIdx: Any) -> Any:
    """Return biases plus products of some blocks of features with some blocks of a matrix.

    Parameters
    ----------
    W
        Blocks: (input blocks, output blocks, features in, features out).
    h
        Features: (items, blocks of an item, features in), or of one item without the first axis.
    inputIdx
        Which input blocks the features are of: (items, blocks of an item).
    b
        Biases: (output blocks, features out).
    outputIdx
        The output blocks to compute: (items, blocks of an item).

    Returns
    -------
    Variable
        (items, output blocks of an item, features out)
    """
    h, W, b = pt.as_tensor_variable(h), pt.as_tensor_variable(W), pt.as_tensor_variable(b)
    inputs, wanted = pt.as_tensor_variable(inputIdx), pt.as_tensor_variable(outputIdx)
    is_single = inputs.ndim == 1
    if is_single:
        h, inputs, wanted = h[None], inputs[None], wanted[None]
    blocks = W[inputs[:, :, None], wanted[:, None, :]]
    out = b[wanted] + pt.einsum("nik,nijkl->njl", h, blocks)
    return out[0] if is_single else out


def confusion_matrix(actual: Any, pred: Any) -> list[Any]:
    """Return how often each class was taken for each, and the classes in order."""
    actual, pred = pt.as_tensor_variable(actual), pt.as_tensor_variable(pred)
    if actual.ndim != 1 or pred.ndim != 1:
        msg = f"confusion_matrix takes two vectors, got ranks {actual.ndim} and {pred.ndim}."
        raise ShapeError(msg)
    order = pt.unique(pt.concatenate([actual, pred]))
    is_actual = pt.eq(actual[:, None], order).astype("int64")
    is_pred = pt.eq(pred[:, None], order).astype("int64")
    return [pt.dot(is_actual.T, is_pred), order]


def ctc_available() -> bool:
    """Return ``True``: no library is needed."""
    return True


def ctc(activations: Any, labels: Any, input_lengths: Any) -> Any:
    """Return the loss of each sequence; see :func:`phintys.tensor.ctc_loss`."""
    return ctc_loss(activations, labels, input_lengths)
