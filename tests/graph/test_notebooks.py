"""What notebooks show of variables."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys import shared
from phintys.graph import Apply, Constant, Op, Type
from phintys.graph.printing import debugprint, first_lines


def test_a_computed_variable_shows_type_name_formula_and_graph():
    y = pt.exp(pt.dvector("x"))
    y.name = "y"
    html = y._repr_html_()
    assert html == (
        "<div><code>y</code>: <code>Vector(float64, shape=(?,))</code><pre>exp(x)</pre>"
        "<details><summary>graph</summary><pre>"
        "Exp [id A] &#x27;y&#x27;\n └─ x [id B]</pre></details></div>"
    )
    assert y._repr_latex_() == r"$\displaystyle e^{x}$"


def test_a_leaf_shows_name_and_type():
    assert (
        pt.dscalar("x")._repr_html_() == "<div><code>x</code>: <code>Scalar(float64)</code></div>"
    )
    weights = shared(np.zeros(3), name="w_0")
    start = f"<div><code>w_0</code>: <code>{weights.type}</code>, now of shape (3,)<pre>"
    assert weights._repr_html_() == f"{start}[0. 0. 0.]</pre></div>"
    assert weights._repr_latex_() == r"$\displaystyle \mathrm{w\_0}$"


def test_names_are_escaped():
    y = pt.dvector("<script>&</script>") + 1
    y.name = "<b>"
    html = y._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;&amp;&lt;/script&gt; + 1.0" in html
    assert "<" not in y._repr_latex_()


def test_constants():
    nan = pt.constant(np.array([np.nan, 1.0]))
    assert nan._repr_latex_() == r"$\displaystyle [\mathrm{NaN}\ 1]$"
    assert "nan" in nan._repr_html_()


@pytest.mark.parametrize("step", [pt.exp, lambda y: y * y])
def test_large_graphs_are_cut(step):
    y = pt.dscalar("x")
    for _ in range(100_000):
        y = step(y)
    assert y._repr_latex_() is None
    html = y._repr_html_()
    assert len(html) < 40_000
    assert " nodes more: phintys.dprint shows them</pre>" in html
    assert html.count("\n") == 200


def test_a_small_graph_with_an_astronomic_formula():
    y = pt.dscalar("x")
    for _ in range(90):
        y = y * y + y
    assert y._repr_latex_() is None
    assert len(y._repr_html_()) < 40_000


def test_first_lines_are_those_of_debugprint():
    x = pt.dvector("x")
    graph = [pt.exp(pt.sin(x)) + pt.cos(x), pt.log(x)]
    whole = debugprint(graph, file="str").splitlines()
    for most in range(len(whole) + 2):
        lines, left_out = first_lines(graph, most)
        assert lines == whole[:most]
        shown = {line.split(" [id")[0].lstrip(" ├─└│") for line in lines}
        assert left_out == len({"Add", "Exp", "Sin", "Cos", "Log"} - shown)


class Unprintable(Type):
    def filter(self, value, strict=False, allow_downcast=None):
        return value

    def __str__(self):
        raise RuntimeError("not today")


class UnprintableOp(Op):
    def __str__(self):
        raise RuntimeError("not today")


def test_what_cannot_be_printed_gives_nothing():
    leaf = Unprintable()()
    by_op = Apply(UnprintableOp(), [pt.dscalar("x")], [pt.dscalar().type()]).out
    for variable in (leaf, by_op):
        assert variable._repr_html_() is None
        assert variable._repr_latex_() is None


def test_types_and_ops_of_users(toys):
    x = toys.number("x_1")
    y = toys.Named("<f>")(x, Constant(toys.number, "<i>"))
    assert y._repr_latex_() == r"$\displaystyle \lt f\gt (\mathrm{x\_1}, \lt i\gt )$"
    assert "<pre>&lt;f&gt;(x_1, &lt;i&gt;)</pre>" in y._repr_html_()
