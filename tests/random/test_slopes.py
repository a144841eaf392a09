"""Derivatives of densities and of logarithms of probabilities against mpmath.

A derivative is right if its error is that of a few roundings of its inputs, of itself, and of terms
of the size of a power of the reciprocal scale, which it may be the difference of.
"""

import mpmath as mp
import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys.random.distributions import DISTRIBUTIONS
from tests.random.exact_distributions import EXACT, derivative
from tests.random.records import CONTINUOUS

STEP = mp.mpf(10) ** -20
DIGITS = 80
ROUNDINGS = 256
QUESTIONS = ("logp", "logcdf", "logsf")
SHARES = np.array([1e-9, 0.4, 0.999])
# Tails of skew normal numbers are integrals in mpmath, whose derivatives take minutes: a few are in
# test_tails.
RECORDS = [one for one in CONTINUOUS if one.method in EXACT and one.method != "skewnormal"]
# The parameters that are multiplied where numbers are.
MULTIPLIED = {
    **dict.fromkeys(("cauchy", "gumbel", "halfcauchy", "halfnormal", "laplace"), "loc scale"),
    **dict.fromkeys(("levy", "logistic", "moyal", "normal", "t"), "loc scale"),
    **dict.fromkeys(("asymmetriclaplace", "truncexpon"), "loc scale"),
    **dict.fromkeys(("burr12", "exponential", "gamma", "halfstudentt", "invgamma"), "scale"),
    **dict.fromkeys(("lomax", "maxwell", "nakagami", "pareto", "rayleigh", "weibull"), "scale"),
    "exgaussian": "mu sigma nu",
    "gengamma": "lambd",
    "loglogistic": "alpha",
    "loguniform": "low high",
    "triangular": "left mode right",
    "truncated_normal": "loc scale lower upper",
    "uniform": "low high",
    "wald": "mean scale",
}
PLACES = {"x", "loc", "mu", "low", "high", "left", "mode", "right", "lower", "upper"}
# Where powers, or what they are of, vanish.
SHAPES = {
    "beta": [(1.0, 1.0)],
    "burr12": [(1.0, 1.0, 1.0)],
    "gamma": [(1.0, 1.0)],
    "gengamma": [(1.0, 2.0, 1.0)],
    "kumaraswamy": [(1.0, 1.0), (3.0, 1.0)],
    "loglogistic": [(1.0, 1.0)],
    "power": [(1.0,)],
    "weibull": [(1.0, 1.0)],
}


@pytest.fixture(autouse=True)
def _default_mode():
    """Derivatives have their digits by stable forms, which rules of the default mode make."""
    with phintys.config.change_flags(mode="native"):
        yield


def compiled(name, dtype, questions, is_second):
    """Return a function of vectors, and what it returns: questions and orders."""
    inputs = [pt.vector(one, dtype=dtype) for one in ("x", *DISTRIBUTIONS[name].defaults)]
    distribution = DISTRIBUTIONS[name](*inputs[1:])
    orders, outputs = [], []

    def differentiate(question, answer, order):
        orders.append((question, order))
        outputs.append(answer)
        if len(order) <= is_second:
            slopes = phintys.grad(pt.sum(answer), inputs, disconnected_inputs="ignore")
            first = order[-1] if order else 0
            for place in range(first, len(inputs)):
                differentiate(question, slopes[place], (*order, place))

    for question in questions:
        differentiate(question, getattr(random, question)(distribution, inputs[0]), ())
    return phintys.function(inputs, outputs, on_unused_input="ignore"), orders


