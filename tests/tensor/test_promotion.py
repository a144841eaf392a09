"""Dtypes of results are NumPy's, for all combinations of dtypes and of scalars; so are refusals."""

import operator

import numpy as np
import pytest

import phintys.tensor as pt

DTYPES = """
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64
    complex128
    """
ARRAYS = {dtype: np.ones(2, dtype) for dtype in DTYPES.split()}
VECTORS = {dtype: pt.vector(dtype=dtype) for dtype in DTYPES.split()}

SCALARS = [
    *(True, 2, -1, 300, 2**40, 2.5, 1e300, 2j),
    *(np.int8(2), np.uint64(2), np.float32(2.5), np.complex64(2j)),
    *(np.array(2), np.array(2.5)),
]

FUNCTIONS = """
    add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin arctan2
    hypot copysign logaddexp nextafter equal not_equal less less_equal greater greater_equal
    bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_and logical_or logical_xor
    """
OPERATORS = """
    add sub mul truediv floordiv mod pow eq ne lt le gt ge and_ or_ xor lshift rshift
    """
UNARY = """
    abs negative positive sign square sqrt exp log sin tan arctan floor ceil trunc rint reciprocal
    conj real imag angle isnan isfinite isinf invert logical_not deg2rad expm1 log1p cosh round
    """
REDUCTIONS = """
    sum prod mean std var max min all any argmax argmin cumsum cumprod ptp nansum nanmean
    count_nonzero trapezoid sort argsort diff nanprod nanvar
    """


def _dtype(call):
    """Return the dtype of what a call returns, or that it is refused."""
    try:
        with np.errstate(all="ignore"):
            return str(getattr(call(), "dtype", "int64"))
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        return "refused"


def _differences(cases):
    """Return the cases in which the dtype is not NumPy's; a case is (name, ours, NumPy's)."""
    found = {name: (_dtype(ours), _dtype(numpys)) for name, ours, numpys in cases}
    return {name: pair for name, pair in found.items() if pair[0] != pair[1]}


def _of_arrays(ours, numpys):
    for one in DTYPES.split():
        for other in DTYPES.split():
            yield (
                (one, other),
                lambda a=one, b=other: ours(VECTORS[a], VECTORS[b]),
                lambda a=one, b=other: numpys(ARRAYS[a], ARRAYS[b]),
            )


def _with_scalars(ours, numpys):
    for dtype in DTYPES.split():
        for number in SCALARS:
            yield (
                (dtype, repr(number)),
                lambda a=dtype, b=number: ours(VECTORS[a], b),
                lambda a=dtype, b=number: numpys(ARRAYS[a], b),
            )
            yield (
                (repr(number), dtype),
                lambda a=dtype, b=number: ours(b, VECTORS[a]),
                lambda a=dtype, b=number: numpys(b, ARRAYS[a]),
            )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("cases", [_of_arrays, _with_scalars])
@pytest.mark.parametrize("name", FUNCTIONS.split())
def test_a_function_promotes_as_numpys(name, cases):
    assert not _differences(cases(getattr(pt, name), getattr(np, name)))


@pytest.mark.parametrize(
    "cases", [pytest.param(_of_arrays, marks=pytest.mark.stress), _with_scalars]
)
@pytest.mark.parametrize("name", OPERATORS.split())
def test_an_operator_promotes_as_numpys(name, cases):
    if name == "pow" and np.lib.NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("older NumPys square arrays for any exponent of 2, whatever its dtype")
    function = getattr(operator, name)
    assert not _differences(cases(function, function))


@pytest.mark.parametrize("name", [*UNARY.split(), *REDUCTIONS.split()])
def test_a_function_of_one_array_promotes_as_numpys(name):
    ours, numpys = getattr(pt, name), getattr(np, name)
    assert not _differences(
        (dtype, lambda a=dtype: ours(VECTORS[a]), lambda a=dtype: numpys(ARRAYS[a]))
        for dtype in DTYPES.split()
    )


def test_the_square_of_truths_is_numpys_with_the_operator_and_with_the_function():
    x = VECTORS["bool"]
    assert ((x**2).dtype, pt.power(x, 2).dtype) == ("int8", "int64")
    assert (x**2).eval({x: [True, False]}).tolist() == [1, 0]


def test_a_negative_power_of_integers_is_refused_at_once():
    with pytest.raises(ValueError, match=r"Write x \*\* -1\.0"):
        VECTORS["int64"] ** -1
    assert (VECTORS["int64"] ** -1.0).dtype == "float64"


def test_rounded_truths_are_float16():
    x = VECTORS["bool"]
    assert pt.round(x).eval({x: [True, False]}).tolist() == [1.0, 0.0]
