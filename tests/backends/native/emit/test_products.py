"""The outlined product of matrices, against NumPy."""

import ctypes
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phintys.backends.native.emit import Target
from phintys.backends.native.emit.library import library
from phintys.backends.native.emit.products import most_work, product_symbol
from phintys.backends.native.emit.types import type_of
from phintys.backends.native.runtime.engine import load

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
    types = [word, word, word, *matrix, *matrix, pointer, word, number, number]
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
@settings(max_examples=60)
@given(data=st.data())
def test_product(target, dtype, data):
    m, n, k = (data.draw(lengths, label) for label in "mnk")
    rng = np.random.default_rng(m * 1681 + n * 41 + k)
    a, b = (np.asarray(rng.normal(size=shape), dtype) for shape in ((m, k), (k, n)))
    a_room, a_strides = laid_out(a, data.draw(st.booleans()), data.draw(st.integers(0, 3)))
    b_room, b_strides = laid_out(b, data.draw(st.booleans()), data.draw(st.integers(0, 3)))
    alpha = data.draw(st.sampled_from([1.0, -0.5]))
    beta = data.draw(st.sampled_from([0.0, 1.0, 2.0]))
    before = np.asarray(rng.normal(size=(m, n)), dtype)
    gap = data.draw(st.integers(0, 3))
    c = np.full((m, n + gap), np.nan, dtype)
    if beta:
        c[:, :n] = before
    first, second = (a_room.ctypes.data, *a_strides), (b_room.ctypes.data, *b_strides)
    product(target, dtype)(m, n, k, *first, *second, c.ctypes.data, n + gap, alpha, beta)
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(
        c[:, :n], alpha * (a @ b) + beta * before, rtol=tolerance, atol=tolerance
    )
    assert np.isnan(c[:, n:]).all()


@pytest.mark.parametrize("target", ["x86-64-v4", "x86-64-v3"])
def test_small_products_are_not_left_to_blas(target):
    assert most_work(Target.named(target)) >= 8**3


def test_targets_without_masks_leave_all_to_blas():
    assert most_work(Target.named("x86-64-v2")) == most_work(Target.named("aarch64")) == 0


def test_aarch64_is_written():
    target = Target.named("aarch64")
    text = str(library(target, [product_symbol(target, type_of("float64"))]))
    assert "phintys_dgemm" in text
    assert "masked" not in text
