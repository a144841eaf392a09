"""Methods that are functions of the same name."""

import inspect

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.graph.equality import equal_computations
from phintys.tensor.methods import FunctionMethods

ARGUMENTS = {
    "choose": ([[1, 2], [3, 4]],),
    "compress": ([True, False],),
    "argpartition": (1,),
    "partition": (1,),
}
TESTED_ELSEWHERE = {"device", "get_underlying_scalar_constant", "itemsize", "nbytes", "to_device"}
METHODS = sorted(name for name in vars(FunctionMethods) if not name.startswith("_"))


@pytest.mark.parametrize("name", [name for name in METHODS if name not in TESTED_ELSEWHERE])
def test_methods_are_the_functions(name):
    x = pt.lvector("x")
    args = ARGUMENTS.get(name, ())
    function = getattr(pt, name)
    wanted = function(*args, x) if name == "compress" else function(x, *args)
    assert equal_computations([getattr(x, name)(*args)], [wanted])


@pytest.mark.docstrings
@pytest.mark.parametrize("name", METHODS)
def test_methods_have_docstrings(name):
    assert inspect.getdoc(getattr(pt.lvector("x"), name))


def test_nonzero_values(evaluate):
    x = pt.dmatrix("x")
    a = np.array([[0.0, 3.0], [np.nan, 0.0]])
    np.testing.assert_array_equal(evaluate(x.nonzero_values(), {x: a}), a[a.nonzero()])


def test_bytes(evaluate):
    x = pt.fmatrix("x")
    a = np.ones((2, 3), "float32")
    assert (x.itemsize, evaluate(x.nbytes, {x: a})) == (a.itemsize, a.nbytes)


def test_options_are_those_of_the_function(evaluate):
    x = pt.dmatrix("x")
    a = np.array([[0.0, 3.0], [2.0, 7.0]])
    assert evaluate(x.ptp(axis=1, keepdims=True), {x: a}).tolist() == [[3.0], [5.0]]
    assert x.exp(name="y").name == "y"