def check(name, dtype, rows, lengths, questions=QUESTIONS, is_second=False):
    """Check derivatives at rows of a value and parameters.

    Parameters
    ----------
    name, dtype
        The distribution, and the dtype of all numbers.
    rows, lengths
        The numbers, and for each row the scale of its value.
    questions, is_second
        What is differentiated, and whether a second time.
    """
    f, orders = compiled(name, dtype, questions, is_second)
    info = np.finfo(dtype)
    found = f(*np.array(rows, dtype).T)
    for (question, order), values in zip(orders, found, strict=True):
        for row, length, value in zip(np.array(rows, dtype).tolist(), lengths, values, strict=True):
            with mp.workdps(DIGITS):
                numbers = [mp.mpf(number) for number in row]
                sizes = sizes_of(name, numbers, mp.mpf(length))
                exact, condition = with_condition(name, question, numbers, sizes, order)
                terms = mp.fprod(1 / sizes[place] for place in order)
                if not info.tiny / info.eps < max(abs(exact), terms) < info.max * info.eps:
                    continue
                error = abs(mp.mpf(float(value)) - exact) if np.isfinite(value) else mp.inf
                bound = ROUNDINGS * info.eps * (abs(exact) + condition + terms)
                at = name, question, order, row, float(value), mp.nstr(exact, 12)
                assert error <= bound, at


def sizes_of(name, numbers, length):
    """Return for each number what its changes are relative to."""
    places = PLACES | ({"mean"} if name in {"lognormal", "logitnormal"} else set())
    names = ("x", *DISTRIBUTIONS[name].defaults)
    return [length if one in places else abs(x) for one, x in zip(names, numbers, strict=True)]


def with_condition(name, question, numbers, sizes, order):
    """Return a derivative, and the sum of its changes as numbers are multiplied."""
    steps = [size * STEP for size in sizes]
    exact = derivative(name, question, numbers, steps, order)
    condition = mp.mpf(0)
    for place, number in enumerate(numbers):
        moved = [*numbers]
        moved[place] = number * (1 + STEP)
        condition += abs(derivative(name, question, moved, steps, order) - exact) / STEP
    return exact, condition


def drawn(record, shares=SHARES, parameters=None):
    """Return rows of a value and parameters, and how far each value is from the nearest end."""
    parameters = parameters or [one[0] for one in record.parameters().values()]
    twin = record.twin(*parameters)
    ends = [end for end in twin.support() if np.isfinite(end)]
    rows = [(float(value), *parameters) for value in np.unique(twin.ppf(shares))]
    rows = [row for row in rows if np.isfinite(row[0]) and row[0] not in (0.0, *ends)]
    return rows, [min([1.0, *(abs(row[0] - end) for end in ends)]) for row in rows]


def ids(record):
    return record.method


@pytest.mark.sampled(5)
@pytest.mark.parametrize("factor", [1e-150, 1e-100, 1e150])
@pytest.mark.parametrize("record", [one for one in RECORDS if one.method in MULTIPLIED], ids=ids)
def test_slopes_of_tiny_and_huge_numbers(record, factor):
    names = ("x", *DISTRIBUTIONS[record.method].defaults)
    multiplied = {"x", *MULTIPLIED[record.method].split()}
    rows, lengths = drawn(record)
    rows = [
        tuple(x * factor if one in multiplied else x for one, x in zip(names, row, strict=True))
        for row in rows
    ]
    check(record.method, "float64", rows, [factor * one for one in lengths])


@pytest.mark.sampled(5, 1)
@pytest.mark.parametrize("record", RECORDS, ids=ids)
def test_second_derivatives_of_densities(record):
    for parameters in [None, *SHAPES.get(record.method, [])]:
        rows, lengths = drawn(record, parameters=parameters)
        check(record.method, "float64", rows, lengths, ("logp",), is_second=True)


@pytest.mark.sampled(5, 2)
@pytest.mark.parametrize("record", RECORDS, ids=ids)
def test_slopes_of_float32(record):
    """Also far in the tails, where a logarithm has no digits after the point."""
    rows, lengths = drawn(record, np.array([0.01, 0.5, 0.99]))
    parameters = rows[0][1:]
    low, high = record.twin(*parameters).support()
    far = [value for value in (-1e4, 300.0, 1e10) if low < value < high]
    if record.method not in {"gumbel", "moyal"}:  # exp(-value)
        rows += [(value, *parameters) for value in far]
        lengths += [1.0] * len(far)
    check(record.method, "float32", rows, lengths)
