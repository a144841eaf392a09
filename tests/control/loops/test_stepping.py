"""Checks of numbers of steps that are left where a loop has gone."""

import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError
from phintys.control.loops.stepping import StepCount


@pytest.mark.parametrize("mode", ["native", "reference", "debug"])
def test_a_number_of_steps_is_checked_as_by_a_loop(mode):
    n, x = pt.lscalar("n"), pt.dvector("x")
    checked = StepCount()(n, n, 0), StepCount(1)(n, x.shape[0], n)
    f = phintys.function([n, x], checked, mode=mode)
    assert [int(value) for value in f(2, [1.0, 2.0])] == [2, 2]
    with pytest.raises(ArgumentError, match="cannot have -1 steps"):
        f(-1, [1.0])
    with pytest.raises(ShapeError, match="Sequence 1 of a loop of 3 steps has 2 rows"):
        f(3, [1.0, 2.0])


def test_what_is_checked_differs():
    assert StepCount(1) != StepCount(2)
    assert str(StepCount(1)) == "StepCount{sequence=1}"
