"""Distributions against SciPy, finite differences, and the shares of their draws.

All records share a few functions, which are compiled once.
"""

import numpy as np
import pytest
import scipy.special
import scipy.stats

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import ArgumentError, MethodNotDefinedError
from phintys.random.distributions import DISTRIBUTIONS
from tests.random.records import CONTINUOUS, DISCRETE, RECORDS, SETS

PROBABILITIES = np.array([1e-12, 0.01, 0.3, 0.5, 0.9, 0.999])[:, None] + np.zeros(SETS)
WRONG = np.array([-0.1, 1.1, np.nan])[:, None] + np.zeros(SETS)
BEYOND = np.array([-np.inf, np.inf, np.nan])[:, None] + np.zeros(SETS)
BODY = slice(1, 5)  # the values between far quantiles, where finite differences are accurate
STEP = 3e-6
DRAWS = 4000

AT_VALUES = ["logp", "cdf", "sf", "logcdf", "logsf"]
AT_PROBABILITIES = ["icdf", "isf"]
OF_ALL = ["mean", "variance", "entropy"]

# Of integers, of vectors of parameters, and of arrays: these have tests of their own.
NOT_BY_RECORDS = {"integers", "discrete_uniform", "categorical", "ordered_logistic"}
NOT_BY_RECORDS |= {"vonmises", "choice", "permutation", "permuted", "shuffle"}


def names_of(records, question=None):
    """Return the names of the records that answer a question."""
    return [one.method for one in records if question is None or one.is_asked(question)]


BY_NAME = {record.method: record for record in RECORDS}


def exact(record, question, *args):
    name = {"icdf": "ppf", "variance": "var"}.get(question, question)
    if question == "logp":
        name = "logpmf" if record.is_discrete else "logpdf"
    with np.errstate(all="ignore"):
        return getattr(record.exact(), name)(*args)


def values_of(record):
    """Return values in the body, in both tails, and on both sides of the support."""
    twin = record.exact()
    inside = twin.ppf(np.array([1e-9, 0.02, 0.3, 0.6, 0.97, 1 - 1e-6])[:, None])
    low, high = twin.support()
    outside = np.stack(
        [
            np.where(np.isinf(low), inside[1], low - 1.5),
            np.where(np.isinf(high), inside[3], high + 1.5),
        ]
    )
    return np.concatenate([inside, outside])


class Frame:
    """All questions to all distributions: expressions, the inputs that they need, and answers."""

    def __init__(self):
        self.inputs, self.values = [], []
        self.places, self.expressions = {}, {}
        for record in RECORDS:
            self._ask(record)

    def _input(self, variable, value):
        self.inputs.append(variable)
        self.values.append(value)
        return variable

    def _ask(self, record):
        name = record.method
        values = record.parameters()
        parameters = {one: self._input(pt.dvector(one), values[one]) for one in values}
        distribution = DISTRIBUTIONS[name](**parameters)
        x = self._input(pt.dmatrix("x"), values_of(record))
        q = self._input(pt.dmatrix("q"), PROBABILITIES)
        self.places[name] = [self.inputs.index(one) for one in (x, *parameters.values())]
        for arguments, questions in (((x,), AT_VALUES), ((q,), AT_PROBABILITIES), ((), OF_ALL)):
            for question in filter(record.is_asked, questions):
                asked = getattr(random, question)(distribution, *arguments)
                self.expressions[name, question] = asked

    def compiled(self, expressions, mode=None):
        """Return a function of the values of all inputs, which returns a dict of arrays."""
        f = phintys.function(
            self.inputs, list(expressions.values()), mode=mode, on_unused_input="ignore"
        )
        return lambda values: dict(zip(expressions, f(*values), strict=True))

    def moved(self, position, sign):
        """Return the values of inputs, and how far one input of each record is moved."""
        values, steps = list(self.values), {}
        for name, places in self.places.items():
            place = places[min(position, len(places) - 1)]
            steps[name] = STEP * (1 + abs(values[place]))
            values[place] = values[place] + sign * steps[name]
        return values, steps


@pytest.fixture(scope="module")
def frame():
    return Frame()


