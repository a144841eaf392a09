"""
A particle filter
=================

A hidden state moves nonlinearly, and is seen through noise. A thousand particles follow it: they
move, are weighted by what is measured, and are drawn again (N. J. Gordon, D. J. Salmond and A. F.
M. Smith, 1993). The filter is one compiled loop, with its draws inside.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.control import loop
from phintys.random import Normal, logp, rng, state

COUNT, STEPS = 1000, 60
source = np.random.default_rng(8)


def motion(x, k):
    return 0.5 * x + 25 * x / (1 + x**2) + 8 * np.cos(1.2 * k)


truth = [0.1]
for number in range(1, STEPS):
    truth.append(motion(truth[-1], number) + source.normal())
measured = np.array(truth) / 2 + source.normal(size=STEPS)

# %%
# A step: move, weight, draw in proportion to the weights (systematically, with one number).


def step(carry, row):
    particles, generator = carry
    k, y = row[0], row[1]
    generator, noise = generator.normal(size=COUNT)
    generator, u = generator.uniform()
    moved = motion(particles, k) + noise
    weights = pt.softmax(logp(Normal(moved / 2, 1.0), y))
    mean = (weights * moved).sum()
    spread = pt.sqrt((weights * (moved - mean) ** 2).sum())
    places = (pt.arange(COUNT) + u) / COUNT
    chosen = pt.minimum(pt.searchsorted(pt.cumsum(weights), places), COUNT - 1)
    return (moved[chosen], generator), (mean, spread)


rows, generator = pt.dmatrix("rows"), rng("generator")
_, (means, spreads) = loop(step, (pt.zeros(COUNT), generator), rows)
run = phintys.function([rows, generator], [means, spreads])
mean, spread = run(np.stack([np.arange(STEPS), measured], axis=1), state(1))

plt.plot(truth, "k:", label="truth")
plt.plot(mean, label="mean of the particles")
plt.fill_between(range(STEPS), mean - 2 * spread, mean + 2 * spread, alpha=0.2)
plt.legend()
plt.show()
assert (np.abs(mean - truth) < 3 * spread + 0.5)[5:].mean() > 0.85
