"""``pullback`` and ``pushforward``, as in the newest PyTensor."""

from __future__ import annotations

import numpy as np
import pytest

from phintys.compat import install, uninstall


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
