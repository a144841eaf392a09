"""Distribution functions and quantiles against mpmath: extreme parameters, far tails, tiny values.

A value is right if its relative error is that of a few roundings, in the result and in the
argument: an argument that is rounded changes the result by the condition of the function.
"""

from contextlib import suppress

import mpmath as mp
import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import MethodNotDefinedError
from phintys.random.distributions import DISTRIBUTIONS
from tests.random.exact_distributions import DIGITS, EXACT, answers, derivative
from tests.random.records import CONTINUOUS, DISCRETE

SHIFTED = [(0.0, 1.0), (0.0, 1e-200), (0.0, 1e150)]
PARAMETERS = {
    "asymmetriclaplace": [(1e-4, 0.0, 1.0), (3.0, 0.0, 1.0), (1e4, 0.0, 1.0)],
    "bernoulli": [(1e-20,), (0.3,), (1 - 1e-15,)],
    "beta": [(0.001, 5.0), (5.0, 0.001), (0.1, 2.0), (3.0, 4.0), (50.0, 0.2), (1e-10, 1.0)],
    "betabinom": [(30.0, 0.01, 5.0), (30.0, 3.0, 0.01)],
    "binomial": [(40.0, 1e-12), (300.0, 0.999), (100.0, 1 - 1e-10)],
    "burr12": [(0.3, 0.01, 1.0), (20.0, 5.0, 1.0), (2.0, 100.0, 1e100)],
    "cauchy": SHIFTED,
    "chisquare": [(1e-3,), (3.0,), (500.0,)],
    "discrete_weibull": [(0.5, 2.0), (1e-10, 0.3)],
    "exgaussian": [(0.0, 1.0, 1.0), (0.0, 1.0, 100.0), (0.0, 1.0, 0.01), (0.0, 1e-3, 1.0)],
    "exponential": [(1.0,), (1e-200,), (1e200,)],
    "f": [(0.3, 5.0), (0.002, 10.0), (5.0, 0.01)],
    "gamma": [(1e-3, 1.0), (5.0, 1e100), (1e3, 1.0)],
    "gengamma": [(0.01, 0.5, 1.0), (3.0, 2.0, 1.0), (1.0, 30.0, 1.0)],
    "geometric": [(1e-15,), (0.25,), (1 - 1e-12,)],
    "gumbel": [(0.0, 1.0), (0.0, 1e150)],
    "halfcauchy": SHIFTED,
    "halfnormal": [(0.0, 1.0), (0.0, 1e150)],
    "halfstudentt": [(0.01, 1.0), (1.0, 1.0), (1000.0, 1.0)],
    "hypergeometric": [(40.0, 10.0, 20.0), (300.0, 5.0, 50.0)],
    "invgamma": [(1e-3, 1.0), (3.0, 1.0), (200.0, 1e50)],
    "kumaraswamy": [(0.01, 3.0), (3.0, 0.01), (30.0, 40.0)],
    "laplace": SHIFTED,
    "levy": SHIFTED,
    "logistic": SHIFTED,
    "logitnormal": [(0.0, 1.0), (-200.0, 3.0), (0.0, 30.0)],
    "loglogistic": [(1.0, 1.0), (1.0, 0.05), (1.0, 40.0)],
    "lognormal": [(0.0, 1.0), (100.0, 30.0), (0.0, 0.01)],
    "logseries": [(1e-10,), (0.5,), (0.99,)],
    "loguniform": [(1.0, 10.0), (1e-300, 1e300)],
    "lomax": [(0.01, 1.0), (3.0, 1.0), (100.0, 1e-100)],
    "maxwell": [(1.0,), (1e100,)],
    "moyal": [(0.0, 1.0), (0.0, 1e150)],
    "nakagami": [(0.01, 1.0), (3.0, 1.0), (500.0, 1e100)],
    "negative_binomial": [(0.01, 0.5), (3.0, 1e-8), (5.0, 1 - 1e-10)],
    "normal": [(0.0, 1.0), (0.0, 1e150)],
    "pareto": [(0.01, 1.0), (3.0, 1.0), (1e3, 1.0)],
    "poisson": [(1e-12,), (3.0,), (1000.0,)],
    "power": [(1e-3,), (2.0,), (1e4,)],
    "rayleigh": [(1.0,), (1e-150,)],
    "skewnormal": [(0.0, 1.0, 0.3), (0.0, 1.0, -30.0)],
    "t": [(0.01, 0.0, 1.0), (1.0, 0.0, 1.0), (3.0, 0.0, 1e100), (1000.0, 0.0, 1.0)],
    "triangular": [(-1.0, 0.0, 1.0), (0.0, 1e-10, 1.0), (0.0, 0.0, 1.0)],
    "truncated_normal": [
        (0.0, 1.0, -1.0, 2.0),
        (0.0, 1.0, 39.0, np.inf),
        (0.0, 1.0, 100.0, 200.0),
        (0.0, 1.0, -np.inf, -8.0),
        (0.0, 1.0, 0.0, 1e-10),
        (0.0, 1.0, 5.0, 5.0 + 1e-9),
        (0.0, 1.0, -np.inf, 0.0),
    ],
    "truncexpon": [(1e-10, 0.0, 1.0), (2.0, 0.0, 1.0), (1000.0, 0.0, 1.0)],
    "uniform": [(0.0, 1.0), (1.0, 1 + 1e-12)],
    "wald": [(1.0, 1.0), (1.0, 100.0), (100.0, 1.0), (1e-3, 1e-5)],
    "weibull": [(0.01, 1.0), (2.0, 1.0), (300.0, 1.0)],
    "zipf": [(1.5,), (3.0,)],
}
LEVELS = np.array([1e-300, 1e-30, 1e-3, 0.5, 0.999])
OF_VALUES = ["logp", "cdf", "sf", "logcdf", "logsf"]
OF_PROBABILITIES = ["icdf", "isf"]
INTEGERS = {record.method for record in DISCRETE}
MOST = 2000  # of integers whose probabilities are summed

