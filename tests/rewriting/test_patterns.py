"""Patterns: what they match, what they bind, what they build."""

import pickle

import numpy as np
import pytest

from phintys._base.errors import RewriteError
from phintys.graph import Apply, Constant, FunctionGraph, Op, Type, Variable
from phintys.rewriting import (
    NOT_CONSTANT,
    PatternRewriter,
    Wild,
    Worklist,
    any_order,
    constant_value,
    node_rewriter,
    pattern,
    set_constant_reader,
)


class Number(Type):
    __props__ = ()

    def filter(self, value, strict=False, allow_downcast=None):
        return value


number = Number()


class Named(Op):
    __props__ = ("name",)

    def __init__(self, name):
        self.name = name

    def make_node(self, *inputs):
        inputs = [one if isinstance(one, Variable) else Constant(number, one) for one in inputs]
        return Apply(self, inputs, [number()])

    def __str__(self):
        return self.name


class Other(Named):
    pass


class Pair(Op):
    __props__ = ()
    default_output = 1

    def make_node(self, x):
        return Apply(self, [x], [number(), number()])


add, sub, mul, neg, f, pair = (*map(Named, ("add", "sub", "mul", "neg", "f")), Pair())
x, y, z = number("x"), number("y"), number("z")


def show(variable):
    if isinstance(variable, Constant):
        return str(variable.data)
    if variable.owner is None:
        return variable.name
    return f"{variable.owner.op}({', '.join(map(show, variable.owner.inputs))})"


def rewritten(rule, *expressions):
    fgraph = FunctionGraph([x, y, z], list(expressions))
    Worklist([rule]).rewrite(fgraph)
    fgraph.check_integrity()
    return ", ".join(map(show, fgraph.outputs))


@pattern(lambda x: (neg, (neg, x)))
def double_negation(x):
    """neg(neg(x)) -> x"""
    return x


@pattern(lambda x: (add, x, 0), lambda x: (add, 0, x))
def add_zero(x):
    """add(x, 0) -> x"""
    return x


@pytest.mark.parametrize(
    ("left", "right", "expression", "expected"),
    [
        ((neg, (neg, "x")), "x", neg(neg(y)), "y"),
        ((neg, (neg, "x")), "x", neg(f(neg(y))), "neg(f(neg(y)))"),
        ((sub, "x", "x"), 0, sub(y, y), "0"),
        ((sub, "x", "x"), 0, sub(y, z), "sub(y, z)"),
        ((sub, "x", "x"), 0, sub(Constant(number, 3), Constant(number, 3)), "0"),
        ((sub, "x", "x"), 0, sub(Constant(number, 3), Constant(number, 4)), "sub(3, 4)"),
        ((mul, "x", 2), (add, "x", "x"), mul(y, 2), "add(y, y)"),
        ((mul, "x", 2), (add, "x", "x"), mul(y, 2.0), "add(y, y)"),
        ((mul, "x", 2), (add, "x", "x"), mul(y, 3), "mul(y, 3)"),
        ((mul, "x", 2), (add, "x", "x"), mul(2, y), "mul(2, y)"),
        (any_order(mul, "x", 2), (add, "x", "x"), mul(2, y), "add(y, y)"),
        (any_order(mul, "x", (neg, "x")), "x", mul(neg(y), y), "y"),
        (any_order(mul, "x", (neg, "x")), "x", mul(neg(z), y), "mul(neg(z), y)"),
        (
            (add, "x", (mul, "x", "y")),
            (mul, "x", (add, "y", 1)),
            add(y, mul(y, z)),
            "mul(y, add(z, 1))",
        ),
        ((f, "x"), (f, "x", 1), f(y, z), "f(y, z)"),
        ((Other, "x"), (f, "x"), Other("anything")(y), "f(y)"),
        ((Named, "x", "x"), "x", mul(y, y), "y"),
        ((mul, "x", y), "x", mul(z, y), "mul(z, y)"),  # the graph has another y
        ((mul, "x", np.float64(2)), "x", mul(z, 2), "z"),
    ],
)
def test_pattern_rules(left, right, expression, expected):
    assert rewritten(PatternRewriter(left, right, name="rule"), expression) == expected


def test_a_variable_in_a_pattern_is_itself():
    fgraph = FunctionGraph([x, y], [mul(x, y), mul(y, x)], clone=False)
    Worklist([PatternRewriter((mul, "a", y), "a", name="rule")]).rewrite(fgraph)
    assert show(fgraph.outputs[0]) == "x"
    assert show(fgraph.outputs[1]) == "mul(y, x)"


def test_decorated_patterns_with_alternatives():
    assert rewritten(add_zero, add(0, add(add(y, 0), z))) == "add(y, z)"
    assert rewritten(double_negation, neg(neg(neg(y)))) == "neg(y)"


@pytest.mark.docstrings
def test_a_decorated_pattern_describes_itself():
    assert double_negation.name == "double_negation"
    assert double_negation.equation == "neg(neg(x)) -> x"
    assert double_negation.depth == 2
    assert double_negation.tracks == (neg,)
    assert repr(add_zero) == "<rule add_zero: add(x, 0) -> x>"


