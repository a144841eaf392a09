"""The index: which rules are tried on a node, by its Op and by what computes its operands."""

import pickle

import pytest

from phintys._base.errors import RewriteError
from phintys.graph import Apply, Constant, FunctionGraph, Op, Type, generic
from phintys.rewriting import (
    NodeRewriter,
    Operand,
    PatternRewriter,
    RewriteTrace,
    RuleList,
    Wild,
    Worklist,
    any_order,
)
from phintys.rewriting.lookup import Lookup

anything = Type()


class Named(Op):
    __props__ = ("name",)

    def __init__(self, name):
        self.name = name

    def make_node(self, *inputs):
        return Apply(self, inputs, [anything()])


class Special(Named):
    pass


f, g, h = map(Named, "fgh")
x, y = anything("x"), anything("y")
one = Constant(generic, 1)


class Rule(NodeRewriter):
    """Does nothing, and counts how often it is tried."""

    tried = 0

    def transform(self, fgraph, node):
        self.tried += 1


def rule(name, tracks, operands=None, **options):
    return Rule(name=name, tracks=tracks, operands=operands, **options)


def names(rules, variable):
    return [one.name for one in Lookup(RuleList(*rules)).rules_for(variable.owner)]


def test_rules_come_in_their_order():
    rules = [rule("a", [f]), rule("b", None), rule("c", [Named]), rule("d", [g]), rule("e", [f])]
    assert names(rules, f(x)) == ["a", "b", "c", "e"]
    assert names(rules, g(x)) == ["b", "c", "d"]
    assert names(rules, Special("f")(x)) == ["b", "c"]
    assert names([rule("a", [])], f(x)) == []


def test_the_op_of_an_operand():
    rules = [rule("g", [f], [g]), rule("special", [f], [Special]), rule("either", [f], [g, h])]
    assert names(rules, f(x, y)) == []
    assert names(rules, f(x, g(x))) == ["g", "either"]
    assert names(rules, f(h(x), x)) == ["either"]
    assert names(rules, f(Special("s")(x))) == ["special"]
    assert names(rules, f(Special("s")(x), g(y))) == ["g", "special", "either"]
    assert names(rules, g(g(x))) == []
    assert names(rules, f(f(g(x)))) == []  # only the operands themselves count


def test_equal_ops_are_one():
    assert names([rule("g", [f], [g])], Named("f")(Named("g")(x))) == ["g"]


def test_constants_repeated_operands_and_results_of_the_same_op():
    rules = [
        rule("constant", [f], [Operand.CONSTANT]),
        rule("repeated", [f], [Operand.REPEATED]),
        rule("alike", [f, g], [Operand.ALIKE]),
        rule("family", [Named], [Operand.ALIKE]),
    ]
    assert names(rules, f(x, y)) == []
    assert names(rules, f(one, x)) == ["constant"]
    assert names(rules, f(x, y, x)) == ["repeated"]
    assert names(rules, f(f(x))) == ["alike", "family"]
    assert names(rules, f(g(x), one)) == ["constant", "family"]
    assert names(rules, g(g(x), x, x)) == ["alike", "family"]


def test_a_rule_for_an_op_and_its_class_has_both_conditions():
    rules = [rule("both", [f, Named], [Operand.ALIKE])]
    assert names(rules, f(Special("s")(x))) == ["both"]
    assert names(rules, Special("s")(f(x))) == ["both"]


def test_patterns_need_what_is_written_in_them():
    nested = PatternRewriter([(f, (g, "x")), (h, (h, "x"))], "x", name="nested")
    flat = PatternRewriter((f, "x", "x"), "x", name="flat")
    either = PatternRewriter(any_order(f, Wild("x"), (g, "y")), "x", name="either")
    rules = [nested, flat, either]
    assert names(rules, f(x, x)) == ["flat"]
    assert names(rules, f(x, g(y))) == ["nested", "flat", "either"]
    assert names(rules, h(g(x))) == []
    assert names(rules, h(h(x))) == ["nested"]


def test_what_a_rule_waits_for():
    rules = [
        rule("h", [f], within=[h], depth=3),
        rule("special", None, within=[Special]),
        rule("both", [f], [g], within=[h], depth=3),
    ]
    listed = RuleList(*rules)
    lookup = Lookup(listed, [f(x).owner, g(x).owner])
    assert lookup.rules_for(f(g(x)).owner) == ()
    lookup.rules_for(h(x).owner)
    assert [one.name for one in lookup.rules_for(f(x).owner)] == ["h"]
    assert [one.name for one in lookup.rules_for(f(g(x)).owner)] == ["h", "both"]
    there = Lookup(listed, [Special("s")(x).owner])
    assert [one.name for one in there.rules_for(f(g(x)).owner)] == ["special"]


@pytest.mark.parametrize("order", ["in", "out"])
def test_what_a_rule_waits_for_is_made_by_another(order):
    makes = PatternRewriter((h, "x"), (Special("s"), "x"), name="makes")

    class Waits(Rule):
        def transform(self, fgraph, node):
            inner = node.inputs[0].owner.inputs[0].owner
            return inner.inputs if inner is not None and isinstance(inner.op, Special) else None

    waits = Waits(name="waits", tracks=[f], operands=[g], within=[Special], depth=3)
    fgraph = FunctionGraph([x], [f(g(h(x)))], copy_inputs=False)
    Worklist([waits, makes], order=order).apply(fgraph)
    assert fgraph.outputs == [x]


def test_the_deepest_rule_met():
    lookup = Lookup(RuleList(rule("a", [f], depth=2), rule("b", [g], depth=4)))
    assert lookup.deepest == 0
    assert lookup.depth_of(f) == lookup.deepest == 2
    assert lookup.depth_of(h) == 0
    lookup.rules_for(g(x).owner)
    assert lookup.deepest == lookup.depth_of(g) == 4


def test_a_rule_is_tried_when_its_operand_appears():
    appears = PatternRewriter((h, "x"), (g, "x"), name="appears")
    waits = PatternRewriter((f, (g, "x")), "x", name="waits")
    fgraph = FunctionGraph([x], [f(h(x))], copy_inputs=False)
    trace = RewriteTrace()
    Worklist([waits, appears], order="out").apply(fgraph, trace)
    assert [event.rule for event in trace] == ["appears", "waits"]
    assert fgraph.outputs == [x]


def test_a_driver_tries_no_more():
    a, b = rule("a", [f], [g]), rule("b", [f])
    fgraph = FunctionGraph([x], [f(h(f(x)))])
    Worklist([a, b]).apply(fgraph)
    assert (a.tried, b.tried) == (0, 2)


def test_drivers_are_pickled_without_the_index():
    driver = pickle.loads(pickle.dumps(Worklist([rule("a", [f], [g])], name="one")))
    assert [one.name for one in driver.rules.indexed().plan(f).rules] == ["a"]


@pytest.mark.parametrize("operands", [["f"], [int], [None]])
def test_operands_are_ops(operands):
    with pytest.raises(RewriteError, match="needs operands by"):
        rule("a", [f], operands)


def test_what_is_waited_for_is_an_op():
    with pytest.raises(RewriteError, match="waits for"):
        rule("a", [f], within=["g"])


def test_nothing_is_alike_to_everything():
    with pytest.raises(RewriteError, match="name Ops"):
        rule("a", None, [Operand.ALIKE])
