"""An Op that counts its calls, for tests of what is computed, and how often."""

import numpy as np

import phintys.tensor as pt
from phintys.graph import Apply, Op


class Counted(Op):
    """The sine, in Python, that counts its calls.

    Its derivative is computed from its value, or by another Op from its input.
    """

    __props__ = ("name",)
    calls = 0

    def __init__(self, name, derivative=None):
        self.name = name
        self.derivative = derivative

    def __str__(self):
        return self.name

    def make_node(self, x):
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        self.calls += 1
        output_storage[0][0] = np.asarray(np.sin(inputs[0]))

    def infer_shape(self, fgraph, node, input_shapes):
        return input_shapes

    def L_op(self, inputs, outputs, output_grads):
        if self.derivative is None:
            return [output_grads[0] * pt.sqrt(1 - outputs[0] ** 2)]
        return [output_grads[0] * self.derivative(inputs[0])]
