"""
DebugMode at work
=================

An Op promises to leave its inputs alone and to have a right gradient. Two mistakes, and who finds
them: ``mode="debug"`` an input that is overwritten, ``verify_grad`` a wrong sign.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.graph import Apply, Op
from phintys.testing import verify_grad


class Normalized(Op):
    """x / x.sum(), with two mistakes."""

    def make_node(self, x):
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, storage):
        (x,) = inputs
        x /= x.sum()  # the caller's array: x = x / x.sum() would be right
        storage[0][0] = x.copy()

    def L_op(self, inputs, outputs, slopes):
        (x,), (y,), (g,) = inputs, outputs, slopes
        return [(g + (g * y).sum()) / x.sum()]  # a minus is right


# %%
# The first mistake.

x = pt.dvector("x")
y = Normalized()(x) + x
try:
    phintys.function([x], y, mode="debug")([1.0, 3.0])
except phintys.PhintysError as error:
    print(type(error).__name__, str(error).splitlines()[0], sep=": ")

# %%
# The second: the slope by differences, beside what the Op says.

point = np.array([1.0, 3.0])
try:
    verify_grad(lambda x: Normalized()(x * 1.0), [point])
except phintys.PhintysError as error:
    print(type(error).__name__, str(error).splitlines()[0], sep=": ")

said = phintys.grad(Normalized()(x * 1.0)[0], x).eval({x: point})
plt.bar([0, 2], [3 / 16, -1 / 16], label="right")
plt.bar([0.8, 2.8], said, label="what the Op says")
plt.legend()
plt.show()
assert said[0] > 3 / 16