BOUND = 1e-12
# docs/distributions.md names these: the incomplete gamma function of SciPy near its asymptotic
# series, and differences of logarithms of beta functions.
BOUNDS = {"poisson": 2e-11, "betabinom": 1e-11, "chisquare": 1e-11, "nakagami": 1e-11}
EPS = np.finfo(float).eps


@pytest.fixture(autouse=True)
def _default_mode():
    """Tails have their digits by stable forms, which rules of the default mode make."""
    with phintys.config.change_flags(mode="native"):
        yield


def asked(name):
    """Return the compiled answers to values, those to probabilities or ``None``, and the ends."""
    inputs = [pt.dscalar() for _ in PARAMETERS[name][0]]
    distribution = DISTRIBUTIONS[name](*inputs)
    x, q = pt.dvectors("x", "q")

    def compiled(questions, argument):
        outputs = [getattr(random, question)(distribution, argument) for question in questions]
        return phintys.function([*inputs, argument], outputs, on_unused_input="ignore")

    ends = [pt.as_tensor_variable(end) + 0.0 for end in distribution.support()]
    support = phintys.function(inputs, ends, on_unused_input="ignore")
    try:
        return compiled(OF_VALUES, x), compiled(OF_PROBABILITIES, q), support
    except MethodNotDefinedError:
        return compiled(OF_VALUES, x), None, support


def points(name, quantiles, low, high):
    """Return values inside of the support: quantiles, and some of very different sizes."""
    rng = np.random.default_rng(3)
    spread = 10.0 ** rng.uniform(-20, 20, 2), 10.0 ** rng.uniform(-2, 2, 2), [-37.0, -0.1]
    x = np.concatenate([*quantiles, *spread])
    x = np.unique(x[np.isfinite(x)])
    if name in INTEGERS:
        x = np.unique(np.floor(x))
        return x[(x >= low) & (x <= min(high, MOST))]
    return x[(x > low) & (x < high)]


