"""
What conducts in a plate?
=========================

A plate is heated evenly and kept cold at its edge. Linear finite elements give its temperatures,
which are measured at all points; the conductivity of each triangle is what explains them. A sparse
matrix is factorized once for the solution and for its gradient, the adjoint equation, which is
never written down.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from scipy.spatial import Delaunay

import phintys.tensor as pt
from phintys import sparse
from phintys.optimize import minimize

source = np.random.default_rng(0)
line = np.linspace(0.0, 1.0, 25)
points = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
inner = ((points > 0) & (points < 1)).all(axis=1)
points[inner] += source.uniform(-0.01, 0.01, (inner.sum(), 2))
triangles = Delaunay(points).simplices

# %%
# The slopes of the temperature in each triangle are a sparse matrix times its values. The stiffness
# is a product of it and its transpose, with conductivities in between.

corners = np.concatenate([np.ones((len(triangles), 3, 1)), points[triangles]], axis=2)
areas = np.abs(np.linalg.det(corners)) / 2
slopes = np.sqrt(areas)[:, None, None] * np.linalg.inv(corners)[:, 1:, :]
rows = np.arange(2 * len(triangles)).repeat(3)
columns = triangles.repeat(2, axis=0).ravel()
gradient = sparse.as_sparse_variable(sp.csr_array((slopes.ravel(), (rows, columns)))[:, inner])
heat = np.bincount(triangles.ravel(), areas.repeat(3) / 3)[inner]

logarithm = pt.tensor("logarithm", shape=areas.shape)
flows = sparse.row_scale(gradient, pt.repeat(pt.exp(logarithm), 2))
temperatures = sparse.linalg.solve(gradient.T @ flows, heat, assume_a="pos")

# %%
# Conductivities that explain noisy temperatures, and differ little between neighbours.

middles = points[triangles].mean(axis=1)
truth = np.where(np.hypot(*(middles - [0.6, 0.4]).T) < 0.2, 1.0, 0.0)
measured = temperatures.eval({logarithm: truth}) + 2e-4 * source.normal(size=heat.shape)
pairs = np.stack(sp.coo_array(np.abs(gradient.data @ gradient.data.T) > 0).coords) // 2
rough = (logarithm[pairs[0]] - logarithm[pairs[1]]) ** 2
cost = (((temperatures - measured) / 2e-4) ** 2).sum() + 0.1 * rough.sum()
fit = minimize(cost, logarithm, start=np.zeros(areas.shape), options={"maxiter": 100})

for number, (title, values) in enumerate({"truth": truth, "found": fit.params}.items(), 1):
    plt.subplot(1, 2, number, aspect="equal", title=title)
    plt.tripcolor(*points.T, triangles, values, vmin=-0.2, vmax=1.2)
plt.show()

assert np.corrcoef(truth, fit.params)[0, 1] > 0.8
