"""Elementwise functions of the array API: dtypes of results, and values at special numbers."""

import numpy as np
import pytest

import phintys
from phintys.testing import eager

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
KINDS = {
    "numeric": [*INTEGERS, *FLOATS, *COMPLEX],
    "real": [*INTEGERS, *FLOATS],
    "floating": [*FLOATS, *COMPLEX],
    "real floating": FLOATS,
    "complex": COMPLEX,
    "integer or boolean": [*INTEGERS, "bool"],
    "integer": INTEGERS,
    "boolean": ["bool"],
    "all": [*INTEGERS, *FLOATS, *COMPLEX, "bool"],
}

OF_ONE = {
    "numeric": "abs negative positive square sign isfinite isinf isnan conj real round",
    "real": "ceil floor trunc",
    "floating": """
        acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin
        sinh sqrt tan tanh
        """,
    "real floating": "signbit",
    "complex": "imag",
    "integer or boolean": "bitwise_invert",
    "boolean": "logical_not",
}
OF_TWO = {
    "numeric": "add multiply subtract pow",
    "floating": "divide",
    "real": "floor_divide greater greater_equal less less_equal maximum minimum remainder",
    "real floating": "atan2 copysign hypot logaddexp nextafter",
    "all": "equal not_equal",
    "integer or boolean": "bitwise_and bitwise_or bitwise_xor",
    "integer": "bitwise_left_shift bitwise_right_shift",
    "boolean": "logical_and logical_or logical_xor",
}
"""Kinds of dtypes -> the functions that the standard defines for them."""

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.0, 3.0, 1e30, -1e30, np.inf, -np.inf, np.nan]
FINITE = [complex(re, im) for re in (0.0, -0.0, 1.0, -2.5) for im in (0.0, -0.0, 1.5, -2.0)]

ZERO_OF_EITHER_SIGN = {"maximum", "minimum"}
"""Functions for which the standard does not say which of 0 and -0 is larger."""


def _numbers(dtype):
    """Return numbers of a dtype at which functions are special, or change."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        small = [0, 1, 5, 100] + [-1, -7] * (dtype.kind == "i")
        return np.array([*small, limits.max, limits.min], dtype)
    return np.array({"b": [True, False], "f": SPECIAL, "c": FINITE}[dtype.kind], dtype)


def _pairs(name, dtype):
    """Return all pairs of numbers of a dtype that a function takes."""
    x, y = (one.ravel() for one in np.meshgrid(*[_numbers(dtype)] * 2))
    if name == "pow" and dtype in INTEGERS:
        y = np.abs(y.astype("int64") % 9).astype(dtype)
    if name.endswith("shift"):
        y = np.abs(y.astype("int64") % 8).astype(dtype)
    if dtype in COMPLEX and name in {"pow", "divide"}:  # NumPy's own values at 0 vary
        x, y = x[(y != 0) & (x != 0)], y[(y != 0) & (x != 0)]
    return x, y


def _parts(array):
    return (array.real, array.imag) if array.dtype.kind == "c" else (array,)


def _assert_same(name, found, wanted):
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind not in "fc":
        assert np.array_equal(found, wanted)
        return
    tolerance = 64 * np.finfo(wanted.dtype).eps
    assert np.isclose(found, wanted, rtol=tolerance, atol=0.0, equal_nan=True).all()
    if name not in ZERO_OF_EITHER_SIGN:
        for one, other in zip(_parts(found), _parts(wanted), strict=True):
            zero = other == 0
            assert np.array_equal(np.signbit(one[zero]), np.signbit(other[zero]))


def _cases(functions):
    return [
        (name, dtype)
        for kind, names in functions.items()
        for name in names.split()
        for dtype in KINDS[kind]
    ]


def _check(name, arrays, mode):
    with np.errstate(all="ignore"):
        wanted = np.asarray(getattr(np, name)(*arrays))
        with phintys.config.change_flags(mode=mode):
            found = getattr(eager, name)(*map(eager.Array, arrays)).value
        _assert_same(name, found, wanted)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "dtype"), _cases(OF_ONE))
def test_a_function_of_one_array(name, dtype, mode):
    _check(name, [_numbers(dtype)], mode)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "dtype"), _cases(OF_TWO))
def test_a_function_of_two_arrays(name, dtype, mode):
    _check(name, _pairs(name, dtype), mode)


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "sinh", "cosh", "tanh"])
def test_native_code_keeps_the_sign_of_a_complex_zero(name):
    _check(name, [np.array(FINITE)], "native")


def test_native_code_at_infinity_has_zeros_with_a_sign():
    with phintys.config.change_flags(mode="native"):
        found = eager.tanh(eager.Array(np.array([complex(np.inf, -0.0), complex(np.nan, 0.0)])))
    assert np.signbit(found.value.imag).tolist() == [True, False]
    assert found.value.imag.tolist() == [0.0, 0.0]
