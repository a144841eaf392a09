"""Draws of NumPy's generators by NumPy's C functions: what is native, and what is refused."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import MethodNotDefinedError
from phintys.backends.native.routines import numpy_functions
from phintys.backends.native.routines.numpy_draws import BOUNDED, DRAWS
from phintys.random.generators.numpy_draws import NUMPY_METHODS

PARAMETERS = {
    ("binomial", 0): 30,
    ("geometric", 0): 0.25,
    ("logseries", 0): 0.25,
    ("zipf", 0): 2.5,
    ("binomial", 1): 0.25,
}


def drawn(f, seed=7):
    """Return what a function draws, and the generator after that."""
    after, draw = f(np.random.default_rng(seed))
    return draw, after.bit_generator.state


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("method", "dtype"), DRAWS)
@pytest.mark.parametrize("size", [None, (0,), (2, 3)])
def test_functions_of_numpy(method, dtype, size):
    given = [
        PARAMETERS.get((method, at), 1.5 + at) for at in range(len(DRAWS[method, dtype].refusals))
    ]
    r = random.random_generator_type("r")
    after, draw = getattr(r, method)(*given, size=size, dtype=dtype)
    f = phintys.function([r], [after, draw])
    assert f.explain().splitlines()[0].endswith("1 call, 1 callback")
    assert "because NumPy's generators are objects of Python" in f.explain()
    generator = np.random.default_rng(7)
    options = {"dtype": dtype} if NUMPY_METHODS[method].takes_dtype else {}
    expected = getattr(generator, method)(*given, size=size, **options)
    found, state = drawn(f)
    np.testing.assert_array_equal(found, np.asarray(expected, dtype), strict=True)
    assert state == generator.bit_generator.state


@pytest.mark.parametrize("dtype", BOUNDED)
@pytest.mark.parametrize("ends", [(-5, 20), (3, 4), (-(2**31), 2**31), (0, 2**31 - 1)])
@pytest.mark.parametrize("size", [None, (0,), (7,)])
def test_integers(dtype, ends, size):
    r = random.random_generator_type("r")
    low, high = pt.lscalars("low", "high")
    after, draw = r.integers(low, high, size=size, dtype=dtype)
    f = phintys.function([r, low, high], [after, draw])
    assert "call integers of NumPy" in f.explain()
    generator = np.random.default_rng(7)
    expected = generator.integers(*ends, size=size, dtype=dtype)
    found, state = drawn(lambda g: f(g, *ends))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == dtype
    assert state == generator.bit_generator.state


def test_wide_integers():
    r = random.random_generator_type("r")
    after, draw = r.integers(-(2**63), 2**63 - 1, size=9)
    found, _ = drawn(phintys.function([r], [after, draw]))
    expected = np.random.default_rng(7).integers(-(2**63), 2**63 - 1, size=9)
    np.testing.assert_array_equal(found, expected)


def test_parameters_broadcast():
    r = random.random_generator_type("r")
    loc, scale = pt.matrix("loc", shape=(None, 1)), pt.fvector("scale")
    after, draw = r.normal(loc, scale[None, :], size=(loc.shape[0], scale.shape[0]))
    f = phintys.function([r, loc, scale], [after, draw])
    assert "call draw of NumPy" in f.explain()
    values = np.array([[1.0], [2.0]]), np.array([0.5, 1.0, 2.0], "float32")
    found, _ = drawn(lambda g: f(g, *values))
    np.testing.assert_array_equal(found, np.random.default_rng(7).normal(*values, (2, 3)))


def test_draws_that_are_not_used_move_the_generator_on():
    r = random.random_generator_type("r")
    after, _ = r.normal(size=3)
    after, _ = after.integers(9, size=5)
    _, draw = after.normal(size=2)
    generator = np.random.default_rng(7)
    generator.normal(size=3)
    generator.integers(9, size=5)
    found = phintys.function([r], draw)(np.random.default_rng(7))
    np.testing.assert_array_equal(found, generator.normal(size=2))


def test_draws_from_one_state_are_the_same_numbers():
    r = random.random_generator_type("r")
    (_, one), (_, same) = r.normal(size=3), r.standard_normal(size=3)
    first, second = phintys.function([r], [one, same])(np.random.default_rng(7))
    np.testing.assert_array_equal(first, second)


def test_draws_of_branches():
    r, flag = random.random_generator_type("r"), pt.bscalar("flag")
    (a, one), (b, other) = r.normal(size=2), r.exponential(size=2)
    after, draw = phintys.ifelse(flag, [a, one], [b, other])
    f = phintys.function([r, flag], [after, draw])
    for chosen, method in ((1, "normal"), (0, "exponential")):
        generator = np.random.default_rng(7)
        expected = getattr(generator, method)(size=2)
        found, state = drawn(lambda g, chosen=chosen: f(g, chosen))
        np.testing.assert_array_equal(found, expected)
        assert state == generator.bit_generator.state


REFUSED = {
    "binomial": [(-1, 0.5), (3, 1.5), (3, np.nan)],
    "beta": [(0.0, 1.0), (1.0, -1.0)],
    "exponential": [(-1.0,), (-0.0,)],
    "geometric": [(0.0,), (1.5,)],
    "logseries": [(1.0,), (-0.5,)],
    "normal": [(0.0, -1.0), (0.0, -0.0)],
    "poisson": [(-1.0,), (1e19,), (np.nan,)],
    "standard_t": [(0.0,)],
    "uniform": [(1.0, 0.0), (0.0, np.inf)],
    "zipf": [(1.0,), (np.nan,)],
}


@pytest.mark.parametrize(
    ("method", "given"), [(name, given) for name, cases in REFUSED.items() for given in cases]
)
def test_what_numpy_refuses(method, given):
    with pytest.raises((ValueError, OverflowError)) as expected:
        getattr(np.random.default_rng(7), method)(*given)
    r = random.random_generator_type("r")
    parameters = [pt.scalar(dtype=np.asarray(one).dtype) for one in given]
    _, draw = getattr(r, method)(*parameters)
    f = phintys.function([r, *parameters], draw)
    assert "call draw of NumPy" in f.explain()
    with pytest.raises(type(expected.value)) as found:
        f(np.random.default_rng(7), *given)
    assert str(found.value).startswith(str(expected.value))


def test_one_of_many_parameters_is_refused():
    r, scale = random.random_generator_type("r"), pt.dvector("scale")
    f = phintys.function([r, scale], r.normal(0.0, scale, size=scale.shape)[1])
    assert "call draw of NumPy" in f.explain()
    assert f(np.random.default_rng(7), [1.0, 2.0]).shape == (2,)
    with pytest.raises(ValueError, match="scale < 0"):
        f(np.random.default_rng(7), [1.0, -2.0])


def test_nan_passes_where_numpy_lets_it_pass():
    r, scale = random.random_generator_type("r"), pt.dscalar("scale")
    f = phintys.function([r, scale], r.normal(0.0, scale)[1])
    assert np.isnan(f(np.random.default_rng(7), -np.nan))


def test_integers_between_wrong_ends():
    r, low, high = random.random_generator_type("r"), *pt.lscalars("low", "high")
    for dtype, ends in (("int64", (3, 3)), ("int32", (0, 2**40)), ("int32", (-(2**40), 0))):
        f = phintys.function([r, low, high], r.integers(low, high, dtype=dtype)[1])
        with pytest.raises(ValueError, match=r"low|high"):
            f(np.random.default_rng(7), *ends)


CALLBACKS = {
    "dirichlet of float64 is not one function": lambda r: r.dirichlet([1.0, 2.0]),
    "normal of float32 is not one function": lambda r: r.normal(dtype="float32"),
    "integers of int8 are drawn several at once": lambda r: r.integers(9, dtype="int8"),
    "several ends of the integers": lambda r: r.integers([2, 3]),
    "may broadcast when the function runs": lambda r: r.normal(
        phintys.shared(np.zeros(1)), 1.0, size=3
    ),
}


@pytest.mark.parametrize("why", CALLBACKS)
def test_other_draws_are_callbacks(why):
    r = random.random_generator_type("r")
    f = phintys.function([r], CALLBACKS[why](r)[1])
    assert why in f.explain()
    f(np.random.default_rng(7))


def test_functions_that_numpy_lacks():
    symbol = numpy_functions.numpy_symbol("random_of_nobody")
    assert not numpy_functions.has_numpy_function(symbol)
    with pytest.raises(MethodNotDefinedError, match="does not export 'random_of_nobody'"):
        numpy_functions.numpy_function(symbol)
