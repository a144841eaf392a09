"""
A convolutional network
=======================

Two layers of filters and one of weights read digits, which are somewhere in noisy images. The
filters of the first layer, below, are what it has learned to look for.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.contrib import adam

source = np.random.default_rng(0)
ROWS = "75557 26227 71747 71717 55711 74717 74757 71111 75757 75717"  # three pixels in each figure
digits = np.array([[[int(row) >> k & 1 for k in (2, 1, 0)] for row in d] for d in ROWS.split()])
labels, images = source.integers(0, 10, 1800), 0.15 * source.normal(size=(1800, 1, 8, 8))
for image, number in zip(images, labels, strict=True):
    y, x = source.integers(0, (4, 6))
    image[0, y : y + 5, x : x + 3] += digits[number]
seen, held_out = np.arange(1200), np.arange(1200, 1800)


def weights(*shape):
    scale = np.sqrt(2.0 / np.prod(shape[1:]))
    return phintys.shared(scale * source.normal(size=shape))


first, second, last = weights(8, 1, 3, 3), weights(16, 8, 3, 3), weights(10, 64)
params = [first, second, last]

# %%
# An image of 8 x 8 pixels becomes 16 pictures of 2 x 2.

x = pt.tensor("x", shape=(None, 1, 8, 8))
label = pt.lvector("label")
hidden = pt.signal.max_pool(pt.relu(pt.signal.conv(x, first, padding="half")), (2, 2))
hidden = pt.signal.max_pool(pt.relu(pt.signal.conv(hidden, second, padding="half")), (2, 2))
scores = hidden.reshape((-1, 64)) @ last.T
cost = -pt.log_softmax(scores, axis=1)[pt.arange(label.size), label].mean()

train = phintys.function([x, label], cost, updates=adam(phintys.grad(cost, params), params, 3e-3))
read = phintys.function([x], scores.argmax(axis=1))
for _ in range(30):
    for batch in np.split(source.permutation(seen), 24):
        train(images[batch], labels[batch])

right = (read(images[held_out]) == labels[held_out]).mean()
fig, axes = plt.subplots(1, 8, figsize=(8, 1.4))
for axis, one in zip(axes, first.get_value()[:, 0], strict=True):
    axis.imshow(one, cmap="RdBu", vmin=-1, vmax=1)
    axis.axis("off")
fig.suptitle(f"{right:.1%} of the digits that were held out are read")
plt.show()

assert right > 0.93
