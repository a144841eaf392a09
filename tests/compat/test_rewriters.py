"""Rules and steps of rewriting as they were written."""

from __future__ import annotations

import importlib
from functools import singledispatch

import numpy as np
import pytest

import phintys
import phintys.tensor
import phintys.tensor as pt
from phintys.compat import install, rewriters, uninstall
from phintys.compat.adapters import DimShuffle
from phintys.compat.features import ReplaceValidate
from phintys.compat.op_families import Max, Sum
from phintys.compat.rewriters import LocalOptimizer, TopoOptimizer, local_optimizer
from phintys.compat.tensors import Unique
from phintys.graph import FunctionGraph


@pytest.fixture
def T(theano):
    return theano.tensor


@pytest.fixture
def product_over_factor(T):
    """A graph of ``x * y / y`` or ``y * x / y``."""

    def make(swapped=False):
        x, y = T.dscalar("x"), T.dscalar("y")
        product = y * x if swapped else x * y
        return FunctionGraph([x, y], [T.true_div(product, y)], clone=False)

    return make


def quotient(node, mul, true_div):
    """Return the other factor where a node divides a product by one of its factors."""
    if node.op != true_div:
        return None
    x, y = node.inputs
    if x.owner is None or x.owner.op != mul:
        return None
    a, b = x.owner.inputs
    return b if y is a else a if y is b else None


@pytest.mark.parametrize("swapped", [False, True])
def test_optimizer(theano, T, product_over_factor, swapped):
    class Simplify(theano.gof.Optimizer):
        def add_requirements(self, fgraph):
            fgraph.attach_feature(ReplaceValidate())

        def apply(self, fgraph):
            for node in fgraph.toposort():
                other = quotient(node, T.mul, T.true_div)
                if other is not None:
                    fgraph.replace_validate(node.outputs[0], other)

    fgraph = product_over_factor(swapped)
    Simplify().optimize(fgraph)
    assert fgraph.outputs == [fgraph.inputs[0]]
    assert Simplify().name == "Simplify"


@pytest.mark.parametrize("with_graph", [False, True])
@pytest.mark.parametrize("order", ["in_to_out", "out_to_in"])
def test_local_optimizer_classes(theano, T, product_over_factor, with_graph, order):
    class Older(theano.gof.LocalOptimizer):
        def __init__(self, wanted):
            self.wanted = wanted

        def tracks(self):
            return []

        def transform(self, node):
            other = quotient(node, T.mul, self.wanted)
            return [other] if other is not None else False

    class Newer(theano.gof.LocalOptimizer):
        def tracks(self):
            return [T.true_div]

        def transform(self, fgraph, node):
            other = quotient(node, T.mul, T.true_div)
            return [other] if other is not None else None

    rule = Newer() if with_graph else Older(T.true_div)
    assert rule.tracks == ((T.true_div,) if with_graph else None)
    fgraph = product_over_factor()
    theano.gof.TopoOptimizer(rule, order=order).optimize(fgraph)
    assert fgraph.outputs == [fgraph.inputs[0]]
    fgraph = product_over_factor()
    rule.optimize(fgraph)
    assert fgraph.outputs == [fgraph.inputs[0]]


@pytest.mark.docstrings
def test_decorated_rules(theano, T):
    @theano.gof.local_optimizer([T.exp])
    def forget_exp(node):
        """exp(x) -> x"""
        return [node.inputs[0]] if node.op == T.exp else False

    @theano.gof.local_optimizer([T.exp])
    def forget_exp_too(fgraph, node):
        """exp(x) -> x"""
        return [node.inputs[0]]

    node = T.exp(T.dvector("x")).owner
    for rule in (forget_exp, forget_exp_too):
        assert rule.transform(None, node) == [node.inputs[0]]
        assert rule.equation == "exp(x) -> x"
        mode = theano.compile.get_default_mode().adding(rule)
        assert phintys.function([node.inputs[0]], node.outputs[0], mode=mode)([2.0]) == [2.0]


