"""
A Type of your own
==================

Values of variables need not be arrays. Here they are intervals, and their arithmetic (R. E. Moore,
1966) encloses what it computes with: the graph of a polynomial runs through the boxes, however
coarse they are. Intervals of a sum of products are wide, and Horner's form of it is narrower.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import phintys
from phintys.graph import Apply, Op, Type, Variable


class Interval(Type):
    __props__ = ()  # no parameters: all instances are equal

    def filter(self, value, strict=False, allow_downcast=None):
        return value if isinstance(value, tuple) else (value, value)


interval = Interval()


class Enclosure(Op):
    __props__ = ("function",)

    def __init__(self, function):  # monotonic in each operand: ends become ends
        self.function = function

    def make_node(self, *inputs):
        known = [x if isinstance(x, Variable) else interval.make_constant(x) for x in inputs]
        return Apply(self, known, [interval()])

    def perform(self, node, inputs, output_storage):
        ends = [self.function(x, y) for x in inputs[0] for y in inputs[1]]
        output_storage[0][0] = min(ends), max(ends)


add, mul, x = Enclosure(np.add), Enclosure(np.multiply), interval("x")
edges = np.linspace(-2, 2, 25)
forms = {
    "(x·x)·x + (2 − 3·x)": add(mul(mul(x, x), x), add(mul(x, -3), 2)),
    "x·(x·x − 3) + 2": add(mul(x, add(mul(x, x), -3)), 2),
}
for name, y in forms.items():
    f = phintys.function([x], y)
    lows, highs = np.transpose([f(ends) for ends in pairwise(edges)])
    plt.stairs(highs, edges, baseline=lows, fill=True, alpha=0.5, label=name)
    points = np.linspace(edges[:-1], edges[1:], 9)
    exact = points**3 - 3 * points + 2
    assert ((lows <= exact) & (exact <= highs)).all()
plt.plot(points.T.ravel(), exact.T.ravel(), "k", linewidth=1)
plt.legend()
plt.show()
