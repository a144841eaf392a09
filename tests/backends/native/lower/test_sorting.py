"""Sorting by own code, and the choice between it and NumPy."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.limits import SHORT_SORTED_ROW, SORTED_BY_INSERTION
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.callback import Callback
from phintys.graph.fgraph import FunctionGraph
from phintys.tensor.sorting import RowOrder
from phintys.tensor.type import DTYPES

SHAPES = [(0, 3), (3, 0), (1, 1), (2, 1), (1, 2), (3, 7), (SORTED_BY_INSERTION + 1, 2), (2, 255)]


def numbers(rng, dtype, shape):
    """Return numbers of all bits and some equal ones, with NaN and zeros of both signs."""
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        bits = rng.integers(0, 256, (*shape, dtype.itemsize), dtype=np.uint8)
        found = np.ascontiguousarray(bits & 1 if dtype.kind == "b" else bits).view(dtype)[..., 0]
        return np.where(rng.random(shape) < 0.3, dtype.type(1), found)
    part = dtype.type(0).real.dtype
    specials = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0]).astype(part)
    parts = []
    for _ in range(2 if dtype.kind == "c" else 1):
        values = (rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 4, shape)).astype(part)
        parts.append(np.where(rng.random(shape) < 0.4, rng.choice(specials, shape), values))
    return np.stack(parts, axis=-1).view(dtype)[..., 0]


def bits(array):
    return array.shape, array.dtype, array.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_and_indices_are_those_of_stable_sorting(dtype):
    """Rows are contiguous, or columns of an array in reverse order."""
    x = pt.tensor(dtype=dtype, shape=(None, None))
    outputs = [pt.sort(x), pt.sort(x[::-1], axis=0), pt.argsort(x), pt.argsort(x[::-1], axis=0)]
    f = phintys.function([x], outputs, mode="native")
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        value = numbers(rng, dtype, shape)
        turned = value[::-1]
        expected = [
            np.sort(value, kind="stable"),
            np.sort(turned, axis=0, kind="stable"),
            np.argsort(value, kind="stable"),
            np.argsort(turned, axis=0, kind="stable"),
        ]
        for found, wanted in zip(f(value), expected, strict=True):
            assert bits(found) == bits(np.ascontiguousarray(wanted))


@pytest.mark.parametrize("n", [SHORT_SORTED_ROW - 1, SHORT_SORTED_ROW, 1000])
def test_long_rows_are_sorted_by_numpy(n):
    """There are rows of both lengths for one function, and another one for each known length."""
    value = np.random.default_rng(2).permutation(n).astype(float)
    for shape in [(None,), (n,)]:
        x = pt.tensor(dtype="float64", shape=shape)
        np.testing.assert_array_equal(phintys.function([x], pt.sort(x))(value), np.arange(n))
        program = lower_program(FunctionGraph([x], [pt.sort(x)]))
        has_callback = any(isinstance(step, Callback) for step in walk_steps(program.steps))
        assert has_callback == (shape == (None,) or n >= SHORT_SORTED_ROW)


def test_nothing_is_left_to_python_in_exported_programs():
    m = pt.dmatrix("m")
    outputs = [pt.sort(m), pt.argsort(m, axis=0), RowOrder()(m), *pt.unique(m, *[True] * 3)]
    program = lower_program(FunctionGraph([m], outputs), is_exported=True)
    assert not any(isinstance(step, Callback) for step in walk_steps(program.steps))


def test_equal_numbers_keep_their_order_in_all_modes():
    """By default as well, though NumPy promises that for kind="stable" only."""
    x = pt.lvector("x")
    value = np.random.default_rng(3).integers(0, 3, 1000)
    for mode in ("native", "reference"):
        found = phintys.function([x], pt.argsort(x), mode=mode)(value)
        np.testing.assert_array_equal(found, np.argsort(value, kind="stable"))
