"""Draws of extreme parameters: they end, lie in the support, and are the same bits everywhere.

What could hang runs in a process of its own.
"""

import subprocess
import sys
from itertools import product

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import DomainError
from phintys.random.distributions import DISTRIBUTIONS
from tests.random.records import RECORDS

WHOLE = {"n", "ngood", "nbad", "nsample"}
SHARES = {"bernoulli", "binomial", "geometric", "logseries", "negative_binomial"}
POSITIVE = [5e-324, 1e-300, 1e-12, 1e-3, 1.0, 1e3, 1e12, 1e300]
VALUES = {
    "place": [-1e300, -1.0, 0.0, 1e300],
    "share": [5e-324, 1e-300, 1e-12, 0.5, 1 - 1e-12, np.nextafter(1.0, 0.0), 1.0],
    "count": [0.0, 1.0, 12.0, 1e6, 2.0**53],
}
BEYOND_ONE = {"a": [1.01, 1.1, 2.0, 50.0, 1e300]}  # of Zipf's distribution
PLACES = {"loc", "mu", "mean", "low", "high", "left", "mode", "right", "lower", "upper"}
PLACES |= {"alpha"}  # of skew normal numbers
SPARSE = 60  # combinations of parameters
DRAWS = 40


def _interval(*pairs):
    return [list(column) for column in zip(*pairs, strict=True)]


# Those whose parameters bound each other.
TOGETHER = {
    "uniform": _interval((-1e308, 1e307), (0.0, 5e-324), (1.0, 1.0), (-1e300, 1e300)),
    "loguniform": _interval((1e-300, 1e300), (5e-324, 1.0), (1.0, 1.0)),
    "triangular": _interval((-1e300, 0.0, 1e300), (0.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.0,) * 3),
    "truncated_normal": _interval(
        (0.0, 1.0, 39.0, np.inf),
        (0.0, 1.0, -np.inf, -1e155),
        (0.0, 1.0, 1e10, 1e11),
        (0.0, 1e-300, 1.0, np.inf),
        (0.0, 1e300, -1.0, 1.0),
        (0.0, 1.0, 2.0, 2.0),
        (0.0, 1.0, -40.0, np.inf),
    ),
    "hypergeometric": _interval(
        (0.0, 0.0, 0.0), (0.0, 5.0, 3.0), (1e9, 1.0, 1e9), (2.0**52, 2.0**52, 2.0**51), (1e15, 3, 2)
    ),
    "vonmises": _interval(
        *((mu, kappa) for mu in (0.0, 3.0) for kappa in (0.0, 5e-324, 1e-9, 1.0, 1e9, 1e100, 1e308))
    ),
}


def extremes(name):
    """Return vectors of extreme parameters."""
    if name in TOGETHER:
        return dict(zip(DISTRIBUTIONS[name].defaults, TOGETHER[name], strict=True))
    choices = []
    for parameter in DISTRIBUTIONS[name].defaults:
        is_share = (name in SHARES and parameter == "p") or parameter == "q"
        is_place = parameter in PLACES and name not in {"wald", "gengamma", "pareto"}
        if name == "zipf":
            choices.append(BEYOND_ONE["a"])
        elif parameter in WHOLE and name != "negative_binomial":
            choices.append(VALUES["count"])
        elif is_share:
            below = [x for x in VALUES["share"] if x < 1 or name in {"bernoulli", "binomial"}]
            choices.append(VALUES["share"] if name == "geometric" else below)
        elif is_place and not (parameter == "alpha" and name != "skewnormal"):
            choices.append(VALUES["place"])
        else:
            choices.append(POSITIVE)
    rows = list(product(*choices))
    rows = [rows[i] for i in np.unique(np.linspace(0, len(rows) - 1, SPARSE).astype(int))]
    return dict(zip(DISTRIBUTIONS[name].defaults, map(list, zip(*rows, strict=True)), strict=True))


NAMES = [*(record.method for record in RECORDS), "vonmises"]


def check(names):
    """Draw from distributions, natively and by the reference; return what is wrong."""
    wrong = []
    r = random.rng("r")
    for name, dtype in product(names, ("float64", "float32")):
        given = extremes(name)
        with np.errstate(all="ignore"):
            values = {one: np.array(x, dtype) for one, x in given.items()}
        is_kept = np.ones(len(next(iter(values.values()))), bool)
        for one, x in values.items():  # what is beyond float32, or no parameter there
            tiny = (np.array(given[one]) > 0) & ((x <= 0) | (x == np.inf) & np.isfinite(given[one]))
            is_kept &= ~(tiny | ((x >= 1) & (np.array(given[one]) < 1)))
            is_kept &= ~((name == "zipf") & (x <= 1)) & (np.isfinite(x) | ~np.isfinite(given[one]))
            is_kept &= ~((dtype == "float32") & (one in WHOLE) & (x > 2**24))
        values = {one: x[is_kept] for one, x in values.items()}
        inputs = [pt.vector(one, dtype=dtype) for one in values]
        distribution = DISTRIBUTIONS[name](*inputs)
        _, draw = r.draw(distribution, (DRAWS, int(is_kept.sum())))
        native, reference = (
            phintys.function([r, *inputs], draw, mode=mode)(random.state(5), *values.values())
            for mode in (None, "FAST_COMPILE")
        )
        ends = [pt.as_tensor_variable(end) + pt.zeros(1) for end in distribution.support()]
        low, high = phintys.function(inputs, ends, on_unused_input="ignore")(*values.values())
        same = (native == reference) | (np.isnan(native) & np.isnan(reference))
        inside = (native >= low) & (native <= high)
        for what, holds in (("differs", same), ("outside", inside)):
            for place in np.flatnonzero(~holds.all(axis=0))[:3]:
                row = [float(x[place]) for x in values.values()]
                bad = native[~holds[:, place], place][0], reference[~holds[:, place], place][0]
                wrong.append(f"{name} {dtype} {what}: {row} {bad}")
    return wrong


