"""Statistics of nothing name the function, and parts beyond the end are empty."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError

X = pt.dvector("x")


@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize(
    ("build", "name"),
    [
        (pt.median, "median"),
        (pt.nanmedian, "nanmedian"),
        (lambda x: pt.quantile(x, 0.3), "quantile"),
        (lambda x: pt.nanquantile(x, 0.3), "nanquantile"),
        (lambda x: pt.interp([1.0], x, x), "interp"),
        (lambda x: pt.histogram([1.0], x)[0], "histogram"),
    ],
)
def test_the_error_names_the_function(build, name, mode):
    with pytest.raises(ShapeError, match=f"{name}: .* must be at least 1, got 0"):
        phintys.function([X], build(X), mode=mode)(np.zeros(0))
    with pytest.raises(ShapeError, match=f"{name}: .* must be at least 1, got 0"):
        build(pt.constant(np.zeros(0)))


@pytest.mark.parametrize("cuts", [[7], [2, 9], [9, 9], [-9, 2], [2, -9], [5, 2], [1, 3]])
@pytest.mark.parametrize("is_known", [True, False])
def test_places_to_cut_are_bounds_of_slices(cuts, is_known):
    x = np.arange(4.0)
    parts = pt.array_split(pt.constant(x) if is_known else X, cuts)
    found = [part.eval({} if is_known else {X: x}).tolist() for part in parts]
    assert found == [part.tolist() for part in np.array_split(x, cuts)]
