"""Roots and minima under PyTensor's names."""

from __future__ import annotations

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.compat import solvers

_FUNCTIONS = {
    "minimize": solvers.MinimizeOp,
    "minimize_scalar": solvers.MinimizeScalarOp,
    "root": solvers.RootOp,
    "root_scalar": solvers.RootScalarOp,
}


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_classes_tell_which_function_made_an_op(name):
    x, a = pt.dscalar("x"), pt.dscalar("a")
    expression = x - a if name.startswith("root") else (x - a) ** 2
    solution, _success = getattr(solvers, name)(expression, x)
    op = solution.owner.op
    while not isinstance(op, solvers.ScipyWrapperOp):  # a scalar is a part of a vector
        solution = solution.owner.inputs[0]
        op = solution.owner.op
    assert [isinstance(op, cls) for cls in _FUNCTIONS.values()] == [
        name == other for other in _FUNCTIONS
    ]
    of_number = name.endswith("_scalar")
    assert isinstance(op, solvers.ScipyScalarWrapperOp) == of_number
    assert isinstance(op, solvers.ScipyVectorWrapperOp) != of_number


def test_an_op_is_applied_to_other_variables():
    x, a, b = pt.dscalars("x", "a", "b")
    op = solvers.MinimizeOp(x, a, b, objective=(x - (a + b)) ** 2, method="BFGS")
    c = pt.dscalar("c")
    solution, success = op(x, c, c)
    f = phintys.function([x, c], [solution, success, phintys.grad(solution, c)])
    np.testing.assert_allclose(f(0.0, 1.5), [3.0, 1.0, 2.0], rtol=1e-6)
    with pytest.raises(TypeError, match="base of classes"):
        solvers.ScipyWrapperOp(x, objective=x)


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_a_class_is_given_an_expression(name):
    expected = {"root": "equations", "root_scalar": "equation"}.get(name, "objective")
    cls = _FUNCTIONS[name]
    with pytest.raises(TypeError, match=rf"{cls.__name__}.* must be given {expected}="):
        cls(pt.dscalar("x"))
