"""Where an array is not zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.gradient import grad


@given(data=st.data())
def test_against_numpy(data, draw, evaluate):
    value = draw.array(data, min_dims=1)
    x = draw.variable(data, value)
    found = evaluate(list(pt.nonzero(x)), {x: value})
    for indices, expected in zip(found, value.nonzero(), strict=True):
        assert indices.dtype == np.int64
        assert indices.flags.c_contiguous
        np.testing.assert_array_equal(indices, expected)
    matrix = evaluate(pt.nonzero(x, return_matrix=True), {x: value})
    np.testing.assert_array_equal(matrix, np.array(value.nonzero()))
    np.testing.assert_array_equal(evaluate(pt.flatnonzero(x), {x: value}), np.flatnonzero(value))


def test_refuses_a_number():
    with pytest.raises(ShapeError, match="at least one dimension"):
        pt.nonzero(pt.scalar("x"))


def test_the_gradient_is_zero(evaluate):
    x = pt.vector("x")
    (places,) = x.nonzero()
    value = {x: np.array([1.0, 0.0, 2.0])}
    gradient = grad((places * 1.5).sum() + x.sum(), x)
    np.testing.assert_array_equal(evaluate(gradient, value), [1.0, 1.0, 1.0])
    through = grad((x[places] ** 2).sum(), x)
    np.testing.assert_array_equal(evaluate(through, value), [2.0, 0.0, 4.0])


def test_where_chooses_or_finds(evaluate):
    x = pt.dmatrix("x")
    value = np.array([[1.0, -2.0], [0.0, 3.0]])
    chosen = evaluate(pt.where(x > 0, x, -1.0), {x: value})
    np.testing.assert_array_equal(chosen, np.where(value > 0, value, -1.0))
    found = evaluate(list(pt.where(x)), {x: value})
    for indices, expected in zip(found, np.where(value), strict=True):
        np.testing.assert_array_equal(indices, expected)