PARTS = 8


@pytest.mark.sampled(4)
@pytest.mark.parametrize("part", range(PARTS))
def test_draws_end_in_the_support_with_the_same_bits(part):
    program = (
        "from tests.random.test_extreme_draws import NAMES, PARTS, check\n"
        f"print('\\n'.join(check(NAMES[{part}::PARTS])) or 'nothing')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.strip().endswith("nothing"), done.stdout + done.stderr


CERTAIN = {
    "geometric": (lambda r: r.geometric(1.0, size=5), 1),
    "binomial": (lambda r: r.binomial(7, 1.0, size=5), 7),
    "negative_binomial": (lambda r: r.negative_binomial(3.0, 1.0, size=5), 0),
    "bernoulli": (lambda r: r.bernoulli(1.0, size=5), 1),
    "logseries": (lambda r: r.logseries(0.0, size=5), 1),
}


@pytest.mark.parametrize("name", CERTAIN)
@pytest.mark.parametrize("mode", [None, "FAST_COMPILE"])
def test_certain_numbers(name, mode):
    draw, value = CERTAIN[name]
    r = random.rng("r")
    assert (phintys.function([r], draw(r)[1], mode=mode)(random.state(1)) == value).all()


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_beyond_a_dtype_become_its_ends(dtype):
    r = random.rng("r")
    info = np.iinfo(dtype)
    draws = [
        r.poisson(1e12, size=50, dtype=dtype)[1],
        r.geometric(1e-300, size=50, dtype=dtype)[1],
        r.zipf(1.01, size=50, dtype=dtype)[1],
        r.multinomial(2**40, [0.5, 0.5], dtype=dtype)[1],
        r.negative_binomial(3.0, 1e-12, size=50, dtype=dtype)[1],
    ]
    wide = [
        r.poisson(1e12, size=50)[1],
        r.geometric(1e-300, size=50)[1],
        r.zipf(1.01, size=50)[1],
        r.multinomial(2**40, [0.5, 0.5])[1],
        r.negative_binomial(3.0, 1e-12, size=50)[1],
    ]
    made = phintys.function([r], [*draws, *wide])(random.state(2))
    for narrow, exact in zip(made[: len(draws)], made[len(draws) :], strict=True):
        assert narrow.dtype == dtype
        clipped = np.clip(exact.astype(object), int(info.min), int(info.max)).astype(dtype)
        np.testing.assert_array_equal(narrow, clipped)


REFUSED = {
    "integers": (lambda r: r.integers(0, 1000, dtype="int8"), "high must be from -128 to 128"),
    "negative ones": (lambda r: r.integers(-5, 5, dtype="uint8"), "low must be from 0 to 255"),
    "their number": (lambda r: r.integers(129, dtype="int8"), "low must be from -128 to 128"),
    "both ends": (
        lambda r: r.discrete_uniform(0, 128, dtype="int8"),
        "upper must be from -128 to 127",
    ),
    "places": (lambda r: r.choice(1000, 3, dtype="int8"), "a must be from -128 to 128"),
    "an order": (lambda r: r.permutation(1000, dtype="int8"), "x must be from -128 to 128"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_ends_that_a_dtype_lacks_are_refused(name):
    draw, message = REFUSED[name]
    with pytest.raises(DomainError, match=message):
        draw(random.rng("r"))


def test_the_whole_range_of_a_dtype_is_drawn():
    r = random.rng("r")
    _, draw = r.integers(-128, 128, size=5000, dtype="int8")
    made = phintys.function([r], draw)(random.state(3))
    assert made.min() == -128
    assert made.max() == 127


def test_ends_of_integers_are_checked_at_run_time():
    r, high = random.rng("r"), pt.lscalar("high")
    f = phintys.function([r, high], r.integers(0, high, size=3, dtype="uint8")[1])
    assert f(random.state(1), 256).dtype == "uint8"
    with pytest.raises(DomainError, match="high must be from 0 to 256 for draws of uint8"):
        f(random.state(1), 257)
