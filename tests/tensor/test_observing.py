"""Assert, CheckAndRaise, Print and Breakpoint: they look, and are as if not there."""

import builtins

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DtypeError
from phintys.graph import generic

MODES = ["reference", "native", "debug"]


@pytest.mark.parametrize("mode", MODES)
def test_a_condition_that_fails_raises_with_the_line(mode):
    x, y = pt.dvectors("x", "y")
    checked = pt.CheckAndRaise(KeyError, "not so")(x, (x > 0).all(), y < 5)  # the line
    f = phintys.function([x, y], checked * 2, mode=mode)
    assert f([1.0], [1.0]).tolist() == [2.0]
    for values in ([-1.0], [1.0]), ([1.0], [1.0, 7.0]):
        with pytest.raises(KeyError, match="not so") as caught:
            f(*values)
        assert "# the line" in "\n".join(caught.value.__notes__)


@pytest.mark.parametrize("mode", MODES)
def test_assert(mode):
    x = pt.dscalar("x")
    f = phintys.function([x], pt.assert_op(x, x > 0, True), mode=mode)
    assert f(3.0) == 3.0
    with pytest.raises(AssertionError, match="An Assert of the graph failed"):
        f(-3.0)
    never = phintys.function([], pt.Assert("constant")(pt.constant(1.0), False), mode=mode)
    with pytest.raises(AssertionError, match="constant"):
        never()


def test_what_is_no_condition():
    x = pt.zvector("x")
    with pytest.raises(DtypeError, match="bools or real numbers"):
        pt.Assert()(x, x)
    with pytest.raises(ArgumentError, match="class of exceptions"):
        pt.CheckAndRaise("ValueError")


def test_values_of_other_types():
    thing = generic("thing")
    f = phintys.function([thing], pt.assert_op(thing, True))
    assert f({"a": 1}) == {"a": 1}


def test_gradients_and_shapes_pass_through():
    x = pt.dvector("x")
    quiet = pt.Print("x", global_fn=lambda op, value: None)
    cost = (quiet(pt.assert_op(x, x.sum() > 0)) ** 2).sum()
    assert phintys.function([x], phintys.grad(cost, x))([1.0, 2.0]).tolist() == [2.0, 4.0]
    first, second = pt.Breakpoint(action=lambda op, values: None)(True, x, 3 * x)
    gradient = phintys.grad((first * second).sum(), x)
    assert phintys.function([x], gradient)([1.0, 2.0]).tolist() == [6.0, 12.0]
    tangent = phintys.Rop(pt.assert_op(x**2, True), x, x)
    assert phintys.function([x], tangent)([3.0]).tolist() == [18.0]
    shape = phintys.function([x], pt.assert_op(x, x > 0).shape)
    assert shape([-1.0, 2.0]).tolist() == [2]  # nobody needs the value, so nothing is checked


@pytest.mark.parametrize("mode", ["reference", "native"])
def test_print(mode, capsys):
    x = pt.dvector("x")
    f = phintys.function([x], pt.Print("x:", attrs=("shape", "__str__", "sum"))(x) + 1, mode=mode)
    f([1.0, 2.0])
    assert capsys.readouterr().out == "x: shape = (2,)\nx: __str__ = [1. 2.]\nx: sum = 3.0\n"
    printed = []
    show = pt.Print("m", global_fn=lambda op, value: printed.append((op.message, value.tolist())))
    phintys.function([], show(pt.constant([1.0])) * 2, mode=mode)()
    assert printed == [("m", [1.0])]


@pytest.mark.parametrize("mode", ["reference", "native"])
def test_breakpoint(mode, monkeypatch, capsys):
    stops = []
    monkeypatch.setattr(builtins, "breakpoint", lambda: stops.append(1))
    x = pt.dvector("x")
    f = phintys.function([x], pt.Breakpoint("big")(x.max() > 5, x) * 2, mode=mode)
    assert f([1.0]).tolist() == [2.0]
    assert (len(stops), capsys.readouterr().out) == (0, "")
    assert f([7.0]).tolist() == [14.0]
    assert len(stops) == 1
    assert "Breakpoint 'big'" in capsys.readouterr().out
    with pytest.raises(ArgumentError, match="at least one variable"):
        pt.Breakpoint()(True)


def test_a_breakpoint_knows_its_views():
    x, y = pt.dvectors("x", "y")
    node = pt.Breakpoint("b")(True, x, y)[0].owner
    assert node.op.view_map == {0: [1], 1: [2]}
    pattern = [[False, False], [True, False], [False, True]]
    assert pt.Breakpoint("b").connection_pattern(node) == pattern
    again = node.op.make_node(*node.inputs)
    assert again.op == node.op
    values = []
    stop = pt.Breakpoint(action=lambda op, given: values.append([v.tolist() for v in given]))
    f = phintys.function([x, y], stop((x > y).any(), x, y), mode="reference")
    f([1.0], [2.0])
    np.testing.assert_array_equal(f([3.0], [2.0]), [[3.0], [2.0]])
    assert values == [[[3.0], [2.0]]]