def wanted(name, value, parameters):
    """Return the exact answers, and their conditions in the value."""
    density, below, above = answers(name, mp.mpf(float(value)), parameters)
    slope = 0 if name in INTEGERS else abs(mp.mpf(float(value))) * density
    result = {"cdf": (below, slope / below if below else 0)}
    result["sf"] = (above, slope / above if above else 0)
    if density > 0:
        result["logp"] = (mp.log(density), 0)
    for question, p, rest in (("logcdf", below, above), ("logsf", above, below)):
        if p > 0 and rest > 0:
            logarithm = mp.log(p) if p < 0.5 else mp.log1p(-rest)
            result[question] = (logarithm, slope / p / abs(logarithm))
    return result


def assert_close(name, question, found, exact, condition, at):
    if abs(exact) > 1e307:
        return
    size = max(1, abs(exact)) if question == "logp" else abs(exact)
    assert np.isfinite(found), (name, question, at, found, mp.nstr(exact, 17))
    bound = BOUNDS.get(name, BOUND) + 8 * EPS * condition
    error = abs(mp.mpf(float(found)) - exact)
    assert error <= bound * size + 1e-305, (name, question, at, found, mp.nstr(exact, 17))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", EXACT)
def test_answers_have_their_digits(name):
    of_values, of_probabilities, support = asked(name)
    for numbers in PARAMETERS[name]:
        with mp.workdps(DIGITS):
            low, high = map(float, support(*numbers))
            parameters = [mp.mpf(number) for number in numbers]
            quantiles = of_probabilities(*numbers, LEVELS) if of_probabilities else []
            values = points(name, quantiles, low, high)
            for place, answer in zip(
                values, np.transpose(of_values(*numbers, values)), strict=True
            ):
                exact = wanted(name, place, parameters)
                for question, found in zip(OF_VALUES, answer, strict=True):
                    if question in exact:
                        at = (*numbers, float(place))
                        assert_close(name, question, found, *exact[question], at)
            for question, found in zip(OF_PROBABILITIES, quantiles, strict=False):
                for q, value in zip(LEVELS, found, strict=True):
                    check_quantile(name, question, q, value, parameters, (low, high))


def check_quantile(name, question, q, value, parameters, support):
    """Check that a quantile is one: an integer exactly, another number up to roundings."""
    low, high = support
    assert low <= value <= high, (name, question, q, value)
    at = (*map(float, parameters), q)
    if name in INTEGERS:
        if value <= MOST:
            here, before = (share(name, question, k, parameters, low) for k in (value, value - 1))
            order = 1 if question == "icdf" else -1
            assert order * (here - q) >= -1e-11 * q, (name, question, at, value)
            assert order * (before - q) <= 1e-11 * q, (name, question, at, value)
    elif low < value < high and value != 0 and 1e-300 < abs(value) < 1e300:
        density, *sides = answers(name, mp.mpf(float(value)), parameters)
        miss = (sides[question == "isf"] - q) / density / abs(mp.mpf(float(value)))
        condition = q / density / abs(mp.mpf(float(value)))
        assert abs(miss) <= 1e-11 + 32 * EPS * condition, (name, question, at, value, float(miss))


def share(name, question, k, parameters, low):
    if k < low:
        return mp.mpf(0) if question == "icdf" else mp.mpf(1)
    return answers(name, mp.mpf(float(k)), parameters)[1 if question == "icdf" else 2]


