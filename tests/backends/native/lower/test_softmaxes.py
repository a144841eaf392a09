"""Nodes of the softmax family that share the exponentials of one input."""

import itertools

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.control import ifelse
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax, SoftmaxOrZero

FAMILY = (LogSumExp, SoftmaxOrZero, LogSoftmax, Softmax)
SPECIAL = np.array(
    [
        [1.0, 2.0, 3.0, 1000.0, -50.0],
        [-np.inf, -np.inf, -np.inf, -np.inf, -np.inf],
        [np.inf, 0.0, 1.0, -np.inf, 2.0],
        [np.nan, 0.0, 1.0, 2.0, 3.0],
        [-np.inf, 0.0, -1.0, -np.inf, 0.0],
    ]
)


def exponentials(function):
    """Return how many statements of a function take exponentials."""
    return sum("= exp(" in line for line in function.explain().splitlines())


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_results_have_the_same_bits_alone_and_together(dtype):
    ops = [op(axis) for op, axis in itertools.product(FAMILY, (None, (0,), (1,)))]
    x, *others = [pt.matrix(f"x{i}", dtype=dtype) for i in range(len(ops) + 1)]
    apart = phintys.function(others, [op(y) for op, y in zip(ops, others, strict=True)])
    orders = [list(range(len(ops))), list(range(len(ops)))[::-1]]
    together = [phintys.function([x], [ops[i](x) for i in order]) for order in orders]
    arrays = [SPECIAL, SPECIAL.T, np.linspace(-3, 3, 77).reshape(7, 11), np.zeros((0, 3))]
    for array in [array.astype(dtype) for array in arrays]:
        expected = apart(*[array] * len(ops))
        for function, order in zip(together, orders, strict=True):
            for result, number in zip(function(array), order, strict=True):
                np.testing.assert_array_equal(result, expected[number])


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (lambda x: pt.logsumexp(x, axis=0).sum(), 1),
        (lambda x: (pt.logsumexp(x, axis=1) ** 2).sum(), 1),
        (pt.logsumexp, 1),
        (lambda x: (x * pt.log_softmax(x, axis=1)).sum(), 1),
        (lambda x: (x * pt.softmax(x, axis=1)).sum(), 1),
        (lambda x: (pt.logsumexp(x, axis=0) * pt.logsumexp(x, axis=1)).sum(), 2),
    ],
)
def test_a_value_and_its_gradient_take_each_exponential_once(cost, expected):
    x = pt.dmatrix("x")
    value = cost(x)
    function = phintys.function([x], [value, phintys.grad(value, x)])
    assert exponentials(function) == expected


def test_exponentials_of_other_elements_are_not_shared():
    x, y = pt.dmatrices("x", "y")
    function = phintys.function([x, y], [pt.logsumexp(x, axis=1), pt.softmax(y, axis=1)])
    assert exponentials(function) == 2


def test_a_side_of_a_choice_takes_exponentials_of_its_own():
    x, c = pt.dmatrix("x"), pt.iscalar("c")
    value = pt.logsumexp(x, axis=1)
    chosen = ifelse(c, Softmax((1,))(x), x)
    function = phintys.function([x, c], [value, chosen])
    array = np.arange(6.0).reshape(2, 3)
    sums, shares = function(array, 1)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(array).sum(axis=1), np.exp(sums))
    np.testing.assert_array_equal(function(array, 0)[1], array)
    assert exponentials(function) == 2
