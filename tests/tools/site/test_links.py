"""Links of a built site that lead nowhere are found."""

import pytest

from tools.site.links import dead_links, weight


@pytest.fixture
def site(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "other.html").write_text('<h1 id="a%20b">x</h1><p id="größe">')
    (tmp_path / "style.css").write_text('@import "more.css"; p { src: url(font.woff2?v=1) }')
    (tmp_path / "more.css").write_text("p { }")
    (tmp_path / "font.woff2").write_bytes(bytes(100))
    return tmp_path


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        ('<a href="sub/other.html">', ""),
        ('<a href="sub/other.html#gr%C3%B6%C3%9Fe">', ""),
        ('<a id="here" href="#here">', ""),
        ('<a href="https://example.org/nowhere">', ""),
        ('<a href="mailto:a@example.org">', ""),
        ('<a href="?q=1#">', ""),
        ('<a href="nowhere.html">', "does not exist"),
        ('<a href="sub/other.html#nowhere">', "has no such anchor"),
        ('<a href="#nowhere">', "has no such anchor"),
        ('<a href="sub">', "does not exist"),
        ('<img src="nowhere.png">', "does not exist"),
        ('<script src="https://cdn.example.org/x.js">', "is loaded from the network"),
        ('<link rel="stylesheet" href="//cdn.example.org/x.css">', "is loaded from the network"),
        ('<link rel="canonical" href="https://example.org/">', ""),
    ],
)
def test_a_link(site, element, problem):
    (site / "index.html").write_text(element)
    found = dead_links(site)
    assert len(found) == bool(problem)
    assert all(line.startswith("index.html: ") and line.endswith(problem) for line in found)


def test_the_weight_counts_styles_of_styles_and_fonts(site):
    page = site / "index.html"
    page.write_text('<link rel="stylesheet" href="style.css?v=2"><a href="sub/other.html">')
    names = {path.name for path in weight(page)}
    assert names == {"index.html", "style.css", "more.css", "font.woff2"}
    assert sum(weight(page).values()) > 100
