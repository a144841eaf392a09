"""Draws are the same bits from the reference and native code, whatever the threads and vectors."""

import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import ConfigError

MANY = 50_000  # enough for several threads
LEVELS = ["x86-64", "x86-64-v3", "x86-64-v4"]  # vectors of 2, 4 and 8 float64


def _generators(r):
    """Return independent generators that follow from one, by each way."""
    after, (child, other) = r.split(2)
    return [after, child, other, r.jump(), r.fold_in(7), child.fold_in(-1)]


def _draws(r):
    """Return draws of shapes whose rows begin within blocks, in both precisions."""
    a, b, c, d, e, f = _generators(r)
    half, one = np.float32(0.5), np.float32(1)
    odd, loc = pt.constant(np.linspace(0, 1, 13)), pt.constant(np.linspace(-1, 1, 7)[:, None])
    return [
        a.uniform(size=MANY)[1],
        a.normal(one, half, size=MANY)[1],
        b.normal(size=(7, 13))[1] * odd + loc,
        c.exponential(2.0, size=(3, 5, 7))[1].transpose(2, 0, 1),
        d.exponential(half, size=1001)[1],
        e.normal(odd.astype("float32"), one, size=(7, 13))[1],
        f.uniform(np.float32(-1), one)[1],
        f.normal()[1],
        a.bernoulli(0.3, size=(9, 3))[1],
        a.normal(size=0)[1],
    ]


def _compiled(mode=None):
    r = random.rng("r")
    return phintys.function([r], [*_draws(r), *_generators(r)], mode=mode)


SEED = random.state(14)


@pytest.fixture(scope="module")
def reference():
    return _compiled("FAST_COMPILE")(SEED)


def assert_same_bits(results, expected):
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(
            result.view(f"V{result.itemsize}") if result.ndim else result.tobytes(),
            wanted.view(f"V{wanted.itemsize}") if wanted.ndim else wanted.tobytes(),
        )


@pytest.fixture(scope="module")
def native():
    return _compiled()


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_any_number_of_threads(native, reference, threads):
    with phintys.config.change_flags(num_threads=threads):
        assert_same_bits(native(SEED), reference)


@pytest.mark.parametrize("target", LEVELS)
def test_vectors_of_any_width(reference, target):
    with phintys.config.change_flags(native_target=target):
        try:
            f = _compiled()
        except ConfigError as error:
            pytest.skip(str(error))
        assert_same_bits(f(SEED), reference)


def _of_any_length(mode=None):
    """Return draws of unknown shapes; the rows of some begin within blocks."""
    r, n, m = random.rng("r"), pt.lscalar("n"), pt.lscalar("m")
    row, half = pt.dvector("row"), np.float32(0.5)
    expressions = [
        r.uniform(size=n)[1],
        r.uniform(np.float32(0), half, size=n)[1],
        r.normal(size=(n, m))[1] * row,
        r.exponential(half, size=(m, n))[1].T * row.astype("float32"),
        r.gamma(0.7, size=(n, m))[1] - row,
        r.poisson(25.0, size=n)[1],
        r.bernoulli(0.3, size=n, dtype="bool")[1],
        r.bernoulli(1 / 3, size=(n, m))[1] * row,
    ]
    f = phintys.function([r, n, m, row], expressions, mode=mode)
    return lambda n, m: f(SEED, n, m, np.linspace(1, 2, m))


@pytest.mark.parametrize("target", LEVELS)
def test_several_vectors_together_and_what_is_left(target):
    reference = _of_any_length("FAST_COMPILE")
    with phintys.config.change_flags(native_target=target):
        try:
            f = _of_any_length()
        except ConfigError as error:
            pytest.skip(str(error))
    for n, m in ((0, 3), (1, 1), (5, 13), (31, 7), (37, 65), (640, 3)):
        assert_same_bits(f(n, m), reference(n, m))


