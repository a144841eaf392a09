"""The outlined product of matrices, against NumPy."""

import ctypes
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys import config
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import FLOAT32, FLOAT64, type_of
from phintys.backends.native.routines.library import library
from phintys.backends.native.routines.outlined_products import (
    ALL,
    has_tiles,
    most_in_tiles,
    product_symbol,
    work_of,
)
from phintys.backends.native.runtime.engine import load
from tests.budget import budget

TOLERANCE = {"float32": 1e-3, "float64": 1e-11}
C_NUMBER = {"float32": ctypes.c_float, "float64": ctypes.c_double}
TARGETS = [
    name
    for name in ("host", "x86-64-v4", "x86-64-v3", "x86-64-v2")
    if Target.named(name).triple == Target.host().triple
    and Target.named(name).vector_bytes <= Target.host().vector_bytes
]


@cache
def product(target_name, dtype):
    target = Target.named(target_name)
    symbol = product_symbol(target, type_of(dtype))
    code = load(library(target, [symbol]))
    word, pointer, number = ctypes.c_int64, ctypes.c_void_p, C_NUMBER[dtype]
    matrix = [pointer, word, word]
    types = [*[word] * 4, *matrix, *matrix, pointer, word, number, word]
    function = ctypes.CFUNCTYPE(None, *types)(code.address(symbol))
    function.code = code
    return function


def laid_out(values, transposed, gap):
    """The same matrix in memory with rows (or columns) apart, and its two strides."""
    shown = values.T if transposed else values
    room = np.full((shown.shape[0], shown.shape[1] + gap), np.nan, values.dtype)
    room[:, : shown.shape[1]] = shown
    stride = room.shape[1]
    return room, ((1, stride) if transposed else (stride, 1))


lengths = st.one_of(st.integers(0, 9), st.integers(10, 40))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("target", TARGETS)
@budget(60)
@given(data=st.data())
def test_product(target, dtype, data):
    m, n, k = (data.draw(lengths, label) for label in "mnk")
    rng = np.random.default_rng(m * 1681 + n * 41 + k)
    a, b = (np.asarray(rng.normal(size=shape), dtype) for shape in ((m, k), (k, n)))
    a_room, a_strides = laid_out(a, data.draw(st.booleans()), data.draw(st.integers(0, 3)))
    b_room, b_strides = laid_out(b, data.draw(st.booleans()), data.draw(st.integers(0, 3)))
    alpha = data.draw(st.sampled_from([1.0, -0.5]))
    adds = data.draw(st.sampled_from([0, 1]))
    before = np.asarray(rng.normal(size=(m, n)), dtype)
    gap = data.draw(st.integers(0, 3))
    most = data.draw(st.sampled_from([0, 512, ALL]))
    c = np.full((m, n + gap), np.nan, dtype)
    if adds:
        c[:, :n] = before
    first, second = (a_room.ctypes.data, *a_strides), (b_room.ctypes.data, *b_strides)
    product(target, dtype)(most, m, n, k, *first, *second, c.ctypes.data, n + gap, alpha, adds)
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(
        c[:, :n], alpha * (a @ b) + adds * before, rtol=tolerance, atol=tolerance
    )
    assert np.isnan(c[:, n:]).all()


V3, V4 = Target.named("x86-64-v3"), Target.named("x86-64-v4")


@pytest.mark.parametrize("repeated", [False, True])
def test_few_multiplications_are_done_in_tiles_and_many_are_not(repeated):
    def most(target, type_, lengths):
        return most_in_tiles(target, type_, lengths, is_repeated=repeated)

    assert most(V4, FLOAT64, (8, 8, 8)) == most(V3, FLOAT32, (8, 8, 8)) == ALL
    assert most(V4, FLOAT32, (8, 16, 8)) == most(V3, FLOAT64, (4, 16, 4)) == ALL
    assert most(V4, FLOAT64, (9, 8, 8)) == most(V4, FLOAT64, (8, 9, 8)) == 0
    assert most(V3, FLOAT64, (8, 8, 8)) == 0
    assert most(V4, FLOAT64, (1, 1, 5000)) == 0


def test_long_axes_and_second_matrices_that_are_not_small_are_left_to_blas():
    with config.change_flags(product_crossover=10_000):
        assert most_in_tiles(V4, FLOAT64, (2, 16, 64), is_repeated=False) == ALL
        assert most_in_tiles(V4, FLOAT64, (2, 64, 64), is_repeated=False) == 0
        assert most_in_tiles(V4, FLOAT64, (33, 40, 33), is_repeated=False) == 0
        assert most_in_tiles(V4, FLOAT64, (1, 1, 5000), is_repeated=False) == 0


def test_sizes_that_are_not_known_are_looked_at_only_in_stacks():
    assert most_in_tiles(V3, FLOAT64, (None, 3, 3), is_repeated=False) == 0
    assert most_in_tiles(V3, FLOAT64, (None, 3, 3), is_repeated=True) == 256


def test_the_crossover_can_be_set():
    with config.change_flags(product_crossover=1000):
        assert most_in_tiles(V3, FLOAT64, (13, 13, 13), is_repeated=False) == ALL
        assert most_in_tiles(V3, FLOAT64, (None, 3, 3), is_repeated=True) == 4000
    with config.change_flags(product_crossover=0):
        assert most_in_tiles(V3, FLOAT64, (2, 2, 2), is_repeated=False) == 0


def test_work_includes_lanes_that_are_not_there():
    assert work_of((3, 5, 7), 4) == 3 * 8 * 7


@pytest.mark.parametrize("target", ["x86-64-v2", "aarch64"])
def test_targets_without_masks_leave_all_to_blas(target):
    assert not has_tiles(Target.named(target), FLOAT64)
    assert most_in_tiles(Target.named(target), FLOAT64, (2, 2, 2), is_repeated=True) == 0


def test_aarch64_is_written():
    target = Target.named("aarch64")
    text = str(library(target, [product_symbol(target, type_of("float64"))]))
    assert "phintys_blas_dgemm" in text
    assert "masked" not in text


@pytest.mark.skipif(not has_tiles(Target.host(), FLOAT64), reason="no tiles on this CPU")
def test_explain_names_products_in_tiles():
    def square(size):
        x, y = (pt.tensor(name, dtype="float64", shape=(size, size)) for name in "xy")
        return phintys.function([x, y], x @ y, mode="native")

    assert ", in tiles" in square(3).explain()
    assert "in tiles" not in square(20).explain()
    x = pt.dtensor3("x")
    stack = phintys.function([x], x @ x, mode="native")
    most = 64 * Target.host().lanes(FLOAT64)
    assert f" times, in tiles up to {most} multiplications" in stack.explain()
    x = pt.dmatrix("x")
    assert "in tiles" not in phintys.function([x], x @ x, mode="native").explain()
