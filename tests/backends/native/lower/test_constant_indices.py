"""Constant arrays as indices: checked by their extremes, and summed by groups where sorted."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

x, y, X = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("X")
fixed = pt.tensor("fixed", dtype="float64", shape=(4,))

READS = {
    "read": lambda at: x[at],
    "added to": lambda at: pt.inc_subtensor(x[at], 1.0),
    "set": lambda at: pt.set_subtensor(x[at], 1.0),
}


@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint64"])
def test_the_greatest_index_is_checked_once(what, dtype):
    at = np.array([2, 0, 3, 3], dtype)
    f = phintys.function([x], READS[what](at))
    assert "checked(" not in f.explain()
    assert f.explain().count("check ") == 1
    assert f([1.0, 2.0, 3.0, 4.0]).shape == (4,)
    with pytest.raises(IndexError, match="3"):
        f([1.0, 2.0, 3.0])


def test_nothing_is_checked_where_the_length_is_known():
    f = phintys.function([fixed], fixed[np.array([3, -4, 0, -1])])
    assert "check" not in f.explain()
    assert f([1.0, 2.0, 3.0, 4.0]).tolist() == [4.0, 1.0, 1.0, 4.0]


@pytest.mark.parametrize("mode", ["reference", "native"])
@pytest.mark.parametrize("at", [[0, 4], [-5, 0], [2**63 - 1], [-(2**63)]])
def test_an_index_that_is_never_there_raises_at_each_call(mode, at):
    f = phintys.function([fixed, x], x[0] + fixed[np.array(at)].sum(), mode=mode)
    with pytest.raises(IndexError):
        f([1.0, 2.0, 3.0, 4.0], [1.0])


@pytest.mark.parametrize("start", [0, 3])
def test_indices_from_the_end_of_an_unknown_length(start):
    at = np.array([-1, start, -2])
    f = phintys.function([x], x[at])
    value = np.arange(5.0)
    assert f(value).tolist() == value[at].tolist()
    with pytest.raises(IndexError):
        f([1.0])


@pytest.mark.parametrize("mode", ["reference", "native"])
def test_a_constant_that_is_repeated_no_times_is_not_looked_at(mode):
    k = pt.lvector("k")
    f = phintys.function([X, k], X[np.array([7]), k], mode=mode)
    assert f(np.ones((2, 2)), np.zeros(0, "int64")).shape == (0,)
    with pytest.raises(IndexError):
        f(np.ones((2, 2)), [0])


@pytest.mark.parametrize("mode", ["reference", "native"])
def test_indices_of_an_axis_are_checked_where_there_is_nothing_to_read(mode):
    f = phintys.function([X], X[np.array([1, 2])], mode=mode)
    assert f(np.ones((3, 0))).shape == (2, 0)
    with pytest.raises(IndexError):
        f(np.ones((2, 0)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex128"])
@pytest.mark.parametrize(("length", "groups"), [(1, 1), (7, 3), (8, 2), (50, 6), (64, 1), (90, 90)])
def test_sorted_indices_add_up_as_others_do(dtype, length, groups):
    rng = np.random.default_rng(length)
    at = np.sort(rng.integers(0, groups, length))
    base, values = ((10 * rng.normal(size=size)).astype(dtype) for size in (groups, length))
    table = np.ones((groups, 3), dtype)
    t, u, T = (pt.tensor(dtype=dtype, shape=(None,) * ndim) for ndim in (1, 1, 2))
    f = phintys.function(
        [t, u, T],
        [
            pt.inc_subtensor(t[at], u),
            pt.inc_subtensor(T[at, 1], u),
            pt.inc_subtensor(T[at], u[:, None]),
            pt.inc_subtensor(t[at[::-1].copy()], u),
        ],
    )
    wanted = [base.copy(), table.copy(), table.copy(), base.copy()]
    np.add.at(wanted[0], at, values)
    np.add.at(wanted[1], (at, 1), values)
    np.add.at(wanted[2], at, values[:, None])
    np.add.at(wanted[3], at[::-1], values)
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for one, other in zip(f(base, values, table), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_updates_of_several_tensors_by_one_index_are_one_loop():
    at = np.sort(np.random.default_rng(0).integers(0, 5, 40))
    slope = np.linspace(0.0, 1.0, 40)
    cost = ((x[at] + y[at] * slope) ** 2).sum()
    f = phintys.function([x, y], phintys.grad(cost, [x, y]))
    loops = [line for line in f.explain().splitlines() if "for i < 40" in line]
    assert len(loops) == 1
    residuals = np.arange(5.0)[at] + np.ones(5)[at] * slope
    of_x, of_y = f(np.arange(5.0), np.ones(5))
    np.testing.assert_allclose(of_x, np.bincount(at, 2 * residuals, 5))
    np.testing.assert_allclose(of_y, np.bincount(at, 2 * residuals * slope, 5))
