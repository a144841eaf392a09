import itertools

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

INTEGERS = ["bool", "uint8", "uint32", "uint64", "int8", "int64"]
COEFFICIENTS = {"bool": [1, 0, 1, 1]}
PLACES = {"bool": [1, 0], "uint64": [2**20 + 1, 2**40 + 3]}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize(("of_p", "of_x"), list(itertools.product(INTEGERS, repeat=2)))
def test_polyval_of_integers_is_exact(of_p, of_x, mode):
    """For an unknown number of coefficients too, and modulo 2**64, as NumPy's."""
    p, x = (pt.tensor(dtype=dtype, shape=(None,)) for dtype in (of_p, of_x))
    values = (
        np.array(COEFFICIENTS.get(of_p, [3, 1, 2, 77]), of_p),
        np.array(PLACES.get(of_x, [9, 5]), of_x),
    )
    with np.errstate(all="ignore"):
        expected = np.polyval(*values)
        found = phintys.function([p, x], pt.polyval(p, x), mode=mode)(*values)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
