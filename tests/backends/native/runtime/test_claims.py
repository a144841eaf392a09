"""Where no other thread would have to wait, memory is overwritten however long that takes."""

import pytest

HEAD = """
import time
import numpy as np
import phintys, phintys.tensor as pt
from phintys.backends.native.runtime.background import chores

def address(shared):
    return shared.get_value(borrow=True).ctypes.data

def alone():
    # What compiles in the background is gone, to the last of its traces.
    chores.wait()
    time.sleep(0.2)
"""

TWIN = """
from phintys.tensor.blas import Gemm
x, y, z = pt.dmatrices("x", "y", "z")
result = phintys.Out(Gemm(inplace=True)(x, y, 2.0, z), borrow=True)
f = phintys.function([phintys.In(z, mutable=True), x, y], result, accept_inplace=True)
alone()
given = np.ones((3, 3))
assert np.shares_memory(f(given, np.ones((3, 2)), np.ones((2, 3))), given)
assert given.tolist() == [[5.0] * 3] * 3
"""

PRODUCT = """
weights = phintys.shared(np.zeros((500, 400)))
x, y = pt.dmatrices("x", "y")
f = phintys.function([x, y], [], updates={weights: weights - 0.5 * pt.dot(x, y)})
alone()
before = address(weights)
f(np.ones((500, 3)), np.ones((3, 400)))
assert address(weights) == before
assert (weights.get_value() == -1.5).all()
"""

WHOLE = """
s, g = phintys.shared(np.ones(1_000_000)), phintys.shared(np.full(1_000_000, 2.0))
rate = pt.dscalar("rate")
f = phintys.function([rate], s[0], updates={s: s - rate * g, g: g * 2})
alone()
before = address(s), address(g)
assert f(0.5) == 1
assert (address(s), address(g)) == before
assert (s.get_value() == 0).all() and (g.get_value() == 4).all()
"""


@pytest.mark.parametrize("program", [TWIN, PRODUCT, WHOLE], ids=["twin", "product", "whole"])
def test_a_process_with_one_thread(run_python, program):
    run_python(HEAD + program)
