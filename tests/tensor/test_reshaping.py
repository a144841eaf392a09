"""Reshape and flatten."""

import re
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import DtypeError, ShapeError
from phintys.graph import contract
from phintys.tensor.reshaping import Reshape, shape_vector


def _draw_shape(data, size):
    """Draw a shape for a number of elements, with or without a -1."""
    if size == 0:
        rest = data.draw(st.lists(st.integers(0, 3), max_size=2))
        place = data.draw(st.integers(0, len(rest)))
        return [*rest[:place], 0, *rest[place:]]
    shape = []
    while size > 1 and len(shape) < 3:
        factor = data.draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
        shape.append(factor)
        size //= factor
    shape.append(size)
    if data.draw(st.booleans()):
        shape[data.draw(st.integers(0, len(shape) - 1))] = -1
    return shape


def _as_given(data, shape, values):
    """Draw how a shape is given: ints, symbolic sizes, or one vector."""
    how = data.draw(st.sampled_from(["tuple", "vector", "unknown vector"]))
    if how != "tuple":
        static = (len(shape),) if how == "vector" else (None,)
        vector = pt.tensor("shape", dtype="int64", shape=static)
        values[vector] = np.array(shape, dtype=np.int64)
        return vector
    entries = []
    for size in shape:
        if data.draw(st.booleans()):
            n = data.draw(st.sampled_from([pt.lscalar, pt.iscalar]))("n")
            values[n] = np.array(size, dtype=n.dtype)
            entries.append(n)
        else:
            entries.append(size)
    return tuple(entries)


@given(data=st.data())
def test_against_numpy(data, draw, evaluate):
    value = draw.array(data)
    x = draw.variable(data, value)
    values = {x: value}
    shape = _draw_shape(data, value.size)
    wanted = _as_given(data, shape, values)
    out = pt.reshape(x, wanted, ndim=len(shape))
    np.testing.assert_array_equal(evaluate(out, values), value.reshape(shape))


@given(data=st.data())
def test_flatten(data, draw, evaluate):
    value = draw.array(data, min_dims=0)
    x = draw.variable(data, value)
    ndim = data.draw(st.integers(1, max(value.ndim, 1)))
    rest = prod(value.shape[ndim - 1 :])
    out = evaluate(pt.flatten(x, ndim), {x: value})
    np.testing.assert_array_equal(out, value.reshape((*value.shape[: ndim - 1], rest)))


STATIC = {
    "known": ((2, 3), (3, 2), (3, 2)),
    "-1": ((2, 6), (3, -1), (3, 4)),
    "-1 of an unknown": ((None, 6), (3, -1), (3, None)),
    "-1 of none": ((0, 6), (3, -1), (3, 0)),
    "unknown": ((None, 6), (3, 4), (3, 4)),
    "to a scalar": ((1, 1), (), ()),
    "one size": ((2, 3), 6, (6,)),
}


@pytest.mark.parametrize("name", STATIC)
def test_static_shape(name):
    static, shape, expected = STATIC[name]
    assert pt.reshape(pt.tensor("x", shape=static), shape).type.shape == expected


def test_static_shape_from_symbolic_sizes():
    x, n = pt.tensor("x", shape=(None, 4)), pt.lscalar("n")
    assert x.reshape((x.shape[0], 2, 2)).type.shape == (None, 2, 2)
    assert x.reshape((x.shape[1], -1)).type.shape == (4, None)
    assert pt.tensor("y", shape=(6, 4)).reshape((n, 8)).type.shape == (3, 8)
    assert x.reshape(pt.lvector("s"), ndim=3).type.shape == (None, None, None)
    assert x.reshape(2, 2, -1).type.shape == (2, 2, None)


