"""What notebooks show of compiled functions."""

import numpy as np

import phintys
import phintys.tensor as pt


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
