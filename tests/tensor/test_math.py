"""Functions on tensors that are more than one scalar op, and the names of those that are one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import DtypeError, OpContractError, TypeContractError
from phintys.tensor import math
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.type import DTYPES

X = np.array([0.5, 1.5, -2.5, 0.25, 12.345])

ALIASES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "absolute": "abs",
    "bitwise_and": "and_",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert",
    "bitwise_or": "or_",
    "bitwise_right_shift": "right_shift",
    "bitwise_xor": "xor",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "divide": "true_div",
    "equal": "eq",
    "fill": "second",
    "fix": "trunc",
    "floor_div": "int_div",
    "floor_divide": "int_div",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "ne": "neq",
    "negative": "neg",
    "not_equal": "neq",
    "positive": "pos",
    "power": "pow",
    "psi": "digamma",
    "radians": "deg2rad",
    "remainder": "mod",
    "square": "sqr",
    "subtract": "sub",
    "true_divide": "true_div",
}


def test_aliases():
    for alias, name in ALIASES.items():
        assert getattr(math, alias) is getattr(math, name)


def test_each_name_is_the_scalar_op_of_that_name():
    for name in math.__all__:
        thing = getattr(math, name)
        if isinstance(thing, Elemwise) and name not in ALIASES and name != "tensor_copy":
            row = ps.SCALAR_OPS["ne" if name == "neq" else name]
            assert thing.scalar_op is row
    covered = {
        getattr(math, name).scalar_op
        for name in math.__all__
        if isinstance(getattr(math, name), Elemwise)
    }
    casts = set(ps.CASTS.values())
    # whose functions take more than operands
    assert set(ps.SCALAR_OPS.values()) - covered - casts == {ps.angle, ps.clip, ps.logaddexp}


# ---- cast ----------------------------------------------------------------------------------------


@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_cast(source, target):
    x = pt.tensor("x", shape=(None,), dtype=source)
    if source == target:
        assert pt.cast(x, target) is x
        assert pt.cast(x, np.dtype(target)) is x
    elif source.startswith("complex") and not target.startswith(("complex", "bool")):
        with pytest.raises(DtypeError):
            pt.cast(x, target)
    else:
        assert pt.cast(x, target).dtype == target


def test_cast_to_floatx():
    x = pt.dvector("x")
    with phintys.config.change_flags(floatX="float32"):
        assert pt.cast(x, "floatX").dtype == "float32"
    with pytest.raises(TypeContractError, match="Tensors do not take the dtype"):
        pt.cast(x, "text")


def test_cast_of_values():
    assert pt.cast([1.5, 2.5], "int8").dtype == "int8"
    assert pt.cast(3, "float32").dtype == "float32"


# ---- round ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("decimals", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8", "bool"])
def test_round(decimals, dtype, evaluate):
    value = np.abs(X * 10).astype(dtype)
    x = pt.tensor("x", shape=(None,), dtype=dtype)
    result = evaluate(pt.round(x, decimals), {x: value})
    expected = np.round(value.astype("float64"), decimals)
    assert result.dtype == (dtype if dtype != "bool" else "float16")  # as NumPy's
    np.testing.assert_allclose(result.astype("float64"), expected.astype(result.dtype), rtol=2e-3)


def test_round_away_from_zero(evaluate):
    x = pt.dvector("x")
    found = evaluate(pt.round(x, mode="half_away_from_zero"), {x: X})
    np.testing.assert_array_equal(found, [1, 2, -3, 0, 12])
    with pytest.raises(OpContractError, match="mode is one of half_to_even, half_away_from_zero"):
        pt.round(x, mode="up")


def test_round_of_integers_is_the_variable_itself():
    i = pt.lvector("i")
    assert pt.round(i) is i
    assert pt.round(i, 2) is i


# ---- the rest ------------------------------------------------------------------------------------


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose(equal_nan, evaluate):
    a = np.array([1.0, 1.0, np.nan, np.nan, np.inf, np.inf, -np.inf, 0.0, 1e-9])
    b = np.array([1.0 + 1e-9, 1.1, np.nan, 1.0, np.inf, -np.inf, 1.0, 1e-9, 0.0])
    x, y = pt.dvectors("x", "y")
    found = evaluate(pt.isclose(x, y, equal_nan=equal_nan), {x: a, y: b})
    np.testing.assert_array_equal(found, np.isclose(a, b, equal_nan=equal_nan))


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int64", "float32"])
def test_isclose_of_other_dtypes(dtype, evaluate):
    a, b = np.array([0, 1, 1], dtype), np.array([1, 1, 0], dtype)
    x, y = (pt.tensor(shape=(None,), dtype=dtype) for _ in range(2))
    np.testing.assert_array_equal(evaluate(pt.isclose(x, y), {x: a, y: b}), [False, True, False])


def test_ceil_intdiv(evaluate):
    x, y = pt.lvectors("x", "y")
    a, b = np.array([7, -7, 7, -7, 6]), np.array([2, 2, -2, -2, 3])
    found = evaluate(pt.ceil_intdiv(x, y), {x: a, y: b})
    np.testing.assert_array_equal(found, np.ceil(a / b))
    assert found.dtype == "int64"
