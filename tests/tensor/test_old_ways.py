"""What older programs write and NumPy does not, or does no more."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import IndexingError, ShapeError

A = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "function", [pt.sum, pt.max, pt.mean, pt.var, pt.argmax, pt.softmax, pt.cumsum, pt.sort, pt.all]
)
def test_an_axis_may_be_an_array_without_dimensions(function):
    x = pt.dmatrix("x")
    f = phintys.function([x], [function(x, axis=np.array(1)), function(x, axis=1)])
    found, expected = f(A)
    np.testing.assert_array_equal(found, expected)


TAKE_POSITIONS = {
    "expand_dims": pt.expand_dims,
    "moveaxis": lambda x, one: pt.moveaxis(x, one, one - 1),
    "gradient": lambda x, one: pt.gradient(x, axis=one),
    "vecdot": lambda x, one: pt.vecdot(x, x, axis=one),
    "tensordot": lambda x, one: pt.tensordot(x, x.T, axes=one),
    "tensordot of one axis each": lambda x, one: pt.tensordot(x, x, axes=(one, one)),
    "roll": lambda x, one: pt.roll(x, 1, axis=one),
    "flatten": lambda x, one: pt.flatten(x, one + 1),
    "size": lambda x, one: pt.size(x, axis=one),
    "apply_over_axes": lambda x, one: pt.apply_over_axes(pt.sum, x, one),
    "transpose": lambda x, one: pt.transpose(x[0], one - 1),
}


@pytest.mark.parametrize("name", TAKE_POSITIONS)
@pytest.mark.parametrize("one", [np.array(1), np.int64(1)], ids=["array", "number"])
def test_positions_may_be_numbers_of_numpy(name, one):
    x = pt.dmatrix("x")
    call = TAKE_POSITIONS[name]
    found, expected = phintys.function([x], [call(x, one), call(x, 1)])(A)
    np.testing.assert_array_equal(found, expected)


def test_a_list_with_slices_is_an_index_of_several_parts():
    x = pt.dmatrix("x")
    f = phintys.function([x], [x[[slice(1, None), slice(None, 2)]], x[[0, slice(1)]]])
    first, second = f(A)
    np.testing.assert_array_equal(first, A[1:, :2])
    np.testing.assert_array_equal(second, A[0, :1])
    with pytest.raises(IndexingError):
        x[[[slice(1)], 0]]


@pytest.mark.parametrize("write", [pt.set_subtensor, pt.inc_subtensor])
@pytest.mark.parametrize("index", [0, slice(1, None), [0, 1]], ids=str)
def test_a_written_value_of_length_1_names_the_remedy(write, index):
    x, y = pt.dmatrix("x"), pt.dvector("y")
    f = phintys.function([x, y], write(x[index], y))
    with pytest.raises(ShapeError, match=r"shape=\(\.\.\., 1, \.\.\.\).*pt\.specify_shape"):
        f(A, [5.0])
    stated = phintys.function([x, y], write(x[index], pt.specify_shape(y, (1,))))
    expected = A.copy()
    expected[index] = 5.0 if write is pt.set_subtensor else expected[index] + 5.0
    np.testing.assert_array_equal(stated(A, [5.0]), expected)
