"""Tests of :mod:`phintys.tensor.sets`, beside the records."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.tensor.sorting import RowOrder

NAN = np.nan
ROWS = np.array([[NAN, 1.0], [0.0, NAN], [NAN, 1.0], [NAN, 0.0]])


def test_rows_with_nan_are_equal_if_nan_is():
    values, inverse, counts = pt.unique(ROWS, return_inverse=True, return_counts=True, axis=0)
    np.testing.assert_array_equal(values.eval(), [[0.0, NAN], [NAN, 0.0], [NAN, 1.0]])
    assert inverse.eval().tolist() == [2, 0, 2, 1]
    assert counts.eval().tolist() == [1, 1, 2]


def test_rows_with_nan_differ_otherwise():
    assert pt.unique(ROWS, axis=0, equal_nan=False).eval().shape == (4, 2)


def test_inverse_indices_make_the_slices_again():
    x = np.random.default_rng(1).integers(0, 2, (2, 40, 2))
    values, inverse = pt.unique(x, return_inverse=True, axis=1)
    np.testing.assert_array_equal(pt.take(values, inverse, axis=1).eval(), x)


def test_the_order_of_many_rows():
    x = np.random.default_rng(2).integers(0, 9, (350_000, 3)).astype("float32")
    np.testing.assert_array_equal(RowOrder()(x).eval(), np.lexsort(x.T[::-1]))


@pytest.mark.parametrize("x", [pt.dscalar("x"), pt.dvector("x"), pt.dtensor3("x")])
def test_rows_are_of_matrices(x):
    with pytest.raises(ShapeError, match="rows of a matrix"):
        RowOrder()(x)
