"""
Three groups of friends
=======================

Of 300 people, six say to which group they belong. A network on the graph of their friendships
tells that of the others (T. Kipf and M. Welling, 2017): each layer is a product with a sparse
matrix, whose values are learnt as well, as weights of the friendships.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys.contrib import adam

PEOPLE, GROUPS, WIDTH = 300, 3, 8
source = np.random.default_rng(0)
group = np.arange(PEOPLE) % GROUPS
likely = np.where(group[:, None] == group, 0.08, 0.008)
upper = np.triu(source.random((PEOPLE, PEOPLE)) < likely, 1)
graph = sp.csr_array(upper | upper.T | np.eye(PEOPLE, dtype=bool), dtype="float64")
labelled = np.concatenate([np.flatnonzero(group == g)[:2] for g in range(GROUPS)])

# %%
# Weights of the entries are positive, and those of a row have the sum 1.

strength = phintys.shared(np.zeros(graph.nnz))
first = phintys.shared(source.normal(size=(PEOPLE, WIDTH)) / 4)
second = phintys.shared(source.normal(size=(WIDTH, GROUPS)) / np.sqrt(WIDTH))
params = [strength, first, second]

edges = sparse.from_parts(pt.exp(strength), graph.indices, graph.indptr, graph.shape)
mean = sparse.row_scale(edges, 1 / edges.sum(axis=1))
hidden = pt.tanh(mean @ (mean @ first))
scores = mean @ (mean @ (hidden @ second))
log_chance = pt.log_softmax(scores, axis=1)
cost = -log_chance[labelled, group[labelled]].mean()
cost += 1e-3 * sum((param**2).sum() for param in params)

train = phintys.function([], cost, updates=adam(phintys.grad(cost, params), params, 1e-2))
costs = [float(train()) for _ in range(400)]
answer, inside = phintys.function([], [scores.argmax(axis=1), hidden])()
right = (answer == group).mean()

left = np.linalg.svd(inside - inside.mean(axis=0))[0][:, :2]
ends = np.stack(np.nonzero(upper))
plt.plot(*left[ends].transpose(2, 0, 1), "0.8", linewidth=0.3, zorder=0)
plt.scatter(*left.T, c=answer, cmap="viridis", s=20)
plt.scatter(*left[labelled].T, c=group[labelled], cmap="viridis", s=120, edgecolors="r")
plt.title(f"{right:.1%} right")
plt.show()

assert right > 0.9
