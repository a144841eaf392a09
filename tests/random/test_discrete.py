"""Integers and categories against SciPy, and what discrete distributions share."""

import numpy as np
import pytest
import scipy.stats

import phintys
import phintys.tensor as pt
from phintys import random
from phintys.gradient import NullGradientError
from phintys.random.distributions import DISTRIBUTIONS


def finite(pmf):
    """Return SciPy's distribution of the values 0, 1, … with given probabilities."""
    pmf = np.asarray(pmf)
    return scipy.stats.rv_discrete(values=(np.arange(len(pmf)), pmf / pmf.sum()))


def ordered_logistic(eta, cutpoints):
    below = scipy.stats.logistic(eta).cdf([-np.inf, *cutpoints, np.inf])
    return finite(np.diff(below))


# The method of generators -> arguments, and SciPy's distribution
TWINS = {
    "discrete_uniform": ((-2, 5), scipy.stats.randint(-2, 6)),
    "integers": ((3, 9), scipy.stats.randint(3, 9)),
    "categorical": (([0.1, 0.5, 0.4],), finite([0.1, 0.5, 0.4])),
    "ordered_logistic": ((0.3, [-1.0, 0.5, 2.0]), ordered_logistic(0.3, [-1.0, 0.5, 2.0])),
}
MADE = {name: DISTRIBUTIONS[name](*arguments) for name, (arguments, _) in TWINS.items()}
VALUES = np.array([-3.0, -2.0, 0.0, 1.0, 2.0, 2.5, 4.0, 9.0, 30.0])
QUANTILES = np.array([1e-6, 0.2, 0.5, 0.7, 0.999])

# What has a closed form, by the name of SciPy's method, and its arguments
FORMS = {
    "logpmf": ("logp", VALUES),
    "cdf": ("cdf", VALUES),
    "sf": ("sf", VALUES),
    "ppf": ("icdf", QUANTILES),
    "mean": ("mean", None),
    "var": ("variance", None),
    "entropy": ("entropy", None),
}
WITHOUT = {("ordered_logistic", form) for form in ("icdf", "mean", "variance", "entropy")}
CASES = [
    (name, theirs) for name in TWINS for theirs in FORMS if (name, FORMS[theirs][0]) not in WITHOUT
]


@pytest.fixture(scope="module")
def computed():
    """Return all closed forms, of one compiled function."""
    x, q = pt.dvectors("x", "q")
    results = []
    for name, theirs in CASES:
        ours, argument = FORMS[theirs]
        given = [] if argument is None else [x if argument is VALUES else q]
        results.append(pt.as_tensor_variable(getattr(MADE[name], ours)(*given)))
    return dict(zip(CASES, phintys.function([x, q], results)(VALUES, QUANTILES), strict=True))


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_closed_forms(computed, case):
    name, theirs = case
    argument = FORMS[theirs][1]
    method = getattr(TWINS[name][1], theirs)
    if theirs == "logpmf":  # also of SciPy's distributions that have no logarithms
        exact = TWINS[name][1]

        def method(x):
            return np.log(np.where(x == np.floor(x), exact.pmf(np.floor(x)), 0))

    with np.errstate(divide="ignore"):
        expected = method() if argument is None else method(argument)
    np.testing.assert_allclose(computed[case], expected, rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def drawn():
    """Return 8,000 numbers of each distribution, of native code and of the reference."""
    r = random.rng("r")
    draws = [distribution.draw(r, 8000)[1] for distribution in MADE.values()]
    made = [
        phintys.function([r], draws, mode=mode)(random.state(5)) for mode in (None, "FAST_COMPILE")
    ]
    return {name: pair for name, *pair in zip(TWINS, *made, strict=True)}


@pytest.mark.parametrize("name", TWINS)
def test_draws_have_their_frequencies(drawn, name):
    native, reference = drawn[name]
    assert native.dtype == "int64"
    np.testing.assert_array_equal(native, reference)
    exact = TWINS[name][1]
    low, high = int(exact.ppf(0.002)), int(exact.ppf(0.998))
    values = np.arange(low, high + 1)
    expected = exact.pmf(values)
    expected[0], expected[-1] = exact.cdf(low), exact.sf(high - 1)
    counts = np.bincount(np.clip(native, low, high) - low, minlength=len(values))
    assert scipy.stats.chisquare(counts, len(native) * expected).pvalue > 1e-6


def test_draws_have_no_derivatives():
    stream = random.RandomStream(1)
    p = pt.dscalar("p")
    both = pt.stack([p, 1 - p])
    draws = [
        stream.bernoulli(p, size=3),
        stream.geometric(p, size=3),
        stream.categorical(both, size=3),
        stream.choice(2, 3, p=both),
        stream.choice(2, 1, replace=False, p=both),
    ]
    for draw in draws:
        with pytest.raises(NullGradientError, match=r"(?s)jump as p changes.*score function"):
            phintys.grad((p * draw).sum(), p)
    x = pt.dscalar("x")
    assert phintys.grad((x * draws[0]).sum(), x).eval({p: 1.0, x: 2.0}) == 3


def test_categories_of_batches():
    stream = random.RandomStream(2)
    p = np.array([[0.2, 0.3, 0.5], [0.9, 0.0, 0.1]])
    many = np.r_[np.zeros(70), 0.25, 0.75, np.zeros(30)]
    draws = [
        stream.categorical(p),
        stream.categorical(p, (5000, 2)),
        stream.categorical(logits=np.log(p[0]) + 700, size=5000),
        stream.categorical(many, size=5000),  # searched, not compared
    ]
    single, several, logits, searched = phintys.function([], draws)()
    assert single.shape == (2,)
    for column, weights in ((several[:, 0], p[0]), (logits, p[0]), (searched - 70, many[70:72])):
        counts = np.bincount(column, minlength=len(weights))
        expected = 5000 * weights / weights.sum()
        assert scipy.stats.chisquare(counts, expected).pvalue > 1e-6
    assert set(several[:, 1]) == {0, 2}
    value = np.array([[0, 1], [2, 2], [1, -1]])
    with np.errstate(divide="ignore"):
        expected = np.log([[0.2, 0.0], [0.5, 0.1], [0.3, 0.0]])
    np.testing.assert_allclose(random.logp(random.Categorical(p), value).eval(), expected)


def test_integers_of_wide_ranges():
    stream = random.RandomStream(3)
    ends = np.iinfo("int64")
    draws = [
        stream.integers(ends.min, ends.max, size=2000, endpoint=True),
        stream.integers(2**40, size=2000),
        stream.integers(0, 256, size=2000, dtype="uint8"),
        stream.integers(np.array([0, 10]), np.array([1, 12])),
    ]
    whole, wide, byte, several = phintys.function([], draws)()
    for numbers, exact in (
        (whole, scipy.stats.uniform(-(2.0**63), 2.0**64)),
        (wide, scipy.stats.uniform(0, 2.0**40)),
    ):
        assert scipy.stats.kstest(numbers.astype(float), exact.cdf).pvalue > 1e-6
    assert byte.dtype == "uint8"
    assert byte.min() < 4
    assert byte.max() > 251
    assert several[0] == 0
    assert several[1] in (10, 11)
    with pytest.raises(TypeError, match=r"Integers: low is an integer, got .* of dtype float64"):
        stream.integers(0.5)
