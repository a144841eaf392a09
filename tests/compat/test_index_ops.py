"""Classes of Ops of indexing."""

from __future__ import annotations

import numpy as np
import pytest

import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.compat import op_families

VALUE = np.arange(12.0).reshape(3, 4)
i64 = ps.int64


@pytest.fixture
def x():
    return pt.dmatrix("x")


@pytest.mark.parametrize(
    ("template", "indices", "index"),
    [
        ([slice(None), 1], (), np.s_[:, 1]),
        ([i64], (2,), np.s_[2]),
        ([slice(i64, None, None), i64], (1, 3), np.s_[1:, 3]),
        ([slice(i64, i64, i64)], (2, None, -1), np.s_[2::-1]),
        # Positions, as in PyTensor:
        ([0], (2,), np.s_[2]),
        ([1, slice(0, None, None)], (1, 2), np.s_[2, 1:]),
    ],
)
def test_a_template_is_filled_with_indices(x, template, indices, index):
    part = op_families.Subtensor(template)(x, *indices)
    np.testing.assert_array_equal(part.eval({x: VALUE}), VALUE[index])
    assert isinstance(part.owner.op, op_families.Subtensor)
    added = op_families.IncSubtensor(template)(x, 10.0, *indices)
    expected = VALUE.copy()
    expected[index] += 10
    np.testing.assert_array_equal(added.eval({x: VALUE}), expected)
    assert isinstance(added.owner.op, op_families.IncSubtensor)
    replaced = op_families.IncSubtensor(template, set_instead_of_inc=True)(x, 10.0, *indices)
    expected[index] = 10
    np.testing.assert_array_equal(replaced.eval({x: VALUE}), expected)


def test_elements_by_arrays(x):
    rows, columns = np.array([0, 0, 2]), np.array([1, 1, 3])
    found = op_families.AdvancedSubtensor()(x, rows, columns)
    np.testing.assert_array_equal(found.eval({x: VALUE}), VALUE[rows, columns])
    assert isinstance(found.owner.op, op_families.AdvancedSubtensor)
    by_position = op_families.AdvancedSubtensor([1, 0])(x, columns[:2], rows[:2])
    np.testing.assert_array_equal(by_position.eval({x: VALUE}), VALUE[rows[:2], columns[:2]])
    added = op_families.AdvancedIncSubtensor()(x, 1.0, rows, columns)
    expected = VALUE.copy()
    np.add.at(expected, (rows, columns), 1.0)
    np.testing.assert_array_equal(added.eval({x: VALUE}), expected)
    replaced = op_families.AdvancedIncSubtensor(False, True)(x, 7.0, rows, columns)
    expected[rows, columns] = 7
    np.testing.assert_array_equal(replaced.eval({x: VALUE}), expected)


def test_places_and_indices_must_be_as_many(x):
    with pytest.raises(ArgumentError, match="more places than the 1 indices"):
        op_families.Subtensor([i64, i64])(x, 1)
    with pytest.raises(ArgumentError, match="has 1 places for indices; got 2"):
        op_families.Subtensor([i64])(x, 1, 2)
