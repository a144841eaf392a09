"""
A neural differential equation
==============================

The right side of an equation is a network (R. T. Q. Chen and others, 2018), trained until its
solution passes through the points of a spiral. A loop of Runge-Kutta steps solves it, and
:func:`phintys.grad` goes back through all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.control import loop
from phintys.optimize import minimize

STEPS, DT = 60, 0.1
source = np.random.default_rng(4)
times = DT * np.arange(1, STEPS + 1)
truth = np.exp(-0.15 * times)[:, None] * np.stack([np.cos(2 * times), np.sin(2 * times)], axis=1)
seen = truth + 0.02 * source.normal(size=truth.shape)

shapes = {"w1": (2, 24), "b1": (24,), "w2": (24, 2)}
params = {name: pt.tensor(name, shape=shape) for name, shape in shapes.items()}
start = {name: 0.4 * source.normal(size=shape) for name, shape in shapes.items()}


def slope(u):
    return pt.tanh(u @ params["w1"] + params["b1"]) @ params["w2"]


def step(u, _):
    a = slope(u)
    b = slope(u + DT / 2 * a)
    c = slope(u + DT / 2 * b)
    d = slope(u + DT * c)
    new = u + DT / 6 * (a + 2 * b + 2 * c + d)
    return new, new


# %%
# First the beginning of the spiral, then all of it: long paths are hard to learn at once.

_, path = loop(step, pt.constant([1.0, 0.0]), length=STEPS)
for known in (15, 30, STEPS):
    cost = ((path[:known] - seen[:known]) ** 2).mean()
    start = minimize(cost, params, start, options={"maxiter": 300}).params
found = phintys.function([params], path)(start)

plt.plot(*seen.T, "k.", label="seen")
plt.plot(*found.T, label="solution of the network")
plt.axis("equal")
plt.legend()
plt.show()

assert np.abs(found - truth).mean() < 0.05