# Numbers that were wrong because of a complement, an overflow or an underflow.
SINGLE = {
    "the survival of beta numbers of a small shape": (
        lambda: random.sf(random.Beta(0.001, 5), 1e-30),
        0.0648000580249317,
    ),
    "that of F": (lambda: random.sf(random.F(0.3, 5.0), 1e-16), 0.996874146561508626),
    "its inverse": (lambda: random.isf(random.Beta(0.1, 2), 0.99), 3.85543289429538e-21),
    "the density of Cauchy numbers": (
        lambda: random.logp(random.Cauchy(), 1e200),
        -400 * np.log(10) - np.log(np.pi),
    ),
    "that of t numbers": (
        lambda: random.logp(random.StudentT(1.0), 1e200),
        -400 * np.log(10) - np.log(np.pi),
    ),
    "that of log-logistic numbers": (
        lambda: random.logp(random.LogLogistic(1.0, 2.0), 1e200),
        np.log(2) - 600 * np.log(10),
    ),
    "the waiting time of a slow walk": (
        lambda: random.logsf(random.Wald(), 1e8),
        -49999999 - 1.5 * np.log(1e8) + np.log(2 / np.sqrt(2 * np.pi)),
    ),
    "a sum far below": (lambda: random.cdf(random.ExGaussian(), -1e155), 0.0),
    "a sum far above": (lambda: random.sf(random.ExGaussian(), 1e155), 0.0),
    "the logarithm of a truncated tail": (
        lambda: random.logsf(random.TruncatedNormal(lower=50.0), 50.01),
        float(mp.log(mp.erfc(50.01 / mp.sqrt(2)) / mp.erfc(50 / mp.sqrt(2)))),
    ),
}


SINGLE |= {
    "the logarithm of a corner of a triangle": (
        lambda: random.logcdf(random.Triangular(0.0, 0.5, 1.0), 1e-200),
        np.log(2) - 400 * np.log(10),
    ),
    "that of the other corner": (
        lambda: random.logsf(random.Triangular(-1.0, -0.5, 0.0), -1e-200),
        np.log(2) - 400 * np.log(10),
    ),
    "numbers below the end of a logarithmic scale": (
        lambda: random.sf(random.LogUniform(1.0, 10.0), 10 - 2.0**-40),
        2.0**-40 / 10 / np.log(10),
    ),
    "numbers above the least one of Pareto": (
        lambda: random.cdf(random.Pareto(3.0, 1.0), 1 + 2.0**-40),
        3 * 2.0**-40,
    ),
}
# Slopes that were wrong: where two formulas meet, where terms cancel, where a factor underflows.
SLOPES = {
    "almost all of a triangle": (
        lambda x: random.sf(random.Triangular(0.0, 0.5, 1.0), x),
        1e-20,
        -4e-20,
    ),
    "that of another": (lambda x: random.cdf(random.Triangular(-1.0, -0.5, 0.0), x), -1e-9, 4e-9),
    "almost all of a triangle by its mode": (
        lambda c: random.sf(random.Triangular(0.0, c, 1.0), 1e-20),
        0.5,
        4e-40,
    ),
    "Laplace numbers up to their centre": (lambda x: random.cdf(random.Laplace(), x), 0.0, 0.5),
    "the logarithm of it": (lambda x: random.logsf(random.Laplace(), x), 0.0, -1.0),
    "Cauchy numbers by the scale": (
        lambda s: random.logsf(random.Cauchy(0.0, s), 1e200),
        1.0,
        1.0,
    ),
    "half of them": (lambda s: random.logsf(random.HalfCauchy(0.0, s), 1e-10), 1e-200, 1e200),
    "short times by the mean": (
        lambda mu: random.logp(random.Wald(mu, 1.0), 1e-8),
        100.0,
        -1e-4 * (1 - 1e-10),
    ),
    "a thin tail of skew normal numbers": (
        lambda x: random.logcdf(random.SkewNormal(0.0, 1.0, 2.0), x),
        -1e7,
        float(5e7 + 2e-7),  # 1 + alpha**2 times the distance, and two reciprocals of it
    ),
    "a thick tail of them by the skewness": (
        lambda a: random.logcdf(random.SkewNormal(0.0, 1.0, a), -1e6),
        2.0,
        -2e12,
    ),
    "a slow walk": (
        lambda x: random.logsf(random.Wald(1.0, 2.0), x),
        1e20,
        -1.0,
    ),
    "long times by the spread": (
        lambda sigma: random.logp(random.ExGaussian(0.0, sigma, 1.0), 1e4),
        1e-3,
        1e-3,
    ),
}


