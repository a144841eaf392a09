"""What notebooks show of compiled functions, and of texts about them."""

import numpy as np

import phintys
import phintys.tensor as pt
from phintys.graph.notebooks import html_of_parameters
from phintys.random import Normal


def test_a_function_shows_signature_mode_and_graph():
    x = pt.dvector("<b>")
    f = phintys.function([x], pt.exp(x), mode="reference", name="f")
    assert f._repr_html_() == (
        "<div><code>&lt;Function f(&lt;b&gt;: Vector(float64, shape=(?,))) -&gt; "
        "Vector(float64, shape=(?,))&gt;</code><br>mode <code>reference</code>"
        "<details><summary>graph</summary><pre>"
        "Exp [id A] 0\n └─ &lt;b&gt; [id B]</pre></details></div>"
    )


def test_updates_are_shown():
    total = phintys.shared(np.zeros(()), name="total")
    x = pt.dscalar("x")
    f = phintys.function([x], [], updates={total: total + x})
    assert "updates total" in f._repr_html_()


def test_a_large_function_is_cut():
    x = pt.dscalar("x")
    y = x
    for number in range(400):
        y = pt.sin(y) + number
    f = phintys.function([x], y, mode="reference")
    html = f._repr_html_()
    assert html.count("\n") == 200
    assert " nodes more: phintys.dprint shows them</pre>" in html


def test_an_explanation_is_shown_line_by_line():
    x = pt.dvector("x")
    for mode in ("reference", "native"):
        explained = phintys.function([x], pt.exp(x), mode=mode).explain()
        assert isinstance(explained, str)
        assert explained._repr_html_().startswith("<pre>")
        assert explained._repr_html_().count("\n") == explained.count("\n") > 0


def test_a_profile_shows_its_report():
    x = pt.dvector("x")
    f = phintys.function([x], pt.exp(x), profile=True, name="<f>")
    f([1.0])
    assert f.profile._repr_html_().startswith("<pre>Function &lt;f&gt;: 1 calls")


def test_the_value_of_a_large_shared_variable_is_cut():
    large = phintys.shared(np.zeros((1000, 1000)))
    assert len(large._repr_html_()) < 1000


def test_a_distribution_shows_its_parameters():
    scale = pt.dscalar("scale")
    shown = Normal(0.0, pt.exp(scale))._repr_html_()
    assert "<code>Normal</code>" in shown
    assert "<code>exp(scale)</code>" in shown


def test_what_cannot_be_printed_is_left_to_repr():
    class Broken:
        def __str__(self):
            raise ValueError

    assert html_of_parameters("name", {"x": Broken()}) is None
