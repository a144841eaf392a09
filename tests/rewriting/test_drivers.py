"""Drivers: what they rewrite, in which order, how much they look at, and when they stop."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import RewriteError
from phintys.graph import Apply, Feature, FunctionGraph, Op, Type
from phintys.graph.verify import verify_graph
from phintys.rewriting import RewriteTrace, WalkInOrder, WalkOutOrder, Worklist, node_rewriter

anything = Type()


class Named(Op):
    __props__ = ("name",)

    def __init__(self, name):
        self.name = name

    def make_node(self, *inputs):
        return Apply(self, inputs, [anything()])

    def __str__(self):
        return self.name


class Special(Named):
    pass


class Pair(Op):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [anything(), anything()])


neg, add, ident, f, g, zero = map(Named, ("neg", "add", "ident", "f", "g", "zero"))


@node_rewriter([neg])
def double_negation(fgraph, node):
    """neg(neg(x)) -> x"""
    inner = node.inputs[0].owner
    return [inner.inputs[0]] if inner is not None and inner.op == neg else None


@node_rewriter([ident])
def drop_identity(fgraph, node):
    """ident(x) -> x"""
    return node.inputs


@node_rewriter([f])
def f_to_g(fgraph, node):
    """f(x) -> g(x)"""
    return [g(*node.inputs)]


@node_rewriter([g])
def g_to_f(fgraph, node):
    """g(x) -> f(x)"""
    return [f(*node.inputs)]


def show(variable):
    """Text of a small graph."""
    if variable.owner is None:
        return variable.name
    return f"{variable.owner.op}({', '.join(map(show, variable.owner.inputs))})"


def rewritten(driver, build, trace=None):
    x, y = anything("x"), anything("y")
    fgraph = FunctionGraph([x, y], [build(x, y)])
    driver.rewrite(fgraph, trace)
    verify_graph(fgraph)
    return show(fgraph.outputs[0])


# ---- what each driver does -----------------------------------------------------------------------


@pytest.mark.parametrize("order", ["in", "out"])
@pytest.mark.parametrize("depth", range(8))
def test_worklist_reaches_the_fixed_point(order, depth):
    def build(x, y):
        for _ in range(depth):
            x = ident(neg(x))
        return add(x, ident(y))

    result = rewritten(Worklist([double_negation, drop_identity], order=order), build)
    assert result == ("add(neg(x), y)" if depth % 2 else "add(x, y)")


def test_a_walk_in_order_sees_what_it_has_changed_below():
    assert rewritten(WalkInOrder([f_to_g]), lambda x, y: f(f(x))) == "g(g(x))"
    assert (
        rewritten(WalkInOrder([drop_identity, double_negation]), lambda x, y: neg(ident(neg(x))))
        == "x"
    )


def test_a_walk_out_of_order_has_not_changed_what_is_below():
    result = rewritten(
        WalkOutOrder([drop_identity, double_negation]), lambda x, y: neg(ident(neg(x)))
    )
    assert result == "neg(neg(x))"


@pytest.mark.parametrize("walk", [WalkInOrder, WalkOutOrder])
def test_a_walk_does_not_look_at_what_rules_build(walk):
    assert rewritten(walk([f_to_g, g_to_f]), lambda x, y: f(g(x))) == "g(f(x))"


@pytest.mark.parametrize("walk", [WalkInOrder, WalkOutOrder])
def test_a_walk_looks_at_what_rules_build_if_told_so(walk):
    @node_rewriter([f])
    def two_to_one(fgraph, node):
        """f(f(x)) -> f(x)"""
        below = node.inputs[0].owner
        return [f(*below.inputs)] if below is not None and below.op == f else None

    def five(x, y):
        return f(f(f(f(f(x)))))

    assert rewritten(walk([two_to_one], new_nodes=True), five) == "f(x)"
    assert rewritten(WalkOutOrder([two_to_one]), five) != "f(x)"
    again = walk([two_to_one, f_to_g], new_nodes=True).with_rules([two_to_one])
    assert rewritten(again, five) == "f(x)"
    with pytest.raises(RewriteError, match="does not terminate"):
        rewritten(walk([f_to_g, g_to_f], new_nodes=True), lambda x, y: f(x))


def test_rules_are_tried_in_their_order():
    @node_rewriter([f])
    def f_to_zero(fgraph, node):
        return [zero()]

    assert rewritten(Worklist([f_to_zero, f_to_g]), lambda x, y: f(x)) == "zero()"
    assert rewritten(Worklist([f_to_g, f_to_zero]), lambda x, y: f(x)) == "g(x)"


def test_rules_track_ops_classes_and_everything():
    seen = []

    def spy(name, tracks):
        @node_rewriter(tracks, name=name)
        def rule(fgraph, node):
            seen.append((name, str(node.op)))

        return rule

    rules = [spy("op", [f]), spy("class", [Special]), spy("base", [Named]), spy("all", None)]
    rewritten(WalkInOrder(rules), lambda x, y: Pair()(Special("s")(f(x)))[0])
    assert seen == [
        *[(name, "f") for name in ("op", "base", "all")],
        *[(name, "s") for name in ("class", "base", "all")],
        ("all", "Pair"),
    ]


def test_a_tracked_op_stands_for_all_that_equal_it():
    assert rewritten(Worklist([f_to_g]), lambda x, y: Named("f")(x)) == "g(x)"
    assert rewritten(Worklist([f_to_g]), lambda x, y: Special("f")(x)) == "f(x)"


def test_a_rule_may_replace_single_outputs_and_others_variables():
    pair = Pair()

    @node_rewriter([Pair])
    def second_is_input(fgraph, node):
        return [None, node.inputs[0]]

    @node_rewriter([add])
    def replace_elsewhere(fgraph, node):
        return {node.inputs[0]: node.inputs[1]}

    result = rewritten(Worklist([second_is_input]), lambda x, y: add(*pair(x)))
    assert result == "add(Pair(x), x)"
    assert rewritten(Worklist([replace_elsewhere]), lambda x, y: add(f(x), y)) == "add(y, y)"


def test_a_replacement_of_an_output_that_nobody_uses_is_no_change():
    calls = []

    @node_rewriter([Pair])
    def replace_unused(fgraph, node):
        calls.append(node)
        return [None, f(node.inputs[0])]

    assert rewritten(Worklist([replace_unused]), lambda x, y: Pair()(x)[0]) == "Pair(x)"
    assert len(calls) == 1


@pytest.mark.parametrize("nothing", [None, False, [None], {}])
def test_nothing_to_do(nothing):
    @node_rewriter([f])
    def rule(fgraph, node):
        return nothing

    trace = RewriteTrace()
    assert rewritten(Worklist([rule]), lambda x, y: f(x), trace) == "f(x)"
    assert len(trace) == 0


def test_a_rule_may_put_something_around_a_node():
    @node_rewriter([f])
    def wrap(fgraph, node):
        """f(x) -> g(f(x))"""
        return None if fgraph.clients[node.outputs[0]][0][0] != "output" else [g(node.outputs[0])]

    assert rewritten(Worklist([wrap]), lambda x, y: f(x)) == "g(f(x))"


def test_the_node_with_a_changed_level_below_is_looked_at_again():
    @node_rewriter([neg], depth=3)
    def three_levels(fgraph, node):
        """neg(f(g(x))) -> zero()"""
        inner = node.inputs[0].owner
        second = None if inner is None or inner.op != f else inner.inputs[0].owner
        return [zero()] if second is not None and second.op == g else None

    @node_rewriter([ident])
    def late(fgraph, node):
        """ident(x) -> g(x)"""
        return [g(*node.inputs)]

    # From the outputs on, neg is looked at before anything below it has changed.
    driver = Worklist([three_levels, late], order="out")
    assert rewritten(driver, lambda x, y: neg(f(ident(x)))) == "zero()"


def test_a_node_that_lost_a_client_is_looked_at_again():
    @node_rewriter([f])
    def only_one_client(fgraph, node):
        """f(x) -> g(x), if it has one client"""
        return [g(*node.inputs)] if len(fgraph.clients[node.outputs[0]]) == 1 else None

    @node_rewriter([neg])
    def neg_to_zero(fgraph, node):
        """neg(x) -> zero()"""
        return [zero()]

    def build(x, y):
        shared = f(x)
        return add(shared, neg(shared))

    assert rewritten(Worklist([only_one_client, neg_to_zero]), build) == "add(g(x), zero())"


# ---- guards --------------------------------------------------------------------------------------


def test_rules_that_undo_each_other_are_named():
    with pytest.raises(RewriteError) as caught:
        rewritten(Worklist([f_to_g, g_to_f], name="canonicalize"), lambda x, y: f(x))
    message = str(caught.value)
    for part in ("canonicalize", "f_to_g", "g_to_f", "test_drivers.py", "rewritten(Worklist"):
        assert part in message
    circle = message.partition("goes round in a circle:\n")[2].splitlines()
    assert {line.strip() for line in circle[:2]} == {
        "f_to_g: f(x) -> g(x)",
        "g_to_f: g(x) -> f(x)",
    }
    assert "A value may be rewritten" in circle[2]


def test_a_circle_of_three_rules_is_shown_once():
    def turning(old, new):
        @node_rewriter([old], name=f"{old.name}_to_{new.name}")
        def turn(fgraph, node):
            return [new(*node.inputs)]

        return turn

    rules = [turning(f, g), turning(g, neg), turning(neg, f)]
    with pytest.raises(RewriteError) as caught:
        rewritten(Worklist(rules), lambda x, y: f(x))
    circle = str(caught.value).partition("circle:\n")[2].partition("\nA value")[0]
    assert sorted(line.strip() for line in circle.splitlines()) == [
        "f_to_g: f(x) -> g(x)",
        "g_to_neg: g(x) -> neg(x)",
        "neg_to_f: neg(x) -> f(x)",
    ]


def test_rules_that_feed_themselves_are_named():
    @node_rewriter([f])
    def grow(fgraph, node):
        """f(x) -> f(f(x))"""
        return [f(f(*node.inputs))]

    trace = RewriteTrace()
    with pytest.raises(RewriteError, match="grow"):
        rewritten(Worklist([grow], max_uses=50, order="out"), lambda x, y: f(x), trace)
    assert len(trace) == 51


def test_a_rule_that_alternates_between_existing_variables_is_named():
    kept = {}

    @node_rewriter([f, g])
    def swap(fgraph, node):
        kept.setdefault(node.op, node.outputs[0])
        other = g if node.op == f else f
        kept.setdefault(other, other(*node.inputs))
        return [kept[other]]

    with pytest.raises(RewriteError, match="swap"):
        rewritten(Worklist([swap]), lambda x, y: f(x))


def test_a_rule_that_wraps_for_ever_is_named():
    @node_rewriter([f])
    def wrap(fgraph, node):
        return [g(node.outputs[0])]

    trace = RewriteTrace()
    with pytest.raises(RewriteError, match="wrap"):
        rewritten(Worklist([wrap], max_uses=20), lambda x, y: f(x), trace)
    assert len(trace) == 21


class Picky(Feature):
    """Refuses graphs with a g."""

    def validate(self, fgraph):
        from phintys._base.errors import InconsistencyError

        if any(node.op == g for node in fgraph.apply_nodes):
            raise InconsistencyError("no g here")


def test_a_refused_change_leaves_the_graph_and_is_in_the_trace():
    x = anything("x")
    fgraph = FunctionGraph([x], [neg(f(ident(x)))], features=[Picky()])
    trace = RewriteTrace()
    Worklist([f_to_g, drop_identity]).rewrite(fgraph, trace)
    verify_graph(fgraph)
    assert show(fgraph.outputs[0]) == "neg(f(x))"
    refused = [event for event in trace if event.refused]
    assert {event.rule for event in refused} == {"f_to_g"}
    assert "no g here" in str(refused[0])
    assert trace.counts() == {"drop_identity": 1}
    assert not trace.applied("f_to_g")


def test_features_are_detached_even_after_an_error():
    @node_rewriter([f])
    def broken(fgraph, node):
        raise ValueError("oops")

    fgraph = FunctionGraph([x := anything("x")], [f(x)])
    with pytest.raises(ValueError, match="oops") as caught:
        Worklist([broken]).apply(fgraph)
    assert fgraph.features == ()
    assert "In the rule broken" in caught.value.__notes__[0]
    assert "test_drivers.py" in caught.value.__notes__[0]


def test_required_features_are_attached_once():
    class Index(Feature):
        pass

    @node_rewriter([f], requires=[Index])
    def needs_index(fgraph, node):
        assert any(isinstance(feature, Index) for feature in fgraph.features)

    fgraph = FunctionGraph([x := anything("x")], [f(x)])
    driver = Worklist([needs_index, f_to_g])
    driver.rewrite(fgraph)
    driver.rewrite(fgraph)
    assert [type(feature) for feature in fgraph.features] == [Index]


@pytest.mark.parametrize("driver", [Worklist, WalkInOrder, WalkOutOrder])
def test_drivers_take_rules_only(driver):
    with pytest.raises(RewriteError, match="node_rewriter"):
        driver([lambda fgraph, node: None])


@pytest.mark.parametrize("driver", [Worklist, WalkInOrder, WalkOutOrder])
def test_excluding_drops_rules_by_name_and_tag(driver):
    @node_rewriter([neg], tags=["slow"])
    def tagged(fgraph, node):
        return None

    full = driver([f_to_g, tagged], name="d")
    assert full.names() == {"d", "f_to_g", "tagged", "slow"}
    assert [rule.name for rule in full.excluding(frozenset({"slow"}))] == ["f_to_g"]
    assert [rule.name for rule in full.excluding(frozenset({"f_to_g"}))] == ["tagged"]
    assert full.excluding(frozenset({"other"})) is full
    assert full.excluding(frozenset({"slow"})).name == "d"


def test_worklist_keeps_its_options_when_rules_are_dropped():
    driver = Worklist([f_to_g, g_to_f], order="out", max_uses=7).excluding(frozenset({"g_to_f"}))
    assert (driver.order, driver.max_uses) == ("out", 7)


# ---- size ----------------------------------------------------------------------------------------


def count_calls(driver_class, size):
    """Return how often a rule is tried on a chain with ``size`` nodes to drop."""
    calls = 0

    @node_rewriter([ident, neg])
    def counted(fgraph, node):
        nonlocal calls
        calls += 1
        return node.inputs if node.op == ident else None

    x = anything("x")
    y = x
    for _ in range(size):
        y = neg(ident(y))
    fgraph = FunctionGraph([x], [y], clone=False)
    driver_class([counted]).apply(fgraph)
    assert len(fgraph.apply_nodes) == size
    return calls


@pytest.mark.parametrize("driver", [Worklist, WalkInOrder, WalkOutOrder])
def test_the_number_of_tries_is_linear(driver):
    small, large = count_calls(driver, 100), count_calls(driver, 1000)
    assert large <= 10 * small + 20
    assert small <= 6 * 100


def test_a_chain_of_many_nodes(repeats):
    length = repeats(10_000, 50_000)
    assert sys.getrecursionlimit() < length
    assert count_calls(Worklist, length) <= 6 * length


def test_many_clients_of_one_node():
    x = anything("x")
    y = ident(x)
    fgraph = FunctionGraph([x], [neg(y) for _ in range(20_000)], clone=False)
    Worklist([drop_identity, double_negation]).apply(fgraph)
    assert all(output.owner.inputs[0] is x for output in fgraph.outputs)


# ---- generated graphs ----------------------------------------------------------------------------


@st.composite
def graphs(draw):
    variables = [anything("x"), anything("y")]
    ops = (neg, ident, f, g, add)
    for _ in range(draw(st.integers(1, 25))):
        op = draw(st.sampled_from(ops))
        inputs = [draw(st.sampled_from(variables)) for _ in range(2 if op == add else 1)]
        variables.append(op(*inputs))
    outputs = draw(st.lists(st.sampled_from(variables), min_size=1, max_size=4))
    return FunctionGraph(variables[:2], outputs)


@given(graphs(), st.sampled_from(["in", "out"]))
def test_no_rule_applies_after_a_worklist(fgraph, order):
    rules = [double_negation, drop_identity, f_to_g]
    Worklist(rules, order=order).rewrite(fgraph)
    verify_graph(fgraph)
    for rule in rules:
        for node in fgraph.apply_nodes:
            if node.op in rule.tracks:
                assert rule.transform(fgraph, node) is None


@given(graphs())
def test_the_order_makes_no_difference_to_a_confluent_set_of_rules(fgraph):
    rules = [double_negation, drop_identity, f_to_g]
    twin = fgraph.clone()
    Worklist(rules, order="in").rewrite(fgraph)
    Worklist(rules[::-1], order="out").rewrite(twin)
    assert list(map(show, fgraph.outputs)) == list(map(show, twin.outputs))


# ---- what cannot replace -------------------------------------------------------------------------


class Other(Type):
    __props__ = ()


def bad(result):
    @node_rewriter([f])
    def bad_rule(fgraph, node):
        """f(x) -> nonsense"""
        return result(node)

    return bad_rule


@pytest.mark.docstrings
@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (lambda node: node.inputs[0], r"\[variable\]"),
        (lambda node: True, "expected None or False, a list"),
        (lambda node: "x", "expected None or False, a list"),
        (lambda node: 3, "expected None or False, a list"),
        (lambda node: [], "0 replacements for 1 outputs"),
        (lambda node: [node.inputs[0]] * 2, "2 replacements for 1 outputs"),
        (lambda node: [5], "returned 5 of type int"),
        (lambda node: {node.outputs[0]: 5}, "returned 5 of type int"),
        (lambda node: [Other()("z")], "of type Other"),
    ],
)
def test_wrong_results_name_the_rule_the_node_and_the_line(result, expected):
    with pytest.raises(RewriteError, match=expected) as caught:
        rewritten(Worklist([bad(result)]), lambda x, y: f(x))
    message = str(caught.value)
    assert "bad_rule (f(x) -> nonsense)" in message
    assert "lambda x, y: f(x)" in message


def test_a_replacement_may_be_more_special_than_what_it_replaces():
    class Wide(Type):
        __props__ = ()

        def is_super(self, other):
            return self == other or isinstance(other, Other)

        def in_same_class(self, other):
            return isinstance(other, Wide | Other)

    wide = Wide()

    class MakeWide(Op):
        __props__ = ()

        def make_node(self, x):
            return Apply(self, [x], [wide()])

    @node_rewriter([MakeWide])
    def unwrap(fgraph, node):
        return node.inputs

    x = Other()("x")
    fgraph = FunctionGraph([x], [MakeWide()(x)])
    Worklist([unwrap]).apply(fgraph)
    assert fgraph.outputs == fgraph.inputs


def test_a_replacement_is_converted_where_its_type_knows_how():
    class Sized(Type):
        __props__ = ("size",)

        def __init__(self, size):
            self.size = size

        def is_super(self, other):
            return isinstance(other, Sized) and self.size in (None, other.size)

        def in_same_class(self, other):
            return isinstance(other, Sized)

        def convert_variable(self, variable):
            return Assure(self.size)(variable)

    class Assure(Op):
        __props__ = ("size",)

        def __init__(self, size):
            self.size = size

        def make_node(self, x):
            return Apply(self, [x], [Sized(self.size)()])

    class Make3(Op):
        __props__ = ()

        def make_node(self, x):
            return Apply(self, [x], [Sized(3)()])

    @node_rewriter([Make3])
    def forget(fgraph, node):
        return node.inputs

    x = Sized(None)("x")
    fgraph = FunctionGraph([x], [Make3()(x)])
    Worklist([forget]).apply(fgraph)
    assert fgraph.outputs[0].owner.op == Assure(3)
    assert fgraph.outputs[0].type == Sized(3)


def test_new_nodes_have_the_users_line():
    x = anything("x")
    y = f(x)  # the user's line
    line = y.owner.origin.lineno
    fgraph = FunctionGraph([x], [y])
    Worklist([f_to_g]).apply(fgraph)
    assert fgraph.outputs[0].owner.op == g
    assert fgraph.outputs[0].owner.origin.lineno == line
    assert f(x).owner.origin.lineno != line
