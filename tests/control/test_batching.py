"""Batches of branches."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.control import ifelse

X, C, N, S = pt.dvector("x"), pt.bscalar("c"), pt.lscalar("n"), pt.dscalar("s")
BATCHES = {X: pt.dmatrix("xs"), C: pt.bvector("cs"), N: pt.lvector("ns"), S: pt.dvector("ss")}
ITEMS = {X: [1.5, -2.0, 3.5], C: 1, N: 3, S: 0.5}


def steps(n):
    return phintys.scan(lambda h: h * 2, None, S, n_steps=n, return_updates=False)


SIDES = {
    "sizes of items": (lambda: pt.arange(N) * 1.0, lambda: X),
    "sizes of constants": (lambda: pt.arange(N) * 1.0, lambda: pt.zeros(3)),
    "what is found": (lambda: X[pt.nonzero(X > -9)[0]], lambda: X),
    "numbers of steps": (lambda: steps(N), lambda: X),
    "both": (lambda: pt.zeros(N), lambda: pt.ones(N)),
    "slices": (lambda: X[:N], lambda: X * 2),
    "static": (lambda: X * 2, lambda: pt.zeros(3)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("sides", list(SIDES))
def test_a_branch_for_each_item_of_a_batch(sides, count, mode):
    one, other = (make() for make in SIDES[sides])
    y = ifelse(C, one, other)
    f = phintys.function(
        list(BATCHES.values()),
        pt.vectorize_graph(y, BATCHES),
        mode=mode,
        on_unused_input="ignore",
    )
    given = [
        np.array([item] * count, batch.dtype).reshape((count, *np.shape(item)))
        for batch, item in zip(BATCHES.values(), ITEMS.values(), strict=True)
    ]
    expected = phintys.function(list(ITEMS), y, mode=mode, on_unused_input="ignore")
    found = f(*given)
    assert len(found) == count
    for row in found:
        np.testing.assert_array_equal(row, expected(*ITEMS.values()))
