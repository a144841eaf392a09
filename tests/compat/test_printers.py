"""Printers with ``process``, and descriptions of graphs."""

from __future__ import annotations

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.compat import printers
from phintys.compat.debugging import debugprint, get_node_by_id
from phintys.compat.printed import OldPrettyPrinter, pprint


@pytest.fixture
def x():
    return pt.dscalar("x")


@pytest.fixture
def y():
    return pt.dscalar("y")


def test_printers_of_a_program(x, y):
    pretty = pprint.clone()
    pretty.assign(pt.add, printers.OperatorPrinter("plus", -2, "either"))
    pretty.assign(pt.neg, printers.OperatorPrinter("minus ", -1))
    pretty.assign(pt.exp, printers.FunctionPrinter(["e"]))
    pretty.assign(pt.sqr, printers.PatternPrinter(("%(0)s squared", -1)))
    pretty.assign(pt.tanh, printers.IgnorePrinter())
    assert pretty(pt.exp(-x + y)) == "e(((minus x) plus y))"
    assert pretty(pt.sqr(pt.tanh(x))) == "x squared"
    assert pprint(pt.exp(x)) == "exp(x)"


def test_any_object_with_process_is_a_printer_by_condition(x, y):
    class Printer:
        def process(self, output, pstate):
            with printers.set_precedence(pstate, 3):
                first, second = (pstate.pprinter.process(i, pstate) for i in output.owner.inputs)
            return f"<{second} and {first}>"

    pretty = OldPrettyPrinter().clone_assign(
        lambda pstate, r: r.owner is not None and r.owner.op == pt.add, Printer()
    )
    assert pretty(pt.exp(x + y)) == "exp(<y and x>)"
    assert pretty.process(x + y) == "<y and x>"
    z = x + y
    z.name = "z"
    assert pretty.process_graph([x, y], [z], display_inputs=True) == (
        "inputs: x, y\nz <- <y and x>"
    )


def test_a_deep_expression_is_printed(x):
    pretty = OldPrettyPrinter().clone_assign(pt.exp, printers.FunctionPrinter(["e"]))
    deep = x
    for _ in range(2000):
        deep = pt.exp(deep)
    assert pretty(deep) == "e(" * 2000 + "x" + ")" * 2000
    assert printers.min_informative_str(deep).count("Exp") == 2000
    assert printers.var_descriptor(deep).count("Exp") == 2000


def test_function_printers_take_one_name_an_argument_or_a_list_and_attributes():
    x = pt.dvector("x")
    pretty = OldPrettyPrinter().clone_assign(
        pt.CumOp, printers.FunctionPrinter(["cum"], keywords=["mode"])
    )
    assert pretty(pt.cumsum(x)) == "cum(x, mode=add)"
    assert printers.FunctionPrinter("a", "b").names == ["a", "b"]
    with pytest.raises(TypeError, match="not the result of an operation"):
        printers.FunctionPrinter("a").process(x, printers.PrinterState(pprinter=pretty))


def test_only_variables_have_a_text_without_address():
    with pytest.raises(NotImplementedError, match=r"obj must be a Variable, got 3 of type int\."):
        printers.position_independent_str(3)


def test_descriptions(x, y):
    shared = pt.exp(x)
    shown = shared * y + shared
    assert printers.min_informative_str(shown).splitlines() == [
        "A. Add", " B. Mul", "  C. Exp", "   D. x", "  E. y", " <C>",
    ]  # fmt: skip
    assert printers.var_descriptor(shown) == "A=Add(B=Mul(C=Exp(D=x),E=y),<C>)"
    assert printers.hex_digest(np.zeros((2, 3))).endswith("|strides=[24,8]|shape=[2,3]")
    assert printers.hex_digest(np.zeros(2)) != printers.hex_digest(np.ones(2))
    assert "[id B]" in str(debugprint(shown, file="str"))
    assert get_node_by_id(shown, "B") is shown.owner.inputs[0].owner
    assert get_node_by_id(shown, "Z") is None
