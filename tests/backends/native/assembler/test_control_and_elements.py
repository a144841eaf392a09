"""Loops, conditions, and elements in memory: every dtype, masked, strided, unaligned."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import DtypeError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import (
    each_lane,
    lane_mask,
    loop,
    when,
)
from phintys.backends.native.assembler.elements import gather, load, scatter, store
from phintys.backends.native.assembler.llvm_library import llvm
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import INT64, PTR, VOID, type_of
from tools.native_functions import compile_module, elementwise, vector_loop

# fmt: off
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)
# fmt: on
HOST = Target.host()


def kernel(write, *parameters):
    """Compile ``write(b, *arguments)``."""
    module = Module(HOST)
    b = Builder(module.function("kernel", VOID, parameters))
    write(b, *b.arguments)
    b.ret()
    types = [ctypes.c_int64 if parameter is INT64 else ctypes.c_void_p for parameter in parameters]
    return compile_module(module).function("kernel", *types)


def integers(dtype, n):
    factor = 1 - 2j if np.dtype(dtype).kind == "c" else 1
    return (np.arange(1, n + 1) * factor).astype(dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lanes", [1, 4, 8, 32])
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies(dtype, lanes):
    type = type_of(dtype, lanes)

    def copy(b, n, out, x):
        def body(index, mask):
            value = load(b, type, b.offset(x, index, type), mask)
            store(b, value, b.offset(out, index, type), mask)

        vector_loop(b, n, lanes, body)

    run = kernel(copy, INT64, PTR, PTR)
    for n in (0, 1, 3, lanes, 2 * lanes + 1, 77):
        x = integers(dtype, n + 2)
        out = np.zeros(n + 2, x.dtype)
        run(n, out[1:].ctypes.data, x[1:].ctypes.data)
        assert np.array_equal(out[1 : n + 1], x[1 : n + 1])
        assert not out[0]
        assert not out[n + 1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides_by_gather_and_scatter(dtype):
    lanes = 4
    type = type_of(dtype, lanes)

    def reverse(b, n, out, x):
        def body(index, mask):
            numbers = b.lane_numbers(INT64.of(lanes)) + b.splat(index, lanes)
            value = gather(b, type, b.offset(x, numbers * -3, type), mask)
            scatter(b, value, b.offset(out, numbers * 2, type), mask)

        vector_loop(b, n, lanes, body)

    run = kernel(reverse, INT64, PTR, PTR)
    for n in (0, 1, 4, 11):
        x = integers(dtype, 3 * n + 1)
        out = np.zeros(2 * n + 1, x.dtype)
        run(n, out.ctypes.data, x[-1:].ctypes.data)
        assert np.array_equal(out[: 2 * n : 2], x[:0:-3])
        assert not out[1::2].any()


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int16"])
def test_unaligned(dtype):
    type = type_of(dtype, 8)

    def copy(b, n, out, x):
        def body(index, mask):
            value = load(b, type, b.offset(x, index, type), mask, align=1)
            store(b, value, b.offset(out, index, type), mask, align=1)

        vector_loop(b, n, 8, body)

    run = kernel(copy, INT64, PTR, PTR)
    x = integers(dtype, 21)
    source = np.frombuffer(b"\0" + x.tobytes(), np.uint8)
    result = np.zeros_like(source)
    run(21, result[1:].ctypes.data, source[1:].ctypes.data)
    assert result[1:].tobytes() == x.tobytes()


@given(st.integers(-5, 40), st.integers(1, 7), st.integers(-3, 3))
def test_loops(stop, step, start):
    total = np.zeros(2, np.int64)
    SUMMATION(start, stop, step, total.ctypes.data)
    steps = range(start, stop, step)
    assert total.tolist() == [sum(steps), len(steps)]


def summation(b, start, stop, step, out):
    zero = b.constant(INT64, 0)
    with loop(b, start, stop, step, carried=[zero, zero]) as row:
        total, count = row.carried
        row.next(total + row.index, count + 1)
    for i, value in enumerate(row.results):
        b.store(value, b.offset(out, i, INT64))


SUMMATION = kernel(summation, INT64, INT64, INT64, PTR)


def test_nested_loops_and_conditions():
    def table(b, n, out):
        with loop(b, 0, n) as row, loop(b, 0, 3, runs=True) as column:
            place = b.offset(out, row.index * 3 + column.index, INT64)
            b.store(b.constant(INT64, -1), place)
            with when(b, column.index < row.index):
                b.store(row.index * 10 + column.index, place)

    out = np.zeros((4, 3), np.int64)
    kernel(table, INT64, PTR)(4, out.ctypes.data)
    i, j = np.indices(out.shape)
    assert np.array_equal(out, np.where(j < i, 10 * i + j, -1))


def test_a_loop_needs_a_next_for_each_carried_value():
    b = Builder(Module(HOST).function("f", VOID, [INT64]))
    with (
        pytest.raises(DtypeError, match="carries 1 values, got 2"),
        loop(b, 0, 3, carried=[b.arguments[0]]) as row,
    ):
        row.next(row.index, row.index)


@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32, 64])
def test_lane_masks(lanes):
    def count(b, n, out):
        mask = lane_mask(b, n, lanes)
        store(b, mask, out)

    run = kernel(count, INT64, PTR)
    for n in (0, 1, lanes - 1, lanes, lanes + 1, 1000):
        out = np.zeros(lanes, bool)
        run(n, out.ctypes.data)
        assert np.array_equal(out, np.arange(lanes) < n)


def test_each_lane():
    def next_one(b, x):
        return each_lane(b, x.type, lambda scalar: scalar + 1, x)

    x = np.arange(9.0)
    assert np.array_equal(elementwise(next_one, ["f8"], "f8", lanes=4)(x), x + 1)


@pytest.mark.parametrize("name", ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_other_targets_pass_the_verifier(name):
    target = Target.named(name)
    for dtype in DTYPES:
        type = type_of(dtype, target.lanes(type_of(dtype)))
        module = Module(target)
        b = Builder(module.function("f", VOID, [PTR, INT64]))
        p, n = b.arguments
        mask = lane_mask(b, n, type.lanes)
        numbers = b.lane_numbers(INT64.of(type.lanes))
        store(b, load(b, type, p, mask), p, mask)
        scatter(b, gather(b, type, b.offset(p, numbers, type)), b.offset(p, numbers, type))
        b.ret()
        llvm().verify(str(module))
