"""
A hidden Markov model
=====================

A coin is exchanged for a biased one now and then; only the throws are seen. The forward algorithm
(L. E. Baum and others, 1970) sums over all histories in a loop. The gradient of its logarithm with
respect to the log-likelihoods of the throws *is* the probability of each state: no backward pass
is written, :func:`phintys.grad` makes it.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.control import loop
from phintys.optimize import minimize

source = np.random.default_rng(5)
state = np.cumsum(source.random(300) < 0.03) % 2
heads = (source.random(300) < np.where(state, 0.9, 0.4)).astype(float)

# %%
# The model, in logarithms.

params = {"bias": pt.tensor("bias", shape=(2,)), "switch": pt.dscalar("switch")}
stay, leave = -pt.softplus(params["switch"]), -pt.softplus(-params["switch"])
moves = pt.stack([pt.stack([stay, leave]), pt.stack([leave, stay])])
bias = params["bias"]
emitted = pt.where(heads[:, None] > 0, -pt.softplus(-bias), -pt.softplus(bias))


def forward(before, row):
    after = pt.logsumexp(before[:, None] + moves, axis=0) + row
    return after, None


last, _ = loop(forward, pt.constant(np.log([0.5, 0.5])), emitted)
likelihood = pt.logsumexp(last)
fit = minimize(-likelihood, params, {"bias": np.array([-0.5, 0.5]), "switch": -2.0})

# %%
# What is known of each state, given all throws.

posterior = phintys.function([params], phintys.grad(likelihood, emitted))(fit.params)
plt.fill_between(range(300), state, step="mid", color="0.9", label="biased coin")
plt.plot(posterior[:, 1], label="its probability")
plt.plot(np.where(heads > 0, 1.05, -0.05), "k|", markersize=4)
plt.legend(loc="center right")
plt.show()

assert np.allclose(posterior.sum(axis=1), 1.0)
assert ((posterior[:, 1] > 0.5) == state).mean() > 0.85