def test_patterns_and_substitutions(theano, T, product_over_factor):
    gof = theano.gof
    rules = [
        gof.PatternSub((T.true_div, (T.mul, "x", "y"), "y"), "x"),
        gof.OpSub(T.sin, T.cos),
        gof.OpRemove(T.exp),
    ]
    fgraph = product_over_factor()
    gof.EquilibriumOptimizer(rules, max_use_ratio=10).optimize(fgraph)
    assert fgraph.outputs == [fgraph.inputs[0]]
    x = T.dscalar("x")
    fgraph = FunctionGraph([x], [T.sin(T.exp(x))], clone=False)
    gof.SeqOptimizer(gof.in2out(gof.LocalOptGroup(*rules)), gof.MergeOptimizer()).optimize(fgraph)
    assert fgraph.outputs[0].owner.op == T.cos
    assert fgraph.outputs[0].owner.inputs == [x]


def test_constraints_of_patterns(theano, T):
    positive = {"pattern": "x", "constraint": lambda v: v.name == "p"}
    rule = theano.gof.PatternSub((T.sqrt, (T.sqr, positive)), "x")
    for name, simplified in (("p", True), ("q", False)):
        v = T.dscalar(name)
        fgraph = FunctionGraph([v], [T.sqrt(T.sqr(v))], clone=False)
        theano.gof.out2in(rule).optimize(fgraph)
        assert (fgraph.outputs == [v]) is simplified


def test_a_function_as_step(theano, T):
    seen = []

    @theano.gof.optimizer
    def look(fgraph):
        seen.append(len(fgraph.apply_nodes))

    x = T.dscalar("x")
    look(FunctionGraph([x], [x + 1]))
    assert (seen, look.name) == ([1], "look")


@pytest.fixture(params=["aesara", "pytensor"])
def newer(request):
    install(request.param)
    yield importlib.import_module(f"{request.param}.graph.rewriting.basic")
    uninstall(request.param)


def test_rewriters_of_the_newer_packages(newer):
    pt = phintys.tensor

    class Rule(newer.NodeRewriter):
        def __init__(self):
            super().__init__()

        def tracks(self):
            return [pt.exp]

        def transform(self, fgraph, node):
            below = node.inputs[0].owner
            return [below.inputs[0]] if below and below.op == pt.log else False

    class Whole(newer.GraphRewriter):
        def add_requirements(self, fgraph):
            fgraph.attach_feature(ReplaceValidate())

        def apply(self, fgraph):
            for node in fgraph.toposort():
                if node.op == pt.log:
                    fgraph.replace_validate(node.outputs[0], pt.log2(node.inputs[0]))

    x = pt.dvector("x")
    named = newer.PatternNodeRewriter((pt.exp, (pt.log, "x")), "x")
    for rule in (Rule(), named):
        assert isinstance(rule, newer.NodeRewriter)
        fgraph = FunctionGraph([x], [pt.exp(pt.log(x))], clone=False)
        newer.WalkingGraphRewriter(rule).rewrite(fgraph)
        assert fgraph.outputs == [x]
    assert not isinstance(named, Rule)
    assert isinstance(Whole(), newer.GraphRewriter)
    fgraph = FunctionGraph([x], [pt.log(x)], clone=False)
    steps = newer.SequentialGraphRewriter(
        Whole(), newer.EquilibriumGraphRewriter([newer.SubstitutionNodeRewriter(pt.log2, pt.sqrt)])
    )
    steps.rewrite(fgraph)
    assert str(fgraph.outputs[0].owner) == "Sqrt(x)"


def test_walks_of_the_old_packages(newer):
    pt = phintys.tensor
    x = pt.dvector("x")
    rule = newer.PatternNodeRewriter((pt.exp, (pt.exp, "x")), (pt.exp, "x"))
    for rewriter, left in (
        (newer.WalkingGraphRewriter(rule), 1),
        (newer.WalkingGraphRewriter(rule, order="out_to_in"), 1),
        (newer.WalkingGraphRewriter(rule, "out_to_in", ignore_newtrees=True), 2),
        (newer.in2out(rule), 1),
        (newer.out2in(rule, ignore_newtrees=True, name="named"), 2),
    ):
        fgraph = FunctionGraph([x], [pt.exp(pt.exp(pt.exp(x)))], clone=False)
        rewriter.rewrite(fgraph)
        assert len(fgraph.apply_nodes) == left
    with pytest.raises(ValueError, match="in_to_out"):
        newer.WalkingGraphRewriter(rule, order="both")


