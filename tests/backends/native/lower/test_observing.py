"""Checks that users write are native; what prints is called."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.steps.callback import Callback
from phintys.compile import In
from phintys.graph.fgraph import FunctionGraph


def test_checks_that_hold(compare):
    x, n = pt.dvector("x"), pt.lscalar("n")
    checked = pt.Assert("positive")(x, x > 0, n)
    compare([x, n], [pt.log(checked), checked.sum()], [np.array([1.0, 2.0]), np.array(3)])


@pytest.mark.parametrize("mutable", [False, True])
def test_checks_that_do_not(mutable):
    x = pt.dvector("x")
    checked = pt.CheckAndRaise(KeyError, "too large")(x, (x < 10).all())
    f = phintys.function([In(x, mutable=mutable)], pt.exp(checked) + x[0])
    with pytest.raises(KeyError, match="too large"):
        f(np.array([1.0, 20.0]))
    assert f(np.zeros(2)).tolist() == [1, 1]


def test_a_condition_that_is_not_a_number_is_true():
    x, c = pt.dvector("x"), pt.dvector("c")
    f = phintys.function([x, c], pt.Assert("never")(x, c))
    assert f([1.0], [np.nan, 1.0]).tolist() == [1]
    assert f([1.0], []).tolist() == [1]
    with pytest.raises(AssertionError, match="never"):
        f([1.0], [1.0, 0.0])


def test_prints_are_called(capsys):
    x = pt.dvector("x")
    out = pt.Print("x is")(x * 2) + 1
    program = lower_program(FunctionGraph([x], [out], clone=True))
    (callback,) = [step for step in program.steps if isinstance(step, Callback)]
    assert callback.why == "Print has no lowering"
    phintys.function([x], out)([1.0])
    assert capsys.readouterr().out.startswith("x is __str__ = [2.]")
