"""Functions whose arguments and results are nests."""

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError


@dataclass
class Line:
    slope: Any
    height: Any


@pytest.fixture(scope="module")
def line():
    return Line(pt.dscalar("slope"), pt.dscalar("height"))


@pytest.fixture(scope="module")
def fit(line):
    x, y = pt.dvectors("x", "y")
    cost = ((line.slope * x + line.height - y) ** 2).mean()
    return phintys.function([line, x, y], (cost, phintys.grad(cost, line)), name="fit")


def test_gradients_have_the_form_of_the_parameters(fit):
    cost, gradient = fit(Line(1.0, 0.0), [1.0, 3.0], [3.0, 5.0])
    assert cost == 4
    assert gradient == Line(-8, -4)


def test_inputs_after_the_nests_are_given_by_name(fit):
    x = np.array([1.0, 3.0])
    assert fit(Line(1.0, 0.0), x, y=x)[0] == 0
    assert fit(Line(1.0, 0.0), y=x, x=x)[0] == 0


def test_it_is_pickled(fit):
    again = pickle.loads(pickle.dumps(fit))
    assert again(Line(1.0, 0.0), [1.0, 3.0], [3.0, 5.0])[0] == 4


def test_all_forms_of_results(line):
    total = line.slope + line.height
    values = {"a": (1.0, [2.0])}
    both = pt.dscalar("p"), pt.dscalar("q")
    nest = {"a": (both[0], [both[1]])}
    assert phintys.function([nest], {"sum": {"of": sum(both)}})(values) == {"sum": {"of": 3}}
    assert phintys.function([nest], both[0] - both[1])(values) == -1
    nothing = phintys.function([nest], on_unused_input="ignore")
    assert nothing(values) is None
    assert phintys.function([line], [total, {"twice": 2 * total}])(Line(1.0, 2.0)) == [
        3,
        {"twice": 6},
    ]
    assert phintys.function([line], Line(total, line.slope))(Line(1.0, 2.0)) == Line(3, 1)


def test_gradients_in_a_list_are_outputs():
    x, y = pt.dscalars("x", "y")
    cost = x**2 * y
    f = phintys.function([x, y], [cost, phintys.grad(cost, [x, y]), []])
    assert f(3.0, 2.0) == [18, [12, 9], []]
    assert phintys.function([x], [[x]])(1.0) == [[1]]


def test_arrays_may_be_lists_and_updates_are_made():
    vector, count = pt.dvector("v"), phintys.shared(0.0)
    f = phintys.function([{"v": vector}], vector.sum(), updates={count: count + 1})
    assert f({"v": [1.0, 2.0]}) == 3
    assert count.get_value() == 1
    with pytest.raises(TypeError, match="dimensions"):
        f({"v": [[1.0]]})
    assert count.get_value() == 1


@pytest.mark.parametrize(
    "given", [None, 1.0, (1.0, 2.0), {"slope": 1.0, "height": 2.0}, Line(1.0, Line(1.0, 2.0))]
)
def test_arguments_of_another_form(fit, given):
    if isinstance(given, Line):
        with pytest.raises(TypeError, match="height"):
            fit(given, [1.0], [1.0])
        return
    with pytest.raises(ArgumentError, match=r"Argument 0 of <Function fit.* expected Line\("):
        fit(given, [1.0], [1.0])


def test_too_many_arguments(fit):
    with pytest.raises(ArgumentError, match="takes 3 arguments, got 4"):
        fit(Line(1.0, 2.0), [1.0], [1.0], 3)


def test_an_object_that_is_no_variable_in_a_nest(line):
    with pytest.raises(ArgumentError, match="got 'x' of type str"):
        phintys.function([{"a": "x"}], line.slope)


def test_it_shows_the_forms(fit):
    shown = "<Function fit(Line(slope=*, height=*), *, *) -> [*, Line(slope=*, height=*)]>"
    assert repr(fit) == shown
    assert fit.maker.outputs
    with pytest.raises(AttributeError):
        fit.nothing
