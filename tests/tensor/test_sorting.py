"""Sorting against NumPy."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import IndexingError, OpContractError, ShapeError
from phintys._base.uninterrupted import run_whole
from phintys.backends.native.lower import sorting as lowering_of_sorting
from phintys.gradient import grad
from phintys.tensor import partitioning, sorting
from phintys.tensor.sorting import LONG

CASES = {"sort": (pt.sort, np.sort), "argsort": (pt.argsort, np.argsort)}
KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_like_numpy(name, data, draw, evaluate):
    build, function = CASES[name]
    value = draw.array(data)
    x = draw.variable(data, value)
    axes = st.none() | st.integers(-value.ndim, value.ndim - 1) if value.ndim else st.none()
    axis, kind = data.draw(axes, "axis"), data.draw(st.sampled_from(KINDS), "kind")
    out = build(x, axis=axis, kind=kind)
    result, expected = evaluate(out, {x: value}), function(value, axis=axis, kind=kind)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    if axis is not None:
        assert out.type.shape == x.type.shape


def test_stable():
    x = pt.vector("x")
    for build, _ in CASES.values():
        assert build(x, stable=True).owner.op == build(x, kind="stable").owner.op
        assert build(x, stable=False).owner.op == build(x).owner.op


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_derivatives(axis, check_derivatives):
    value = np.random.default_rng(0).permutation(12.0 * np.arange(12)).reshape(3, 4)
    check_derivatives(lambda x: pt.sort(x, axis), [value], order=2)


def test_derivatives_in_three_dimensions(check_derivatives):
    value = np.random.default_rng(0).permutation(np.arange(12.0)).reshape(2, 3, 2)
    for axis in range(3):
        check_derivatives(lambda x, axis=axis: pt.sort(x, axis), [value])


def test_complex_derivatives(check_derivatives):
    value = np.array([2 + 1j, 1 + 5j, 3 - 1j, 1.5])
    check_derivatives(pt.sort, [value])


def test_ties_share_one_order(evaluate):
    # With ties any order is a derivative; what matters is that no gradient is lost.
    x = pt.dvector("x")
    weights = np.array([1.0, 2.0, 3.0])
    gradient = evaluate(grad(pt.sum(pt.sort(x) * weights), x), {x: np.ones(3)})
    assert sorted(gradient) == [1, 2, 3]


def test_zero_gradients(evaluate):
    x, i = pt.dvector("x"), pt.lvector("i")
    order = pt.cast(pt.argsort(x), "float64")
    gradient = evaluate(grad(order.sum(), x), {x: np.array([3.0, 1.0])})
    np.testing.assert_array_equal(gradient, [0, 0])
    gradient = grad(pt.cast(pt.sort(i), "float64").sum(), i)
    assert gradient.dtype == "float64"
    np.testing.assert_array_equal(evaluate(gradient, {i: np.array([3, 1])}), [0, 0])


def test_wrong_arguments():
    x = pt.matrix("x")
    for build, _ in CASES.values():
        with pytest.raises(ShapeError, match="out of range"):
            build(x, axis=2)
        with pytest.raises(OpContractError, match="one of quicksort"):
            build(x, kind="bogo")
        with pytest.raises(OpContractError, match="not both"):
            build(x, kind="stable", stable=True)
        with pytest.raises(OpContractError, match="no fields"):
            build(x, order="name")
    with pytest.raises(ShapeError, match="out of range"):
        pt.sort(pt.scalar("s"))
    with pytest.raises(OpContractError, match="from the front"):
        pt.SortOp(-1)
    with pytest.raises(ShapeError, match="2 dimensions"):
        pt.SortOp(2)(x)


def test_large_arrays_are_sorted_elsewhere_and_handlers_run_meanwhile(monkeypatch):
    """NumPy does not look for signals, so another thread waits for it."""
    seen: list[threading.Thread] = []

    def apart(function, *args):
        def observed():
            seen.append(threading.current_thread())
            return function(*args)

        return run_whole(observed)

    monkeypatch.setattr(sorting, "LARGE", 5)
    monkeypatch.setattr(sorting, "run_whole", apart)
    for limit in ("SHORT_SORTED_ROW", "LONG"):  # so that native code leaves rows to NumPy
        monkeypatch.setattr(lowering_of_sorting, limit, 2)
    x = pt.dmatrix("x")
    f = phintys.function([x], [pt.sort(x, axis=0), pt.argsort(x, axis=0)], mode="native")
    values = np.random.default_rng(0).normal(size=(4, 3))
    kept = values.copy()
    for got, wanted in zip(f(values), (np.sort(values, 0), np.argsort(values, 0)), strict=True):
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(values, kept)
    assert len(seen) == 2
    assert threading.main_thread() not in seen


def special_floats(draw, dtype):
    x = draw.normal(size=COUNT).astype(dtype)
    x[draw.integers(0, COUNT, 500)] = np.nan
    x[draw.integers(0, COUNT, 500)] = -np.float64(np.nan)
    for value in (0.0, -0.0, np.inf, -np.inf):
        x[draw.integers(0, COUNT, 500)] = value
    return x


def with_ties(draw):
    """Return neighbours that differ in the last bits only, beside very large numbers."""
    x = 1 + draw.integers(0, 50, COUNT) * 2.0**-52
    x[::7] *= -1
    x[:3] = 1e300, -1e300, 5e-324
    return x


COUNT = LONG + 3
LONG_VECTORS = {
    "float64": lambda draw: special_floats(draw, "float64"),
    "float32": lambda draw: special_floats(draw, "float32"),
    "int64": lambda draw: draw.integers(-(2**63), 2**63 - 1, COUNT, endpoint=True),
    "uint64": lambda draw: draw.integers(0, 2**64 - 1, COUNT, "uint64", endpoint=True),
    "int32": lambda draw: draw.integers(-(2**31), 2**31, COUNT, "int32"),
    "uint32": lambda draw: draw.integers(0, 2**32, COUNT, "uint32"),
    "few values": lambda draw: draw.integers(0, 10, COUNT) * 0.1,
    "equal values": lambda draw: np.full(COUNT, 2.5),
    "ties": with_ties,
    "nearly sorted": lambda draw: np.sort(draw.random(COUNT))[np.r_[5:COUNT, :5]],
    "falling, strided": lambda draw: np.sort(draw.random(2 * COUNT))[::-2],
    "nothing but NaN": lambda draw: np.full(COUNT, np.nan, "float32"),
}


@pytest.mark.parametrize("name", LONG_VECTORS)
def test_long_vectors_are_sorted_as_numpy_does(name):
    value = LONG_VECTORS[name](np.random.default_rng(3))
    kept = value.copy()
    x = pt.vector("x", dtype=value.dtype)
    f = phintys.function([x], [pt.sort(x), pt.argsort(x, kind="stable"), pt.argsort(x)])
    ordered, stable, order = f(value)
    np.testing.assert_array_equal(value, kept)
    np.testing.assert_array_equal(ordered, np.sort(value))
    np.testing.assert_array_equal(stable, np.argsort(value, kind="stable"))
    np.testing.assert_array_equal(np.sort(order), np.arange(COUNT))
    np.testing.assert_array_equal(value[order], ordered)


def test_partitions_at_known_places_do_not_sort(evaluate):
    x, k = pt.dvector("x"), pt.lscalar("k")
    values = np.random.default_rng(5).permutation(np.arange(50.0))
    for place in (7, -3, [4, 30]):
        out = pt.partition(x, place)
        assert type(out.owner.op).__name__ == "PartitionOp"
        np.testing.assert_array_equal(evaluate(out, {x: values})[place], np.sort(values)[place])
    assert type(pt.partition(x, k).owner.op).__name__ == "SortOp"
    for function in (pt.partition, pt.argpartition):
        with pytest.raises(IndexingError, match="no element kth"):
            evaluate(function(x, 50), {x: values})


def test_derivatives_of_partitions(check_derivatives):
    value = np.random.default_rng(0).permutation(12.0 * np.arange(12)).reshape(3, 4)
    check_derivatives(lambda x: pt.partition(x, 2, axis=1), [value], order=2)
    check_derivatives(lambda x: pt.partition(x, [1, 5], axis=None), [value])


def test_large_arrays_are_partitioned_elsewhere(monkeypatch):
    monkeypatch.setattr(partitioning, "LARGE", 5)
    x = pt.dmatrix("x")
    f = phintys.function([x], [pt.partition(x, 1, axis=0), pt.argpartition(x, 1, axis=0)])
    values = np.random.default_rng(0).normal(size=(4, 3))
    kept = values.copy()
    parted, places = f(values)
    np.testing.assert_array_equal(values, kept)
    np.testing.assert_array_equal(parted[1], np.sort(values, 0)[1])
    np.testing.assert_array_equal(np.take_along_axis(values, places, 0)[1], parted[1])
