"""
A small transformer
===================

One layer of attention (A. Vaswani and others, 2017) learns to turn sequences around. Which place
each place looks at is the picture: a diagonal from the lower left to the upper right.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.contrib import adam

LENGTH, LETTERS, WIDTH = 8, 6, 24
source = np.random.default_rng(0)


def weights(*shape):
    return phintys.shared(source.normal(size=shape) / np.sqrt(shape[0]))


letters, places = weights(LETTERS, WIDTH), weights(LENGTH, WIDTH)
query, key, value, out = (weights(WIDTH, WIDTH) for _ in range(4))
params = [letters, places, query, key, value, out]

# %%
# The layer, for a batch of sequences: products of stacks of matrices.

x = pt.lmatrix("x")
inside = letters[x] + places[: x.shape[1]]
scores = (inside @ query) @ (inside @ key).mT / np.sqrt(WIDTH)
attention = pt.softmax(scores, axis=-1)
logits = (inside + attention @ (inside @ value) @ out) @ letters.T
wanted = x[:, ::-1]
chosen = pt.take_along_axis(pt.log_softmax(logits, axis=-1), wanted[:, :, None], axis=2)
cost = -chosen.mean()

updates = adam(phintys.grad(cost, params), params, 3e-3)
train = phintys.function([x], cost, updates=updates)
show = phintys.function([x], [logits.argmax(axis=-1), attention])
costs = [float(train(source.integers(0, LETTERS, (64, LENGTH)))) for _ in range(800)]

new = source.integers(0, LETTERS, (200, LENGTH))
answer, looks = show(new)
right = (answer == new[:, ::-1]).mean()
fig, (left, where) = plt.subplots(1, 2, figsize=(8, 3.4))
left.semilogy(costs)
left.set_xlabel("step")
left.set_ylabel("loss")
where.imshow(looks.mean(axis=0), cmap="viridis")
where.set_xlabel("place that is looked at")
where.set_title(f"{right:.1%} right")
plt.show()

assert right > 0.95
