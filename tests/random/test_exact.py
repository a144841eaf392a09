"""Scalar functions in exact steps: precision, and equality of native code and the reference."""

import pickle

import mpmath
import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys.random.bits.philox import philox
from phintys.random.exact import functions as ef
from phintys.random.exact.expressions import in_exact_steps
from phintys.random.exact.steps import Rejection, bits_float, float_bits, random_word
from phintys.random.exact.uniform import open_uniform

RNG = np.random.default_rng(14)


def _points(low, high):
    return np.concatenate([RNG.uniform(low, high, 300), RNG.uniform(-1, 1, 100)])


def _tails(dtype):
    exponents = RNG.uniform(np.log(np.finfo(dtype).tiny), 0, 200)
    return np.concatenate([np.exp(exponents), RNG.uniform(0, 1, 200), [0.5, 0.25, 0.75]])


def _exact_ndtri(p):
    """Solve ``ndtr(z) = p`` in the lower half by Newton's method on logarithms."""
    if p > 0.5:
        return -_exact_ndtri(1 - p)
    z = mpmath.mpf(-mpmath.sqrt(-2 * mpmath.log(p)) if p < 0.01 else 0)
    for _ in range(100):
        cdf = mpmath.ncdf(z)
        step = (mpmath.log(cdf) - mpmath.log(p)) * cdf / mpmath.npdf(z)
        z -= step
        if abs(step) < mpmath.mpf(10) ** -25:
            break
    return z


FUNCTIONS = {
    "exact_arcsin": (mpmath.asin, lambda dtype: _points(-1, 1), 2.0),
    "exact_log": (mpmath.log, lambda dtype: np.abs(_tails(dtype)) * 3, 1.0),
    "exact_exp": (mpmath.exp, lambda dtype: _points(-80, 80), 1.0),
    "exact_sin_pi": (mpmath.sinpi, lambda dtype: _points(-9, 9), 2.0),
    "exact_cos_pi": (mpmath.cospi, lambda dtype: _points(-9, 9), 2.0),
    "exact_ndtri": (_exact_ndtri, _tails, 4.0),
    "exact_log1p": (mpmath.log1p, lambda dtype: _tails(dtype) - 0.5, 4.0),
    "exact_expm1": (mpmath.expm1, lambda dtype: _points(-90, 60), 4.0),
    "exact_erfinv": (mpmath.erfinv, lambda dtype: _points(-0.99, 0.99), 4.0),
}
SPECIAL = [0.0, -0.0, 1.0, 0.5, -1.0, 2.0, np.inf, -np.inf, np.nan, 1e-310, 720.0, -745.0, 1e30]


def _bits(x):
    """Return the bits of numbers; all NaN are one."""
    return np.where(np.isnan(x), np.nan, x).view(f"u{x.dtype.itemsize}")


@pytest.fixture(scope="module", params=["float64", "float32"])
def computed(request):
    """Return the dtype, arguments and results of native code and the reference, by function."""
    dtype = request.param
    with np.errstate(all="ignore"):
        points = {
            name: np.concatenate([make(dtype), SPECIAL]).astype(dtype)
            for name, (_, make, _) in FUNCTIONS.items()
        }
    integer = np.dtype(dtype).str.replace("f", "u")
    edges = [0, 1, 2**31, 2**32 - 1]
    bits = RNG.integers(0, np.iinfo(integer).max, 1003, dtype=integer)
    bits[: len(edges)] = edges
    bits[-1] = np.iinfo(integer).max
    points["exact_normal"] = points["exact_exponential"] = bits
    inputs = [pt.vector(dtype=x.dtype.name) for x in points.values()]
    outputs = [getattr(ef, name)(x) for name, x in zip(points, inputs, strict=True)]
    made = [phintys.function(inputs, outputs, mode=mode) for mode in (None, "FAST_COMPILE")]
    results = [function(*points.values()) for function in made]
    return dtype, {
        name: each for name, *each in zip(points, points.values(), *results, strict=True)
    }


def test_native_code_and_the_reference_give_the_same_bits(computed):
    for name, (_, native, reference) in computed[1].items():
        np.testing.assert_array_equal(_bits(native), _bits(reference), err_msg=name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_of_a_rounding_or_two(computed, name):
    dtype, results = computed
    exact, _, bound = FUNCTIONS[name]
    x, native, _ = results[name]
    with mpmath.workdps(40):
        for argument, value in zip(x[: -len(SPECIAL) : 7], native[::7], strict=False):
            wanted = exact(mpmath.mpf(float(argument)))
            unit = np.spacing(max(abs(value), np.finfo(dtype).tiny))
            # sin(pi x) near a zero is as precise as the distance to it.
            assert abs(float((mpmath.mpf(float(value)) - wanted) / unit)) <= bound, argument


def test_special_values(computed):
    dtype, results = computed
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL, dtype)
        expected = {"exact_log": np.log(x), "exact_exp": np.exp(x)}
        for name, wanted in expected.items():
            np.testing.assert_allclose(results[name][1][-len(SPECIAL) :], wanted, rtol=1e-6)
    ends = results["exact_ndtri"][1][-len(SPECIAL) :]
    np.testing.assert_array_equal(ends[:3], [-np.inf, -np.inf, np.inf])
    assert np.isnan(ends[[4, 5, 6, 7, 8]]).all()
    _, normal, _ = results["exact_normal"]
    assert normal[0] > 6
    assert normal[0] == -normal[2] or dtype == "float64"
    assert (results["exact_exponential"][1] >= 0).all()


