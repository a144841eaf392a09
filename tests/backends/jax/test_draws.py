"""Draws in mode jax are the same bits as elsewhere.

XLA would join products and sums, and replace quotients by products: rules round each step of what
is computed from random bits by itself. Sums and factorizations of vectors and matrices differ.
"""

from typing import Any

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys.random.bits.random_bits import RandomBits
from phintys.random.bits.states import StateWords
from phintys.scalar.composite import Composite
from tests.random.records import RECORDS, SETS

jax = pytest.importorskip("jax", reason="needs jax")

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


X: Any = ps.float64("x")
CURVE = pt.Elemwise(Composite([X], [(X * 1.1 - 0.7) * X + 0.3]))

# LLVM knows that uniform numbers are not NaN, and that they are not negative.
OF_UNIFORM = {
    "uniform": lambda r, u: r.uniform(0.3, 2.7, size=1000)[1],
    "float32": lambda r, u: r.uniform(np.float32(0.3), np.float32(2.7), size=1000)[1],
    "scaled": lambda r, u: 1.1 * u - 0.7,
    "negative": lambda r, u: 0.3 - 1.1 * -u,
    "polynomial": lambda r, u: (1.1 * u - 0.7) * u + 0.3,
    "squares": lambda r, u: 1.3 * u * u + u * 0.7 - 0.2,
    "of integers": lambda r, u: 0.1 * r.integers(0, 1000, size=1000)[1] + 0.3,
    "scalar": lambda r, u: 1.1 * r.random()[1] - 0.7,
    "composite": lambda r, u: CURVE(u),
}


def _are_equal(rng, draws):
    found, expected = (
        phintys.function([rng], draws, mode=mode)(phintys.random.state(11))
        for mode in ("jax", None)
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", OF_UNIFORM)
def test_products_of_uniform_numbers_are_rounded(name):
    rng = phintys.random.rng("rng")
    _are_equal(rng, OF_UNIFORM[name](rng, rng.random(size=1000)[1]))


@pytest.mark.stress
@pytest.mark.parametrize("name", MANY_STEPS)
def test_all_bits_of_many_draws_are_equal(name):
    rng = phintys.random.rng("rng")
    _are_equal(rng, MANY_STEPS[name](rng))


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_bits_are_those_of_the_reference(dtype):
    state = phintys.random.random_type("state")
    last = np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], "uint64")
    for count in (0, 1, 7, 64):
        bits = RandomBits(dtype)(StateWords()(state), count)
        found, expected = (
            phintys.function([state], bits, mode=mode) for mode in ("jax", "FAST_COMPILE")
        )
        for words in (phintys.random.state(3), last):
            assert found(words).dtype == dtype
            np.testing.assert_array_equal(found(words), expected(words))


def test_steps_of_draws_are_traced_as_few_equations():
    _, draws = (rng := phintys.random.rng("rng")).normal(size=8)
    f = phintys.function([rng], draws, mode="jax")
    f(phintys.random.state(3))
    ((_, program),) = f.vm._programs.items()
    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(program.call.__wrapped__)(phintys.random.state(3))
    assert len(jaxpr.eqns) < 500