@pytest.fixture(scope="module")
def reference(frame):
    return frame.compiled(frame.expressions, "FAST_COMPILE")


@pytest.fixture(scope="module")
def answers(frame, reference):
    return reference(frame.values)


def test_all_distributions_are_tested():
    univariate = {name for name, one in DISTRIBUTIONS.items() if one.event_ndim == 0}
    assert set(BY_NAME) >= univariate - NOT_BY_RECORDS


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", BY_NAME)
def test_answers_are_those_of_scipy(answers, name):
    record = BY_NAME[name]
    arguments = dict.fromkeys(AT_VALUES, (values_of(record),))
    arguments |= dict.fromkeys(AT_PROBABILITIES, (PROBABILITIES,))
    for question in filter(record.is_asked, [*AT_VALUES, *AT_PROBABILITIES, *OF_ALL]):
        wanted = exact(record, question, *arguments.get(question, ()))
        result = answers[name, question]
        wanted = np.broadcast_to(wanted, result.shape)
        rtol = 1e-4 if question in record.rough else record.rtol
        np.testing.assert_allclose(
            result, wanted, rtol=rtol, atol=1e-14, err_msg=f"{name} {question}"
        )


def test_native_answers_are_those_of_the_reference(frame, answers):
    expressions = {k: one for k, one in frame.expressions.items() if k[1] == "logp"}
    for (name, question), result in frame.compiled(expressions)(frame.values).items():
        np.testing.assert_allclose(
            result, answers[name, question], rtol=1e-10, atol=1e-14, err_msg=f"{name} {question}"
        )


def test_at_infinity_and_outside_of_probabilities(frame, reference):
    """NaN stays NaN, also for probabilities outside of 0 to 1."""
    values = []
    for variable, value in zip(frame.inputs, frame.values, strict=True):
        is_parameter = variable.ndim == 1
        values.append(value if is_parameter else {"x": BEYOND, "q": WRONG}[variable.name])
    at = reference(values)
    ends = {"logp": (-np.inf, -np.inf), "cdf": (0, 1), "sf": (1, 0), "logcdf": (-np.inf, 0)}
    ends |= {"logsf": (0, -np.inf), "icdf": (np.nan, np.nan), "isf": (np.nan, np.nan)}
    for (name, question), result in at.items():
        if question in ends and not BY_NAME[name].is_discrete:
            wanted = np.array([*ends[question], np.nan])[:, None] + np.zeros(SETS)
            np.testing.assert_array_equal(result, wanted, f"{name} {question}")


def test_derivatives_of_densities_against_finite_differences(frame):
    """One input of each record is moved at a time, of all records together."""
    densities = frame.compiled(
        {(name, "logp"): frame.expressions[name, "logp"] for name in names_of(CONTINUOUS)},
        "FAST_COMPILE",
    )
    slopes = {}
    for name in names_of(CONTINUOUS):
        cost = frame.expressions[name, "logp"][BODY].sum()
        inputs = [frame.inputs[place] for place in frame.places[name]]
        slopes |= {(name, i): one for i, one in enumerate(phintys.grad(cost, inputs))}
    found = frame.compiled(slopes, "FAST_COMPILE")(frame.values)
    for position in range(max(map(len, frame.places.values()))):
        (after, steps), (before, _) = (frame.moved(position, sign) for sign in (1, -1))
        up, down = densities(after), densities(before)
        for name in names_of(CONTINUOUS):
            if position >= len(frame.places[name]):
                continue
            change = up[name, "logp"][BODY] - down[name, "logp"][BODY]
            step = steps[name]
            wanted = change / (2 * step[BODY]) if position == 0 else change.sum(axis=0) / (2 * step)
            result = found[name, position][BODY] if position == 0 else found[name, position]
            np.testing.assert_allclose(
                result, wanted, rtol=1e-5, atol=1e-6, err_msg=f"{name} {position}"
            )


@pytest.fixture(scope="module")
def drawn():
    """Return numbers of each distribution, of native code and of the reference."""
    r = random.rng("r")
    draws = {
        record.method: getattr(r, record.method)(**record.parameters(), size=(DRAWS, SETS))[1]
        for record in RECORDS
    }
    seed = random.state(11)
    made = [
        phintys.function([r], list(draws.values()), mode=mode)(seed)
        for mode in (None, "FAST_COMPILE")
    ]
    return {name: pair for name, *pair in zip(draws, *made, strict=True)}