WRONG = {
    "too many elements": ((2, 3), (7,), ShapeError, r"\(2, 3\) cannot take the shape \(7,\)"),
    "does not divide": ((2, 3), (4, -1), ShapeError, "same number of elements"),
    "-1 beside 0": ((0, 3), (0, -1), ShapeError, "another size is 0"),
    "two -1": ((None, 3), (-1, -1), ShapeError, "one -1"),
    "negative": ((None, 3), (-2, 3), ShapeError, "not be negative"),
    "a float": ((2, 3), (2.0, 3), DtypeError, "integer, got 2.0"),
    "a bool": ((2, 3), (True, 6), DtypeError, "integer, got True"),
    "a float vector": ((2, 3), pt.dvector("s"), DtypeError, "of integers"),
    "a matrix": ((2, 3), pt.lmatrix("s"), ShapeError, "a shape is a vector"),
    "unknown rank": ((2, 3), pt.lvector("s"), ShapeError, "Pass ndim"),
    "huge": ((2, 3), (2**70,), ShapeError, "64 bits"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses(name):
    static, shape, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        pt.reshape(pt.tensor("x", shape=static), shape)


def test_refuses_another_rank():
    with pytest.raises(ShapeError, match="ndim is 3"):
        pt.reshape(pt.matrix("x"), (2, 3), ndim=3)
    with pytest.raises(ShapeError, match="makes 1 dimensions"):
        Reshape(1)(pt.matrix("x"), (2, 3))
    for ndim in (0, 3, "2"):
        with pytest.raises(ShapeError, match="from 1 to 2"):
            pt.flatten(pt.matrix("x"), ndim)


def test_fails_at_run_time(evaluate):
    x, s = pt.matrix("x"), pt.lvector("s")
    out = pt.reshape(x, s, ndim=2)
    value = np.ones((2, 3))
    for shape in ([4, 2], [0, -1], [-1, -1], [6]):
        with pytest.raises(ShapeError, match="Reshape"):
            evaluate(out, {x: value, s: np.array(shape)})


@pytest.mark.parametrize("mode", ["reference", "native"])
@pytest.mark.parametrize(
    ("last", "wrong"), [("-1", [(0, 0), (-1, 0)]), ("m", [(0, -1), (-1, 0), (-1, -1)])]
)
def test_a_size_beside_a_0_is_not_inferred_where_only_the_shape_is_used(mode, last, wrong):
    x, n, m = pt.matrix("x"), pt.lscalar("n"), pt.lscalar("m")
    out = x.reshape((n, {"-1": -1, "m": m}[last]))
    f = phintys.function([x, n, m], out.shape, mode=mode, on_unused_input="ignore")
    nothing = np.ones((0, 3))
    assert list(f(nothing, 2, 0)) == [2, 0]
    for sizes in wrong:
        with pytest.raises(ShapeError, match=re.escape("sizes beside -1 must be at least 1")):
            f(nothing, *sizes)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float64"])
@pytest.mark.parametrize("mode", ["reference", "native"])
def test_a_length_of_0_does_not_make_up_for_one_that_no_array_has(mode, dtype):
    x, n = pt.vector("x", dtype=dtype), pt.lscalar("n")
    f = phintys.function([x, n], x.reshape((n, 0)), mode=mode)
    nothing = np.zeros(0, dtype)
    assert f(nothing, 2**59).shape == (2**59, 0)
    with pytest.raises(ShapeError):
        f(nothing, 2**63 - 1)


def test_is_a_view(evaluate):
    x = pt.matrix("x")
    value = np.ones((2, 3))
    out = pt.reshape(x, (3, 2))
    assert out.owner.op.view_map == {0: [0]}
    assert np.shares_memory(evaluate(out, {x: value}, check=False), value)


@pytest.mark.parametrize("shape", [(6,), (3, -1), (1, 2, 3)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives(shape, dtype, check_derivatives):
    value = np.arange(6.0).reshape(2, 3).astype(dtype)
    check_derivatives(lambda x: pt.reshape(x, shape) ** 2, [value], order=2)


def test_the_shape_is_disconnected():
    out = pt.reshape(pt.vector("x"), (pt.lscalar("n"), 2))
    assert contract.connection_pattern(out.owner) == [[True], [False]]


@given(data=st.data())
def test_infer_shape_uses_what_is_known(data):
    """A size that is known leaves nothing of the graph of the others."""
    static = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    size = prod(static)
    shape = _draw_shape(data, size)
    assume(None not in shape)
    out = pt.reshape(pt.tensor("x", shape=static), shape)
    sizes = contract.infer_shape(None, out.owner, [tuple(map(pt.constant, static)), None])[0]
    assert [n.data for n in sizes] == list(np.zeros(size).reshape(shape).shape)


def test_shape_vector():
    n = pt.lscalar("n")
    assert shape_vector([2, 3]).data.tolist() == [2, 3]
    assert shape_vector(()).type.shape == (0,)
    assert shape_vector([n, 3]).type.shape == (2,)
    assert shape_vector(np.array([2, 3])).data.dtype == np.int64
    with pytest.raises(DtypeError):
        shape_vector("23")
