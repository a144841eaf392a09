"""``None`` and slices as variables."""

from __future__ import annotations

import numpy as np

import phintys
import phintys.tensor as pt
from phintys.compat.old_classes import NoneConst, NoneTypeT, SliceType, make_slice
from phintys.graph import Constant


def test_the_types_of_none_and_of_slices_are_types():
    again = Constant(NoneTypeT(), None, name="NoneConst")
    assert again.type == NoneConst.type
    assert isinstance(again.type, NoneTypeT)
    assert SliceType() == SliceType().clone()


def test_slices_are_made_to_index_variables_with():
    x, n = pt.dvector("x"), pt.lscalar("n")
    parts = [x[make_slice(1, n)], x[make_slice(None, None, -1)], x[make_slice(slice(n, None))]]
    found = phintys.function([x, n], parts)(np.arange(4.0), 3)
    assert [one.tolist() for one in found] == [[1.0, 2.0], [3.0, 2.0, 1.0, 0.0], [3.0]]
