"""Ranges of numbers, with bounds that are known only at run time."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from tests.budget import budget

FEW = budget(40)
INTEGERS = ("int8", "int64", "uint8", "uint32")
FLOATS = ("float16", "float32", "float64")


def scalars(values):
    return [pt.tensor(dtype=value.dtype, shape=()) for value in values]


@FEW
@given(
    st.tuples(*[st.integers(-60, 120)] * 2, st.sampled_from([-40, -3, -1, 1, 2, 7, 50])),
    st.sampled_from(INTEGERS),
    st.sampled_from(["int64", "int8", "uint8", *FLOATS]),
)
def test_integers(compare, bounds, dtype, result):
    assume(np.dtype(dtype).kind == "i" or min(bounds) >= 0)
    try:
        np.arange(*bounds, dtype=result)
    except OverflowError:
        assume(False)
    values = [np.array(bound, dtype) for bound in bounds]
    start, stop, step = scalars(values)
    outputs = [pt.ARange(result)(start, stop, step), pt.ARange(result)(start, stop, bounds[2])]
    compare([start, stop, step], outputs, values, exact=True)


@FEW
@given(
    st.tuples(*[st.integers(-40, 40)] * 2, st.sampled_from([-8, -3, -1, 1, 2, 7])),
    st.tuples(*[st.sampled_from([*FLOATS, "int8"])] * 3),
    st.sampled_from(FLOATS),
)
def test_floats(compare, tenths, dtypes, result):
    assume(any(dtype.startswith("float") for dtype in dtypes))
    values = [np.array(n / 10).astype(dtype) for n, dtype in zip(tenths, dtypes, strict=True)]
    assume(values[2] != 0)
    inputs = scalars(values)
    compare(inputs, [pt.ARange(result)(*inputs)], values, exact=True)


TINY = [0.0, 5e-324, -5e-324, 1e10, -1e10]


STEPS = [1e10, 5e-324, -1e10, np.inf, 0.0]


@pytest.mark.parametrize("bounds", list(itertools.product(TINY, TINY, STEPS)))
def test_limits_of_floats(bounds):
    assert outcome("native", "float64", bounds) == outcome("reference", "float64", bounds)


MOST = 2**63 - 1


@pytest.mark.parametrize(
    "bounds",
    [
        (0, 1, 0),
        (200, 201, 1),
        (100, 200, 100),
        (-129, 5, 1),
        (0, -5, -MOST - 1),
        (0, 5, MOST),
        (0, MOST, 2**62),
        (5, 0, -MOST - 1),
    ],
)
def test_limits_of_integers(bounds):
    assert outcome("native", "int64", bounds) == outcome("reference", "int64", bounds)


_FUNCTIONS = {}


def outcome(mode, dtype, bounds):
    """What a range is: its numbers, or the error."""
    key = mode, dtype
    if key not in _FUNCTIONS:
        inputs = [pt.tensor(dtype=dtype, shape=()) for _ in bounds]
        result = "int8" if dtype == "int64" else dtype
        _FUNCTIONS[key] = phintys.function(inputs, pt.ARange(result)(*inputs), mode=mode)
    try:
        found = _FUNCTIONS[key](*[np.array(bound, dtype) for bound in bounds])
    except (ShapeError, OverflowError, ValueError) as error:
        return type(error)
    return found.dtype, found.tobytes()
