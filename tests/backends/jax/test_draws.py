"""Draws in mode jax: the same words as elsewhere, and floats that differ in their last bits.

XLA contracts products and sums, and replaces quotients by products, within a program; so the floats
that are made of the words differ by some units in the last place of the terms that they are made
of. All that decides, such as whether an attempt is accepted, is exact: a draw is never another one.
"""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from tests.random.records import RECORDS, SETS

pytest.importorskip("jax", reason="needs jax")

MANY = 200
DIGITS = 1e-13
"""Relative to the draws, or to their mean size, since terms may cancel."""

P = pt.constant(np.array([0.2, 0.3, 0.5]))
OTHERS = {
    "categorical": lambda r: r.categorical(P, size=MANY),
    "choice": lambda r: r.choice(1000, 50, replace=False),
    "dirichlet": lambda r: r.dirichlet(pt.constant([0.5, 1.0, 7.0]), size=MANY),
    "discrete_uniform": lambda r: r.discrete_uniform(-3, 9, size=MANY),
    "integers": lambda r: r.integers(0, 1 << 40, size=MANY),
    "multinomial": lambda r: r.multinomial(20, P, size=MANY),
    "multivariate_normal": lambda r: r.multivariate_normal(pt.zeros(3), pt.eye(3), size=MANY),
    "permutation": lambda r: r.permutation(100),
    "vonmises": lambda r: r.vonmises(0.5, 4.0, size=MANY),
}


def _drawn(rng, name):
    if name in OTHERS:
        return OTHERS[name](rng)[1]
    (record,) = (one for one in RECORDS if one.method == name)
    given = {key: pt.constant(sets[:, None]) for key, sets in record.parameters().items()}
    return getattr(rng, name)(**given, size=(SETS, MANY))[1]


NAMES = [*(one.method for one in RECORDS), *OTHERS]
QUICK = {"exponential", "integers"}  # others are compiled for seconds


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.stress] * (name not in QUICK)) for name in NAMES],
)
def test_draws_are_those_of_native_code(name):
    rng = phintys.random.rng("rng")
    draws = _drawn(rng, name)
    found, expected = (
        phintys.function([rng], draws, mode=mode)(phintys.random.state(11))
        for mode in ("jax", None)
    )
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    size = np.maximum(np.abs(expected), np.median(np.abs(expected)))
    assert (np.abs(found - expected) <= DIGITS * size).all()
