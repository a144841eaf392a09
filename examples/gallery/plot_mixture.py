"""
A mixture of normal distributions
=================================

Which of three clusters a point belongs to is not observed: its density is a sum over them, and the
logarithm of the sum is taken without underflow. Weights, centres and widths are found by gradient.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.optimize import minimize
from phintys.random import Normal, logp

source = np.random.default_rng(1)
centres = np.array([[0.0, 0.0], [4.0, 1.0], [1.5, 4.0]])
points = np.repeat(centres, 100, axis=0) + source.normal(size=(300, 2)) * [0.8, 0.5]

# %%
# Weights are a softmax of free numbers, widths an exponential: nothing is constrained.

params = {
    "score": pt.tensor("score", shape=(3,)),
    "centre": pt.tensor("centre", shape=(3, 2)),
    "log_width": pt.tensor("log_width", shape=(3, 2)),
}
at = pt.dmatrix("at")
each = Normal(params["centre"], pt.exp(params["log_width"]))
densities = logp(each, at[:, None, :]).sum(axis=2) + pt.log_softmax(params["score"])
density = pt.logsumexp(densities, axis=1)

start = {"score": np.zeros(3), "centre": points[[0, 120, 240]], "log_width": np.zeros((3, 2))}
fit = minimize(-density.mean(), params, start, givens={at: points})

# %%
# The density on a grid, and the cluster of each point.

show = phintys.function([params, at], [pt.exp(density), densities.argmax(axis=1)])
across, up = np.meshgrid(np.linspace(-3, 7, 120), np.linspace(-2, 6, 120))
height, _ = show(fit.params, np.stack([across.ravel(), up.ravel()], axis=1))
_, cluster = show(fit.params, points)
plt.contour(across, up, height.reshape(across.shape), 12, cmap="Greys")
plt.scatter(*points.T, c=cluster, s=8, cmap="viridis")
plt.title(f"log-density of a point: {-fit.history[-1]:.2f}")
plt.show()

assert np.abs(np.sort(fit.params["centre"], axis=0) - np.sort(centres, axis=0)).max() < 0.3
