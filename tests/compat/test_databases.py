"""Rewrites that are registered for all functions, and Ops that are the identity."""

from __future__ import annotations

import importlib
import io

import numpy as np
import pytest

import phintys
from phintys._base.errors import ArgumentError
from phintys.compat import install, uninstall
from phintys.compat.databases import forget_all


@pytest.fixture(autouse=True)
def _default_mode():
    """The phases of the old packages are those of the default mode."""
    with phintys.config.change_flags(mode="native"):
        yield


@pytest.fixture
def empty(theano):
    """The package, with nothing registered."""
    forget_all()
    yield theano
    forget_all()


def ops_of(f):
    return [str(node.op) for node in f.maker.fgraph.toposort()]


def test_rules_of_a_phase_are_in_modes_by_name(empty):
    theano, T = empty, empty.tensor

    @importlib.import_module("theano.tensor.opt").register_canonicalize
    @theano.gof.local_optimizer([T.cosh])
    def local_one(node):
        return [T.ones_like(node.inputs[0])]

    x = T.dvector("x")
    for mode in (None, "FAST_RUN", theano.compile.get_default_mode(), theano.Mode("py")):
        assert theano.function([x], T.cosh(x), mode=mode)([2.0, 3.0]).tolist() == [1.0, 1.0]
    # A tag says so for others.
    assert theano.function([x], T.cosh(x), mode="FAST_COMPILE")([0.5])[0] == np.cosh(0.5)
    without = theano.compile.get_default_mode().excluding("local_one")
    assert theano.function([x], T.cosh(x), mode=without)([0.5])[0] == np.cosh(0.5)
    assert phintys.function([x], T.cosh(x))([0.5])[0] == np.cosh(0.5)


@pytest.mark.parametrize("phase", ["canonicalize", "stabilize", "specialize"])
def test_decorators_take_tags(empty, phase):
    theano, T = empty, empty.tensor
    register = getattr(importlib.import_module("theano.tensor.opt"), f"register_{phase}")

    @register("fast_compile")
    @theano.gof.local_optimizer([T.sinh])
    def local_zero(fgraph, node):
        return [T.zeros_like(node.inputs[0])]

    x = T.dvector("x")
    for mode in ("FAST_COMPILE", "FAST_RUN"):
        assert theano.function([x], T.sinh(x), mode=mode)([2.0]).tolist() == [0.0]


@pytest.mark.parametrize(("position", "seen"), [(0.5, "Exp"), (3, "Log1p"), ("last", "Log1p")])
def test_steps_have_a_position_among_the_passes(empty, position, seen):
    """log(1 + x) is stabilized between the two positions."""
    theano, T = empty, empty.tensor
    found = []

    @theano.gof.optimizer
    def looking(fgraph):
        found.extend(str(node.op) for node in fgraph.toposort())

    theano.compile.optdb.register("looking", looking, position, "fast_run", "my_tag")
    x = T.dvector("x")
    theano.function([x], T.log(1 + T.exp(-x) * 0 + x))
    assert ("Log1p" in found) == (seen == "Log1p")


def test_inplace_rules_of_the_tutorial(empty):
    theano, T = empty, empty.tensor

    class AddOne(theano.Op):
        __props__ = ("inplace",)

        def __init__(self, inplace=False):
            self.inplace = inplace
            if inplace:
                self.destroy_map = {0: [0]}

        def make_node(self, x):
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            (x,) = inputs
            output_storage[0][0] = np.add(x, 1, out=x) if self.inplace else x + 1

    @theano.gof.local_optimizer([AddOne])
    def local_inplace(node):
        return None if node.op.inplace else [AddOne(inplace=True)(*node.inputs)]

    step = theano.gof.TopoOptimizer(
        local_inplace, failure_callback=theano.gof.TopoOptimizer.warn_inplace
    )
    theano.compile.optdb.register("add_one_inplace", step, 76, "fast_run", "inplace")
    x = T.dvector("x")
    f = theano.function([x], [AddOne()(x * 2), x])
    assert "AddOne{inplace=True}" in ops_of(f)
    value = np.array([1.0, 2.0])
    assert [one.tolist() for one in f(value)] == [[3.0, 5.0], [1.0, 2.0]]
    g = theano.function([x], AddOne()(x))
    assert g(value).tolist() == [2.0, 3.0]
    assert value.tolist() == [1.0, 2.0]


def test_names_are_unique_and_other_methods_are_refused(empty):
    theano, T = empty, empty.tensor
    rule = theano.gof.OpRemove(T.exp)
    theano.compile.optdb["canonicalize"].register("mine", rule, "fast_run")
    with pytest.raises(ValueError, match="'mine' already"):
        theano.compile.optdb.register("mine", rule, 2)
    with pytest.raises(ArgumentError, match="phases canonicalize, stabilize, specialize"):
        theano.compile.optdb["fusion"]
    with pytest.raises(AttributeError, match="except for register"):
        theano.compile.optdb.query()


def test_what_was_registered_is_gone_with_the_package():
    install("theano")
    theano = importlib.import_module("theano")
    T = theano.tensor
    x = T.dvector("x")
    theano.compile.optdb["canonicalize"].register(
        "mine", theano.gof.OpSub(T.exp, T.sin), "fast_run"
    )
    assert theano.function([x], T.exp(x))([0.0])[0] == 0.0
    uninstall("theano")
    install("theano")
    assert importlib.import_module("theano").function([x], T.exp(x))([0.0])[0] == 1.0
    uninstall("theano")


def test_views_with_a_gradient_of_their_own(empty):
    """As recurrent networks clip gradients."""
    theano, T = empty, empty.tensor

    class GradClip(theano.compile.ViewOp):
        __props__ = ("bound",)

        def __init__(self, bound):
            self.bound = bound

        def grad(self, args, g_outs):
            return [T.clip(g, -self.bound, self.bound) for g in g_outs]

    clip = GradClip(0.5)
    register = importlib.import_module("theano.tensor.opt").register_canonicalize
    register(theano.gof.OpRemove(clip), name="grad_clip")
    x = T.dvector("x")
    cost = (clip(x) ** 2).sum()
    f = theano.function([x], [cost, T.grad(cost, x)])
    assert not any("GradClip" in name for name in ops_of(f))
    value, slope = f([0.1, 3.0])
    assert value == pytest.approx(9.01)
    assert slope.tolist() == [0.2, 0.5]
    view = theano.compile.ops.view_op
    assert T.grad((view(x) ** 2).sum(), x).eval({x: [3.0]}).tolist() == [6.0]
    assert T.Rop(view(x) ** 2, x, x).eval({x: [3.0]}).tolist() == [18.0]


def test_views_that_do_more_than_that_stay(empty):
    theano, T = empty, empty.tensor
    page = io.StringIO()

    class Shown(theano.compile.ViewOp):
        __props__ = ()

        def perform(self, node, inputs, output_storage):
            page.write(str(inputs[0].tolist()))
            output_storage[0][0] = inputs[0]

    x = T.dvector("x")
    theano.function([x], Shown()(x) * 2)([1.0])
    assert page.getvalue() == "[1.0]"
