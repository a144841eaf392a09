"""Derivatives against mpmath: their errors in ulp over the whole range, to the third order."""

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from benchmarks import minimax
from benchmarks.accuracy import LIMITS
from benchmarks.derivative_accuracy import ORDERS, compiled, measure, settled
from benchmarks.derivative_records import GOAL, PLAIN, SLOPES, differences
from phintys.graph import DisconnectedType, NullType
from phintys.scalar import SCALAR_OPS, ScalarType, slope_coefficients
from phintys.testing.scalar_domains import DOMAINS

IDS = [f"{slope.name}-{slope.by}" for slope in SLOPES]


@pytest.fixture(autouse=True)
def _default_mode():
    """The figures are those of the default mode, whichever one the other tests run in."""
    with phintys.config.change_flags(mode="native"):
        yield


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("slope", SLOPES, ids=IDS)
def test_errors_of_derivatives_are_within_their_limits(slope, dtype, repeats):
    points = repeats(3, 200)
    for label in slope.ranges:
        for order, limit in zip(ORDERS, slope.limits, strict=True):
            error, _, where = measure(slope, label, dtype, order, points)
            assert error <= limit, (label, order, where)


# Where a rounded sum, a difference of logarithms or a phase, or terms that alternate would cost the
# first derivative its digits: the name, the position, and the arguments.
HARD = [
    ("poch", 1, (0.9197028227835167, 0.5574452226697265)),
    ("kl_div", 0, (1.1249551905264125e254, 8.79523681371551e210)),
    ("boxcox", 0, (9.656528325505889, -1.794177404425265)),
    ("zeta", 1, (3.43341096264225, 6.793336240071773)),
    ("i0e", 0, (1.4568215331199106,)),
    ("j0", 0, (-22.852980449634288,)),
    ("j1", 0, (-8.985898012660604,)),
]


@pytest.mark.parametrize(("name", "by", "arguments"), HARD, ids=[name for name, *_ in HARD])
def test_first_derivatives_keep_digits_at_hard_arguments(name, by, arguments):
    (slope,) = (one for one in SLOPES if (one.name, one.by) == (name, by))
    draws = tuple(lambda rng, n, dtype, x=x: np.full(n, x, dtype) for x in arguments)
    error, *_ = measure(replace(slope, ranges={"hard": lambda t: draws}), "hard", "float64", 1, 1)
    assert error <= GOAL


def has_derivative(name):
    row = SCALAR_OPS[name]
    dtypes = ["float64"] * len(DOMAINS[name].intervals)
    if "f" not in DOMAINS[name].kinds or DOMAINS[name].integers:
        return False
    inputs = [ScalarType(dtype)() for dtype in dtypes]
    (out,) = row.make_node(*inputs).outputs
    if out.type.dtype != "float64":
        return False
    found = row.L_op(inputs, [out], [out.type()])
    return not all(isinstance(one.type, NullType | DisconnectedType) for one in found)


def test_every_smooth_function_has_a_record():
    smooth = {name for name in DOMAINS if has_derivative(name)}
    recorded = {slope.name for slope in SLOPES}
    assert smooth - PLAIN - recorded == set()
    assert recorded & PLAIN == set()


