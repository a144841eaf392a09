"""Arrays without elements, whose other axes are longer than any loop could walk along."""

import pytest

pytestmark = pytest.mark.usefixtures("native")

PROGRAM = """
import numpy as np
import phintys
import phintys.tensor as pt

long = 2**58
x, y = pt.matrix("x", dtype="int8"), pt.tensor3("y", dtype="int8")


def check(variable, expression, shape, expected):
    value = phintys.function([variable], expression, mode="native")(np.zeros(shape, "int8"))
    assert value.shape == expected, (expression, value.shape)
    assert not value.any()


check(y, y.sum(), (long, 3, 0), ())
check(y, y.sum(axis=1), (long, 3, 0), (long, 0))
check(y, y.sum(axis=(0, 2)), (long, 3, 0), (3,))
check(y, y[::2, :, ::2].sum(), (long, 3, 0), ())
check(y, y[:, ::2].sum(axis=0), (long, 3, 0), (2, 0))
check(x, (x + 1).prod(axis=0), (long, 0), (0,))
check(x, x.sum(axis=0) + x.max(axis=0), (long, 0), (0,))
check(y, 2 * y.T + y.T, (long, 3, 0), (0, 3, long))
check(y, pt.cumsum(y, axis=1), (long, 3, 0), (long, 3, 0))
check(x, pt.special.softmax(x, axis=1), (long, 0), (long, 0))
check(x, pt.special.softmax(x, axis=0), (long, 0), (long, 0))
try:
    phintys.function([y], y.sum(axis=2), mode="native")(np.zeros((long, 3, 0), "int8"))
except (MemoryError, ValueError):
    print("done")
"""


def test_long_axes_beside_an_empty_one_are_not_walked_along(run_python):
    assert "done" in run_python(PROGRAM, timeout=60)
