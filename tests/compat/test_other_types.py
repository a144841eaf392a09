"""``None`` and slices as variables."""

from __future__ import annotations

from phintys.compat.other_types import NoneConst, NoneTypeT, SliceType
from phintys.graph import Constant


def test_the_types_of_none_and_of_slices_are_types():
    again = Constant(NoneTypeT(), None, name="NoneConst")
    assert again.type == NoneConst.type
    assert isinstance(again.type, NoneTypeT)
    assert SliceType() == SliceType().clone()
