"""
Where the time goes
===================

``profile=True`` times the steps of a function: kernels, calls of libraries, callbacks. The profile
is data, too, and here a chart of the lines of a program. The Op in plain Python is found at once.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt


@phintys.wrap_py(itypes=[pt.dmatrix], otypes=[pt.dmatrix])
def sorted_rows(a):
    """Sort each row, in Python's way."""
    return np.array([sorted(row) for row in a])


x, w = pt.dmatrices("x", "w")
product = x @ w
ordered = sorted_rows(product)
smooth = pt.exp(-(ordered**2) / 2)
total = smooth.sum()

f = phintys.function([x, w], total, profile=True, name="total")
source = np.random.default_rng(0)
for _ in range(5):
    f(source.normal(size=(400, 300)), source.normal(size=(300, 200)))
print(f.profile)

# %%
# The same by Op, as a chart.

by_op = f.profile.by_op()
costs = sorted(by_op.items(), key=lambda item: item[1].seconds)
plt.barh([name for name, _ in costs], [1e3 * cost.seconds / 5 for _, cost in costs])
plt.xlabel("ms a call")
plt.tight_layout()
plt.show()

assert costs[-1][0].startswith("sorted_rows")
