"""
An Op of your own
=================

A running median is in no table of the library. In a few lines of NumPy it becomes an Op: what it
takes, what it computes, the shape of its result, and its gradient. Everything around it is compiled
as ever, and a wave is fitted through its gradient to data of which a fifth is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.graph import Apply, Op


class RunningMedian(Op):
    __props__ = ("width",)  # equal Ops promise equal results

    def __init__(self, width):
        self.width = width

    def make_node(self, x):
        return Apply(self, [pt.as_tensor_variable(x)], [pt.dvector()])

    def perform(self, node, inputs, output_storage):
        windows = np.lib.stride_tricks.sliding_window_view(inputs[0], self.width)
        output_storage[0][0] = np.median(windows, axis=1)

    def infer_shape(self, fgraph, node, shapes):
        return [(shapes[0][0] - self.width + 1,)]

    def grad(self, inputs, output_grads):  # to the element that is the median
        (x,), (g,) = inputs, output_grads
        starts = pt.arange(g.size)
        places = pt.argsort(x[starts[:, None] + np.arange(self.width)], axis=1)
        return [pt.zeros_like(x)[starts + places[:, self.width // 2]].inc(g)]


source = np.random.default_rng(0)
phintys.testing.verify_grad(RunningMedian(5), [source.normal(size=20)])
times = np.linspace(0.0, 10.0, 300)
truth = 2.0 * np.sin(1.3 * times + 0.5)
data = truth + 0.2 * source.normal(size=300)
data[source.uniform(size=300) < 0.2] += 6.0
height, speed, phase = params = [pt.dscalar(name) for name in ("height", "speed", "phase")]
wave = height * pt.sin(speed * times + phase)
draw = phintys.function(params, wave)
plt.plot(times, data, ".", color="grey", markersize=4, label="data")
errors = []
for name, left in {"squares": wave - data, "medians": RunningMedian(11)(wave - data)}.items():
    fit = phintys.optimize.minimize((left**2).sum(), params, [1.0, 1.2, 0.0]).params
    plt.plot(times, draw(*fit), label=name)
    errors.append(np.abs(draw(*fit) - truth).max())
plt.legend(loc="lower right")
plt.show()

assert errors[1] < 0.3 < errors[0]
