"""Draws in mode jax are the same bits as elsewhere.

XLA would join products and sums, and replace quotients by products: rules round each step of what
is computed from random bits by itself. Sums and factorizations of vectors and matrices differ.
"""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from tests.random.records import RECORDS, SETS

pytest.importorskip("jax", reason="needs jax")

MANY = 200
DIGITS = 1e-13
"""Of draws that need sums or factorizations: relative to them, or to their mean size."""
OF_SUMS = {
    *("dirichlet", "invwishart", "lkj", "lkj_cholesky", "multivariate_t", "uniform_direction"),
    "von_mises_fisher",
}
"""Native code adds up a row in as many parts as its vectors have lanes, XLA in its own order."""

P = pt.constant(np.array([0.2, 0.3, 0.5]))
LOC = pt.constant(np.array([1.0, -2.0, 0.5]))
SCALE = pt.constant(np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]]))
ITEMS = pt.constant(np.arange(60).reshape(20, 3))
OTHERS = {
    "categorical": lambda r: r.categorical(P, size=MANY),
    "choice": lambda r: r.choice(1000, 50, replace=False),
    "dirichlet": lambda r: r.dirichlet(pt.constant([0.5, 1.0, 7.0]), size=MANY),
    "dirichlet_multinomial": lambda r: r.dirichlet_multinomial(20, [0.5, 1.0, 7.0], size=MANY),
    "discrete_uniform": lambda r: r.discrete_uniform(-3, 9, size=MANY),
    "integers": lambda r: r.integers(0, 1 << 40, size=MANY),
    "invwishart": lambda r: r.invwishart(8.5, SCALE, size=MANY),
    "lkj": lambda r: r.lkj(4, 2.0, size=MANY),
    "lkj_cholesky": lambda r: r.lkj_cholesky(4, 0.5, size=MANY),
    "matrix_normal": lambda r: r.matrix_normal(
        pt.zeros((2, 3)), rowcov=pt.eye(2), colcov=SCALE, size=MANY
    ),
    "multinomial": lambda r: r.multinomial(20, P, size=MANY),
    "multivariate_normal": lambda r: r.multivariate_normal(pt.zeros(3), pt.eye(3), size=MANY),
    "multivariate_t": lambda r: r.multivariate_t(LOC, SCALE, 5.0, size=MANY),
    "ordered_logistic": lambda r: r.ordered_logistic(0.3, [-1.0, 0.5, 2.0], size=MANY),
    "permutation": lambda r: r.permutation(100),
    "permuted": lambda r: r.permuted(ITEMS, axis=0),
    "shuffle": lambda r: r.shuffle(ITEMS),
    "uniform_direction": lambda r: r.uniform_direction(4, size=MANY),
    "von_mises_fisher": lambda r: r.von_mises_fisher([0.6, 0.0, 0.8], 3.0, size=MANY),
    "vonmises": lambda r: r.vonmises(0.5, 4.0, size=MANY),
    "wishart": lambda r: r.wishart(4.5, SCALE, size=MANY),
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
    if name not in OF_SUMS:
        np.testing.assert_array_equal(found, expected)
        return
    size = np.maximum(np.abs(expected), np.median(np.abs(expected)))
    assert (np.abs(found - expected) <= DIGITS * size).all()


# Steps that XLA would compute otherwise: quotients by a number, sums with constants, terms that
# nearly cancel; and draws that are changed element by element.
MANY_STEPS = {
    "normal": lambda r: r.normal(0.3, 1.7, size=100_000)[1],
    "gamma": lambda r: r.gamma(0.7, size=100_000)[1],
    "beta": lambda r: r.beta(2.5, 0.7, size=100_000)[1],
    "float32": lambda r: r.normal(np.float32(0.3), np.float32(1.7), size=100_000)[1],
    "changed": lambda r: (1.1 * r.normal(size=100_000)[1] - 0.7) / 3.0 + 0.1 - 0.2,
}


@pytest.mark.stress
@pytest.mark.parametrize("name", MANY_STEPS)
def test_all_bits_of_many_draws_are_equal(name):
    rng = phintys.random.rng("rng")
    draws = MANY_STEPS[name](rng)
    found, expected = (
        phintys.function([rng], draws, mode=mode)(phintys.random.state(11))
        for mode in ("jax", None)
    )
    np.testing.assert_array_equal(found, expected)
