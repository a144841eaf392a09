"""Running sums, running products and linear recurrences, bit by bit as in the reference backend."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.testing.strategies import arrays
from tests.budget import budget

DTYPES = ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex128")
TARGETS = st.sampled_from(["host", "x86-64-v2"])
FEW = budget(30)


@st.composite
def with_axis(draw, count=1):
    dtype = draw(st.sampled_from(DTYPES))
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 17]), min_size=1, max_size=3)))
    values = [draw(arrays((dtype,), shape, special=False)) for _ in range(count)]
    return values, draw(st.integers(0, len(shape) - 1))


def like(value):
    return pt.tensor(dtype=value.dtype, shape=(None,) * value.ndim)


@FEW
@given(with_axis(), st.sampled_from(["add", "mul"]), st.booleans(), st.booleans(), TARGETS)
def test_running(compare, drawn, mode, exclusive, reverse, target):
    (value,), axis = drawn
    x = like(value)
    op = pt.CumOp(axis, mode, exclusive=exclusive, reverse=reverse)
    compare([x], [op(x)], [value], exact=True, target=target)


@FEW
@given(with_axis(count=2), st.booleans(), TARGETS)
def test_recurrences(compare, drawn, reverse, target):
    values, axis = drawn
    inputs = [like(value) for value in values]
    op = pt.LinearRecurrence(axis, reverse=reverse)
    compare(inputs, [op(*inputs)], values, exact=True, target=target)


def test_producers_and_consumers(compare):
    x = pt.dmatrix("x")
    running = pt.cumsum(x * 2, axis=1)
    compare([x], [running[:, ::-1] + x, running.max(axis=1)], [np.arange(35.0).reshape(5, 7)])


@pytest.mark.parametrize("axis", [0, 1])
def test_several_in_one_graph(compare, axis):
    x = pt.dmatrix("x")
    outputs = [pt.cumsum(x, axis), pt.cumprod(x, axis), pt.cumsum(pt.cumsum(x, axis), 1 - axis)]
    compare([x], outputs, [np.linspace(0.5, 1.5, 35).reshape(5, 7)], exact=True)


def test_not_a_number_stays(compare):
    x = pt.dvector("x")
    value = np.array([1.0, np.inf, -np.inf, 2.0, -0.0])
    compare([x], [pt.cumsum(x), pt.cumprod(x), pt.cumsum(x[4:])], [value], exact=True)


@FEW
@given(with_axis(), st.sampled_from(["max", "min"]), TARGETS)
def test_running_extremes_and_their_places(compare, drawn, mode, target):
    (value,), axis = drawn
    if value.dtype.kind == "c":
        value = value.real.copy()
    if value.dtype.kind == "f":
        value.reshape(-1)[1::4] = np.nan
    x = like(value)
    ops = pt.RunningExtreme(axis, mode), pt.RunningArgExtreme(axis, mode)
    compare([x], [op(way) for op in ops for way in (x, x[::-1])], [value], target=target)
