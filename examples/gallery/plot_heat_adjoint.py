"""
Where was the heat?
===================

A rod is measured at ten points, long after it was heated. The heat equation is stepped 200 times in
a loop; the gradient with respect to the first temperatures is its adjoint equation, solved
backwards in time. It is never written down, and keeps only some of the states.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.control import fori_loop
from phintys.optimize import minimize

POINTS, STEPS = 100, 200
where = np.linspace(0.0, 1.0, POINTS)
sensors = np.arange(5, POINTS, 10)
truth = np.exp(-(((where - 0.3) / 0.05) ** 2)) + 0.6 * np.exp(-(((where - 0.7) / 0.08) ** 2))


def after(first):
    """Return the temperatures after all steps: explicit differences, with insulated ends."""

    def step(_, u):
        padded = pt.concatenate([u[:1], u, u[-1:]])
        return u + 0.4 * (padded[2:] - 2 * u + padded[:-2])

    return fori_loop(0, STEPS, step, first)


first = pt.tensor("first", shape=(POINTS,))
last = after(first)
run = phintys.function([first], last)
measured = run(truth)[sensors] + 0.001 * np.random.default_rng(0).normal(size=10)

# %%
# Temperatures that explain the sensors, and are not rougher than they must be. Those that are
# squared are not negative.

root = pt.tensor("root", shape=(POINTS,))
guess = root**2
found = after(guess)
cost = ((found[sensors] - measured) ** 2).sum() / 0.001**2 + 10 * (pt.diff(guess, n=2) ** 2).sum()
fit = minimize(cost, root, start=np.full(POINTS, 0.5), options={"maxiter": 500})

plt.plot(where, truth, "k:", label="at first, truth")
plt.plot(where, fit.params**2, label="at first, found")
plt.plot(where, run(truth), "0.7", label="at last")
plt.plot(where[sensors], measured, "ko", label="measured")
plt.legend()
plt.show()

assert abs(where[np.argmax(fit.params**2)] - 0.3) < 0.05