# A value so far out that the quotient by the scale, or its square, has no second derivative left.
FAR_OUT = {
    "cauchy": [(1e200, 0.0, 1.0), (1e150, 0.0, 1e-100), (-1e300, 0.0, 1e100)],
    "halfcauchy": [(1e200, 0.0, 1.0), (1e150, 0.0, 1e-100)],
    "t": [(1e200, 3.0, 0.0, 1.0), (1e150, 0.5, 0.0, 1e-100)],
    "halfstudentt": [(1e200, 3.0, 1.0), (1e150, 0.5, 1e-100)],
    "f": [(1e200, 1.0, 3.0), (1e300, 5.0, 0.5)],
    "lomax": [(1e200, 2.0, 1.0), (1e100, 0.5, 1e-100)],
}


@pytest.mark.parametrize("name", FAR_OUT)
def test_second_derivatives_by_parameters_far_out(name):
    points = FAR_OUT[name]
    inputs = [pt.dvector() for _ in points[0]]
    x, *parameters = inputs
    logp = random.logp(DISTRIBUTIONS[name](*parameters), x)
    slopes = phintys.grad(logp.sum(), parameters)
    bends = [phintys.grad(one.sum(), parameters, disconnected_inputs="ignore") for one in slopes]
    f = phintys.function(inputs, [one for row in bends for one in row])
    places = range(1, len(inputs))
    orders = [(i, j) for i in places for j in places if 0 not in (points[0][i], points[0][j])]
    found = dict(
        zip([(i, j) for i in places for j in places], f(*np.transpose(points)), strict=True)
    )
    for at, point in enumerate(points):
        with mp.workdps(DIGITS):
            numbers = [mp.mpf(number) for number in point]
            steps = [mp.mpf(10) ** -15 * abs(number) for number in numbers]
            for order in orders:
                exact = derivative(name, "logp", numbers, steps, order)
                np.testing.assert_allclose(found[order][at], float(exact), rtol=1e-9)


# Quantiles of which a part overflows or underflows, or whose logarithm has lost their digits.
FAR_QUANTILES = {
    "half of t numbers": (lambda q: random.icdf(random.HalfStudentT(), q), mp.pi / 2, 1),
    "those far out": (lambda q: random.isf(random.HalfStudentT(), q), 2 / mp.pi, -1),
    "t numbers": (lambda q: random.icdf(random.StudentT(1.0), q), -1 / mp.pi, -1),
    "odds": (lambda q: random.icdf(random.LogLogistic(), q), 1, 1),
    "odds far out": (lambda q: random.isf(random.LogLogistic(), q), 1, -1),
    "a power of odds": (lambda q: random.isf(random.Burr12(4.0, 0.5, 1.0), q), 1, -0.5),
    "a power less 1": (lambda q: random.isf(random.Lomax(4.0), q), 1, -0.25),
}


@pytest.mark.parametrize("name", FAR_QUANTILES)
def test_far_quantiles_are_powers_of_the_probability(name):
    made, factor, power = FAR_QUANTILES[name]
    q = pt.dscalar("q")
    at = 1e-300
    exact = factor * mp.mpf(at) ** power
    slope = power * exact / at
    value, found = phintys.function([q], [made(q), phintys.grad(made(q), q)])(at)
    rtol = 2e-13 if "t numbers" in name or "those" in name else 4 * EPS
    np.testing.assert_allclose(value, float(exact), rtol=rtol)
    np.testing.assert_allclose(found, float(slope), rtol=1e-12)


