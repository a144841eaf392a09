"""Functions whose arguments and results are nests."""

import copy
import inspect
import pickle
from dataclasses import dataclass, make_dataclass
from typing import Any

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.control import fori_loop
from phintys.optimize import minimize


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
    with pytest.raises(ArgumentError, match=r"Argument 0 of fit\(\) .* expected Line\("):
        fit(given, [1.0], [1.0])


def test_too_many_arguments(fit):
    with pytest.raises(ArgumentError, match="takes 3 arguments, got 4"):
        fit(Line(1.0, 2.0), [1.0], [1.0], 3)


def test_an_object_that_is_no_variable_in_a_nest(line):
    with pytest.raises(ArgumentError, match="got 'x' of type str"):
        phintys.function([{"a": "x"}], line.slope)


def test_it_shows_the_forms(fit):
    line = "Line(slope=Scalar(float64), height=Scalar(float64))"
    vector = "Vector(float64, shape=(?,))"
    assert (
        repr(fit)
        == f"<Function fit({line}, x: {vector}, y: {vector}) -> [Scalar(float64), {line}]>"
    )
    signature = str(inspect.signature(fit))
    assert signature == (
        f"(input_0: {line}, /, x: {vector}, y: {vector}) -> [Scalar(float64), {line}]"
    )
    assert fit.__doc__.startswith(f"fit({line}, x: {vector}")
    with pytest.raises(AttributeError):
        fit.nothing


FORMS = {
    "dict": lambda a, b: {"a": a, "b": b},
    "tuple": lambda a, b: (a, b),
    "dataclass": Line,
    "deep": lambda a, b: {"in": [(a,), {"b": [b]}]},
}
"""Nests around two values."""

COPIES = {
    "copy": lambda f: f.copy(),
    "named": lambda f: f.copy(name="other", share_memory=True),
    "without updates": lambda f: f.copy(delete_updates=True),
    "swapped": lambda f: f.copy(swap={f.get_shared()[0]: phintys.shared(0.0)}),
    "shallow": copy.copy,
    "deep": copy.deepcopy,
    "pickled": lambda f: pickle.loads(pickle.dumps(f)),
}


@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("form", FORMS)
def test_copies_take_and_return_nests(form, mode):
    make = FORMS[form]
    a, b, total = pt.dvector("a"), pt.dscalar("b"), phintys.shared(0.0)
    outputs = {"nest": make(a + total, b), "sum": a.sum() + b}
    f = phintys.function([make(a, b)], outputs, updates={total: total + b}, mode=mode)
    given = make(np.array([1.0, 2.0]), 3.0)
    for name, copied in COPIES.items():
        total.set_value(0.0)
        again = copied(f)
        assert isinstance(again, phintys.Function), name
        assert str(again(given)) == str(
            {"nest": make(np.array([1.0, 2.0]), np.array(3.0)), "sum": np.array(6.0)}
        ), name


@pytest.mark.parametrize("form", FORMS)
def test_some_outputs_are_computed(form):
    make = FORMS[form]
    a, b = pt.dscalars("a", "b")
    given, nest = make(1.0, 2.0), make(a, b)
    f = phintys.function([nest], [a - b, nest, {"b": b}])
    assert f(given, output_subset=[1]) == [given]
    assert f(given, output_subset=[2, 0]) == [{"b": 2}, -1]
    assert f(given, output_subset=[]) == []
    g = phintys.function([nest], {"x": nest, "y": a})
    assert g(given, output_subset=["y", "x"]) == {"y": 1, "x": given}
    wrongs: list[Any] = [[3], ["x"], "x", 0]
    for wrong in wrongs:
        with pytest.raises(ArgumentError, match="output_subset"):
            f(given, output_subset=wrong)
    with pytest.raises(ArgumentError, match="no output 0; it has"):
        g(given, output_subset=[0])


def test_attributes_are_those_of_the_function_itself(line):
    default = phintys.In(pt.dscalar("at"), value=2.0)
    f = phintys.function([line, default], [line, line.slope * default.variable + line.height])
    assert f(Line(3.0, 1.0))[1] == 7
    assert f["at"] == 2
    f["at"] = 4.0
    assert f(Line(3.0, 1.0))[1] == 13
    assert f.__name__ == "function"
    assert line.slope in f
    f.trust_input = True
    assert f.copy().trust_input


def test_a_wrong_value_is_named_by_its_path(line):
    f = phintys.function([pt.dscalar("x"), {"lines": [line]}], line.slope, on_unused_input="ignore")
    with pytest.raises(TypeError) as caught:
        f(1.0, {"lines": [Line(1.0, "high")]})
    note = caught.value.__notes__[0]
    assert note.startswith("Bad argument at ['lines'][0].height of argument 1 ('height')")
    assert "{'lines': [Line(slope=Scalar(float64), height=Scalar(float64))]}" in note


def test_a_class_that_was_defined_again_is_told_apart(line):
    f = phintys.function([line], line.slope - line.height)
    again = make_dataclass("Line", ["slope", "height"])
    takers = [
        f,
        lambda other: phintys.tree.map(max, line, other),
        lambda other: phintys.ifelse(line.slope > 0, line, other),
        lambda other: fori_loop(0, 2, lambda i, carry: other, line),
        lambda other: minimize((line.slope - line.height) ** 2, line, start=other),
    ]
    for take in takers:
        with pytest.raises(ArgumentError, match="another class of this name"):
            take(again(1.0, 2.0))