# Functions by mpmath, and arguments at which their third derivatives are not 0, not infinite.
THIRD = {
    "arcsin": (mp.asin, [1e-150, 1e-20, 1e-8, 0.3, 0.49, 0.51, 0.99, -0.999999]),
    "arccos": (mp.acos, [1e-150, 1e-20, 1e-8, 0.3, 0.49, 0.51, 0.99, -0.999999]),
    "arctanh": (mp.atanh, [1e-150, 1e-20, 1e-8, 0.3, 0.49, 0.51, 0.99, -0.999999]),
    "arctan": (mp.atan, [1e-150, 1e-20, 0.1, 3.0, 1e5, -1e8, 1e10, 1e50]),
    "arcsinh": (mp.asinh, [1e-150, 1e-20, 0.1, 3.0, 1e5, -1e8, 1e50]),
    "arccosh": (mp.acosh, [1.001, 1.5, 10.0, 1e8, 1e50]),
    "sqrt": (mp.sqrt, [1e-100, 1e-8, 0.3, 5.0, 1e8, 1e100]),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), [1e-80, -1e-8, 0.3, 5.0, -1e8, 1e80]),
    "log": (mp.log, [1e-80, 1e-8, 0.3, 5.0, 1e8, 1e80]),
    "log1p": (mp.log1p, [1e-150, -0.999999, 0.3, 5.0, 1e8, 1e80]),
    "log1mexp": (lambda x: mp.log(-mp.expm1(x)), [-1e-80, -1e-8, -0.3, -5.0, -100.0, -700.0]),
    "expm1": (mp.expm1, [-700.0, -30.0, -1e-20, 1e-20, 3.0, 700.0]),
    "sinc": (mp.sincpi, [1e-20, 1e-5, 0.3, 0.49, 0.51, 2.25, 1e5 + 0.25]),
    "reciprocal": (lambda x: 1 / x, [1e-70, -1e-8, 0.3, 5.0, 1e70]),
    "erf": (mp.erf, [1e-20, 0.1, 2.0, -5.0, 20.0]),
    "ndtr": (mp.ncdf, [1e-20, 0.1, 2.0, -5.0, -30.0]),
}


def third_derivative(function):
    return differences(differences(function, 0, 1), 0, 2)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", THIRD)
def test_third_derivatives_have_their_digits(name):
    exact, points = THIRD[name]
    x = pt.dvector("x")
    y = pt.Elemwise(SCALAR_OPS[name])(x)
    for _ in range(3):
        y = phintys.grad(y.sum(), x)
    found = phintys.function([x], y)(points)
    expected = [float(settled(third_derivative(exact), [mp.mpf(one)])) for one in points]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_coefficients_are_what_the_script_computes():
    computed, _ = minimax.table(minimax.FITS_OF_SLOPES)
    for name, by_dtype in computed.items():
        kept = getattr(slope_coefficients, name)
        assert {dtype: tuple(values) for dtype, values in by_dtype.items()} == kept


# Where the value is 0, or the difference that it is, but its logarithm is a number.
TAILS = {
    "log(ndtr(x))": (lambda x: pt.log(pt.ndtr(x)), "ndtr"),
    "log2(ndtr(x))": (lambda x: pt.log2(pt.ndtr(x)) * np.log(2), "ndtr"),
    "log(3 * ndtr(x))": (lambda x: pt.log(3 * pt.ndtr(x)), "ndtr"),
    "log(1 - ndtr(-x))": (lambda x: pt.log(1 - pt.ndtr(-x)), "ndtr"),
    "log1p(-ndtr(-x))": (lambda x: pt.log1p(-pt.ndtr(-x)), "ndtr"),
    "log_ndtr(x)": (pt.log_ndtr, "ndtr"),
    "log(erfc(-x))": (lambda x: pt.log(pt.erfc(-x)), "erfc"),
    "log(erfc(-x) / 2)": (lambda x: pt.log(pt.erfc(-x) / 2), "erfc"),
    "log(1 + erf(x))": (lambda x: pt.log(1 + pt.erf(x)), "erfc"),
    "log(1 - erf(-x))": (lambda x: pt.log(1 - pt.erf(-x)), "erfc"),
}
PLACES = [-1e6, -1000.0, -50.0, -39.0, -5.0, -0.5, 0.5, 3.0]


def mills(x):
    term = mp.mpf(2) / mp.pi
    tail = mp.erfc(-x / mp.sqrt(2)) * mp.exp(x * x / 2) if x > -1e5 else mp.sqrt(2 / mp.pi) / -x
    return mp.sqrt(term) / tail


