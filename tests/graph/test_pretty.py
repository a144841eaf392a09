"""pprint."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import TypeContractError
from phintys.graph.pretty import (
    PRECEDENCE,
    DefaultPrinter,
    FunctionPrinter,
    OperatorPrinter,
    PatternPrinter,
    PrettyPrinter,
    Printer,
    Slot,
    Template,
    pprint,
)


@pytest.fixture(scope="module")
def pretty(toys):
    printer = PrettyPrinter()
    operators = {
        "+": "left",
        "-": "left",
        "*": "left",
        "**": "right",
    }
    for symbol, associativity in operators.items():
        level = PRECEDENCE["+" if symbol == "-" else symbol]
        printer.assign(toys.Named(symbol), OperatorPrinter(symbol, level, associativity))
    unary = PRECEDENCE["unary"]
    printer.assign(toys.Named("neg"), PatternPrinter("-%(0)s", precedence=unary, inner=unary))
    printer.assign(toys.Named("abs"), PatternPrinter("|%(0)s|"))
    printer.assign(toys.Named("T"), PatternPrinter("%(0)s.T", inner=PRECEDENCE["call"]))
    printer.assign(toys.Named("exp"), FunctionPrinter("exp"))
    return printer


@pytest.fixture
def build(toys):
    """Turn a text of Python into a graph."""
    leaves = {}

    def walk(node):
        if isinstance(node, ast.Name):
            return leaves.setdefault(node.id, toys.number(node.id))
        if isinstance(node, ast.Call):
            return toys.Named(node.func.id)(*map(walk, node.args))
        if isinstance(node, ast.UnaryOp):
            return toys.Named("neg")(walk(node.operand))
        symbols = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Pow: "**"}
        return toys.Named(symbols[type(node.op)])(walk(node.left), walk(node.right))

    return lambda text: walk(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "x + y + z",
        "x + (y + z)",
        "x - (y - z)",
        "x - y - z",
        "x - y + z",
        "x - (y + z)",
        "x + y * z",
        "(x + y) * z",
        "x ** y ** z",
        "(x ** y) ** z",
        "-x + y",
        "-(x + y)",
        "-x * y",
        "x * -y",
        "(-x) ** y",
        "-x ** y",
        "exp(x + y) * exp(x)",
        "other(x + y, exp(z))",
        "exp(exp(x))",
    ],
)
def test_parentheses_only_where_needed(pretty, build, text):
    assert pretty(build(text)) == text


def test_patterns(pretty, build):
    assert pretty(build("abs(x + y) + x")) == "|x + y| + x"
    assert pretty(build("T(x) + T(x + y)")) == "x.T + (x + y).T"
    assert pretty(build("T(abs(x))")) == "|x|.T"


def test_names_and_outputs(toys):
    x = toys.number("x")
    first, second = toys.Named("split", 2)(x)
    assert pprint(first) == "split(x).0"
    assert pprint(second) == "split(x).1"
    assert pprint(toys.Named("nothing")()) == "nothing()"
    printer = PrettyPrinter()
    printer.assign(first.owner.op, FunctionPrinter("left", "right"))
    assert printer([second, first, x]) == "right(x)\nleft(x)\nx"
    printer.assign(first.owner.op, PatternPrinter("<%(0)s", "%(0)s>"))
    assert printer([first, second]) == "<x\nx>"


def test_the_leaves(toys):
    assert pprint(toys.number("x")) == "x"
    assert pprint(toys.number()) == "<number>"
    assert pprint(toys.number.make_constant(3)) == "3"
    assert pprint(toys.number.make_constant(3, name="three")) == "three"
    assert pprint(toys.number.make_constant(list(range(99)))) == (
        "[0, 1, 2, 3, 4, 5, 6 ... 6, 97, 98]"
    )
    named = toys.Named("f")(toys.number("x"), name="y")
    assert pprint(named) == "f(x)"


def test_negative_constants_are_like_the_operator(pretty, toys):
    minus, x = toys.number.make_constant(-3), toys.number("x")
    assert pretty(toys.Named("**")(minus, x)) == "(-3) ** x"
    assert pretty(toys.Named("+")(x, minus)) == "x + -3"


def test_operators_with_one_input_and_many(toys):
    x, y, z = (toys.number(name) for name in "xyz")
    op = toys.Named("+")
    for associativity, expected in {
        "left": "x + (x + y) + z",
        "right": "x + (x + y) + z",
        "either": "x + x + y + z",
        "none": "x + (x + y) + z",
    }.items():
        printer = PrettyPrinter()
        printer.assign(op, OperatorPrinter("+", 1, associativity))
        assert printer(op(x, op(x, y), z)) == expected
        assert printer(op(x)) == "+x"
    with pytest.raises(TypeContractError, match="got 'both'"):
        OperatorPrinter("+", 1, "both")


def test_who_goes_first(toys):
    x = toys.number("x")
    op, other = toys.Named("f"), toys.Named("g")
    y, z = op(x), other(x)
    printer = PrettyPrinter()
    assert isinstance(printer.printer_of(x), DefaultPrinter)

    class Below(toys.Named):
        pass

    printer.assign(toys.Named, FunctionPrinter("class"))
    assert printer([y, z]) == "class(x)\nclass(x)"
    assert printer(Below("f")(x)) == "class(x)"
    printer.assign(Below, FunctionPrinter("below"))
    assert printer(Below("f")(x)) == "below(x)"
    printer.assign(lambda v: v.owner.op == op, FunctionPrinter("predicate"))
    assert printer([y, z]) == "predicate(x)\nclass(x)"
    printer.assign(lambda v: True, FunctionPrinter("later"))
    assert printer([y, z]) == "later(x)\nlater(x)"
    printer.assign(op, FunctionPrinter("op"))
    assert printer([y, z]) == "op(x)\nlater(x)"
    assert printer(toys.Named("f")(x)) == "op(x)"  # an equal Op


def test_printers_of_one_s_own(toys):
    class Twice(Printer):
        def template(self, variable):
            (given,) = variable.owner.inputs
            return Template(
                [Slot(given, PRECEDENCE["+"]), " + ", Slot(given, PRECEDENCE["+"])],
                PRECEDENCE["+"],
            )

    printer = PrettyPrinter()
    printer.assign(toys.Named("twice"), Twice())
    x = toys.number("x")
    assert printer(toys.Named("twice")(x)) == "x + x"
    deep = toys.chain(100, x, toys.Named("twice"))
    lines = printer(deep).splitlines()
    assert lines[0] == "t0 = x + x"
    assert lines[-1] == "t98 + t98"
    with pytest.raises(TypeContractError, match=r"must define template\(variable\)"):
        Printer().template(x)


def test_large_expressions_name_their_shared_parts(toys):
    x, taken = toys.number("x"), toys.number("t1")
    y = toys.Named("g")(x, taken)
    for _ in range(60):
        y = toys.Named("f")(y, y)
    lines = pprint(y).splitlines()
    assert len(lines) == 61
    assert lines[:4] == ["t0 = g(x, t1)", "t2 = f(t0, t0)", "t3 = f(t2, t2)", "t4 = f(t3, t3)"]
    assert lines[-1] == "f(t60, t60)"
    small = toys.Named("h")(toys.Named("g")(x), toys.Named("g")(x))
    assert pprint(small) == "h(g(x), g(x))"


def test_what_is_not_a_variable(toys):
    for wrong in ([3], ["x"], [None]):
        with pytest.raises(TypeContractError, match="pprint takes variables"):
            pprint(wrong)


def expressions():
    names = st.sampled_from("xyz")
    return st.recursive(
        names,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["+", "-", "*", "**"]), inner, inner).map(
                lambda parts: f"({parts[1]}) {parts[0]} ({parts[2]})"
            ),
            inner.map(lambda part: f"-({part})"),
            inner.map(lambda part: f"exp({part})"),
        ),
        max_leaves=12,
    )


@given(text=expressions())
def test_the_text_means_the_expression(pretty, toys, text):
    leaves = {}

    def walk(node):
        if isinstance(node, ast.Name):
            return leaves.setdefault(node.id, toys.number(node.id))
        if isinstance(node, ast.Call):
            return toys.Named("exp")(walk(node.args[0]))
        if isinstance(node, ast.UnaryOp):
            return toys.Named("neg")(walk(node.operand))
        symbols = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Pow: "**"}
        return toys.Named(symbols[type(node.op)])(walk(node.left), walk(node.right))

    printed = pretty(walk(ast.parse(text, mode="eval").body))
    assert ast.dump(ast.parse(printed, mode="eval")) == ast.dump(ast.parse(text, mode="eval"))
