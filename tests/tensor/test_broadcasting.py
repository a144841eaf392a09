"""broadcast_to, broadcast_arrays and broadcast_shape."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import ShapeError


def _variable(data, value, name):
    """Draw an input: dimensions of size 1 are known to be, the others perhaps."""
    static = [size if size == 1 or data.draw(st.booleans()) else None for size in value.shape]
    return pt.tensor(name, shape=static, dtype=value.dtype)


@given(data=st.data())
def test_against_numpy(data, evaluate):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3))
    arrays = [np.arange(float(np.prod(s, dtype=int))).reshape(s) for s in shapes.input_shapes]
    inputs = [_variable(data, a, f"x{i}") for i, a in enumerate(arrays)]
    given_values = dict(zip(inputs, arrays, strict=True))
    found = evaluate(pt.broadcast_arrays(*inputs), given_values)
    for array, expected in zip(found, np.broadcast_arrays(*arrays), strict=True):
        np.testing.assert_array_equal(array, expected)
    for sizes in (pt.broadcast_shape(*inputs), pt.broadcast_shape(*(x.shape for x in inputs[:0]))):
        wanted = shapes.result_shape if sizes else ()
        assert tuple(int(n) for n in evaluate(list(sizes), given_values)) == wanted
    out = pt.broadcast_to(inputs[0], shapes.result_shape)
    np.testing.assert_array_equal(
        evaluate(out, given_values), np.broadcast_to(arrays[0], shapes.result_shape)
    )
    assert out.type.shape == shapes.result_shape


def test_shapes_given_as_tuples(evaluate):
    n = pt.lscalar("n")
    sizes = pt.broadcast_shape((n, 1), (4,), pt.tensor("x", shape=(1, 1, 1)))
    assert [int(size) for size in evaluate(list(sizes), {n: np.array(3)})] == [1, 3, 4]
    assert pt.broadcast_shape() == ()


def test_what_has_the_shape_is_returned_itself():
    x = pt.tensor("x", shape=(2, 3))
    assert pt.broadcast_to(x, (2, 3)) is x


def test_refuses():
    with pytest.raises(ShapeError, match=r"dimension -1: \(2,\), \(None, 3\)"):
        pt.broadcast_shape((2,), (pt.lscalar("n"), 3))
    with pytest.raises(ShapeError, match="broadcast_arrays"):
        pt.broadcast_arrays(pt.constant([1, 2]), pt.constant([1, 2, 3]))
    with pytest.raises(ShapeError, match="does not broadcast"):
        pt.broadcast_to(pt.constant([1, 2]), 3)


def test_what_is_not_known_to_be_1_does_not_broadcast(evaluate):
    x, y = pt.vectors("x", "y")
    arrays = pt.broadcast_arrays(x, y)
    with pytest.raises(ShapeError, match="known to be 1"):
        evaluate(arrays, {x: np.ones(3), y: np.ones(1)})


def test_derivatives(check_derivatives):
    def build(x):
        column = pt.specify_broadcastable(x, 1)
        return pt.broadcast_to(column, (4, 2, 3)) ** 2

    check_derivatives(build, [np.array([[1.0], [2.0]])], order=2)
