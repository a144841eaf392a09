"""Rules and rewriters that are imported when a graph has an Op that they need."""

import pickle
import sys
from types import ModuleType

import pytest

from phintys._base.errors import RewriteError
from phintys._base.late import LateModule
from phintys.graph import Apply, FunctionGraph, Op, Type
from phintys.rewriting import (
    LateParts,
    LateRewriter,
    LateRules,
    NodeRewriter,
    RuleList,
    Worklist,
    graph_rewriter,
    late_rewriter,
    late_rules,
    node_rewriter,
)
from phintys.rewriting.lookup import Lookup

anything = Type()
HOME = "phintys_late_rules_of_a_test"


class Named(Op):
    __props__ = ("function_name",)

    def __init__(self, name):
        self.function_name = name

    def make_node(self, *inputs):
        return Apply(self, inputs, [anything()])


class Rare(Named):
    pass


class Rarer(Rare):
    pass


f, g = map(Named, "fg")
rare = Rare("r")
x = anything("x")


@node_rewriter([Rare], depth=5)
def drop_rare(fgraph, node):
    """rare(x) -> x"""
    return node.inputs


@node_rewriter([f], operands=[Rare])
def f_of_rare(fgraph, node):
    """f(rare(x)) -> g(x)"""
    return g(*node.inputs[0].owner.inputs).owner.outputs


@node_rewriter([f])
def before(fgraph, node):
    """Does nothing."""


@node_rewriter(None)
def after(fgraph, node):
    """Does nothing."""


@graph_rewriter
def count(fgraph):
    """Count the graphs that it sees."""
    counted.append(fgraph)


counted = []


class Home(LateModule):
    """A module that says how often it was asked for something."""

    __slots__ = ("asked",)

    def __init__(self):
        super().__init__(HOME)
        self.asked = 0

    def __getattr__(self, name):
        self.asked += 1
        return getattr(sys.modules[HOME], name)


@pytest.fixture
def home(monkeypatch):
    module = ModuleType(HOME)
    vars(module).update(BOTH=(drop_rare, f_of_rare), ONE=(drop_rare,), F=(f_of_rare,), count=count)
    monkeypatch.setitem(sys.modules, HOME, module)
    return Home()


def names(rules):
    return [rule.name for rule in rules]


def test_rules_are_imported_for_the_first_graph_that_needs_them(home):
    driver = Worklist([before, LateRules(home, "BOTH", needs="Rare"), after])
    fgraph = FunctionGraph([x], [f(g(x))], copy_inputs=False)
    driver.apply(fgraph)
    assert home.asked == 0
    fgraph = FunctionGraph([x], [g(Rarer("r")(x))], copy_inputs=False)
    driver.apply(fgraph)
    assert home.asked == 1
    assert fgraph.outputs[0].owner.inputs == [x]


def test_a_function_of_an_elementwise_op_is_needed_by_its_name(home):
    driver = Worklist([LateRules(home, "BOTH", needs="q r")])
    driver.apply(FunctionGraph([x], [f(x)]))
    assert home.asked == 0
    driver.apply(FunctionGraph([x], [rare(x)]))
    assert home.asked == 1


def test_rules_are_imported_when_another_rule_makes_what_they_need(home):
    @node_rewriter([g])
    def to_rare(fgraph, node):
        """g(x) -> rare(x)"""
        return rare(*node.inputs).owner.outputs

    driver = Worklist([LateRules(home, "F", needs="Rare"), to_rare])
    fgraph = FunctionGraph([x], [f(g(x))], copy_inputs=False)
    driver.apply(fgraph)
    assert not fgraph.apply_nodes - {fgraph.outputs[0].owner}
    assert fgraph.outputs[0].owner.op == rare  # f(g(x)) -> f(rare(x)) -> g(x) -> rare(x)


@pytest.mark.parametrize("first", [rare, f])
def test_the_order_of_rules_does_not_depend_on_when_they_are_imported(home, first):
    rules = RuleList(before, LateRules(home, "BOTH", needs="Rare"), after)
    Lookup(rules, [first(x).owner])
    lookup = Lookup(rules, [f(rare(x)).owner, rare(x).owner])
    assert names(lookup.rules_for(f(rare(x)).owner)) == ["before", "f_of_rare", "after"]
    assert names(rules) == ["before", "drop_rare", "f_of_rare", "after"]
    assert home.asked == 2  # once for the index, once for the list of all


def test_parts_that_a_graph_does_not_need_do_not_change_its_lookup(home):
    rules = RuleList(before, LateRules(home, "BOTH", needs="Rare"))
    alone = Lookup(rules, [f(x).owner])
    assert (alone.deepest, alone.depth_of(f)) == (2, 2)
    there = Lookup(rules, [f(x).owner, rare(x).owner])
    assert there.deepest == 5
    again = Lookup(rules, [f(x).owner])
    assert (again.deepest, again.depth_of(f)) == (2, 2)
    assert again.depth_of(rare) == again.deepest == 5


def test_a_list_in_a_list_and_a_single_rule(home):
    inner = RuleList(LateRules(home, "ONE", needs="Rare"), before)
    rules = RuleList(inner, after)
    assert len(rules) == 3
    assert names(rules) == ["drop_rare", "before", "after"]
    assert rules[0] is drop_rare
    assert drop_rare in rules
    assert f_of_rare not in rules
    assert not RuleList()


def test_names_of_late_rules_can_be_excluded(home):
    driver = Worklist([before, LateRules(home, "BOTH", needs="Rare")], name="one")
    assert {"before", "drop_rare", "f_of_rare", "one"} <= driver.names()
    assert names(driver.excluding(frozenset(["drop_rare"]))) == ["before", "f_of_rare"]


def test_late_rules_require_no_features():
    demanding = NodeRewriter(name="demands", tracks=[f], requires=[object])
    with pytest.raises(RewriteError, match="The rule demands requires features"):
        late_rules(demanding, needs=[Rare])


def test_late_rules_need_something():
    assert late_rules(drop_rare, needs=[Rare]) == (drop_rare,)
    assert late_rewriter(count, needs=[Rare]) is count
    with pytest.raises(RewriteError, match="need something"):
        late_rules(drop_rare, needs=[])
    with pytest.raises(RewriteError, match="need something"):
        late_rewriter(count, needs=())


def test_late_parts_are_found_by_name():
    late = LateParts({HOME: {"BOTH": "Rare Op"}}, {HOME: {"count": "Rare"}})
    assert (type(late.BOTH), type(late.count)) == (LateRules, LateRewriter)
    assert late.BOTH.needs == {"Rare", "Op"}
    with pytest.raises(AttributeError, match="No module has late rules 'ONE'"):
        late.ONE
    assert pickle.loads(pickle.dumps(late)).count.name == "count"


def test_late_rules_are_pickled():
    late = LateRules(LateModule("phintys.passes.shapes"), "CANONICAL_JOIN", needs="Join")
    driver = pickle.loads(pickle.dumps(Worklist([late], name="one")))
    assert names(driver) == ["join_of_one", "merge_joins", "drop_empty_parts"]


def test_a_late_rewriter_runs_on_graphs_that_need_it(home):
    late = LateRewriter(home, "count", needs="Rare")
    counted.clear()
    late.rewrite(FunctionGraph([x], [f(x)]))
    assert (home.asked, counted) == (0, [])
    fgraph = FunctionGraph([x], [rare(x)])
    late.rewrite(fgraph)
    assert counted == [fgraph]
    assert late.names() == {"count"}
