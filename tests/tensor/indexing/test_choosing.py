import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import IndexingError

MODES = ("native", "reference")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", [None, 1])
def test_numbers_out_of_range_raise_where_there_is_one_choice(mode, length):
    x = pt.tensor("x", dtype="int32", shape=(length,))
    choices = pt.tensor("choices", dtype="float64", shape=(1,))
    f = phintys.function([x, choices], pt.choose(x, choices), mode=mode)
    np.testing.assert_array_equal(f(np.zeros(1, "int32"), [2.5]), [2.5])
    for number in (1, -1):
        with pytest.raises(IndexingError, match="out of range"):
            f(np.array([number], "int32"), [2.5])


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_numbers_for_one_choice_are_used(mode):
    x = pt.tensor("x", dtype="int32", shape=(1,))
    f = phintys.function([x], pt.choose(x, [2.5], mode))
    np.testing.assert_array_equal(f(np.array([7], "int32")), [2.5])
