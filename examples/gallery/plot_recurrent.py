"""
A recurrent network
===================

Sequences of numbers, two of which are marked: what is their sum? The network must remember what it
saw many steps ago (the adding problem of S. Hochreiter and J. Schmidhuber, 1997). It has gates (K.
Cho and others, 2014), reads by a loop, and is trained through it.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.contrib import adam
from phintys.control import loop

LENGTH, UNITS = 20, 32
source = np.random.default_rng(0)


def weights(*shape):
    return phintys.shared(source.normal(size=shape) / np.sqrt(shape[0]))


into, gates, new = weights(2, 3 * UNITS), weights(UNITS, 2 * UNITS), weights(UNITS, UNITS)
params = [into, gates, new, bias := weights(3 * UNITS), out := weights(UNITS)]


def read(state, seen):  # one more number of each sequence
    forget, keep = pt.split(pt.sigmoid(seen[:, : 2 * UNITS] + state @ gates), 2, axis=1)
    state = keep * state + (1 - keep) * pt.tanh(seen[:, 2 * UNITS :] + (forget * state) @ new)
    return state, state @ out


x, y = pt.dtensor3("x"), pt.dvector("y")  # axes: step; sequence; number, mark
_, sums = loop(read, pt.zeros((x.shape[1], UNITS)), x @ into + bias)
cost = ((sums[-1] - y) ** 2).mean()
train = phintys.function([x, y], cost, updates=adam(phintys.grad(cost, params), params, 5e-3))
follow = phintys.function([x], sums[-1])


def sequences(count):
    numbers, marks = source.uniform(size=(LENGTH, count)), np.zeros((LENGTH, count))
    for half in (0, LENGTH // 2):
        marks[source.integers(half, half + LENGTH // 2, count), np.arange(count)] = 1
    return np.stack([numbers, marks], axis=-1), (numbers * marks).sum(axis=0)


costs = [float(train(*sequences(64))) for _ in range(1000)]
given, wanted = sequences(300)
_, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
left.semilogy(costs)
left.set(xlabel="step", ylabel="squared error")
right.plot(wanted, follow(given), ".")
right.set(xlabel="sum", ylabel="answer")
plt.show()

assert np.mean(costs[-100:]) < 0.01