def test_derivatives():
    x = pt.dvector("x")
    pairs = [
        (ef.exact_log, pt.log),
        (ef.exact_exp, pt.exp),
        (ef.exact_sin_pi, lambda x: pt.sin(np.pi * x)),
        (ef.exact_cos_pi, lambda x: pt.cos(np.pi * x)),
        (ef.exact_ndtri, pt.special.ndtri),
        (ef.exact_log1p, pt.log1p),
        (ef.exact_expm1, pt.expm1),
        (lambda x: ef.exact_power(x, 1.5 + x), lambda x: x ** (1.5 + x)),
        (ef.exact_erfinv, pt.special.erfinv),
        (ef.exact_erfcinv, pt.special.erfcinv),
    ]
    of = phintys.function([x], [phintys.grad(f(x).sum(), x) for pair in pairs for f in pair])
    results = of(np.array([0.1, 0.5, 0.85]))
    for exact, usual in zip(results[::2], results[1::2], strict=True):
        np.testing.assert_allclose(exact, usual, rtol=1e-12)


def test_functions_in_exact_steps_have_the_usual_values():
    q, a = pt.dvector("q"), pt.dvector("a")
    usual = [
        q**a,
        pt.special.logit(q) + pt.special.erfcinv(q) + pt.special.ndtri(q),
        pt.tan(np.pi * q) + pt.sin(q) * pt.cos(a) + pt.sigmoid(a) + pt.expm1(pt.log1p(q) - a),
    ]
    exact = [in_exact_steps(one, [q, a]) for one in usual]
    f = phintys.function([q, a], [*usual, *exact])
    results = f(np.array([1e-9, 0.2, 0.7, 1 - 1e-9]), np.array([0.0, 2.5, -3.0, 40.0]))
    for wanted, result in zip(results[:3], results[3:], strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-12)


def test_words_by_position():
    position = pt.vector("position", dtype="uint64")
    key, low, high = (np.uint64(k) for k in (5, 2**64 - 2, 7))
    words = phintys.function([position], random_word(position, key, low, high))
    at = np.array([0, 1, 3, 4, 6, 7, 2], "uint64")
    for place, word in zip(at, words(at), strict=True):
        counter = (int(low) + int(place) // 2) % 2**64
        block = philox([counter % 2**32, counter >> 32, 7, 0], [5, 0])
        first = 2 * (int(place) % 2)
        assert int(word) == int(block[first]) + (int(block[first + 1]) << 32)


def test_bits_of_floats():
    for dtype in ("float32", "float64"):
        x = pt.vector("x", dtype=dtype)
        bits = float_bits(x)
        values = np.array([1.5, -0.0, np.inf, np.nan], dtype)
        f = phintys.function([x], [bits, bits_float(bits)])
        integers, again = f(values)
        np.testing.assert_array_equal(integers, values.view(integers.dtype))
        np.testing.assert_array_equal(again, values)


def _attempt(first, second, limit):
    value = -ef.exact_log(open_uniform(first, "float64"))
    return value, ps.logical_not(ps.gt(value, limit))


exponential_below = Rejection(
    "exponential_below", nin=2, prepare=lambda limit: (limit,), attempt=_attempt
)


def test_rejection():
    bits, limit = pt.vector("bits", dtype="uint64"), pt.dvector("limit")
    draws = exponential_below(bits, limit)
    native = phintys.function([bits, limit], draws)
    reference = phintys.function([bits, limit], draws, mode="FAST_COMPILE")
    some = RNG.integers(0, 2**63, 1003).astype("uint64")
    limits = RNG.uniform(0.05, 1, 1003)
    limits[3] = np.nan
    accepted = native(some, limits)
    np.testing.assert_array_equal(accepted, reference(some, limits))
    assert (accepted[4:] <= limits[4:]).all()
    # What is never accepted ends too.
    np.testing.assert_array_equal(native(some[:3], -limits[:3]), reference(some[:3], -limits[:3]))
    with pytest.raises(TypeError, match="uint64"):
        exponential_below(pt.lvector("bits"), limit)


def test_pickles():
    for op in (ef.exact_log, ef.normal_quantile, random_word, float_bits, exponential_below):
        assert pickle.loads(pickle.dumps(op)) is op
