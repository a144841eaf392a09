"""
A line through bad data
=======================

Least squares follows every outlier. A likelihood with heavy tails does not: it is one word of the
model, and :func:`phintys.optimize.minimize` finds line, scale and all from the same expression.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys.tensor as pt
from phintys.optimize import minimize
from phintys.random import Normal, StudentT, logp

source = np.random.default_rng(3)
x = np.linspace(0.0, 10.0, 60)
y = 1.5 * x + 2.0 + 0.5 * source.normal(size=60)
y[::9] += 15.0 * source.random(7)

# %%
# The model: a tree of parameters, and the log-density of the data.

params = {"slope": pt.dscalar(), "height": pt.dscalar(), "log_scale": pt.dscalar()}
start = {"slope": 0.0, "height": 0.0, "log_scale": 0.0}
line = params["slope"] * x + params["height"]
scale = pt.exp(params["log_scale"])

fits = {
    "normal noise": minimize(-logp(Normal(line, scale), y).sum(), params, start),
    "Student's t": minimize(-logp(StudentT(2.0, line, scale), y).sum(), params, start),
}

# %%
# Where the two lines go.

plt.plot(x, y, "k.", label="data")
for name, fit in fits.items():
    slope, height = float(fit.params["slope"]), float(fit.params["height"])
    plt.plot(x, slope * x + height, label=f"{name}: slope {slope:.2f}")
plt.plot(x, 1.5 * x + 2.0, "k:", label="truth: slope 1.50")
plt.legend()
plt.show()

robust = fits["Student's t"].params
assert abs(robust["slope"] - 1.5) < 0.1
