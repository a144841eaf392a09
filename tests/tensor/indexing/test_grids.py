"""Grids and joins that are written with brackets."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt


@pytest.mark.parametrize("key", [np.s_[0:3, 1:2:4j], np.s_[2:9:3], np.s_[:2, 0:1, 0:4:2]])
@pytest.mark.parametrize("name", ["mgrid", "ogrid"])
def test_grids_are_those_of_numpy(name, key):
    found, wanted = getattr(pt, name)[key], getattr(np, name)[key]
    if not isinstance(wanted, tuple):
        found, wanted = (found,), (wanted,)
    for a, b in zip(found, wanted, strict=True):
        value = a.eval()
        assert value.dtype == b.dtype
        np.testing.assert_allclose(value, b)


def test_a_grid_may_be_symbolic():
    n = pt.lscalar("n")
    f = phintys.function([n], pt.mgrid[0:n, 0:2])
    assert f(3).tolist() == np.mgrid[0:3, 0:2].tolist()


def test_numbers_arrays_and_ranges_are_joined():
    x = pt.dvector("x")
    value = np.array([5.0, 6.0])
    assert pt.r_[0, x, 1:3].eval({x: value}).tolist() == np.r_[0, value, 1:3].tolist()
    assert pt.c_[x, x + 1].eval({x: value}).tolist() == np.c_[value, value + 1].tolist()
    assert pt.r_[1:2:3j].eval().tolist() == np.r_[1:2:3j].tolist()


def test_a_directive_in_a_string_is_refused():
    with pytest.raises(TypeError, match=r"pt\.concatenate"):
        pt.r_["r", 1]
