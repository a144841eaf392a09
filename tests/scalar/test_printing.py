"""Scalar functions in LaTeX."""

import re

import pytest

import phintys.scalar as ps
from phintys.graph.latex import latex
from phintys.graph.pretty import pprint
from phintys.scalar import float64
from phintys.scalar.printing import NOTATION

NAMES = ["x", "y", "z"]


@pytest.mark.parametrize(
    "text",
    [
        "x + y * z",
        "(x + y) * z",
        "x - y - z",
        "x - (y - z)",
        "x / (y / z)",
        "x / y / z",
        "x ** y ** z",
        "(x ** y) ** z",
        "-x ** y",
        "(-x) ** y",
        "-(x + y)",
        "x // y % z",
        "x // (y % z)",
        "(x < y) & (y < z)",
        "(x < y) | (y < z) & (x == z)",
        "~(x < y) ^ (y < z)",
        "exp(x + y) * switch(x < y, x, z)",
        "sqr(x) + logaddexp(x, y - z)",
    ],
)
def test_printed_expressions_read_back(text):
    x, y, z = (ps.float64(name) for name in NAMES)
    names = {name: getattr(ps, name) for name in ps.__all__} | {"x": x, "y": y, "z": z}
    expression = eval(text.replace("x == z", "x.eq(z)"), names)
    assert pprint(expression) == text
    op = ps.Composite([x, y, z], [expression])
    within = re.sub(r"\b[xyz]\b", lambda name: f"i{NAMES.index(name[0])}", text)
    assert str(op) == f"Composite{{{within}}}"


def test_only_symbols_have_operator_printers():
    assert ps.operator_printer(ps.exp) is None
    printer = ps.operator_printer(ps.pow)
    assert (printer.symbol, printer.associativity) == ("**", "right")
    assert ps.operator_printer(ps.lt).associativity == "none"
    assert ps.operator_printer(ps.add).associativity == "either"
    assert ps.operator_printer(ps.sub).associativity == "left"


def test_symbols_are_pythons():
    for row in ps.SCALAR_OPS.values():
        if row.symbol is not None:
            assert row.nin in {-1, 1, 2}
            compile(f"x {row.symbol} y" if row.nin != 1 else f"{row.symbol}x", "symbol", "eval")


@pytest.mark.parametrize("op", NOTATION, ids=str)
def test_each_argument_is_shown(op):
    letters = ["p", "q", "r"][: op.nin]
    text = latex(op(*map(float64, letters)))
    assert sorted(re.findall(r"(?<![a-zA-Z\\])[pqr](?![a-zA-Z])", text)) == letters
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")
