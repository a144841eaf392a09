"""
A field of 10,000 temperatures
==============================

A Gaussian Markov random field on a grid of 100 by 100 points, and what remains of it after 2,000
measurements. Its precision is a sparse matrix: a point depends on its four neighbours (H. Rue and
L. Held, 2005). Densities, their gradients, draws and variances take the sparse factor alone.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys.optimize import minimize
from phintys.random import GaussianMarkovField, Normal, shared_rng

SIDE, SIZE, NOISE = 100, 10_000, 0.3
line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(SIDE, SIDE))
grid = sparse.as_sparse_variable(sp.csc_array(sp.kronsum(line, line)))
source = np.random.default_rng(1)
seen = np.zeros(SIZE)
seen[source.permutation(SIZE)[:2000]] = 1.0


def precision(log_range):
    """Return the precision of a field whose points forget each other at a range."""
    return grid + sparse.square_diagonal(pt.exp(-2 * log_range) * np.ones(SIZE))


log_range = pt.dscalar("log_range")
draw = GaussianMarkovField(np.zeros(SIZE), precision(log_range)).draw(shared_rng(seed=3))[1]
truth = phintys.function([log_range], draw)(np.log(12.0))
measured = seen * (truth + NOISE * source.normal(size=SIZE))

# %%
# The density of the measurements is that of field and measurements, divided by that of the field
# given the measurements, at any field: here at its mean.

prior = precision(log_range)
later = prior + sparse.square_diagonal(seen / NOISE**2)
mean = sparse.linalg.solve(later, measured / NOISE**2, assume_a="pos")
density = GaussianMarkovField(np.zeros(SIZE), prior).logp(mean)
density += (seen * Normal(mean, NOISE).logp(measured)).sum()
density -= GaussianMarkovField(mean, later).logp(mean)
fit = minimize(-density, log_range, start=np.log(3.0), options={"maxiter": 8})
spread = pt.sqrt(GaussianMarkovField(mean, later).variance())
middle, deviation = phintys.function([log_range], [mean, spread])(fit.params)

shown = {"truth": truth, "measured": np.where(seen, measured, np.nan), "mean": middle}
figure, axes = plt.subplots(1, 4, figsize=(13, 3))
for axis, (title, field) in zip(axes, [*shown.items(), ("deviation", deviation)], strict=True):
    figure.colorbar(axis.imshow(field.reshape(SIDE, SIDE)), ax=axis)
    axis.set_title(title)
plt.show()

assert np.mean(np.abs(truth - middle) < 3 * deviation) > 0.98
