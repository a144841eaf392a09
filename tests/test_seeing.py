"""What a person sees of graphs and functions: dprint, pprint, repr."""

import io
import re

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import TypeContractError


@pytest.fixture
def function():
    x = pt.dvector("x")
    total = phintys.shared(np.zeros(2), name="total")
    return phintys.function(
        [x], pt.exp(x).sum(), updates={total: total + x}, profile=True, name="f"
    )


def test_a_function_is_printed_with_its_updates(function):
    assert phintys.dprint(function, file="str").splitlines() == [
        "Sum [id A] 1",
        " └─ Exp [id B] 0",
        "     └─ x [id C]",
        "Add [id D] 2 updates total",
        " ├─ total [id E]",
        " └─ x [id C]",
    ]


def test_types_shapes_and_marks():
    x, y = pt.matrices("x", "y")
    text = phintys.dprint(
        pt.inplace.add_inplace(x.T, y),
        file="str",
        print_type=True,
        print_shape=True,
        print_destroy_map=True,
        print_view_map=True,
    )
    assert text.splitlines()[:2] == [
        "Add{inplace 0->0} [id A] <Matrix(float64, shape=(?, ?))> shape=(None, None) d={0: [0]}",
        " ├─ Transpose{1,0} [id B] <Matrix(float64, shape=(?, ?))> shape=(None, None) v={0: [0]}",
    ]


def test_values_of_shared_variables():
    s = phintys.shared(np.array([1.0, 2.0]), name="s")
    assert "s [id B] storage=array([1., 2.])" in phintys.dprint(
        s * 2, file="str", print_storage=True
    )


def test_the_lines_of_the_program():
    x = pt.vector("x")
    y = pt.exp(x)
    text = phintys.dprint(y, file="str", print_origin=True)
    assert "test_seeing.py" in text


def test_the_times_of_a_function(function):
    function([1.0, 2.0])
    for profile in (True, function.profile, function.profile.node_seconds):
        header, *lines = phintys.dprint(function, file="str", profile=profile).splitlines()
        assert header.split() == ["seconds", "share"]
        assert re.match(r" *\d\.\d{3}e-\d\d +\d+\.\d%  Sum \[id A\]", lines[0])
        assert lines[2].strip() == "└─ x [id C]"
    shares = [float(share) for share in re.findall(r"(\d+\.\d)%", "\n".join(lines))]
    assert sum(shares) == pytest.approx(100, abs=0.5)


@pytest.mark.parametrize(
    ("profile", "fragment"), [(True, "compile with"), (3, "got 3"), ("all", "got 'all'")]
)
def test_wrong_profiles(profile, fragment):
    x = pt.vector("x")
    with pytest.raises(TypeContractError, match=fragment):
        phintys.dprint(phintys.function([x], x * 2), profile=profile, file="str")


def test_printing_goes_to_standard_output_or_a_file(capsys):
    x = pt.vector("x")
    phintys.dprint(x)
    file = io.StringIO()
    phintys.dprint(x, file=file)
    assert capsys.readouterr().out == file.getvalue() == "x [id A]\n"
    assert phintys.dprint is phintys.debugprint


def test_pprint_of_a_gradient():
    x = pt.dscalar("x")
    cost = (pt.exp(x) + x) ** 2
    assert phintys.pprint(cost) == "(exp(x) + x) ** 2.0"
    slope = phintys.function([x], phintys.grad(cost, x), mode="reference").maker.fgraph.outputs[0]
    assert "exp(x)" in phintys.pprint(slope)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: pt.dmatrix("x"), "x"),
        (lambda: pt.dmatrix("x") + 1, "Add.0"),
        (pt.dmatrix, "<Matrix(float64, shape=(?, ?))>"),
        (lambda: pt.constant(2.5), "TensorConstant{2.5}"),
        (lambda: phintys.shared(1.0), "<shared Scalar(float64)>"),
        (lambda: phintys.shared(1.0, name="s"), "s"),
        (lambda: pt.exp, "Exp"),
        (lambda: pt.dmatrix, "Matrix(float64, shape=(?, ?))"),
        (lambda: (pt.dmatrix("x") @ pt.dmatrix("y")).owner, "Dot(x, y)"),
        (
            lambda: phintys.function([pt.dscalar("x")], [], name="f", on_unused_input="ignore"),
            "<Function f(x: Scalar(float64)) -> []>",
        ),
    ],
)
def test_repr_is_for_people(make, text):
    assert repr(make()) == text


def test_repr_of_a_function_with_everything(function):
    assert repr(function) == (
        "<Function f(x: Vector(float64, shape=(?,))) -> Scalar(float64), updates total>"
    )
