import json
import re

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.inspect import graph_page


@pytest.fixture(scope="module")
def function():
    x = pt.dvector("</script><b>x")
    w = phintys.shared(np.ones(3), name="w")
    rows, _ = phintys.scan(
        lambda h, w: pt.tanh(h * w), outputs_info=[x], non_sequences=[w], n_steps=3
    )
    return phintys.function([x], [rows[-1].sum(), pt.sort(x)], "native", name="f")


def data_of(html):
    (text,) = re.findall(
        r'<script id="data" type="application/json">(.*?)</script>', html, re.DOTALL
    )
    return json.loads(text)


def test_a_function_has_three_pictures(function):
    page = graph_page(function)
    titles = ["as written", "as rewritten", "native program"]
    assert [drawing.title for drawing in page.drawings] == titles
    drawings = data_of(page.html)["drawings"]
    assert [drawing["title"] for drawing in drawings] == titles
    assert drawings[0]["nodes"][0]["label"] == "</script><b>x"
    for drawing in drawings:
        count = len(drawing["nodes"])
        assert all(0 <= end < count for *ends, _ in drawing["edges"] for end in ends)


def test_other_backends_have_no_program():
    x = pt.dscalar("x")
    page = graph_page(phintys.function([x], pt.exp(x), mode="reference"))
    assert [drawing.title for drawing in page.drawings] == ["as written", "as rewritten"]


def test_a_page_needs_no_network(function):
    html = graph_page(function).html
    outside = re.findall(r'(?:src|href)\s*=\s*["\'][^"\']*["\']|@import|url\(', html)
    assert [found for found in outside if "data:" not in found] == []
    assert html.count("<script") == html.count("</script>") == 6
    assert len(html) < 1_500_000


def test_pages_are_written_and_shown(function, tmp_path):
    path = tmp_path / "graph.html"
    page = graph_page(function, path)
    assert path.read_text("utf-8") == page.html
    assert page._repr_html_().startswith('<iframe title="Graph of f" srcdoc="&lt;!doctype html&gt;')
    assert repr(graph_page(pt.dscalar("x"))) == "<GraphPage of 1 picture, 2 nodes>"
