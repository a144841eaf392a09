"""
Many chains
===========

Four chains of Hamiltonian Monte Carlo (S. Duane and others, 1987) draw from a density in the shape
of a banana. A chain is one compiled function, and :func:`phintys.parallel.map` runs one on each
core; with ``client=`` on other machines, with the same draws, bit for bit.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.control import loop
from phintys.random import rng


def log_density(q):
    return -0.5 * q[0] ** 2 - 0.5 * ((q[1] - q[0] ** 2) / 0.4) ** 2


def at(q):
    value = log_density(q)
    return value, phintys.grad(value, q)


def leapfrog(carry, _):
    q, p, slope = carry
    half = p + 0.05 * slope
    q = q + 0.1 * half
    slope = at(q)[1]
    return (q, half + 0.05 * slope, slope), None


def draw(carry, _):
    q, generator = carry
    generator, p = generator.normal(size=2)
    generator, u = generator.uniform()
    value, slope = at(q)
    (end, last, _), _ = loop(leapfrog, (q, p, slope), length=20)
    rise = at(end)[0] - value - 0.5 * (last**2 - p**2).sum()
    q = pt.switch(pt.log(u) < rise, end, q)
    return (q, generator), q


start, generator = pt.tensor("start", shape=(2,)), rng("generator")
_, path = loop(draw, (start, generator), length=2000)
chain = phintys.function([start, generator], path)
starts = [np.array([x, 1.0]) for x in (-2.0, -1.0, 1.0, 2.0)]
chains = phintys.parallel.map(chain, starts, rng=17)

for number, one in enumerate(chains):
    plt.plot(*one[200:].T, ".", markersize=2, label=f"chain {number + 1}")
plt.legend()
plt.show()

draws = np.concatenate([one[200:] for one in chains])
assert np.abs(draws.mean(axis=0) - [0.0, 1.0]).max() < 0.2
