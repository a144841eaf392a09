"""Reductions: every way in which they are carried out, their accuracy, and what NaN does."""

import math
from functools import cache

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.lower.graph import lower_program
from phintys.graph.fgraph import FunctionGraph
from tools.native_programs import compile_program, target_here

TARGETS = ["host", "x86-64-v3", "x86-64-v2"]
# Short rows are computed several at a time, long ones in blocks; columns in blocks of rows, and in
# parts if they are long or many.
SHAPES = [
    (3, 5),
    (100, 10),
    (9, 24),
    (9, 25),
    (7, 1030),
    (1, 2500),
    (2500, 1),
    (300, 33),
    (17, 700),
    (1000, 33),
    (70, 4100),
    (3, 2500),
    (0, 4),
    (4, 0),
]


def run(inputs, outputs, values, *, target="host", ranges=1):
    program = lower_program(FunctionGraph(inputs, outputs, clone=True))
    return compile_program(program, target_here(target), ranges=ranges)(*values)


@cache
def totals(dtype, is_empty):
    """A matrix, and its reductions; those that have a value, if it is empty."""
    x = pt.tensor(dtype=dtype, shape=(None, None))
    outputs = [x.sum(axis) for axis in (0, 1, None)]
    outputs += [pt.exp(x).sum(0), (x * x).sum(1), x.T.sum(0)]
    if not is_empty:
        for axis in (0, 1, None):
            outputs += [x.max(axis), x.min(axis), pt.argmax(x, axis), pt.argmin(x, axis)]
    return [x], outputs


@cache
def softmaxes(dtype):
    """A matrix, and its softmax and the like."""
    x = pt.tensor(dtype=dtype, shape=(None, None))
    outputs = [function(x, axis) for function in (pt.softmax, pt.log_softmax) for axis in (0, 1)]
    return [x], outputs + [pt.logsumexp(x, axis=axis) for axis in (0, 1)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_columns_and_everything(shape, dtype, target, compare):
    values = np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(dtype)
    compare(*totals(dtype, not values.size), [values], target=target)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if all(shape)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_softmax_and_its_relatives(shape, dtype, target, compare):
    values = np.random.default_rng(0).normal(size=shape).astype(dtype)
    compare(*softmaxes(dtype), [values], target=target)


@pytest.mark.parametrize("shape", [(100, 10), (7, 1030), (40, 64)])
@pytest.mark.parametrize("target", TARGETS)
def test_layer_norm(shape, target, compare):
    x = pt.dmatrix("x")
    centred = x - x.mean(axis=1, keepdims=True)
    out = centred / pt.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    compare([x], [out], [np.random.default_rng(0).normal(size=shape)], target=target)


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (0, 2), (1, 2), None])
@pytest.mark.parametrize("shape", [(3, 4, 5), (20, 3, 50), (2, 70, 9)])
def test_several_axes(shape, axis, compare):
    x = pt.tensor3("x", dtype="float64")
    values = np.random.default_rng(0).integers(-3, 4, shape).astype(float)
    turned = x.transpose(2, 0, 1)
    outputs = [x.sum(axis), turned.sum(axis), turned.max(axis), pt.exp(x).sum(axis)]
    if axis is None or isinstance(axis, int):
        outputs += [pt.argmax(turned, axis), pt.argmin(x, axis)]
    compare([x], outputs, [values])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n", [10, 1000, 100_000])
@pytest.mark.parametrize("rows", [1, 2, 5, "a tenth", "all"])
def test_sums_do_not_depend_on_how_work_is_shared(n, rows):
    x, m = pt.dvector("x"), pt.dmatrix("m")
    values = np.random.default_rng(0).normal(size=n) * 10.0 ** (np.arange(n) % 7)
    matrix = values.reshape({"a tenth": n // 10, "all": n}.get(rows, rows), -1)
    outputs = [x.sum(), (x * x).sum(), x.max(), m.sum(0), m.sum(1), m.T.sum(0), m.sum()]
    outputs += [m.max(0), pt.argmin(m, axis=0), (m + 1j).sum(0)]
    first, *others = [
        run([x, m], outputs, [values, matrix], ranges=ranges) for ranges in (1, 2, 5, 64)
    ]
    for other in others:
        for one, two in zip(first, other, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 7, 1024, 1025, 40_000, 3_000_000])
def test_sums_are_accurate(n, target):
    x = pt.dvector("x")
    values = np.random.default_rng(n).normal(size=n)
    (total,) = run([x], [x.sum()], [values], target=target)
    # The error of a block of 1,024, in each of several lanes, whatever the length.
    bound = 256 * np.finfo(float).eps * abs(values[:1024]).sum() + np.spacing(abs(total))
    assert abs(float(total) - math.fsum(values)) <= bound


@pytest.mark.parametrize("place", [0, 5, 37, 99])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_extremes_keep_nan(place, dtype):
    x, m = pt.tensor(dtype=dtype, shape=(None,)), pt.tensor(dtype=dtype, shape=(None, None))
    values = np.arange(100).astype(dtype)
    values[place] = np.nan
    values[min(place + 3, 99)] = np.nan
    outputs = [x.max(), x.min(), pt.argmax(x), pt.argmin(x), m.max(0), m.max(1), m.min(1)]
    got = run([x, m], outputs, [values, values.reshape(10, 10)])
    matrix = values.reshape(10, 10)
    wanted = [values.max(), values.min(), place, place, *map(matrix.max, (0, 1)), matrix.min(1)]
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "values",
    [
        [np.inf, 1.0],
        [np.inf, -np.inf],
        [-np.inf] * 5000,
        [1e308] * 3,
        [np.nan, np.inf],
        [1e308] * 1500 + [-1e308] * 1500,
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sums_of_what_is_infinite(values):
    x = pt.dvector("x")
    values = np.array(values)
    (got,) = run([x], [x.sum()], [values])
    wanted = values.sum()
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(wanted))
    if not np.isfinite(wanted) and abs(values).max() == np.inf:
        np.testing.assert_array_equal(got, wanted)


def test_equal_extremes_give_the_first_position():
    x, m = pt.lvector("x"), pt.lmatrix("m")
    values = np.full(5000, 3)
    values[[77, 78, 4000]] = 9
    values[[1000, 3000]] = -9
    outputs = [pt.argmax(x), pt.argmin(x), pt.argmax(m, axis=0), pt.argmin(m, axis=1)]
    matrix = values.reshape(50, 100)
    got = run([x, m], outputs, [values, matrix])
    wanted = [77, 1000, matrix.argmax(0), matrix.argmin(1)]
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_many_sums_of_one_array(compare):
    """Their partial results do not fit on the stack."""
    x = pt.dmatrix("x")
    values = np.random.default_rng(8).normal(size=(37, 41))
    compare([x], [pt.sin(x * (factor + 1.0)).sum() for factor in range(16)], [values])


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "uint64"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (4, 5)])
def test_extremes_with_a_first_value(compare, dtype, shape):
    """Nothing is joined to an array that could be empty: its parts are reduced."""
    x = pt.matrix(dtype=dtype)
    value = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    if dtype.startswith("float"):
        value[1:, 1:2] = np.nan
    found = [pt.max(x, axis=0, initial=3), pt.min(x, axis=1, initial=3), pt.max(x, initial=2)]
    compare([x], found, [value], exact=True)


def test_an_array_that_could_be_empty_is_not_copied():
    x = pt.dmatrix("x")
    assert "kernel Join" not in phintys.function([x], pt.max(x, axis=0, initial=0.0)).explain()
