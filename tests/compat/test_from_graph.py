"""``pullback`` and ``pushforward``, as in the newest PyTensor; Ops made from functions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.compat import install, uninstall
from phintys.compat.from_graph import as_op


@pytest.fixture
def pytensor():
    install("pytensor")
    import pytensor

    yield pytensor
    uninstall("pytensor")


def test_an_op_that_defines_only_pullback_and_pushforward_has_derivatives(pytensor):
    pt = pytensor.tensor

    class Cube(pytensor.graph.Op):
        __props__ = ()

        def make_node(self, x):
            x = pt.as_tensor_variable(x)
            return pytensor.graph.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] ** 3

        def pullback(self, inputs, outputs, cotangents):
            return [cotangents[0] * 3 * inputs[0] ** 2]

        def pushforward(self, inputs, outputs, tangents):
            return [tangents[0] * 3 * inputs[0] ** 2]

    x, v = pt.dvectors("x", "v")
    y = Cube()(x)
    outputs = [
        pytensor.grad(y.sum(), x),
        pytensor.gradient.pullback(y, x, v),
        pytensor.gradient.pushforward(y, x, v, use_op_pushforward=True),
        pytensor.gradient.pushforward(y, x, v),
    ]
    found = pytensor.function([x, v], outputs)([1.0, 2.0], [1.0, -1.0])
    np.testing.assert_array_equal(found, [[3, 12], [3, -12], [3, -12], [3, -12]])


def test_every_op_has_pullback_and_pushforward(pytensor):
    pt = pytensor.tensor
    x = pt.dscalar("x")
    y = pt.exp(x)
    (slope,) = y.owner.op.pullback([x], [y], [pt.constant(2.0)])
    (move,) = y.owner.op.pushforward([x], [y], [pt.constant(2.0)])
    assert [float(one.eval({x: 0.0})) for one in (slope, move)] == [2.0, 2.0]


def test_as_op(theano):
    T = theano.tensor

    @theano.compile.ops.as_op(
        itypes=[T.dmatrix, T.dmatrix],
        otypes=[T.dmatrix],
        infer_shape=lambda node, shapes: [(shapes[0][0], shapes[1][1])],
    )
    def numpy_dot(a, b):
        return np.dot(a, b)

    a, b = T.dmatrices("a", "b")
    f = theano.function([a, b], [numpy_dot(a, b), numpy_dot(a, b).shape], mode="debug")
    product, shape = f(np.eye(2), np.ones((2, 3)))
    assert (product.tolist(), shape.tolist()) == (np.ones((2, 3)).tolist(), [2, 3])
    assert str(numpy_dot) == "FromFunctionOp{numpy_dot}"
    with pytest.raises(phintys.PhintysError, match="takes 2 inputs, got 1"):
        numpy_dot(a)


def test_several_results(theano):
    T = theano.tensor

    @theano.as_op([T.dvector], [T.dscalar, T.dscalar])
    def extent(x):
        return np.array(x.min()), np.array(x.max())

    x = T.dvector("x")
    low, high = theano.function([x], extent(x))([3.0, 1.0, 2.0])
    assert (low, high) == (1, 3)


def test_mistakes(theano):
    T = theano.tensor
    with pytest.raises(phintys.PhintysError, match="otypes is a list of Types"):
        theano.as_op([T.dvector], ["float64"])(np.sin)

    @theano.as_op([T.dvector], [T.dscalar, T.dscalar])
    def one(x):
        return x.min()

    x = T.dvector("x")
    with pytest.raises(phintys.PhintysError, match="1 results for 2 outputs"):
        theano.function([x], one(x))([1.0])


@as_op([pt.dvector], [pt.dvector])
def doubled(x):
    """An Op under the name of its function."""
    return 2 * x


def test_ops_of_decorated_functions_can_be_pickled():
    x = pt.dvector("x")
    found = pickle.loads(pickle.dumps(doubled(x)))
    assert found.owner.op is doubled
    sort = as_op([pt.dvector], [pt.dvector])(np.sort)
    assert pickle.loads(pickle.dumps(sort(x))).owner.op == sort
