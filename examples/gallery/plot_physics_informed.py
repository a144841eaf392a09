"""
A network that knows a law
==========================

No data: a network is trained until it satisfies a differential equation, the damped oscillator
``u'' + 0.5 u' + 4 u = 0`` with ``u(0) = 1`` and ``u'(0) = 0`` (I. E. Lagaris and others, 1998; M.
Raissi and others, 2019). Derivatives of the network with respect to its input are taken forward,
those of the cost with respect to the weights in reverse.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.optimize import minimize

source = np.random.default_rng(0)
params = {
    "w1": pt.tensor("w1", shape=(24,)),
    "b1": pt.tensor("b1", shape=(24,)),
    "w2": pt.tensor("w2", shape=(24, 24)),
    "w3": pt.tensor("w3", shape=(24,)),
}
start = {name: source.normal(size=one.type.shape) for name, one in params.items()}
start["w2"] /= 5.0
start["w3"] /= 5.0

t = pt.dvector("t")
hidden = pt.tanh(t[:, None] * params["w1"] + params["b1"])
# The form satisfies both conditions at 0, whatever the weights are.
u = 1.0 + t**2 * (pt.tanh(hidden @ params["w2"]) @ params["w3"])

# %%
# A direction of ones along t gives the derivative at each time.

first = phintys.Rop(u, t, pt.ones_like(t))
second = phintys.Rop(first, t, pt.ones_like(t))
residual = second + 0.5 * first + 4.0 * u
times = np.linspace(0.0, 5.0, 60)
fit = minimize((residual**2).mean(), params, start, givens={t: times}, options={"maxiter": 3000})

found = phintys.function([params, t], u)(fit.params, times)
swing = np.sqrt(4 - 0.25**2)
exact = np.exp(-times / 4) * (np.cos(swing * times) + 0.25 / swing * np.sin(swing * times))
plt.plot(times, exact, "k:", label="exact")
plt.plot(times, found, label="network")
plt.title(f"largest difference: {np.abs(found - exact).max():.1e}")
plt.legend()
plt.show()

assert np.abs(found - exact).max() < 0.02