def test_vector_math_of_several_vectors_together():
    """Functions that are called, not written in place, are called for each vector."""
    r, n = random.rng("r"), pt.lscalar("n")
    draw = r.normal(size=n)[1]
    expressions = [pt.exp(draw) + pt.sin(draw), pt.gammaln(abs(draw)).sum()]
    f = phintys.function([r, n], expressions)
    g = phintys.function([r, n], expressions, mode="FAST_COMPILE")
    for size in (3, 77, 4000):
        for result, wanted in zip(f(SEED, size), g(SEED, size), strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-12)


def test_after_pickling(native, reference):
    again = pickle.loads(pickle.dumps(native))
    assert_same_bits(again(SEED), reference)


def _in_a_branch_of_a_loop(r, mode=None):
    """Return the states and draws of a loop; each step draws on one side of a branch."""
    bound = pt.lscalar("bound")

    def step(number, state):
        after, noise = state.normal(size=3)
        _, other = state.fold_in(number).exponential(size=3)
        return after, phintys.ifelse(number < bound, noise, other)

    (states, draws), _ = phintys.scan(step, sequences=pt.arange(5), outputs_info=[r, None])
    return phintys.function([r, bound], [states, draws], mode=mode)


def test_in_branches_of_loops():
    r = random.rng("r")
    native, reference = _in_a_branch_of_a_loop(r), _in_a_branch_of_a_loop(r, "FAST_COMPILE")
    for bound in (0, 2, 5):
        state, draws = native(SEED, bound)
        wanted_state, wanted = reference(SEED, bound)
        np.testing.assert_array_equal(state, wanted_state)
        np.testing.assert_array_equal(draws, wanted)
    after, noise = r.normal(size=3)
    first = phintys.function([r], [after, noise])(SEED)[1]
    np.testing.assert_array_equal(draws[0], first)


def test_states_are_held_by_native_code():
    r = random.rng("r")
    f = phintys.function([r], [*_generators(r), r.uniform(size=3)[1]])
    assert "callback" not in str(f.explain())
    loop = _in_a_branch_of_a_loop(r)
    assert "callback" not in str(loop.explain())


def test_a_failing_call_leaves_shared_states_as_they_were():
    stream, n = random.RandomStream(3), pt.lscalar("n")
    draw = stream.normal(size=n)
    f = phintys.function([n], draw.reshape((2, 2)))
    f(4)
    (state,) = [one.get_value() for one, _ in stream.updates()]
    with pytest.raises(ValueError, match="reshape"):
        f(5)
    (after,) = [one.get_value() for one, _ in stream.updates()]
    np.testing.assert_array_equal(after, state)


def test_states_that_are_returned_stay_as_they_are():
    r = random.shared_rng(1)
    after, draw = r.uniform()
    f = phintys.function([], [after, draw], updates={r: after})
    kept = [f()[0], r.get_value(borrow=True)]
    copies = [one.copy() for one in kept]
    for _ in range(3):
        f()
    for one, copied in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(one, copied)


def test_masks_are_not_stored():
    r, x = random.rng("r"), pt.dmatrix("x")
    _, keep = r.bernoulli(0.5, size=x.shape)
    f = phintys.function([r, x], x * keep, mode="native")
    assert "no buffers" in str(f.explain())


BY_QUANTILES = {
    "cauchy": (0.3, 1.7),
    "gumbel": (0.3, 1.7),
    "halfnormal": (0.0, 1.7),
    "laplace": (0.3, 1.7),
    "logistic": (0.3, 1.7),
    "lognormal": (0.3, 1.7),
    "weibull": (0.3, 1.7),
}


def test_draws_by_quantile_functions():
    r = random.rng("r")
    draws = [
        getattr(r, name)(*map(dtype, values), size=(31, 33))[1]
        for name, values in BY_QUANTILES.items()
        for dtype in (np.float64, np.float32)
    ]
    native = phintys.function([r], draws)
    reference = phintys.function([r], draws, mode="FAST_COMPILE")
    assert_same_bits(native(SEED), reference(SEED))