@pytest.mark.parametrize("df", [0.5, 3.0, 1e5])
def test_quantiles_of_t_numbers_beside_the_median(df):
    q = pt.dvector("q")
    quantile = random.icdf(random.StudentT(df), q)
    f = phintys.function([q], [quantile, phintys.grad(quantile.sum(), q)])
    away = np.array([-1e-6, -1e-10, -(2.0**-54), 0.0, 2.0**-53, 1e-9, 1e-7])
    away = (0.5 + away) - 0.5
    value, slope = f(0.5 + away)
    density = float(answers("t", mp.mpf(0), (mp.mpf(df), mp.mpf(0), mp.mpf(1)))[0])
    np.testing.assert_allclose(value, away / density, rtol=1e-10)
    np.testing.assert_allclose(slope, 1 / density, rtol=1e-10)


@pytest.mark.parametrize("name", SLOPES)
def test_single_slopes(name):
    made, at, exact = SLOPES[name]
    x = pt.dscalar("x")
    np.testing.assert_allclose(phintys.grad(made(x), x).eval({x: at}), exact, rtol=1e-12)


@pytest.mark.sampled(5, 2)
@pytest.mark.parametrize("record", CONTINUOUS, ids=lambda record: record.method)
def test_slopes_of_distribution_functions_are_the_density(record):
    """Also where formulas of two sides meet, at the median, the mode and the centre."""
    inputs = {one: pt.dvector(one) for one in record.parameters()}
    distribution, x = DISTRIBUTIONS[record.method](**inputs), pt.dmatrix("x")
    answers_to_x = [getattr(random, one)(distribution, x) for one in OF_VALUES]
    slopes = [phintys.grad(pt.sum(answer), x) for answer in answers_to_x[1:]]
    variables = [x, *inputs.values()]
    f = phintys.function(variables, [*answers_to_x, *slopes], on_unused_input="ignore")
    places = []
    for question in (distribution.mode, distribution.median):
        with suppress(MethodNotDefinedError):
            places.append(question())
    places.extend(inputs[one] for one in ("loc", "mu", "c", "mode") if one in inputs)
    numbers = record.parameters()
    low, high = (pt.as_tensor_variable(end) for end in distribution.support())
    rows = [place + pt.zeros(3) for place in (*places, low, high)]
    at = phintys.function([*inputs.values()], rows, on_unused_input="ignore")(*numbers.values())
    *values, low, high = at
    values = np.array(values)
    logp, _, _, logcdf, logsf, *found = f(values, *numbers.values())
    is_inside = (values > low) & (values < high) & np.isfinite(logp)
    with np.errstate(invalid="ignore"):  # outside of the support
        shares = np.exp(logp - logcdf), -np.exp(logp - logsf)
    expected = [np.exp(logp), -np.exp(logp), *shares]
    for slope, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(slope[is_inside], exact[is_inside], rtol=1e-8)


@pytest.mark.parametrize("name", SINGLE)
def test_single_answers(name):
    made, exact = SINGLE[name]
    np.testing.assert_allclose(float(made().eval()), exact, rtol=1e-7)


def test_answers_in_float32_reach_as_far():
    x = pt.fvector("x")
    one = np.float32(1)
    distributions = [
        random.Normal(0 * one, one),
        random.Gamma(3 * one, one),
        random.StudentT(3 * one, 0 * one, one),
        random.SkewNormal(0 * one, one, 3 * one),
        random.TruncatedNormal(0 * one, one, 20 * one, 40 * one),
    ]
    values = np.float32([20.5, 30.0, 35.0])
    f = phintys.function([x], [random.logsf(one, x) for one in distributions])
    for distribution, found in zip(distributions, f(values), strict=True):
        assert found.dtype == "float32"
        wide = distribution.mapped(lambda one: pt.cast(one, "float64"))
        exact = random.logsf(wide, values.astype("float64")).eval()
        np.testing.assert_allclose(found, exact, rtol=3e-6, err_msg=str(distribution))


