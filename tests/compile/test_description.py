"""What inspect and help say of compiled functions."""

import copy
import functools
import inspect
import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import In

X, A, N = pt.dvector("x"), pt.dscalar("a"), pt.lscalar("n")
SHARED = phintys.shared(1.0, name="s")


@pytest.mark.parametrize("mode", ["native", "reference", "debug"])
def test_the_signature_has_names_types_and_defaults(mode):
    f = phintys.function([X, In(A, value=2.0)], X * A, mode=mode)
    signature = inspect.signature(f)
    assert list(signature.parameters) == ["x", "a"]
    assert signature.parameters["x"].annotation == X.type
    assert signature.parameters["x"].default is inspect.Parameter.empty
    assert signature.parameters["a"].default == 2.0
    bound = signature.bind(np.ones(2), a=3.0)
    np.testing.assert_array_equal(f(*bound.args, **bound.kwargs), [3.0, 3.0])


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ([pt.dscalar(), X], "(input_0: Scalar(float64), /, x: Vector(float64, shape=(?,)))"),
        ([A, pt.dscalar("a")], "(input_0: Scalar(float64), input_1: Scalar(float64), /)"),
        ([pt.dscalar("a b")], "(input_0: Scalar(float64), /)"),
        ([pt.dscalar("lambda")], "(input_0: Scalar(float64), /)"),
        ([In(N, value=3), A], "(n: Scalar(int64) = array(3), *, a: Scalar(float64))"),
        ([], "()"),
    ],
)
def test_names_that_are_no_keywords(inputs, expected):
    f = phintys.function(inputs, 2 * SHARED, on_unused_input="ignore")
    assert str(inspect.signature(f)).removesuffix(" -> Scalar(float64)") == expected


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (A + 1, "Scalar(float64)"),
        ([A + 1], "[Scalar(float64)]"),
        ({"one": A + 1}, "{'one': Scalar(float64)}"),
        (None, "None"),
    ],
)
def test_the_form_of_what_is_returned(outputs, expected):
    f = phintys.function([A], outputs, updates={SHARED: SHARED + A})
    assert str(inspect.signature(f)) == f"(a: Scalar(float64)) -> {expected}"
    assert f"-> {expected}, updates s>" in repr(f)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_the_documentation_names_inputs_results_and_updates(mode):
    f = phintys.function([X], {"total": X.sum()}, updates={SHARED: X[0]}, name="add", mode=mode)
    assert inspect.getdoc(f) == f.__doc__
    lines = f.__doc__.splitlines()
    assert lines[0] == str(f).removeprefix("<Function ").split(", updates")[0]
    assert "x : Vector(float64, shape=(?,))" in lines
    assert "total : Scalar(float64)" in lines
    assert "s : Scalar(float64), updated" in lines
    assert phintys.Function.__doc__.startswith("A compiled function")
    assert "maker" in inspect.signature(phintys.Function).parameters


@pytest.mark.parametrize("name", ["total", None])
def test_functions_have_the_name_that_functions_of_python_have(name):
    f = phintys.function([X], X.sum(), name=name, mode="reference")

    @functools.wraps(f)
    def wrapped(x):
        return f(x)

    expected = name or "function"
    again = pickle.loads(pickle.dumps(f)), copy.copy(f), wrapped
    assert {one.__name__ for one in (f, *again)} == {expected}
    assert {one.__qualname__ for one in (f, *again)} == {expected}
    assert f.copy(name="other").__name__ == "other"


def test_help_names_the_line_that_compiled_it():
    f = phintys.function([X], X + 1)
    assert f'Compiled at File "{__file__}", line' in f.__doc__
    assert "f = phintys.function([X], X + 1)" in f.__doc__
    assert pickle.loads(pickle.dumps(f)).__doc__ == f.__doc__
    assert copy.copy(f).maker.origin is f.maker.origin
