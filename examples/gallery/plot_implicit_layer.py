"""
A layer that solves an equation
===============================

Prices at which supply meets demand are defined by an equation, not by a formula. The solution is an
expression like any other, and has derivatives by the implicit function theorem: here, how a tax on
one good changes the prices of both.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt

prices = pt.tensor("prices", shape=(2,))
tax = pt.dscalar("tax")
appetite = np.array([[8.0, 1.0], [2.0, 6.0]])

# %%
# Demand falls with the price of a good and rises with that of the other; supply rises with what is
# left of the price after the tax.

demand = appetite[:, 0] * pt.exp(-prices / 4) + appetite[:, 1] * prices[::-1] / (1 + prices[::-1])
supply = pt.softplus(prices - pt.stack([tax, 0.0]))
settled, success = pt.optimize.root(demand - supply, prices)
at = phintys.function([prices, tax], [settled, success, phintys.jacobian(settled, tax)])

taxes = np.linspace(0.0, 6.0, 25)
found, slopes = [], []
for one in taxes:
    settled_at, ok, slope = at([3.0, 3.0], one)
    assert ok
    found.append(settled_at)
    slopes.append(slope)
found, slopes = np.array(found), np.array(slopes)

# %%
# Slopes by the theorem are tangents of the curves.

for good, name in enumerate(("taxed good", "other good")):
    plt.plot(taxes, found[:, good], label=name)
    for k in (6, 18):
        span = taxes[k] + np.array([-0.7, 0.7])
        plt.plot(span, found[k, good] + slopes[k, good] * (span - taxes[k]), "k", linewidth=1)
plt.xlabel("tax")
plt.ylabel("price")
plt.legend()
plt.show()

assert np.allclose(np.gradient(found[:, 0], taxes)[1:-1], slopes[1:-1, 0], atol=0.02)