MIXED = {
    "a mixture": random.Mixture([0.3, 0.7], [random.Normal(0.0, 1.0), random.Normal(1.0, 2.0)]),
    "more zeros": random.ZeroInflated(0.4, random.Poisson(3.0)),
    "a hurdle": random.Hurdle(0.4, random.Poisson(3.0)),
    "a hurdle of positive numbers": random.Hurdle(1e-30, random.Exponential(3.0)),
    "censored": random.Censored(random.Normal(0.0, 1.0), -2.0, 3.0),
    "truncated": random.Truncated(random.Gamma(3.0), 100.0, 2000.0),
    "truncated counts": random.Truncated(random.Poisson(3.0), 50.0, 90.0),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", MIXED)
def test_logarithms_of_composed_distributions(name):
    distribution = MIXED[name]
    x = np.array([-1.0, 0.0, 1.0, 2.0, 7.0, 55.0, 150.0])
    cdf, sf, logcdf, logsf = phintys.function(
        [], [getattr(random, one)(distribution, x) for one in ("cdf", "sf", "logcdf", "logsf")]
    )()
    np.testing.assert_allclose(cdf + sf, 1, rtol=1e-12)
    for p, logarithm in ((cdf, logcdf), (sf, logsf)):
        is_plain = (p > 1e-300) | np.isneginf(logarithm)
        with np.errstate(divide="ignore"):
            wanted = np.log(p[is_plain])
        np.testing.assert_allclose(logarithm[is_plain], wanted, rtol=1e-10, atol=1e-14)
        assert (logarithm[~is_plain] < -690).all()


def test_logarithms_of_composed_distributions_do_not_underflow():
    x = 60.0
    normal = random.Normal(0.0, 1.0)
    tail = float(random.logsf(normal, x).eval())
    mixture = random.Mixture([0.5, 0.5], [normal, normal])
    np.testing.assert_allclose(random.logsf(mixture, x).eval(), tail, rtol=1e-14)
    inflated = random.Hurdle(0.5, random.HalfNormal(0.0, 1.0))
    np.testing.assert_allclose(random.logsf(inflated, x).eval(), tail, rtol=1e-14)


# Weights of the answers whose derivatives are checked together.
WEIGHTS = {"cdf": 1.0, "sf": -2.5, "logcdf": 0.3, "logsf": -0.7, "icdf": 0.2, "isf": 0.9}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("record", CONTINUOUS, ids=lambda record: record.method)
def test_derivatives_of_answers(record):
    """Of all answers together, against finite differences, in the body and in both tails."""
    numbers = record.parameters()
    inputs = {one: pt.dvector(one) for one in numbers}
    x, q = pt.dmatrices("x", "q")
    distribution = DISTRIBUTIONS[record.method](**inputs)
    cost = 0.0
    for question, weight in WEIGHTS.items():
        argument = q if question in OF_PROBABILITIES else x
        try:
            answer = getattr(random, question)(distribution, argument)
        except MethodNotDefinedError:
            continue
        cost += weight * answer
    variables = [x, q, *inputs.values()]
    slopes = phintys.grad(pt.sum(cost), variables, disconnected_inputs="ignore")
    f = phintys.function(variables, [cost, *slopes], mode="FAST_COMPILE", on_unused_input="ignore")
    shares = np.array([1e-3, 0.2, 0.6, 0.98])[:, None] + np.zeros(3)
    values = [record.exact().ppf(shares), shares, *numbers.values()]
    found = f(*values)[1:]
    for place, slope in enumerate(found):
        size = np.minimum(values[1], 1 - values[1]) if place == 1 else abs(values[place])
        step = 1e-6 * size
        moved = [[*values], [*values]]
        moved[0][place], moved[1][place] = values[place] + step, values[place] - step
        change = (f(*moved[0])[0] - f(*moved[1])[0]) / (2 * step)
        numeric = change if place < 2 else change.sum(axis=0)
        np.testing.assert_allclose(slope, numeric, rtol=2e-5, atol=2e-6 * abs(numeric).max())
