"""Draws in mode jax: the same words as elsewhere, and floats that differ in their last bits.

XLA contracts products and sums, and replaces quotients by products, within a program; so the floats
that are made of the words differ by some units in the last place of the terms that they are made
of. All that decides, such as whether an attempt is accepted, is exact: a draw is never another one.
"""

import os
import subprocess
import sys
import textwrap

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
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    size = np.maximum(np.abs(expected), np.median(np.abs(expected)))
    assert (np.abs(found - expected) <= DIGITS * size).all()


# How many units in the last place, of 100,000 draws. Those of a gamma distribution are cubes and
# powers of normal ones: where these nearly cancel, the same units are more of a small number.
UNITS = {
    "exponential": ((), 1),
    "normal": ((0.0, 1.0), 8),
    "gamma": ((2.5,), 32),
    "beta": ((2.5, 0.7), 32),
}


@pytest.mark.stress
@pytest.mark.parametrize("name", UNITS)
def test_floats_differ_by_few_units_in_the_last_place(name):
    parameters, most = UNITS[name]
    rng = phintys.random.rng("rng")
    draws = getattr(rng, name)(*parameters, size=100_000)[1]
    found, expected = (
        phintys.function([rng], draws, mode=mode)(phintys.random.state(11))
        for mode in ("jax", None)
    )
    assert (np.abs(found - expected) <= most * np.spacing(np.abs(expected))).all()


@pytest.mark.stress
def test_all_bits_are_equal_where_xla_has_no_contracted_products():
    code = """
    import numpy as np, phintys
    rng = phintys.random.rng("rng")
    draws = [rng.normal(size=9999), rng.exponential(size=9999), rng.gamma(2.5, size=9999)]
    draws = [one[1] for one in draws]
    state = phintys.random.state(11)
    found, expected = (phintys.function([rng], draws, mode=m)(state) for m in ("jax", None))
    assert all((a == b).all() for a, b in zip(found, expected, strict=True))
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "XLA_FLAGS": "--xla_cpu_max_isa=AVX", "JAX_PLATFORMS": "cpu"},
        timeout=300,
        check=True,
    )