def test_a_rule_for_one_op(newer):
    pt = phintys.tensor
    x = pt.dvector("x")
    fgraph = FunctionGraph([x], [pt.exp(pt.log(pt.exp(pt.log(x))))], clone=False)
    rule = newer.PatternNodeRewriter((pt.exp, (pt.log, "x")), "x")
    newer.OpKeyGraphRewriter(rule).rewrite(fgraph)
    assert fgraph.outputs == [x]


def test_what_rules_build_has_the_origin_of_its_node(newer):
    pt = phintys.tensor

    @newer.node_rewriter([pt.exp])
    def as_power(fgraph, node):
        return [newer.copy_stack_trace(node.outputs, pt.exp2(node.inputs[0] / np.log(2.0)))]

    x = pt.dvector("x")
    y = pt.exp(x)
    line = y.owner.origin
    fgraph = FunctionGraph([x], [y], clone=False)
    newer.in2out(as_power).rewrite(fgraph)
    assert str(fgraph.outputs[0].owner.op) == "Exp2"
    assert all(node.origin == line for node in fgraph.apply_nodes)


def test_rewriting_with_some_passes(aesara):
    from aesara.graph.rewriting.utils import rewrite_graph

    pt = phintys.tensor
    x = pt.dvector("x")
    y = pt.log(1 + x) + (x - x)
    assert str(rewrite_graph(pt.log(1 + x)).owner) != "Log1p(x)"
    assert str(rewrite_graph(pt.log(1 + x), include=["fast_run"]).owner) == "Log1p(x)"
    ratio = pt.constant(6) // pt.constant(2)
    assert rewrite_graph(ratio).data == 3
    assert rewrite_graph(pt.ones(3).shape[0]).data == 3
    found = rewrite_graph([y, x], include=("canonicalize", "stabilize", "local_of_old"))
    assert "Log1p" in phintys.dprint(found[0], file="str")
    assert found[1] is x
    kept = rewrite_graph(pt.log(1 + x), include=("fast_run",), exclude=("stabilize", "nothing"))
    assert "Log1p" not in phintys.dprint(kept, file="str")
    rule = aesara.graph.rewriting.basic.PatternNodeRewriter((pt.log1p, "x"), "x")
    custom = aesara.graph.rewriting.basic.in2out(rule)
    assert rewrite_graph(pt.log1p(x), include=(), custom_rewrite=custom) is x
    fgraph = FunctionGraph([x], [pt.log(1 + x)], clone=False)
    assert rewrite_graph(fgraph, include=("stabilize",)) is fgraph
    assert str(fgraph.outputs[0].owner) == "Log1p(x)"


def _by_decorator(tracks, seen):
    @local_optimizer(list(tracks))
    def rule(node):
        seen.append(node)

    return rule


def _by_new_decorator(tracks, seen):
    @rewriters.node_rewriter(list(tracks))
    def rule(fgraph, node):
        seen.append(node)

    return rule


def _by_class(tracks, seen):
    class Rule(LocalOptimizer):
        def tracks(self):
            return list(tracks)

        def transform(self, fgraph, node):
            seen.append(node)

    return Rule()


@pytest.mark.parametrize("make", [_by_decorator, _by_new_decorator, _by_class])
def test_rules_track_classes_that_stand_for_others(make):
    """A class of some Ops of one class here, or of none: the rule gets its nodes only."""
    x = pt.dmatrix("x")
    whole = x.max() + x.sum() + x.T.sum()

    def nodes_for(*tracks):
        seen = []
        fgraph = FunctionGraph([x], [whole], clone=True)
        TopoOptimizer(make(tracks, seen)).rewrite(fgraph)
        return sorted({str(node.op) for node in seen})

    assert nodes_for(Sum) == ["Sum"]
    assert nodes_for(Sum, Max) == ["Max", "Sum"]
    assert nodes_for(DimShuffle, Max) == ["Max", "Transpose{1,0}"]
    assert nodes_for(DimShuffle, pt.Reduce) == ["Max", "Sum", "Transpose{1,0}"]
    assert nodes_for(Unique) == []


def test_singledispatch_finds_rules_for_classes_that_stand_for_others():
    @singledispatch
    def describe(op):
        return "another"

    @describe.register(DimShuffle)
    def _(op):
        return "axes"

    x = pt.dmatrix("x")
    assert describe(x.T.owner.op) == "axes"
    assert describe(pt.exp(x).owner.op) == "another"
    assert issubclass(pt.DimShuffle, DimShuffle)