def test_the_builder_may_decline_and_ask_for_the_node_and_the_graph():
    seen = []

    @pattern(lambda a, b: (mul, a, b))
    def only_named(a, b, node, fgraph):
        seen.append((node.op, a in fgraph.variables))
        return a if b.name == "z" else None

    assert rewritten(only_named, mul(y, z), mul(y, x)) == "y, mul(y, x)"
    assert seen == [(mul, True)] * 2


def test_a_declined_match_leads_to_the_next_one():
    @pattern(lambda a, b: any_order(mul, a, b))
    def named_z(a, b):
        return a if b.name == "z" else False

    assert rewritten(named_z, mul(z, y)) == "y"


def test_guards():
    constant = lambda variable: isinstance(variable, Constant)  # noqa: E731
    rule = PatternRewriter((mul, Wild("c", constant), "x"), (mul, "x", "c"), name="rule")
    assert rewritten(rule, mul(3, y)) == "mul(y, 3)"
    assert rewritten(rule, mul(z, y)) == "mul(z, y)"

    @pattern(lambda c, a: (mul, c.where(constant), a))
    def same_by_lambda(c, a):
        return mul(a, c)

    assert rewritten(same_by_lambda, mul(3, y), mul(z, y)) == "mul(y, 3), mul(z, y)"


def test_inner_nodes_that_others_need():
    inner = neg(y)
    unshared = PatternRewriter((neg, (neg, "x")), "x", name="rule", allow_shared=False)
    assert rewritten(unshared, neg(inner), f(inner)) == "neg(neg(y)), f(neg(y))"
    assert rewritten(double_negation, neg(inner), f(inner)) == "y, f(neg(y))"
    assert rewritten(unshared, neg(inner)) == "y"


def test_the_default_output_stands_for_a_node():
    first, second = pair.make_node(y).outputs
    rule = PatternRewriter((f, (pair, "x")), "x", name="rule")
    assert rewritten(rule, f(second)) == "y"
    assert rewritten(rule, f(first)) == "f(Pair(y))"
    replace_pair = PatternRewriter((pair, "x"), "x", name="rule")
    assert rewritten(replace_pair, f(second), f(first)) == "f(y), f(Pair(y))"


def test_depth_lets_a_pattern_be_found_after_a_change_below():
    @node_rewriter([Other])
    def other_to_neg(fgraph, node):
        return [neg(*node.inputs)]

    deep = PatternRewriter((f, (f, (neg, "x"))), "x", name="deep")
    assert deep.depth == 3
    fgraph = FunctionGraph([x], [f(f(Other("o")(x)))])
    Worklist([deep, other_to_neg], order="out").rewrite(fgraph)
    assert show(fgraph.outputs[0]) == "x"


@pytest.mark.parametrize(
    ("left", "message"),
    [
        ("x", "must start from a node"),
        (3, "must start from a node"),
        (("neg", "x"), "expected .op, argument"),
        ((neg, ["x"]), "expected .op, argument"),
        ((neg, ()), "expected .op, argument"),
        ((neg, None), "expected .op, argument"),
    ],
)
def test_wrong_patterns(left, message):
    with pytest.raises(RewriteError, match=message):
        PatternRewriter(left, "x", name="rule")


@pytest.mark.parametrize("tracks", [[3], ["neg"], [int], [number]])
def test_wrong_tracks(tracks):
    with pytest.raises(RewriteError, match="expected Ops and classes of Ops"):
        node_rewriter(tracks)(lambda fgraph, node: None)


def test_node_rewriter_without_parentheses():
    with pytest.raises(RewriteError, match=r"@node_rewriter\(\[add\]\)"):

        @node_rewriter
        def rule(fgraph, node):
            return None


@pytest.mark.docstrings
def test_a_function_that_is_a_rule_can_still_be_called():
    @node_rewriter([neg])
    def rule(fgraph, node):
        """neg(x) -> x"""
        return node.inputs

    assert rule(None, neg(y).owner) == [y]
    assert rule.__doc__ == "neg(x) -> x"


@pytest.fixture
def reader():
    """Read constants that are written as strings, for one test."""

    def read(variable):
        value = variable.data if isinstance(variable, Constant) else NOT_CONSTANT
        return int(value) if isinstance(value, str) else value

    set_constant_reader(read)
    yield read
    from phintys.rewriting.patterns import _read_constant

    set_constant_reader(_read_constant)


def test_values_of_constants_are_read_by_whoever_knows(reader):
    assert constant_value(Constant(number, "2")) == 2
    assert constant_value(x) is NOT_CONSTANT
    assert repr(NOT_CONSTANT) == "NOT_CONSTANT"
    rule = PatternRewriter((mul, "x", 2), "x", name="rule")
    assert rewritten(rule, mul(y, "2")) == "y"


def test_rules_are_pickled_by_name():
    # Importing this file twice is avoided by looking the names up in the module itself.
    import sys

    module = sys.modules[__name__]
    assert double_negation.__reduce__() == "double_negation"
    assert getattr(module, double_negation.__qualname__) is double_negation
    assert pickle.loads(pickle.dumps(double_negation)) is double_negation
