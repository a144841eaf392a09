"""
A variational autoencoder
=========================

Pictures of a blob are all that a network sees. It learns to write each as a code of two numbers,
and to draw it again from a random place near the code (D. Kingma and M. Welling, 2013): the codes
become a map, whose places are drawn here. The gradient goes through the random draw.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.contrib import adam
from phintys.random import Normal, RandomStream

SIDE, HIDDEN, source = 12, 128, np.random.default_rng(0)


def pictures(count):  # blobs at random places, in rows
    places = source.uniform(1.5, SIDE - 2.5, size=(2, count, 1))
    across, down = np.exp(-((np.arange(SIDE) - places) ** 2) / 3)
    return (across[:, :, None] * down[:, None]).reshape(count, -1)


def weights(*shape):
    return phintys.shared(source.normal(size=shape) / np.sqrt(shape[0]))


read, mean_of, spread_of = weights(SIDE**2, HIDDEN), weights(HIDDEN, 2), weights(HIDDEN, 2)
write, more, ink = weights(2, HIDDEN), weights(HIDDEN, HIDDEN), weights(HIDDEN, SIDE**2)
params = [read, mean_of, spread_of, write, more, ink, start := weights(HIDDEN)]


def decoded(code):
    return pt.tanh(pt.tanh(code @ write + start) @ more) @ ink


x, codes = pt.dmatrices("x", "codes")
hidden = pt.tanh(x @ read)
mean, log_spread = hidden @ mean_of, hidden @ spread_of - 2
code = RandomStream(1).draw(Normal(mean, pt.exp(log_spread)))
lost = ((decoded(code) - x) ** 2).sum(axis=1) / (2 * 0.1**2)
far = 0.5 * (mean**2 + pt.exp(2 * log_spread) - 2 * log_spread - 1).sum(axis=1)
cost = (lost + far).mean()
train = phintys.function([x], cost, updates=adam(phintys.grad(cost, params), params, 2e-3))
draw = phintys.function([codes], decoded(codes))
rebuild = phintys.function([x], decoded(mean))
for _ in range(2000):
    train(pictures(64))

map_of_codes = np.stack(np.meshgrid(*[np.linspace(-1.6, 1.6, 9)] * 2), axis=-1)
drawn = draw(map_of_codes.reshape(-1, 2)).reshape(9, 9, SIDE, SIDE)
plt.imshow(drawn.transpose(0, 2, 1, 3).reshape(9 * SIDE, -1), cmap="magma", vmin=0, vmax=1)
plt.axis("off")
plt.show()

assert ((rebuild(new := pictures(200)) - new) ** 2).mean() < 0.1 * new.var()
