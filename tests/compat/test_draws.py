"""Shapes of the parameters of draws."""

from __future__ import annotations

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.compat import draws
from phintys.graph import generic

_CASES = [
    ([(3,), (3, 3)], [1, 2]),
    ([(3,), (2, 3, 3)], [1, 2]),
    ([(1, 3), (2, 3, 3)], [1, 2]),
    ([(3, 1), (1, 1)], [1, 2]),
    ([(), (4,), (2, 1)], [0, 0, 0]),
    ([(5, 1, 2), (3,), ()], [1, 0, 0]),
]


@pytest.mark.parametrize(("shapes", "ndims"), _CASES)
def test_parameters_are_broadcast_as_by_numpy(shapes, ndims):
    arrays = [np.arange(np.prod(shape, dtype=int)).reshape(shape) * 1.0 for shape in shapes]
    batch = np.broadcast_shapes(
        *(shape[: len(shape) - n] for shape, n in zip(shapes, ndims, strict=True))
    )
    expected = [
        np.broadcast_to(array, batch + array.shape[array.ndim - n :])
        for array, n in zip(arrays, ndims, strict=True)
    ]
    for one, other in zip(draws.broadcast_params(arrays, ndims), expected, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
    variables = [pt.constant(array) for array in arrays]
    for one, other in zip(draws.broadcast_params(variables, ndims), expected, strict=True):
        np.testing.assert_array_equal(one.eval(), other, strict=True)
    assert tuple(draws.compute_batch_shape(variables, ndims).eval()) == batch
    with_axes = draws.explicit_expand_dims(variables, ndims)
    assert {x.ndim - n for x, n in zip(with_axes, ndims, strict=True)} == {len(batch)}


def test_sizes_that_are_not_known_are_compared_when_the_function_runs():
    mean, cov = pt.dmatrix("mean"), pt.dtensor3("cov")
    shape = draws.broadcast_params([mean, cov], [1, 2])[0].shape
    assert shape.eval({mean: np.zeros((4, 3)), cov: np.zeros((4, 3, 3))}).tolist() == [4, 3]


def test_the_shape_of_a_draw_is_that_of_the_last_axes_of_a_parameter():
    shape = draws.supp_shape_from_ref_param_shape
    given = (np.zeros(2), np.ones((2, 3, 4)))
    assert shape(ndim_supp=2, dist_params=given, ref_param_idx=1) == (3, 4)
    shapes = ((2,), (5, 6, 7))
    assert shape(ndim_supp=2, dist_params=given, param_shapes=shapes, ref_param_idx=1) == (6, 7)
    with pytest.raises(ValueError, match=r"^Reference parameter .* at least 2 axes"):
        shape(ndim_supp=2, dist_params=given, ref_param_idx=0)
    with pytest.raises(ValueError, match="greater than 0"):
        shape(ndim_supp=0, dist_params=given, ref_param_idx=0)


def test_a_size_may_be_a_variable_of_the_type_of_none():
    size = generic()
    assert draws.normalize_size_param(size) is size
    assert draws.normalize_size_param(None).data is None
    assert draws.normalize_size_param((2, 3)).eval().tolist() == [2, 3]