@pytest.mark.parametrize("name", TAILS)
def test_logarithms_of_tails_have_a_gradient_where_the_tail_is_zero(name):
    build, kind = TAILS[name]
    x = pt.dvector("x")
    slope = phintys.grad(build(x).sum(), x)
    scale = 1 if kind == "ndtr" else mp.sqrt(2)
    with mp.workprec(200):
        expected = [float(scale * mills(scale * mp.mpf(one))) for one in PLACES]
    np.testing.assert_allclose(phintys.function([x], slope)(PLACES), expected, rtol=1e-11)


@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("function", [pt.i0, pt.i1, pt.i0e, pt.i1e], ids=lambda f: f.name)
def test_bessel_functions_have_two_derivatives_at_tiny_and_huge_numbers(function, mode):
    x = pt.dvector("x")
    first = phintys.grad(function(x).sum(), x)
    f = phintys.function([x], [first, phintys.grad(first.sum(), x)], mode=mode)
    for derivative in f([5e-324, 1e-310, 1e-200, -1e-20, 1e9, 1e10, 1e200, 1e308]):
        assert not np.isnan(derivative).any()


@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize(
    ("function", "sign"),
    [(pt.erfcinv, 1), (pt.ndtri, -1), (pt.logit, -1)],
    ids=["erfcinv", "ndtri", "logit"],
)
def test_second_derivatives_that_overflow_are_infinite(function, sign, mode):
    x = pt.dvector("x")
    first = phintys.grad(function(x).sum(), x)
    f = phintys.function([x], phintys.grad(first.sum(), x), mode=mode)
    np.testing.assert_array_equal(f([1e-308, 1e-300, 1e-200, 1e-160]), sign * np.inf)


# Where squares of the arguments, or fourth powers, overflow, underflow or cancel.
PLANE = [
    *[(1e200, 3e150), (3e150, 1e200), (1e-160, 1e-5), (1.0, 1e-10), (1e-10, 1.0), (1e-100, 3e-101)],
    *[(-3e-180, -1e-287), (1e-287, 3e-180), (1e160, 2e160), (1e308, 1e308), (3.0, -4.0)],
]


def _bends_of_hypot(x, y):
    cube = mp.sqrt(x * x + y * y) ** 3
    return y * y / cube, -x * y / cube, x * x / cube


def _bends_of_arctan2(x, y):
    power = (x * x + y * y) ** 2
    return -2 * x * y / power, (x * x - y * y) / power, 2 * x * y / power


@pytest.mark.parametrize(
    ("function", "exact"),
    [(pt.hypot, _bends_of_hypot), (pt.arctan2, _bends_of_arctan2)],
    ids=["hypot", "arctan2"],
)
def test_second_derivatives_in_the_plane_keep_their_digits(function, exact):
    x, y = pt.dvectors("x", "y")
    by_x, by_y = phintys.grad(function(x, y).sum(), [x, y])
    bends = [*phintys.grad(by_x.sum(), [x, y]), phintys.grad(by_y.sum(), y)]
    found = phintys.function([x, y], bends)(*np.transpose(PLANE))
    for place, values in zip(PLANE, np.transpose(found), strict=True):
        with mp.workdps(60):
            expected = [float(one) for one in exact(*map(mp.mpf, place))]
        np.testing.assert_allclose(values, expected, rtol=1e-15, atol=1e-307, err_msg=f"{place}")


def test_far_tails_in_single_precision():
    x = pt.fvector("x")
    slope = phintys.function([x], phintys.grad(pt.log_ndtr(x).sum(), x))
    np.testing.assert_allclose(slope([-100, -1e3, -1e4]), [100.01, 1000.001, 1e4], rtol=1e-6)


def test_measured_functions_are_those_of_the_default_mode():
    assert compiled("exp", 0, "float64", 1).maker.mode.name == phintys.config.mode
