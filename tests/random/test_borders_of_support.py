"""Distributions that are truncated at an end of their support, or beyond it."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import DomainError
from phintys.random.distributions.base import DISTRIBUTIONS, QUESTIONS
from phintys.random.distributions.checks import checked
from tests.random.records import CONTINUOUS

INF = np.inf
EXAMPLES = ("beta", "gamma", "pareto", "triangular", "truncexpon", "uniform")
"""Their ends are numbers, parameters, or computed from these."""

lower, upper, shift = pt.dscalars("lower", "upper", "shift")


def bounded_distributions():
    """Yield the examples, their parameters and their ends."""
    for record in CONTINUOUS:
        if record.method not in EXAMPLES:
            continue
        parameters = {name: values[0] for name, values in record.parameters().items()}
        base = DISTRIBUTIONS[record.method](**parameters)
        ends = [float(pt.as_tensor_variable(end).eval()) for end in base.support()]
        yield pytest.param(record.method, parameters, ends, id=record.method)


BOUNDED = list(bounded_distributions())


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("method", "parameters", "ends"), BOUNDED)
def test_what_is_truncated_at_an_end_of_its_support_is_that_end(method, parameters, ends):
    name = next(iter(parameters))
    moved = parameters | {name: parameters[name] + shift}
    truncated = random.Truncated(DISTRIBUTIONS[method](**moved), lower, upper)
    value, q = pt.dvector("value"), pt.dvector("q")
    answers = [getattr(random, question)(truncated, value) for question in QUESTIONS[:5]]
    quantiles = [random.icdf(truncated, q), random.isf(truncated, q)]
    draws = random.RandomStream(1).gen(truncated, size=3)
    slope = phintys.grad(answers[0].sum(), shift)
    outputs = [*answers, *quantiles, draws, slope]
    f = phintys.function([lower, upper, value, q, shift], outputs, mode="reference")
    for end, low, high in ((ends[0], -INF, ends[0]), (ends[1], ends[1], INF)):
        if not np.isfinite(end):
            continue
        near = np.array([end - 0.25, end, end + 0.25])
        found = f(low, high, near, np.array([0.0, 0.3, 1.0]), 0.0)
        is_up_to = near >= end
        np.testing.assert_array_equal(found[0], np.where(near == end, INF, -INF))
        np.testing.assert_array_equal(found[1:3], [is_up_to, ~is_up_to])
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(found[3:5], np.log([is_up_to, ~is_up_to]))
        np.testing.assert_array_equal(np.stack(found[5:8]), np.full((3, 3), end))
        assert np.isfinite(found[8])


@pytest.mark.parametrize("method", ["normal", "cauchy"])
def test_numbers_of_a_line_beyond_all_others_are_infinite(method):
    truncated = random.Truncated(DISTRIBUTIONS[method](shift), lower, upper)
    value, q = pt.dvector("value"), pt.dvector("q")
    answers = [getattr(random, question)(truncated, value) for question in QUESTIONS[:5]]
    quantiles = [random.icdf(truncated, q), random.isf(truncated, q)]
    draws = random.RandomStream(1).gen(truncated, size=3)
    slope = phintys.grad(quantiles[0].sum(), shift)
    outputs = [*answers, *quantiles, draws, slope]
    f = phintys.function([lower, upper, value, q, shift], outputs, mode="reference")
    near = np.array([-INF, 0.0, INF])
    for end in (-INF, INF):
        found = f(end, end, near, np.array([0.0, 0.3, 1.0]), 0.0)
        is_up_to = near >= end
        np.testing.assert_array_equal(found[0], np.full(3, -INF))
        np.testing.assert_array_equal(found[1:3], [is_up_to, ~is_up_to])
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(found[3:5], np.log([is_up_to, ~is_up_to]))
        np.testing.assert_array_equal(np.stack(found[5:8]), np.full((3, 3), end))
        assert np.isfinite(found[8])
    found = f(1.0, 2.0, near, np.array([0.0, 0.3, 1.0]), 0.0)
    assert found[5][0] == 1 < found[5][1] < found[5][2] == 2


@pytest.mark.parametrize(("method", "parameters", "ends"), BOUNDED)
def test_ends_that_leave_nothing_are_refused(method, parameters, ends):
    truncated = random.Truncated(DISTRIBUTIONS[method](**parameters), lower, upper)
    f = phintys.function([lower, upper], list(checked(truncated).support()), mode="reference")
    for end, beyond in zip(ends, (-1.0, 1.0), strict=True):
        if np.isfinite(end):
            bounds = sorted([end + beyond, end + 2 * beyond])
            with pytest.raises(DomainError, match=r"must not be .* the \w+ number of"):
                f(*bounds)


def test_known_ends_that_leave_no_number_are_refused_at_once():
    with pytest.raises(DomainError, match="lower must not be above the largest number of Binomial"):
        random.logp(random.Truncated(random.Binomial(5, 0.3), 6, 9), 5)
    with pytest.raises(DomainError, match="upper must not be below lower or the smallest number"):
        random.logp(random.Truncated(random.Gamma(2.0), -2.0, -1.0), 5)
    assert random.logp(random.Truncated(random.Binomial(5, 0.3), 5, 9), 5).eval() == 0
