"""
A Gaussian process
==================

A prior over smooth functions, and what remains of it after twelve measurements (C. E. Rasmussen and
C. K. I. Williams, 2006). Length, height and noise maximize the density of the data; its gradient
goes through the Cholesky factor.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.optimize import minimize

source = np.random.default_rng(2)
x = np.sort(source.uniform(0.0, 10.0, 12))
y = np.sin(x) + 0.1 * source.normal(size=12)

# %%
# The kernel is a function of two vectors, and the density an expression of its matrix.

log = {name: pt.dscalar(name) for name in ("length", "height", "noise")}
length, height, noise = (pt.exp(log[name]) for name in log)


def kernel(a, b):
    return height**2 * pt.exp(-(((a[:, None] - b[None, :]) / length) ** 2) / 2)


covariance = kernel(x, x) + noise**2 * pt.eye(12)
solved = pt.linalg.solve(covariance, y, assume_a="pos")
density = -0.5 * (y @ solved) - 0.5 * pt.linalg.slogdet(covariance)[1]
fit = minimize(-density, log, {"length": 0.0, "height": 0.0, "noise": -1.0})

# %%
# Mean and variance in between: the factor is computed once.

at = np.linspace(-1.0, 11.0, 300)
between = kernel(at, x)
mean = between @ solved
explained = (between * pt.linalg.solve(covariance, between.T, assume_a="pos").T).sum(axis=1)
deviation = pt.sqrt(height**2 - explained)
middle, spread = phintys.function([log], [mean, deviation])(fit.params)

plt.fill_between(at, middle - 2 * spread, middle + 2 * spread, color="C0", alpha=0.2)
plt.plot(at, middle, label="what is believed")
plt.plot(at, np.sin(at), "k:", label="truth")
plt.plot(x, y, "ko", label="measured")
plt.legend()
plt.show()

inside = (at > x[0]) & (at < x[-1])
assert (np.abs(np.sin(at) - middle) < 4 * spread + 0.05)[inside].all()
