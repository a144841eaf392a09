"""Rewrites that are registered for all functions, and Ops that are the identity."""

from __future__ import annotations

import importlib
import io

import numpy as np
import pytest

import phintys
from phintys.compat import install, registered, uninstall
from phintys.compat.registered import forget_all
from phintys.passes import PIPELINES


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


def test_names_are_unique_in_a_database(empty):
    theano, T = empty, empty.tensor
    rule = theano.gof.OpRemove(T.exp)
    optdb = theano.compile.optdb
    optdb["canonicalize"].register("mine", rule, "fast_run")
    with pytest.raises(ValueError, match="'mine' already"):
        optdb["canonicalize"].register("mine", rule, "fast_run")
    optdb.register("mine", theano.gof.TopoOptimizer(rule), 2, "fast_run")
    x = T.dscalar("x")
    assert theano.function([x], T.exp(x))(3.0) == 3.0
    with pytest.raises(KeyError, match="No single rewrite is named 'nothing'"):
        optdb["nothing"]
    assert "canonicalize" in optdb
    assert "nothing" not in optdb


def test_a_mode_includes_and_excludes_registered_tags(empty):
    theano, T = empty, empty.tensor
    early = theano.compile.get_mode("FAST_RUN").including("mine")
    optdb = theano.compile.optdb
    optdb["stabilize"].register("one", theano.gof.OpSub(T.exp, T.sin), "mine")
    optdb.register("two", theano.gof.TopoOptimizer(theano.gof.OpSub(T.sin, T.cosh)), "mine", 90)
    x = T.dscalar("x")

    def value(mode):
        return float(theano.function([x], T.exp(x), mode=mode)(0.5))

    plain = theano.compile.get_default_mode()
    assert value(plain) == pytest.approx(np.exp(0.5))
    # A mode has what is registered when a function is compiled.
    assert value(early) == value(plain.including("mine")) == pytest.approx(np.cosh(0.5))
    assert value(plain.including("two")) == pytest.approx(np.exp(0.5))
    assert value(plain.including("one")) == pytest.approx(np.sin(0.5))
    assert value(plain.including("mine").excluding("two")) == pytest.approx(np.sin(0.5))
    assert value(plain.including("mine").excluding("mine")) == pytest.approx(np.exp(0.5))
    compiled = theano.function([x], T.exp(x), mode=early)
    assert value(compiled.maker.mode.excluding("one")) == pytest.approx(np.exp(0.5))
    more = plain.register((theano.gof.TopoOptimizer(theano.gof.OpSub(T.exp, T.cos)), 1.0))
    assert value(more) == pytest.approx(np.cos(0.5))


def test_queries_of_the_passes(empty):
    theano, T = empty, empty.tensor
    optdb = theano.compile.optdb
    x = T.dvector("x")

    def rewritten(*query, y):
        fgraph = theano.gof.FunctionGraph([x], [y], clone=False)
        optdb.query(*query).rewrite(fgraph)
        return [str(node.op) for node in fgraph.toposort()]

    assert rewritten("+canonicalize", y=T.log(1 + x)) == ["Add", "Log"]
    assert rewritten("+fast_run", y=T.log(1 + x)) == ["Log1p"]
    assert rewritten("+fast_run", "-stabilize", y=T.log(1 + x)) == ["Add", "Log"]
    assert "stabilize" in optdb.query("+stabilize", "+canonicalize").pipeline.names
    query = theano.gof.Query(include=["fast_run"], position_cutoff=1.4)
    assert "stabilize" not in theano.Mode("py", query).pipeline.names
    with pytest.raises(ValueError, match=r"must begin with"):
        optdb.query("fast_run")
    fgraph = theano.gof.FunctionGraph([x], [T.log(1 + x)], clone=False)
    optdb["stabilize"].query("+stabilize").rewrite(fgraph)
    assert str(fgraph.outputs[0].owner.op) == "Log1p"


def test_positions_order_what_is_registered(empty):
    """Those at equal positions run in the order of their names, as there."""
    theano, T = empty, empty.tensor
    seen = []

    def note(name):
        @theano.gof.optimizer
        def step(fgraph):
            seen.append(name)

        return step

    optdb = theano.compile.optdb
    for name, position in [("d", 60), ("c", 3), ("b", 3), ("a", "last"), ("e", "first"), ("f", -1)]:
        optdb.register(name, note(name), "fast_run", position=position)
    x = T.dscalar("x")
    theano.function([x], x * 2)
    assert seen == ["e", "f", "b", "c", "d", "a"]


def test_every_pass_has_a_position():
    assert set(registered._POSITIONS) == {one.name for one in PIPELINES["full"]}
    order = [registered._POSITIONS[one.name] for one in PIPELINES["full"]]
    assert order == sorted(order)


@pytest.mark.parametrize("module", ["basic", "math", "elemwise", "shape", "linalg", "blas"])
def test_modules_of_rewrites_have_the_decorators(pytensor, module):
    found = importlib.import_module(f"pytensor.tensor.rewriting.{module}")
    pt = pytensor.tensor

    @found.register_specialize
    @found.node_rewriter([pt.exp])
    def local_mine(fgraph, node):
        return [pt.sin(node.inputs[0])]

    x = pt.dscalar("x")
    try:
        assert pytensor.function([x], pt.exp(x), mode="FAST_RUN")(0.5) == np.sin(0.5)
        useless = importlib.import_module("pytensor.tensor.rewriting.basic").register_useless
        useless("fast_compile")(found.node_rewriter([pt.cosh])(lambda fgraph, node: node.inputs))
        light = pytensor.function([x], pt.cosh(pt.exp(x)), mode="FAST_COMPILE")
        assert light(0.5) == np.exp(0.5)
    finally:
        forget_all()


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