@pytest.mark.sampled(2, 1)
@pytest.mark.parametrize("name", BY_NAME)
def test_native_draws_are_those_of_the_reference(drawn, name):
    native, reference = drawn[name]
    if BY_NAME[name].is_discrete:
        np.testing.assert_array_equal(native, reference)
    else:
        np.testing.assert_array_equal(native.view("u8"), reference.view("u8"))


@pytest.mark.parametrize("name", names_of(CONTINUOUS))
def test_draws_have_their_distribution(drawn, name):
    """Kolmogorov and Smirnov's test: each of the sets fails by chance once in 100,000 seeds."""
    probabilities = BY_NAME[name].exact().cdf(drawn[name][0])
    for column in probabilities.T:
        assert scipy.stats.kstest(column, "uniform").pvalue > 1e-5


@pytest.mark.parametrize("name", names_of(DISCRETE))
def test_frequencies_of_integers(drawn, name):
    """The share of draws up to each quantile lies within six standard deviations."""
    twin = BY_NAME[name].exact()
    for q in (0.01, 0.25, 0.5, 0.9, 0.999):
        p = twin.cdf(twin.ppf(q))
        deviation = np.mean(drawn[name][0] <= twin.ppf(q), axis=0) - p
        assert (abs(deviation) <= 6 * np.sqrt(p * (1 - p) / DRAWS)).all()


def test_parameters_by_other_names():
    x = np.array([0.5, 2.0])
    for distribution, same in (
        (random.Exponential(rate=4.0), random.Exponential(0.25)),
        (random.Normal(mu=1.0, tau=4.0), random.Normal(1.0, 0.5)),
    ):
        np.testing.assert_array_equal(
            *(random.logp(one, x).eval(mode="FAST_COMPILE") for one in (distribution, same))
        )
    with pytest.raises(ArgumentError, match="Exponential: lam is given twice"):
        random.Exponential(1.0, lam=2.0)
    with pytest.raises(ArgumentError, match=r"speed is not one of its parameters \(scale, rate"):
        random.Exponential(speed=2.0)


def test_questions_without_closed_answers_are_refused():
    class Unknown(random.Distribution):
        defaults = {"a": 1.0}

    for question, args in (("icdf", [0.5]), ("cdf", [0.5]), ("mean", [])):
        with pytest.raises(MethodNotDefinedError, match="Unknown has no closed"):
            getattr(random, question)(Unknown(), *args)


def test_implicit_derivatives_of_gamma_numbers():
    """The derivative of a draw is that of the quantile of its own probability."""
    r, shape = random.rng("r"), pt.dvector("shape")
    _, draw = r.gamma(shape, size=(2000, 5))
    slope = phintys.grad(draw.sum(), shape)
    each = phintys.gradient.Rop(draw, shape, pt.ones_like(shape))
    values = np.array([0.05, 0.7, 1.0, 4.0, 60.0])
    f = phintys.function([r, shape], [draw, each, slope])
    numbers, moved, total = f(random.state(5), values)
    np.testing.assert_allclose(moved.sum(axis=0), total, rtol=1e-10)
    step = 1e-4 * values
    q = scipy.special.gammainc(values, numbers)
    is_moderate = (q > 1e-3) & (q < 0.999) & (numbers > 1e-100)
    ends = [scipy.special.gammaincinv(values + sign * step, q) for sign in (1, -1)]
    numeric = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(moved[is_moderate], numeric[is_moderate], rtol=1e-4)
    # The mean is the shape, so the derivatives of the draws have the mean 1.
    error = moved.std(axis=0) / np.sqrt(len(moved))
    assert (abs(moved.mean(axis=0) - 1) < 6 * error).all()


def test_the_density_of_inverse_gamma_numbers_is_zero_at_zero():
    found = random.InverseGamma(2.0, 3.0).logp(pt.constant([0.0, 1.0])).eval()
    np.testing.assert_allclose(found, scipy.stats.invgamma(2.0, scale=3.0).logpdf([0.0, 1.0]))
